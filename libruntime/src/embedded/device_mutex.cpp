// SPDX-License-Identifier: MIT
#include "embedded/device_mutex.hpp"

#include <algorithm>
#include <sched.h>

#include "thread_clock.hpp"

namespace overtake {

namespace {

/// The longest pause: a waiting thread that was not scheduled by then loses its turn.
constexpr std::uint64_t pause_ns = 200'000;
/// The number of tries of a taken lock before a thread sleeps, which take some microseconds.
constexpr unsigned looks = 16;
constexpr unsigned pauses_of_a_look = 8;

void relax() noexcept {
#if defined(__x86_64__)
    for (unsigned i = 0; i < pauses_of_a_look; i++)
        __builtin_ia32_pause();
#else
    sched_yield();
#endif
}

} // namespace

void DeviceMutex::take() noexcept {
    holds_.fetch_add(1, std::memory_order_relaxed);
    steps_ = 0;
    if (is_measured_)
        begin_ns_ = thread_cpu_ns();
}

void DeviceMutex::give() noexcept {
    longest_.steps = std::max(longest_.steps, steps_);
    if (!is_measured_)
        return;
    const std::uint64_t held_ns = thread_cpu_ns() - begin_ns_;
    if (held_ns <= longest_.cpu_ns)
        return;
    longest_.cpu_ns = held_ns;
    longest_.where = where_;
}

void DeviceMutex::notify_when_free(std::condition_variable& changes) noexcept {
    if (to_notify_.count == to_notify_.all.size())
        changes.notify_one();
    else
        to_notify_.all[to_notify_.count++] = &changes;
}

DeviceMutex::Longest DeviceMutex::longest() {
    const std::lock_guard lock(mutex_);
    Longest longest = longest_;
    longest.is_measured = is_measured_;
    if (!longest.where)
        longest.where = "";
    return longest;
}

/// Tries for a moment: most holds are shorter than going to sleep and waking up.
bool DeviceLock::try_for_a_moment() {
    for (unsigned i = 0; i < looks; i++) {
        if (lock_.try_lock())
            return true;
        relax();
    }
    return false;
}

void DeviceLock::lock() {
    if (!try_for_a_moment()) {
        mutex_.waiting_.fetch_add(1);
        lock_.lock();
        mutex_.waiting_.fetch_sub(1);
    }
    take();
}

void DeviceLock::unlock() {
    mutex_.give();
    DeviceMutex::ToNotify to_notify = mutex_.to_notify_;
    mutex_.to_notify_.count = 0;
    lock_.unlock();
    to_notify.notify();
}

/// Gives a waiting thread time to take the lock: this thread would take it again before the other
/// has woken up.
void DeviceLock::pause() {
    if (mutex_.waiting_.load() == 0) {
        give();
        take();
        return;
    }
    const std::uint32_t holds = mutex_.holds_.load(std::memory_order_relaxed);
    unlock();
    const std::uint64_t until = monotonic_ns() + pause_ns;
    while (mutex_.holds_.load(std::memory_order_relaxed) == holds && mutex_.waiting_.load() != 0 &&
           monotonic_ns() < until)
        sched_yield();
    lock();
}

} // namespace overtake
