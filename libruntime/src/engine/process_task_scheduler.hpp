// SPDX-License-Identifier: MIT
//
// ProcessTaskScheduler: the second host of firmware-sim/sched; the first is the simulator.  It
// gives the task scheduler a device's queue and its time; its caller provides the thread.
//
// Segments that have ended are handled before the next arrival, cancel or dispatch, or one by one
// by handle_first_end().  Several schedulers on one device, as processes have them, can be stepped
// together in the order of first_end().
//
// Thread safety: one thread at a time uses it, except for interrupt().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/task_scheduler_interface.hpp"

namespace overtake::engine {

class ProcessTaskScheduler final : public TaskSchedulerInterface {
public:
    /// Throws Error: EINVAL for options that are impossible, and the errors of create_queue().
    ProcessTaskScheduler(std::shared_ptr<Device> device, const SchedulerOptions& options,
                         SchedulerHost& host);
    void gather(std::int64_t deadline_ns) override;
    void cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) override;
    /// Returns the run whose task was dispatched first among the runs whose segments have ended, or
    /// null.
    const Run* first_end() const;
    void handle_first_end();
    void cancel(Run& run) override;
    void dispatch() override;
    void fail(int code) override;
    bool has_jobs() const noexcept override { return queue_.in_flight() != 0; }
    void interrupt() override { queue_.interrupt(); }

private:
    void handle_ends();
    void admit(Run& run) override;

    struct End {
        Run* run;
        std::int32_t status;
    };

    void carry_out(const ovt_sched_action& action);
    void stop_jobs() noexcept;
    void submit(Run& run, const ovt_sched_action& action);
    void submit_job(Run& run, std::size_t segment, const Job& job);
    void place(Run& run, unsigned core);
    /// Returns the cores of a task that takes several cores, one bit each.
    static std::uint64_t taken_cores(const Run& run);
    void settle_cores(Run& run, std::uint64_t cores);
    void count_fcs(const Run& run, std::size_t segment, bool more);
    void end(Run& run);
    std::vector<End>::const_iterator earliest() const;

    ovt_sched sched_{};
    std::vector<ovt_sched_queue_core> queue_cores_;
    std::vector<ovt_sched_line> lines_;
    ovt_sched_queue library_queue_{};
    ovt_sched_process process_{};
    std::vector<std::uint64_t>
        given_;             ///< by core: FCs of unfinished jobs of tasks on several cores
    std::vector<End> ends_; ///< to be handled; has room for one end of each live run
    std::optional<std::uint64_t> next_tag_; ///< none: tags count for the whole process
    JobQueue<Run> queue_;                   ///< last, so that it is destroyed first
};

} // namespace overtake::engine
