// SPDX-License-Identifier: MIT
//
// An eventfd that wakes a thread which waits in a ring or for a server.
#pragma once

#include <cstdint>

namespace overtake {

/// Any thread may call set(); only the waiting thread uses the rest.
class InterruptEvent {
public:
    /// Throws Error with the errno.
    InterruptEvent();
    ~InterruptEvent();
    InterruptEvent(const InterruptEvent&) = delete;
    InterruptEvent& operator=(const InterruptEvent&) = delete;

    int fd() const noexcept { return fd_; }
    void set() noexcept;

private:
    int fd_;
};

} // namespace overtake
