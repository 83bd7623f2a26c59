// SPDX-License-Identifier: MIT
//
// CallbackThread: calls back for tasks that have ended, so that no thread that runs tasks calls
// back.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/submitted_task.hpp"

namespace overtake::engine {

/// Starts a thread.  Throws Error EAGAIN, naming the reason, if no thread can be created.
std::thread start_thread(std::function<void()> work);

/// Thread safe.
class CallbackThread {
public:
    /// Throws Error EAGAIN if no thread can be created.
    CallbackThread();
    /// Calls stop().
    ~CallbackThread();
    CallbackThread(const CallbackThread&) = delete;
    CallbackThread& operator=(const CallbackThread&) = delete;

    /// Calls back once when the task has ended, or soon if it has ended already.  A later callback
    /// replaces one that has not been called.
    void on_end(std::shared_ptr<SubmittedTask> task, std::function<void()> callback);
    /// Takes a task that has ended.
    void hand_over(std::shared_ptr<SubmittedTask> task);
    /// Waits for the last callback.  The thread that hands over a task later calls back itself.
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
