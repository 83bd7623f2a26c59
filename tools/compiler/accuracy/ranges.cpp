// SPDX-License-Identifier: MIT
#include "compiler/accuracy/ranges.hpp"

#include <algorithm>
#include <utility>

#include "compiler/accuracy/losses.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {
namespace {

// A value gets a method of its own only if its loss by that is less than this part of its loss by
// the usual method.
constexpr double clearly_less = 0.5;

// Returns the quantisations by method and by value.
std::array<std::vector<Quantisation>, range_methods.size()>
quantisations_of(const Graph& graph, const Calibration& calibration, double percentile) {
    std::array<std::vector<Quantisation>, range_methods.size()> quantisations;
    for (std::size_t number = 0; number < range_methods.size(); ++number)
        quantisations[number] = choose_quantisations(
            graph, calibration.ranges(range_methods[number].method, percentile));
    return quantisations;
}

} // namespace

std::vector<Range> ranges_by(const MethodChoice& choice, const Graph& graph,
                             const Calibration& calibration, double percentile) {
    std::vector<Range> result;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const auto own = choice.of_value.find(graph.values[id].name);
        const std::size_t number = own == choice.of_value.end() ? choice.usual : own->second;
        result.push_back(calibration.range(id, range_methods[number].method, percentile));
    }
    return result;
}

MethodChoice choose_by_value(std::size_t usual, const Graph& graph, const Calibration& calibration,
                             double percentile, const Samples& samples,
                             const std::function<void(double)>& progress) {
    const auto quantisations = quantisations_of(graph, calibration, percentile);
    std::vector<Rounding> roundings;
    for (const ValueId id : chosen_values(graph))
        for (std::size_t number = 0; number < range_methods.size(); ++number)
            if (std::none_of(
                    quantisations.begin(), quantisations.begin() + number,
                    [&](const auto& other) { return other[id] == quantisations[number][id]; }))
                roundings.push_back({id, quantisations[number][id]});
    roundings = worst_of(graph, samples.front(), std::move(roundings), runs_in_time(graph));
    const std::vector<Loss> costs = losses_in_time(graph, samples, roundings, progress);
    std::map<ValueId, double> least;
    for (std::size_t index = 0; index < roundings.size(); ++index)
        if (roundings[index].to == quantisations[usual][roundings[index].value])
            least[roundings[index].value] = clearly_less * costs[index].sum();
    MethodChoice choice{usual, {}};
    for (std::size_t index = 0; index < roundings.size(); ++index) {
        const ValueId id = roundings[index].value;
        const Quantisation& to = roundings[index].to;
        const double sum = costs[index].sum();
        const auto known = least.find(id);
        if (to == quantisations[usual][id] || known == least.end() || known->second <= sum)
            continue;
        known->second = sum;
        choice.of_value[graph.values[id].name] = static_cast<std::size_t>(
            std::ranges::find_if(quantisations,
                                 [&](const auto& other) { return other[id] == to; }) -
            quantisations.begin());
    }
    return choice;
}

std::vector<ValueId> chosen_values(const Graph& graph) {
    std::vector<bool> moved(graph.values.size());
    for (const Node& node : graph.nodes)
        moved[node.output] = keeps_quantisation(node) && !gathers_quantisation(node);
    const std::vector<bool> on_device = device_values(graph);
    std::vector<ValueId> values;
    for (ValueId id = 0; id < graph.values.size(); ++id)
        if (on_device[id] && !moved[id] && !graph.values[id].given &&
            !graph.values[id].is_constant())
            values.push_back(id);
    return values;
}

} // namespace overtake::compiler
