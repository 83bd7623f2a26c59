// SPDX-License-Identifier: MIT
//
// Packets on sockets, which can carry descriptors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "file_descriptor.hpp"

namespace overtake::server {

constexpr std::size_t most_descriptors = 2; ///< of a packet

/// A received packet.
struct Packet {
    std::size_t bytes = 0; ///< 0: the other end is closed
    bool whole = true;     ///< it fitted, and so did its descriptors
    std::array<Descriptor, most_descriptors> descriptors;
};

/// Sends one packet: `first`, then `second`.  Returns false, with errno, if it was not sent.
/// `flags`: those of sendmsg(), to which MSG_NOSIGNAL is added.
bool send_packet(int socket, std::span<const std::byte> first, std::span<const std::byte> second,
                 std::span<const int> descriptors, int flags);
/// Returns nullopt, with errno, if no packet was received.  Descriptors are close-on-exec; those
/// that do not fit are closed.
std::optional<Packet> receive_packet(int socket, std::span<std::byte> into, int flags);

/// Sets whether others may send descriptors to this socket or, if it listens, to the connections
/// that it accepts later.  The receiver of a descriptor has to close it, which may take long.  Has
/// no effect before Linux 6.16.
void let_send_descriptors(int socket, bool may) noexcept;

/// Sends a wake-up, without waiting.
void send_wake_up(int socket) noexcept;
/// Waits for wake-ups, and takes one.  Returns false if the other end is closed.  A signal may
/// end the wait; the result is then true.
bool wait_for_wake_up(int socket) noexcept;
/// Takes some or all wake-ups that have come.  Returns false if the other end is closed.
bool take_wake_ups(int socket) noexcept;

/// Returns two connected sockets.  Throws Error.
std::pair<Descriptor, Descriptor> make_channel();

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

} // namespace overtake::server
