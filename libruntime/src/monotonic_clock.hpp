// SPDX-License-Identifier: MIT
//
// CLOCK_MONOTONIC in nanoseconds, and waiting for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace overtake {

inline std::uint64_t monotonic_ns() {
    // On Linux this clock is CLOCK_MONOTONIC.
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since_boot).count());
}

/// Waits for a notification, but no later than deadline_ns.  From INT64_MAX on it waits for ever.
inline void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                       std::uint64_t deadline_ns) {
    if (deadline_ns >= static_cast<std::uint64_t>(INT64_MAX)) {
        condition.wait(lock);
        return;
    }
    const std::chrono::nanoseconds since_boot(static_cast<std::int64_t>(deadline_ns));
    condition.wait_until(lock, std::chrono::steady_clock::time_point(since_boot));
}

} // namespace overtake
