// SPDX-License-Identifier: MIT
//
// An open device node, its calls, and the buffers made on it.
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
    /// Throws Error naming the remedy: ENOENT without a driver, EACCES without the right.
    explicit KernelFile(const std::string& path);
    ~KernelFile();
    KernelFile(const KernelFile&) = delete;
    KernelFile& operator=(const KernelFile&) = delete;

    int fd() const noexcept { return fd_; }
    const std::string& path() const noexcept { return path_; }

    /// An ioctl that is called again when a signal interrupts it.  Returns 0 or the errno.
    int try_call(unsigned long request, void* argument) const noexcept;
    /// The same, throwing Error: "path: what: reason".
    void call(unsigned long request, void* argument, const char* what) const;

    /// Why a call failed: the limit that the driver says was exceeded, how much of it is used, and
    /// the remedy; what the errno says for errors that do not come from a limit.
    std::string reason(int code) const;

    /// What MAP gave a device address, to tell a client which of its bindings names none.
    void add_mapping(std::uint64_t address, std::uint64_t size);
    void remove_mapping(std::uint64_t address) noexcept;
    /// True if one mapping holds all of [address, address + length).
    bool holds(std::uint64_t address, std::uint64_t length) const;

    /// The driver can be told which model a job belongs to.
    bool takes_models() const noexcept { return takes_models_; }
    bool takes_groups() const noexcept { return takes_groups_; }

    drm_overtake_device_info info() const;
    std::vector<drm_overtake_core_info> cores() const;
    /// Empty of a driver that is older than the question.
    std::vector<drm_overtake_core_profile> core_profiles() const;
    ServiceSettings service_settings() const;

private:
    std::size_t query(unsigned topic, void* data, std::size_t bytes) const;

    std::string path_;
    int fd_;
    bool takes_models_ = false;
    bool takes_groups_ = false;
    mutable std::mutex mappings_mutex_;
    std::map<std::uint64_t, std::uint64_t> mappings_; ///< bytes by address
};

std::unique_ptr<Buffer> create_kernel_buffer(std::shared_ptr<KernelFile> file, std::size_t bytes);

/// Null unless the device's clock is stepped by hand and this process may do so (root, debugfs).
std::unique_ptr<ManualClock> open_kernel_clock(const KernelFile& file);

} // namespace overtake
