// SPDX-License-Identifier: MIT
//
// What a client says to a device server, as bytes that a fuzzer may change: messages of a kind, a
// length and so many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace overtake::fuzz {

enum class MessageKind : std::uint8_t {
    jobs,      ///< a call of a queue: WireJob, FCs, bindings, ...
    tasks,     ///< a call of a queue of service mode: what for, in a byte, then as in wire.hpp
    cancel,    ///< a tag: of a job
    overwrite, ///< an offset of 4 bytes, then bytes that go there, into the area of service mode
    queue_overwrite, ///< the same of the other queue's area
    count
};

/// A client's queues get the messages, one after the other, until one is no message of a library;
/// what it has then ends.  Returns how many there were.
std::size_t run_messages(std::span<const std::byte> input);

/// Such inputs that are right.
std::vector<std::vector<std::byte>> message_seeds();

} // namespace overtake::fuzz
