// SPDX-License-Identifier: MIT
//
// Event: one thing that happened on a device.  The driver's tracepoints, a device server, an
// embedded device and the simulator all report the same events, so a reader (pictures, histograms,
// blame, recordings) need not know which of them reports.
//
// Names, fields and units are those of the driver's tracepoints; docs/reference/tracepoints.md has
// the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace overtake {

/// What happened.  Numbers do not change: new types are added at the end.
enum class EventType : std::uint8_t {
    ctx_create = 0, ///< a context (queue) was made
    ctx_destroy,    ///< a context ended: no event of it follows
    job_queue,      ///< a job was accepted; it may wait for its fences yet
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

/// The name of the driver's tracepoint; names do not change.
constexpr std::string_view event_type_name(EventType type) {
    constexpr std::array<std::string_view, event_type_count> names{
        "ctx_create",     "ctx_destroy",   "job_queue",    "fc_submit",     "fc_start",
        "fc_preempt",     "fc_resume",     "fc_done",      "fc_timeout",    "job_done",
        "core_limit",     "core_reset",    "task_arrive",  "task_dispatch", "task_ready",
        "task_cpu_start", "task_cpu_done", "task_overdue", "task_end"};
    return names[static_cast<std::size_t>(type)];
}

/// Event::client of tasks that a process's own engine schedules without service mode, and that its
/// USDT probes report: this number and those above it, one for each engine.  The tag alone tells
/// such a task from all others.  The tag is Event::task of the task's jobs, which have the client
/// of their file.
inline constexpr std::uint64_t engine_client = std::uint64_t{1} << 63;

/// Fields that a type does not have are zero.  All times are device time in nanoseconds.
///
/// (client, context, tag) distinguish a job from all others while it lives, and a task in the same
/// way; tags of jobs and tags of tasks are separate.
struct Event {
    std::uint64_t time_ns = 0;     ///< when it happened
    std::uint64_t client = 0;      ///< an open file, connection, or simulated process
    std::uint64_t tag = 0;         ///< of the job (ctx_*, job_*, fc_*) or task (task_*)
    std::uint64_t model = 0;       ///< job_queue, task_arrive: the client's name for it; 0: none
    std::uint64_t task = 0;        ///< job_queue: tag of the task that the job belongs to
    std::int64_t custom_id = 0;    ///< job_queue, fc_submit, task_*
    std::uint64_t duration_ns = 0; ///< fc_done: of the FC; job_done: of all FCs of the job
    std::uint64_t by_client = 0;   ///< fc_preempt: of the job that goes ahead
    /// fc_preempt: tag of the job that goes ahead; task_arrive of an engine with cores of different
    /// kinds: the cores that may take a task that asks for none, one bit each; 0: all cores;
    /// job_queue of a task that takes several cores: these cores, one bit each
    std::uint64_t by_tag = 0;
    std::uint32_t by_context = 0;   ///< fc_preempt: of that job
    std::uint32_t by_pid = 0;       ///< fc_preempt: of that job; core_limit: of the change, 0: root
    std::uint32_t context = 0;      ///< the context's id in the client
    std::uint32_t pid = 0;          ///< the process that opened the client
    std::uint32_t fc_index = 0;     ///< fc_*: in its job, or in its part of a group, from 0;
                                    ///< fc_preempt: of the next FC
    std::uint32_t fc_count = 0;     ///< job_queue, fc_submit: of the job, or of its part
    std::uint32_t priority = 0;     ///< ctx_create: the highest allowed; job_*, fc_submit, task_*
    std::uint32_t executed = 0;     ///< job_done: FCs that ran
    std::uint32_t preemptions = 0;  ///< job_done
    std::uint32_t fault = 0;        ///< fc_done: OVERTAKE_FAULT_*
    std::int32_t status = 0;        ///< job_done, task_cpu_done, task_end: 0 or a negative errno
    std::uint32_t limit = 0;        ///< core_limit: the new one; task_*: places of its queue
    std::uint32_t limit_before = 0; ///< core_limit
    std::uint32_t segment = 0;      ///< task_*: the current one; job_queue: of its task
    std::uint32_t segment_count = 0; ///< task_*
    std::uint32_t device = 0;        ///< number among the driver's devices
    std::uint16_t core = 0;          ///< from 1; 0: any, or none
    EventType type{};                ///< what happened
    bool high = false;               ///< fc_*: the HIGH ring
    std::uint16_t slots = 0;         ///< task_*: of its queue on each core; 0: not known
    bool share = false;              ///< task_*: places are kept for clients that have none
    bool recorded = false;           ///< job_queue: a replay of a recording
    std::uint16_t part = 0;          ///< fc_*: of a group, from 0
    std::uint16_t width = 0;         ///< task_*: cores that it takes at once; 0: one
    std::uint32_t stage = 0;         ///< fc_start, fc_resume, fc_done: of a group, from 0
};

/// The value of Job::model for a model of this name: the first eight bytes of the name, so that a
/// reader needs no list of names.  0 for an empty name.
constexpr std::uint64_t model_id(std::string_view name) {
    std::uint64_t id = 0;
    for (std::size_t i = 0; i < name.size() && i < sizeof(id); i++)
        id |= std::uint64_t{static_cast<unsigned char>(name[i])} << (8 * i);
    return id;
}

} // namespace overtake
