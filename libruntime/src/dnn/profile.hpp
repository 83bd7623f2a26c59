// SPDX-License-Identifier: MIT
//
// The profile of HB_DNN_PROFILER_LOG_PATH: how long tasks waited and ran, in two files at the end
// of the program.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace overtake::dnn {

/// Milliseconds of one kind.
struct Latency {
    void add(double ms);

    std::uint64_t count = 0;
    double sum = 0, least = 0, most = 0;
};

/// One task that has ended well, in nanoseconds.
struct TaskTimes {
    std::string models;       ///< names, joined by +
    std::uint64_t submitted;  ///< CLOCK_MONOTONIC, as the next two
    std::uint64_t dispatched; ///< the task left the library's queue
    std::uint64_t ended;
    std::uint64_t bpu; ///< executed on the BPU, without waits and preemptions
    std::uint64_t cpu; ///< in its CPU segments
};

/// Thread safe.
class Profile {
public:
    void add(const TaskTimes& task);
    /// Writes profiler.log (JSON) and profiler.csv into `directory`.  Throws Error with the errno.
    /// Writes nothing if no task has ended.
    void write(const std::string& directory, unsigned cores) const;

private:
    mutable std::mutex mutex_;
    std::uint64_t first_ns_ = UINT64_MAX, last_ns_ = 0;
    std::map<std::string, Latency> models_;
    Latency pending_, running_, whole_, bpu_, cpu_;
};

} // namespace overtake::dnn
