// SPDX-License-Identifier: MIT
#include "scheduler/task_checker.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "scheduler/violation.hpp"

namespace overtake::fuzz {

bool TaskChecker::View::high() const {
    return task->sched.priority == OVT_SCHED_PRIORITY_HIGH;
}

bool TaskChecker::View::next_is_bpu() const {
    return !task->model->segments[segment].fcs.empty();
}

/// Returns whether the task is in a CPU segment between BPU segments.
bool TaskChecker::View::in_gap() const {
    return core != 0 && bpu_left != 0 &&
           (state == State::cpu_waiting || state == State::cpu_running);
}

TaskChecker::TaskChecker(const Case& of)
    : case_(of), settings_(of.settings), policy_(of.settings.policy->name),
      waiting_(of.service_mode ? 1 : of.processes), active_(waiting_.size()),
      workers_(of.processes, 0) {}

std::uint32_t TaskChecker::queue_of(const View& view) const {
    return case_.service_mode ? 0 : view.task->process;
}

TaskChecker::Rank TaskChecker::rank(const View& view) const {
    const int priority = -static_cast<int>(view.task->sched.priority);
    if (policy_ == "priority")
        return {priority, view.task->sched.custom_id, 0};
    if (policy_ == "shortest")
        return {priority, 0, view.bpu_time};
    if (policy_ == "deadline")
        return {priority, 0, view.task->sched.deadline};
    if (policy_ == "fifo")
        return {0, 0, 0};
    violate("the checker knows no policy {}", policy_);
}

/// Orders by rank, then by arrival.
bool TaskChecker::before(const View& a, const View& b) const {
    return std::tuple(rank(a), a.task->number) < std::tuple(rank(b), b.task->number);
}

void TaskChecker::enter(View& entering, State state) {
    auto& waiting = waiting_[queue_of(entering)];
    const auto place =
        std::ranges::find_if(waiting, [&](const View* other) { return before(entering, *other); });
    waiting.insert(place, &entering);
    entering.state = state;
}

void TaskChecker::leave_queue(View& leaving) {
    std::erase(waiting_[queue_of(leaving)], &leaving);
}

void TaskChecker::arrived(const Task& task) {
    if (task.number != views_.size())
        violate("the fuzzer's tasks are out of order");
    View& arriving = views_.emplace_back();
    arriving.task = &task;
    arriving.asked = task.sched.core;
    for (const Segment& segment : task.model->segments) {
        arriving.bpu_left += !segment.fcs.empty();
        for (const Fc& fc : segment.fcs)
            arriving.bpu_time += fc.duration;
    }
    enter(arriving, State::waiting);
}

void TaskChecker::expect(const View& of, const ovt_sched_action* action,
                         ovt_sched_action_type type) const {
    if (action == nullptr)
        violate("task {} should have got action {}, and got none", of.task->number,
                static_cast<int>(type));
    if (action->type != type || action->task != &of.task->sched)
        violate("task {} should have got action {}, but task {} got {}", of.task->number,
                static_cast<int>(type), Task::of(action->task).number,
                static_cast<int>(action->type));
    if ((type == OVT_SCHED_SUBMIT || type == OVT_SCHED_RUN_CPU) && action->segment != of.segment)
        violate("task {} goes on with segment {}, not {}", of.task->number, action->segment,
                of.segment);
    if (type == OVT_SCHED_SUBMIT && of.core != 0 && action->core != of.core)
        violate("task {} moves from core {} to {}", of.task->number, of.core, action->core);
}

void TaskChecker::end(View& ending, const ovt_sched_action* action) {
    expect(ending, action, OVT_SCHED_END);
    ending.state = State::ended;
    ending.holds = false;
    ending.overdue_at = never;
    std::erase(active_[queue_of(ending)], &ending);
}

void TaskChecker::segment_ended(const Task& task, bool ok, std::uint64_t now,
                                const ovt_sched_action* action) {
    View& of = view(task);
    unwatch(of, now);
    of.overdue = false;
    if (of.state == State::cpu_running) {
        workers_[task.process]--;
    } else {
        of.bpu_left--;
        if (of.bpu_left == 0)
            of.holds = false;
    }
    of.segment++;
    if (!ok || of.cancelled || of.segment == task.model->segments.size())
        return end(of, action);
    if (of.next_is_bpu() && of.core != 0 && (of.holds || of.high())) {
        of.state = State::device;
        return expect(of, action, OVT_SCHED_SUBMIT);
    }
    if (action != nullptr)
        violate("task {} got action {} out of turn", task.number, static_cast<int>(action->type));
    if (of.next_is_bpu()) {
        enter(of, State::ready);
    } else {
        of.state = State::cpu_waiting;
        watch(of, now);
    }
}

void TaskChecker::abandoned(std::uint32_t process, const ovt_sched_action* action) {
    if (action == nullptr) {
        for (const View& of : views_)
            if (of.task->process == process && of.state != State::ended &&
                !(of.state == State::device && of.cancelled))
                violate("task {} outlives its process", of.task->number);
        return;
    }
    const Task& task = Task::of(action->task);
    if (task.process != process)
        violate("task {} goes with the process of others", task.number);
    View& of = view(task);
    if (of.state != State::cpu_running)
        return cancelled(task, action);
    workers_[process]--;
    of.cancelled = true;
    end(of, action);
}

// Overdue

/// Sets the time at which the current CPU segment, which begins to wait for a worker or to run,
/// becomes overdue.
void TaskChecker::watch(View& of, std::uint64_t now) const {
    unwatch(of, now);
    if (settings_.overdue_min_time == 0 || of.overdue)
        return;
    const std::uint64_t estimate = of.task->model->segments[of.segment].estimated_cpu();
    of.watched_since = now;
    const std::uint64_t all = time_on_cpu(of);
    const std::uint64_t left = all - std::min(all, of.spent_on_cpu); // hosts may be late
    of.overdue_at =
        now +
        std::min(std::max(settings_.overdue_min_time, estimate * settings_.overdue_factor), left);
}

void TaskChecker::unwatch(View& of, std::uint64_t now) {
    if (of.overdue_at != never)
        of.spent_on_cpu += now - of.watched_since;
    of.overdue_at = never;
}

/// Returns the time that all CPU segments of the task together may wait and run.
std::uint64_t TaskChecker::time_on_cpu(const View& of) const {
    std::uint64_t estimates = 0;
    for (const Segment& segment : of.task->model->segments)
        if (segment.fcs.empty())
            estimates += segment.estimated_cpu();
    return 2 * std::max(4 * settings_.overdue_min_time, estimates * settings_.overdue_factor);
}

void TaskChecker::expect_none_overdue(std::uint64_t now) const {
    for (const View& of : views_)
        if (of.overdue_at <= now)
            violate("{} ns: task {} is overdue since {}, and it was not reported", now,
                    of.task->number, of.overdue_at);
}

void TaskChecker::become_overdue(std::uint64_t now, const ovt_sched_action& action) {
    View& of = view(Task::of(action.task));
    if (of.overdue_at > now || action.segment != of.segment)
        violate("{} ns: segment {} of task {} is said to be overdue", now, action.segment,
                of.task->number);
    unwatch(of, now);
    of.overdue = true;
    of.was_overdue = true;
    of.holds = false;
}

void TaskChecker::cancelled(const Task& task, const ovt_sched_action* action) {
    View& of = view(task);
    if (!of.cancelled && of.state != State::ended) {
        of.cancelled = true;
        switch (of.state) {
        case State::waiting:
        case State::ready:
            leave_queue(of);
            return end(of, action);
        case State::cpu_waiting:
            return end(of, action);
        case State::device:
            return expect(of, action, OVT_SCHED_CANCEL_JOB);
        default:
            break;
        }
    }
    if (action != nullptr)
        violate("the cancel of task {} got action {}", task.number, static_cast<int>(action->type));
}

// Tasks that may go on

/// Returns whether the task counts for the task limit.
bool TaskChecker::counts(const View& of) const {
    return !of.high() && of.dispatched != 0 && of.state != State::ended && !of.was_overdue;
}

bool TaskChecker::has_place(std::uint32_t process) const {
    return std::ranges::any_of(
        views_, [&](const View& other) { return other.task->process == process && counts(other); });
}

/// Returns whether the task limit has room for a task that is not dispatched.
bool TaskChecker::has_room(const View& of) const {
    const std::uint32_t queue = queue_of(of);
    std::uint64_t taken = static_cast<std::uint64_t>(std::ranges::count_if(
        active_[queue], [this](const View* other) { return counts(*other); }));
    if (settings_.share && has_place(of.task->process)) {
        std::vector<bool> waits(case_.processes, false);
        for (const View* other : waiting_[queue])
            if (!other->high() && other->state == State::waiting)
                waits[other->task->process] = true;
        for (std::uint32_t process = 0; process < case_.processes; process++)
            taken += waits[process] && !has_place(process);
    }
    return taken < settings_.task_limit;
}

bool TaskChecker::may_insert(const View& holder, const View& waiting, std::uint64_t now) const {
    __extension__ using Wide = __int128;
    if (!holder.in_gap() || policy_ == "fifo")
        return false;
    const auto& segments = holder.task->model->segments;
    const std::uint64_t whole = segments[holder.segment].estimated_cpu();
    std::uint64_t remaining = whole;
    if (holder.state == State::cpu_running) {
        const std::uint64_t spent = now - holder.cpu_start;
        remaining = spent < whole ? whole - spent : 0;
    }
    std::size_t next = holder.segment + 1;
    while (segments[next].fcs.empty())
        next++;
    Wide next_time = 0;
    for (const Fc& fc : segments[next].fcs)
        next_time += fc.duration;
    const Wide late = static_cast<Wide>(waiting.bpu_time) - static_cast<Wide>(remaining);
    return late * 100 < next_time * static_cast<Wide>(settings_.threshold_percent) ||
           waiting.bpu_time < settings_.insert_max_time || whole > settings_.wait_dispatch_time;
}

bool TaskChecker::slot_free(std::uint32_t queue, const View& waiting, std::uint32_t core,
                            std::uint64_t now) const {
    const auto in_the_way = [&](const View* holder) {
        return holder->holds && holder->core == core && !may_insert(*holder, waiting, now);
    };
    return std::ranges::count_if(active_[queue], in_the_way) < settings_.slots;
}

TaskChecker::Choice TaskChecker::first_of(std::uint32_t queue, std::uint64_t now) const {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - case_.cores());
    std::uint64_t barred = 0;
    for (View* view : waiting_[queue]) {
        const std::uint32_t core = view->core != 0 ? view->core : view->asked;
        const std::uint64_t wanted = core == 0 ? all : std::uint64_t{1} << (core - 1);
        if (view->high())
            return {view, view->next_is_bpu() ? wanted : 0};
        if (view->state == State::waiting && !has_room(*view))
            continue;
        if (!view->next_is_bpu())
            return {view, 0};
        std::uint64_t open = 0;
        for (std::uint32_t k = 1; k <= case_.cores(); k++)
            if (((wanted & ~barred) >> (k - 1) & 1) != 0 && slot_free(queue, *view, k, now))
                open |= std::uint64_t{1} << (k - 1);
        if (open != 0)
            return {view, open};
        barred |= wanted;
    }
    return {};
}

TaskChecker::Choice TaskChecker::first(std::uint64_t now) const {
    for (std::uint32_t queue = 0; queue < waiting_.size(); queue++)
        if (const Choice choice = first_of(queue, now); choice.view != nullptr)
            return choice;
    return {};
}

/// Returns the waiting CPU segment that an idle worker takes next.
TaskChecker::View* TaskChecker::first_for_worker() const {
    for (std::uint32_t process = 0; process < case_.processes; process++) {
        if (workers_[process] >= settings_.workers)
            continue;
        View* best = nullptr;
        for (View* view : active_[case_.service_mode ? 0 : process]) {
            if (view->task->process != process || view->state != State::cpu_waiting)
                continue;
            const auto key = [this](const View* of) {
                return std::tuple(rank(*of), of->dispatched);
            };
            if (best == nullptr || key(view) < key(best))
                best = view;
        }
        if (best != nullptr)
            return best;
    }
    return nullptr;
}

void TaskChecker::dispatch(View& of, std::uint64_t cores) {
    leave_queue(of);
    if (of.dispatched == 0) {
        of.dispatched = next_dispatch_++;
        active_[queue_of(of)].push_back(&of);
    }
    if (!of.next_is_bpu()) {
        of.state = State::cpu_waiting;
        return;
    }
    of.state = State::device;
    if (std::has_single_bit(cores))
        of.core = static_cast<std::uint32_t>(std::countr_zero(cores)) + 1;
    of.holds = !of.high();
}

void TaskChecker::placed(const Task& task, std::uint32_t core) {
    view(task).core = core;
}

/// Dispatches the tasks that begin with a CPU segment: the scheduler has no action for that.
void TaskChecker::take_dispatched(std::uint64_t now) {
    std::vector<View*> dispatched;
    for (const auto& queue : waiting_)
        for (View* view : queue)
            if (view->dispatched == 0 && view->task->sched.dispatch_sequence != 0 &&
                !view->next_is_bpu())
                dispatched.push_back(view);
    std::ranges::sort(dispatched, {},
                      [](const View* view) { return view->task->sched.dispatch_sequence; });
    for (View* view : dispatched) {
        const Choice choice = first(now);
        if (choice.view != view)
            violate("{} ns: task {} was dispatched before task {}", now, view->task->number,
                    choice.view ? static_cast<int>(choice.view->task->number) : -1);
        dispatch(*view, 0);
        watch(*view, now);
    }
}

void TaskChecker::next(std::uint64_t now, const ovt_sched_action* action) {
    if (action != nullptr && action->type == OVT_SCHED_OVERDUE)
        return become_overdue(now, *action);
    expect_none_overdue(now);
    take_dispatched(now);
    const Choice choice = first(now);
    if (choice.view != nullptr) {
        if (action == nullptr)
            violate("{} ns: task {} may go to cores {:#x}, and does not", now,
                    choice.view->task->number, choice.cores);
        if (action->type != OVT_SCHED_SUBMIT || action->task != &choice.view->task->sched)
            violate("{} ns: task {} gets action {} before task {}", now,
                    Task::of(action->task).number, static_cast<int>(action->type),
                    choice.view->task->number);
        if (action->cores != choice.cores || action->segment != choice.view->segment)
            violate("{} ns: segment {} of task {} may go to cores {:#x}, not segment {} to {:#x}",
                    now, action->segment, choice.view->task->number, action->cores,
                    choice.view->segment, choice.cores);
        dispatch(*choice.view, choice.cores);
        if (action->core != choice.view->core)
            violate("{} ns: task {} is said to go to core {}, with cores {:#x} open", now,
                    choice.view->task->number, action->core, choice.cores);
        return;
    }
    View* const worker = first_for_worker();
    if (worker != nullptr) {
        expect(*worker, action, OVT_SCHED_RUN_CPU);
        worker->state = State::cpu_running;
        worker->cpu_start = now;
        watch(*worker, now);
        workers_[worker->task->process]++;
        return;
    }
    if (action != nullptr)
        violate("{} ns: task {} gets action {}, though it may not go", now,
                Task::of(action->task).number, static_cast<int>(action->type));
    check_waits(now);
}

namespace {

bool is_any(const ovt_sched_lines& lines) {
    return !ovt_tree_empty(&lines.first_place) || !ovt_tree_empty(&lines.more);
}

bool is_any(const ovt_sched_wanting& tasks) {
    return is_any(tasks.waiting) || !ovt_tree_empty(&tasks.ready);
}

} // namespace

void TaskChecker::finish(const std::deque<ovt_sched_queue>& queues,
                         const std::deque<ovt_sched_process>& processes) const {
    for (const View& view : views_)
        if (view.state != State::ended)
            violate("task {} never ended", view.task->number);
    for (const ovt_sched_queue& queue : queues) {
        std::uint32_t holders = 0;
        bool waiting = !ovt_tree_empty(&queue.high) || is_any(queue.cpu_first) ||
                       queue.places_kept != 0 || queue.cores_waiting != 0 ||
                       queue.cores_ready != 0 || is_any(queue.any);
        for (std::uint32_t core = 0; core < case_.cores(); core++) {
            const ovt_sched_queue_core& of = queue.cores[core];
            holders += of.holders;
            waiting |= is_any(of.wanting) || !ovt_tree_empty(&of.gaps.steady) ||
                       !ovt_tree_empty(&of.gaps.falling) || !ovt_tree_empty(&of.gaps.turns);
        }
        if (queue.dispatched != 0 || holders != 0 || waiting)
            violate("all tasks are over, and a queue counts {} tasks and {} slots, and {}",
                    queue.dispatched, holders, waiting ? "some wait" : "none waits");
    }
    for (const ovt_sched_process& process : processes)
        if (process.workers_busy != 0 || !ovt_tree_empty(&process.cpu_waiting) ||
            process.waiting != 0 || process.dispatched != 0 || !ovt_list_empty(&process.tasks))
            violate("all tasks are over, and {} CPU workers are busy, and a process counts {} + {}",
                    process.workers_busy, process.waiting, process.dispatched);
}

} // namespace overtake::fuzz
