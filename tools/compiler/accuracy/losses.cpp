// SPDX-License-Identifier: MIT
#include "compiler/accuracy/losses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/file/similarity.hpp"

namespace overtake::compiler {
namespace {

double square_of(const Similarity& similarity) {
    const double error = similarity.error();
    return std::isnan(error) ? 0 : error * error;
}

std::vector<float> rounded(const std::vector<float>& value, const Quantisation& to) {
    std::vector<float> result(value.size());
    std::ranges::transform(value, result.begin(),
                           [&](float real) { return to.real(to.nearest(real)); });
    return result;
}

} // namespace

std::uint64_t operations_of(const Graph& graph, const Node& node) {
    std::uint64_t operations =
        multiply_accumulates(graph, node) + graph.values[node.output].elements();
    for (const ValueId input : node.inputs)
        operations += graph.values[input].elements();
    return operations;
}

std::uint64_t operations_of(const Graph& graph) {
    return std::accumulate(
        graph.nodes.begin(), graph.nodes.end(), std::uint64_t{1},
        [&](std::uint64_t sum, const Node& node) { return sum + operations_of(graph, node); });
}

std::vector<Loss> losses_of(const Graph& graph, std::span<const FloatValues> samples,
                            std::span<const Rounding> roundings,
                            const std::function<void(double)>& progress) {
    struct Sums {
        Similarity value;
        std::vector<Similarity> outputs;
    };
    std::vector<Sums> sums(roundings.size(), {{}, std::vector<Similarity>(graph.outputs.size())});
    const double total =
        static_cast<double>(samples.size() * std::max<std::size_t>(roundings.size(), 1));
    double done = 0;
    FloatExecutor executor(graph);
    for (const FloatValues& sample : samples) {
        const FloatValues& values = executor.run(sample);
        std::vector<std::vector<float>> outputs;
        for (const ValueId output : graph.outputs)
            outputs.push_back(values[output]);
        for (std::size_t index = 0; index < roundings.size(); ++index) {
            const auto& [id, to] = roundings[index];
            executor.put_back();
            const std::vector<float> value = values[id];
            std::vector<float> other = rounded(value, to);
            sums[index].value.add(other, value);
            executor.run_with(id, std::move(other));
            for (std::size_t number = 0; number < outputs.size(); ++number)
                sums[index].outputs[number].add(values[graph.outputs[number]], outputs[number]);
            progress(++done / total);
        }
    }
    std::vector<Loss> losses;
    for (const Sums& sum : sums) {
        losses.push_back({square_of(sum.value), {}});
        for (const Similarity& output : sum.outputs)
            losses.back().outputs.push_back(square_of(output));
    }
    return losses;
}

std::vector<double> rounding_errors(const Graph& graph, std::span<const FloatValues> samples,
                                    std::span<const Rounding> roundings) {
    std::vector<Similarity> sums(roundings.size());
    FloatExecutor executor(graph);
    for (const FloatValues& sample : samples) {
        const FloatValues& values = executor.run(sample);
        for (std::size_t index = 0; index < roundings.size(); ++index) {
            const std::vector<float>& value = values[roundings[index].value];
            sums[index].add(rounded(value, roundings[index].to), value);
        }
    }
    std::vector<double> errors;
    for (const Similarity& sum : sums)
        errors.push_back(square_of(sum));
    return errors;
}

} // namespace overtake::compiler
