// SPDX-License-Identifier: MIT
//
// An open device node, its calls, and the buffers that are made on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/service.hpp"

namespace overtake {

/// Thread safe.
class KernelFile {
public:
    /// Throws Error naming the remedy: ENOENT without a driver, EACCES without the permission.
    explicit KernelFile(const std::string& path);
    ~KernelFile();
    KernelFile(const KernelFile&) = delete;
    KernelFile& operator=(const KernelFile&) = delete;

    int fd() const noexcept { return fd_; }
    const std::string& path() const noexcept { return path_; }

    /// Makes an ioctl, again if a signal interrupts it.  Returns 0 or the errno.
    int try_call(unsigned long request, void* argument) const noexcept;
    /// Does the same, and throws Error: "path: what: reason".
    void call(unsigned long request, void* argument, const char* what) const;

    /// Returns the reason why a call failed: the limit that the driver reports as exceeded last,
    /// how much of it is used, and the remedy; or the errno's text for errors that do not come from
    /// a limit.
    std::string reason(int code) const;

    struct Mapping {
        std::uint64_t size;
        std::uint32_t handle; ///< of a buffer of this file; 0: an import
    };
    /// Records a device address that MAP returned, so that an error can name a binding without
    /// memory.
    void add_mapping(std::uint64_t address, const Mapping& mapping);
    void remove_mapping(std::uint64_t address) noexcept;
    /// Returns true if one mapping holds all of [address, address + length).
    bool holds(std::uint64_t address, std::uint64_t length) const;

    /// Returns the address that another file has for all of a buffer of this one: see address_on().
    std::uint64_t share(const std::shared_ptr<KernelFile>& with, std::uint64_t address,
                        std::size_t bytes);
    /// Called when the buffer is destroyed: removes it from all other files.
    void end_shares(std::uint64_t address) noexcept;

    /// Whether the driver accepts the model that a job belongs to.
    bool takes_models() const noexcept { return takes_models_; }
    bool takes_groups() const noexcept { return takes_groups_; }
    bool records() const noexcept { return records_; }

    drm_overtake_device_info info() const;
    std::vector<drm_overtake_core_info> cores() const;
    /// Empty if the driver is older than this query.
    std::vector<drm_overtake_core_profile> core_profiles() const;
    ServiceSettings service_settings() const;

private:
    /// A buffer of this file that another file has imported.
    struct Share {
        std::weak_ptr<KernelFile> with;
        std::uint32_t handle;  ///< in the other file
        std::uint64_t address; ///< in the other file; 0: not mapped
    };

    Mapping whole_buffer(std::uint64_t address, std::size_t bytes) const;
    void import(int dma_buf, std::uint64_t size, Share& share);
    void let_go(const Share& share) noexcept;
    std::size_t query(unsigned topic, void* data, std::size_t bytes) const;

    std::string path_;
    int fd_;
    bool takes_models_ = false;
    bool takes_groups_ = false;
    bool records_ = false;
    mutable std::mutex mappings_mutex_;
    std::map<std::uint64_t, Mapping> mappings_; ///< by address
    std::mutex shares_mutex_;                   ///< held while others' mappings_mutex_ is taken
    std::map<std::uint64_t, std::vector<Share>> shares_; ///< by address
};

std::unique_ptr<Buffer> create_kernel_buffer(std::shared_ptr<KernelFile> file, std::size_t bytes);

/// Returns null for a device that is no kernel device.  Throws Error ENOTSUP in a child of fork().
std::shared_ptr<KernelFile> kernel_file_of(Device& device);

/// Returns null unless the device has a manual clock and this process may step it (root, debugfs).
std::unique_ptr<ManualClock> open_kernel_clock(const KernelFile& file);

} // namespace overtake
