// SPDX-License-Identifier: MIT
//
// Notifier: notifies an event loop of tasks that have ended. No thread of the engine ever waits for
// Python.
//
// Thread safety: every function may be called from any thread.
#pragma once

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "overtake/error.hpp"

namespace overtake::python {

class Notifier {
public:
    Notifier() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (descriptor_ < 0)
            throw Error(errno, "run_async: no descriptor for the event loop to wait on; close some "
                               "files, or raise the limit (ulimit -n)");
    }
    ~Notifier() { close(descriptor_); }
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

    /// Returns a descriptor that is readable while take() would return tokens. The notifier owns
    /// the descriptor.
    int descriptor() const noexcept { return descriptor_; }

    void ended(std::uint64_t token) {
        const std::scoped_lock lock(mutex_);
        ended_.push_back(token);
        // The write fails only at a count that is never reached.
        [[maybe_unused]] const int written = eventfd_write(descriptor_, 1);
    }

    /// Returns the tokens of tasks that have ended since the last call.
    std::vector<std::uint64_t> take() {
        const std::scoped_lock lock(mutex_);
        eventfd_t count = 0;
        [[maybe_unused]] const int read = eventfd_read(descriptor_, &count);
        return std::exchange(ended_, {});
    }

private:
    const int descriptor_;
    std::mutex mutex_;
    std::vector<std::uint64_t> ended_;
};

} // namespace overtake::python
