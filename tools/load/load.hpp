// SPDX-License-Identifier: MIT
//
// Loads: makes requests to models as real clients make them, and returns the result of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "load/source.hpp"

namespace overtake::load {

struct Options {
    TaskOptions task = {};
    std::uint64_t requests = 1000; ///< stop after this number; 0 = until stop is set
    std::uint64_t period_us = 0;   ///< open loop: time between requests, ended or not
    unsigned in_flight = 1;        ///< closed loop (period_us 0): requests in flight per thread
    /// No request begins later than this after the first; 0 = no limit.
    std::uint64_t longest_ns = 0;
    std::uint64_t warm_up = 0;            ///< requests that come first and do not count
    std::uint64_t warm_up_longest_ns = 0; ///< longest_ns of the warm-up; 0 = no limit
};

/// One request. Times are device time, except due_ns and done_ns. A request with several BPU
/// segments has the arrival of the first, the end of the last, and the sums of the other numbers.
struct Request {
    std::uint64_t queued_ns;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t executed_ns;
    std::uint32_t preemptions;
    std::int32_t status; ///< 0 or a negative errno
    /// When the request was due, CLOCK_MONOTONIC: in an open loop by the period, even if the client
    /// made it later.
    std::uint64_t due_ns = 0;
    /// When the result was ready: the end of the last FC, or of the CPU segment after it.
    std::uint64_t done_ns = 0;
    std::uint32_t fault = 0; ///< OVERTAKE_FAULT_* of the job that failed
};

/// Returns whether a request was dropped for its deadline (TaskOptions::slo_ns), which is no
/// failure.
bool is_dropped(const Options& options, const Request& request);

/// Explains a request that failed: the limit of the device that it exceeded, with the remedy, or
/// the meaning of its status.
std::string why_it_failed(const Request& request);

/// The results of a load. Times are CLOCK_MONOTONIC.
struct Outcome {
    std::vector<Request> requests; ///< counted requests, in the order in which they were due
    std::uint64_t warm_up = 0;     ///< requests of the warm-up
    std::uint64_t begin_ns = 0;    ///< when the first was due
    std::uint64_t end_ns = 0;      ///< no request began after this
    /// Open loop: requests that were due by the end and were never begun.
    std::uint64_t waiting = 0;
    /// Open loop: the most requests that were due and not begun at any time.
    std::uint64_t most_waiting = 0;
    std::size_t tasks = 0; ///< number of sets of buffers
};

/// Requests to one model: one thread for each source.
struct Load {
    std::vector<std::unique_ptr<Source>> sources;
    Options options;
};

/// Returns how many requests of an open loop may be on the device at the same time for each of
/// `clients`.  Further due requests wait in the client and hold no buffers.
std::size_t open_loop_limit(const Model& model, std::size_t clients);

/// Makes the requests of all loads at the same time and waits for their end: first the warm-up,
/// then the counted requests. Inputs stay zero, since only times matter. Once `stop` is set, no
/// more requests begin. The calling thread calls `progress`, if any, now and then with 0..1. Throws
/// Error if the device cannot be used, or if a request fails while warming up.
std::vector<Outcome> run(std::span<Load> loads, const std::atomic<bool>& stop,
                         const std::function<void(double)>& progress = {});

/// Runs one session in the calling thread; returns requests in the order of their submission.
std::vector<Request> run(Session& session, const Options& options, const std::atomic<bool>& stop);

} // namespace overtake::load
