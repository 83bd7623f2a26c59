// SPDX-License-Identifier: MIT
//
// Wakes one thread that waits for something to do.
#pragma once

#include <atomic>
#include <cstdint>

namespace overtake {

class WakeFlag {
public:
    /// Never waits, and takes no lock: at most one futex system call.  From any thread.
    void raise() noexcept {
        if (raised_.exchange(1) == 0)
            raised_.notify_one();
    }
    /// Until it is raised.  What was done before raise() is seen.
    void wait() noexcept {
        raised_.wait(0);
        raised_.store(0);
    }

private:
    std::atomic<std::uint32_t> raised_ = 0;
};

} // namespace overtake
