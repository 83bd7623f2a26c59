// SPDX-License-Identifier: MIT
//
// ServiceQueue: submits tasks of this process to the queue that all processes of a device share.
//
// Most programs use an Engine in service mode (EngineOptions::service), which uses this class.  An
// engine submits the segments of a task to the device, and reports when a CPU segment is over.  The
// device decides for all of its processes which task goes on when, by its own ServiceSettings and
// the times that it has measured.
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
// Thread safety: a ServiceQueue belongs to one thread at a time, but any thread may call
// interrupt() and destroy it.
// Errors: overtake::Error.  A task that fails throws nothing: its event reports the failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/export.hpp"

namespace overtake {

/// The settings of a device for the tasks of all of its processes; docs/reference/scenarios.md has
/// the rules.
struct ServiceSettings {
    std::uint32_t slots;             ///< tasks that may interleave on a core, below priority 255
    std::uint32_t task_limit;        ///< tasks begun and not ended, below priority 255
    std::uint32_t threshold_percent; ///< of the next BPU segment: excess of a gap's task
    std::uint32_t share; ///< 1: a place of the task limit is kept for each process that has none
    std::uint64_t insert_max_time_ns;    ///< tasks shorter than this fill any gap
    std::uint64_t wait_dispatch_time_ns; ///< gaps longer than this take any task
    /// A CPU segment that takes longer than this, and than overdue_factor times its estimate, is
    /// overdue; 0 = none ever is.
    std::uint64_t overdue_min_time_ns;
    std::uint64_t overdue_factor; ///< see overdue_min_time_ns
};

/// One segment of a task, on the device if it has FCs, on the CPU otherwise.  Spans are read during
/// submit() only.
struct ServiceSegment {
    std::span<const overtake_fc> fcs;           ///< as in Job
    std::span<const overtake_binding> bindings; ///< as in Job
    std::uint32_t scratch_bytes = 0;            ///< as in Job
    /// CPU: names the computation, so that the device finds the time that it measured before.
    std::uint64_t cpu_key = 0;
    /// CPU: the estimate until the device has measured a segment with this key; a second at most.
    std::uint64_t expected_ns = 0;
    /// Group: as in Job, but parts name no core: they run on cores of the task.
    std::span<const overtake_part> parts;
    std::span<const std::uint32_t> stages; ///< group: as in Job
};

/// A task of the scheduling contract (docs/reference/scenarios.md).  A task with groups names no
/// core, and takes as many cores at once as the segment with the most parts has parts.
struct ServiceTask {
    std::uint64_t tag = 0; ///< unique among the queue's tasks whose ends have not been reaped
    std::span<const ServiceSegment> segments; ///< a chain: one runs after the other
    unsigned priority = 0;                    ///< 0..254; 255 goes ahead of all others
    std::int64_t custom_id = 0;               ///< within one priority the smaller goes first
    unsigned core = core_any; ///< core_any: the first segment on the device settles it
    std::uint64_t deadline_ns = UINT64_MAX; ///< device time, for policies that look at it
    std::uint64_t model = 0;                ///< as in Job
};

/// A request to run a CPU segment, or the result of a task.
struct ServiceEvent {
    /// The kind of event.
    enum class Type : std::uint32_t {
        run_cpu = 1, ///< run CPU segment `segment` now, then call cpu_done()
        ended = 2,   ///< the task ended: no event of it follows
    };
    std::uint64_t tag = 0;      ///< of the task
    Type type = Type::ended;    ///< which of the fields below have a meaning
    std::uint32_t segment = 0;  ///< run_cpu: number of the segment, from 0
    std::uint64_t start_ns = 0; ///< run_cpu: device time from which on it is measured

    // Of a task that has ended.
    std::int32_t status = 0; ///< 0, or the negative errno of the segment that failed
    /// The core that took its segments on the device, of several the first; 0 = none did.
    unsigned core = 0;
    std::uint64_t arrived_ns = 0;    ///< device time
    std::uint64_t dispatched_ns = 0; ///< device time; 0 = it was not dispatched
    std::uint64_t ended_ns = 0;      ///< device time
    /// One for each segment.  For a segment on the CPU the tag, the core and the counts of FCs are
    /// 0.  All zero: the segment never began.
    std::vector<Completion> segments;
};

/// Rights of a queue of service mode.
struct ServiceQueueOptions {
    unsigned max_priority = 254; ///< as QueueOptions
    unsigned core_limit = 0;     ///< as QueueOptions
    std::uint32_t workers = 4;   ///< 1..1024: CPU segments that the process runs at a time
    bool interruptible = false;  ///< as QueueOptions
};

/// A queue of service mode.  The destructor ends its tasks: waiting ones at once, a running FC at
/// its next step.
class OVERTAKE_API ServiceQueue {
public:
    virtual ~ServiceQueue();
    /// The device's settings when the queue was created.
    virtual const ServiceSettings& settings() const noexcept = 0;
    /// Submits a task: from then on the device refuses nothing about it.  EINVAL for one that is
    /// malformed, EEXIST for a tag in use, EPERM for a priority above the queue's, ENOENT for an
    /// address that is no buffer's, E2BIG for one that is too large, ENOSPC for one too many.
    virtual void submit(const ServiceTask& task) = 0;
    /// Waits until there is an event or deadline_ns (absolute CLOCK_MONOTONIC; 0 polls) has passed.
    /// Returns events in the order in which they came; none at the deadline, if there is no task,
    /// or after interrupt().
    virtual std::vector<ServiceEvent> reap(std::int64_t deadline_ns) = 0;
    /// Reports the end of CPU segment `segment` with 0, or with a negative errno, which ends the
    /// task.  ENOENT if there is no such task, EINVAL unless this process is to run just that
    /// segment.
    virtual void cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) = 0;
    /// Cancels a task: work that has not started never runs, and the task ends some time later.
    /// False if there is no such task, or it has ended.
    virtual bool cancel(std::uint64_t tag) = 0;
    /// Returns how many submitted tasks have ends that are not reaped.
    virtual std::size_t live() const noexcept = 0;
    /// As Queue::interrupt().
    virtual void interrupt() = 0;
};

} // namespace overtake
