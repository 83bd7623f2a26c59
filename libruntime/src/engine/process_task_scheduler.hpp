// SPDX-License-Identifier: MIT
//
// ProcessTaskScheduler: the second host of firmware-sim/sched, beside the simulator.  It gives the
// task scheduler a device's queue and its time; its caller brings the thread.
//
// What has ended is handled in front of the next arrival, cancel or dispatch, or one by one by
// handle_first_end().
// Several schedulers on one device, as processes are, can be stepped together: by the order of
// first_end().
//
// Thread safety: one thread at a time, but for interrupt().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/task_scheduler_interface.hpp"

namespace overtake::engine {

class ProcessTaskScheduler final : public TaskSchedulerInterface {
public:
    /// Throws Error: EINVAL for options that are impossible, or what create_queue() says.
    ProcessTaskScheduler(std::shared_ptr<Device> device, const SchedulerOptions& options,
                         SchedulerHost& host);
    void gather(std::int64_t deadline_ns) override;
    void cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) override;
    /// Of the segments that have ended, the one whose task was dispatched first; or null.
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
    /// Of a task that takes several: one bit each.
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
    std::vector<End> ends_; ///< to be handled; with room for one of each live run
    std::optional<std::uint64_t> next_tag_; ///< none: it is the process's
    JobQueue<Run> queue_;                   ///< last, so that it is the first to go
};

} // namespace overtake::engine
