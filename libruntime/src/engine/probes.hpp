// SPDX-License-Identifier: MIT
//
// USDT probes of an engine, which report its tasks to bpftrace, perf and gdb.  In service mode the
// driver's tracepoints report the same.  A probe is a nop until a tracer attaches to it.
//
// The probes are stable, of provider `overtake` (docs/reference/tracepoints.md).  Times are device
// time in nanoseconds.  `task` distinguishes the process's live tasks, `job` is the tag of the
// task's job in the driver's tracepoints.
#pragma once

#include "engine/run.hpp"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define OVERTAKE_PROBE(name, count, ...) STAP_PROBE##count(overtake, name, __VA_ARGS__)
#else
namespace overtake::engine::probe {
inline void nobody_looks(auto...) {}
} // namespace overtake::engine::probe
#define OVERTAKE_PROBE(name, count, ...) ::overtake::engine::probe::nobody_looks(__VA_ARGS__)
#endif

namespace overtake::engine::probe {

/// `queue` distinguishes the process's engines.  `model` is the model that the driver gets with the
/// task's jobs.  `cores` has a bit for each core that may run a task which names none; 0: each.
/// `width` is the number of cores that the task takes at once.
inline void task_arrive(const ovt_sched_task* task, std::uint64_t time_ns, const ovt_sched* queue,
                        std::uint64_t model, std::uint64_t cores, unsigned width) {
    OVERTAKE_PROBE(task_arrive, 12, task, time_ns, task->priority, task->custom_id, task->core,
                   task->segment_count, queue, model, queue->settings.slots,
                   queue->settings.task_limit, cores, width);
}

/// The first segment of the task begins.
inline void task_dispatch(const ovt_sched_task* task) {
    OVERTAKE_PROBE(task_dispatch, 2, task, task->dispatch_time);
}

/// The task has run its leading CPU segments and waits for a slot.
inline void task_ready(const ovt_sched_task* task, std::uint64_t time_ns) {
    OVERTAKE_PROBE(task_ready, 3, task, time_ns, task->segment);
}

/// A BPU segment is about to be submitted: the driver's reports about the job come later.  If the
/// task takes several cores, `cores` has a bit for each; else it is 0.
inline void task_job(const ovt_sched_task* task, std::uint64_t time_ns, std::uint32_t segment,
                     std::uint64_t job, std::uint64_t cores) {
    OVERTAKE_PROBE(task_job, 5, task, time_ns, segment, job, cores);
}

/// A BPU segment has been submitted.
inline void task_submit(const ovt_sched_task* task, std::uint64_t time_ns, std::uint32_t segment,
                        std::uint64_t job, unsigned core) {
    OVERTAKE_PROBE(task_submit, 5, task, time_ns, segment, job, core);
}

inline void task_cpu_start(const ovt_sched_task* task, std::uint64_t time_ns,
                           std::uint32_t segment) {
    OVERTAKE_PROBE(task_cpu_start, 3, task, time_ns, segment);
}

inline void task_cpu_done(const ovt_sched_task* task, std::uint64_t time_ns, std::uint32_t segment,
                          std::int32_t status) {
    OVERTAKE_PROBE(task_cpu_done, 4, task, time_ns, segment, status);
}

inline void task_end(const ovt_sched_task* task, std::uint64_t time_ns, std::int32_t status) {
    OVERTAKE_PROBE(task_end, 3, task, time_ns, status);
}

} // namespace overtake::engine::probe
