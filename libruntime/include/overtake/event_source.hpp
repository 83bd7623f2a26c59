// SPDX-License-Identifier: MIT
//
// EventSource: reads the events of a device while they happen (Device::events()).
//
//     auto source = device->events({});
//     std::vector<Event> events(4096);
//     for (;;)
//         for (const Event& event : std::span(events).first(source->read(events, deadline)))
//             ...
//
// The events of one core come in the order of time.  Events of other cores, and of jobs and tasks
// that have not reached a core yet, may come a little late.  A reader that needs one order sorts
// the events by time.
//
// Thread safety: an EventSource belongs to one thread at a time.
// Errors: overtake::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "overtake/event.hpp"
#include "overtake/export.hpp"

namespace overtake {

/// The most events that a source keeps for its reader.
constexpr std::uint32_t most_events_kept = 1u << 18;

struct EventOptions {
    /// The number of events that can wait for the reader: 1..most_events_kept, rounded up to a
    /// power of two.  An event that finds no room is lost and counted.
    std::uint32_t capacity = 1u << 16;
};

class OVERTAKE_API EventSource {
public:
    virtual ~EventSource();
    /// Waits until there is at least one event or deadline_ns (absolute CLOCK_MONOTONIC; 0 polls)
    /// has passed.  Writes at most out.size() events, and returns their number: 0 at the deadline,
    /// or at once if `out` is empty.  EINVAL for a negative deadline.  A reader that polls now and
    /// then costs the device less than a reader that waits, because the device has to wake the
    /// latter.
    virtual std::size_t read(std::span<Event> out, std::int64_t deadline_ns) = 0;
    /// Returns the number of events that found no room since the source was made.
    virtual std::uint64_t lost() const noexcept = 0;
};

} // namespace overtake
