// SPDX-License-Identifier: MIT
//
// What overtake top can say without events: from the counters of kernel devices in sysfs and those
// of open files in fdinfo, which need no right to use BPF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "observe/watch/activity.hpp"

namespace overtake::command {

/// Of one device. Counters that others may read are coarse: they move in steps of some FCs.
class TopCounters {
public:
    /// `node`: "accelN". Throws Error (ENOENT) if the driver has no such device.
    explicit TopCounters(std::string node, std::filesystem::path sys = "/sys",
                         std::filesystem::path proc = "/proc");
    /// Since the last one. Who waits, latencies and preemptions of processes are not known: zero.
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
    /// Of open files, by DRM's number and core: what one had is not another's once it is closed.
    std::map<std::uint64_t, std::map<unsigned, Busy>> files_;
};

} // namespace overtake::command
