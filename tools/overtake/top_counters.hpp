// SPDX-License-Identifier: MIT
//
// What overtake top can say without events: from the counters of kernel devices in sysfs and those
// of open files in fdinfo, which need no right to use BPF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "watch/activity.hpp"

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
    struct Totals {
        std::uint64_t high_ns = 0;
        std::uint64_t normal_ns = 0;
        std::uint64_t preemptions = 0;
    };
    /// The difference, and remembers it.
    static Totals since(Totals& last, const Totals& now);

    const std::string node_;
    const std::filesystem::path sys_, proc_;
    std::uint64_t last_ns_ = 0;
    std::map<unsigned, Totals> cores_;
    std::map<std::uint32_t, Totals> processes_;
};

} // namespace overtake::command
