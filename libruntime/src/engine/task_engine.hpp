// SPDX-License-Identifier: MIT
//
// TaskEngine: what an Engine hands its requests to: one library queue of a device
// (ThreadedEngine), or a coordinator of several processors (coordination::CoordinatedEngine).
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/run.hpp"
#include "engine/submitted_task.hpp"
#include "engine/task_segment.hpp"
#include "overtake/service.hpp"

namespace overtake::engine {

/// Thread safe, from any thread, callbacks included, but for the destructor.
class TaskEngine {
public:
    virtual ~TaskEngine() = default;
    TaskEngine(const TaskEngine&) = delete;
    TaskEngine& operator=(const TaskEngine&) = delete;

    /// Cancels what it has, and waits for the ends and for the last callback.  Not from a callback.
    /// What is submitted from now on ends as cancelled.
    virtual void stop() = 0;
    /// Throws Error: EINVAL for options that are impossible, EPERM for a priority above its own.
    virtual void check(const RunOptions& options) const = 0;
    /// A task of these segments, which work on `memory`.  Throws Error EINVAL for segments that it
    /// cannot run.
    virtual std::shared_ptr<SubmittedTask> make_task(std::span<const TaskSegment> segments,
                                                     const RunOptions& options,
                                                     std::shared_ptr<void> memory) = 0;
    /// One that it has made, once.
    virtual void submit_task(std::shared_ptr<SubmittedTask> task) = 0;
    /// What has not started never runs.  Returns at once; the task ends some time later.
    virtual void cancel_task(std::shared_ptr<SubmittedTask> task) = 0;
    /// As CallbackThread::on_end().
    virtual void on_end(std::shared_ptr<SubmittedTask> task, std::function<void()> callback) = 0;
    /// In service mode: the settings of the device.  Null otherwise.
    virtual const ServiceSettings* service_settings() const noexcept { return nullptr; }

protected:
    TaskEngine() = default;
};

} // namespace overtake::engine
