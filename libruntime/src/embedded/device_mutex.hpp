// SPDX-License-Identifier: MIT
//
// The lock of a device, which all its clients need.  Each hold is bounded in steps, and its CPU
// time is measured on request.
//
// A thread that holds it does a bounded number of steps and then pauses: a thread that waits for
// the lock gets it before the next steps, if it is scheduled in time.  docs/design/parts.md lists
// every loop under the lock.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "monotonic_clock.hpp"

namespace overtake {

/// Steps in one hold: events delivered, jobs admitted, tasks handled.
constexpr unsigned steps_per_hold = 64;

/// The mutex counts the steps of each hold, and measures the hold if that is wanted.
class DeviceMutex {
public:
    /// `is_measured`: measures CPU time, which costs two system calls for each hold.
    explicit DeviceMutex(bool is_measured) noexcept : is_measured_(is_measured) {}

    struct Longest {
        bool is_measured;
        std::uint64_t cpu_ns; ///< CPU time of the thread that held it
        const char* where;    ///< the function that held it
        unsigned steps;       ///< the most steps, perhaps of another hold
    };
    Longest longest();

    // Called with the lock held.
    void count_steps(unsigned count) noexcept { steps_ += count; }
    /// Notifies one thread once the lock is free: a thread that is woken earlier only waits for the
    /// lock.
    void notify_when_free(std::condition_variable& changes) noexcept;
    bool is_time_to_pause() const noexcept { return steps_ >= steps_per_hold; }

private:
    friend class DeviceLock;

    /// The condition variables to notify once the lock is free.  One that does not fit is notified
    /// at once.
    struct ToNotify {
        std::array<std::condition_variable*, 8> all;
        std::size_t count = 0;

        void notify() noexcept {
            for (; count != 0; count--)
                all[count - 1]->notify_one();
        }
    };

    void take() noexcept;
    void give() noexcept;

    std::mutex mutex_;
    const bool is_measured_;
    std::atomic<unsigned> waiting_ = 0;
    std::atomic<std::uint32_t> holds_ = 0;
    // Protected by mutex_.
    std::uint64_t begin_ns_ = 0;
    const char* where_ = "";
    unsigned steps_ = 0;
    ToNotify to_notify_;
    Longest longest_{};
};

/// Holds the mutex, with pauses.
class DeviceLock {
public:
    /// `where`: the function that makes it.  std::source_location is too new for some compilers.
    explicit DeviceLock(DeviceMutex& mutex, const char* where = __builtin_FUNCTION())
        : mutex_(mutex), where_(where), lock_(mutex.mutex_, std::defer_lock) {
        lock();
    }
    ~DeviceLock() {
        if (lock_.owns_lock())
            unlock();
    }
    DeviceLock(const DeviceLock&) = delete;
    DeviceLock& operator=(const DeviceLock&) = delete;

    void lock();
    void unlock();
    /// Lets a waiting thread have the lock.
    void pause();
    /// Waits until `condition`, which is called with the lock held, returns true.
    template <class Condition>
    void wait(std::condition_variable& changes, Condition condition) {
        while (!condition()) {
            give();
            changes.wait(lock_);
            take();
        }
    }
    /// Waits until a notification or deadline_ns.
    void wait_until(std::condition_variable& changes, std::uint64_t deadline_ns) {
        give();
        overtake::wait_until(changes, lock_, deadline_ns);
        take();
    }

private:
    bool try_for_a_moment();
    void take() noexcept {
        mutex_.where_ = where_;
        mutex_.take();
    }
    /// Ends a hold where another call unlocks the mutex, or where this thread keeps it.
    void give() noexcept {
        mutex_.give();
        mutex_.to_notify_.notify();
    }

    DeviceMutex& mutex_;
    const char* const where_;
    std::unique_lock<std::mutex> lock_;
};

} // namespace overtake
