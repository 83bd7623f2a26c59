// SPDX-License-Identifier: MIT
//
// The values of overtake top without events: from the counters of kernel devices in sysfs and of
// open files in fdinfo, which need no right to use BPF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "observe/watch/activity.hpp"

namespace overtake::command {

/// The counters of one device. Counters that other users may read are coarse: they move in steps of
/// some FCs.
class TopCounters {
public:
    /// `node`: "accelN". Throws Error (ENOENT) if the driver has no such device.
    explicit TopCounters(std::string node, std::filesystem::path sys = "/sys",
                         std::filesystem::path proc = "/proc");
    /// Returns the activity since the last call. Waiting jobs, latencies and preemptions of
    /// processes are not known: zero.
    watch::Snapshot take(std::uint64_t now_ns);

private:
    struct Busy {
        std::uint64_t high_ns = 0;
        std::uint64_t normal_ns = 0;
    };
    struct Core {
        std::uint64_t busy_ns = 0;
        std::uint64_t preemptions = 0;
    };

    const std::string node_;
    const std::filesystem::path sys_, proc_;
    std::uint64_t last_ns_ = 0;
    std::map<unsigned, Core> cores_;
    /// The counters of open files, by DRM's number and core. A file that is closed is forgotten.
    std::map<std::uint64_t, std::map<unsigned, Busy>> files_;
};

} // namespace overtake::command
