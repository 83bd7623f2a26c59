// SPDX-License-Identifier: MIT
//
// ServiceQueue: submits tasks of this process to the queue that all processes of a device share.
//
// Most programs use an Engine in service mode (EngineOptions::service), which uses this class.  An
// engine submits the segments of a task to the device, runs the CPU segments, and reports their
// ends.  The device decides for all of its processes when each task goes on, by its own
// ServiceSettings and the times that it has measured.
//
//     auto queue = device->create_service_queue({.workers = 1});
//     queue->submit(task);
//     for (;;)
//         for (const ServiceEvent& event : queue->reap(deadline_never)) {
//             if (event.type == ServiceEvent::Type::run_cpu)
//                 queue->cpu_done(event.tag, event.segment, compute(event.segment));
//             ...
//         }
//
// Thread safety: a ServiceQueue belongs to one thread at a time.  Any thread may call interrupt()
// and destroy the queue.
// Errors: overtake::Error.  A task that fails throws nothing: its event reports the failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/export.hpp"

namespace overtake {

/// The settings of a device for the tasks of all of its processes.  docs/reference/scenarios.md has
/// the rules.
struct ServiceSettings {
    std::uint32_t slots;      ///< tasks that may interleave on a core, below priority 255
    std::uint32_t task_limit; ///< tasks begun and not ended, below priority 255
    /// Percent of the gap owner's next BPU segment by which a task may exceed the rest of the gap.
    std::uint32_t threshold_percent;
    std::uint32_t share; ///< 1: a place of the task limit is kept for each process without a place
    std::uint64_t insert_max_time_ns;    ///< tasks shorter than this fill any gap
    std::uint64_t wait_dispatch_time_ns; ///< gaps longer than this take any task
    /// A CPU segment is overdue if it waits for a worker, or then runs, for longer than both this
    /// and overdue_factor times its estimate; 0 = no CPU segment is ever overdue.  A second limit
    /// bounds all CPU segments of a task together.
    std::uint64_t overdue_min_time_ns;
    std::uint64_t overdue_factor; ///< see overdue_min_time_ns
};

/// One segment of a task.  A segment with FCs runs on the device, a segment without FCs on the CPU.
/// Spans are read during submit() only.
struct ServiceSegment {
    std::span<const overtake_fc> fcs;           ///< as in Job
    std::span<const overtake_binding> bindings; ///< as in Job
    std::uint32_t scratch_bytes = 0;            ///< as in Job
    /// CPU: identifies the computation, so that the device finds the time that it measured before.
    std::uint64_t cpu_key = 0;
    /// CPU: the estimate until the device has measured a segment with this key.  The times of all
    /// CPU segments of a task count for at most one second together.
    std::uint64_t expected_ns = 0;
    /// Group: as in Job, but the parts name no core: they run on the cores of the task.
    std::span<const overtake_part> parts;
    std::span<const std::uint32_t> stages; ///< group: as in Job
};

/// A task of the scheduling contract (docs/reference/scenarios.md).  A task with groups names no
/// core.  It takes as many cores at once as its segment with the most parts has parts.
struct ServiceTask {
    std::uint64_t tag = 0; ///< unique among the queue's tasks whose ends have not been reaped
    std::span<const ServiceSegment> segments; ///< they run one after the other
    unsigned priority = 0;                    ///< 0..254; 255 goes ahead of all others
    std::int64_t custom_id = 0; ///< within one priority the task with the smaller number goes first
    unsigned core = core_any;   ///< core_any: the first segment on the device decides
    std::uint64_t deadline_ns = UINT64_MAX; ///< device time, for policies that use deadlines
    std::uint64_t model = 0;                ///< as in Job
};

/// A request to run a CPU segment, or the result of a task.
struct ServiceEvent {
    /// The kind of event.
    enum class Type : std::uint32_t {
        run_cpu = 1, ///< run CPU segment `segment` now, then call cpu_done()
        ended = 2,   ///< the task ended: no event of it follows
    };
    std::uint64_t tag = 0;      ///< tag of the task
    Type type = Type::ended;    ///< which of the fields below have a meaning
    std::uint32_t segment = 0;  ///< run_cpu: number of the segment, from 0
    std::uint64_t start_ns = 0; ///< run_cpu: device time from which its time counts

    // The result of a task that has ended.
    std::int32_t status = 0; ///< 0, or the negative errno of the segment that failed
    /// The core that ran its segments on the device, the first of several; 0 = no core.
    unsigned core = 0;
    std::uint64_t arrived_ns = 0;    ///< device time of its arrival
    std::uint64_t dispatched_ns = 0; ///< device time; 0 = it was not dispatched
    std::uint64_t ended_ns = 0;      ///< device time of its end
    /// A result for each segment.  For a segment on the CPU the tag, the core and the counts of FCs
    /// are 0.  If all members of a result are 0, the segment never began.
    std::vector<Completion> segments;
};

/// Rights of a queue of service mode.
struct ServiceQueueOptions {
    unsigned max_priority = 254; ///< as in QueueOptions
    unsigned core_limit = 0;     ///< as in QueueOptions
    std::uint32_t workers = 4;   ///< 1..1024: CPU segments that the process runs at a time
    bool interruptible = false;  ///< as in QueueOptions
};

/// A queue of service mode.  The destructor ends its tasks: waiting tasks at once, a task with a
/// running FC at the next step of that FC.
class OVERTAKE_API ServiceQueue {
public:
    virtual ~ServiceQueue();
    /// The device's settings when the queue was created.
    virtual const ServiceSettings& settings() const noexcept = 0;
    /// Submits a task.  The device checks the whole task here, and refuses no segment later.
    /// EINVAL for a task that is malformed, EEXIST for a tag in use, EPERM for a priority above the
    /// queue's max_priority, ENOENT for an address that is in no buffer, E2BIG for a task that is
    /// too large, ENOSPC for one task too many, ENOTSUP for a group on a driver that takes none,
    /// ESHUTDOWN if the kernel device has banned the queue because too many of its jobs failed.
    virtual void submit(const ServiceTask& task) = 0;
    /// Waits until there is an event or deadline_ns (absolute CLOCK_MONOTONIC; 0 polls) has passed.
    /// Returns events in the order in which they came.  There may be no event: at the deadline, if
    /// there is no task, or after interrupt().  EINVAL for a negative deadline.
    virtual std::vector<ServiceEvent> reap(std::int64_t deadline_ns) = 0;
    /// Reports the end of CPU segment `segment` with status 0, or with a negative errno, which ends
    /// the task.  ENOENT if there is no such task.  EINVAL for another status, or if the device has
    /// not asked this process to run that segment.
    virtual void cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) = 0;
    /// Cancels a task: work that has not started never runs, and the task ends some time later.
    /// Returns false if there is no such task, or it has ended.
    virtual bool cancel(std::uint64_t tag) = 0;
    /// Returns the number of submitted tasks whose ends have not been reaped.
    virtual std::size_t live() const noexcept = 0;
    /// Interrupts reap(), as Queue::interrupt() does.
    virtual void interrupt() = 0;
};

} // namespace overtake
