// SPDX-License-Identifier: MIT
//
// A ring of events between a device, which never waits, and one reader.
//
// The two may be processes that share the memory: neither trusts what the other writes, and each
// keeps its own position.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "overtake/event_source.hpp"

namespace overtake {

/// The memory that both ends have; the events follow it.
struct EventArea {
    std::atomic<std::uint32_t> head;             ///< the reader's: events taken so far
    std::atomic<std::uint32_t> reader_waits;     ///< the reader wants to be woken
    alignas(64) std::atomic<std::uint32_t> tail; ///< the writer's: events written so far
    alignas(64) std::atomic<std::uint64_t> lost; ///< the writer's: events that found no room
};
static_assert(std::is_trivially_copyable_v<Event>);
static_assert(alignof(Event) <= alignof(EventArea));

/// `capacity`: a power of two.
constexpr std::size_t event_ring_bytes(std::uint32_t capacity) {
    return sizeof(EventArea) + std::size_t{capacity} * sizeof(Event);
}

/// Returns the capacity of a ring for the events that the options ask for.  Throws Error EINVAL.
std::uint32_t ring_capacity(const EventOptions& options);

/// The device's end.  Belongs to the thread that holds the device's lock.
class EventWriter {
public:
    /// `area` is zero, except for what a reader may have written, and outlives the writer.  `wake`
    /// is called with the device's lock held: it must be quick.
    EventWriter(EventArea& area, std::uint32_t capacity, std::function<void()> wake)
        : area_(area), events_(reinterpret_cast<std::byte*>(&area + 1)), capacity_(capacity),
          wake_(std::move(wake)) {}
    void put(const Event& event) noexcept;

private:
    EventArea& area_;
    std::byte* const events_;
    const std::uint32_t capacity_;
    const std::function<void()> wake_;
    std::uint32_t tail_ = 0;
    std::uint64_t lost_ = 0;
};

/// The reader's end.
class EventReader {
public:
    EventReader(EventArea& area, std::uint32_t capacity)
        : area_(area), events_(reinterpret_cast<const std::byte*>(&area + 1)), capacity_(capacity) {
    }
    bool is_empty() const noexcept { return area_.tail.load() == head_; }
    std::size_t take(std::span<Event> out) noexcept;
    std::uint64_t lost() const noexcept { return area_.lost.load(); }
    std::atomic<std::uint32_t>& waits() noexcept { return area_.reader_waits; }

private:
    EventArea& area_;
    const std::byte* const events_;
    const std::uint32_t capacity_;
    std::uint32_t head_ = 0;
};

} // namespace overtake
