// SPDX-License-Identifier: MIT
//
// Event: one thing that happened on a device.  The driver's tracepoints, a device server, an
// embedded device and the simulator all report the same events, so a reader (pictures, histograms,
// blame, recordings) need not know the source.
//
// Names, fields and units are those of the driver's tracepoints; docs/reference/tracepoints.md has
// the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace overtake {

/// The type of an event.  Numbers do not change: new types are added at the end.
enum class EventType : std::uint8_t {
    ctx_create = 0, ///< a context (queue) was made
    ctx_destroy,    ///< a context ended: no event of it follows
    job_queue,      ///< a job was accepted; it may still wait for its fences
    fc_submit,   ///< the job was handed to its core, with all its FCs; a group: once for each part
    fc_start,    ///< an FC began on a core
    fc_preempt,  ///< a HIGH FC goes ahead of the rest of a NORMAL job that has begun
    fc_resume,   ///< that job goes on: fc_start of its next FC follows
    fc_done,     ///< an FC ended
    fc_timeout,  ///< an FC was stopped because it took too long
    job_done,    ///< a job ended
    core_limit,  ///< the limit of a core changed
    core_reset,  ///< a core was reset
    task_arrive, ///< a task entered its queue
    task_dispatch,  ///< the first segment of a task begins
    task_ready,     ///< the task has run its leading CPU segments and waits for a slot
    task_cpu_start, ///< a CPU segment begins on a worker
    task_cpu_done,  ///< a CPU segment ended
    task_overdue,   ///< a CPU segment takes too long: the task gave up its slot
    task_end,       ///< a task ended
};
inline constexpr std::size_t event_type_count = static_cast<std::size_t>(EventType::task_end) + 1;

/// Returns the name of the driver's tracepoint for this type.  Names do not change.
constexpr std::string_view event_type_name(EventType type) {
    constexpr std::array<std::string_view, event_type_count> names{
        "ctx_create",     "ctx_destroy",   "job_queue",    "fc_submit",     "fc_start",
        "fc_preempt",     "fc_resume",     "fc_done",      "fc_timeout",    "job_done",
        "core_limit",     "core_reset",    "task_arrive",  "task_dispatch", "task_ready",
        "task_cpu_start", "task_cpu_done", "task_overdue", "task_end"};
    return names[static_cast<std::size_t>(type)];
}

/// Event::client of tasks that an engine schedules without service mode, and that its USDT probes
/// report.  Each engine has its own number, from this one on.  The tag alone distinguishes such a
/// task from all others.  Jobs of the task have its tag in Event::task, and the client of their
/// file in Event::client.
inline constexpr std::uint64_t engine_client = std::uint64_t{1} << 63;

/// One event.  Fields that its type does not have are zero.  All times are device time in
/// nanoseconds.
///
/// (client, context, tag) distinguish a job from all other jobs while it lives, and a task from all
/// other tasks.  A job and a task may have the same tag.
struct Event {
    std::uint64_t time_ns = 0;     ///< when it happened
    std::uint64_t client = 0;      ///< an open file, connection, or simulated process
    std::uint64_t tag = 0;         ///< tag of the job (job_*, fc_*) or of the task (task_*)
    std::uint64_t model = 0;       ///< job_queue, task_arrive: Job::model; 0: no name
    std::uint64_t task = 0;        ///< job_queue: tag of the task that the job belongs to
    std::int64_t custom_id = 0;    ///< job_queue, fc_submit, task_*
    std::uint64_t duration_ns = 0; ///< fc_done: time of the FC; job_done: of all FCs of the job
    std::uint64_t by_client = 0;   ///< fc_preempt: client of the job that goes ahead
    /// fc_preempt: tag of the job that goes ahead.  task_arrive of an engine with cores of
    /// different kinds: the cores that may take a task that names no core, one bit each; 0: all
    /// cores.  job_queue of a task that takes several cores: these cores, one bit each.
    std::uint64_t by_tag = 0;
    std::uint32_t by_context = 0; ///< fc_preempt: context of the job that goes ahead
    /// fc_preempt: process of the job that goes ahead.  core_limit: process whose context came or
    /// went; 0: the administrator.
    std::uint32_t by_pid = 0;
    std::uint32_t context = 0;      ///< the context's id in the client
    std::uint32_t pid = 0;          ///< the process that opened the client
    std::uint32_t fc_index = 0;     ///< fc_*: number in its job, or in its part of a group, from 0;
                                    ///< fc_preempt: number of the next FC
    std::uint32_t fc_count = 0;     ///< job_queue, fc_submit: FCs of the job, or of the part
    std::uint32_t priority = 0;     ///< ctx_create: the highest allowed; job_*, fc_submit, task_*
    std::uint32_t executed = 0;     ///< job_done: FCs that ran
    std::uint32_t preemptions = 0;  ///< job_done
    std::uint32_t fault = 0;        ///< fc_done: OVERTAKE_FAULT_*
    std::int32_t status = 0;        ///< job_done, task_cpu_done, task_end: 0 or a negative errno
    std::uint32_t limit = 0;        ///< core_limit: the new limit; task_*: task limit of its queue
    std::uint32_t limit_before = 0; ///< core_limit: the limit until now
    std::uint32_t segment = 0;      ///< task_*: the current segment; job_queue: segment of the task
    std::uint32_t segment_count = 0; ///< task_*
    std::uint32_t device = 0;        ///< number among the driver's devices
    std::uint16_t core = 0;          ///< from 1; 0: any, or none
    EventType type{};                ///< what happened
    bool high = false;               ///< fc_*: the FC is in the HIGH ring
    std::uint16_t slots = 0;         ///< task_*: slots of its queue on each core; 0: not known
    bool share = false;              ///< task_*: places are kept for clients without a place
    bool recorded = false;           ///< job_queue: a replay of a recording
    std::uint16_t part = 0;          ///< fc_*: part of a group, from 0
    std::uint16_t width = 0;         ///< task_*: cores that the task takes at once; 0: one core
    std::uint32_t stage = 0;         ///< fc_start, fc_resume, fc_done: stage of a group, from 0
};

/// Returns the value of Job::model for a model of this name: the first eight bytes of the name, so
/// that a reader needs no list of names.  0 for an empty name.
constexpr std::uint64_t model_id(std::string_view name) {
    std::uint64_t id = 0;
    for (std::size_t i = 0; i < name.size() && i < sizeof(id); i++)
        id |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
    return id;
}

} // namespace overtake
