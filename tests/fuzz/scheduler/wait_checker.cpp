// SPDX-License-Identifier: MIT
//
// Checks the scheduler's answers about the waits of tasks, when no task may go on.
#include "scheduler/task_checker.hpp"

#include <algorithm>

#include "scheduler/violation.hpp"

namespace overtake::fuzz {

TaskChecker::Wait TaskChecker::wait_of(const View& of) const {
    if (of.state == State::cpu_waiting)
        return {.type = OVT_SCHED_WAIT_WORKER};
    const std::uint32_t queue = queue_of(of);
    if (of.state == State::waiting && !has_room(of)) {
        const auto taken = std::ranges::count_if(
            active_[queue], [this](const View* other) { return counts(*other); });
        return {.type = taken < settings_.task_limit ? OVT_SCHED_WAIT_KEPT_PLACE
                                                     : OVT_SCHED_WAIT_PLACE};
    }
    const auto wanted = [](const View& view) { return view.core != 0 ? view.core : view.asked; };
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - case_.cores());
    std::uint64_t open = wanted(of) == 0 ? all : std::uint64_t{1} << (wanted(of) - 1);
    const View* ahead = nullptr;
    for (const View* better : waiting_[queue]) {
        if (better == &of)
            break;
        if (better->state == State::waiting && !has_room(*better))
            continue;
        const std::uint64_t barred =
            wanted(*better) == 0 ? all : std::uint64_t{1} << (wanted(*better) - 1);
        if (wanted(of) != 0 && (open & barred) == 0)
            continue;
        open &= ~barred;
        if (ahead == nullptr)
            ahead = better;
        // For a task behind a task that takes any core, the answer is that task.
        if (wanted(of) == 0 && wanted(*better) == 0) {
            ahead = better;
            break;
        }
    }
    if (open == 0)
        return {.type = OVT_SCHED_WAIT_TASK, .ahead = &ahead->task->sched};
    return {.type = OVT_SCHED_WAIT_SLOT, .cores = open};
}

/// Checks the obstacles of a task among all other tasks of its queue.
void TaskChecker::check_obstacles(const View& of, const ovt_sched_wait& wait) const {
    for (const View* other : active_[queue_of(of)]) {
        bool expected = false;
        const bool on_core = other->holds && (wait.cores >> (other->core - 1) & 1) != 0;
        if (wait.type == OVT_SCHED_WAIT_SLOT)
            expected = on_core && !may_insert(*other, of, wait.now);
        else if (wait.type == OVT_SCHED_WAIT_WORKER)
            expected =
                other->state == State::cpu_running && other->task->process == of.task->process;
        else
            expected = wait.type != OVT_SCHED_WAIT_TASK && counts(*other);
        if (wait.ahead == &other->task->sched)
            expected = true;
        const ovt_sched_obstacle told = ovt_sched_obstacle_of(&wait, &other->task->sched);
        if (expected != (told != OVT_SCHED_NO_OBSTACLE) ||
            (told == OVT_SCHED_CLOSED_GAP) != (expected && on_core && other->in_gap()))
            violate("{} ns: task {} is said to be obstacle {} of task {}", wait.now,
                    other->task->number, static_cast<int>(told), of.task->number);
    }
}

/// Checks at most two waiting tasks. Each call begins at another task.
void TaskChecker::check_waits(std::uint64_t now) {
    unsigned asked = 0;
    const std::size_t first = views_.empty() ? 0 : checks_++ % views_.size();
    for (std::size_t i = 0; i < views_.size() && asked < 2; i++) {
        const View& of = views_[(first + i) % views_.size()];
        const ovt_sched_process& process = *of.task->sched.process;
        if (process.gone || (of.state != State::waiting && of.state != State::ready &&
                             of.state != State::cpu_waiting))
            continue;
        asked++;
        const Wait expected = wait_of(of);
        ovt_sched_wait wait;
        ovt_sched_waits_for(process.queue->sched, &of.task->sched, now, &wait);
        if (wait.type != expected.type || wait.ahead != expected.ahead ||
            wait.cores != expected.cores)
            violate("{} ns: task {} is said to wait for {} {:#x} of task {}, not for {} {:#x}", now,
                    of.task->number, static_cast<int>(wait.type), wait.cores,
                    wait.ahead != nullptr ? static_cast<int>(Task::of(wait.ahead).number) : -1,
                    static_cast<int>(expected.type), expected.cores);
        check_obstacles(of, wait);
    }
}

} // namespace overtake::fuzz
