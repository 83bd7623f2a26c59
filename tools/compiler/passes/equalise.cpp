// SPDX-License-Identifier: MIT
#include "compiler/passes/equalise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "compiler/float/executor.hpp"

namespace overtake::compiler {
namespace {

// A channel that hardly answers to the samples may answer to other inputs.
constexpr double most_factor = 8;
constexpr std::array exponents = {0.0, 0.25, 0.5, 0.75, 1.0};
constexpr double activation_steps = 255, weight_steps = 254;

// What one channel of a value holds over the samples.
struct Channel {
    double greatest = 0; // magnitude
    double power = 0;    // sum of squares
};

// Whether the channels of the output are those of the inputs, times whatever these are multiplied
// by.
bool is_homogeneous(const Graph& graph, const Node& node) {
    if (const auto* pair = node.as<op::Pair>())
        return pair->kind != op::Pair::Kind::multiply &&
               std::ranges::all_of(node.inputs, [&](ValueId input) {
                   return graph.values[input].channels == graph.values[node.output].channels;
               });
    return node.is<op::Pool>() || node.is<op::Resize>();
}

// Input channel of weight `index`.
std::size_t input_channel(const op::Convolution& convolution, std::size_t inputs,
                          std::size_t index) {
    const std::size_t positions = convolution.window.positions();
    if (convolution.kind == op::Convolution::Kind::depthwise)
        return index / positions;
    const std::size_t inputs_each = inputs / convolution.groups;
    const std::size_t output = index / positions / inputs_each;
    const std::size_t group = output / (convolution.bias.size() / convolution.groups);
    return group * inputs_each + index / positions % inputs_each;
}

// Values whose channels are multiplied by the same factors, with their writers and readers.
class Equaliser {
public:
    Equaliser(Graph& graph, const Samples& samples) : graph_(graph), parent_(graph.values.size()) {
        std::iota(parent_.begin(), parent_.end(), ValueId{0});
        join();
        bind();
        statistics_.resize(graph.values.size());
        sample_count_ = static_cast<double>(samples.size());
    }

    bool has_groups() const { return std::ranges::count(is_free_, true) > 0; }

    void look(const FloatValues& values) {
        for (ValueId id = 0; id < values.size(); ++id) {
            const Value& value = graph_.values[id];
            if (!is_free_[root(id)] || values[id].size() != value.elements())
                continue;
            statistics_[id].resize(value.channels);
            for (std::size_t first = 0; first < value.elements();
                 first += value.elements_of_image())
                for_each_element(value, [&](auto channel, auto, auto, std::size_t index) {
                    Channel& into = statistics_[id][channel];
                    const double element = values[id][first + index];
                    into.greatest = std::max(into.greatest, std::abs(element));
                    into.power += element * element;
                });
        }
    }

    void apply() {
        collect_groups();
        for (const auto& [id, group] : groups_)
            equalise_group(group);
    }

private:
    // What belongs to the values of one root, if it is free.
    struct Group {
        std::vector<ValueId> values;
        std::vector<std::size_t> readers, writers; // convolutions, in Graph::nodes
    };

    ValueId root(ValueId value) {
        for (; parent_[value] != value; value = parent_[value])
            parent_[value] = parent_[parent_[value]]; // the way is shorter next time
        return value;
    }

    void collect_groups() {
        for (ValueId id = 0; id < graph_.values.size(); ++id)
            if (is_free_[root(id)])
                groups_[root(id)].values.push_back(id);
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index) {
            const Node& node = graph_.nodes[index];
            if (!node.is<op::Convolution>())
                continue;
            if (const auto read = groups_.find(root(node.inputs[0])); read != groups_.end())
                read->second.readers.push_back(index);
            if (const auto written = groups_.find(root(node.output)); written != groups_.end())
                written->second.writers.push_back(index);
        }
    }

    void join() {
        for (const Node& node : graph_.nodes)
            if (is_homogeneous(graph_, node))
                for (ValueId input : node.inputs)
                    parent_[root(input)] = root(node.output);
    }

    // Finds out which groups are free: only convolutions stand at their borders.
    void bind() {
        is_free_.assign(graph_.values.size(), true);
        std::vector<bool> is_written(graph_.values.size());
        for (const Node& node : graph_.nodes)
            is_written[node.output] = true;
        for (ValueId id = 0; id < graph_.values.size(); ++id)
            if (!is_written[id] || !graph_.values[id].fits_device() || graph_.values[id].given)
                is_free_[root(id)] = false;
        for (ValueId id : graph_.outputs)
            is_free_[root(id)] = false;
        for (const Node& node : graph_.nodes)
            bind_node(node);
    }

    void bind_node(const Node& node) {
        const ValueId group = root(node.output);
        const auto* convolution = node.as<op::Convolution>();
        const bool can_scale = convolution && convolution->weight_scales.empty();
        if (!can_scale && !is_homogeneous(graph_, node)) {
            is_free_[group] = false;
            for (ValueId input : node.inputs)
                is_free_[root(input)] = false;
        }
        const bool has_floor = node.clamp_low > -std::numeric_limits<float>::infinity();
        if (has_floor && node.clamp_low != 0)
            is_free_[group] = false;
        if (node.clamp_high < std::numeric_limits<float>::infinity() &&
            !(has_floor && node.clamp_high > 0))
            is_free_[group] = false;
    }

    void equalise_group(const Group& group) {
        std::vector<double> peaks(graph_.values[group.values[0]].channels);
        for (const ValueId id : group.values)
            for (std::size_t index = 0; index < peaks.size(); ++index)
                peaks[index] = std::max(peaks[index], statistics_[id][index].greatest);
        const double greatest = *std::ranges::max_element(peaks);
        if (!(greatest > 0))
            return;
        // The next sample exceeds the greatest value of n in one of n + 1 times, and a channel that
        // fills the range has no room for it.
        const double count = sample_count_ * graph_.values[group.values[0]].batch;
        for (double& peak : peaks)
            peak = std::clamp(peak * (1 + 1 / count), greatest * 1e-6, greatest);
        std::vector<double> best;
        double least = std::numeric_limits<double>::infinity();
        for (double exponent : exponents) {
            std::vector<double> factors;
            for (double peak : peaks)
                factors.push_back(std::min(most_factor, std::pow(greatest / peak, exponent)));
            const double error = expected_error(group, factors, greatest);
            if (error < least) {
                least = error;
                best = std::move(factors);
            }
        }
        if (!best.empty()) // no error is a number where a weight is none
            multiply(group, best);
    }

    // Of the readers' outputs, as a share of their power; sum over the readers.
    double expected_error(const Group& group, const std::vector<double>& factors,
                          double greatest) const {
        double sum = 0;
        for (const std::size_t index : group.readers) {
            const Node& node = graph_.nodes[index];
            sum +=
                expected_error_of(*node.as<op::Convolution>(), node.inputs[0], factors, greatest);
        }
        return sum;
    }

    // A step of size d has an error of d * d / 12.
    double expected_error_of(const op::Convolution& reader, ValueId input,
                             const std::vector<double>& factors, double greatest) const {
        const Value& value = graph_.values[input];
        const double area = sample_count_ * value.batch * value.height * value.width;
        const double step = greatest / activation_steps;
        const std::size_t each = reader.weights.size() / reader.bias.size();
        double error = 0, signal = 0;
        for (std::size_t output = 0; output < reader.bias.size(); ++output) {
            double coarsest = 0, reach = 0;
            for (std::size_t index = output * each; index < (output + 1) * each; ++index) {
                const std::size_t channel = input_channel(reader, factors.size(), index);
                const double power = statistics_[input][channel].power / area;
                const double weight = reader.weights[index] / factors[channel];
                error += weight * weight * step * step / 12;
                signal += double{reader.weights[index]} * reader.weights[index] * power;
                coarsest = std::max(coarsest, std::abs(weight));
                reach += power * factors[channel] * factors[channel];
            }
            const double weight_step = 2 * coarsest / weight_steps;
            error += weight_step * weight_step / 12 * reach;
        }
        return signal > 0 ? error / signal : 0;
    }

    void multiply(const Group& group, const std::vector<double>& factors) {
        for (const std::size_t reader : group.readers) {
            auto& convolution = *graph_.nodes[reader].as<op::Convolution>();
            std::vector<float>& weights = convolution.weights;
            for (std::size_t index = 0; index < weights.size(); ++index)
                weights[index] = static_cast<float>(
                    weights[index] / factors[input_channel(convolution, factors.size(), index)]);
        }
        for (const std::size_t writer : group.writers) {
            auto& convolution = *graph_.nodes[writer].as<op::Convolution>();
            std::vector<float>&weights = convolution.weights, &bias = convolution.bias;
            const std::size_t each = weights.size() / bias.size();
            for (std::size_t index = 0; index < weights.size(); ++index)
                weights[index] = static_cast<float>(weights[index] * factors[index / each]);
            for (std::size_t index = 0; index < bias.size(); ++index)
                bias[index] = static_cast<float>(bias[index] * factors[index]);
        }
    }

    Graph& graph_;
    std::vector<ValueId> parent_;                  // by value: towards its group's root
    std::vector<bool> is_free_;                    // by root
    std::vector<std::vector<Channel>> statistics_; // by value
    std::map<ValueId, Group> groups_;              // by root, those that are free
    double sample_count_ = 1;
};

} // namespace

void equalise(Graph& graph, const Samples& samples, const std::function<void(double)>& progress) {
    Equaliser equaliser(graph, samples);
    if (!equaliser.has_groups())
        return;
    {
        FloatExecutor executor(graph);
        double done = 0;
        for (const FloatValues& sample : samples) {
            equaliser.look(executor.run(sample));
            progress(++done / static_cast<double>(samples.size()));
        }
    }
    equaliser.apply();
}

} // namespace overtake::compiler
