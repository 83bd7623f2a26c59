// SPDX-License-Identifier: MIT
//
// Workers: threads that compute CPU segments.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

#include "engine/run.hpp"

namespace overtake::engine {

/// Thread safe.
class Workers {
public:
    /// Called by a worker when a segment is over; the run's cpu_segment_ says how.
    using Done = std::function<void(std::shared_ptr<Run>)>;
    /// Nanoseconds.
    using Clock = std::function<std::uint64_t()>;

    /// At most `count` threads, as many as there is work for.  On `cpus`, unless that is empty.
    /// Throws Error EINVAL if the host has not one of them.
    Workers(std::uint32_t count, const std::vector<unsigned>& cpus, Clock clock, Done done);
    /// Computes what it was given before.
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// One segment of a run at a time.
    void compute(std::shared_ptr<Run> run, std::size_t segment) noexcept;

private:
    void work();
    void stop();
    int add_worker();

    const std::uint32_t most_;
    const Clock clock_;
    const Done done_;
    const bool pinned_;
    const cpu_set_t cpus_;
    std::mutex mutex_;
    std::size_t idle_ = 0;
    std::condition_variable changed_;
    RunList<&Run::worker_link_> waiting_;
    std::size_t waiting_count_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace overtake::engine
