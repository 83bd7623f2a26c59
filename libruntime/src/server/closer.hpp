// SPDX-License-Identifier: MIT
//
// Closes descriptors that a user's clients have sent and the server does not keep.
//
// Closing one may take as long as its sender likes: a socket waits until its data is taken
// (SO_LINGER), a file waits for the program that serves it.  So a thread of its own closes them,
// and no wait for that thread is unbounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "server/descriptor.hpp"

namespace overtake::server {

/// Thread safe.
class Closer {
public:
    /// The most descriptors of a user that may wait to be closed.
    static constexpr std::size_t most_waiting = 64;

    Closer();
    /// Descriptors that still wait are closed later, or by the end of the process.
    ~Closer() { finish_by(0); }
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;

    /// Closes the descriptor soon.  If too many wait, the calling thread closes it.
    void close(Descriptor descriptor) { take(descriptor, most_waiting); }
    /// Closes the descriptor soon.  Returns false, and leaves the descriptor to the caller, if
    /// `most` wait or if there is no thread for it.
    bool take(Descriptor& descriptor, std::size_t most);
    /// Waits until all descriptors that it was given are closed, but no later than deadline_ns of
    /// CLOCK_MONOTONIC.  After that it takes none, unless its thread goes on.
    void finish_by(std::uint64_t deadline_ns);
    std::size_t waiting() const;

private:
    struct Queue;
    const std::shared_ptr<Queue> queue_; ///< shared with the thread
    std::thread thread_;
    bool is_finished_ = false; ///< protected by the queue's mutex, as is thread_
};

} // namespace overtake::server
