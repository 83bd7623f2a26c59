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

std::size_t product(Shape::const_iterator first, Shape::const_iterator last) {
    std::size_t count = 1;
    for (; first != last; ++first)
        count *= static_cast<std::size_t>(*first);
    return count;
}

Decision along(std::size_t output, const Shape& shape, std::size_t axis) {
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    return {output, product(shape.begin(), at), static_cast<std::size_t>(*at),
            product(at + 1, shape.end())};
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

// Negative ones count from the last dimension, as in ONNX.
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
    return along(*output, shape, axis);
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
        const ValueId id = graph.outputs[output];
        const auto writer = std::ranges::find(graph.nodes, id, &Node::output);
        const auto* form = writer == graph.nodes.end() ? nullptr : writer->as<op::Cpu>();
        if (!form || (form->type != CpuOpType::softmax && form->type != CpuOpType::log_softmax) ||
            std::ranges::find(decisions, output, &Decision::output) != decisions.end())
            continue;
        const auto axis = static_cast<std::size_t>(form->integers.at(0));
        if (graph.values[id].shape[axis] > 1)
            decisions.push_back(along(output, graph.values[id].shape, axis));
    }
    return decisions;
}

} // namespace overtake::compiler
