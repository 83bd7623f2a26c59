// SPDX-License-Identifier: MIT
#include "simulator/accounts.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::simulator {

std::uint64_t Window::part(std::uint64_t begin, std::uint64_t end) const {
    begin = std::max(begin, from);
    end = std::min(end, to);
    return begin < end ? end - begin : 0;
}

Accounts::Accounts(const Scenario& scenario, const Window& window)
    : scenario_(scenario), window_(window), classes_(scenario.classes.size()),
      core_accounts_(scenario.cores), cores_(scenario.cores) {
    for (ClassAccount& account : classes_) {
        account.blocked_by.resize(classes_.size());
        account.preempted_by.resize(classes_.size());
    }
    for (Core& core : cores_)
        core.busy_with.resize(classes_.size());
}

std::uint64_t Accounts::to() const {
    return std::min(last_end_, window_.to);
}

std::uint64_t Accounts::from() const {
    return std::min(std::max(first_arrival_, window_.from), to());
}

void Accounts::arrived(LiveTask& task, std::uint64_t time) {
    task.account = {};
    task.account.since = time;
    task.account.phase = TaskPhase::queued;
    first_arrival_ = std::min(first_arrival_, time);
}

void Accounts::dropped(const Load& load, std::uint64_t time) {
    first_arrival_ = std::min(first_arrival_, time);
    if (!window_.holds(time))
        return;
    ClassAccount& account = classes_[load.kind.task_class];
    account.dropped++;
    account.with_slo += load.kind.slo.has_value();
}

/// Ends the phase of a task, unless it is a phase on the device.
void Accounts::end_phase(LiveTask& task, std::uint64_t time) {
    TaskAccount& account = task.account;
    const std::uint64_t spent = time - account.since;
    switch (account.phase) {
    case TaskPhase::queued: {
        // The task was dispatched into the queue for CPU workers, of which observers are not
        // notified.
        const bool at_workers = scenario_.kind == Kind::task && task.sched.dispatch_sequence != 0;
        const std::uint64_t waited = at_workers ? time - task.sched.dispatch_time : 0;
        account.queued += spent - waited;
        account.worker += waited;
        break;
    }
    case TaskPhase::ready:
        account.queued += spent;
        break;
    case TaskPhase::worker:
        account.worker += spent;
        break;
    case TaskPhase::cpu:
        account.cpu += spent;
        break;
    case TaskPhase::running:
        account.running += spent;
        break;
    case TaskPhase::device:
        break;
    }
    account.since = time;
}

void Accounts::ready(LiveTask& task, std::uint64_t time) {
    end_phase(task, time);
    task.account.phase = TaskPhase::ready;
}

void Accounts::cpu_waiting(LiveTask& task, std::uint64_t time) {
    end_phase(task, time);
    task.account.phase = TaskPhase::worker;
    if (task.sched.holds_slot)
        enter_gap(task, time);
}

void Accounts::cpu_started(LiveTask& task, std::uint32_t, std::uint64_t time, std::uint64_t) {
    end_phase(task, time);
    task.account.phase = TaskPhase::cpu;
}

void Accounts::cpu_ended(LiveTask& task, std::uint64_t time) {
    end_phase(task, time);
    task.account.phase = TaskPhase::device;
}

void Accounts::submitted(LiveTask& task, std::uint32_t, std::uint64_t time) {
    end_phase(task, time);
    leave_gap(task, time);
    task.account.phase = TaskPhase::device;
    begin_wait(task, time);
    if (task.kind->priority == OVT_PRIORITY_HIGH)
        enter_high(task, time);
}

std::uint64_t* Accounts::snapshot_of(const LiveTask& task) {
    const std::size_t at = task.slot * classes_.size();
    if (at >= snapshots_.size())
        snapshots_.resize(at + classes_.size());
    return &snapshots_[at];
}

/// Returns whether the task is a group, which waits for several cores or for its own stages.
bool Accounts::is_group(const LiveTask& task) {
    return !task.parts().empty();
}

void Accounts::begin_wait(LiveTask& task, std::uint64_t time) {
    if (is_group(task))
        return;
    Core& core = core_of(task);
    count(core, time);
    std::ranges::copy(core.busy_with, snapshot_of(task));
}

/// Adds the time since the last call to the class that the core runs, or else to the class of the
/// first HIGH group that holds the core.
void Accounts::count(Core& core, std::uint64_t time) {
    if (core.busy)
        core.busy_with[core.running_class] += time - core.counted;
    else if (!core.groups.empty())
        core.busy_with[core.groups.begin()->second] += time - core.counted;
    core.counted = time;
}

void Accounts::enter_high(LiveTask& task, std::uint64_t time) {
    for (const ovt_fw_part& part : task.parts()) {
        Core& core = cores_[part.placed_core - 1];
        count(core, time);
        core.groups[task.job.sequence] = task.kind->task_class;
    }
}

void Accounts::leave_high(const LiveTask& task, unsigned core, std::uint64_t time) {
    count(cores_[core - 1], time);
    cores_[core - 1].groups.erase(task.job.sequence);
}

/// Ends a wait: the task waited for the classes that the core ran since the wait began.
void Accounts::end_wait(LiveTask& task, std::uint64_t time) {
    TaskAccount& account = task.account;
    const std::uint64_t spent = time - account.since;
    account.since = time;
    if (spent == 0 || !window_.holds(task.arrival))
        return;
    const bool has_run = account.job_running != 0;
    (has_run ? account.preempted : account.blocked) += spent;
    ClassAccount& of = classes_[task.kind->task_class];
    std::vector<std::uint64_t>& by = has_run ? of.preempted_by : of.blocked_by;
    if (is_group(task)) {
        by[task.kind->task_class] += spent;
        return;
    }
    Core& core = core_of(task);
    count(core, time);
    const std::uint64_t* snapshot = snapshot_of(task);
    for (std::size_t i = 0; i < classes_.size(); i++)
        by[i] += core.busy_with[i] - snapshot[i];
}

void Accounts::fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                          std::uint64_t time, std::uint64_t) {
    if (scenario_.kind == Kind::task)
        count_gap(core - 1, time);
    if (index == 0 && !is_group(task))
        task.account.job_running = 0;
    if (task.account.fcs_running++ == 0)
        end_wait(task, time);
    task.account.phase = TaskPhase::running;
    task.account.job_running = 1;
    Core& of = cores_[core - 1];
    count(of, time);
    of.busy = true;
    of.running_class = task.kind->task_class;
    of.running_since = time;
    core_accounts_[core - 1].fcs[high ? 1 : 0] += window_.holds(time);
}

void Accounts::fc_ended(LiveTask& task, unsigned core, std::uint64_t time) {
    if (scenario_.kind == Kind::task)
        count_gap(core - 1, time);
    if (--task.account.fcs_running == 0) {
        end_phase(task, time);
        task.account.phase = TaskPhase::device;
    }
    Core& of = cores_[core - 1];
    count(of, time);
    of.busy = false;
    core_accounts_[core - 1].busy += window_.part(of.running_since, time);
    for (const ovt_fw_part& part : task.parts())
        if (part.placed_core == core && part.done == part.fc_count)
            leave_high(task, core, time);
    if (task.job.done < task.job.fc_count)
        begin_wait(task, time);
}

void Accounts::job_ended(LiveTask& task, std::uint64_t time) {
    // Only a cancelled job ends in the middle of a wait.
    end_wait(task, time);
    for (const ovt_fw_part& part : task.parts())
        leave_high(task, part.placed_core, time);
    task.account.job_running = 0;
    last_end_ = std::max(last_end_, time);
}

void Accounts::ended(LiveTask& task, std::uint64_t time) {
    end_phase(task, time);
    leave_gap(task, time);
    last_end_ = std::max(last_end_, time);
    if (!window_.holds(task.arrival))
        return;
    ClassAccount& account = classes_[task.kind->task_class];
    const std::uint64_t latency = time - task.arrival;
    account.ended++;
    account.preemptions += task.preemptions;
    if (latency > ~account.latency_sum)
        throw Error(ERANGE, fmt::format("the latencies of class {} add up to more than 2^64 us",
                                        scenario_.classes[task.kind->task_class].name));
    account.latency_sum += latency;
    account.queued += task.account.queued;
    account.worker += task.account.worker;
    account.cpu += task.account.cpu;
    account.running += task.account.running;
    account.with_slo += task.kind->slo.has_value();
    if (task.cancelled) {
        account.cancelled++;
        return;
    }
    account.slo_met += task.kind->slo && latency <= *task.kind->slo;
    account.isolated_sum += task.kind->chain->time;
    account.latency.add(latency);
    std::unique_ptr<Distribution>& priority = priorities_[task.kind->priority];
    if (!priority)
        priority = std::make_unique<Distribution>();
    priority->add(latency);
}

void Accounts::count_gap(std::size_t core, std::uint64_t time) {
    Core& of = cores_[core];
    if (of.holders_in_gap != 0) {
        const std::uint64_t counted = window_.part(of.gap_seen, time);
        core_accounts_[core].gap += counted;
        if (of.busy)
            core_accounts_[core].gap_filled += counted;
    }
    of.gap_seen = time;
}

void Accounts::enter_gap(LiveTask& task, std::uint64_t time) {
    if (task.account.gap_core != 0)
        return;
    task.account.gap_core = task.sched.placed_core;
    count_gap(task.account.gap_core - 1, time);
    cores_[task.account.gap_core - 1].holders_in_gap++;
}

void Accounts::leave_gap(LiveTask& task, std::uint64_t time) {
    if (task.account.gap_core == 0)
        return;
    count_gap(task.account.gap_core - 1, time);
    cores_[task.account.gap_core - 1].holders_in_gap--;
    task.account.gap_core = 0;
}

void Accounts::check() const {
    for (std::size_t i = 0; i < classes_.size(); i++) {
        const ClassAccount& account = classes_[i];
        std::uint64_t parts = account.queued + account.worker + account.cpu + account.running;
        parts = std::accumulate(account.blocked_by.begin(), account.blocked_by.end(), parts);
        parts = std::accumulate(account.preempted_by.begin(), account.preempted_by.end(), parts);
        if (parts != account.latency_sum)
            throw std::logic_error(fmt::format("class {}: latency {} us, but its parts make {} us",
                                               scenario_.classes[i].name, account.latency_sum,
                                               parts));
    }
}

} // namespace overtake::simulator
