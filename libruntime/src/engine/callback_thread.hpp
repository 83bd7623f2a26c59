// SPDX-License-Identifier: MIT
//
// CallbackThread: calls back for tasks that have ended, so that no thread which runs tasks does.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/submitted_task.hpp"

namespace overtake::engine {

/// A thread, or Error EAGAIN that says that none can be had.
std::thread start_thread(std::function<void()> work);

/// Thread safe.
class CallbackThread {
public:
    /// Throws Error EAGAIN if no thread can be had.
    CallbackThread();
    /// stop()
    ~CallbackThread();
    CallbackThread(const CallbackThread&) = delete;
    CallbackThread& operator=(const CallbackThread&) = delete;

    /// Calls back once when the task has ended, or soon if it has.  A later callback replaces one
    /// that has not been called.
    void on_end(std::shared_ptr<SubmittedTask> task, std::function<void()> callback);
    /// Of a task that has ended.
    void hand_over(std::shared_ptr<SubmittedTask> task);
    /// Waits for the last callback; later ones are called by the thread that hands over.
    void stop();

private:
    void call_back();

    std::mutex mutex_;
    std::condition_variable changed_;
    OwningList<SubmittedTask, &SubmittedTask::callback_link_> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace overtake::engine
