// SPDX-License-Identifier: MIT
//
// ServiceQueue: tasks of this process in the one queue that all processes of a device share.
//
// An Engine in service mode (EngineOptions::service) is made of it, and what most programs want.
// This is what an engine says to the device: what a task's segments are, and that a CPU segment is
// over.  Which task goes on when is decided by the device, for all of its processes: its numbers,
// ServiceSettings, hold, and what it has measured itself.
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
// Thread safety: a ServiceQueue belongs to one thread at a time, but for interrupt(); any thread
// may destroy it.
// Errors: overtake::Error.  What becomes of a task is in its event.
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
    std::uint32_t slots;              ///< tasks that may interleave on a core, below priority 255
    std::uint32_t task_limit;         ///< tasks begun and not ended, below priority 255
    std::uint32_t threshold_percent;  ///< see docs/reference/settings.md
    std::uint32_t share;              ///< 1: the task limit's places are shared by processes
    std::uint64_t insert_max_time_ns; ///< shorter tasks may fill any gap
    std::uint64_t wait_dispatch_time_ns; ///< any task may fill longer gaps
    /// A CPU segment that takes longer than this, and than overdue_factor times what is expected,
    /// is overdue; 0 = none ever is.
    std::uint64_t overdue_min_time_ns;
    std::uint64_t overdue_factor; ///< see overdue_min_time_ns
};

/// One segment of a task, on the device if it has FCs, on the CPU otherwise.  Spans are read during
/// submit() only.
struct ServiceSegment {
    std::span<const overtake_fc> fcs;           ///< as in Job
    std::span<const overtake_binding> bindings; ///< as in Job
    std::uint32_t scratch_bytes = 0;            ///< as in Job
    /// CPU: what it is, so that the device knows it again.
    std::uint64_t cpu_key = 0;
    /// CPU: believed until the device has measured one of the key, a second at most.
    std::uint64_t expected_ns = 0;
    /// A group, as in Job, but parts name no core: its parts run on cores of the task.
    std::span<const overtake_part> parts;
    std::span<const std::uint32_t> stages; ///< of a group, as in Job
};

/// A task of the scheduling contract (docs/reference/scenarios.md).  If it has groups, it names no
/// core, and takes as many cores at once as the most parts that one of its segments has.
struct ServiceTask {
    std::uint64_t tag = 0; ///< unique among the queue's tasks whose ends have not been reaped
    std::span<const ServiceSegment> segments; ///< a chain, one after the other
    unsigned priority = 0;                    ///< 0..254, 255 goes ahead of everything
    std::int64_t custom_id = 0;               ///< within one priority the smaller goes first
    unsigned core = core_any; ///< settled by the first segment on the device, and kept
    std::uint64_t deadline_ns = UINT64_MAX; ///< device time, for policies that look at it
    std::uint64_t model = 0;                ///< as in Job
};

/// What the process is to do, or what became of a task.
struct ServiceEvent {
    /// Which of the two.
    enum class Type : std::uint32_t {
        run_cpu = 1, ///< run CPU segment `segment` now, and say cpu_done()
        ended = 2,   ///< the task is over: nothing more comes of it
    };
    std::uint64_t tag = 0;      ///< of the task
    Type type = Type::ended;    ///< which of the fields below have a meaning
    std::uint32_t segment = 0;  ///< run_cpu: which one
    std::uint64_t start_ns = 0; ///< run_cpu: device time from which on it is measured

    // Of a task that has ended.
    std::int32_t status = 0; ///< 0, or the negative errno of the segment that failed
    /// That took its segments on the device, of several the first; 0 = none did.
    unsigned core = 0;
    std::uint64_t arrived_ns = 0;    ///< device time
    std::uint64_t dispatched_ns = 0; ///< device time; 0 = was not
    std::uint64_t ended_ns = 0;      ///< device time
    /// By segment; of one on the CPU tag, core and what is only of FCs are 0.  All zero: it never
    /// began.
    std::vector<Completion> segments;
};

/// Rights of a queue of service mode.
struct ServiceQueueOptions {
    unsigned max_priority = 254; ///< as QueueOptions
    unsigned core_limit = 0;     ///< as QueueOptions
    std::uint32_t workers = 4;   ///< 1..1024: CPU segments that the process runs at a time
    bool interruptible = false;  ///< as QueueOptions
};

/// Destroying it ends its tasks: those that wait at once, a running FC at its next step.
class OVERTAKE_API ServiceQueue {
public:
    virtual ~ServiceQueue();
    /// The device's settings when the queue was created.
    virtual const ServiceSettings& settings() const noexcept = 0;
    /// Takes the task: from now on nothing about it is refused.  EINVAL for one that is malformed,
    /// EEXIST for a tag in use, EPERM for a priority above the queue's, ENOENT for an address that
    /// is no buffer's, E2BIG for one that is too large, ENOSPC for one too many.
    virtual void submit(const ServiceTask& task) = 0;
    /// Waits until there is news or deadline_ns (absolute CLOCK_MONOTONIC; 0 polls) has passed.
    /// Events in the order in which they came; none at the deadline, or if there is no task.
    virtual std::vector<ServiceEvent> reap(std::int64_t deadline_ns) = 0;
    /// CPU segment `segment` is over, with 0 or a negative errno, which ends the task.  ENOENT if
    /// there is no such task, EINVAL unless its process is to run just that segment.
    virtual void cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) = 0;
    /// Work that has not started never runs; the task ends some time later.  False if there is no
    /// such task, or it has ended.
    virtual bool cancel(std::uint64_t tag) = 0;
    /// Tasks submitted whose ends have not been reaped.
    virtual std::size_t live() const noexcept = 0;
    /// As Queue::interrupt().
    virtual void interrupt() = 0;
};

} // namespace overtake
