// SPDX-License-Identifier: MIT
//
// An eventfd that makes a thread which waits in a ring go on.
#pragma once

#include <cstdint>

namespace overtake {

/// set() from any thread; the rest is the ring's.
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
