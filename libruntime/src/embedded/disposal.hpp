// SPDX-License-Identifier: MIT
//
// Frees the ended jobs of a client outside of the device's lock.
//
// Giving back a job's memory takes system calls that last as long as its scratch and buffers are
// large: never under the device's lock, and never in a thread that serves others.  Jobs that have
// such memory are freed by a thread of their own, small ones by the client's thread that delivers
// their completions.  What is not yet freed stays charged to the client.
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
    /// `has_small`: called by push() if free_small() has something to do; it must be quick.
    /// Throws std::system_error if there is no thread for it.
    explicit Disposal(std::function<void()> has_small);
    ~Disposal() { stop(); }
    Disposal(const Disposal&) = delete;
    Disposal& operator=(const Disposal&) = delete;

    /// `job` is over.  Called with the device's lock held: it is quick.
    void push(std::shared_ptr<EmbeddedJob> job) noexcept;
    /// From any thread.
    void free_small() noexcept { small_.free_all(); }
    /// Returns once everything that was pushed before has been freed.
    void drain() noexcept;
    /// Frees what is left.  Nothing is pushed any more.
    void stop() noexcept;

private:
    /// Linked by EmbeddedJob::next_to_free.
    class Jobs {
    public:
        void push(std::shared_ptr<EmbeddedJob> job) noexcept;
        void free_all() noexcept;
        /// How many were pushed and can be freed.
        std::uint32_t pushed() const noexcept { return pushed_.load(); }
        /// Returns once as many as `target` of them have been freed, by any thread.
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
