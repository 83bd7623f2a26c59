// SPDX-License-Identifier: MIT
//
// Run: a task of the engine, from its arrival to its end.  A run is a chain of segments, each on
// the BPU or on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/owning_list.hpp"
#include "engine/submitted_task.hpp"
#include "engine/task_segment.hpp"
#include "engine/work_threads.hpp"
#include "network/job_queue.hpp"
#include "overtake/device.hpp"

#include <ovt_port.h>

extern "C" {
#include "sched/sched.h"
}

namespace overtake::engine {

class Run;
class ThreadedEngine;
using RunLink = ListLink<Run>;
template <RunLink Run::*link>
using RunList = OwningList<Run, link>;

struct RunOptions {
    unsigned priority = 0;      ///< 0..254 NORMAL, 255 HIGH
    std::int64_t custom_id = 0; ///< within one priority the smaller goes first
    unsigned core = core_any;   ///< core_any: the first BPU segment settles it
    std::uint64_t cores = 0;    ///< with core_any: as in Job::cores
    unsigned width = 1; ///< cores at once, for the parts of its segments; above 1: core is core_any
    std::uint64_t model = 0;                ///< as in Job
    std::uint64_t deadline_ns = UINT64_MAX; ///< device time, for policies that look at it
    std::string on = {};                    ///< a processor or an entry; empty: any
    std::uint64_t slo_ns = 0;               ///< as in TaskOptions
    double slo_scale = 0;                   ///< as in TaskOptions
};

/// The record of one segment.
struct TaskSegmentRecord {
    std::uint64_t start_ns = 0; ///< device time; of a job, when it was submitted; 0 = never
    std::uint64_t end_ns = 0;   ///< device time
    Completion job{};           ///< of a BPU segment
};

/// Any thread makes a run; from TaskSchedulerInterface::arrive() to its end it belongs to the
/// scheduler.  A run allocates all memory that it needs until its end when it is made.
class Run final : public SubmittedTask {
public:
    /// Takes at least one segment; the segments work on `memory`.
    Run(std::span<const TaskSegment> segments, const RunOptions& options,
        std::shared_ptr<void> memory = nullptr);

    /// Constant, except that their work is destroyed when the run has ended.
    const std::vector<TaskSegment>& segments() const noexcept { return segments_; }
    const RunOptions& options() const noexcept { return options_; }

    /// The records by segment; constant once the run has ended.
    const std::vector<TaskSegmentRecord>& records() const noexcept { return records_; }
    std::uint64_t dispatched_ns() const noexcept override { return task_.dispatch_time; }
    unsigned core() const noexcept override { return task_.placed_core; }
    std::vector<SegmentRecord> segment_records() const override;

private:
    friend class TaskSchedulerInterface;
    friend class ProcessTaskScheduler;
    friend class ServiceTaskScheduler;
    friend class ThreadedEngine;

    /// Takes the present estimates, which the run keeps.
    void prepare(ovt_sched_process& process);
    using SubmittedTask::finish;
    std::shared_ptr<Run> shared() { return std::static_pointer_cast<Run>(shared_from_this()); }

    /// Whether a segment's job is a group.
    bool is_group(std::size_t segment) const noexcept {
        return options_.width > 1 && segments_[segment].group.parts != 0;
    }
    Estimate& estimate(std::size_t segment) const noexcept {
        return is_group(segment) ? *segments_[segment].group.estimate
                                 : *segments_[segment].estimate;
    }
    static Run& of(ovt_sched_task* task) { return *static_cast<Task*>(task)->run; }
    /// Returns the cores that may run a task which names none, one bit each.
    static u64 cores_of(const ovt_sched_task& task) {
        const u64 cores = static_cast<const Task&>(task).run->options_.cores;
        return cores != 0 ? cores : ~u64{0};
    }

    const std::vector<TaskSegment> segments_;
    const RunOptions options_;
    /// The scheduler's task, with a pointer back to the run.
    struct Task : ovt_sched_task {
        Run* run;
    };
    Task task_{};
    std::vector<ovt_sched_segment> scheduled_; ///< the segments, as the scheduler sees them
    std::vector<TaskSegmentRecord> records_;
    // For several cores at once.
    ovt_sched_span span_{};
    std::vector<ovt_sched_gap> gaps_;
    std::vector<unsigned> cores_; ///< the cores, once they are settled
    std::uint64_t tag_ = 0;       ///< the tag of its job on the device
    std::int32_t failure_ = 0;    ///< the errno of the segment that ended it

    // Belongs to the scheduler while the run is live.
    std::shared_ptr<Run> live_self_; ///< null if it is not live
    Run* live_before_ = nullptr;
    Run* live_behind_ = nullptr;
    JobEntry<Run> job_{*this}; ///< its job on the device, or its task there
    RunLink ended_link_;
    bool is_cancelled_early_ = false; ///< cancelled before it arrived
    bool with_worker_ = false;        ///< a worker uses the caller's memory, so it cannot end

    /// The segment that the workers run.
    struct CpuSegment final : ThreadWork {
        void run(ThreadMemory& memory) noexcept override;

        ThreadedEngine* engine = nullptr;
        std::shared_ptr<Run> owner;   ///< keeps the run until the segment is over
        std::shared_ptr<void> memory; ///< kept even if the run ends meanwhile
        std::size_t number = 0;
        std::int32_t status = 0;
        std::uint64_t executed_ns = 0;
    };
    CpuSegment cpu_segment_;

    // Belongs to the engine.
    RunLink arrival_link_, cancel_link_, cpu_end_link_;
    bool is_cancel_posted_ = false;
};

} // namespace overtake::engine
