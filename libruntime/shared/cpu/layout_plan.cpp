// SPDX-License-Identifier: MIT
#include "cpu/layout_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

namespace overtake::cpu {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t most_work = 1 << 15; // bounds the length of a key times the number of states

LayoutSet bit(LayoutNumber layout) {
    return static_cast<LayoutSet>(1u << layout);
}

// The values that are needed between two nodes, and the place of each in a state's key.
class Alive {
public:
    explicit Alive(const LayoutProblem& problem) : problem_(problem) {
        last_use_.resize(problem.values.size(), none);
        for (std::size_t node = 0; node < problem.nodes.size(); node++) {
            for (const std::uint32_t input : problem.nodes[node].inputs)
                last_use_[input] = node;
            last_use_[problem.nodes[node].output] = node; // kept if nothing reads it
        }
        place_.resize(problem.values.size(), none);
    }

    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    std::size_t place(std::uint32_t value) const { return place_[value]; }
    std::size_t count() const { return values_.size(); }
    bool dies_at(std::uint32_t value, std::size_t node) const { return last_use_[value] == node; }

    // Gives places at the end to the given values that `node` reads first, and to its output.
    std::vector<std::uint32_t> enter(std::size_t node) {
        std::vector<std::uint32_t> entered;
        const auto add = [&](std::uint32_t value) {
            if (place_[value] != none)
                return;
            place_[value] = values_.size();
            values_.push_back(value);
            entered.push_back(value);
        };
        for (const std::uint32_t input : problem_.nodes[node].inputs)
            add(input);
        add(problem_.nodes[node].output);
        return entered;
    }

    // Removes values that are not needed after `node`; returns the other places, ascending.
    std::vector<std::size_t> leave(std::size_t node) {
        std::vector<std::size_t> kept;
        std::vector<std::uint32_t> staying;
        for (std::size_t at = 0; at < values_.size(); at++) {
            const std::uint32_t value = values_[at];
            if (dies_at(value, node)) {
                place_[value] = none;
                continue;
            }
            place_[value] = staying.size();
            staying.push_back(value);
            kept.push_back(at);
        }
        values_ = std::move(staying);
        return kept;
    }

private:
    const LayoutProblem& problem_;
    std::vector<std::size_t> last_use_, place_;
    std::vector<std::uint32_t> values_;
};

// Returns the cheapest layout to convert a value from, and the time of the conversion.
std::pair<LayoutNumber, double> cheapest(const LayoutProblem& problem, std::uint32_t value,
                                         LayoutSet there, LayoutNumber to) {
    std::pair<LayoutNumber, double> best{0, infinite};
    for (LayoutNumber from = 0; from < 8; from++) {
        if (!(there & bit(from)))
            continue;
        const double ns = problem.conversion(value, from, to);
        if (ns < best.second)
            best = {from, ns};
    }
    return best;
}

// The effect of one node on the layouts of values.
class Transition {
public:
    Transition(const LayoutProblem& problem, const Alive& alive, std::size_t node)
        : problem_(problem), alive_(alive), node_(node), entry_(problem.nodes[node]) {
        touched_ = entry_.inputs;
        touched_.push_back(entry_.output);
        std::ranges::sort(touched_);
        touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    }

    // Returns the nanoseconds of the node in this form and of the conversions around it, and calls
    // visit(before, value, from, to) for each conversion in order.  Infinite if one of these
    // conversions does not exist.
    template <typename Visit>
    double apply(const NodeForm& form, std::string& key, const Visit& visit) const {
        double ns = form.ns;
        for (std::size_t i = 0; i < entry_.inputs.size(); i++)
            ns += convert(entry_.inputs[i], form.inputs[i], key, node_, visit);
        at(key, entry_.output) = static_cast<char>(bit(form.output));
        for (const std::uint32_t value : touched_) {
            if (!alive_.dies_at(value, node_))
                continue;
            for (LayoutNumber to = 0; to < 8; to++)
                if (problem_.values[value].wanted & bit(to))
                    ns += convert(value, to, key, node_ + 1, visit);
        }
        return ns;
    }

private:
    char& at(std::string& key, std::uint32_t value) const { return key[alive_.place(value)]; }

    template <typename Visit>
    double convert(std::uint32_t value, LayoutNumber to, std::string& key, std::size_t before,
                   const Visit& visit) const {
        const auto there = static_cast<LayoutSet>(at(key, value));
        if (there & bit(to))
            return 0;
        const auto [from, ns] = cheapest(problem_, value, there, to);
        visit(before, value, from, to);
        at(key, value) = static_cast<char>(there | bit(to));
        return ns;
    }

    const LayoutProblem& problem_;
    const Alive& alive_;
    const std::size_t node_;
    const LayoutProblem::Node& entry_;
    std::vector<std::uint32_t> touched_;
};

struct State {
    std::string key; // a LayoutSet for each value that is still needed
    double ns;
    std::uint32_t parent, form;
};

class Search {
public:
    Search(const LayoutProblem& problem, std::size_t most_states)
        : problem_(problem), most_states_(most_states), states_{{"", 0, 0, 0}} {}

    LayoutPlan run() {
        Alive alive(problem_);
        for (std::size_t node = 0; node < problem_.nodes.size(); node++)
            step(node, alive);
        return plan();
    }

private:
    void step(std::size_t node, Alive& alive) {
        std::string entered;
        for (const std::uint32_t value : alive.enter(node))
            entered += static_cast<char>(problem_.values[value].given);
        std::vector<State> next;
        std::unordered_map<std::string, std::size_t> known;
        const Transition transition(problem_, alive, node);
        std::vector<std::pair<std::string, State>> reached; // whole keys, in the order of `next`
        for (std::uint32_t parent = 0; parent < states_.size(); parent++)
            for (std::uint32_t form = 0; form < problem_.nodes[node].forms.size(); form++) {
                std::string key = states_[parent].key + entered;
                const double ns =
                    states_[parent].ns +
                    transition.apply(problem_.nodes[node].forms[form], key, [](auto...) {});
                reached.emplace_back(std::move(key), State{"", ns, parent, form});
            }
        const std::vector<std::size_t> kept = alive.leave(node);
        for (auto& [key, state] : reached) {
            for (const std::size_t at : kept)
                state.key += key[at];
            const auto [found, is_new] = known.try_emplace(state.key, next.size());
            if (is_new)
                next.push_back(std::move(state));
            else if (state.ns < next[found->second].ns)
                next[found->second] = std::move(state);
        }
        keep_the_best(next, kept.size());
        remember(next);
        states_ = std::move(next);
    }

    void keep_the_best(std::vector<State>& states, std::size_t key_size) {
        const std::size_t most = std::clamp<std::size_t>(
            most_work / std::max<std::size_t>(key_size, 1), 1, most_states_);
        if (states.size() <= most)
            return;
        is_whole_ = false;
        std::ranges::stable_sort(states, {}, &State::ns);
        states.resize(most);
    }

    void remember(const std::vector<State>& states) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>>& row = history_.emplace_back();
        for (const State& state : states)
            row.emplace_back(state.parent, state.form);
    }

    LayoutPlan plan() const {
        LayoutPlan plan;
        plan.is_best = is_whole_;
        plan.forms.resize(problem_.nodes.size());
        auto at = static_cast<std::size_t>(std::ranges::min_element(states_, {}, &State::ns) -
                                           states_.begin());
        plan.ns = states_[at].ns;
        for (std::size_t node = problem_.nodes.size(); node-- > 0;) {
            const auto [parent, form] = history_[node][at];
            plan.forms[node] = form;
            at = parent;
        }
        return plan;
    }

    const LayoutProblem& problem_;
    const std::size_t most_states_;
    std::vector<State> states_;
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> history_; // parent and form
    bool is_whole_ = true;
};

// Applies the chosen forms once more and notes the conversions.
void list_conversions(const LayoutProblem& problem, LayoutPlan& plan) {
    Alive alive(problem);
    std::string key;
    for (std::size_t node = 0; node < problem.nodes.size(); node++) {
        for (const std::uint32_t value : alive.enter(node))
            key += static_cast<char>(problem.values[value].given);
        const Transition transition(problem, alive, node);
        transition.apply(
            problem.nodes[node].forms[plan.forms[node]], key,
            [&](std::size_t before, std::uint32_t value, LayoutNumber from, LayoutNumber to) {
                plan.conversions.push_back({before, value, from, to});
            });
        std::string kept;
        for (const std::size_t at : alive.leave(node))
            kept += key[at];
        key = std::move(kept);
    }
}

LayoutNumber most_layouts(const LayoutProblem& problem) {
    LayoutNumber most = 0;
    for (const auto& node : problem.nodes)
        for (const NodeForm& form : node.forms)
            most = std::max(most, form.output);
    return static_cast<LayoutNumber>(most + 1);
}

} // namespace

LayoutPlan plan_layouts(const LayoutProblem& problem, std::size_t most_states) {
    LayoutPlan best = Search(problem, most_states).run();
    if (!best.is_best)
        for (LayoutNumber layout = 0; layout < most_layouts(problem); layout++) {
            const LayoutProblem forced = preferring(problem, layout);
            LayoutPlan plan = Search(forced, most_states).run();
            if (plan.ns >= best.ns)
                continue;
            for (std::size_t node = 0; node < plan.forms.size(); node++) {
                const std::vector<NodeForm>& all = problem.nodes[node].forms;
                plan.forms[node] = static_cast<std::uint32_t>(
                    std::ranges::find(all, forced.nodes[node].forms[plan.forms[node]]) -
                    all.begin());
            }
            plan.is_best = false;
            best = std::move(plan);
        }
    list_conversions(problem, best);
    return best;
}

LayoutProblem preferring(LayoutProblem problem, LayoutNumber layout) {
    const auto count = [layout](const NodeForm& form) {
        return std::ranges::count(form.inputs, layout) + (form.output == layout);
    };
    for (auto& node : problem.nodes) {
        std::ptrdiff_t most = 0;
        for (const NodeForm& form : node.forms)
            most = std::max<std::ptrdiff_t>(most, count(form));
        std::erase_if(node.forms, [&](const NodeForm& form) { return count(form) < most; });
    }
    return problem;
}

} // namespace overtake::cpu
