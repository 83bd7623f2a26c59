// SPDX-License-Identifier: MIT
//
// Packets on sockets, which carry descriptors.
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

/// What a packet brought.
struct Packet {
    std::size_t bytes = 0; ///< 0: the other end is closed
    bool whole = true;     ///< it fitted, and so did its descriptors
    std::array<Descriptor, most_descriptors> descriptors;
};

/// Sends one packet, of two parts.  False, with errno, if it was not sent.
/// `flags`: of sendmsg(), to which MSG_NOSIGNAL is added.
bool send_packet(int socket, std::span<const std::byte> first, std::span<const std::byte> second,
                 std::span<const int> descriptors, int flags);
/// Nothing, with errno, if none was received.  Descriptors are close-on-exec; more than fit are
/// closed.
std::optional<Packet> receive_packet(int socket, std::span<std::byte> into, int flags);

/// Whether the system takes descriptors that are sent to the socket, or to those that connect to it
/// from now on, where it can refuse them (Linux 6.16).  To throw them away may take long.
void let_send_descriptors(int socket, bool may) noexcept;

/// A wake-up, without waiting.
void send_wake_up(int socket) noexcept;
/// Waits for wake-ups, and takes one.  False if the other end is closed; a signal may end it.
bool wait_for_wake_up(int socket) noexcept;
/// Takes wake-ups that have come, or some of them.  False if the other end is closed.
bool take_wake_ups(int socket) noexcept;

/// Two connected sockets.  Throws Error.
std::pair<Descriptor, Descriptor> make_channel();

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

} // namespace overtake::server
