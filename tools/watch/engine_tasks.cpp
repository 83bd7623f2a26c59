// SPDX-License-Identifier: MIT
#include "watch/engine_tasks.hpp"

#include <cerrno>

namespace overtake::watch {

namespace {

EventType event_type(Probe probe) {
    switch (probe) {
    case Probe::task_arrive:
        return EventType::task_arrive;
    case Probe::task_dispatch:
        return EventType::task_dispatch;
    case Probe::task_ready:
        return EventType::task_ready;
    case Probe::task_cpu_start:
        return EventType::task_cpu_start;
    case Probe::task_cpu_done:
        return EventType::task_cpu_done;
    case Probe::task_job:
    case Probe::task_end:
        break;
    }
    return EventType::task_end;
}

} // namespace

std::uint64_t EngineTasks::engine_at(const Place& place) {
    return engines_.try_emplace(place, engine_client + engines_.size()).first->second;
}

void EngineTasks::forget_job(const Place& place, Task& task) {
    if (!task.job)
        return;
    const auto announced = jobs_.find({place.first, *task.job});
    if (announced != jobs_.end() && announced->second == place)
        jobs_.erase(announced);
    task.job.reset();
}

std::optional<Event> EngineTasks::event_of(const ProbeHit& hit) {
    const auto& arguments = hit.arguments;
    const auto u32 = [&](std::size_t i) { return static_cast<std::uint32_t>(arguments[i]); };
    const Place place{hit.pid, arguments[0]};
    if (hit.probe == Probe::task_arrive) {
        Task task;
        task.told.tag = next_tag_++;
        task.told.pid = hit.pid;
        task.told.priority = u32(2);
        task.told.custom_id = static_cast<std::int64_t>(arguments[3]);
        task.told.core = static_cast<std::uint16_t>(arguments[4]);
        task.told.segment_count = u32(5);
        task.told.client = engine_at({hit.pid, arguments[6]});
        task.told.model = arguments[7];
        if (const auto other = tasks_.find(place); other != tasks_.end())
            forget_job(place, other->second); // its end was lost
        tasks_[place] = task;
    }
    const auto found = tasks_.find(place);
    if (found == tasks_.end())
        return std::nullopt;
    Task& task = found->second;
    if (hit.probe == Probe::task_job) {
        forget_job(place, task);
        task.told.segment = u32(2);
        task.job = arguments[3];
        jobs_[{hit.pid, arguments[3]}] = place;
        return std::nullopt;
    }
    if (hit.probe == Probe::task_ready || hit.probe == Probe::task_cpu_start ||
        hit.probe == Probe::task_cpu_done)
        task.told.segment = u32(2);
    Event event = task.told;
    event.type = event_type(hit.probe);
    event.time_ns = arguments[1];
    if (hit.probe != Probe::task_arrive)
        event.model = 0;
    if (hit.probe == Probe::task_cpu_done)
        event.status = static_cast<std::int32_t>(u32(3));
    if (hit.probe == Probe::task_end) {
        event.status = static_cast<std::int32_t>(u32(2));
        forget_job(place, task);
        tasks_.erase(found);
    }
    return event;
}

std::vector<Event> EngineTasks::look_at(Event& event) {
    std::vector<Event> ends;
    if (event.type == EventType::job_queue && event.task == 0) {
        const auto announced = jobs_.find({event.pid, event.tag});
        if (announced == jobs_.end())
            return ends;
        Task& task = tasks_.at(announced->second);
        event.task = task.told.tag;
        event.segment = task.told.segment;
        event.segment_count = task.told.segment_count;
        task.context = {event.client, event.context};
        task.job.reset();
        jobs_.erase(announced);
    } else if (event.type == EventType::ctx_destroy) {
        for (auto next = tasks_.begin(); next != tasks_.end();) {
            const auto of = next++;
            if (of->second.context != Context{event.client, event.context})
                continue;
            Event end = of->second.told;
            end.type = EventType::task_end;
            end.time_ns = event.time_ns;
            end.model = 0;
            end.status = -ECANCELED;
            ends.push_back(end);
            forget_job(of->first, of->second);
            tasks_.erase(of);
        }
    }
    return ends;
}

} // namespace overtake::watch
