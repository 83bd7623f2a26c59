// SPDX-License-Identifier: MIT
#include "compiler/quantise/quantise.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <variant>

#include "compiler/ir/error.hpp"
#include "overtake_isa.h"
#include "rounding.hpp"

namespace overtake::compiler {
namespace {

constexpr double weight_max = 127.0;
// |bias| and the sum of |products| each stay below half of the range of 32 bits.
constexpr double accumulator_half = 1 << 30;
constexpr double activation_span = 255.0;
// The rounding error of float32 for a whole number of steps, in steps.
constexpr double weight_tolerance = 1e-3;

Quantisation from_range(Range range) {
    const double low = std::min(range.low, 0.0f), high = std::max(range.high, 0.0f);
    const double scale = (high - low) / 255.0;
    if (!(scale >= 1e-30 && std::isfinite(scale))) // a constant that the CPU reads
        return {1.0f, 0};
    Quantisation result;
    result.scale = static_cast<float>(scale);
    result.zero_point =
        static_cast<int>(std::clamp(std::nearbyint(-128.0 - low / scale), -128.0, 127.0));
    return result;
}

// The range is symmetric, without -32768.
Quantisation int16_from_range(Range range) {
    const double scale =
        std::max(std::abs(double{range.low}), std::abs(double{range.high})) / 32767;
    if (!(scale >= 1e-30 && std::isfinite(scale))) // all elements are 0
        return {1.0f, 0, true};
    return {static_cast<float>(scale), 0, true};
}

// A mean of elements that cancel out is nearly zero.  An instruction cannot express steps that are
// so much smaller than those of its input, and they would show rounding errors of float.
constexpr double most_steps = 1 << 22; // of an output in one of an input

void widen_steps(const Graph& graph, std::vector<Quantisation>& quantisations) {
    for (const Node& node : graph.nodes) {
        if (!node.on_bpu() || keeps_quantisation(node) || graph.values[node.output].given)
            continue;
        const auto* pair = node.as<op::Pair>();
        double step = 0;
        if (pair && pair->kind == op::Pair::Kind::multiply)
            step =
                double{quantisations[node.inputs[0]].scale} * quantisations[node.inputs[1]].scale;
        else if ((pair && pair->kind != op::Pair::Kind::maximum &&
                  pair->kind != op::Pair::Kind::minimum) ||
                 node.is<op::Pool>() || node.is<op::Reduce>())
            for (const ValueId input : node.inputs)
                step = std::max(step, double{quantisations[input].scale});
        Quantisation& output = quantisations[node.output];
        output.scale = std::max(output.scale, static_cast<float>(step / most_steps));
    }
}

Range range_of(const std::vector<float>& elements) {
    const auto [low, high] = std::ranges::minmax(elements);
    return {low, high};
}

// Returns the step of one output channel: small enough to use the 8 bits, and large enough that
// neither bias nor sum can overflow.
double weight_scale(const float* weights, std::size_t count, float bias,
                    const Quantisation& input) {
    double greatest = 0, sum = 0;
    for (std::size_t index = 0; index < count; ++index) {
        greatest = std::max(greatest, std::abs(double{weights[index]}));
        sum += std::abs(double{weights[index]});
    }
    double scale = greatest / weight_max;
    scale = std::max(scale, std::abs(double{bias}) / (input.scale * accumulator_half));
    if (input.is_int16) // the sum has 64 bits
        return scale > 0 ? scale : 1.0;
    // Rounding adds at most a half to each weight.
    const double room = accumulator_half / activation_span - 0.5 * static_cast<double>(count);
    scale = std::max(scale, sum / room);
    return scale > 0 ? scale : 1.0;
}

// Returns the step that the model gives, if all weights are whole multiples that 8 bits hold and no
// input can make the accumulator overflow.
std::optional<double> given_weight_scale(const op::Convolution& convolution, std::size_t channel,
                                         std::size_t each, const Quantisation& input) {
    if (convolution.weight_scales.empty() || !(convolution.weight_scales[channel] > 0))
        return std::nullopt;
    const double scale = convolution.weight_scales[channel];
    double sum = std::abs(double{convolution.bias[channel]}) / (input.scale * scale) + 1;
    for (std::size_t index = channel * each; index < (channel + 1) * each; ++index) {
        const double steps = convolution.weights[index] / scale, whole = std::nearbyint(steps);
        if (std::abs(steps - whole) > weight_tolerance || whole < -128 || whole > weight_max)
            return std::nullopt;
        sum += input.is_int16 ? 0 : activation_span * std::abs(whole);
    }
    if (sum >= 2 * accumulator_half)
        return std::nullopt;
    return scale;
}

// Returns by how much the output's mean is too great since weights were rounded to `steps` of
// `scale`: the sum of each weight's error times the mean of the channel that it multiplies.
// Ignores padding.
double mean_shift(const op::Convolution& convolution, std::size_t channel,
                  std::span<const std::int8_t> steps, double scale,
                  const std::vector<double>& means) {
    const std::size_t positions = convolution.window.positions();
    const std::size_t inputs = steps.size() / positions;
    const std::size_t outputs_each = convolution.bias.size() / convolution.groups;
    const std::size_t first = convolution.kind == op::Convolution::Kind::depthwise
                                  ? channel
                                  : channel / outputs_each * inputs;
    // The kernel of flattened features may have more inputs than the value has channels.
    if (first + inputs > means.size())
        return 0;
    double shift = 0;
    for (std::size_t index = 0; index < steps.size(); ++index)
        shift += (scale * steps[index] - convolution.weights[channel * steps.size() + index]) *
                 means[first + index / positions];
    // One position in stride * stride reaches each output of a transposed convolution.
    if (convolution.kind == op::Convolution::Kind::transposed)
        shift /= static_cast<double>(std::uint64_t{convolution.window.stride_height} *
                                     convolution.window.stride_width);
    return shift;
}

void quantise_weights(const op::Convolution& convolution, const Quantisation& input,
                      const Quantisation& output, const std::vector<double>& means,
                      QuantisedNode& result) {
    const std::size_t channels = convolution.bias.size();
    const std::size_t each = convolution.weights.size() / channels;
    result.weights.resize(convolution.weights.size());
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const float* weights = convolution.weights.data() + channel * each;
        const auto given = given_weight_scale(convolution, channel, each, input);
        const double scale =
            given.value_or(weight_scale(weights, each, convolution.bias[channel], input));
        for (std::size_t index = 0; index < each; ++index)
            result.weights[channel * each + index] = static_cast<std::int8_t>(
                std::clamp(std::nearbyint(weights[index] / scale), -128.0, weight_max));
        double bias = convolution.bias[channel];
        if (!given && !means.empty())
            bias -=
                mean_shift(convolution, channel,
                           std::span(result.weights).subspan(channel * each, each), scale, means);
        // With a given scale, bias and products are known to fit together.
        const double most = given ? 2 * accumulator_half - 1 : accumulator_half;
        result.bias.push_back(static_cast<std::int32_t>(
            std::clamp(std::nearbyint(bias / (scale * input.scale)), -most, most)));
        result.requantise.push_back(fixed_scale(scale * input.scale / output.scale));
    }
}

void quantise_pair(const Quantisation& first, const Quantisation& second,
                   const Quantisation& output, QuantisedNode& result) {
    const double scales[2] = {double{first.scale} / output.scale,
                              double{second.scale} / output.scale};
    const FixedScale greater = fixed_scale(std::max(scales[0], scales[1]));
    for (int index = 0; index < 2; ++index)
        result.add_scales[index] = {std::min(static_cast<std::uint32_t>(std::nearbyint(std::ldexp(
                                                 scales[index], static_cast<int>(greater.shift)))),
                                             OVERTAKE_MULTIPLIER_MAX),
                                    greater.shift};
}

void quantise_average(const op::Pool& pool, const Quantisation& input, const Quantisation& output,
                      QuantisedNode& result) {
    const std::uint64_t positions = pool.window.positions();
    for (std::uint64_t count = 1; count <= positions; ++count)
        result.requantise.push_back(
            fixed_scale(double{input.scale} / output.scale / static_cast<double>(count)));
}

// Returns the function's result at the edge of its domain, which is between two positions.
float at_edge(const std::function<float(float)>& function, float outside, float inside) {
    for (int halving = 0; halving < 64; ++halving) {
        const float middle = outside + (inside - outside) / 2;
        (std::isnan(function(middle)) ? outside : inside) = middle;
    }
    return function(inside);
}

// Returns the result of a function of one element for each q.  A rounded input may leave the
// domain: 1 becomes less than 1, which acosh does not take.  There it returns the result at the
// nearest edge.
std::vector<float> function_values(const std::function<float(float)>& function,
                                   const Quantisation& input) {
    const auto count = static_cast<std::size_t>(input.greatest() - input.least() + 1);
    const auto argument = [&](std::size_t at) {
        return input.real(input.least() + static_cast<int>(at));
    };
    std::vector<float> values(count);
    for (std::size_t at = 0; at < count; ++at)
        values[at] = function ? function(argument(at)) : argument(at);
    // The nearest position on either side at which the function has a result.
    std::vector<std::size_t> below(count, count), above(count, count);
    for (std::size_t at = 0, last = count; at < count; ++at)
        below[at] = last = std::isnan(values[at]) ? last : at;
    for (std::size_t at = count, next = count; at-- > 0;)
        above[at] = next = std::isnan(values[at]) ? next : at;
    for (std::size_t at = 0; at < count; ++at) {
        if (below[at] == at || (below[at] == count && above[at] == count))
            continue;
        const bool is_below =
            above[at] == count || (below[at] < count && at - below[at] <= above[at] - at);
        values[at] = at_edge(function, argument(at), argument(is_below ? below[at] : above[at]));
    }
    return values;
}

// A node that changes only the scale needs no table, which has 2^16 elements for an int16.
bool only_rescales(const Node& node, const op::Activation& activation, const Quantisation& input) {
    return input.is_int16 && !activation.function && !node.is_clamped();
}

void quantise_function(const Node& node, const op::Activation& activation,
                       const Quantisation& input, const Quantisation& output,
                       QuantisedNode& result) {
    if (only_rescales(node, activation, input)) {
        result.requantise = {fixed_scale(double{input.scale} / output.scale)};
        return;
    }
    const std::vector<float> values = function_values(activation.function, input);
    const std::size_t size = output.is_int16 ? 2 : 1;
    result.table.resize(values.size() * size);
    for (std::size_t at = 0; at < values.size(); ++at) {
        // The bits of q as an unsigned number.
        const std::size_t entry = (at + values.size() / 2) % values.size();
        output.store(output.nearest(std::clamp(values[at], node.clamp_low, node.clamp_high)),
                     &result.table[size * entry]);
    }
}

void quantise_product(const Quantisation& first, const Quantisation& second,
                      const Quantisation& output, QuantisedNode& result) {
    result.requantise = {fixed_scale(double{first.scale} * second.scale / output.scale)};
}

void quantise_reduction(const Graph& graph, const Node& node, const op::Reduce& reduce,
                        const Quantisation& input, const Quantisation& output,
                        QuantisedNode& result) {
    double factor = double{input.scale} / output.scale;
    if (reduce.kind == op::Reduce::Kind::mean)
        factor *= static_cast<double>(graph.values[node.output].elements()) /
                  static_cast<double>(graph.values[node.inputs[0]].elements());
    result.requantise = {fixed_scale(factor)};
}

// Uses one multiplier for every column, and adds nothing.
void quantise_matrix_product(const Graph& graph, const Node& node, const op::MatrixProduct& product,
                             const Quantisation& first, const Quantisation& second,
                             const Quantisation& output, QuantisedNode& result) {
    const std::uint32_t columns = graph.values[node.output].channels;
    // The device divides such sums by 256 before it scales them.
    const double divided = first.is_int16 && second.is_int16 ? 256 : 1;
    result.bias.assign(columns, 0);
    result.requantise.assign(
        columns, fixed_scale(divided * first.scale * second.scale * product.factor / output.scale));
}

// Computes the constants that an operator needs beside the quantisations of its values; most need
// none.
class NodeQuantiser {
public:
    NodeQuantiser(const Graph& graph, const Node& node, const std::vector<Quantisation>& values,
                  const ChannelMeans& means, QuantisedNode& result)
        : graph_(graph), node_(node), input_(values[node.inputs[0]]), output_(values[node.output]),
          values_(values), means_(means), result_(result) {}

    void operator()(const op::Convolution& convolution) const {
        static const std::vector<double> no_means;
        quantise_weights(convolution, input_, output_,
                         means_.empty() ? no_means : means_[node_.inputs[0]], result_);
    }
    void operator()(const op::Pair& pair) const {
        if (pair.kind == op::Pair::Kind::multiply)
            quantise_product(input_, second(), output_, result_);
        else
            quantise_pair(input_, second(), output_, result_);
    }
    void operator()(const op::Pool& pool) const {
        if (pool.kind == op::Pool::Kind::average)
            quantise_average(pool, input_, output_, result_);
    }
    void operator()(const op::Activation& activation) const {
        quantise_function(node_, activation, input_, output_, result_);
    }
    void operator()(const op::MatrixProduct& product) const {
        quantise_matrix_product(graph_, node_, product, input_, second(), output_, result_);
    }
    void operator()(const op::Reduce& reduce) const {
        quantise_reduction(graph_, node_, reduce, input_, output_, result_);
    }
    void operator()(const auto&) const {}

private:
    const Quantisation& second() const { return values_[node_.inputs[1]]; }

    const Graph& graph_;
    const Node& node_;
    const Quantisation &input_, &output_;
    const std::vector<Quantisation>& values_;
    const ChannelMeans& means_;
    QuantisedNode& result_;
};

} // namespace

int Quantisation::nearest(float real) const {
    if (is_int16)
        return overtake::quantise_int16(real, scale);
    return overtake::quantise(real, scale, static_cast<float>(zero_point));
}

bool has_exact_weights(const op::Convolution& convolution, float input_scale) {
    const std::size_t each = convolution.weights.size() / convolution.bias.size();
    for (std::size_t channel = 0; channel < convolution.bias.size(); ++channel)
        if (each > 1 && !given_weight_scale(convolution, channel, each, {input_scale, 0}))
            return false;
    return true;
}

FixedScale fixed_scale(double real) {
    int exponent = 0;
    const float mantissa = std::frexp(static_cast<float>(real), &exponent);
    const int shift = 24 - exponent;
    if (!(real > 0) || shift < int{OVERTAKE_SHIFT_MIN})
        throw CompileError("quantisation",
                           "a scale of " + std::to_string(real) +
                               " cannot be expressed; check the calibration samples");
    const int kept = std::min(shift, int{OVERTAKE_SHIFT_MAX});
    return {static_cast<std::uint32_t>(std::nearbyint(std::ldexp(mantissa, 24 - shift + kept))),
            static_cast<std::uint32_t>(kept)};
}

std::vector<Quantisation> choose_quantisations(const Graph& graph,
                                               const std::vector<Range>& ranges) {
    std::vector<Quantisation> result;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value& value = graph.values[id];
        const Range range = value.is_constant() ? range_of(value.constant) : ranges[id];
        result.push_back(
            value.given.value_or(value.is_int16 ? int16_from_range(range) : from_range(range)));
    }
    widen_steps(graph, result);
    return result;
}

QuantisedGraph quantise(const Graph& graph, std::vector<Quantisation> values,
                        const ChannelMeans& means) {
    QuantisedGraph result;
    result.values = std::move(values);
    for (const Node& node : graph.nodes) {
        const Quantisation& input = result.values[node.inputs[0]];
        Quantisation& output = result.values[node.output];
        if (!node.on_bpu()) {
            result.nodes.emplace_back();
            continue;
        }
        if (keeps_quantisation(node))
            output = input;
        QuantisedNode quantised;
        quantised.clamp_min = output.nearest(node.clamp_low);
        quantised.clamp_max = output.nearest(node.clamp_high);
        try {
            std::visit(NodeQuantiser(graph, node, result.values, means, quantised), node.operation);
        } catch (const CompileError& error) {
            throw CompileError(describe(node), error.what());
        }
        result.nodes.push_back(std::move(quantised));
    }
    return result;
}

} // namespace overtake::compiler
