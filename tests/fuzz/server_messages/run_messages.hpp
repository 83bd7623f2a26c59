// SPDX-License-Identifier: MIT
//
// Messages of a client to a device server, as bytes that a fuzzer may change: each has a kind, a
// length and that many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace overtake::fuzz {

enum class MessageKind : std::uint8_t {
    jobs,      ///< a call of a queue: WireJob, FCs, bindings, ...
    tasks,     ///< a call of a queue of service mode: its type in a byte, then as in wire.hpp
    cancel,    ///< tag of a job
    overwrite, ///< an offset of 4 bytes, then bytes that go there, into the area of service mode
    queue_overwrite, ///< the same of the other queue's area
    count
};

/// Passes the messages to the queues of a client, one after the other, until one is no message of a
/// library; then ends its jobs and tasks.  Returns the number of messages.
std::size_t run_messages(std::span<const std::byte> input);

/// Returns valid inputs.
std::vector<std::vector<std::byte>> message_seeds();

} // namespace overtake::fuzz
