// SPDX-License-Identifier: MIT
#include "compiler/accuracy/sources.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/accuracy/losses.hpp"
#include "compiler/accuracy/ranges.hpp"
#include "compiler/file/compare.hpp"

namespace overtake::compiler {
namespace {

// Returns the nodes of the device that make or read the value, or that read a value which a node
// moves from it.
std::vector<std::size_t> nodes_around(const Graph& graph,
                                      const std::vector<std::vector<std::size_t>>& readers,
                                      const std::vector<std::size_t>& writers, ValueId id) {
    std::set<std::size_t> nodes;
    std::vector<ValueId> left = {id};
    if (writers[id] < graph.nodes.size())
        nodes.insert(writers[id]);
    while (!left.empty()) {
        const ValueId value = left.back();
        left.pop_back();
        for (const std::size_t reader : readers[value]) {
            const Node& node = graph.nodes[reader];
            if (nodes.insert(reader).second && keeps_quantisation(node) &&
                !gathers_quantisation(node))
                left.push_back(node.output);
        }
    }
    std::erase_if(nodes, [&](std::size_t node) { return !graph.nodes[node].on_bpu(); });
    return {nodes.begin(), nodes.end()};
}

// Returns, by value, the node that makes it; the number of nodes if no node does.
std::vector<std::size_t> writers_of(const Graph& graph) {
    std::vector<std::size_t> writers(graph.values.size(), graph.nodes.size());
    for (std::size_t index = 0; index < graph.nodes.size(); ++index)
        writers[graph.nodes[index].output] = index;
    return writers;
}

// Adds the errors that nodes make beside the rounding of their inputs and outputs: by weights and
// tables.  The outputs are taken to suffer from a node's error as from the rounding of its output.
void add_nodes(const Graph& graph, const Candidate& candidate, const Samples& samples,
               const std::map<ValueId, const Loss*>& loss_of, const StepOf& step,
               std::vector<ErrorSource>& sources) {
    const std::vector<NodeSimilarity> own =
        compare_with_float(candidate.graph, candidate.quantised, candidate.program,
                           samples_in_time(graph, samples, graph.nodes.size()), Alone::yes, {},
                           step("looking at each node"));
    std::map<ValueId, float> own_errors;
    for (std::size_t index = 0; index < candidate.graph.nodes.size(); ++index)
        own_errors[candidate.graph.nodes[index].output] = own[index].own_error;
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
        const Node& node = graph.nodes[index];
        const auto loss = loss_of.find(node.output);
        const double error = own_errors[node.output];
        if (!node.on_bpu() || loss == loss_of.end() || !(loss->second->value > 0) ||
            std::isnan(error))
            continue;
        const double beyond = std::max(error * error / loss->second->value - 1, 0.0);
        std::vector<double> outputs = loss->second->outputs;
        for (double& output : outputs)
            output *= beyond;
        sources.push_back({{index}, std::move(outputs)});
    }
}

} // namespace

std::vector<ErrorSource> error_sources(const Graph& graph,
                                       const std::vector<Quantisation>& quantisations,
                                       const Candidate* candidate, const Samples& samples,
                                       const StepOf& step) {
    std::vector<Rounding> roundings;
    for (const ValueId id : chosen_values(graph))
        roundings.push_back({id, quantisations[id]});
    roundings = worst_of(graph, samples.front(), std::move(roundings), runs_in_time(graph));
    const std::vector<Loss> losses =
        losses_in_time(graph, samples, roundings, step("looking for what loses most"));
    const auto readers = readers_of(graph);
    const std::vector<std::size_t> writers = writers_of(graph);
    std::vector<ErrorSource> sources;
    std::map<ValueId, const Loss*> loss_of;
    for (std::size_t index = 0; index < roundings.size(); ++index) {
        const ValueId id = roundings[index].value;
        loss_of[id] = &losses[index];
        sources.push_back({nodes_around(graph, readers, writers, id), losses[index].outputs});
    }
    if (candidate)
        add_nodes(graph, *candidate, samples, loss_of, step, sources);
    std::erase_if(sources, [](const ErrorSource& source) {
        return source.nodes.empty() ||
               std::ranges::all_of(source.outputs, [](double error) { return error == 0; });
    });
    return sources;
}

} // namespace overtake::compiler
