// SPDX-License-Identifier: MIT
#include "processors_decisions.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "processors_seen.hpp"

namespace overtake::test {

using nlohmann::json;

namespace processors {

namespace {

constexpr Time never = std::numeric_limits<Time>::max();

/// The state of a task between two decisions.
struct State {
    bool alive = false; ///< it has arrived, and neither ended nor been closed
    std::vector<bool> finished;
    std::vector<bool> left;
    std::size_t unfinished_runs = 0;
    bool begun = false; ///< it has been dispatched
};

class DecisionChecker {
public:
    DecisionChecker(const json& scenario, const json& timeline)
        : seen_(scenario, timeline), scenario_(seen_.scenario) {
        for (std::size_t task = 0; task < scenario_.tasks.size(); task++)
            closed_.push_back(closed_at(task));
    }

    std::vector<std::string> violations() {
        const std::set<Time> looks = look_instants();
        for (const Time now : looks)
            check_nothing_waits_in_vain(now);
        check_drops(looks);
        for (std::size_t run = 0; run < seen_.runs.size(); run++)
            check_turn(run);
        return std::move(violations_);
    }

private:
    void expect(bool holds, const std::string& subject, Time now, const std::string& rule) {
        if (!holds)
            violations_.push_back(subject + " at " + std::to_string(now) + ": not so: " + rule);
    }

    /// Returns the instants at which the coordinator looks for decisions: tasks arrive or end, runs
    /// end, or processors go out of use or come back.
    std::set<Time> look_instants() const {
        std::set<Time> instants;
        for (const Task& task : scenario_.tasks)
            instants.insert(task.at);
        for (const SeenTask& task : seen_.tasks)
            if (task.end)
                instants.insert(*task.end);
        for (const SeenRun& run : seen_.runs)
            instants.insert(run.end);
        for (const std::vector<Interval>& outages : seen_.outages)
            for (const Interval& outage : outages)
                for (const Time at : {outage.first, outage.second})
                    if (at != never)
                        instants.insert(at);
        return instants;
    }

    /// Returns the time at which the task was cancelled or had failed too often: after that, it
    /// does not wait.
    Time closed_at(std::size_t task) const {
        Time closed = never;
        for (const Cancel& cancel : scenario_.cancels)
            if (cancel.task == task)
                closed = std::min(closed, cancel.at);
        std::vector<Time> retries;
        for (const SeenRun& run : seen_.runs)
            if (run.task == task && run.status == "failed" && run.start)
                retries.push_back(run.end);
        std::ranges::sort(retries);
        return retries.size() > 3 ? std::min(closed, retries[3]) : closed;
    }

    /// Returns the state of task `number` at `now`, when the first `dispatched` runs have been
    /// dispatched.  Runs that end at `now` have ended.
    State state(std::size_t number, Time now, std::size_t dispatched) const {
        const Task& task = scenario_.tasks[number];
        const std::size_t units = scenario_.model_of(task).units.size();
        State state;
        state.alive = task.at <= now && closed_[number] > now &&
                      seen_.tasks[number].end.value_or(never) > now;
        state.finished.resize(units);
        state.left.assign(units, true);
        for (std::size_t i = 0; i < dispatched; i++) {
            const SeenRun& run = seen_.runs[i];
            if (run.task != number)
                continue;
            state.begun = true;
            const bool is_unfinished = run.end > now;
            state.unfinished_runs += is_unfinished;
            for (const std::size_t unit : run.units) {
                if (!is_unfinished && run.status == "done")
                    state.finished[unit] = true;
                if (is_unfinished || run.status == "done")
                    state.left[unit] = false;
            }
        }
        return state;
    }

    bool is_ready(std::size_t task, const State& state, std::size_t unit) const {
        const auto& before = scenario_.model_of(scenario_.tasks[task]).units[unit].predecessors;
        return state.left[unit] && std::ranges::all_of(before, [&](std::size_t other) {
                   return static_cast<bool>(state.finished[other]);
               });
    }

    bool waits(std::size_t task, const State& state) const {
        for (std::size_t unit = 0; unit < state.left.size(); unit++)
            if (state.alive && is_ready(task, state, unit))
                return true;
        return false;
    }

    /// Returns the processors in use that can run the unit.
    std::vector<std::size_t> usable(std::size_t task, std::size_t unit, Time now) const {
        std::vector<std::size_t> processors;
        for (std::size_t q = 0; q < scenario_.processors.size(); q++)
            if (seen_.in_use(q, now) && scenario_.can_run(scenario_.tasks[task], unit, q))
                processors.push_back(q);
        return processors;
    }

    bool has_plan(std::size_t task, const State& state, Time now) const {
        for (std::size_t unit = 0; unit < state.left.size(); unit++)
            if (state.left[unit] && usable(task, unit, now).empty())
                return false;
        return true;
    }

    bool is_idle(std::size_t q, Time now, std::size_t dispatched) const {
        const Processor& processor = scenario_.processors[q];
        std::size_t unfinished = 0;
        for (std::size_t i = 0; i < dispatched; i++) {
            const SeenRun& run = seen_.runs[i];
            unfinished +=
                run.processor == q && run.end > now && (processor.pool || !seen_.high(run));
        }
        return seen_.in_use(q, now) &&
               unfinished < (processor.pool ? processor.workers : processor.depth);
    }

    bool gives_to_busy() const {
        return scenario_.policy == Policy::fixed || scenario_.policy == Policy::shortest_latency;
    }

    /// Whether `a` is before `b` in the queue.
    bool before(std::size_t a, const State& state_a, std::size_t b, const State& state_b) const {
        const Task& first = scenario_.tasks[a];
        const Task& second = scenario_.tasks[b];
        if (scenario_.policy == Policy::priority) {
            if (first.priority != second.priority)
                return first.priority > second.priority;
            if (first.custom_id != second.custom_id)
                return first.custom_id < second.custom_id;
        } else if (state_a.begun != state_b.begun) {
            return state_a.begun;
        }
        return first.at != second.at ? first.at < second.at : a < b;
    }

    bool is_high(std::size_t task) const { return scenario_.tasks[task].priority == 255; }

    /// Checks that after the last decision of an instant, no task waits that could go on.
    void check_nothing_waits_in_vain(Time now) {
        const auto dispatched = static_cast<std::size_t>(std::ranges::count_if(
            seen_.runs, [&](const SeenRun& run) { return run.dispatched <= now; }));
        std::vector<std::pair<std::size_t, State>> queue;
        for (std::size_t task = 0; task < scenario_.tasks.size(); task++) {
            State at_task = state(task, now, dispatched);
            if (!waits(task, at_task))
                continue;
            if (scenario_.policy == Policy::round_robin && !is_high(task)) {
                check_whole(task, at_task, now, dispatched);
                continue;
            }
            if (!has_plan(task, at_task, now))
                continue;
            if (is_high(task) || gives_to_busy())
                expect(false, scenario_.tasks[task].id, now, "it is dispatched at once");
            queue.emplace_back(task, std::move(at_task));
        }
        std::ranges::sort(queue, [&](const auto& a, const auto& b) {
            return before(a.first, a.second, b.first, b.second);
        });
        for (std::size_t place = 0; place < std::min(queue.size(), scenario_.window); place++)
            check_passed_over(queue[place].first, queue[place].second, now, dispatched);
    }

    void check_whole(std::size_t task, const State& at_task, Time now, std::size_t dispatched) {
        if (std::ranges::find(at_task.left, false) != at_task.left.end())
            return;
        for (std::size_t q = 0; q < scenario_.processors.size(); q++) {
            bool runs_all = is_idle(q, now, dispatched);
            for (std::size_t unit = 0; unit < at_task.left.size(); unit++)
                runs_all = runs_all && scenario_.can_run(scenario_.tasks[task], unit, q);
            expect(!runs_all, scenario_.tasks[task].id, now, "no idle processor can run all of it");
        }
    }

    /// Checks the next unit of each chain: if the unit could start now, one of its processors is
    /// busy.
    void check_passed_over(std::size_t task, const State& at_task, Time now,
                           std::size_t dispatched) {
        const Model& model = scenario_.model_of(scenario_.tasks[task]);
        for (const std::vector<std::size_t>& chain : model.chains) {
            const auto first = std::ranges::find_if(
                chain, [&](std::size_t unit) { return static_cast<bool>(at_task.left[unit]); });
            if (first == chain.end() || !is_ready(task, at_task, *first))
                continue;
            const std::vector<std::size_t> processors = usable(task, *first, now);
            expect(std::ranges::any_of(processors,
                                       [&](std::size_t q) { return !is_idle(q, now, dispatched); }),
                   scenario_.tasks[task].id, now, "it waits for a busy processor");
        }
    }

    /// Checks that late tasks are dropped, and others only when a plan is made.
    void check_drops(std::set<Time> instants) {
        if (scenario_.drop == Drop::never)
            return;
        const std::set<Time> looks = instants;
        for (const Task& task : scenario_.tasks)
            if (task.deadline && task.priority != 255)
                instants.insert(*task.deadline);
        for (std::size_t task = 0; task < scenario_.tasks.size(); task++) {
            const std::optional<Time>& deadline = scenario_.tasks[task].deadline;
            if (!deadline || is_high(task))
                continue;
            for (auto now = instants.lower_bound(*deadline); now != instants.end(); ++now) {
                const State at_task = state(task, *now, seen_.runs.size());
                expect(!waits(task, at_task) || at_task.unfinished_runs != 0,
                       scenario_.tasks[task].id, *now, "it is dropped when it is late");
            }
            if (seen_.tasks[task].status == "dropped")
                check_drop(task, looks);
        }
    }

    void check_drop(std::size_t task, const std::set<Time>& looks) {
        const std::string& id = scenario_.tasks[task].id;
        const Time end = *seen_.tasks[task].end;
        for (const SeenRun& run : seen_.runs)
            expect(run.task != task || run.status != "cancelled", id, end,
                   "what is dropped has no unfinished run");
        if (end >= *scenario_.tasks[task].deadline)
            return;
        expect(scenario_.drop == Drop::predicted && scenario_.policy != Policy::round_robin &&
                   looks.contains(end),
               id, end, "it is dropped early when a plan is made");
    }

    /// Checks that the run's task was next, among the tasks that could be dispatched at that time.
    void check_turn(std::size_t number) {
        const SeenRun& run = seen_.runs[number];
        if (seen_.high(run))
            return;
        const Time now = run.dispatched;
        const State own = state(run.task, now, number);
        std::size_t in_front = 0;
        for (std::size_t task = 0; task < scenario_.tasks.size(); task++) {
            const State other = state(task, now, number);
            if (task == run.task || is_high(task) || !waits(task, other) ||
                !before(task, other, run.task, own))
                continue;
            if (scenario_.policy == Policy::round_robin) {
                check_first_whole(task, other, run);
                continue;
            }
            if (!has_plan(task, other, now))
                continue;
            in_front++;
            // With one processor, policy `priority` dispatches the first task of the queue.
            expect(scenario_.policy != Policy::priority || scenario_.processors.size() > 1,
                   run.name, now, "it is its turn");
        }
        expect(in_front < scenario_.window, run.name, now, "its task is in the window");
    }

    void check_first_whole(std::size_t task, const State& other, const SeenRun& run) {
        bool goes_there = std::ranges::find(other.left, false) == other.left.end();
        for (std::size_t unit = 0; unit < other.left.size(); unit++)
            goes_there =
                goes_there && scenario_.can_run(scenario_.tasks[task], unit, run.processor);
        expect(!goes_there, run.name, run.dispatched, "it is its turn");
    }

    Seen seen_;
    const Scenario& scenario_;
    std::vector<Time> closed_; ///< by task
    std::vector<std::string> violations_;
};

} // namespace
} // namespace processors

std::vector<std::string> processors_decision_violations(const json& scenario,
                                                        const json& timeline) {
    return processors::DecisionChecker(scenario, timeline).violations();
}

} // namespace overtake::test
