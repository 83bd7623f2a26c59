// SPDX-License-Identifier: MIT
#include "engine/callback_thread.hpp"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace overtake::engine {

std::thread start_thread(std::function<void()> work) {
    try {
        return std::thread(std::move(work));
    } catch (const std::system_error& error) {
        throw Error(EAGAIN, std::string("engine: no thread can be had: ") + error.what());
    }
}

CallbackThread::CallbackThread() : thread_(start_thread([this] { call_back(); })) {}

CallbackThread::~CallbackThread() {
    stop();
}

void CallbackThread::stop() {
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void CallbackThread::on_end(std::shared_ptr<SubmittedTask> task, std::function<void()> callback) {
    if (task->set_callback(std::move(callback)))
        hand_over(std::move(task));
}

/// Takes a task that has ended.  A task whose callback is set later is handed over again.
void CallbackThread::hand_over(std::shared_ptr<SubmittedTask> task) {
    if (!task->has_callback())
        return;
    {
        const std::lock_guard lock(mutex_);
        if (!stopping_)
            waiting_.push(std::exchange(task, nullptr));
    }
    if (!task) {
        changed_.notify_one();
        return;
    }
    // The thread that calls back has ended.
    if (const std::function<void()> callback = task->take_callback())
        callback();
}

void CallbackThread::call_back() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty())
            return;
        const std::shared_ptr<SubmittedTask> task = waiting_.pop();
        lock.unlock();
        if (const std::function<void()> callback = task->take_callback())
            callback();
        lock.lock();
    }
}

} // namespace overtake::engine
