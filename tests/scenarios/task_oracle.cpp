// SPDX-License-Identifier: MIT
#include "task_oracle.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "reference_device.hpp"

namespace overtake::test {

namespace {

constexpr std::uint64_t us_per_ms = 1000;

enum class Stage {
    before,      ///< has not arrived
    queued,      ///< has arrived, is not dispatched
    cpu_waiting, ///< its segment waits for a CPU worker
    cpu_running,
    ready,  ///< dispatched; its BPU segment waits for a slot
    on_bpu, ///< its segment is a job of the device
    over,
};

struct TaskState {
    Stage stage = Stage::before;
    std::size_t segment = 0; ///< the current one
    unsigned core = 0;       ///< 0 until it is settled
    std::optional<std::uint64_t> dispatched{};
    std::size_t dispatch_number = 0;
    std::uint64_t cpu_end = 0;
    std::optional<std::uint64_t>
        overdue_at{};                  ///< the current CPU segment, unless it is over by then
    std::uint64_t watched_since = 0;   ///< if overdue_at is set
    unsigned __int128 time_on_cpu = 0; ///< time of its CPU segments so far, waiting and running
    bool is_overdue = false;
    bool was_overdue = false;   ///< now or before
    bool lost_its_slot = false; ///< and has not got another
    std::size_t job = 0;        ///< of the current BPU segment
    std::optional<std::uint64_t> end{};
    bool cancelled = false;
};

class TaskSimulation {
public:
    explicit TaskSimulation(const TaskScenario& scenario)
        : scenario_(scenario), device_(scenario.core_limits, scenario.fair),
          states_(scenario.tasks.size()) {
        for (std::size_t i = 0; i < states_.size(); i++) {
            states_[i].core = task(i).core;
            if (std::ranges::find(processes_, task(i).process) == processes_.end())
                processes_.push_back(task(i).process);
            by_place_.push_back(i);
        }
        // The order of a queue; the sort is stable, so file order comes last.
        std::ranges::stable_sort(by_place_, {},
                                 [&](std::size_t i) { return std::tuple(rank(i), task(i).at); });
    }

    /// Goes from instant to instant, and takes the steps of each instant in the contract's order.
    TaskTimeline run() {
        while (next_instant()) {
            now_ = *next_instant();
            begun_ = true;
            end_segments();
            arrive();
            cancel();
            for (const ScenarioLimit& change : scenario_.limits)
                if (change.at == now_)
                    device_.set_limit(change.core, change.limit);
            die();
            become_overdue();
            for (const std::string& queue : queues())
                dispatch(queue);
            for (const std::string& process : processes_)
                take_cpu_segments(process);
            device_.choose(now_);
        }
        return timeline();
    }

private:
    const ScenarioTask& task(std::size_t i) const { return scenario_.tasks[i]; }
    const TaskSegment& current(std::size_t i) const { return task(i).segments[states_[i].segment]; }

    /// The policy's keys that come before arrival (docs/reference/scenarios.md, "Policies").
    using Rank = std::tuple<int, std::int64_t, std::uint64_t>;
    Rank rank(std::size_t i) const {
        const int priority = -static_cast<int>(task(i).priority);
        if (scenario_.policy == "priority")
            return {priority, task(i).custom_id, 0};
        if (scenario_.policy == "shortest")
            return {priority, 0, task(i).bpu_time()};
        if (scenario_.policy == "deadline")
            return {priority, 0, task(i).deadline()};
        if (scenario_.policy == "fifo")
            return {0, 0, 0};
        throw std::runtime_error("unknown policy " + scenario_.policy);
    }

    const std::string& queue_of(std::size_t i) const {
        static const std::string of_all;
        return scenario_.service_mode ? of_all : task(i).process;
    }

    std::vector<std::string> queues() const {
        return scenario_.service_mode ? std::vector<std::string>{""} : processes_;
    }

    std::optional<std::uint64_t> next_instant() const {
        std::optional<std::uint64_t> next;
        const auto consider = [&](std::uint64_t time) {
            if ((!begun_ || time > now_) && (!next || time < *next))
                next = time;
        };
        for (const ScenarioTask& task : scenario_.tasks)
            consider(task.at);
        for (const TaskCancel& cancel : scenario_.cancels)
            consider(cancel.at);
        for (const ScenarioLimit& change : scenario_.limits)
            consider(change.at);
        for (const ProcessDeath& death : scenario_.deaths)
            consider(death.at);
        for (const TaskState& state : states_)
            if (state.stage == Stage::cpu_running)
                consider(state.cpu_end);
        for (const TaskState& state : states_)
            if (state.overdue_at)
                consider(*state.overdue_at);
        if (device_.next_end())
            consider(*device_.next_end());
        return next;
    }

    // FCs and CPU segments end, and their tasks go on in the order of dispatch.

    void end_segments() {
        const std::vector<std::size_t> jobs = device_.ending(now_);
        std::vector<std::size_t> concerned;
        for (std::size_t i = 0; i < states_.size(); i++) {
            const TaskState& state = states_[i];
            const bool cpu_ends = state.stage == Stage::cpu_running && state.cpu_end == now_;
            const bool fc_ends =
                state.stage == Stage::on_bpu && std::ranges::find(jobs, state.job) != jobs.end();
            if (cpu_ends || fc_ends)
                concerned.push_back(i);
        }
        std::ranges::sort(concerned, {}, [&](std::size_t i) { return states_[i].dispatch_number; });
        for (const std::size_t i : concerned)
            end_running(i);
    }

    void end_running(std::size_t i) {
        TaskState& state = states_[i];
        if (state.stage == Stage::on_bpu) {
            device_.end_fc(now_, state.job);
            if (!device_.over(state.job))
                return;
        }
        unwatch(state);
        state.is_overdue = false;
        state.segment++;
        if (state.cancelled || state.segment == task(i).segments.size())
            end_task(i);
        else
            enter_segment(i);
    }

    void end_task(std::size_t i) {
        states_[i].stage = Stage::over;
        states_[i].overdue_at.reset();
        states_[i].end = now_;
    }

    /// Begins the current segment.
    void enter_segment(std::size_t i) {
        if (!current(i).is_bpu()) {
            states_[i].stage = Stage::cpu_waiting;
            watch(i);
        } else if (has_bpu_before(i) && !states_[i].lost_its_slot)
            submit(i);
        else
            states_[i].stage = Stage::ready;
    }

    void submit(std::size_t i) {
        TaskState& state = states_[i];
        state.stage = Stage::on_bpu;
        state.lost_its_slot = false;
        state.job = device_.submit(now_, task(i).id + "." + std::to_string(state.segment),
                                   state.core, task(i).priority, queue_of(i), current(i).bpu);
        state.core = device_.core_of(state.job);
    }

    void arrive() {
        for (std::size_t i = 0; i < states_.size(); i++)
            if (task(i).at == now_)
                states_[i].stage = Stage::queued;
    }

    /// A task that waits ends at once; another task ends when its running CPU segment or FC ends.
    void cancel() {
        for (const TaskCancel& cancel : scenario_.cancels)
            if (cancel.at == now_)
                cancel_task(cancel.task);
    }

    void cancel_task(std::size_t i) {
        TaskState& state = states_[i];
        if (state.stage == Stage::over || state.cancelled)
            return;
        state.cancelled = true;
        if (state.stage == Stage::on_bpu) {
            device_.cancel(now_, state.job);
            if (device_.over(state.job))
                end_task(i);
        } else if (state.stage != Stage::cpu_running) {
            end_task(i);
        }
    }

    // Service mode: deaths of processes, and overdue tasks.

    void die() {
        for (const ProcessDeath& death : scenario_.deaths)
            if (death.at == now_)
                for (std::size_t i = 0; i < states_.size(); i++)
                    if (task(i).process == death.process && states_[i].stage != Stage::before)
                        die_with_its_process(i);
    }

    void die_with_its_process(std::size_t i) {
        if (states_[i].stage == Stage::cpu_running) {
            states_[i].cancelled = true;
            for (auto& [number, cpu] : cpu_)
                if (number == i && cpu.segment == states_[i].segment)
                    cpu.end = now_;
            end_task(i);
        } else {
            cancel_task(i);
        }
    }

    using Wide = unsigned __int128;

    /// Sets the time at which a CPU segment that begins to wait or to run becomes overdue.
    void watch(std::size_t i) {
        TaskState& state = states_[i];
        unwatch(state);
        if (!scenario_.overdue_min_time)
            return;
        const Wide end = now_ + std::min(time_of_segment(i), time_of_task(i) - state.time_on_cpu);
        if (end > ~std::uint64_t{0})
            return;
        state.overdue_at = static_cast<std::uint64_t>(end);
        state.watched_since = now_;
    }

    void unwatch(TaskState& state) const {
        if (state.overdue_at)
            state.time_on_cpu += now_ - state.watched_since;
        state.overdue_at.reset();
    }

    Wide time_of_segment(std::size_t i) const {
        return std::max<Wide>(*scenario_.overdue_min_time,
                              Wide{current(i).estimated_cpu()} * scenario_.overdue_factor);
    }

    /// Returns the time that all CPU segments of the task together may wait and run.
    Wide time_of_task(std::size_t i) const {
        Wide estimates = 0;
        for (const TaskSegment& segment : task(i).segments)
            if (!segment.is_bpu())
                estimates += segment.estimated_cpu();
        return 2 * std::max(4 * Wide{*scenario_.overdue_min_time},
                            estimates * scenario_.overdue_factor);
    }

    void become_overdue() {
        for (std::size_t i = 0; i < states_.size(); i++) {
            if (!states_[i].overdue_at || *states_[i].overdue_at > now_)
                continue;
            states_[i].lost_its_slot = holds_a_slot(i) || states_[i].lost_its_slot;
            unwatch(states_[i]);
            states_[i].is_overdue = states_[i].was_overdue = true;
        }
    }

    // Dispatching.

    void dispatch(const std::string& queue) {
        const auto goes = [&](std::size_t i) { return queue_of(i) == queue && go_if_it_may(i); };
        while (std::ranges::any_of(by_place_, goes)) {
        }
    }

    bool go_if_it_may(std::size_t i) {
        TaskState& state = states_[i];
        if (state.stage != Stage::queued && state.stage != Stage::ready)
            return false;
        const bool high = task(i).priority == 255;
        if (state.stage == Stage::queued && !high && !has_room(i))
            return false;
        if (current(i).is_bpu() && !high) {
            const std::optional<unsigned> core = core_with_a_slot(i);
            if (!core)
                return false;
            state.core = *core;
        }
        if (state.stage == Stage::queued) {
            state.dispatched = now_;
            state.dispatch_number = dispatch_count_++;
        }
        if (current(i).is_bpu())
            submit(i);
        else
            enter_segment(i);
        return true;
    }

    bool counts(std::size_t i) const {
        return task(i).priority != 255 && states_[i].dispatched &&
               states_[i].stage != Stage::over && !states_[i].was_overdue;
    }

    /// Whether the task limit admits a task that is not dispatched.
    bool has_room(std::size_t i) const {
        std::size_t taken = 0;
        for (std::size_t other = 0; other < states_.size(); other++)
            taken += queue_of(other) == queue_of(i) && counts(other);
        if (scenario_.share && has_a_place(task(i).process))
            for (const std::string& process : processes_)
                taken += waits_in(queue_of(i), process) && !has_a_place(process);
        return taken < scenario_.max_tasks;
    }

    bool has_a_place(const std::string& process) const {
        for (std::size_t i = 0; i < states_.size(); i++)
            if (task(i).process == process && counts(i))
                return true;
        return false;
    }

    bool waits_in(const std::string& queue, const std::string& process) const {
        for (std::size_t i = 0; i < states_.size(); i++)
            if (queue_of(i) == queue && task(i).process == process && task(i).priority != 255 &&
                states_[i].stage == Stage::queued)
                return true;
        return false;
    }

    std::optional<unsigned> core_with_a_slot(std::size_t i) const {
        std::optional<unsigned> best;
        for (unsigned core = 1; core <= scenario_.core_limits.size(); core++) {
            if (states_[i].core != 0 && states_[i].core != core)
                continue;
            if (is_barred(i, core) || !slot_is_free(i, core))
                continue;
            if (!best || device_.unfinished(core) < device_.unfinished(*best))
                best = core;
        }
        return best;
    }

    /// Whether a task before it in the queue waits for a slot on the core.
    bool is_barred(std::size_t i, unsigned core) const {
        for (const std::size_t better : by_place_) {
            if (better == i)
                return false;
            if (queue_of(better) == queue_of(i) && waits_for_a_slot(better) &&
                (states_[better].core == 0 || states_[better].core == core))
                return true;
        }
        return false;
    }

    bool waits_for_a_slot(std::size_t i) const {
        if (task(i).priority == 255)
            return false;
        if (states_[i].stage == Stage::ready)
            return true;
        return states_[i].stage == Stage::queued && current(i).is_bpu() && has_room(i);
    }

    // Slots and gaps.

    bool slot_is_free(std::size_t b, unsigned core) const {
        std::size_t in_the_way = 0;
        for (std::size_t a = 0; a < states_.size(); a++)
            if (queue_of(a) == queue_of(b) && holds_a_slot(a) && states_[a].core == core &&
                !lets_pass(a, b))
                in_the_way++;
        return in_the_way < scenario_.slots;
    }

    bool has_bpu_before(std::size_t i) const {
        const auto begin = task(i).segments.begin();
        return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(states_[i].segment),
                           [](const TaskSegment& segment) { return segment.is_bpu(); });
    }

    /// Returns the next BPU segment after the current one.
    const TaskSegment* next_bpu(std::size_t i) const {
        for (std::size_t next = states_[i].segment + 1; next < task(i).segments.size(); next++)
            if (task(i).segments[next].is_bpu())
                return &task(i).segments[next];
        return nullptr;
    }

    /// Whether the task's current segment is a CPU segment between BPU segments.
    bool is_in_a_gap(std::size_t i) const {
        const Stage stage = states_[i].stage;
        return (stage == Stage::cpu_waiting || stage == Stage::cpu_running) && has_bpu_before(i) &&
               next_bpu(i) != nullptr;
    }

    bool holds_a_slot(std::size_t i) const {
        return task(i).priority != 255 && !states_[i].lost_its_slot &&
               (states_[i].stage == Stage::on_bpu || is_in_a_gap(i));
    }

    /// Whether the gap of holder a is open to b.
    bool lets_pass(std::size_t a, std::size_t b) const {
        if (!is_in_a_gap(a) || scenario_.policy == "fifo")
            return false;
        const std::uint64_t bpu_b = task(b).bpu_time();
        const std::uint64_t whole_a = current(a).estimated_cpu();
        std::uint64_t remaining_a = whole_a;
        if (states_[a].stage == Stage::cpu_running) {
            const std::uint64_t spent = now_ - (states_[a].cpu_end - current(a).cpu);
            remaining_a = spent < whole_a ? whole_a - spent : 0;
        }
        // Wide holds the products of any numbers of a file exactly, and no division is needed.
        using Wide = __int128;
        const Wide beyond = (static_cast<Wide>(bpu_b) - static_cast<Wide>(remaining_a)) * 100;
        const Wide allowed =
            static_cast<Wide>(scenario_.threshold_percent) * next_bpu(a)->bpu_time();
        const Wide insert_max_time = static_cast<Wide>(scenario_.insert_max_time_ms) * us_per_ms;
        const Wide wait_dispatch_time =
            static_cast<Wide>(scenario_.wait_dispatch_time_ms) * us_per_ms;
        return beyond < allowed || bpu_b < insert_max_time || whole_a > wait_dispatch_time;
    }

    // CPU workers.

    void take_cpu_segments(const std::string& process) {
        while (idle_workers(process) > 0) {
            std::optional<std::size_t> first;
            for (std::size_t i = 0; i < states_.size(); i++)
                if (task(i).process == process && states_[i].stage == Stage::cpu_waiting &&
                    (!first || worker_order(i) < worker_order(*first)))
                    first = i;
            if (!first)
                return;
            start_cpu(*first);
        }
    }

    std::size_t idle_workers(const std::string& process) const {
        std::size_t busy = 0;
        for (std::size_t i = 0; i < states_.size(); i++)
            busy += task(i).process == process && states_[i].stage == Stage::cpu_running;
        const auto own = scenario_.workers.find(process);
        return (own == scenario_.workers.end() ? scenario_.max_threads : own->second) - busy;
    }

    std::tuple<Rank, std::size_t> worker_order(std::size_t i) const {
        return {rank(i), states_[i].dispatch_number};
    }

    void start_cpu(std::size_t i) {
        TaskState& state = states_[i];
        state.stage = Stage::cpu_running;
        state.cpu_end = now_ + current(i).cpu;
        if (!state.is_overdue)
            watch(i);
        cpu_.push_back({i, {task(i).id, state.segment, now_, state.cpu_end}});
    }

    TaskTimeline timeline() {
        TaskTimeline timeline;
        timeline.device = device_.timeline();
        std::ranges::stable_sort(cpu_, {}, [](const auto& entry) {
            return std::tuple(entry.second.start, entry.first);
        });
        for (const auto& entry : cpu_)
            timeline.cpu.push_back(entry.second);
        for (std::size_t i = 0; i < states_.size(); i++) {
            const TaskState& state = states_[i];
            timeline.tasks.push_back(
                {task(i).id, state.core, task(i).at, state.dispatched, state.end, state.cancelled});
        }
        return timeline;
    }

    const TaskScenario& scenario_;
    ReferenceDevice device_;
    std::vector<TaskState> states_;      ///< of the tasks, in file order
    std::vector<std::size_t> by_place_;  ///< the tasks in the order of a queue
    std::vector<std::string> processes_; ///< as they first appear in the file
    bool begun_ = false;
    std::uint64_t now_ = 0;
    std::size_t dispatch_count_ = 0;
    std::vector<std::pair<std::size_t, TimelineCpu>> cpu_; ///< with the task
};

} // namespace

TaskTimeline task_oracle_timeline(const TaskScenario& scenario) {
    return TaskSimulation(scenario).run();
}

} // namespace overtake::test
