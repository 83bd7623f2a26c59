// SPDX-License-Identifier: MIT
#include "observe/blame/followed_queue.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace overtake::blame {
namespace {

const ovt_sched_policy& policy_without_plans() {
    static const ovt_sched_policy policy = {
        .name = "priority", .compare = ovt_sched_policy_at(0)->compare, .insertion = nullptr};
    return policy;
}

QueuedTask* task_at(ovt_tree_node* node) {
    return node == nullptr ? nullptr
                           : static_cast<QueuedTask*>(ovt_container_of(node, ovt_sched_task, link));
}

} // namespace

ovt_sched_settings settings_without_plans() {
    ovt_sched_settings settings{};
    ovt_sched_settings_init(&settings, false);
    settings.policy = &policy_without_plans();
    return settings;
}

void FollowedQueue::Group::count(std::uint64_t time) {
    if (time > since && size != 0) {
        first.add(first_key, time - since);
        if (size > 1)
            others.add(others_key, time - since);
    }
    since = time;
}

FollowedQueue::FollowedQueue(const Rules& rules, std::uint32_t cores)
    : rules_(rules), cores_(rules.most_cores) {
    ovt_sched_init(&sched_, rules_.most_cores, &rules_.settings);
    sched_.cores_of = [](const ovt_sched_task* task) {
        const std::uint64_t some = static_cast<const QueuedTask*>(task)->cores;
        return some != 0 ? some : ~u64{0};
    };
    ovt_sched_add_queue(&sched_, &queue_, cores_.data());
    sched_.core_count = std::max(1u, std::min(std::max(rules_.cores, cores), rules_.most_cores));
}

FollowedQueue::~FollowedQueue() = default;

/// Tasks that wait already stay where the old rules have put them. The queue keeps its policy of
/// sharing while it has any tasks.
void FollowedQueue::set_rules(std::uint32_t slots, std::uint32_t task_limit, bool share) {
    sched_.settings.slots = slots;
    sched_.settings.task_limit = task_limit;
    if (processes_.empty())
        sched_.settings.share = share;
}

void FollowedQueue::see_core(std::uint32_t core) {
    sched_.core_count = std::max(sched_.core_count, std::min(core, rules_.most_cores));
}

ovt_sched_process* FollowedQueue::process_of(std::uint64_t client) {
    const auto [found, is_new] = processes_.try_emplace(client);
    Process& process = found->second;
    process.tasks++;
    if (is_new) {
        process.lines.resize(rules_.most_cores);
        ovt_sched_add_process(&sched_, &process.sched, &queue_, process.lines.data());
    }
    return &process.sched;
}

/// Adds to the parts of `task` its wait since its snapshot, by the meter for the first task of its
/// group or by the meter for the others.
void FollowedQueue::collect(const Group& group, QueuedTask& task) {
    const Meter& meter = task.first ? group.first : group.others;
    meter.since(task.snapshot, [&](std::uint32_t key, std::uint64_t ns) {
        task.parts.add(key, ns);
        task.waited += ns;
    });
}

/// Updates `first` of the group's first two tasks: each may have moved within the group.
void FollowedQueue::look_at_first(const ovt_tree& tree, const Group& group) {
    QueuedTask* task = task_at(tree.first);
    for (bool first = true; task != nullptr; task = task_at(ovt_tree_next(&task->link))) {
        if (task->first != first) {
            collect(group, *task);
            task->first = first;
            task->snapshot = first ? group.first.now() : group.others.now();
        }
        if (!std::exchange(first, false))
            break;
    }
}

/// The task begins to wait.
void FollowedQueue::join(QueuedTask& task, std::uint64_t time) {
    task.among = ovt_sched_waits_among(&task);
    task.joined = time;
    task.waited = 0;
    Group& group = groups_[task.among];
    group.count(time);
    group.size++;
    task.first = task.among->first == &task.link;
    task.snapshot = task.first ? group.first.now() : group.others.now();
    look_at_first(*task.among, group);
}

void FollowedQueue::stop_waiting(QueuedTask& task, std::uint64_t time) {
    if (!task.waits())
        return;
    ovt_sched_follow_go(&task);
    const auto found = groups_.find(task.among);
    Group& group = found->second;
    group.count(time);
    collect(group, task);
    task.parts.add(part_key(Cause::host), time - task.joined - task.waited);
    task.snapshot = {};
    if (--group.size == 0)
        groups_.erase(found);
    else
        look_at_first(*task.among, group);
    task.among = nullptr;
}

/// Updates the lists of the tasks that count for the limit and of those that hold slots. Each list
/// has the tasks in the order in which they entered it.
void FollowedQueue::note_holdings(QueuedTask& task) {
    const auto note = [&](bool has, std::uint64_t& number, auto& all) {
        if (has == (number != 0))
            return;
        if (has) {
            number = next_++;
            all.emplace(number, &task);
        } else {
            all.erase(number);
            number = 0;
        }
    };
    note(task.counted, task.place, counted_);
    note(task.holds_slot, task.slot, holders_);
}

void FollowedQueue::arrive(QueuedTask& task, std::uint64_t time) {
    task.process = process_of(task.client);
    if (task.core > rules_.most_cores)
        task.core = 0;
    see_core(task.core);
    task.cores &= ~std::uint64_t{0} >> (OVT_SCHED_MAX_CORES - rules_.most_cores);
    see_core(static_cast<std::uint32_t>(std::bit_width(task.cores)));
    const std::uint32_t allowed =
        task.cores == 0 ? rules_.most_cores : static_cast<std::uint32_t>(std::popcount(task.cores));
    if (task.width > 1 && task.width <= allowed && task.core == 0) {
        see_core(task.width);
        task.gaps.resize(task.width);
        task.several = {.width = task.width, .gaps = task.gaps.data(), .cores = 0};
        task.span = &task.several;
    }
    ovt_sched_arrive(&sched_, &task, now(time));
    if (ovt_sched_is_high(&task))
        return;
    join(task, time);
    settle(time);
}

void FollowedQueue::leave(QueuedTask& task, std::uint64_t time) {
    if (task.waits())
        stop_waiting(task, time);
    else
        ovt_sched_follow_go(&task);
    settle(time);
}

void FollowedQueue::dispatch(QueuedTask& task, std::uint64_t time) {
    stop_waiting(task, time);
    ovt_sched_follow_dispatch(&task, now(time));
    note_holdings(task);
    settle(time);
}

void FollowedQueue::ready(QueuedTask& task, std::uint32_t core, std::uint64_t time) {
    stop_waiting(task, time);
    core = core > rules_.most_cores ? 0 : core;
    see_core(core);
    ovt_sched_follow_ready(&task, core);
    note_holdings(task);
    if (!ovt_sched_is_high(&task))
        join(task, time);
    settle(time);
}

void FollowedQueue::job(QueuedTask& task, std::uint32_t core, std::uint64_t cores,
                        std::uint64_t time) {
    stop_waiting(task, time);
    if (core == 0 || core > rules_.most_cores)
        return;
    if (cores == 0 || std::cmp_greater(std::bit_width(cores), rules_.most_cores))
        cores = std::uint64_t{1} << (core - 1);
    see_core(std::max(core, static_cast<std::uint32_t>(std::bit_width(cores))));
    ovt_sched_follow_job(&task, core, cores);
    note_holdings(task);
    settle(time);
}

void FollowedQueue::cpu(QueuedTask& task, std::uint32_t segment, bool runs, std::uint64_t time) {
    stop_waiting(task, time);
    ovt_sched_follow_cpu(&task, segment, runs, now(time));
    settle(time);
}

void FollowedQueue::give_slot(QueuedTask& task, std::uint64_t time) {
    ovt_sched_follow_release(&task);
    note_holdings(task);
    settle(time);
}

void FollowedQueue::overdue(QueuedTask& task, std::uint64_t time) {
    ovt_sched_follow_overdue(&task);
    note_holdings(task);
    settle(time);
}

void FollowedQueue::end(QueuedTask& task, std::uint64_t time) {
    stop_waiting(task, time);
    ovt_sched_follow_end(&task);
    note_holdings(task);
    const auto process = processes_.find(task.client);
    if (--process->second.tasks == 0) {
        ovt_sched_remove_process(&process->second.sched);
        processes_.erase(process);
    }
    settle(time);
}

/// Returns the cause for a task that waits for a slot. The culprit holds a slot of the lowest core
/// that the task waits for. Among such holders, it is the one that is in no gap and has had its
/// slot for longest. If all of them are in gaps, it is the first whose gap is closed to the waiting
/// task.
std::uint32_t FollowedQueue::slot_key(const ovt_sched_wait& wait) {
    ovt_sched_wait lowest = wait;
    lowest.cores = std::uint64_t{1} << std::countr_zero(wait.cores);
    const QueuedTask* in_gap = nullptr;
    for (const auto& [number, holder] : holders_) {
        steps_++;
        const ovt_sched_obstacle obstacle = ovt_sched_obstacle_of(&lowest, holder);
        if (obstacle == OVT_SCHED_OBSTACLE)
            return part_key(Cause::slot, holder->owner);
        if (obstacle == OVT_SCHED_CLOSED_GAP && in_gap == nullptr)
            in_gap = holder;
    }
    return in_gap == nullptr ? part_key(Cause::host) : part_key(Cause::slot, in_gap->owner);
}

std::uint32_t FollowedQueue::key_of(const QueuedTask& task, std::uint64_t time) {
    ovt_sched_wait wait;
    ovt_sched_waits_for(&sched_, &task, now(time), &wait);
    switch (wait.type) {
    case OVT_SCHED_WAIT_PLACE:
    case OVT_SCHED_WAIT_KEPT_PLACE:
        // The culprit is the task that has had its place for longest.
        return counted_.empty() ? part_key(Cause::host)
                                : part_key(Cause::task_limit, counted_.begin()->second->owner);
    case OVT_SCHED_WAIT_TASK:
        return part_key(Cause::barred, static_cast<QueuedTask*>(wait.ahead)->owner);
    case OVT_SCHED_WAIT_SLOT:
        return slot_key(wait);
    default:
        return part_key(Cause::host);
    }
}

/// Finds what each task waits for from now on.
void FollowedQueue::settle(std::uint64_t time) {
    const std::uint64_t before = sched_.steps;
    for (auto& [tree, group] : groups_) {
        steps_++;
        QueuedTask* const first = task_at(tree->first);
        QueuedTask* const second = task_at(ovt_tree_next(&first->link));
        const std::uint32_t first_key = key_of(*first, time);
        const std::uint32_t others_key =
            second == nullptr ? group.others_key : key_of(*second, time);
        if (first_key == group.first_key && others_key == group.others_key)
            continue;
        group.count(time);
        group.first_key = first_key;
        group.others_key = others_key;
    }
    steps_ += sched_.steps - before;
}

} // namespace overtake::blame
