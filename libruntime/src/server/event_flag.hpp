// SPDX-License-Identifier: MIT
//
// A flag that poll() can wait for.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include "file_descriptor.hpp"

namespace overtake::server {

/// Thread safe, and raise() may be called by a signal handler.
class EventFlag {
public:
    EventFlag() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    /// False if the system had no descriptor for it.
    explicit operator bool() const noexcept { return static_cast<bool>(event_); }
    int fd() const noexcept { return event_.get(); }
    void raise() noexcept {
        const eventfd_t once = 1;
        (void)!write(event_.get(), &once, sizeof(once));
    }
    void clear() noexcept {
        eventfd_t raised;
        (void)!::read(event_.get(), &raised, sizeof(raised));
    }

private:
    Descriptor event_;
};

} // namespace overtake::server
