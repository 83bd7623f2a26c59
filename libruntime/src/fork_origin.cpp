// SPDX-License-Identifier: MIT
#include "fork_origin.hpp"

#include <cerrno>
#include <pthread.h>

#include "overtake/error.hpp"

namespace overtake {

namespace {

std::atomic<unsigned> generation{0};

void count_fork() {
    generation.fetch_add(1, std::memory_order_relaxed);
}

/// Runs as the library is loaded, before any object of it can be made.
__attribute__((constructor)) void watch_for_fork() {
    // It fails only without memory, and then a child gets no message for its mistakes.
    (void)pthread_atfork(nullptr, nullptr, count_fork);
}

} // namespace

unsigned fork_generation() noexcept {
    return generation.load(std::memory_order_relaxed);
}

std::string ForkOrigin::refusal(const char* what) {
    return std::string(what) + ": opened before fork(), and only the process that opened it can "
                               "use it: open the device "
                               "anew in the child, or call fork() before opening it";
}

void ForkOrigin::fail(const char* what) {
    throw Error(ENOTSUP, refusal(what));
}

} // namespace overtake
