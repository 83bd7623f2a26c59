// SPDX-License-Identifier: MIT
#include "compiler/units/partition.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace overtake::compiler {
namespace {

// Orders operators as they become ready, front by front.
class FrontGrower {
public:
    FrontGrower(const OperatorGraph& graph, std::uint64_t& steps)
        : graph_(graph), steps_(steps), readers_(graph.support.size()) {
        for (std::size_t index = 0; index < graph.support.size(); ++index)
            for (const std::size_t predecessor : graph.predecessors[index]) {
                readers_[predecessor].push_back(index);
                ++steps_;
            }
    }

    /// Calls function(front) for fronts of operators with the same key.  The front of the lowest
    /// ready operator comes next.
    template <typename Function>
    void grow(const std::vector<std::uint64_t>& keys, const Function& function) {
        std::map<std::uint64_t, std::set<std::size_t>> ready; // by key
        std::set<std::size_t> all;                            // that are ready
        std::vector<std::size_t> waits_for(keys.size());
        for (std::size_t index = 0; index < keys.size(); ++index) {
            waits_for[index] = graph_.predecessors[index].size();
            if (waits_for[index] == 0 && all.insert(index).second)
                ready[keys[index]].insert(index);
        }
        while (!all.empty()) {
            const std::uint64_t key = keys[*all.begin()];
            std::set<std::size_t>& open = ready[key];
            std::vector<std::size_t> front;
            while (!open.empty()) {
                const std::size_t index = *open.begin();
                open.erase(open.begin());
                all.erase(index);
                front.push_back(index);
                ++steps_;
                for (const std::size_t reader : readers_[index]) {
                    ++steps_;
                    if (--waits_for[reader] > 0)
                        continue;
                    all.insert(reader);
                    ready[keys[reader]].insert(reader);
                }
            }
            std::ranges::sort(front);
            function(front);
        }
    }

private:
    const OperatorGraph& graph_;
    std::uint64_t& steps_;
    std::vector<std::vector<std::size_t>> readers_; // of each operator
};

// Returns the support of each operator without the classes that lose it.
std::vector<std::uint64_t> kept_support(const OperatorGraph& graph, const PartitionOptions& options,
                                        FrontGrower& fronts) {
    std::vector<std::uint64_t> kept = graph.support;
    for (std::uint64_t rest = options.accelerators; rest != 0; rest &= rest - 1) {
        const std::uint64_t own = rest & -rest;
        std::vector<std::uint64_t> keys;
        for (const std::uint64_t support : graph.support)
            keys.push_back(support & own);
        fronts.grow(keys, [&](const std::vector<std::size_t>& front) {
            if (keys[front[0]] == 0 || front.size() >= options.least_operators ||
                front.size() == keys.size())
                return;
            for (const std::size_t index : front)
                kept[index] &= ~own;
        });
    }
    for (std::size_t index = 0; index < kept.size(); ++index)
        if (kept[index] == 0)
            kept[index] = graph.support[index];
    return kept;
}

// Joins units that are neighbours in their order, so that the order stays one in which they can
// run.
class Joiner {
public:
    Joiner(std::vector<OperatorGroup>& units, std::uint64_t& steps)
        : units_(units), steps_(steps), before_(units.size()), behind_(units.size()) {
        for (std::size_t unit = 0; unit < units.size(); ++unit) {
            before_[unit] = unit == 0 ? none : unit - 1;
            behind_[unit] = unit + 1 == units.size() ? none : unit + 1;
            offer(before_[unit], unit);
        }
    }

    void run(std::size_t most) {
        for (std::size_t count = units_.size(); count > most && !pairs_.empty();) {
            const auto [size, first, second] = pairs_.top();
            pairs_.pop();
            ++steps_;
            // One of the two may have grown, or been joined to another, since.
            if (behind_[first] != second || size_of(first) + size_of(second) != size)
                continue;
            join(first, second);
            --count;
        }
        std::erase_if(units_, [](const OperatorGroup& unit) { return unit.operators.empty(); });
        for (OperatorGroup& unit : units_)
            std::ranges::sort(unit.operators);
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    using Pair = std::tuple<std::size_t, std::size_t, std::size_t>; // operators, the two units

    std::size_t size_of(std::size_t unit) const { return units_[unit].operators.size(); }

    void offer(std::size_t first, std::size_t second) {
        if (first != none && second != none &&
            (units_[first].support & units_[second].support) != 0)
            pairs_.emplace(size_of(first) + size_of(second), first, second);
    }

    // The operators of the smaller unit move, so an operator moves a logarithmic number of times.
    void join(std::size_t first, std::size_t second) {
        std::vector<std::size_t>&to = units_[first].operators, &from = units_[second].operators;
        if (to.size() < from.size())
            std::swap(to, from);
        to.insert(to.end(), from.begin(), from.end());
        steps_ += from.size();
        from.clear();
        units_[first].support &= units_[second].support;
        behind_[first] = behind_[second];
        if (behind_[first] != none)
            before_[behind_[first]] = first;
        behind_[second] = none;
        offer(before_[first], first);
        offer(first, behind_[first]);
    }

    std::vector<OperatorGroup>& units_;
    std::uint64_t& steps_;
    std::vector<std::size_t> before_, behind_; // of each remaining unit
    std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs_;
};

} // namespace

Partition partition(const OperatorGraph& graph, const PartitionOptions& options) {
    Partition result;
    FrontGrower fronts(graph, result.steps);
    const std::vector<std::uint64_t> support = kept_support(graph, options, fronts);
    fronts.grow(support, [&](const std::vector<std::size_t>& front) {
        result.units.push_back({support[front[0]], front});
    });
    result.fronts = result.units.size();
    Joiner(result.units, result.steps).run(options.most_units);
    return result;
}

bool is_sound(const OperatorGraph& graph, const std::vector<OperatorGroup>& units) {
    constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> unit_of(graph.support.size(), nowhere);
    for (std::size_t unit = 0; unit < units.size(); ++unit)
        for (const std::size_t index : units[unit].operators) {
            if (index >= unit_of.size() || unit_of[index] != nowhere)
                return false;
            unit_of[index] = unit;
        }
    for (std::size_t index = 0; index < unit_of.size(); ++index) {
        if (unit_of[index] == nowhere)
            return false;
        for (const std::size_t predecessor : graph.predecessors[index])
            if (unit_of[predecessor] > unit_of[index])
                return false;
    }
    return true;
}

} // namespace overtake::compiler
