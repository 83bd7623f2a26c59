// SPDX-License-Identifier: MIT
//
// TaskSchedulerInterface: where an engine's tasks wait for their turn: in a queue of the process's
// own (ProcessTaskScheduler), or in the one that all processes of the device share
// (ServiceTaskScheduler).
//
// One instant is worked through in the order of the contract (docs/reference/scenarios.md):
// gather(), then what arrives and is cancelled, then dispatch().  What has ended is handled before
// any of these.
//
// Thread safety: one thread at a time, but for interrupt().
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
    unsigned max_priority = 254;                    ///< as of QueueOptions
    unsigned core_limit = 0;                        ///< as of QueueOptions
    /// Of its jobs, which count up from there; none: they are called as no other of the process.
    std::optional<std::uint64_t> first_tag{};
    bool interruptible = false; ///< for interrupt(), as of QueueOptions
    unsigned record = 0;        ///< as of EngineOptions
};

/// Who computes, and who may look on.
class SchedulerHost {
public:
    virtual ~SchedulerHost() = default;
    /// Begin the CPU segment, and say cpu_ended() some time later, not from within this call.
    virtual void run_cpu(Run& run, std::size_t segment) = 0;
    /// A BPU segment has become job `tag` of the device.
    virtual void submitted(Run&, std::size_t /*segment*/, std::uint64_t /*tag*/) {}
};

class TaskSchedulerInterface {
public:
    /// What it still had has no end any more.
    virtual ~TaskSchedulerInterface();
    TaskSchedulerInterface(const TaskSchedulerInterface&) = delete;
    TaskSchedulerInterface& operator=(const TaskSchedulerInterface&) = delete;

    /// Device time; the last that was known, when the device has failed.
    std::uint64_t now_ns() const noexcept;
    /// Throws Error: EINVAL if the device has not the core, EPERM if the queue has not the
    /// priority.  From any thread.
    void check(const RunOptions& options) const;

    /// Collects what has ended, waiting for the first news until deadline_ns (absolute
    /// CLOCK_MONOTONIC).  Throws Error if the device fails: then fail() is all that is left.
    virtual void gather(std::int64_t deadline_ns) = 0;
    /// The CPU segment that runs for `run` is over; `executed_ns` is what it took.
    virtual void cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) = 0;
    /// Ends at once, with the errno, if check() refuses it or there is no memory for it.
    void arrive(std::shared_ptr<Run> run);
    /// Does nothing to a run that has ended; one that arrives later ends then.
    virtual void cancel(Run& run) = 0;
    void cancel_all();
    /// All that may go on now does.
    virtual void dispatch() = 0;
    /// Everything ends with -code; what is with a worker, as soon as it comes back.  Nothing is
    /// asked of the device any more.
    virtual void fail(int code) = 0;

    /// Those that have ended since the last call.
    RunList<&Run::ended_link_> take_ended() { return std::exchange(ended_, {}); }
    std::size_t live() const noexcept { return live_; }
    /// Whether gather() has anything to wait for.
    virtual bool has_jobs() const noexcept = 0;
    /// See Queue::interrupt().  From any thread; for SchedulerOptions::interruptible.
    virtual void interrupt() = 0;

protected:
    TaskSchedulerInterface(std::shared_ptr<Device> device, SchedulerOptions options,
                           SchedulerHost& host);

    /// Takes a run that arrives, and is live.  Throws Error or std::bad_alloc if it cannot.
    virtual void admit(Run& run) = 0;
    void end_live(Run& run, std::int32_t status, std::uint64_t ended_ns);
    /// But for what is with a worker.
    void end_all(std::int32_t status);
    /// The others are behind it.
    const Run* first_live() const noexcept { return first_live_; }
    /// What is on the device goes on by itself.
    bool has_real_time() const noexcept { return clock_ == nullptr; }
    static bool is_with_worker(const Run& run) noexcept { return run.with_worker_; }

    const std::shared_ptr<Device> device_;
    SchedulerHost& host_;
    const SchedulerOptions options_;
    const unsigned cores_;
    int failed_ = 0; ///< why, if fail() was called

private:
    void begin_live(std::shared_ptr<Run> run);

    ManualClock* const clock_;                      ///< null: CLOCK_MONOTONIC
    mutable std::atomic<std::uint64_t> last_ns_{0}; ///< that it said
    Run* first_live_ = nullptr;
    std::size_t live_ = 0;
    RunList<&Run::ended_link_> ended_;
};

} // namespace overtake::engine
