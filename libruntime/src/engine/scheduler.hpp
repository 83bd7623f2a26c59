// SPDX-License-Identifier: MIT
//
// Scheduler: the second host of firmware-sim/sched, beside the simulator.  It gives the task
// scheduler a device's queue and its time; whoever calls it gives it a thread.
//
// One instant is worked through in the order of the contract (docs/scenarios.md): gather(), then
// handle_first_end() while there is one, then what arrives and is cancelled, then dispatch().
// Several schedulers on one device, as processes are, can be stepped together: by the order of
// first_end().
//
// Thread safety: one thread at a time, but for interrupt().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/run.hpp"
#include "overtake/device.hpp"

namespace overtake::engine {

/// What a device's library queue is told; the defaults are the documented ones.
struct SchedulerOptions {
    std::string policy = "priority";
    std::uint32_t slots = 1;        ///< of each core
    std::uint32_t task_limit = 8;   ///< dispatched and not over, below priority 255
    std::uint32_t worker_count = 4; ///< CPU segments at a time
    std::uint64_t threshold_percent = 10;
    std::uint64_t insert_max_time_ns = 1'000'000'000;
    std::uint64_t wait_dispatch_time_ns = 20'000'000;
    unsigned max_priority = 254; ///< as of QueueOptions
    unsigned core_limit = 0;     ///< as of QueueOptions
    std::uint64_t first_tag = 1; ///< of its jobs, which count up from there
    bool interruptible = false;  ///< for interrupt(), as of QueueOptions
};

/// Who computes, and who may look on.
class SchedulerHost {
public:
    virtual ~SchedulerHost() = default;
    /// Begin the CPU segment, and say cpu_ended() some time later, not from within this call.
    virtual void run_cpu(Run& run, std::size_t step) = 0;
    /// A BPU segment has become job `tag` of the device.
    virtual void submitted(Run&, std::size_t /*step*/, std::uint64_t /*tag*/) {}
};

class Scheduler {
public:
    /// Throws Error: EINVAL for options that are impossible, or what create_queue() says.
    Scheduler(std::shared_ptr<Device> device, const SchedulerOptions& options, SchedulerHost& host);
    /// What it still had has no end any more.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Device time.
    std::uint64_t now_ns() const;
    /// Throws Error: EINVAL if the device has not the core, EPERM if the queue has not the
    /// priority.  From any thread.
    void check(const RunOptions& options) const;

    /// Collects jobs that have ended, waiting for the first until deadline_ns (absolute
    /// CLOCK_MONOTONIC).  Throws Error if the device fails: then fail() is all that is left.
    void gather(std::int64_t deadline_ns);
    /// The CPU segment that runs for `run` is over; `executed_ns` is what it took.
    void cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns);
    /// Of the segments that have ended, the one whose task was dispatched first; or null.
    const Run* first_end() const;
    void handle_first_end();
    /// Ends at once, with the errno, if check() refuses it or there is no memory for it.
    void arrive(std::shared_ptr<Run> run);
    /// Does nothing to a run that has ended; one that arrives later ends then.
    void cancel(Run& run);
    void cancel_all();
    /// All that may go on now does.
    void dispatch();
    /// Everything ends with -code.
    void fail(int code);

    /// Those that have ended since the last call.
    RunList<&Run::ended_link_> take_ended() { return std::exchange(ended_, {}); }
    std::size_t live() const noexcept { return live_; }
    bool has_jobs() const noexcept { return queue_->in_flight() != 0; }
    /// See Queue::interrupt().  From any thread; for SchedulerOptions::interruptible.
    void interrupt() { queue_->interrupt(); }

private:
    struct End {
        Run* run;
        std::int32_t status;
    };

    void carry_out(const ovt_sched_action& action);
    void submit(Run& run, const ovt_sched_action& action);
    void end(Run& run);
    void begin_live(std::shared_ptr<Run> run);
    void end_live(Run& run, std::int32_t status);
    std::vector<End>::const_iterator earliest() const;

    std::shared_ptr<Device> device_;
    SchedulerHost& host_;
    const SchedulerOptions options_;
    const unsigned cores_;
    ManualClock* const clock_; ///< null: CLOCK_MONOTONIC
    ovt_sched sched_{};
    std::vector<ovt_sched_queue_core> queue_cores_;
    std::vector<ovt_sched_line> lines_;
    ovt_sched_queue library_queue_{};
    ovt_sched_process process_{};
    Run* first_live_ = nullptr;
    std::size_t live_ = 0;
    std::map<std::uint64_t, Run*> jobs_; ///< by tag; the nodes are the runs'
    std::vector<End> ends_;              ///< to be handled; with room for one of each live run
    RunList<&Run::ended_link_> ended_;
    std::uint64_t next_tag_;
    std::unique_ptr<Queue> queue_; ///< last, so that it is the first to go
};

} // namespace overtake::engine
