// SPDX-License-Identifier: MIT
//
// Frees the ended jobs of a client in a thread of its own.
//
// Giving back a job's memory takes system calls that last as long as its scratch and buffers are
// large: never under the device's lock, and never in a thread that serves others.  What is not yet
// freed stays charged to the client.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "embedded/wake_flag.hpp"

namespace overtake {

struct EmbeddedJob;

class Disposal {
public:
    /// Throws std::system_error if there is no thread for it.
    Disposal();
    ~Disposal() { stop(); }
    Disposal(const Disposal&) = delete;
    Disposal& operator=(const Disposal&) = delete;

    /// `job` is over.  Called with the device's lock held: it is quick.
    void push(std::shared_ptr<EmbeddedJob> job) noexcept;
    /// Returns once everything that was pushed before has been freed.
    void drain() const noexcept;
    /// Frees what is left.  Nothing is pushed any more.
    void stop() noexcept;

private:
    void run() noexcept;

    std::atomic<EmbeddedJob*> first_ = nullptr; ///< linked by EmbeddedJob::next_to_free
    std::atomic<std::uint32_t> pushed_ = 0;
    std::atomic<std::uint32_t> freed_ = 0;
    std::atomic<bool> stopping_ = false;
    WakeFlag wake_;
    std::thread thread_;
};

} // namespace overtake
