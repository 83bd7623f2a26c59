// SPDX-License-Identifier: MIT
//
// The number of threads that compute an operator of the CPU.
#pragma once

namespace overtake::cpu {

/// While the object lives, operators that this thread makes or runs use up to so many threads.
/// Without such an object they use 1 thread.  An operator runs with as many threads as it was made
/// with.
class ThreadCount {
public:
    explicit ThreadCount(unsigned count) noexcept : before_(current_) { current_ = count; }
    ~ThreadCount() { current_ = before_; }
    ThreadCount(const ThreadCount&) = delete;
    ThreadCount& operator=(const ThreadCount&) = delete;

    static unsigned current() noexcept { return current_; }

private:
    static inline thread_local unsigned current_ = 1;
    const unsigned before_;
};

} // namespace overtake::cpu
