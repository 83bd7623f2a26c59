// SPDX-License-Identifier: MIT
//
// TaskSchedulerInterface: the queue in which an engine's tasks wait for their turn: a queue of the
// process's own (ProcessTaskScheduler), or the queue that all processes of the device share
// (ServiceTaskScheduler).
//
// One instant is handled in the order of the contract (docs/reference/scenarios.md): gather(), then
// arrivals and cancels, then dispatch().  Segments that have ended are handled before any of these.
//
// Thread safety: one thread at a time uses it, except for interrupt().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/run.hpp"
#include "overtake/device.hpp"
#include "overtake/settings.hpp"

namespace overtake::engine {

/// The settings of a device's library queue; the defaults are the documented ones.
struct SchedulerOptions {
    std::string policy = "priority";
    ovt_sched_settings settings = usual_settings(); ///< its policy is the one named above
    unsigned max_priority = 254;                    ///< as in QueueOptions
    unsigned core_limit = 0;                        ///< as in QueueOptions
    /// The tag of its first job; tags count up from there.  None: no other job of the process has
    /// the same.
    std::optional<std::uint64_t> first_tag{};
    bool interruptible = false; ///< for interrupt(), as in QueueOptions
    unsigned record = 0;        ///< as in EngineOptions
};

/// Runs CPU segments, and may watch jobs.
class SchedulerHost {
public:
    virtual ~SchedulerHost() = default;
    /// Begins the CPU segment, and calls cpu_ended() some time later, not from within this call.
    virtual void run_cpu(Run& run, std::size_t segment) = 0;
    /// A BPU segment has become job `tag` of the device.
    virtual void submitted(Run&, std::size_t /*segment*/, std::uint64_t /*tag*/) {}
};

class TaskSchedulerInterface {
public:
    /// Tasks that it still has do not end any more.
    virtual ~TaskSchedulerInterface();
    TaskSchedulerInterface(const TaskSchedulerInterface&) = delete;
    TaskSchedulerInterface& operator=(const TaskSchedulerInterface&) = delete;

    /// Device time; the last known time if the device has failed.
    std::uint64_t now_ns() const noexcept;
    /// Throws Error: EINVAL if the device does not have the core, EPERM if the queue does not have
    /// the priority.  Any thread may call it.
    void check(const RunOptions& options) const;

    /// Collects segments that have ended, waiting for the first one until deadline_ns (absolute
    /// CLOCK_MONOTONIC).  Throws Error if the device fails: then only fail() may be called.
    virtual void gather(std::int64_t deadline_ns) = 0;
    /// Reports the end of the run's CPU segment, which took `executed_ns`.
    virtual void cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) = 0;
    /// Takes a run.  The run ends at once, with the errno, if check() refuses it or there is no
    /// memory for it.
    void arrive(std::shared_ptr<Run> run);
    /// Cancels a run.  Does nothing to a run that has ended; a run that has not arrived ends when
    /// it arrives.
    virtual void cancel(Run& run) = 0;
    void cancel_all();
    /// Dispatches all tasks that may go on now.
    virtual void dispatch() = 0;
    /// Ends all runs with -code; a run with a worker ends as soon as the worker returns it.  The
    /// device is not used any more.
    virtual void fail(int code) = 0;

    /// Returns the runs that have ended since the last call.
    RunList<&Run::ended_link_> take_ended() { return std::exchange(ended_, {}); }
    std::size_t live() const noexcept { return live_; }
    /// Whether gather() has anything to wait for.
    virtual bool has_jobs() const noexcept = 0;
    /// See Queue::interrupt().  Any thread may call it, with SchedulerOptions::interruptible.
    virtual void interrupt() = 0;

protected:
    TaskSchedulerInterface(std::shared_ptr<Device> device, SchedulerOptions options,
                           SchedulerHost& host);

    /// Takes an arriving run, which is live.  Throws Error or std::bad_alloc if it cannot take it.
    virtual void admit(Run& run) = 0;
    void end_live(Run& run, std::int32_t status, std::uint64_t ended_ns);
    /// Ends all runs, except those with a worker.
    void end_all(std::int32_t status);
    /// The first live run; the others are linked behind it.
    const Run* first_live() const noexcept { return first_live_; }
    /// Whether the device goes on by itself.
    bool has_real_time() const noexcept { return clock_ == nullptr; }
    static bool is_with_worker(const Run& run) noexcept { return run.with_worker_; }

    const std::shared_ptr<Device> device_;
    SchedulerHost& host_;
    const SchedulerOptions options_;
    const unsigned cores_;
    int failed_ = 0; ///< the code of fail(); 0: not called

private:
    void begin_live(std::shared_ptr<Run> run);

    ManualClock* const clock_;                      ///< null: time is CLOCK_MONOTONIC
    mutable std::atomic<std::uint64_t> last_ns_{0}; ///< the last time of the clock
    Run* first_live_ = nullptr;
    std::size_t live_ = 0;
    RunList<&Run::ended_link_> ended_;
};

} // namespace overtake::engine
