// SPDX-License-Identifier: MIT
//
// TaskEngine: executes the requests of an Engine: one library queue of a device (ThreadedEngine),
// or a coordinator of several processors (coordination::CoordinatedEngine).
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/run.hpp"
#include "engine/submitted_task.hpp"
#include "engine/task_segment.hpp"
#include "overtake/service.hpp"

namespace overtake::engine {

/// Thread safe: any thread may call every function, callbacks included, except the destructor.
class TaskEngine {
public:
    virtual ~TaskEngine() = default;
    TaskEngine(const TaskEngine&) = delete;
    TaskEngine& operator=(const TaskEngine&) = delete;

    /// Cancels its tasks, and waits for their ends and for the last callback.  Not called from a
    /// callback.  A task that is submitted later ends as cancelled.
    virtual void stop() = 0;
    /// Throws Error: EINVAL for impossible options, EPERM for a priority above that of the engine.
    virtual void check(const RunOptions& options) const = 0;
    /// Makes a task of these segments, which work on `memory`.  Throws Error EINVAL for segments
    /// that the engine cannot run.
    virtual std::shared_ptr<SubmittedTask> make_task(std::span<const TaskSegment> segments,
                                                     const RunOptions& options,
                                                     std::shared_ptr<void> memory) = 0;
    /// Submits a task that it has made, once.
    virtual void submit_task(std::shared_ptr<SubmittedTask> task) = 0;
    /// Segments that have not started never run.  Returns at once; the task ends some time later.
    virtual void cancel_task(std::shared_ptr<SubmittedTask> task) = 0;
    /// Does the same as CallbackThread::on_end().
    virtual void on_end(std::shared_ptr<SubmittedTask> task, std::function<void()> callback) = 0;
    /// In service mode: the settings of the device.  Null otherwise.
    virtual const ServiceSettings* service_settings() const noexcept { return nullptr; }

protected:
    TaskEngine() = default;
};

} // namespace overtake::engine
