// SPDX-License-Identifier: MIT
//
// The lock of a device wakes threads that wait for a change as soon as it is free.
#include <condition_variable>
#include <list>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "embedded/device_mutex.hpp"

namespace overtake::test {
namespace {

/// Threads that wait for a turn, each at a condition variable of its own.
class Waiting {
public:
    Waiting(DeviceMutex& mutex, std::size_t count) : mutex_(mutex), changes_(count) {
        for (std::condition_variable& changes : changes_)
            threads_.emplace_back([&] {
                DeviceLock lock(mutex_);
                lock.wait(changes, [&] { return may_go_; });
            });
    }
    /// The caller holds the lock.
    void notify_all() {
        may_go_ = true;
        for (std::condition_variable& changes : changes_)
            mutex_.notify_when_free(changes);
    }
    void join() {
        for (std::thread& thread : threads_)
            thread.join();
    }

private:
    DeviceMutex& mutex_;
    bool may_go_ = false;
    std::list<std::condition_variable> changes_;
    std::vector<std::thread> threads_;
};

/// More waiting threads than the lock remembers (8); it wakes the others at once.
constexpr std::size_t many = 20;

TEST(DeviceMutex, NotifiesOnceItIsFree) {
    DeviceMutex mutex(false);
    Waiting waiting(mutex, many);
    {
        const DeviceLock lock(mutex);
        waiting.notify_all();
    }
    waiting.join();
}

TEST(DeviceMutex, NotifiesWhenItsHolderWaits) {
    DeviceMutex mutex(false);
    Waiting waiting(mutex, 3);
    std::condition_variable changes;
    bool is_over = false;
    std::thread holder([&] {
        DeviceLock lock(mutex);
        waiting.notify_all();
        lock.wait(changes, [&] { return is_over; });
    });
    waiting.join();
    {
        const DeviceLock lock(mutex);
        is_over = true;
        mutex.notify_when_free(changes);
    }
    holder.join();
}

TEST(DeviceMutex, NotifiesWhenItsHolderPauses) {
    DeviceMutex mutex(false);
    Waiting waiting(mutex, 3);
    {
        DeviceLock lock(mutex);
        waiting.notify_all();
        lock.pause();
        lock.unlock();
        waiting.join();
        lock.lock();
    }
}

} // namespace
} // namespace overtake::test
