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

// A channel that hardly reacts to the samples may react to other inputs.
constexpr double most_factor = 8;
constexpr std::array exponents = {0.0, 0.25, 0.5, 0.75, 1.0};
constexpr std::array tensor_exponents = {0.0, 0.5, 1.0};
constexpr double activation_steps = 255, int16_steps = 65534, weight_steps = 254;

// The elements of one channel of a value over the samples.
struct Channel {
    double greatest = 0; // magnitude
    double power = 0;    // sum of squares
};

// Whether factors of the inputs' channels multiply the output's channels in the same way.
bool is_homogeneous(const Graph& graph, const Node& node) {
    if (const auto* pair = node.as<op::Pair>())
        return pair->kind != op::Pair::Kind::multiply &&
               std::ranges::all_of(node.inputs, [&](ValueId input) {
                   return graph.values[input].channels == graph.values[node.output].channels;
               });
    return node.is<op::Pool>() || node.is<op::Resize>();
}

// Whether each channel of the output has the factor of a channel of the inputs.
bool passes_channels(const Graph& graph, const Node& node) {
    return is_homogeneous(graph, node) || node.is<op::Concat>();
}

// Calls visit(index, input channel) for each weight of an output channel, in the order of the
// weights.
template <typename Visit>
void for_each_weight(const op::Convolution& convolution, std::size_t inputs, std::size_t output,
                     const Visit& visit) {
    const std::size_t positions = convolution.window.positions();
    const bool is_depthwise = convolution.kind == op::Convolution::Kind::depthwise;
    const std::size_t each = is_depthwise ? 1 : inputs / convolution.groups;
    const std::size_t group = output / (convolution.bias.size() / convolution.groups);
    const std::size_t first = is_depthwise ? output : group * each;
    std::size_t index = output * each * positions;
    for (std::size_t channel = first; channel < first + each; ++channel)
        for (std::size_t position = 0; position < positions; ++position)
            visit(index++, channel);
}
// Groups of values that nodes connect which pass channels on, with their writers and readers.  A
// family is a channel and the channels that pools and sums, for example, make from it.  All
// channels of a family have one factor.  Concat joins the values of its inputs to one group.
class Equaliser {
public:
    Equaliser(Graph& graph, const Samples& samples)
        : graph_(graph), parent_(graph.values.size()), first_channel_(graph.values.size()) {
        std::iota(parent_.begin(), parent_.end(), ValueId{0});
        std::size_t channels = 0;
        for (ValueId id = 0; id < graph.values.size(); ++id) {
            first_channel_[id] = channels;
            channels += graph.values[id].channels;
        }
        family_.resize(channels);
        std::iota(family_.begin(), family_.end(), std::size_t{0});
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
    // The nodes around the values of one root, if it is free.
    struct Group {
        std::vector<ValueId> values;
        std::vector<std::size_t> readers, writers; // convolutions, in Graph::nodes
        std::vector<std::size_t> clamped;          // nodes that cut off great elements
    };

    // A channel and all channels that are multiplied by the same factor.
    struct Family {
        double peak = 0;                                        // the greatest magnitude
        double peak_beside = 0;                                 // least peak of the values it is in
        double limit = std::numeric_limits<double>::infinity(); // for the factor
    };

    // The families by their roots.
    using Families = std::map<std::size_t, Family>;
    using Factors = std::map<std::size_t, double>;

    ValueId root(ValueId value) {
        for (; parent_[value] != value; value = parent_[value])
            parent_[value] = parent_[parent_[value]]; // shortens the next walk
        return value;
    }

    std::size_t family_of(ValueId value, std::size_t channel) const {
        return family_[first_channel_[value] + channel]; // join() leaves only roots
    }

    std::size_t family_root(std::size_t channel) {
        for (; family_[channel] != channel; channel = family_[channel])
            family_[channel] = family_[family_[channel]]; // shortens the next walk
        return channel;
    }

    void join_channels(ValueId input, ValueId output, std::size_t first) {
        for (std::size_t channel = 0; channel < graph_.values[input].channels; ++channel)
            family_[family_root(first_channel_[output] + first + channel)] =
                family_root(first_channel_[input] + channel);
    }

    void collect_groups() {
        for (ValueId id = 0; id < graph_.values.size(); ++id)
            if (is_free_[root(id)])
                groups_[root(id)].values.push_back(id);
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index) {
            const Node& node = graph_.nodes[index];
            if (const auto written = groups_.find(root(node.output));
                written != groups_.end() &&
                node.clamp_high < std::numeric_limits<float>::infinity())
                written->second.clamped.push_back(index);
            if (!node.is<op::Convolution>())
                continue;
            if (const auto read = groups_.find(root(node.inputs[0])); read != groups_.end())
                read->second.readers.push_back(index);
            if (const auto written = groups_.find(root(node.output)); written != groups_.end())
                written->second.writers.push_back(index);
        }
    }

    void join() {
        for (const Node& node : graph_.nodes) {
            if (!passes_channels(graph_, node))
                continue;
            const auto* concat = node.as<op::Concat>();
            std::size_t first = 0;
            for (ValueId input : node.inputs) {
                parent_[root(input)] = root(node.output);
                join_channels(input, node.output, first);
                if (concat && concat->axis == axis_channels)
                    first += graph_.values[input].channels;
            }
        }
        for (std::size_t channel = 0; channel < family_.size(); ++channel)
            family_[channel] = family_root(channel);
    }

    // Finds the groups that are free: only convolutions are at their borders.
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
        if (!can_scale && !passes_channels(graph_, node)) {
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

    // Returns the families with the peaks of the samples, and with room for other inputs.
    Families families_of(const Group& group) const {
        Families families;
        double greatest = 0;
        for (const ValueId id : group.values)
            for (std::size_t channel = 0; channel < graph_.values[id].channels; ++channel) {
                double& peak = families[family_of(id, channel)].peak;
                peak = std::max(peak, statistics_[id][channel].greatest);
                greatest = std::max(greatest, peak);
            }
        // The next sample exceeds the greatest of n values with a probability of 1 / (n + 1), and a
        // channel that fills the range has no room for it.
        const double room = 1 + 1 / (sample_count_ * graph_.values[group.values[0]].batch);
        for (auto& [number, family] : families) {
            family.peak = std::clamp(family.peak * room, greatest * 1e-6, greatest);
            family.peak_beside = greatest;
        }
        for (const ValueId id : group.values) {
            const double peak = peak_of(id, families);
            for (std::size_t channel = 0; channel < graph_.values[id].channels; ++channel) {
                double& beside = families.at(family_of(id, channel)).peak_beside;
                beside = std::min(beside, peak);
            }
        }
        for (const std::size_t index : group.clamped)
            limit_by(graph_.nodes[index], room, families);
        return families;
    }

    // Limits factors so that elements which are not cut off now stay so.
    void limit_by(const Node& node, double room, Families& families) const {
        for (std::size_t channel = 0; channel < graph_.values[node.output].channels; ++channel) {
            const double greatest = statistics_[node.output][channel].greatest * room;
            double& limit = families.at(family_of(node.output, channel)).limit;
            if (greatest > 0)
                limit = std::min(limit, std::max(1.0, node.clamp_high / greatest));
        }
    }

    double peak_of(ValueId value, const Families& families, const Factors& factors = {}) const {
        double peak = 0;
        for (std::size_t channel = 0; channel < graph_.values[value].channels; ++channel) {
            const std::size_t family = family_of(value, channel);
            peak = std::max(peak,
                            families.at(family).peak * (factors.empty() ? 1 : factors.at(family)));
        }
        return peak;
    }

    static Factors factors_of(const Families& families, double greatest, double tensor_exponent,
                              double exponent) {
        Factors factors;
        for (const auto& [number, family] : families) {
            const double beside = std::pow(greatest / family.peak_beside, tensor_exponent);
            const double inside = std::pow(family.peak_beside / family.peak, exponent);
            factors[number] = std::min(beside * std::min(most_factor, inside), family.limit);
        }
        return factors;
    }

    void equalise_group(const Group& group) {
        const Families families = families_of(group);
        double greatest = 0;
        bool has_one_range = true;
        for (const auto& [number, family] : families)
            greatest = std::max(greatest, family.peak);
        if (!(greatest > 0))
            return;
        for (const auto& [number, family] : families)
            has_one_range = has_one_range && family.peak_beside == greatest;
        Factors best;
        double least = std::numeric_limits<double>::infinity();
        for (double tensor_exponent : tensor_exponents) {
            for (double exponent : exponents) {
                Factors factors = factors_of(families, greatest, tensor_exponent, exponent);
                const double error = expected_error(group, families, factors, greatest);
                if (error < least) {
                    least = error;
                    best = std::move(factors);
                }
            }
            if (has_one_range)
                break;
        }
        if (!best.empty()) // no error is a number if a weight is NaN
            multiply(group, best);
    }

    // Returns the expected errors of the readers' outputs, as shares of their powers, summed over
    // the readers.
    double expected_error(const Group& group, const Families& families, const Factors& factors,
                          double greatest) const {
        double sum = 0;
        for (const std::size_t index : group.readers) {
            const Node& node = graph_.nodes[index];
            const double peak = std::min(greatest, peak_of(node.inputs[0], families, factors));
            sum += expected_error_of(*node.as<op::Convolution>(), node.inputs[0],
                                     of_channels(node.inputs[0], factors), peak);
        }
        return sum;
    }

    std::vector<double> of_channels(ValueId value, const Factors& factors) const {
        std::vector<double> result;
        for (std::size_t channel = 0; channel < graph_.values[value].channels; ++channel)
            result.push_back(factors.at(family_of(value, channel)));
        return result;
    }

    // A step of size d has a mean squared error of d * d / 12.
    double expected_error_of(const op::Convolution& reader, ValueId input,
                             const std::vector<double>& factors, double greatest) const {
        const Value& value = graph_.values[input];
        const double area = sample_count_ * value.batch * value.height * value.width;
        const double step = greatest / (value.is_int16 ? int16_steps : activation_steps);
        std::vector<double> powers;
        for (const Channel& channel : statistics_[input])
            powers.push_back(channel.power / area);
        double error = 0, signal = 0;
        for (std::size_t output = 0; output < reader.bias.size(); ++output) {
            double coarsest = 0, reach = 0;
            const auto add = [&](std::size_t index, std::size_t channel) {
                const double power = powers[channel];
                const double weight = reader.weights[index] / factors[channel];
                error += weight * weight * step * step / 12;
                signal += double{reader.weights[index]} * reader.weights[index] * power;
                coarsest = std::max(coarsest, std::abs(weight));
                reach += power * factors[channel] * factors[channel];
            };
            for_each_weight(reader, factors.size(), output, add);
            const double weight_step = 2 * coarsest / weight_steps;
            error += weight_step * weight_step / 12 * reach;
        }
        return signal > 0 ? error / signal : 0;
    }

    void multiply(const Group& group, const Factors& by_family) {
        for (const std::size_t reader : group.readers) {
            auto& convolution = *graph_.nodes[reader].as<op::Convolution>();
            const auto factors = of_channels(graph_.nodes[reader].inputs[0], by_family);
            std::vector<float>& weights = convolution.weights;
            for (std::size_t output = 0; output < convolution.bias.size(); ++output)
                for_each_weight(convolution, factors.size(), output,
                                [&](std::size_t index, std::size_t channel) {
                                    weights[index] =
                                        static_cast<float>(weights[index] / factors[channel]);
                                });
        }
        for (const std::size_t writer : group.writers) {
            auto& convolution = *graph_.nodes[writer].as<op::Convolution>();
            const auto factors = of_channels(graph_.nodes[writer].output, by_family);
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
    std::vector<std::size_t> first_channel_;       // by value: its place in family_
    std::vector<std::size_t> family_;              // by channel: towards its family's root
    std::vector<bool> is_free_;                    // by root
    std::vector<std::vector<Channel>> statistics_; // by value
    std::map<ValueId, Group> groups_;              // by root, only free groups
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
