// SPDX-License-Identifier: MIT
#include "embedded/event_ring.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "overtake/error.hpp"

namespace overtake {

std::uint32_t ring_capacity(const EventOptions& options) {
    if (options.capacity == 0 || options.capacity > most_events_kept)
        throw Error(EINVAL, fmt::format("events: room for {} of them, but 1..{} are possible",
                                        options.capacity, most_events_kept));
    return std::bit_ceil(options.capacity);
}

void EventWriter::put(const Event& event) noexcept {
    // A reader in another process may have written any head: at worst it loses its own events.
    if (tail_ - area_.head.load(std::memory_order_acquire) >= capacity_) {
        area_.lost.store(++lost_, std::memory_order_relaxed);
        return;
    }
    std::memcpy(events_ + std::size_t{tail_ & (capacity_ - 1)} * sizeof(Event), &event,
                sizeof(Event));
    area_.tail.store(++tail_);
    if (area_.reader_waits.load() != 0 && area_.reader_waits.exchange(0) != 0)
        wake_();
}

std::size_t EventReader::take(std::span<Event> out) noexcept {
    const std::uint32_t come = std::min(area_.tail.load() - head_, capacity_);
    const std::size_t count = std::min<std::size_t>(come, out.size());
    for (std::size_t i = 0; i < count; i++, head_++)
        std::memcpy(&out[i], events_ + std::size_t{head_ & (capacity_ - 1)} * sizeof(Event),
                    sizeof(Event));
    area_.head.store(head_, std::memory_order_release);
    return count;
}

} // namespace overtake
