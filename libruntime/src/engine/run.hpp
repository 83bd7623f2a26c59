// SPDX-License-Identifier: MIT
//
// Run: a task of the engine, from its arrival to its end.  A chain of segments, each on the BPU or
// on the CPU, whatever they compute and for whom.
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
    unsigned core = core_any;   ///< settled by the first BPU segment and kept
    std::uint64_t cores = 0;    ///< with core_any: as Job::cores
    unsigned width = 1; ///< cores at once, for the parts of its segments; above 1 it names none
    std::uint64_t model = 0;                ///< as in Job
    std::uint64_t deadline_ns = UINT64_MAX; ///< device time, for policies that look at it
    std::string on = {};                    ///< a processor or an entry; empty: each may run it
    std::uint64_t slo_ns = 0;               ///< as of TaskOptions
    double slo_scale = 0;                   ///< as of TaskOptions
};

/// What became of one segment.
struct TaskSegmentRecord {
    std::uint64_t start_ns = 0; ///< device time; of a job, when it was submitted; 0 = never
    std::uint64_t end_ns = 0;   ///< device time
    Completion job{};           ///< of a BPU segment
};

/// Made by any thread; from ProcessTaskScheduler::arrive() to its end the scheduler's.  All the
/// memory that it takes to bring it to its end is allocated when it is made.
class Run final : public SubmittedTask {
public:
    /// At least one segment; they work on `memory`.
    Run(std::span<const TaskSegment> segments, const RunOptions& options,
        std::shared_ptr<void> memory = nullptr);

    /// Constant.  Their work is gone once the run has ended.
    const std::vector<TaskSegment>& segments() const noexcept { return segments_; }
    const RunOptions& options() const noexcept { return options_; }

    /// By segment; constant once it has ended.
    const std::vector<TaskSegmentRecord>& records() const noexcept { return records_; }
    std::uint64_t dispatched_ns() const noexcept override { return task_.dispatch_time; }
    unsigned core() const noexcept override { return task_.placed_core; }
    std::vector<SegmentRecord> segment_records() const override;

private:
    friend class TaskSchedulerInterface;
    friend class ProcessTaskScheduler;
    friend class ServiceTaskScheduler;
    friend class ThreadedEngine;

    /// Takes the estimates of this moment, which stay the run's.
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
    /// That may take it, of one that names none.
    static u64 cores_of(const ovt_sched_task& task) {
        const u64 cores = static_cast<const Task&>(task).run->options_.cores;
        return cores != 0 ? cores : ~u64{0};
    }

    const std::vector<TaskSegment> segments_;
    const RunOptions options_;
    /// The scheduler's, with the way back.
    struct Task : ovt_sched_task {
        Run* run;
    };
    Task task_{};
    std::vector<ovt_sched_segment> scheduled_; ///< the segments, as the scheduler sees them
    std::vector<TaskSegmentRecord> records_;
    // Of several cores at once.
    ovt_sched_span span_{};
    std::vector<ovt_sched_gap> gaps_;
    std::vector<unsigned> cores_; ///< which, once they are settled
    std::uint64_t tag_ = 0;       ///< of its job on the device
    std::int32_t failure_ = 0;    ///< of the segment that ended it

    // The scheduler's, while it is live.
    std::shared_ptr<Run> live_self_; ///< null if it is not
    Run* live_before_ = nullptr;
    Run* live_behind_ = nullptr;
    JobEntry<Run> job_{*this}; ///< of the device, or its task there
    RunLink ended_link_;
    bool is_cancelled_early_ = false; ///< before it arrived
    bool with_worker_ = false;        ///< who works on the caller's memory, so it cannot end

    /// A segment with the workers.
    struct CpuSegment final : ThreadWork {
        void run(ThreadMemory& memory) noexcept override;

        ThreadedEngine* engine = nullptr;
        std::shared_ptr<Run> owner;   ///< of this, until the segment is over
        std::shared_ptr<void> memory; ///< that it works on, even if the run ends meanwhile
        std::size_t number = 0;
        std::int32_t status = 0;
        std::uint64_t executed_ns = 0;
    };
    CpuSegment cpu_segment_;

    // The engine's.
    RunLink arrival_link_, cancel_link_, cpu_end_link_;
    bool is_cancel_posted_ = false;
};

} // namespace overtake::engine
