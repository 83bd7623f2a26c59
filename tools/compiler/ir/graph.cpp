// SPDX-License-Identifier: MIT
#include "compiler/ir/graph.hpp"

#include <algorithm>
#include <utility>

#include "compiler/ir/error.hpp"
#include "cpu/onednn.hpp"

namespace overtake::compiler {

namespace {

std::uint64_t macs(const Graph& graph, const Node& node, const op::Convolution& convolution) {
    const Value &input = graph.values[node.inputs[0]], &output = graph.values[node.output];
    const std::uint64_t window = convolution.window.positions();
    switch (convolution.kind) {
    case op::Convolution::Kind::depthwise:
        return output.elements() * window;
    case op::Convolution::Kind::transposed:
        return input.elements() * window * (output.channels / convolution.groups);
    default:
        return output.elements() * window * (input.channels / convolution.groups);
    }
}

std::uint64_t macs(const Graph& graph, const Node& node, const op::MatrixProduct&) {
    return graph.values[node.output].elements() * graph.values[node.inputs[0]].channels;
}

std::uint64_t macs(const Graph& graph, const Node& node, const op::Cpu& cpu) {
    if (cpu.type == CpuOpType::recurrence) {
        // Counts each weight, of inputs and states, for each step and each entry of the batch.
        const auto& x = graph.values[node.inputs[0]].shape;
        return static_cast<std::uint64_t>(x[0] * x[1]) *
               (graph.values[node.inputs[1]].elements() + graph.values[node.inputs[2]].elements());
    }
    const bool is_product = cpu.type == CpuOpType::matrix_product;
    if (!is_product && cpu.type != CpuOpType::convolution)
        return 0;
    const Value &output = graph.values[node.output], &first = graph.values[node.inputs[0]];
    if (is_product)
        return output.elements() * static_cast<std::uint64_t>(first.shape.back());
    // The weights are (output channels, input channels / groups, window...); for a transposed
    // convolution, (input channels, output channels / groups, window...).
    const Value& weights = graph.values[node.inputs[1]];
    const bool is_transposed = cpu.integers[0] != 0;
    return (is_transposed ? first : output).elements() * weights.elements() /
           static_cast<std::uint64_t>(weights.shape[0]);
}

template <typename Other>
std::uint64_t macs(const Graph&, const Node&, const Other&) {
    return 0;
}

} // namespace

bool is_depthwise(const Node& node) {
    const auto* convolution = node.as<op::Convolution>();
    return convolution && convolution->kind == op::Convolution::Kind::depthwise;
}

std::uint32_t images_of(const Graph& graph, const Node& node) {
    if (node.is<op::Reshape>() || node.is<op::Cpu>())
        return 1;
    const auto* permute = node.as<op::Permute>();
    std::uint32_t images =
        std::max(permute ? permute->batches : 1, graph.values[node.output].batch);
    for (ValueId input : node.inputs)
        images = std::max(images, graph.values[input].batch);
    return images;
}

std::uint64_t multiply_accumulates(const Graph& graph, const Node& node) {
    return std::visit([&](const auto& operation) { return macs(graph, node, operation); },
                      node.operation);
}

std::vector<Whole> wholes_of(const Graph& graph, const std::string& name) {
    std::vector<Whole> wholes;
    std::set<std::string> seen;
    std::vector<std::string> left = {name};
    while (!left.empty()) {
        const std::string part = std::move(left.back());
        left.pop_back();
        if (!seen.insert(part).second)
            continue;
        const auto [first, last] = graph.wholes.equal_range(part);
        for (auto each = first; each != last; ++each) {
            wholes.push_back(each->second);
            left.push_back(each->second.name);
        }
    }
    return wholes;
}

bool keeps_quantisation(const Node& node) {
    return std::visit(Overloaded{
                          [](const op::Convolution&) { return false; },
                          [](const op::Pair&) { return false; },
                          [](const op::Pool& pool) { return pool.kind == op::Pool::Kind::maximum; },
                          [](const op::Activation&) { return false; },
                          [](const op::MatrixProduct&) { return false; },
                          [](const op::Reduce& reduce) {
                              return reduce.kind == op::Reduce::Kind::maximum ||
                                     reduce.kind == op::Reduce::Kind::minimum;
                          },
                          [](const op::Cpu&) { return false; },
                          [](const auto&) { return true; }, // only moves elements
                      },
                      node.operation);
}

bool gathers_quantisation(const Node& node) {
    const auto* pad = node.as<op::Pad>();
    return node.is<op::Concat>() || (pad && pad->mode == op::Pad::Mode::constant && pad->fill != 0);
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
    const auto& form = std::get<op::Cpu>(node.operation);
    cpu::Operation operation{form.type, form.integers,         form.reals,
                             {},        shape_of(node.output), form.custom};
    for (ValueId input : node.inputs) {
        operation.inputs.push_back(shape_of(input));
        operation.known.emplace_back(graph.values[input].constant);
    }
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
        // oneDNN's threads spin while they wait for the next product.
        const cpu::onednn::Threads threads;
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

std::vector<std::vector<std::size_t>> readers_of(const Graph& graph) {
    std::vector<std::vector<std::size_t>> readers(graph.values.size());
    for (std::size_t index = 0; index < graph.nodes.size(); ++index)
        for (const ValueId input : graph.nodes[index].inputs)
            if (readers[input].empty() || readers[input].back() != index)
                readers[input].push_back(index);
    return readers;
}

} // namespace overtake::compiler
