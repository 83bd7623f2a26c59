// SPDX-License-Identifier: MIT
//
// An eventfd that makes a thread go on which waits in a ring or for a server.
#pragma once

#include <cstdint>

namespace overtake {

/// set() from any thread; the rest is whose thread waits.
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
