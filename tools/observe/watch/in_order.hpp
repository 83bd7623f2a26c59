// SPDX-License-Identifier: MIT
//
// InOrder: events in the order of device time, for consumers that need it. A source reports the
// events of one core in order; other events may come a little late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "overtake/event.hpp"

namespace overtake::watch {

/// Memory holds the events of the last `window_ns` of device time, and at most most_events.
class InOrder {
public:
    static constexpr std::uint64_t usual_window_ns = 100'000'000;
    /// A device on a manual clock may make many events at one time.
    static constexpr std::size_t most_events = 1u << 17;

    explicit InOrder(std::function<void(const Event&)> see,
                     std::uint64_t window_ns = usual_window_ns)
        : see_(std::move(see)), window_ns_(window_ns) {}

    void add(const Event& event) {
        waiting_.emplace(event.time_ns, event);
        while (newest() - waiting_.begin()->first > window_ns_ || waiting_.size() > most_events)
            pass_first_on();
    }
    /// Passes all events on: no more come.
    void finish() {
        while (!waiting_.empty())
            pass_first_on();
    }

private:
    std::uint64_t newest() const { return waiting_.rbegin()->first; }
    /// An event that comes later than the window gets the time of the event passed on before it.
    void pass_first_on() {
        Event event = waiting_.extract(waiting_.begin()).mapped();
        last_ns_ = event.time_ns = event.time_ns < last_ns_ ? last_ns_ : event.time_ns;
        see_(event);
    }

    const std::function<void(const Event&)> see_;
    const std::uint64_t window_ns_;
    /// Events of one time are in the order in which they came.
    std::multimap<std::uint64_t, Event> waiting_;
    std::uint64_t last_ns_ = 0;
};

} // namespace overtake::watch
