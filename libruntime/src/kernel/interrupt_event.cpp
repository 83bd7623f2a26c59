// SPDX-License-Identifier: MIT
#include "kernel/interrupt_event.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/eventfd.h>
#include <unistd.h>

#include "overtake/error.hpp"

namespace overtake {

InterruptEvent::InterruptEvent() : fd_(eventfd(0, EFD_CLOEXEC)) {
    if (fd_ < 0)
        throw Error(errno, std::string("eventfd: ") + std::strerror(errno));
}

InterruptEvent::~InterruptEvent() {
    close(fd_);
}

void InterruptEvent::set() noexcept {
    // It cannot fail: the counter holds more than is ever added to it.
    (void)!eventfd_write(fd_, 1);
}

} // namespace overtake
