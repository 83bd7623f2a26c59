// SPDX-License-Identifier: MIT
#include "observe/blame/tasks.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "drop_oldest.hpp"

namespace overtake::blame {
namespace {

/// The segments of a task without a plan: the first one needs a slot, all others may be CPU
/// segments.
constexpr std::array<ovt_sched_segment, 2> unknown_segments{{{.time = 0, .fc_count = 1}, {}}};

/// Engines whose queues are kept at least; a queue takes about 10 KB.
constexpr std::size_t least_engines = 1024;

/// Returns the identity of a task of an engine: the engine's jobs name the tag alone.
Identity of_engine(std::uint64_t tag) {
    return {0, 0, engine_client, tag};
}

Identity identity_of(const Event& event) {
    if (event.client >= engine_client)
        return of_engine(event.tag);
    return {event.device, event.context, event.client, event.tag};
}

/// Returns the segment after which a task gives its slot up.
std::optional<std::uint32_t> last_bpu_segment(std::span<const ovt_sched_segment> segments) {
    for (std::size_t i = segments.size(); i-- > 0;)
        if (segments[i].fc_count != 0)
            return static_cast<std::uint32_t>(i);
    return {};
}

} // namespace

Identity Tasks::task_of(const Event& job) const {
    const auto found = tasks_.find(of_engine(job.task));
    if (found != tasks_.end() && found->second.report.who.pid == job.pid &&
        !tasks_.contains({job.device, job.context, job.client, job.task}))
        return found->first;
    return {job.device, job.context, job.client, job.task};
}

void Tasks::add(const Event& event) {
    recorded_ = true;
    if (event.type == EventType::task_arrive) {
        arrive(event);
        return;
    }
    const auto found = tasks_.find(identity_of(event));
    if (found == tasks_.end())
        return; // the task arrived before the first event
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
        task.queue->overdue(task.queued, event.time_ns);
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
    const auto found = queues_.find(key);
    if (found != queues_.end())
        return found->second;
    const bool of_engine = key.second >= engine_client;
    std::uint16_t most = 0;
    // Engines do not report which device they use.
    for (const auto& [device, cores] : cores_)
        if (device == key.first || of_engine)
            most = std::max(most, cores);
    engines_ += of_engine;
    return queues_.try_emplace(key, options_.rules, most).first->second;
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

/// An engine's queue is erased with its last task: a program may make any number of engines.
void Tasks::erase(Live::iterator task) {
    const Report& report = task->second.report;
    const auto queue = queues_.find(key_of(report.device, report.who.client));
    tasks_.erase(task);
    if (--queue->second.live != 0 || queue->first.second < engine_client)
        return;
    steps_ += queue->second.tasks.steps();
    queues_.erase(queue);
    engines_--;
}

Tasks::Live::iterator Tasks::drop(Live::iterator task, std::uint64_t time) {
    task->second.queue->end(task->second.queued, time);
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
    while (!tasks_.empty() && (tasks_.size() >= options_.most_live ||
                               engines_ >= std::max(least_engines, options_.most_live / 16)))
        dropped_ += drop_oldest(
            tasks_, [](const auto& of) { return of.second.arrival; },
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
    task.arrival = next_arrival_++;
    const Plan plan = options_.plan ? options_.plan(event) : Plan{};
    task.last_bpu_segment = last_bpu_segment(plan.segments);
    QueuedTask& queued = task.queued;
    queued.owner = owners_.number(task.report.who);
    queued.client = event.client;
    const std::span segments = plan.segments.empty()
                                   ? std::span<const ovt_sched_segment>(unknown_segments)
                                   : plan.segments;
    queued.segments = segments.data();
    queued.segment_count = static_cast<u32>(segments.size());
    queued.priority = std::min(event.priority, OVT_SCHED_PRIORITY_HIGH);
    queued.core = event.core;
    queued.cores = event.by_tag;
    queued.width = event.width;
    queued.custom_id = event.custom_id;
    queued.deadline = plan.deadline;
    task.queue->arrive(queued, event.time_ns);
}

/// Ends the task's state. `between` is the cause of the task's time if the state was
/// State::between.
void Tasks::close(Task& task, Cause between, std::uint64_t time) {
    const std::uint64_t spent = time - task.since;
    if (task.queued.waits())
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
    task.queue->dispatch(task.queued, time);
}

void Tasks::ready(Task& task, const Event& event) {
    close(task, Cause::host, event.time_ns);
    task.state = State::waits;
    task.queue->ready(task.queued, event.core, event.time_ns);
}

/// If the task's segments are not known, the task counts as in a CPU segment until its next event.
void Tasks::be_in_segment(Task& task, std::uint32_t segment, bool runs, std::uint64_t time) {
    const QueuedTask& queued = task.queued;
    if (queued.segments == unknown_segments.data())
        task.queue->cpu(task.queued, 1, runs, time);
    else if (segment < queued.segment_count && queued.segments[segment].fc_count == 0)
        task.queue->cpu(task.queued, segment, runs, time);
    else
        task.queue->leave(task.queued, time);
}

void Tasks::cpu_start(Task& task, const Event& event) {
    close(task, Cause::worker, event.time_ns);
    task.state = State::cpu;
    be_in_segment(task, event.segment, true, event.time_ns);
}

void Tasks::cpu_done(Task& task, const Event& event) {
    if (task.state == State::cpu)
        close(task, Cause::host, event.time_ns);
    be_in_segment(task, event.segment + 1, false, event.time_ns);
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
    task.cores = event.by_tag;
    return true;
}

void Tasks::job_on_core(const Identity& identity, std::uint16_t core, std::uint64_t time) {
    const auto found = tasks_.find(identity);
    if (found == tasks_.end())
        return;
    Task& task = found->second;
    task.report.core = core;
    task.queue->job(task.queued, core, task.cores, time);
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
        be_in_segment(task, segment + 1, false, time);
}

void Tasks::end(Task& task, const Event& event) {
    // A task that is cancelled between two segments waited for a worker: no other cause takes time
    // there.
    close(task, event.status != 0 ? Cause::worker : Cause::host, event.time_ns);
    task.queue->end(task.queued, event.time_ns);
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
