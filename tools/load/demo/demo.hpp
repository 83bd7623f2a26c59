// SPDX-License-Identifier: MIT
//
// The demonstration: a detector with a deadline beside a large network, with and without the two
// knobs (priority 255 with a core limit, and splitting into short FCs).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/load.hpp"

namespace overtake::demo {

inline constexpr std::uint64_t ns_per_us = 1000;

/// Requests that the large network's client always has in flight.
constexpr unsigned large_in_flight = 3;

/// One set-up.
struct Row {
    std::string name;
    bool large;    ///< the large network runs as well
    bool priority; ///< the detector has priority 255, core limit 1
    bool split;    ///< the large network's FCs are short
};

/// Returns alone, neither, priority only, split only, both.
const std::vector<Row>& rows();

/// The results of a row's detector and large network.  Times in ns of device time.
struct Figures {
    std::uint64_t requests;
    std::uint64_t failed;
    std::uint64_t p50_ns;
    std::uint64_t p99_ns;
    std::uint64_t max_ns;
    std::uint64_t preemptions;   ///< preemptions of the large network's jobs
    std::uint64_t large_ran_dry; ///< how often no request of it waited: the host was late
    /// From the end of a request of the large network to the arrival of the next; the median.
    std::uint64_t large_turnaround_ns;
    /// The lateness of the detector's requests for their periods: the 99th percentile.
    std::uint64_t late_ns;
    double large_per_second; ///< requests of the large network
    double fair_per_second;  ///< the rate that the detector's free time allows
};

/// Summarises a row. `large_cost_ns` is the time of one request of the unsplit large network alone.
/// The window is from the detector's first arrival to its last end. A request that is partly in the
/// window counts by that part. `period_us` is the detector's period.
Figures summarise(const std::vector<load::Request>& detector,
                  const std::vector<load::Request>& large, std::uint64_t large_cost_ns,
                  unsigned period_us);

} // namespace overtake::demo
