// SPDX-License-Identifier: MIT
#include "kernel/kernel_sharing.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <drm.h>
#include <fmt/format.h>

#include "file_descriptor.hpp"
#include "kernel/kernel_file.hpp"

namespace overtake {

std::uint64_t address_on(Device& device, Device& owner, std::uint64_t address, std::size_t bytes) {
    const std::shared_ptr<KernelFile> with = kernel_file_of(device);
    const std::shared_ptr<KernelFile> of = kernel_file_of(owner);
    if (!with || !of || with == of)
        throw Error(ENOTSUP, "share buffer: two kernel devices can, and no others");
    return of->share(with, address, bytes);
}

/// Holds the mutex, so that no buffer is imported twice into a file: there it has only one handle.
std::uint64_t KernelFile::share(const std::shared_ptr<KernelFile>& with, std::uint64_t address,
                                std::size_t bytes) {
    const Mapping mapping = whole_buffer(address, bytes);
    const std::lock_guard lock(shares_mutex_);
    std::vector<Share>& shares = shares_[address];
    std::erase_if(shares, [](const Share& share) { return share.with.expired(); });
    const auto known =
        std::ranges::find_if(shares, [&](const Share& share) { return share.with.lock() == with; });
    if (known != shares.end())
        return known->address;
    Share& share = shares.emplace_back(Share{with, 0, 0});
    try {
        drm_prime_handle prime{.handle = mapping.handle,
                               .flags = std::uint32_t{DRM_CLOEXEC} | std::uint32_t{DRM_RDWR},
                               .fd = -1};
        call(DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime, "export buffer");
        const Descriptor dma_buf(prime.fd);
        with->import(dma_buf.get(), mapping.size, share);
    } catch (...) {
        shares.pop_back();
        throw;
    }
    return share.address;
}

/// Returns the mapping of a buffer, all of which is to be shared.  Two devices' jobs on two parts
/// would wait for each other.
KernelFile::Mapping KernelFile::whole_buffer(std::uint64_t address, std::size_t bytes) const {
    const std::lock_guard lock(mappings_mutex_);
    const auto found = mappings_.find(address);
    if (found == mappings_.end() || found->second.handle == 0)
        throw Error(ENOENT, fmt::format("{}: share buffer: no buffer begins at address {:#x}",
                                        path_, address));
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t size = found->second.size;
    if (bytes > size || size - bytes >= page)
        throw Error(EINVAL, fmt::format("{}: share buffer: {} bytes are not all of its {}", path_,
                                        bytes, size));
    return found->second;
}

void KernelFile::import(int dma_buf, std::uint64_t size, Share& share) {
    drm_prime_handle prime{.handle = 0, .flags = 0, .fd = dma_buf};
    call(DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime, "import buffer");
    share.handle = prime.handle;
    drm_overtake_bo_map map{
        .handle = prime.handle, .flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE, .address = 0};
    try {
        call(DRM_IOCTL_OVERTAKE_BO_MAP, &map, "map imported buffer");
        share.address = map.address;
        add_mapping(map.address, {size, 0});
    } catch (...) {
        let_go(share);
        throw;
    }
}

/// Removes an import of this file.
void KernelFile::let_go(const Share& share) noexcept {
    if (share.address != 0) {
        remove_mapping(share.address);
        drm_overtake_bo_unmap unmap{.address = share.address};
        try_call(DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap);
    }
    drm_gem_close close{.handle = share.handle, .pad = 0};
    try_call(DRM_IOCTL_GEM_CLOSE, &close);
}

void KernelFile::end_shares(std::uint64_t address) noexcept {
    const std::lock_guard lock(shares_mutex_);
    const auto found = shares_.find(address);
    if (found == shares_.end())
        return;
    for (const Share& share : found->second)
        if (const std::shared_ptr<KernelFile> with = share.with.lock())
            with->let_go(share);
    shares_.erase(found);
}

} // namespace overtake
