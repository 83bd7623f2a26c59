// SPDX-License-Identifier: MIT
#include "watch/engine_tasks.hpp"

#include <cerrno>
#include <ranges>

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

/// The task at this address has no announced job any more.
void EngineTasks::forget_job(Process& process, std::uint64_t address, Task& task) {
    if (!task.job)
        return;
    const auto announced = process.jobs.find(*task.job);
    if (announced != process.jobs.end() && announced->second == address)
        process.jobs.erase(announced);
    task.job.reset();
}

Event EngineTasks::end_of(const Task& task, std::uint64_t time_ns) {
    Event end = task.told;
    end.type = EventType::task_end;
    end.time_ns = time_ns;
    end.status = -ECANCELED;
    return end;
}

void EngineTasks::arrive(Process& process, const ProbeHit& hit) {
    const auto& arguments = hit.arguments;
    if (const auto other = process.tasks.find(arguments[0]); other != process.tasks.end()) {
        forget_job(process, arguments[0], other->second); // its end was lost
        process.tasks.erase(other);
    }
    auto engine = process.engines.find(arguments[6]);
    if (process.tasks.size() >= most_tasks ||
        (engine == process.engines.end() && process.engines.size() >= most_engines))
        return;
    if (engine == process.engines.end())
        engine = process.engines.emplace(arguments[6], next_engine_++).first;
    Task& task = process.tasks[arguments[0]];
    task.told.tag = next_tag_++;
    task.told.pid = hit.pid;
    task.told.priority = static_cast<std::uint32_t>(arguments[2]);
    task.told.custom_id = static_cast<std::int64_t>(arguments[3]);
    task.told.core = static_cast<std::uint16_t>(arguments[4]);
    task.told.segment_count = static_cast<std::uint32_t>(arguments[5]);
    task.told.client = engine->second;
    task.told.model = arguments[7];
}

std::optional<Event> EngineTasks::event_of(const ProbeHit& hit) {
    const auto& arguments = hit.arguments;
    const std::uint64_t address = arguments[0];
    if (hit.probe == Probe::task_arrive)
        arrive(processes_[hit.pid], hit);
    const auto owner = processes_.find(hit.pid);
    if (owner == processes_.end())
        return std::nullopt;
    Process& process = owner->second;
    const auto found = process.tasks.find(address);
    if (found == process.tasks.end())
        return std::nullopt;
    Task& task = found->second;
    if (hit.probe != Probe::task_arrive && hit.probe != Probe::task_dispatch &&
        hit.probe != Probe::task_end)
        task.told.segment = static_cast<std::uint32_t>(arguments[2]);
    if (hit.probe == Probe::task_job) {
        forget_job(process, address, task);
        task.job = arguments[3];
        process.jobs[arguments[3]] = address;
        return std::nullopt;
    }
    Event event = task.told;
    event.type = event_type(hit.probe);
    event.time_ns = arguments[1];
    if (hit.probe == Probe::task_cpu_done)
        event.status = static_cast<std::int32_t>(arguments[3]);
    if (hit.probe == Probe::task_end) {
        event.status = static_cast<std::int32_t>(arguments[2]);
        forget_job(process, address, task);
        process.tasks.erase(found);
    }
    return event;
}

std::vector<Event> EngineTasks::look_at(Event& event) {
    std::vector<Event> ends;
    const auto owner = processes_.find(event.pid);
    if (owner == processes_.end())
        return ends;
    Process& process = owner->second;
    if (event.type == EventType::job_queue && event.task == 0) {
        const auto announced = process.jobs.find(event.tag);
        if (announced == process.jobs.end())
            return ends;
        Task& task = process.tasks.at(announced->second);
        event.task = task.told.tag;
        event.segment = task.told.segment;
        event.segment_count = task.told.segment_count;
        task.context = {event.client, event.context};
        task.job.reset();
        process.jobs.erase(announced);
    } else if (event.type == EventType::ctx_destroy) {
        for (auto next = process.tasks.begin(); next != process.tasks.end();) {
            const auto of = next++;
            if (of->second.context != Context{event.client, event.context})
                continue;
            ends.push_back(end_of(of->second, event.time_ns));
            forget_job(process, of->first, of->second);
            process.tasks.erase(of);
        }
    }
    return ends;
}

std::vector<std::uint32_t> EngineTasks::processes() const {
    const auto pids = std::views::keys(processes_);
    return {pids.begin(), pids.end()};
}

std::vector<Event> EngineTasks::forget(std::uint32_t pid, std::uint64_t time_ns) {
    std::vector<Event> ends;
    if (const auto process = processes_.extract(pid))
        for (const auto& [address, task] : process.mapped().tasks)
            ends.push_back(end_of(task, time_ns));
    return ends;
}

std::size_t EngineTasks::live() const noexcept {
    std::size_t live = 0;
    for (const auto& [pid, process] : processes_)
        live += process.tasks.size();
    return live;
}

} // namespace overtake::watch
