// SPDX-License-Identifier: MIT
//
// Loads: requests to models as real clients make them, and what became of each.
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
    std::uint64_t requests = 1000; ///< stop after so many; 0 = until stop is set
    std::uint64_t period_us = 0; ///< open loop: a request every so often, whatever became of others
    unsigned in_flight = 1;      ///< closed loop (period_us 0): so many in flight per thread
    std::uint64_t longest_ns = 0; ///< begin none that much later than the first; 0 = no limit
    std::uint64_t warm_up = 0;    ///< requests that come first and do not count
    std::uint64_t warm_up_longest_ns = 0; ///< begin none of those so much later; 0 = no limit
};

/// One request, in device time but for due_ns and done_ns. Of a model with several BPU segments:
/// the arrival of the first, the end of the last, and the sums.
struct Request {
    std::uint64_t queued_ns;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t executed_ns;
    std::uint32_t preemptions;
    std::int32_t status; ///< 0 or a negative errno
    /// When it was to be made, CLOCK_MONOTONIC: in an open loop by the period, even if the client
    /// came to it later.
    std::uint64_t due_ns = 0;
    /// When the result was there: the end of the last FC, or of the CPU segment behind it.
    std::uint64_t done_ns = 0;
    std::uint32_t fault = 0; ///< OVERTAKE_FAULT_* of the job that failed
};

/// Whether a request was dropped for its deadline (TaskOptions::slo_ns), which is no failure.
bool is_dropped(const Options& options, const Request& request);

/// Of a request that failed: the limit of the device that it went beyond, and the remedy, or what
/// its status means.
std::string why_it_failed(const Request& request);

/// What became of a load; times are CLOCK_MONOTONIC.
struct Outcome {
    std::vector<Request> requests; ///< that count, in the order in which they were due
    std::uint64_t warm_up = 0;     ///< requests that came first
    std::uint64_t begin_ns = 0;    ///< when the first was due
    std::uint64_t end_ns = 0;      ///< none was begun after this
    /// Open loop: requests that were due by the end and never begun.
    std::uint64_t waiting = 0;
    /// The most that were due and not begun at any time.
    std::uint64_t most_waiting = 0;
    std::size_t tasks = 0; ///< how many sets of buffers there were
};

/// Requests to one model: one thread for each source.
struct Load {
    std::vector<std::unique_ptr<Source>> sources;
    Options options;
};

/// How many requests of an open loop are on the device at the same time, at the most, for each
/// of `clients`. What is due beyond that waits in the client and holds no buffers.
std::size_t open_loop_limit(const Model& model, std::size_t clients);

/// Makes the requests of all loads at the same time and waits for their end: first what warms
/// up, then all that counts. Inputs stay zero: what is asked is when, not what. Once `stop` is set
/// no more are begun. `progress`, if any, is called now and then with 0..1 by the calling thread.
/// Throws Error if the device cannot be used, or a request fails while warming up.
std::vector<Outcome> run(std::span<Load> loads, const std::atomic<bool>& stop,
                         const std::function<void(double)>& progress = {});

/// One session, by the calling thread; requests in the order of their submission.
std::vector<Request> run(Session& session, const Options& options, const std::atomic<bool>& stop);

} // namespace overtake::load
