// SPDX-License-Identifier: MIT
#include "server/closer.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "monotonic_clock.hpp"

namespace overtake::server {

struct Closer::Queue {
    std::mutex mutex;
    std::condition_variable idle; ///< has_thread became false
    std::deque<Descriptor> waiting;
    bool has_thread = false; ///< a thread is closing descriptors
    bool is_closing = false;

    /// Closes descriptors until none waits.
    static void run(const std::shared_ptr<Queue>& queue) {
        for (;;) {
            Descriptor next; // closed without the lock
            const std::lock_guard lock(queue->mutex);
            queue->is_closing = false;
            if (queue->waiting.empty()) {
                queue->has_thread = false;
                queue->idle.notify_all();
                return;
            }
            next = std::move(queue->waiting.front());
            queue->waiting.pop_front();
            queue->is_closing = true;
        }
    }
};

Closer::Closer() : queue_(std::make_shared<Queue>()) {}

void Closer::finish_by(std::uint64_t deadline_ns) {
    std::unique_lock lock(queue_->mutex);
    is_finished_ = true;
    while (queue_->has_thread && monotonic_ns() < deadline_ns)
        wait_until(queue_->idle, lock, deadline_ns);
    const bool is_idle = !queue_->has_thread;
    std::thread thread = std::move(thread_);
    lock.unlock();
    if (!thread.joinable())
        return;
    if (is_idle)
        thread.join();
    else
        thread.detach();
}

bool Closer::take(Descriptor& descriptor, std::size_t most) {
    if (!descriptor)
        return true;
    const std::lock_guard lock(queue_->mutex);
    if (queue_->waiting.size() >= most || (is_finished_ && !queue_->has_thread))
        return false;
    try {
        queue_->waiting.emplace_back();
        queue_->waiting.back() = std::move(descriptor);
        if (queue_->has_thread)
            return true;
        if (thread_.joinable())
            thread_.join(); // the thread has ended its loop
        thread_ = std::thread([queue = queue_] { Queue::run(queue); });
        queue_->has_thread = true;
    } catch (const std::exception&) { // no memory or no thread: a later call's thread closes it
    }
    return !descriptor;
}

std::size_t Closer::waiting() const {
    const std::lock_guard lock(queue_->mutex);
    return queue_->waiting.size() + (queue_->is_closing ? 1 : 0);
}

} // namespace overtake::server
