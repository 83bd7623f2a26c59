// SPDX-License-Identifier: MIT
//
// Functions that make events for tests.
#pragma once

#include <cstdint>

#include "overtake/event.hpp"

namespace overtake::test {

inline constexpr std::uint64_t ms = 1'000'000;
/// Linux gives this pid and those above it to no process, so they have no name on any machine.
inline constexpr std::uint32_t unused_pid = 1u << 22;

inline Event event(EventType type, std::uint64_t time_ms, std::uint32_t pid, std::uint64_t tag) {
    Event made;
    made.type = type;
    made.time_ns = time_ms * ms;
    made.pid = pid;
    made.client = pid;
    made.context = 1;
    made.tag = tag;
    made.core = 1;
    return made;
}

inline Event queued(std::uint64_t time_ms, std::uint32_t pid, std::uint64_t tag, unsigned priority,
                    const char* model) {
    Event made = event(EventType::job_queue, time_ms, pid, tag);
    made.priority = priority;
    made.model = model_id(model);
    return made;
}

} // namespace overtake::test
