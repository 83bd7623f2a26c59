// SPDX-License-Identifier: MIT
#include "compiler/inputs/decisions.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

using Shape = std::vector<std::int64_t>;

/// Scores of more boxes or pixels than this are no decisions: most of them are far below 1/2.
constexpr std::size_t most_chances = 16;

std::size_t product(Shape::const_iterator first, Shape::const_iterator last) {
    std::size_t count = 1;
    for (; first != last; ++first)
        count *= static_cast<std::size_t>(*first);
    return count;
}

Decision along(const Graph& graph, std::size_t output, ValueId value, std::size_t axis) {
    const Shape& shape = graph.values[value].shape;
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    return {output, value, product(shape.begin(), at), static_cast<std::size_t>(*at),
            product(at + 1, shape.end())};
}

// Returns the operator on the CPU that makes a value; null if one on the BPU makes it, or none.
const Node* cpu_writer_of(const Graph& graph, ValueId value) {
    const auto writer = std::ranges::find(graph.nodes, value, &Node::output);
    return writer == graph.nodes.end() || writer->on_bpu() ? nullptr : &*writer;
}

// Returns the Softmax or LogSoftmax on the CPU that makes an output, directly or by way of views of
// all its elements; null if there is none.
const Node* softmax_of(const Graph& graph, ValueId output) {
    const Node* writer = cpu_writer_of(graph, output);
    while (writer && (writer->as<op::Cpu>()->type == CpuOpType::view ||
                      writer->as<op::Cpu>()->type == CpuOpType::dequantize)) {
        const ValueId input = writer->inputs.at(0);
        if (graph.values[input].elements() != graph.values[writer->output].elements())
            return nullptr;
        writer = cpu_writer_of(graph, input);
    }
    if (!writer || (writer->as<op::Cpu>()->type != CpuOpType::softmax &&
                    writer->as<op::Cpu>()->type != CpuOpType::log_softmax))
        return nullptr;
    return writer;
}

bool is_rearrangement(const Node& node) {
    if (const auto* on_cpu = node.as<op::Cpu>())
        return on_cpu->type == CpuOpType::view || on_cpu->type == CpuOpType::dequantize;
    return node.is<op::Reshape>() || node.is<op::Copy>();
}

// Whether Sigmoid makes an output, directly or by way of views of all its elements.
bool is_chance(const Graph& graph, ValueId output) {
    const auto writer = std::ranges::find(graph.nodes, output, &Node::output);
    if (writer == graph.nodes.end())
        return false;
    if (!is_rearrangement(*writer))
        return writer->onnx_type == "Sigmoid";
    const ValueId input = writer->inputs.at(0);
    return graph.values[input].elements() == graph.values[output].elements() &&
           is_chance(graph, input);
}

// Whether a value is a sum of products that nothing limits, as it is or in another shape.
bool is_linear(const Graph& graph, ValueId value) {
    const auto writer = std::ranges::find(graph.nodes, value, &Node::output);
    if (writer == graph.nodes.end() || writer->is_clamped())
        return false;
    if (is_rearrangement(*writer))
        return is_linear(graph, writer->inputs.at(0));
    return writer->is<op::Convolution>() || writer->is<op::MatrixProduct>() ||
           writer->onnx_type == "Gemm" || writer->onnx_type == "MatMul";
}

std::optional<std::size_t> find_output(const Graph& graph, const std::string& name) {
    for (std::size_t output = 0; output < graph.outputs.size(); ++output)
        if (graph.values[graph.outputs[output]].name == name)
            return output;
    return std::nullopt;
}

std::string names_of_outputs(const Graph& graph) {
    std::string text;
    for (const ValueId output : graph.outputs)
        text += (text.empty() ? "'" : ", '") + graph.values[output].name + "'";
    return text;
}

// Negative axes count from the last dimension, as in ONNX.
std::size_t read_axis(const std::string& place, const std::string& text, const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t axis = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
    if (error != std::errc() || end != text.data() + text.size() || axis < -rank || axis >= rank)
        throw CompileError(
            place, rank == 0 ? "the output has no axes"
                             : fmt::format("the axis is not one of {} to {}", -rank, rank - 1));
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

Decision read_decision(const std::string& argument, const Graph& graph) {
    const std::string place = "--decisions " + argument;
    std::optional<std::size_t> output = find_output(graph, argument);
    const std::size_t equals = argument.rfind('=');
    const bool has_axis = !output && equals != std::string::npos;
    if (has_axis)
        output = find_output(graph, argument.substr(0, equals));
    if (!output)
        throw CompileError(place, "the model has no output '" + argument.substr(0, equals) +
                                      "'; it has " + names_of_outputs(graph));
    const Shape& shape = graph.values[graph.outputs[*output]].shape;
    const bool has_channels = shape.size() == 2 || shape.size() == 4;
    const std::size_t axis = read_axis(place,
                                       has_axis       ? argument.substr(equals + 1)
                                       : has_channels ? "1"
                                                      : "-1",
                                       shape);
    if (shape[axis] < 2)
        throw CompileError(place,
                           fmt::format("the output has one number along axis {}, so there is "
                                       "nothing to decide",
                                       axis));
    return along(graph, *output, graph.outputs[*output], axis);
}

} // namespace

std::vector<Decision> read_decisions(const std::vector<std::string>& arguments,
                                     const Graph& graph) {
    std::vector<Decision> decisions;
    for (const std::string& argument : arguments) {
        const Decision decision = read_decision(argument, graph);
        if (std::ranges::find(decisions, decision.output, &Decision::output) != decisions.end())
            throw CompileError("--decisions " + argument, "the output is named twice");
        decisions.push_back(decision);
    }
    for (std::size_t output = 0; output < graph.outputs.size(); ++output) {
        const ValueId value = graph.outputs[output];
        if (std::ranges::find(decisions, output, &Decision::output) != decisions.end())
            continue;
        const std::size_t elements = graph.values[value].elements();
        if (elements <= most_chances && is_chance(graph, value))
            decisions.push_back({output, value, elements, 1, 1});
        const Node* softmax = softmax_of(graph, value);
        if (!softmax)
            continue;
        const auto axis = static_cast<std::size_t>(softmax->as<op::Cpu>()->integers.at(0));
        if (graph.values[softmax->output].shape.at(axis) > 1)
            decisions.push_back(along(graph, output, softmax->output, axis));
    }
    return decisions;
}

std::vector<Decision> possible_logits(const Graph& graph, const std::vector<Decision>& known) {
    std::vector<Decision> decisions;
    for (std::size_t output = 0; output < graph.outputs.size(); ++output) {
        const Shape& shape = graph.values[graph.outputs[output]].shape;
        if (shape.size() < 2 || std::ranges::find(known, output, &Decision::output) != known.end())
            continue;
        const auto axis = static_cast<std::size_t>(
            std::max_element(shape.begin() + 1, shape.end()) - shape.begin());
        const Decision decision = along(graph, output, graph.outputs[output], axis);
        const bool is_vector = product(shape.begin() + 1, shape.end()) == decision.choices;
        if (is_vector && decision.choices > 1 && is_linear(graph, decision.value))
            decisions.push_back(decision);
    }
    return decisions;
}

} // namespace overtake::compiler
