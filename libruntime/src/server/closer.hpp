// SPDX-License-Identifier: MIT
//
// Closes descriptors that came from a user's clients and were not kept.
//
// Closing one may take as long as its sender likes: a socket waits for its data to be taken
// (SO_LINGER), a file for the program that serves it.  So it happens in a thread of its own, which
// nothing waits for.
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
    /// Descriptors of a user that may wait to be closed.
    static constexpr std::size_t most_waiting = 64;

    Closer();
    /// What still waits is closed later, or by the end of the process.
    ~Closer() { finish_by(0); }
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;

    /// Closes it soon.  If too many wait, the caller closes it.
    void close(Descriptor descriptor) { take(descriptor, most_waiting); }
    /// Closes it soon.  False if `most` wait: the caller still has it.
    bool take(Descriptor& descriptor, std::size_t most);
    /// Waits until what was given to it is closed, but no later than deadline_ns of
    /// CLOCK_MONOTONIC.  From then on it takes nothing, unless its thread goes on.
    void finish_by(std::uint64_t deadline_ns);
    std::size_t waiting() const;

private:
    struct Queue;
    const std::shared_ptr<Queue> queue_; ///< the thread's as well
    std::thread thread_;
    bool is_finished_ = false; ///< under the queue's mutex, as is thread_
};

} // namespace overtake::server
