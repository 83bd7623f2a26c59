// SPDX-License-Identifier: MIT
//
// FirmwareHost: its reports to watchers.  Usually there are no watchers, so the functions first
// check for them.
#include <algorithm>
#include <optional>
#include <utility>

#include "embedded/firmware_host.hpp"

namespace overtake {

namespace {

/// Returns the number of the event's part in its group, from 0; 0 outside of groups.
std::uint16_t part_of(const ovt_event& event) {
    const ovt_fw_group* group = event.job->group;
    return group ? static_cast<std::uint16_t>(event.part - group->parts) : 0;
}

std::uint32_t stage_of(const ovt_event& event) {
    return event.part->stages != nullptr ? event.part->stages[event.fc_index] : 0;
}

/// Returns one bit for each core of a task that takes several cores; 0 for other tasks.
std::uint64_t cores_of(const HostedTask& task) {
    std::uint64_t cores = 0;
    if (task.sched.span != nullptr)
        for (std::uint32_t i = 0; i < task.sched.span->width; i++)
            cores |= std::uint64_t{1} << (task.cores[i] - 1);
    return cores;
}

} // namespace

void FirmwareHost::watch(EventWriter& writer) {
    const Lock lock(mutex_);
    watchers_.push_back(&writer);
}

void FirmwareHost::forget(EventWriter& writer) {
    const Lock lock(mutex_);
    std::erase(watchers_, &writer);
}

void FirmwareHost::report_fc(const ovt_event& event) {
    if (!options_.on_fc)
        return;
    const FcRecord record{
        .tag = static_cast<const EmbeddedJob&>(*event.job).tag,
        .index = event.fc_index,
        .core = event.core,
        .high = event.ring == OVT_RING_HIGH,
        .start_ns = event.time_ns - event.duration_ns,
        .end_ns = event.time_ns,
        .part = part_of(event),
    };
    options_.on_fc(options_.on_fc_context, record);
}

void FirmwareHost::tell(const Event& event) const {
    for (EventWriter* watcher : watchers_)
        watcher->put(event);
}

Event FirmwareHost::event_of(EventType type, const EmbeddedContext& context,
                             std::uint64_t time_ns) const {
    Event event;
    event.type = type;
    event.time_ns = time_ns;
    event.client = context.client->id;
    event.pid = context.client->pid;
    event.context = context.id;
    return event;
}

Event FirmwareHost::event_of(EventType type, const EmbeddedJob& job, std::uint64_t time_ns) const {
    Event event = event_of(type, *job.owner, time_ns);
    event.tag = job.tag;
    event.high = job.priority == OVT_PRIORITY_HIGH;
    event.core = static_cast<std::uint16_t>(job.placed_core != 0 ? job.placed_core : job.core);
    return event;
}

void FirmwareHost::tell_context(EventType type, const EmbeddedContext& context) {
    if (!is_watched())
        return;
    Event event = event_of(type, context, now());
    if (type == EventType::ctx_create)
        event.priority = context.options.max_priority;
    tell(event);
}

/// A job waits for nothing before it arrives at its core, so submission and arrival are one
/// instant.
void FirmwareHost::tell_arrival(const EmbeddedJob& job, std::uint64_t time_ns) {
    if (!is_watched())
        return;
    Event event = event_of(EventType::job_queue, job, time_ns);
    event.fc_count = job.fc_count;
    event.priority = job.priority;
    event.custom_id = job.custom_id;
    event.model = job.model;
    event.recorded = job.is_recorded;
    if (job.task) {
        event.task = job.task->tag;
        event.segment = job.task->sched.segment;
        event.by_tag = cores_of(*job.task);
    }
    tell(event);
    event.type = EventType::fc_submit;
    event.model = 0;
    event.task = 0;
    event.segment = 0;
    event.by_tag = 0;
    event.recorded = false;
    if (job.group == nullptr)
        tell(event);
    else
        tell_parts(*job.group, event);
}

void FirmwareHost::tell_parts(const ovt_fw_group& group, Event event) const {
    for (std::uint32_t i = 0; i < group.part_count; i++) {
        event.core = static_cast<std::uint16_t>(group.parts[i].placed_core);
        event.fc_count = group.parts[i].fc_count;
        event.part = static_cast<std::uint16_t>(i);
        tell(event);
    }
}

void FirmwareHost::tell_start(const ovt_event& event) {
    const auto& job = static_cast<const EmbeddedJob&>(*event.job);
    const std::optional<ovt_event> overtaking = std::exchange(overtaking_, std::nullopt);
    if (!is_watched())
        return;
    if (overtaking) {
        Event preempted =
            event_of(EventType::fc_preempt, static_cast<const EmbeddedJob&>(*overtaking->job),
                     overtaking->time_ns);
        preempted.core = static_cast<std::uint16_t>(overtaking->core);
        preempted.fc_index = overtaking->fc_index;
        preempted.part = part_of(*overtaking);
        preempted.by_client = job.owner->client->id;
        preempted.by_pid = job.owner->client->pid;
        preempted.by_context = job.owner->id;
        preempted.by_tag = job.tag;
        tell(preempted);
    }
    Event started = event_of(EventType::fc_start, job, event.time_ns);
    started.core = static_cast<std::uint16_t>(event.core);
    started.fc_index = event.fc_index;
    started.part = part_of(event);
    started.stage = stage_of(event);
    if (event.resumes) {
        started.type = EventType::fc_resume;
        tell(started);
        started.type = EventType::fc_start;
    }
    tell(started);
}

void FirmwareHost::tell_fc_end(const ovt_event& event) {
    if (!is_watched())
        return;
    Event ended =
        event_of(EventType::fc_done, static_cast<const EmbeddedJob&>(*event.job), event.time_ns);
    ended.core = static_cast<std::uint16_t>(event.core);
    ended.fc_index = event.fc_index;
    ended.part = part_of(event);
    ended.stage = stage_of(event);
    if (event.type == OVT_EVENT_HUNG) {
        ended.type = EventType::fc_timeout;
        tell(ended);
        ended.type = EventType::fc_done;
    }
    ended.duration_ns = event.duration_ns;
    if (event.type != OVT_EVENT_DONE)
        ended.fault = event.fault;
    tell(ended);
}

void FirmwareHost::tell_job_end(const ovt_event& event) {
    if (!is_watched())
        return;
    const auto& job = static_cast<const EmbeddedJob&>(*event.job);
    const Completion completion = completion_of(job);
    Event ended = event_of(EventType::job_done, job, event.time_ns);
    ended.priority = job.priority;
    ended.status = completion.status;
    ended.executed = completion.fcs_done;
    ended.preemptions = completion.preemptions;
    ended.duration_ns = completion.executed_ns;
    tell(ended);
}

void FirmwareHost::tell_limit(unsigned core, unsigned before, unsigned limit,
                              const EmbeddedClient* by) {
    if (!is_watched())
        return;
    Event event;
    event.type = EventType::core_limit;
    event.time_ns = now();
    event.core = static_cast<std::uint16_t>(core);
    event.limit = limit;
    event.limit_before = before;
    event.by_pid = by ? by->pid : 0;
    tell(event);
}

void FirmwareHost::tell_task(EventType type, const HostedTask& task, std::uint64_t time_ns) const {
    if (!is_watched())
        return;
    const auto& process = static_cast<const HostedProcess&>(*ovt_service_process_of(&task));
    Event event = event_of(type, *process.context, time_ns);
    event.tag = task.tag;
    event.custom_id = task.sched.custom_id;
    event.priority = task.sched.priority;
    event.segment = task.sched.segment;
    event.segment_count = task.sched.segment_count;
    event.core = static_cast<std::uint16_t>(task.sched.placed_core != 0 ? task.sched.placed_core
                                                                        : task.sched.core);
    const ovt_sched_settings& rules = process.service->sched.settings;
    event.slots = static_cast<std::uint16_t>(std::min<std::uint32_t>(rules.slots, 0xffff));
    event.limit = rules.task_limit;
    event.share = rules.share;
    if (type == EventType::task_arrive)
        event.model = task.model;
    event.width = static_cast<std::uint16_t>(task.sched.span ? task.sched.span->width : 1);
    if (type == EventType::task_end)
        event.status = task.status;
    tell(event);
}

} // namespace overtake
