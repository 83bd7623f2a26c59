// SPDX-License-Identifier: MIT
#include "processors_oracle.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "processors_board.hpp"
#include "processors_timeline.hpp"

namespace overtake::test {

namespace processors {

namespace {

class Coordinator {
public:
    explicit Coordinator(const Scenario& scenario)
        : scenario_(scenario), board_(scenario), arrival_order_(scenario.arrival_order()) {
        for (const Task& task : scenario.tasks) {
            outside_.insert(task.at);
            if (scenario.drop != Drop::never && task.deadline)
                outside_.insert(*task.deadline);
        }
        for (const Event& event : scenario.events)
            outside_.insert(event.at);
        for (const Cancel& cancel : scenario.cancels)
            outside_.insert(cancel.at);
    }

    const Board& run() {
        while (const std::optional<Time> next = next_instant()) {
            now_ = *next;
            outside_.erase(now_);
            instant();
        }
        return board_;
    }

private:
    std::optional<Time> next_instant() const {
        std::optional<Time> next;
        const auto consider = [&](std::optional<Time> time) {
            if (time && (!next || *time < *next))
                next = time;
        };
        if (!outside_.empty())
            consider(*outside_.begin());
        consider(board_.next_end());
        consider(board_.next_trial(now_));
        return next;
    }

    /// Takes the steps of one instant in their order.
    void instant() {
        board_.forget_ratios(now_);
        board_.end_executions(now_);
        for (const Event& event : scenario_.events)
            if (event.at == now_)
                happen(event);
        board_.try_failed_processors(now_);
        for (std::size_t task = 0; task < scenario_.tasks.size(); task++)
            if (scenario_.tasks[task].at == now_)
                board_.arrive(task);
        for (const Cancel& cancel : scenario_.cancels)
            if (cancel.at == now_)
                board_.close(now_, cancel.task, Status::cancelled);
        drop_late();
        if (board_.take_changed())
            while (look()) {
            }
        board_.take_changed(); // looks have changed it
        board_.choose(now_);
    }

    void happen(const Event& event) {
        switch (event.kind) {
        case Event::Kind::fail:
            board_.fail(now_, event.processor);
            break;
        case Event::Kind::recover:
            board_.recover(event.processor);
            break;
        case Event::Kind::throttle:
            board_.throttle(event.processor, event.factor);
            break;
        }
    }

    bool high(std::size_t task) const { return scenario_.tasks[task].priority == 255; }

    /// Drops tasks whose deadlines have passed.
    void drop_late() {
        if (scenario_.drop == Drop::never)
            return;
        for (const std::size_t task : arrival_order_) {
            const std::optional<Time> deadline = scenario_.tasks[task].deadline;
            if (!high(task) && deadline && now_ >= *deadline && board_.waits(task) &&
                !board_.has_unfinished_run(task))
                board_.close(now_, task, Status::dropped);
        }
    }

    /// Returns the waiting tasks in the order of the queue.
    std::vector<std::size_t> queue() const {
        std::vector<std::size_t> queue;
        std::ranges::copy_if(arrival_order_, std::back_inserter(queue),
                             [&](std::size_t task) { return board_.waits(task); });
        std::ranges::stable_sort(queue, [&](std::size_t a, std::size_t b) {
            if (scenario_.policy == Policy::priority) {
                const Task& one = scenario_.tasks[a];
                const Task& other = scenario_.tasks[b];
                return one.priority != other.priority ? one.priority > other.priority
                                                      : one.custom_id < other.custom_id;
            }
            return board_.task(a).dispatched.has_value() && !board_.task(b).dispatched.has_value();
        });
        return queue;
    }

    bool has_plan(std::size_t task) const {
        return processors::has_plan(board_.situation(now_, task, {}));
    }

    /// Makes a plan with these free times, which may include the plans of other tasks.
    Plan plan(std::size_t task, std::vector<std::vector<Time>> free_times) const {
        if (!high(task))
            for (std::size_t q = 0; q < free_times.size(); q++)
                for (Time& time : free_times[q])
                    time += board_.reserved_by_others(task, q) /
                            static_cast<Time>(free_times[q].size());
        return make_plan(board_.situation(now_, task, std::move(free_times)));
    }

    /// Returns the chain whose first piece is the next run.
    const PlannedChain& next_chain(const Plan& plan) const {
        const auto idle = std::ranges::find_if(plan.chains, [&](const PlannedChain& chain) {
            return chain.ready && board_.idle(chain.pieces.front().processor);
        });
        return idle != plan.chains.end() ? *idle
                                         : *std::ranges::find_if(plan.chains, &PlannedChain::ready);
    }

    void dispatch(std::size_t task, const PlannedChain& chain) {
        const Piece& first = chain.pieces.front();
        std::optional<Reservation> reservation;
        if (scenario_.policy == Policy::heft_reserved && chain.pieces.size() > 1) {
            const Piece& next = chain.pieces[1];
            const Model& model = scenario_.model_of(scenario_.tasks[task]);
            // A piece within a chain has one predecessor, the last unit of the piece before.
            const Time lead =
                scenario_.processors[next.processor].overhead +
                scenario_.move(model.units[first.units.back()], first.processor, next.processor);
            reservation = Reservation{next.processor,
                                      lead + board_.expected(task, next.units, next.processor)};
        }
        board_.dispatch(now_, task, first.units, first.processor);
        board_.reserve(task, reservation);
    }

    /// Takes one decision. Returns whether a run was dispatched or a task dropped.
    bool look() {
        const std::vector<std::size_t> queue = this->queue();
        for (const std::size_t task : queue) {
            if (!high(task) || !has_plan(task))
                continue;
            dispatch(task, next_chain(plan(task, board_.free_times(now_, true))));
            return true;
        }
        if (scenario_.policy == Policy::round_robin)
            return look_round_robin(queue);
        return look_at_window(queue);
    }

    bool look_round_robin(const std::vector<std::size_t>& queue) {
        for (std::size_t q = 0; q < scenario_.processors.size(); q++) {
            if (!board_.idle(q))
                continue;
            for (const std::size_t task : queue) {
                std::vector<std::size_t> units;
                for (std::size_t unit = 0; unit < board_.task(task).run_of.size(); unit++)
                    if (board_.can_run(task, unit, q))
                        units.push_back(unit);
                if (high(task) || !board_.all_left(task) ||
                    units.size() < board_.task(task).run_of.size())
                    continue;
                board_.dispatch(now_, task, units, q);
                return true;
            }
        }
        return false;
    }

    bool look_at_window(const std::vector<std::size_t>& queue) {
        const bool busy_or_not =
            scenario_.policy == Policy::shortest_latency || scenario_.policy == Policy::fixed;
        if (!busy_or_not && !any_idle())
            return false;
        std::vector<std::vector<Time>> free_times = board_.free_times(now_, false);
        for (const std::size_t task : ordered_window(queue, free_times)) {
            const Plan plan = this->plan(task, free_times);
            if (is_predicted_late(task, plan)) {
                board_.close(now_, task, Status::dropped);
                return true;
            }
            const PlannedChain& chain = next_chain(plan);
            const Piece& next = chain.pieces.front();
            if (busy_or_not || board_.idle(next.processor)) {
                dispatch(task, chain);
                return true;
            }
            *std::ranges::min_element(free_times[next.processor]) +=
                board_.lead(task, next.units.front(), next.processor) +
                board_.expected(task, next.units, next.processor);
        }
        return false;
    }

    bool any_idle() const {
        for (std::size_t q = 0; q < scenario_.processors.size(); q++)
            if (board_.idle(q))
                return true;
        return false;
    }

    /// Returns the first tasks of the queue in the order of the policy.
    std::vector<std::size_t>
    ordered_window(const std::vector<std::size_t>& queue,
                   const std::vector<std::vector<Time>>& free_times) const {
        std::vector<std::size_t> window;
        for (const std::size_t task : queue)
            if (window.size() < scenario_.window && !high(task) && has_plan(task))
                window.push_back(task);
        if (scenario_.policy == Policy::priority || scenario_.policy == Policy::fixed)
            return window;
        std::vector<Time> latencies(scenario_.tasks.size());
        for (const std::size_t task : window)
            latencies[task] = plan(task, free_times).latency;
        std::ranges::stable_sort(window, [&](std::size_t a, std::size_t b) {
            if (scenario_.policy != Policy::least_slack)
                return latencies[a] > latencies[b];
            const std::optional<Time>& one = scenario_.tasks[a].deadline;
            const std::optional<Time>& other = scenario_.tasks[b].deadline;
            if (!one || !other)
                return one.has_value() && !other.has_value();
            return *one - now_ - latencies[a] < *other - now_ - latencies[b];
        });
        return window;
    }

    /// Whether the task is to be dropped, as its plan ends after its deadline.
    bool is_predicted_late(std::size_t task, const Plan& plan) const {
        const std::optional<Time> deadline = scenario_.tasks[task].deadline;
        return scenario_.drop == Drop::predicted && deadline && !board_.has_unfinished_run(task) &&
               now_ + plan.latency > *deadline;
    }

    const Scenario& scenario_;
    Board board_;
    std::vector<std::size_t> arrival_order_;
    std::set<Time> outside_; ///< instants of arrivals, events, cancels and deadlines
    Time now_ = 0;
};

} // namespace
} // namespace processors

nlohmann::json processors_timeline(const nlohmann::json& file) {
    const processors::Scenario scenario = processors::scenario_from(file);
    processors::Coordinator coordinator(scenario);
    return processors::timeline_of(scenario, coordinator.run());
}

} // namespace overtake::test
