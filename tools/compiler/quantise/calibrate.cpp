// SPDX-License-Identifier: MIT
#include "compiler/quantise/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/float/executor.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/quantise/distinct_range.hpp"

namespace overtake::compiler {

namespace {

// Refuses a value that is NaN or infinite: 8 bits hold a range.
[[noreturn]] void refuse_infinity(const Graph& graph, ValueId id) {
    const auto writer =
        std::ranges::find_if(graph.nodes, [&](const Node& node) { return node.output == id; });
    if (writer == graph.nodes.end())
        throw CompileError("tensor '" + graph.values[id].name + "'",
                           "holds NaN or infinity in the calibration samples, which 8 bits cannot; "
                           "take those samples out");
    throw CompileError(
        describe(*writer),
        "gives NaN or infinity on the calibration samples, which 8 bits cannot hold; "
        "clip its input in the model, or run it and what reads it on the CPU with "
        "--run-on-cpu");
}

} // namespace

Calibration::Calibration(const Graph& graph, const Samples& samples, CalibrationMethod method,
                         const std::function<void(double)>& progress)
    : on_device_(device_values(graph)), is_int16_(graph.values.size()),
      histograms_(graph.values.size()), functions_(graph.values.size()),
      is_output_(graph.values.size()), least_(graph.values.size()), means_(graph.values.size()) {
    for (ValueId id = 0; id < graph.values.size(); ++id)
        is_int16_[id] = graph.values[id].is_int16;
    find_functions(graph);
    find_outputs(graph);
    find_bounded(graph);
    FloatExecutor executor(graph);
    const int passes = method == CalibrationMethod::min_max ? 1 : 2;
    double done = 0;
    progress(done);
    for (int pass = 0; pass < passes; ++pass)
        for (const FloatValues& sample : samples) {
            const auto look = [&](ValueId id, const std::vector<float>& value) {
                if (!on_device_[id])
                    return;
                if (pass == 1)
                    histograms_[id].count(value);
                else if (!histograms_[id].look(value))
                    refuse_infinity(graph, id);
                else
                    add_means(graph.values[id], value, samples.size(), means_[id]);
            };
            executor.run_in_little_memory({sample.begin(), sample.end()}, look);
            progress(++done / static_cast<double>(passes * samples.size()));
        }
}

// Finds values that only a function reads.  Such a value needs no more precision than the results
// of the function.
void Calibration::find_functions(const Graph& graph) {
    const std::vector<std::size_t> uses = count_uses(graph);
    for (const Node& node : graph.nodes)
        if (const auto* activation = node.as<op::Activation>();
            activation && activation->function && uses[node.inputs[0]] == 1)
            functions_[node.inputs[0]] = [function = activation->function, low = node.clamp_low,
                                          high = node.clamp_high](float x) {
                return std::clamp(function(x), low, high);
            };
}

void Calibration::find_outputs(const Graph& graph) {
    const auto only_moves = [](const Node& node) {
        const auto* cpu = node.as<op::Cpu>();
        return keeps_quantisation(node) ||
               (cpu && (cpu->type == CpuOpType::view || cpu->type == CpuOpType::concat ||
                        cpu->type == CpuOpType::dequantize));
    };
    for (ValueId output : graph.outputs)
        is_output_[output] = true;
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
        if (is_output_[node->output] && only_moves(*node))
            for (ValueId input : node->inputs)
                is_output_[input] = true;
}

// Finds the functions between two bounds that classifiers and detectors end with.
void Calibration::find_bounded(const Graph& graph) {
    struct BoundedFunction {
        const char* name;
        float (*function)(float);
        Range values, arguments; // arguments that 8 bits distinguish
    };
    static constexpr BoundedFunction all[] = {
        {"Sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); }, {0, 1}, {-6.25f, 6.25f}},
        {"Tanh", [](float x) { return std::tanh(x); }, {-1, 1}, {-3.2f, 3.2f}},
    };
    const auto is_same = [](const std::function<float(float)>& one, float (*other)(float)) {
        return std::ranges::all_of(std::array{-5.0f, -1.5f, -0.25f, 0.0f, 0.5f, 2.0f},
                                   [&](float x) { return std::abs(one(x) - other(x)) < 1e-4f; });
    };
    for (const Node& node : graph.nodes) {
        const auto* activation = node.as<op::Activation>();
        if (!activation || !activation->function || node.is_clamped() || !is_output_[node.output])
            continue;
        for (const BoundedFunction& bounded : all)
            if (is_same(activation->function, bounded.function)) {
                bounded_.push_back({node.output, bounded.name});
                least_[node.output] = bounded.values;
                if (functions_[node.inputs[0]])
                    least_[node.inputs[0]] = bounded.arguments;
            }
    }
}

// Returns the range with the least divergence.  For an output, returns all values if they give a
// smaller squared error: divergence ignores how large an error is, so it would saturate the few
// elements that matter if nearly all others are at one end.
Range Calibration::least_divergence(ValueId id) const {
    const Histogram& histogram = histograms_[id];
    const Range range = histogram.least_divergence(), all = histogram.min_max();
    if (is_output_[id] && histogram.squared_error(range) > histogram.squared_error(all))
        return all;
    return range;
}

// Adds a part to the mean of each channel.
void Calibration::add_means(const Value& value, const std::vector<float>& data, std::size_t samples,
                            std::vector<double>& means) {
    const std::size_t pixels = std::size_t{value.height} * value.width;
    const std::size_t image = value.elements_of_image();
    if (value.batch * image != data.size())
        return;
    means.resize(value.channels);
    for (std::size_t channel = 0; channel < value.channels; ++channel) {
        double sum = 0;
        for (std::size_t first = 0; first < data.size(); first += image)
            for (std::size_t pixel = 0; pixel < pixels; ++pixel)
                sum += data[first + (value.order == Order::rows ? pixel * value.channels + channel
                                                                : channel * pixels + pixel)];
        means[channel] += sum / static_cast<double>(value.batch * pixels * samples);
    }
}

float Calibration::greatest(ValueId id) const {
    const Range range = histograms_[id].min_max();
    return std::max(std::abs(range.low), std::abs(range.high));
}

Range Calibration::range(ValueId id, CalibrationMethod method, double percentile) const {
    const Histogram& histogram = histograms_[id];
    Range range{0, 0};
    if (!on_device_[id])
        return range;
    switch (is_int16_[id] ? CalibrationMethod::min_max : method) {
    case CalibrationMethod::min_max:
    case CalibrationMethod::best:
        range = histogram.min_max();
        break;
    case CalibrationMethod::percentile:
        range = histogram.percentile(percentile);
        break;
    case CalibrationMethod::mse:
        range = histogram.least_error(functions_[id]);
        break;
    case CalibrationMethod::kl:
        range = least_divergence(id);
        break;
    }
    if (least_[id].low < least_[id].high)
        range = {std::min(range.low, least_[id].low), std::max(range.high, least_[id].high)};
    return functions_[id] && !is_int16_[id] ? distinct_range(range, functions_[id]) : range;
}

std::vector<Range> Calibration::ranges(CalibrationMethod method, double percentile) const {
    std::vector<Range> result;
    for (ValueId id = 0; id < histograms_.size(); ++id)
        result.push_back(range(id, method, percentile));
    return result;
}

} // namespace overtake::compiler
