// SPDX-License-Identifier: MIT
//
// SubmittedTask: a task as its owner sees it, whichever engine brings it to its end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/owning_list.hpp"
#include "overtake/engine.hpp"

namespace overtake::engine {

class CallbackThread;

/// Thread safe.
class SubmittedTask : public std::enable_shared_from_this<SubmittedTask> {
public:
    virtual ~SubmittedTask() = default;
    SubmittedTask(const SubmittedTask&) = delete;
    SubmittedTask& operator=(const SubmittedTask&) = delete;

    /// Waits until the task has ended, or until deadline_ns (absolute CLOCK_MONOTONIC).  Returns
    /// whether it has ended.  Any number of threads may wait.
    bool wait(std::int64_t deadline_ns = deadline_never);
    /// Returns 0, or a negative errno; -EINPROGRESS before its end.
    std::int32_t status() const;
    /// The text of the error of a CPU segment that failed.
    std::string error() const;
    /// Keeps no text if there is no memory for it.
    void set_error(const char* text) noexcept;
    /// The memory that the task works on, until its end.
    std::shared_ptr<void> memory() const;
    /// The end in device time.
    std::uint64_t ended_ns() const noexcept { return ended_ns_; }

    // Constant once the task has ended.

    /// Device time; 0 = the task was not dispatched.
    virtual std::uint64_t dispatched_ns() const noexcept = 0;
    /// The core that ran its BPU segments; 0 = none did.
    virtual unsigned core() const noexcept = 0;
    virtual std::vector<SegmentRecord> segment_records() const = 0;
    /// The runs of a task of an engine with several processors; empty for other tasks.
    virtual std::vector<RunRecord> run_records() const { return {}; }

protected:
    /// The task keeps `memory`, which it works on, until its end, even if its owner has released
    /// the task.
    explicit SubmittedTask(std::shared_ptr<void> memory) : memory_(std::move(memory)) {}
    void finish(std::int32_t status, std::uint64_t now_ns);

private:
    friend class CallbackThread;

    /// Replaces the callback.  Returns true if the task has ended already.
    bool set_callback(std::function<void()> callback);
    std::function<void()> take_callback();
    bool has_callback() const;

    ListLink<SubmittedTask> callback_link_;
    mutable std::mutex mutex_;
    std::condition_variable ended_;
    std::shared_ptr<void> memory_;
    std::int32_t status_ = -EINPROGRESS;
    std::uint64_t ended_ns_ = 0;
    std::string error_;
    std::function<void()> callback_;
};

} // namespace overtake::engine
