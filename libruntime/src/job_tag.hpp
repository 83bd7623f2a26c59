// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace overtake {

/// Returns the tag of an engine's or a session's next job.  No two jobs of a process get the same
/// tag here, so that a watcher of the process distinguishes them before it knows their contexts.
/// For `count` jobs, which have consecutive tags, returns the tag of the first.  Thread safe.
inline std::uint64_t next_job_tag(std::uint64_t count = 1) noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(count, std::memory_order_relaxed);
}

} // namespace overtake
