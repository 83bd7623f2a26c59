// SPDX-License-Identifier: MIT
#include "observe/watch/activity.hpp"

#include <algorithm>

#include "drop_oldest.hpp"

namespace overtake::watch {

Activity::Activity(std::uint64_t start_ns, unsigned cores) : from_ns_(start_ns) {
    for (unsigned core = 1; core <= cores; core++)
        cores_[core];
}

void Activity::charge(Core& core, std::uint64_t end_ns) {
    if (!core.holder)
        return;
    const std::uint64_t begin_ns = std::max(core.holder->start_ns, from_ns_);
    if (end_ns <= begin_ns)
        return;
    core.busy.add(core.holder->high, end_ns - begin_ns);
    processes_[core.holder->pid].busy.add(core.holder->high, end_ns - begin_ns);
}

void Activity::end_job(const Event& event) {
    const auto found = jobs_.find({event.client, event.context, event.tag});
    if (found == jobs_.end())
        return;
    Process& process = processes_[event.pid];
    process.ended++;
    auto& latencies = process.latencies;
    if (event.status == 0)
        latencies.emplace_back(event.time_ns, event.time_ns - found->second.queued_ns);
    while (!latencies.empty() && latencies.front().first + memory_ns < event.time_ns)
        latencies.pop_front();
    jobs_.erase(found);
}

void Activity::add(const Event& event) {
    const Key key{event.client, event.context, event.tag};
    if (event.pid != 0)
        processes_[event.pid].last_ns = event.time_ns;
    switch (event.type) {
    case EventType::fc_submit: // older drivers do not report job_queue
        if (jobs_.contains(key))
            return;
        [[fallthrough]];
    case EventType::job_queue:
        if (jobs_.size() >= most_jobs)
            dropped_ += drop_oldest(jobs_, [](const auto& of) { return of.second.queued_ns; });
        jobs_[key] = {event.pid, event.model, event.time_ns, event.core};
        processes_[event.pid].model = event.model;
        return;
    case EventType::fc_start: {
        const auto job = jobs_.find(key);
        if (job != jobs_.end())
            job->second.has_begun = true;
        cores_[event.core].holder = Holder{event.pid, job != jobs_.end() ? job->second.model : 0,
                                           event.high, event.time_ns};
        return;
    }
    case EventType::fc_done: {
        Core& core = cores_[event.core];
        if (!core.holder) // the FC had begun before the first event
            core.holder = Holder{event.pid, 0, event.high, event.time_ns - event.duration_ns};
        charge(core, event.time_ns);
        core.holder.reset();
        return;
    }
    case EventType::fc_preempt:
        cores_[event.core].preemptions++;
        processes_[event.pid].overtaken++;
        if (event.by_pid != 0)
            processes_[event.by_pid].overtakes++;
        return;
    case EventType::core_limit:
        cores_[event.core].limit = event.limit;
        return;
    case EventType::job_done:
        end_job(event);
        return;
    case EventType::ctx_destroy: // no more events of the context come
        jobs_.erase(jobs_.lower_bound({event.client, event.context, 0}),
                    jobs_.upper_bound({event.client, event.context, UINT64_MAX}));
        return;
    default:
        return;
    }
}

std::vector<std::uint32_t> Activity::pids() const {
    std::set<std::uint32_t> pids;
    for (const auto& [pid, process] : processes_)
        pids.insert(pid);
    for (const auto& [key, job] : jobs_)
        pids.insert(job.pid);
    for (const auto& [number, core] : cores_)
        if (core.holder)
            pids.insert(core.holder->pid);
    return {pids.begin(), pids.end()};
}

void Activity::forget(const std::set<std::uint32_t>& pids) {
    std::erase_if(jobs_, [&](const auto& of) { return pids.contains(of.second.pid); });
    for (auto& [number, core] : cores_)
        if (core.holder && pids.contains(core.holder->pid))
            core.holder.reset();
    std::erase_if(processes_, [&](const auto& of) { return pids.contains(of.first); });
}

void Activity::describe_waiting(std::map<std::uint32_t, ProcessActivity>& processes,
                                std::uint64_t now_ns) const {
    for (const auto& [key, job] : jobs_) {
        ProcessActivity& process = processes[job.pid];
        if (job.has_begun) {
            process.begun++;
            continue;
        }
        process.waiting++;
        const std::uint64_t waits_ns = now_ns - std::min(now_ns, job.queued_ns);
        if (waits_ns < process.waits_ns)
            continue;
        process.waits_ns = waits_ns;
        // A job that may go to any core waits for the core that is free first: here, it counts as
        // waiting for the first core.
        const auto core = job.core != 0 ? cores_.find(job.core) : cores_.begin();
        process.behind = core != cores_.end() ? core->second.holder : std::nullopt;
    }
}

Snapshot Activity::take(std::uint64_t now_ns) {
    Snapshot snapshot;
    now_ns = std::max(now_ns, from_ns_ + 1);
    snapshot.interval_ns = now_ns - from_ns_;
    const auto interval = static_cast<double>(snapshot.interval_ns);
    for (auto& [number, core] : cores_) {
        charge(core, now_ns);
        snapshot.cores.push_back({.core = number,
                                  .high = static_cast<double>(core.busy.high_ns) / interval,
                                  .normal = static_cast<double>(core.busy.normal_ns) / interval,
                                  .preemptions = core.preemptions,
                                  .limit = core.limit,
                                  .holder = core.holder});
        core.busy = {};
        core.preemptions = 0;
    }
    std::map<std::uint32_t, ProcessActivity> processes;
    for (auto& [pid, process] : processes_) {
        ProcessActivity& activity = processes[pid];
        activity.pid = pid;
        activity.model = process.model;
        activity.high = static_cast<double>(process.busy.high_ns) / interval;
        activity.normal = static_cast<double>(process.busy.normal_ns) / interval;
        activity.ended = std::exchange(process.ended, 0);
        activity.overtaken = std::exchange(process.overtaken, 0);
        activity.overtakes = std::exchange(process.overtakes, 0);
        process.busy = {};
        while (!process.latencies.empty() && process.latencies.front().first + memory_ns < now_ns)
            process.latencies.pop_front();
        Spread spread;
        for (const auto& [end_ns, latency_ns] : process.latencies)
            spread.add(latency_ns);
        activity.p50_ns = spread.percentile(50);
        activity.p99_ns = spread.percentile(99);
    }
    describe_waiting(processes, now_ns);
    for (const auto& [pid, activity] : processes) {
        const bool is_silent = processes_[pid].last_ns + memory_ns < now_ns;
        if (is_silent && activity.waiting + activity.begun == 0)
            processes_.erase(pid);
        else
            snapshot.processes.push_back(activity);
    }
    from_ns_ = now_ns;
    return snapshot;
}

} // namespace overtake::watch
