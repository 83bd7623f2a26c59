// SPDX-License-Identifier: MIT
#include "kernel/kernel_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>

#include <fmt/format.h>

#include "overtake/settings.hpp"
#include "refusal.hpp"

namespace overtake {

namespace {

std::string remedy(int code) {
    switch (code) {
    case ENOENT:
        return "; load the driver (insmod overtake.ko) or use the device 'embedded'";
    case EACCES:
    case EPERM:
        return "; join the group that owns the node, or run as root";
    default:
        return "";
    }
}

/// Whether the driver is of version 1.`minor` or newer.
bool driver_is_at_least(int fd, int minor) {
    drm_version version{};
    return drmIoctl(fd, DRM_IOCTL_VERSION, &version) == 0 &&
           (version.version_major > 1 || version.version_minor >= minor);
}

} // namespace

KernelFile::KernelFile(const std::string& path)
    : path_(path), fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) {
        const int code = errno;
        throw Error(code, fmt::format("{}: {}{}", path, std::strerror(code), remedy(code)));
    }
    drm_overtake_device_info info{};
    drm_overtake_query query{.topic = OVERTAKE_QUERY_DEVICE,
                             .pad = 0,
                             .size = sizeof(info),
                             .data = reinterpret_cast<std::uintptr_t>(&info)};
    if (const int code = try_call(DRM_IOCTL_OVERTAKE_QUERY, &query)) {
        close(fd_);
        throw Error(code,
                    fmt::format("{}: not an Overtake device ({})", path, std::strerror(code)));
    }
    if (info.isa_version >> 16 != OVERTAKE_ISA_VERSION >> 16) {
        close(fd_);
        throw Error(
            ENOEXEC,
            fmt::format("{}: the driver runs instruction set {}.x, this library knows {}.x; "
                        "install matching versions",
                        path, info.isa_version >> 16, OVERTAKE_ISA_VERSION >> 16));
    }
    takes_models_ = driver_is_at_least(fd_, 1); // OVERTAKE_EXTENSION_MODEL
    takes_groups_ = driver_is_at_least(fd_, 2); // OVERTAKE_EXTENSION_PARTS
    records_ = driver_is_at_least(fd_, 3);      // DRM_IOCTL_OVERTAKE_RECORD
}

KernelFile::~KernelFile() {
    close(fd_);
}

int KernelFile::try_call(unsigned long request, void* argument) const noexcept {
    return drmIoctl(fd_, request, argument) == 0 ? 0 : errno;
}

void KernelFile::call(unsigned long request, void* argument, const char* what) const {
    if (const int code = try_call(request, argument))
        throw Error(code, fmt::format("{}: {}: {}", path_, what, reason(code)));
}

std::string KernelFile::reason(int code) const {
    if (code != ENOSPC && code != E2BIG)
        return std::strerror(code);
    std::array<drm_overtake_limit, OVERTAKE_LIMIT_COUNT> limits{};
    drm_overtake_query query{.topic = OVERTAKE_QUERY_LIMITS,
                             .pad = 0,
                             .size = sizeof(limits),
                             .data = reinterpret_cast<std::uintptr_t>(limits.data())};
    if (try_call(DRM_IOCTL_OVERTAKE_QUERY, &query) != 0)
        return std::strerror(code); // the driver does not know this topic
    const auto latest = std::ranges::max_element(limits, {}, &drm_overtake_limit::refused_ns);
    if (latest->refused_ns == 0)
        return std::strerror(code);
    const auto limit = static_cast<std::uint32_t>(latest - limits.begin());
    return limit_text(limit, latest->value, code == ENOSPC ? latest->used : 0);
}

void KernelFile::add_mapping(std::uint64_t address, const Mapping& mapping) {
    const std::lock_guard lock(mappings_mutex_);
    mappings_.emplace(address, mapping);
}

void KernelFile::remove_mapping(std::uint64_t address) noexcept {
    const std::lock_guard lock(mappings_mutex_);
    mappings_.erase(address);
}

bool KernelFile::holds(std::uint64_t address, std::uint64_t length) const {
    const std::lock_guard lock(mappings_mutex_);
    auto mapping = mappings_.upper_bound(address);
    return mapping != mappings_.begin() &&
           (--mapping, ovt_range_is_inside(address, length, mapping->first, mapping->second.size));
}

/// Returns the number of bytes that the driver filled in.
std::size_t KernelFile::query(unsigned topic, void* data, std::size_t bytes) const {
    drm_overtake_query query{
        .topic = topic, .pad = 0, .size = bytes, .data = reinterpret_cast<std::uintptr_t>(data)};
    call(DRM_IOCTL_OVERTAKE_QUERY, &query, "query");
    return std::min<std::size_t>(query.size, bytes);
}

drm_overtake_device_info KernelFile::info() const {
    drm_overtake_device_info info{};
    query(OVERTAKE_QUERY_DEVICE, &info, sizeof(info));
    return info;
}

ServiceSettings KernelFile::service_settings() const {
    drm_overtake_service_info info{};
    query(OVERTAKE_QUERY_SERVICE, &info, sizeof(info));
    return service_settings_of(info);
}

std::vector<drm_overtake_core_info> KernelFile::cores() const {
    std::vector<drm_overtake_core_info> cores(info().core_count);
    query(OVERTAKE_QUERY_CORES, cores.data(), cores.size() * sizeof(drm_overtake_core_info));
    return cores;
}

std::vector<drm_overtake_core_profile> KernelFile::core_profiles() const {
    drm_overtake_query size{.topic = OVERTAKE_QUERY_CORE_PROFILES, .pad = 0, .size = 0, .data = 0};
    if (try_call(DRM_IOCTL_OVERTAKE_QUERY, &size) == EINVAL)
        return {};
    std::vector<std::byte> answer(size.size);
    answer.resize(query(OVERTAKE_QUERY_CORE_PROFILES, answer.data(), answer.size()));
    drm_overtake_core_profiles head{};
    std::memcpy(&head, answer.data(), std::min(sizeof(head), answer.size()));
    std::vector<drm_overtake_core_profile> profiles(head.core_count);
    std::size_t place = sizeof(head);
    for (drm_overtake_core_profile& profile : profiles) {
        const std::size_t known = std::min<std::size_t>(sizeof(profile), head.profile_bytes);
        if (place + known > answer.size())
            throw Error(EPROTO, fmt::format("{}: query: the driver's profiles end early", path_));
        std::memcpy(&profile, answer.data() + place, known);
        place += head.profile_bytes;
    }
    return profiles;
}

} // namespace overtake
