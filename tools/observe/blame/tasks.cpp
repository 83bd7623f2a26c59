// SPDX-License-Identifier: MIT
#include "observe/blame/tasks.hpp"

#include <array>
#include <iterator>

#include "drop_oldest.hpp"

namespace overtake::blame {
namespace {

constexpr std::uint32_t priority_high = 255;

/// A task of an engine, of which its jobs say nothing but the tag.
Identity of_engine(std::uint64_t tag) {
    return {0, 0, engine_client, tag};
}

Identity identity_of(const Event& event) {
    if (event.client >= engine_client)
        return of_engine(event.tag);
    return {event.device, event.context, event.client, event.tag};
}

} // namespace

std::array<std::uint64_t, 2> rank_by_priority(std::uint32_t priority, std::int64_t custom_id) {
    // The order of signed numbers as unsigned ones.
    return {priority_high - priority,
            static_cast<std::uint64_t>(custom_id) ^ (std::uint64_t{1} << 63)};
}

Identity Tasks::task_of(const Event& job) const {
    const auto found = tasks_.find(of_engine(job.task));
    if (found != tasks_.end() && found->second.report.who.pid == job.pid &&
        !tasks_.contains({job.device, job.context, job.client, job.task}))
        return found->first;
    return {job.device, job.context, job.client, job.task};
}

/// 255 waits in no line, and holds neither a place nor a slot.
bool Tasks::is_high(const Task& task) {
    return task.report.priority >= priority_high;
}

void Tasks::add(const Event& event) {
    recorded_ = true;
    if (event.type == EventType::task_arrive) {
        arrive(event);
        return;
    }
    const auto found = tasks_.find(identity_of(event));
    if (found == tasks_.end())
        return; // it arrived before anybody looked
    Task& task = found->second;
    switch (event.type) {
    case EventType::task_dispatch:
        dispatch(task, event.time_ns);
        break;
    case EventType::task_ready:
        ready(task, event);
        break;
    case EventType::task_cpu_start:
        cpu_start(task, event);
        break;
    case EventType::task_cpu_done:
        cpu_done(task, event);
        break;
    case EventType::task_overdue:
        task.queue->give_slot(task.queued, event.time_ns);
        task.queue->discount(task.queued, event.time_ns);
        break;
    case EventType::task_end:
        end(task, event);
        erase(found);
        break;
    default:
        break;
    }
}

Tasks::QueueKey Tasks::key_of(std::uint32_t device, std::uint64_t client) const {
    return {device, client < engine_client && options_.rules.one_queue ? 0 : client};
}

Tasks::Queue& Tasks::queue_of(const QueueKey& key) {
    const auto [found, is_new] = queues_.try_emplace(key, TaskQueue(options_.rules));
    if (is_new)
        // Engines do not say which device is theirs.
        for (const auto& [device, cores] : cores_)
            if (device == key.first || key.second >= engine_client)
                found->second.tasks.see_core(cores);
    return found->second;
}

void Tasks::see_core(std::uint32_t device, std::uint16_t core) {
    std::uint16_t& seen = cores_[device];
    if (core <= seen)
        return;
    seen = core;
    for (auto& [key, queue] : queues_)
        if (key.first == device || key.second >= engine_client)
            queue.tasks.see_core(core);
}

/// An engine's queue goes with its last task: a program may make any number of engines.
void Tasks::erase(Live::iterator task) {
    const Report& report = task->second.report;
    const auto queue = queues_.find(key_of(report.device, report.who.client));
    tasks_.erase(task);
    if (--queue->second.live != 0 || queue->first.second < engine_client)
        return;
    steps_ += queue->second.tasks.steps();
    queues_.erase(queue);
}

Tasks::Live::iterator Tasks::drop(Live::iterator task, std::uint64_t time) {
    leave_queue(task->second, time);
    const auto next = std::next(task);
    erase(task);
    return next;
}

void Tasks::add_processes(std::set<std::uint32_t>& pids) const {
    for (const auto& [identity, task] : tasks_)
        pids.insert(task.report.who.pid);
}

void Tasks::forget(const std::set<std::uint32_t>& pids, std::uint64_t time) {
    for (auto task = tasks_.begin(); task != tasks_.end();)
        task = pids.contains(task->second.report.who.pid) ? drop(task, time) : std::next(task);
}

void Tasks::arrive(const Event& event) {
    if (const auto other = tasks_.find(identity_of(event)); other != tasks_.end())
        drop(other, event.time_ns);
    if (tasks_.size() >= options_.most_live)
        dropped_ += drop_oldest(
            tasks_, [](const auto& of) { return of.second.queued.arrival; },
            [&](Live::iterator oldest) { return drop(oldest, event.time_ns); });
    Task& task = tasks_[identity_of(event)];
    Queue& queue = queue_of(key_of(event.device, event.client));
    queue.live++;
    if (event.slots != 0)
        queue.tasks.set_rules(event.slots, event.limit, event.share);
    task.queue = &queue.tasks;
    task.report.is_task = true;
    task.report.who = {event.client, event.model, event.pid};
    task.report.tag = event.tag;
    task.report.device = event.device;
    task.report.context = event.context;
    task.report.priority = event.priority;
    task.report.custom_id = event.custom_id;
    task.report.arrival_ns = event.time_ns;
    task.since = event.time_ns;
    task.core = event.core;
    task.queued.owner = owners_.number(task.report.who);
    task.queued.client = event.client;
    task.queued.tag = event.tag;
    task.queued.arrival = next_arrival_++;
    Plan plan = {rank_by_priority(event.priority, event.custom_id), {}};
    if (options_.plan)
        plan = options_.plan(event);
    task.queued.rank = plan.rank;
    task.last_bpu_segment = plan.last_bpu_segment;
    if (!is_high(task))
        task.queue->join(task.queued, task.core, false, event.time_ns);
}

/// Ends the state that it is in; what `between` was is known by now.
void Tasks::close(Task& task, Cause between, std::uint64_t time) {
    const std::uint64_t spent = time - task.since;
    if (task.queued.waits)
        task.queue->leave(task.queued, time);
    else if (task.state == State::cpu)
        task.queued.parts.add(
            part_key(task.had_bpu && task.report.core != 0 &&
                             (!task.last_bpu_segment || task.bpu_seen < *task.last_bpu_segment)
                         ? Cause::gap
                         : Cause::cpu),
            spent);
    else if (task.state == State::between)
        task.queued.parts.add(part_key(between), spent);
    else if (task.state == State::waits)
        task.queued.parts.add(part_key(Cause::host), spent);
    task.since = time;
    task.state = State::between;
}

void Tasks::dispatch(Task& task, std::uint64_t time) {
    close(task, Cause::host, time);
    if (!is_high(task))
        task.queue->count(task.queued, time);
}

void Tasks::ready(Task& task, const Event& event) {
    close(task, Cause::host, event.time_ns);
    if (event.core != 0)
        task.core = event.core;
    task.state = State::waits;
    if (!is_high(task))
        task.queue->join(task.queued, task.core, true, event.time_ns);
}

void Tasks::cpu_start(Task& task, const Event& event) {
    close(task, Cause::worker, event.time_ns);
    task.state = State::cpu;
    task.queue->set_gap(task.queued, event.segment, true, event.time_ns);
}

void Tasks::cpu_done(Task& task, const Event& event) {
    if (task.state == State::cpu)
        close(task, Cause::host, event.time_ns);
    task.queue->set_gap(task.queued, event.segment + 1, false, event.time_ns);
}

bool Tasks::job_queued(const Event& event) {
    const auto found = tasks_.find(task_of(event));
    if (found == tasks_.end())
        return false;
    Task& task = found->second;
    close(task, Cause::host, event.time_ns);
    task.state = State::device;
    task.had_bpu = true;
    task.bpu_seen = event.segment;
    return true;
}

void Tasks::job_on_core(const Identity& identity, std::uint16_t core, std::uint64_t time) {
    const auto found = tasks_.find(identity);
    if (found == tasks_.end())
        return;
    Task& task = found->second;
    task.core = core;
    task.report.core = core;
    if (is_high(task))
        return;
    task.queue->take_slot(task.queued, core, time);
    task.queue->end_gap(task.queued, time);
}

void Tasks::job_done(const Identity& identity, std::uint32_t segment, std::uint32_t preemptions,
                     const Parts& parts, std::uint64_t time) {
    const auto found = tasks_.find(identity);
    if (found == tasks_.end())
        return;
    Task& task = found->second;
    task.queued.parts.add(parts);
    task.report.preemptions += preemptions;
    task.since = time;
    task.state = State::between;
    if (const auto learned = last_bpu_of_.find(task.queued.owner);
        !task.last_bpu_segment && learned != last_bpu_of_.end())
        task.last_bpu_segment = learned->second;
    if (task.last_bpu_segment && segment >= *task.last_bpu_segment)
        task.queue->give_slot(task.queued, time);
    else
        task.queue->set_gap(task.queued, segment + 1, false, time);
}

void Tasks::leave_queue(Task& task, std::uint64_t time) {
    if (task.queued.waits)
        task.queue->leave(task.queued, time);
    task.queue->give_slot(task.queued, time);
    task.queue->discount(task.queued, time);
}

void Tasks::end(Task& task, const Event& event) {
    // A task that is cancelled between two segments waits for a worker: nothing else takes time.
    close(task, event.status != 0 ? Cause::worker : Cause::host, event.time_ns);
    leave_queue(task, event.time_ns);
    if (event.status == 0 && task.had_bpu)
        last_bpu_of_[task.queued.owner] = task.bpu_seen;
    task.report.end_ns = event.time_ns;
    task.report.status = event.status;
    report_(task.report, task.queued.parts);
}

void Tasks::lost(bool of_engines_alone) {
    for (auto& [identity, task] : tasks_)
        if (!of_engines_alone || task.report.who.client >= engine_client)
            task.report.incomplete = true;
}

std::uint32_t Tasks::owner_of(const Identity& identity) const {
    const auto found = tasks_.find(identity);
    return found == tasks_.end() ? 0 : found->second.queued.owner;
}

std::uint64_t Tasks::steps() const {
    std::uint64_t steps = steps_;
    for (const auto& [key, queue] : queues_)
        steps += queue.tasks.steps();
    return steps;
}

} // namespace overtake::blame
