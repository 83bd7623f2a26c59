// SPDX-License-Identifier: MIT
#include "compiler/accuracy/losses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/file/similarity.hpp"
#include "compiler/float/executor.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

// Limits of the search for losses: samples and operations at most, runs of the network at least.
// Each node counts as so many operations more, for its call.
constexpr std::size_t most_samples = 8;
constexpr std::size_t least_runs = 256;
constexpr std::uint64_t most_operations = 1ull << 36;
constexpr std::uint64_t operations_of_a_call = 10000;

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

// Returns Loss::value of each rounding, from one run of the graph.
std::vector<double> rounding_errors(const Graph& graph, const FloatValues& sample,
                                    std::span<const Rounding> roundings) {
    FloatExecutor executor(graph);
    const FloatValues& values = executor.run(sample);
    std::vector<double> errors;
    for (const auto& [id, to] : roundings) {
        Similarity similarity;
        similarity.add(rounded(values[id], to), values[id]);
        errors.push_back(square_of(similarity));
    }
    return errors;
}

} // namespace

std::uint64_t operations_of(const Graph& graph, const Node& node) {
    std::uint64_t operations =
        multiply_accumulates(graph, node) + graph.values[node.output].elements();
    for (const ValueId input : node.inputs)
        operations += graph.values[input].elements();
    return operations;
}

std::uint64_t effort_of(const Graph& graph) {
    return std::accumulate(graph.nodes.begin(), graph.nodes.end(), std::uint64_t{1},
                           [&](std::uint64_t sum, const Node& node) {
                               return sum + operations_of(graph, node) + operations_of_a_call;
                           });
}

std::size_t runs_in_time(const Graph& graph) {
    return std::max<std::size_t>(least_runs, most_operations / effort_of(graph));
}

double Loss::sum() const {
    double sum = 0;
    for (const double error : outputs)
        sum += std::min(error, 4.0);
    return sum;
}

Samples spread(const Samples& samples, std::size_t count) {
    count = std::min(count, samples.size());
    Samples some;
    for (std::size_t number = 0; number < count; ++number)
        some.push_back(samples[number * samples.size() / count]);
    return some;
}

Samples samples_in_time(const Graph& graph, const Samples& samples, std::size_t probes) {
    return spread(samples,
                  std::clamp<std::size_t>(runs_in_time(graph) / std::max<std::size_t>(probes, 1), 1,
                                          most_samples));
}

std::vector<Loss> losses_of(const Graph& graph, std::span<const FloatValues> samples,
                            std::span<const Rounding> roundings,
                            const std::function<void(double)>& progress) {
    struct Sums {
        Similarity value;
        std::vector<Similarity> outputs;
        bool has_no_result = false;
    };
    std::vector<Sums> sums(roundings.size(),
                           {{}, std::vector<Similarity>(graph.outputs.size()), false});
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
            progress(++done / total);
            try {
                executor.run_with(id, std::move(other));
            } catch (const Error&) {
                sums[index].has_no_result = true;
                continue;
            }
            for (std::size_t number = 0; number < outputs.size(); ++number)
                sums[index].outputs[number].add(values[graph.outputs[number]], outputs[number]);
        }
    }
    std::vector<Loss> losses;
    for (const Sums& sum : sums) {
        losses.push_back({square_of(sum.value), {}});
        for (const Similarity& output : sum.outputs)
            losses.back().outputs.push_back(sum.has_no_result ? error_of_no_result
                                                              : square_of(output));
    }
    return losses;
}

std::vector<Loss> losses_in_time(const Graph& graph, const Samples& samples,
                                 std::span<const Rounding> roundings,
                                 const std::function<void(double)>& progress) {
    return losses_of(graph, samples_in_time(graph, samples, roundings.size()), roundings, progress);
}

std::vector<Rounding> worst_of(const Graph& graph, const FloatValues& sample,
                               std::vector<Rounding> roundings, std::size_t most) {
    if (roundings.size() <= most)
        return roundings;
    const std::vector<double> errors = rounding_errors(graph, sample, roundings);
    std::vector<std::size_t> order(roundings.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::size_t index) { return errors[index]; });
    order.resize(most);
    std::ranges::sort(order);
    std::vector<Rounding> kept;
    for (const std::size_t index : order)
        kept.push_back(roundings[index]);
    return kept;
}

} // namespace overtake::compiler
