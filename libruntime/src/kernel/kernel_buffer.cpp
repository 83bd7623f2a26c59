// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include <drm.h>
#include <fmt/format.h>

#include "kernel/kernel_file.hpp"
#include "refusal.hpp"

namespace overtake {

namespace {

/// A GEM object that is mapped on the host and on the device.
class KernelBuffer final : public Buffer {
public:
    KernelBuffer(std::shared_ptr<KernelFile> file, std::size_t bytes) : file_(std::move(file)) {
        create(bytes);
        try {
            map_for_host();
            map_for_device();
        } catch (...) {
            release();
            throw;
        }
    }
    ~KernelBuffer() override { release(); }

private:
    void create(std::size_t bytes) {
        drm_overtake_bo_create create{.size = bytes, .flags = 0, .handle = 0};
        const int code = file_->try_call(DRM_IOCTL_OVERTAKE_BO_CREATE, &create);
        if (code != 0) {
            if (const auto refusal = buffer_refusal(bytes); refusal && refusal->code() == code)
                throw *refusal;
            throw Error(code,
                        fmt::format("{}: create buffer: {}", file_->path(), file_->reason(code)));
        }
        handle_ = create.handle;
        size_ = create.size;
    }

    void map_for_host() {
        drm_overtake_bo_mmap_offset where{.handle = handle_, .pad = 0, .offset = 0};
        file_->call(DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &where, "map buffer");
        void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_->fd(),
                            static_cast<off_t>(where.offset));
        if (memory == MAP_FAILED)
            throw Error(errno,
                        fmt::format("{}: map buffer: {}", file_->path(), std::strerror(errno)));
        data_ = static_cast<std::byte*>(memory);
    }

    void map_for_device() {
        drm_overtake_bo_map map{
            .handle = handle_, .flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE, .address = 0};
        file_->call(DRM_IOCTL_OVERTAKE_BO_MAP, &map, "map buffer for the device");
        address_ = map.address;
        file_->add_mapping(address_, {size_, handle_});
    }

    void release() noexcept {
        if (address_ != 0) {
            file_->end_shares(address_);
            file_->remove_mapping(address_);
            drm_overtake_bo_unmap unmap{.address = address_};
            file_->try_call(DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap);
        }
        if (data_)
            munmap(data_, size_);
        drm_gem_close close{.handle = handle_, .pad = 0};
        file_->try_call(DRM_IOCTL_GEM_CLOSE, &close);
    }

    std::shared_ptr<KernelFile> file_;
    std::uint32_t handle_ = 0;
};

} // namespace

std::unique_ptr<Buffer> create_kernel_buffer(std::shared_ptr<KernelFile> file, std::size_t bytes) {
    return std::make_unique<KernelBuffer>(std::move(file), bytes);
}

} // namespace overtake
