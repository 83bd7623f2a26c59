// SPDX-License-Identifier: MIT
#include "compiler/ir/graph.hpp"

#include "compiler/ir/error.hpp"

namespace overtake::compiler {

namespace {

std::uint64_t macs_on_cpu(const Graph& graph, const Node& node) {
    const bool is_product = node.cpu.type == CpuOpType::matrix_product;
    if (!is_product && node.cpu.type != CpuOpType::convolution)
        return 0;
    const Value &output = graph.values[node.output], &first = graph.values[node.inputs[0]];
    if (is_product)
        return output.elements() * static_cast<std::uint64_t>(first.shape.back());
    // Weights (channels of what windows are, channels of what they look at / groups, window...).
    const Value& weights = graph.values[node.inputs[1]];
    const bool is_transposed = node.cpu.integers[0] != 0;
    return (is_transposed ? first : output).elements() * weights.elements() /
           static_cast<std::uint64_t>(weights.shape[0]);
}

} // namespace

std::uint64_t multiply_accumulates(const Graph& graph, const Node& node) {
    const Value& output = graph.values[node.output];
    const std::uint64_t window =
        std::uint64_t{node.window.kernel_height} * node.window.kernel_width;
    switch (node.op) {
    case Operator::convolution:
        return output.elements() * window * (graph.values[node.inputs[0]].channels / node.groups);
    case Operator::depthwise:
        return output.elements() * window;
    case Operator::transposed_convolution:
        return graph.values[node.inputs[0]].elements() * window * (output.channels / node.groups);
    case Operator::matrix_product:
        return output.elements() * graph.values[node.inputs[0]].channels;
    case Operator::cpu:
        return macs_on_cpu(graph, node);
    default:
        return 0;
    }
}

bool keeps_quantisation(const Node& node) {
    switch (node.op) {
    case Operator::max_pool:
    case Operator::copy:
    case Operator::concat:
    case Operator::slice:
    case Operator::permute:
    case Operator::pad:
    case Operator::depth_to_space:
    case Operator::space_to_depth:
    case Operator::broadcast:
    case Operator::reshape:
    case Operator::resize_nearest:
    case Operator::resize_bilinear:
        return true;
    case Operator::reduce:
        return node.reduction == ReduceKind::maximum || node.reduction == ReduceKind::minimum;
    default:
        return false;
    }
}

bool gathers_quantisation(const Node& node) {
    return node.op == Operator::concat ||
           (node.op == Operator::pad && node.padding.mode == Padding::Mode::constant &&
            node.padding.fill != 0);
}

std::string describe(const Node& node) {
    return "node '" + node.name + "' (" + node.onnx_type + ")";
}

cpu::Operation cpu_operation(const Graph& graph, const Node& node) {
    // The CPU's scalars have one dimension.
    const auto shape_of = [&](ValueId id) {
        const auto& shape = graph.values[id].shape;
        return shape.empty() ? cpu::Shape{1} : cpu::Shape(shape.begin(), shape.end());
    };
    cpu::Operation operation{
        node.cpu.type, node.cpu.integers, node.cpu.reals, {}, shape_of(node.output)};
    for (ValueId input : node.inputs)
        operation.inputs.push_back(shape_of(input));
    return operation;
}

cpu::Kernel cpu_kernel(const Graph& graph, const Node& node) {
    const auto explain = [name = describe(node)](const auto& step) {
        try {
            return step();
        } catch (const Error& error) {
            throw CompileError(name, error.what());
        }
    };
    cpu::Kernel kernel = explain([&] { return cpu::make_kernel(cpu_operation(graph, node)); });
    return [explain, kernel](const cpu::Inputs& inputs, std::span<float> out) {
        explain([&] { kernel(inputs, out); });
    };
}

std::vector<bool> device_values(const Graph& graph) {
    std::vector<bool> touched(graph.values.size());
    for (const Node& node : graph.nodes)
        if (node.on_bpu()) {
            touched[node.output] = true;
            for (ValueId input : node.inputs)
                touched[input] = true;
        }
    return touched;
}

std::vector<std::size_t> count_uses(const Graph& graph) {
    std::vector<std::size_t> uses(graph.values.size());
    for (const Node& node : graph.nodes)
        for (ValueId input : node.inputs)
            ++uses[input];
    for (ValueId output : graph.outputs)
        ++uses[output];
    return uses;
}

} // namespace overtake::compiler
