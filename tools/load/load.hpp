// SPDX-License-Identifier: MIT
//
// Loads: requests to one model as a real client makes them, and what became of each.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "overtake/session.hpp"

namespace overtake::load {

struct Options {
    TaskOptions task;
    std::uint64_t requests = 1000; ///< stop after so many; 0 = until stop is set
    std::uint64_t period_us = 0; ///< open loop: a request every so often, whatever became of others
    unsigned in_flight = 1;      ///< closed loop (period_us 0): so many at any time
};

/// One request, in device time. Of a model with several BPU segments: the arrival of the first,
/// the end of the last, and the sums.
struct Request {
    std::uint64_t queued_ns;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t executed_ns;
    std::uint32_t preemptions;
    std::int32_t status; ///< 0 or a negative errno
};

/// Makes the requests, in order of their submission; the calling thread waits for all of them.
/// Inputs stay zero: what is asked is when, not what. Once `stop` is set no more are begun.
std::vector<Request> run(Session& session, const Options& options, const std::atomic<bool>& stop);

/// The smallest value that at least `percent` of the values do not exceed (nearest rank).
/// `sorted` is ascending and not empty; percent in (0, 100].
std::uint64_t percentile(std::span<const std::uint64_t> sorted, double percent);

/// Latencies (end - queued) of the requests that succeeded, ascending, in ns.
std::vector<std::uint64_t> latencies(std::span<const Request> requests);

} // namespace overtake::load
