// SPDX-License-Identifier: MIT
//
// Messages of a client to a device server, as bytes that a fuzzer may change. Each message has a
// kind, a length and this number of bytes.
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
    overwrite, ///< an offset of 4 bytes, then the bytes for this offset in the area of service mode
    queue_overwrite, ///< the same for the area of the other queue
    count
};

/// Passes the messages to the queues of a client, one after the other, until a message is one that
/// no library sends; then ends the client's jobs and tasks.  Returns the number of messages.
std::size_t run_messages(std::span<const std::byte> input);

/// Returns valid inputs.
std::vector<std::vector<std::byte>> message_seeds();

} // namespace overtake::fuzz
