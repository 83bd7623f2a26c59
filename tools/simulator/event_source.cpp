// SPDX-License-Identifier: MIT
#include "simulator/event_source.hpp"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::simulator {

/// Returns the tag of the present job. A task has fewer than 2^20 segments; at FC level, the
/// segment is always the first.
std::uint64_t job_tag(const LiveTask& task) {
    return (task.serial << 20) + task.sched.segment;
}

EventSource::EventSource(const Scenario& scenario, std::function<void(const Event&)> sink)
    : scenario_(scenario), sink_(std::move(sink)), cores_(scenario.cores) {}

std::uint64_t EventSource::in_ns(std::uint64_t time) const {
    if (time > ~std::uint64_t{0} / scenario_.tick_ns)
        throw Error(ERANGE, fmt::format("{} us is later than events can tell, 2^64 ns", time));
    return time * scenario_.tick_ns;
}

Event EventSource::event(EventType type, const LiveTask& task, std::uint64_t time) const {
    const bool is_task = scenario_.kind == Kind::task;
    Event event;
    event.type = type;
    event.time_ns = in_ns(time);
    event.client = (is_task ? task.kind->process : task.kind->context) + 1;
    event.pid = static_cast<std::uint32_t>(event.client);
    event.context = 1;
    event.priority = task.kind->priority;
    event.custom_id = task.kind->custom_id;
    return event;
}

Event EventSource::task_event(EventType type, const LiveTask& task, std::uint64_t time) const {
    Event of = event(type, task, time);
    of.tag = task_tag(task);
    of.model = task.kind->task_class + 1;
    of.core = static_cast<std::uint16_t>(task.sched.placed_core != 0 ? task.sched.placed_core
                                                                     : task.kind->core);
    of.segment = task.sched.segment;
    of.segment_count = static_cast<std::uint32_t>(task.kind->chain->segments.size());
    of.width = static_cast<std::uint16_t>(task.kind->chain->width);
    return of;
}

Event EventSource::job_event(EventType type, const LiveTask& task, std::uint64_t time) const {
    Event of = event(type, task, time);
    of.tag = job_tag(task);
    of.core = static_cast<std::uint16_t>(task.job.placed_core);
    of.high = task.kind->priority == OVT_PRIORITY_HIGH;
    return of;
}

void EventSource::arrived(LiveTask& task, std::uint64_t time) {
    if (scenario_.kind == Kind::fc)
        return;
    Event of = task_event(EventType::task_arrive, task, time);
    of.core = static_cast<std::uint16_t>(task.kind->core);
    of.segment = 0;
    sink_(of);
}

void EventSource::dispatched(LiveTask& task, std::uint64_t time) {
    sink_(task_event(EventType::task_dispatch, task, time));
}

void EventSource::ready(LiveTask& task, std::uint64_t time) {
    sink_(task_event(EventType::task_ready, task, time));
}

void EventSource::cpu_started(LiveTask& task, std::uint32_t, std::uint64_t time, std::uint64_t) {
    sink_(task_event(EventType::task_cpu_start, task, time));
}

void EventSource::cpu_ended(LiveTask& task, std::uint64_t time) {
    sink_(task_event(EventType::task_cpu_done, task, time));
}

void EventSource::submitted(LiveTask& task, std::uint32_t segment, std::uint64_t time) {
    Event of = job_event(EventType::job_queue, task, time);
    of.fc_count = task.job.fc_count;
    of.model = task.kind->task_class + 1;
    of.segment = segment;
    if (scenario_.kind == Kind::task)
        of.task = task_tag(task);
    of.core = 0;
    if (scenario_.kind == Kind::task && task.sched.span != nullptr)
        of.by_tag = task.sched.span->cores;
    sink_(of);
    of = job_event(EventType::fc_submit, task, time);
    of.fc_count = task.job.fc_count;
    if (task.parts().empty()) {
        sink_(of);
        return;
    }
    for (std::size_t i = 0; i < task.parts().size(); i++) {
        of.core = static_cast<std::uint16_t>(task.parts()[i].placed_core);
        of.fc_count = task.parts()[i].fc_count;
        of.part = static_cast<std::uint16_t>(i);
        sink_(of);
    }
}

void EventSource::preempted(LiveTask& task, unsigned core, std::uint64_t time) {
    Event of = job_event(EventType::fc_preempt, task, time);
    of.core = static_cast<std::uint16_t>(core);
    of.fc_index = task.job.started;
    for (std::size_t i = 0; i < task.parts().size(); i++)
        if (task.parts()[i].placed_core == core) {
            of.fc_index = task.parts()[i].started;
            of.part = static_cast<std::uint16_t>(i);
        }
    cores_[core - 1].preempted = of;
    cores_[core - 1].behind.insert(of.tag);
}

void EventSource::fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                             std::uint64_t time, std::uint64_t) {
    Core& on = cores_[core - 1];
    Event of = job_event(EventType::fc_start, task, time);
    of.core = static_cast<std::uint16_t>(core);
    of.fc_index = index;
    of.high = high;
    of.part = static_cast<std::uint16_t>(task.fc_part);
    of.stage = task.fc_stage;
    if (on.preempted) {
        on.preempted->by_client = of.client;
        on.preempted->by_context = of.context;
        on.preempted->by_pid = of.pid;
        on.preempted->by_tag = of.tag;
        sink_(*std::exchange(on.preempted, {}));
    }
    if (on.behind.erase(of.tag) != 0) {
        of.type = EventType::fc_resume;
        sink_(of);
        of.type = EventType::fc_start;
    }
    on.start = of;
    sink_(of);
}

void EventSource::fc_ended(LiveTask&, unsigned core, std::uint64_t time) {
    Event of = cores_[core - 1].start;
    const std::uint64_t start_ns = of.time_ns;
    of.type = EventType::fc_done;
    of.time_ns = in_ns(time);
    of.duration_ns = of.time_ns - start_ns;
    sink_(of);
}

void EventSource::job_ended(LiveTask& task, std::uint64_t time) {
    Event of = job_event(EventType::job_done, task, time);
    of.executed = task.job.done;
    of.preemptions = task.job.preemptions;
    of.duration_ns = task.job.executed_ns * scenario_.tick_ns;
    of.status = task.job.status == OVT_JOB_OK ? 0 : -ECANCELED;
    if (of.core != 0)
        cores_[of.core - 1u].behind.erase(of.tag);
    for (const ovt_fw_part& part : task.parts())
        cores_[part.placed_core - 1].behind.erase(of.tag);
    sink_(of);
}

void EventSource::limit_changed(unsigned core, std::uint32_t before, std::uint32_t limit,
                                std::uint64_t time) {
    Event of;
    of.type = EventType::core_limit;
    of.time_ns = in_ns(time);
    of.core = static_cast<std::uint16_t>(core);
    of.limit_before = before;
    of.limit = limit;
    sink_(of);
}

void EventSource::overdue(LiveTask& task, std::uint64_t time) {
    sink_(task_event(EventType::task_overdue, task, time));
}

void EventSource::ended(LiveTask& task, std::uint64_t time) {
    if (scenario_.kind == Kind::fc)
        return;
    Event of = task_event(EventType::task_end, task, time);
    of.status = task.cancelled ? -ECANCELED : 0;
    sink_(of);
}

} // namespace overtake::simulator
