// SPDX-License-Identifier: MIT
#include "observe/watch/engine_tasks.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <ranges>
#include <tuple>
#include <utility>

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
    default:
        break;
    }
    return EventType::task_end;
}

} // namespace

Event EngineTasks::end_of(const Task& task, std::uint64_t time_ns) {
    Event end = task.told;
    end.type = EventType::task_end;
    end.time_ns = std::max(time_ns, task.told.time_ns);
    end.status = -ECANCELED;
    return end;
}

/// Reports the event, or holds it back.
void EngineTasks::tell(Process& process, Engine& engine, const Event& event,
                       std::vector<Event>& events) {
    if (engine.is_here) {
        events.push_back(event);
        return;
    }
    if (process.held == most_held) {
        process.held -= engine.held.size();
        engine.held = {};
    }
    if (process.held == most_held)
        return;
    engine.held.push_back(event);
    process.held++;
}

void EngineTasks::erase(Process& process, std::map<std::uint64_t, Task>::iterator task) {
    if (const auto& context = task->second.context) {
        const auto in = process.in_context.find(*context);
        in->second.erase(task->first);
        if (in->second.empty())
            process.in_context.erase(in);
    }
    process.engines.at(task->second.engine).live--;
    process.tasks.erase(task);
}

/// Returns the model, or 0 beyond most_models. Other programs choose the names, and a reader keeps
/// each name that it sees.
std::uint64_t EngineTasks::named_model(Process& process, std::uint64_t model) {
    if (process.models.size() < most_models)
        process.models.insert(model);
    return process.models.contains(model) ? model : 0;
}

/// Returns null if the process has too many engines.
EngineTasks::Engine* EngineTasks::engine_at(Process& process, std::uint64_t address) {
    auto& engines = process.engines;
    const auto found = engines.find(address);
    if (found != engines.end())
        return &found->second;
    if (engines.size() >= most_engines) {
        const auto idle =
            std::ranges::find_if(engines, [](const auto& of) { return of.second.live == 0; });
        if (idle == engines.end())
            return nullptr;
        process.held -= idle->second.held.size();
        engines.erase(idle);
    }
    return &engines.emplace(address, Engine{.client = next_engine_++}).first->second;
}

void EngineTasks::arrive(Process& process, const ProbeHit& hit, std::vector<Event>& events) {
    const auto& arguments = hit.arguments;
    if (const auto other = process.tasks.find(arguments[0]); other != process.tasks.end()) {
        // the end of the earlier task was lost
        tell(process, process.engines.at(other->second.engine), end_of(other->second, arguments[1]),
             events);
        erase(process, other);
    }
    const bool makes_sense =
        arguments[2] <= OVERTAKE_PRIORITY_HIGH && arguments[4] <= OVERTAKE_MAX_CORES;
    Engine* const engine = makes_sense && process.tasks.size() < most_tasks
                               ? engine_at(process, arguments[6])
                               : nullptr;
    if (!engine) {
        refused_++;
        return;
    }
    engine->live++;
    Task& task = process.tasks[arguments[0]];
    task.engine = arguments[6];
    task.told.tag = next_tag_++;
    task.told.pid = hit.pid;
    task.told.priority = static_cast<std::uint32_t>(arguments[2]);
    task.told.custom_id = static_cast<std::int64_t>(arguments[3]);
    task.told.core = static_cast<std::uint16_t>(arguments[4]);
    task.told.segment_count = static_cast<std::uint32_t>(arguments[5]);
    task.told.client = engine->client;
    task.told.model = named_model(process, arguments[7]);
    task.told.slots = static_cast<std::uint16_t>(std::min<std::uint64_t>(arguments[8], UINT16_MAX));
    task.told.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(arguments[9], UINT32_MAX));
    task.told.width =
        static_cast<std::uint16_t>(std::min<std::uint64_t>(arguments[11], OVERTAKE_MAX_CORES));
}

void EngineTasks::announce(Process& process, const Task& task, const ProbeHit& hit) {
    const std::uint64_t tag = hit.arguments[3];
    if (process.jobs
            .insert_or_assign(tag, Announced{task.told.tag, hit.arguments[0], task.engine,
                                             task.told.segment, task.told.segment_count,
                                             hit.arguments[4]})
            .second)
        process.announced.push_back(tag);
    if (process.announced.size() > most_jobs) {
        process.jobs.erase(process.announced.front());
        process.announced.pop_front();
    }
}

std::size_t EngineTasks::Process::entries() const {
    return 2 + tasks.size() + engines.size() + announced.size() + models.size() + held;
}

/// Forgets the tags of claimed jobs, once most announced jobs have been claimed. The rest are the
/// newest jobs, and jobs that will never be claimed.
void EngineTasks::forget_claimed(Process& process) {
    if (process.announced.size() <= 2 * process.jobs.size() + 64)
        return;
    std::erase_if(process.announced,
                  [&](std::uint64_t tag) { return !process.jobs.contains(tag); });
}

void EngineTasks::cut_off(Process& process, std::map<std::uint64_t, Task>::iterator task,
                          std::uint64_t time_ns, std::vector<Event>& events) {
    if (process.engines.at(task->second.engine).is_here)
        events.push_back(end_of(task->second, time_ns));
    erase(process, task);
}

/// Removes the older half of the process's tasks and announced jobs, and all events held back.
void EngineTasks::halve(Process& process, std::vector<Event>& events) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> by_age; ///< tag and address
    for (const auto& [address, task] : process.tasks)
        by_age.emplace_back(task.told.tag, address);
    std::ranges::sort(by_age);
    by_age.resize((by_age.size() + 1) / 2);
    for (const auto& [tag, address] : by_age) {
        const auto task = process.tasks.find(address);
        cut_off(process, task, task->second.told.time_ns, events);
    }
    const std::size_t jobs = (process.announced.size() + 1) / 2;
    for (std::size_t i = 0; i < jobs; i++, process.announced.pop_front())
        process.jobs.erase(process.announced.front());
    dropped_ += by_age.size() + jobs;
    for (auto& [address, engine] : process.engines)
        engine.held = {};
    process.held = 0;
    std::erase_if(process.engines, [](const auto& of) { return of.second.live == 0; });
    process.models.clear();
}

/// Frees an eighth of all entries at once, so that the next entries need no call.
void EngineTasks::make_room(std::vector<Event>& events) {
    if (entries_ <= most_entries)
        return;
    std::vector<std::tuple<bool, std::size_t, std::uint32_t>> by_worth;
    for (const auto& [pid, process] : processes_)
        by_worth.emplace_back(process.is_here, SIZE_MAX - process.entries(), pid);
    std::ranges::sort(by_worth);
    while (entries_ > most_entries / 8 * 7)
        for (const auto& [is_here, rest, pid] : by_worth) {
            const auto process = processes_.find(pid);
            if (process == processes_.end())
                continue;
            const std::size_t before = process->second.entries();
            if (is_here && before > most_entries / 64) {
                halve(process->second, events);
                entries_ -= before - process->second.entries();
            } else {
                dropped_ += process->second.tasks.size() + process->second.jobs.size();
                std::ranges::move(forget(process, 0), std::back_inserter(events));
            }
            if (entries_ <= most_entries / 8 * 7)
                break;
        }
}

std::vector<Event> EngineTasks::events_of(const ProbeHit& hit) {
    std::vector<Event> events;
    auto owner = processes_.find(hit.pid);
    if (owner == processes_.end() && hit.probe == Probe::task_arrive) {
        owner = processes_.try_emplace(hit.pid).first;
        entries_ += owner->second.entries();
    }
    if (owner == processes_.end())
        return events;
    const std::size_t before = owner->second.entries();
    pass(owner->second, hit, events);
    entries_ += owner->second.entries() - before;
    make_room(events);
    return events;
}

void EngineTasks::pass(Process& process, const ProbeHit& hit, std::vector<Event>& events) {
    const auto& arguments = hit.arguments;
    if (hit.probe == Probe::task_arrive)
        arrive(process, hit, events);
    const auto found = process.tasks.find(arguments[0]);
    if (found == process.tasks.end())
        return;
    Task& task = found->second;
    if (hit.probe != Probe::task_arrive && hit.probe != Probe::task_dispatch &&
        hit.probe != Probe::task_end)
        task.told.segment = static_cast<std::uint32_t>(arguments[2]);
    if (hit.probe == Probe::task_job) {
        announce(process, task, hit);
        return;
    }
    task.told.time_ns = std::max(task.told.time_ns, arguments[1]);
    Event event = task.told;
    event.type = event_type(hit.probe);
    if (hit.probe == Probe::task_arrive)
        event.by_tag = arguments[10];
    if (hit.probe == Probe::task_cpu_done)
        event.status = static_cast<std::int32_t>(arguments[3]);
    if (hit.probe == Probe::task_end)
        event.status = static_cast<std::int32_t>(arguments[2]);
    tell(process, process.engines.at(task.engine), event, events);
    if (hit.probe == Probe::task_end)
        erase(process, found);
}

/// `job` belongs to one of these tasks, which may have ended according to later probes.
std::vector<Event> EngineTasks::claim(Process& process, Event& job) {
    const auto announced = process.jobs.extract(job.tag);
    if (!announced)
        return {};
    const Announced& of = announced.mapped();
    job.task = of.task;
    job.segment = of.segment;
    job.segment_count = of.segment_count;
    job.by_tag = of.cores;
    const Context context{job.client, job.context};
    if (const auto task = process.tasks.find(of.address);
        task != process.tasks.end() && task->second.told.tag == of.task && !task->second.context) {
        task->second.context = context;
        process.in_context[context].insert(of.address);
    }
    const auto engine = process.engines.find(of.engine);
    if (engine == process.engines.end() || engine->second.is_here)
        return {};
    engine->second.is_here = process.is_here = true;
    process.held -= engine->second.held.size();
    return std::exchange(engine->second.held, {});
}

std::vector<Event> EngineTasks::look_at(Event& event) {
    const auto owner = processes_.find(event.pid);
    if (owner == processes_.end())
        return {};
    Process& process = owner->second;
    const std::size_t before = process.entries();
    if (event.type == EventType::job_queue && event.task == 0) {
        std::vector<Event> held = claim(process, event);
        forget_claimed(process);
        entries_ -= before - process.entries();
        return held;
    }
    std::vector<Event> ends;
    if (event.type == EventType::ctx_destroy)
        for (const auto in = process.in_context.find({event.client, event.context});
             in != process.in_context.end();) {
            const auto task = process.tasks.find(*in->second.begin());
            ends.push_back(end_of(task->second, event.time_ns));
            const bool is_last = in->second.size() == 1;
            erase(process, task);
            if (is_last)
                break;
        }
    entries_ -= before - process.entries();
    return ends;
}

std::vector<std::uint32_t> EngineTasks::processes() const {
    const auto pids = std::views::keys(processes_);
    return {pids.begin(), pids.end()};
}

std::vector<Event> EngineTasks::forget(std::uint32_t pid, std::uint64_t time_ns) {
    const auto process = processes_.find(pid);
    return process == processes_.end() ? std::vector<Event>{} : forget(process, time_ns);
}

std::vector<Event> EngineTasks::forget(Processes::iterator process, std::uint64_t time_ns) {
    std::vector<Event> ends;
    for (const auto& [address, task] : process->second.tasks)
        if (process->second.engines.at(task.engine).is_here)
            ends.push_back(end_of(task, time_ns));
    entries_ -= process->second.entries();
    processes_.erase(process);
    return ends;
}

std::size_t EngineTasks::live() const noexcept {
    std::size_t live = 0;
    for (const auto& [pid, process] : processes_)
        live += process.tasks.size();
    return live;
}

} // namespace overtake::watch
