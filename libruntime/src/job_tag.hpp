// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace overtake {

/// What an engine or a session calls its next job: no two jobs of a process are called the same, so
/// that a watcher of the process knows them apart before it knows their contexts.  Of `count`
/// jobs, which have consecutive tags, that of the first.  Thread safe.
inline std::uint64_t next_job_tag(std::uint64_t count = 1) noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(count, std::memory_order_relaxed);
}

} // namespace overtake
