// SPDX-License-Identifier: MIT
//
// Wakes one thread that waits for work, or another thread that stands in for it.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <semaphore.h>

#include "monotonic_clock.hpp"

namespace overtake {

class WakeFlag {
public:
    WakeFlag() noexcept { sem_init(&stand_in_, 0, 0); }
    ~WakeFlag() { sem_destroy(&stand_in_); }
    WakeFlag(const WakeFlag&) = delete;
    WakeFlag& operator=(const WakeFlag&) = delete;

    /// Never waits, and takes no lock: makes at most one futex system call.  Any thread may call
    /// it.
    void raise() noexcept {
        if (raised_.exchange(1) != 0)
            return;
        if (has_stand_in_.load())
            sem_post(&stand_in_);
        else
            raised_.notify_one();
    }
    /// Waits until the flag is raised.  The thread then sees all writes before raise().
    void wait() noexcept {
        raised_.wait(0);
        raised_.store(0);
    }

    // For one other thread.
    /// From now on raise() wakes this thread, until step_back().
    void stand_in() noexcept { has_stand_in_.store(true); }
    /// Waits until the flag is raised, but no later than deadline_ns of CLOCK_MONOTONIC.  Returns
    /// true if it was raised.  Stays awake until awake_until_ns, since waking up takes longer than
    /// a brief wait.
    bool wait_until(std::uint64_t awake_until_ns, std::uint64_t deadline_ns) noexcept {
        constexpr std::uint64_t ns_per_s = 1'000'000'000;
        const timespec deadline{static_cast<time_t>(deadline_ns / ns_per_s),
                                static_cast<long>(deadline_ns % ns_per_s)};
        while (raised_.load() == 0 && monotonic_ns() < awake_until_ns) {
        }
        while (raised_.exchange(0) == 0)
            if (sem_clockwait(&stand_in_, CLOCK_MONOTONIC, &deadline) != 0 && errno == ETIMEDOUT)
                return raised_.exchange(0) != 0;
        return true;
    }
    /// Ends stand_in(), and lowers the flag: the caller has done the work.
    void step_back() noexcept {
        has_stand_in_.store(false);
        raised_.store(0);
        while (sem_trywait(&stand_in_) == 0) {
        }
    }

private:
    std::atomic<std::uint32_t> raised_ = 0;
    std::atomic<bool> has_stand_in_ = false;
    sem_t stand_in_;
};

} // namespace overtake
