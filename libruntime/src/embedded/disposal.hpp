// SPDX-License-Identifier: MIT
//
// Frees the ended jobs of a client outside of the device's lock.
//
// Releasing a job's memory takes system calls that last longer the larger its scratch and buffers
// are: so it happens never under the device's lock, and never in a thread that serves others.  A
// thread of their own frees jobs that have such memory.  The client's thread that delivers
// completions frees small jobs.  Memory that is not yet freed stays charged to the client.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "embedded/wake_flag.hpp"

namespace overtake {

struct EmbeddedJob;

class Disposal {
public:
    /// `has_small`: push() calls it if free_small() has something to do; it must be quick.  Throws
    /// std::system_error if no thread can be created.
    explicit Disposal(std::function<void()> has_small);
    ~Disposal() { stop(); }
    Disposal(const Disposal&) = delete;
    Disposal& operator=(const Disposal&) = delete;

    /// Takes a job that is over.  Called with the device's lock held: it is quick.
    void push(std::shared_ptr<EmbeddedJob> job) noexcept;
    /// Any thread may call it.
    void free_small() noexcept { small_.free_all(); }
    /// Returns once all jobs that were pushed before have been freed.
    void drain() noexcept;
    /// Frees the jobs that are left.  Nothing is pushed any more.
    void stop() noexcept;

private:
    /// A list of jobs, linked by EmbeddedJob::next_to_free.
    class Jobs {
    public:
        void push(std::shared_ptr<EmbeddedJob> job) noexcept;
        void free_all() noexcept;
        /// Returns how many jobs were pushed and can be freed.
        std::uint32_t pushed() const noexcept { return pushed_.load(); }
        /// Returns once any threads have freed as many as `target` of them.
        void wait_until_freed(std::uint32_t target) const noexcept;

    private:
        std::atomic<EmbeddedJob*> first_ = nullptr;
        std::atomic<std::uint32_t> pushed_ = 0;
        std::atomic<std::uint32_t> freed_ = 0;
    };

    void run() noexcept;

    const std::function<void()> has_small_;
    Jobs small_;
    Jobs large_;
    std::atomic<bool> stopping_ = false;
    WakeFlag wake_;
    std::thread thread_;
};

} // namespace overtake
