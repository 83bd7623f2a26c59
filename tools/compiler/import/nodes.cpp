// SPDX-License-Identifier: MIT
#include "compiler/import/nodes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/ir/layout.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/ir/verify_graph.hpp"

namespace overtake::compiler {

namespace {

// Refuses weights that are not finite: the CPU computes with infinities and NaN, the device has no
// steps for them.
void check_finite(const Context& context, const op::Convolution& convolution) {
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (!std::ranges::all_of(convolution.weights, is_finite) ||
        !std::ranges::all_of(convolution.bias, is_finite))
        refuse(context, "its constants give numbers that are not finite; check them");
}

// Takes the scales of a constant as those of the node's outputs, if there are as many or one.
// Quantisation checks whether the weights are multiples of them.
void apply_given_weights(const Context& context, op::Convolution& convolution) {
    if (context.node->input_size() < 2 || convolution.weights.empty())
        return;
    const auto found = context.given.weights.find(context.node->input(1));
    if (found == context.given.weights.end())
        return;
    // The scales of a transposed convolution are along the outputs of one group.
    const std::vector<float>& scales = found->second;
    const bool repeats = context.node->op_type() == "ConvTranspose" && !scales.empty() &&
                         convolution.bias.size() % scales.size() == 0;
    if (!repeats && scales.size() != 1 && scales.size() != convolution.bias.size())
        return;
    const float factor =
        context.node->op_type() == "Gemm" ? Attributes(*context.node).real("alpha", 1) : 1;
    for (std::size_t output = 0; output < convolution.bias.size(); ++output)
        convolution.weight_scales.push_back(scales[output % scales.size()] * std::abs(factor));
}

// Counts one node more, or one less.
void count_uses(Context& context, const Node& node, int change) {
    const auto count = static_cast<std::size_t>(change); // -1 wraps, and so subtracts one
    if (node.on_bpu())
        context.uses[node.output].on_bpu += count;
    for (ValueId input : node.inputs)
        (node.on_bpu() ? context.uses[input].on_bpu : context.uses[input].read_by_cpu) += count;
}

} // namespace

void add_node(Context& context, Node node) {
    const std::string reason = check_node(context.graph, node);
    if (!reason.empty())
        refuse(context, reason);
    context.uses.resize(context.graph.values.size());
    context.uses[node.output].writer = context.graph.nodes.size();
    count_uses(context, node, 1);
    context.graph.nodes.push_back(std::move(node));
}

Value& change_value(Context& context, ValueId id) {
    Value& value = context.graph.values[id];
    if (id < context.marked_values)
        context.changed.emplace_back(id, value);
    return value;
}

bool is_on_device(const Context& context, ValueId value) {
    return value < context.uses.size() && context.uses[value].on_bpu > 0;
}

bool is_read_by_cpu(const Context& context, ValueId value) {
    return value < context.uses.size() && context.uses[value].read_by_cpu > 0;
}

const Node* writer_of(const Context& context, ValueId value) {
    if (value >= context.uses.size() || !context.uses[value].writer)
        return nullptr;
    return &context.graph.nodes[*context.uses[value].writer];
}

Mark mark(Context& context) {
    context.marked_values = context.graph.values.size();
    return {context.graph.nodes.size(), context.graph.values.size(), context.changed.size(),
            context.reordered.size(), context.copied.size()};
}

void take_back(Context& context, const Mark& mark) {
    Graph& graph = context.graph;
    for (; graph.nodes.size() > mark.nodes; graph.nodes.pop_back()) {
        count_uses(context, graph.nodes.back(), -1);
        context.uses[graph.nodes.back().output].writer.reset();
    }
    for (; context.changed.size() > mark.changed; context.changed.pop_back())
        graph.values[context.changed.back().first] = std::move(context.changed.back().second);
    graph.values.resize(mark.values);
    context.uses.resize(std::min(context.uses.size(), mark.values));
    context.reordered.shrink(mark.reordered);
    context.copied.shrink(mark.copied);
}

Value laid_out(const Context& context, const std::string& name, const Shape& shape, Order order) {
    check_size(context, name, shape);
    Value value{name, shape};
    if (!lay_out(value, order))
        refuse(context, "a tensor of shape " + to_text(shape) + " has no form on the device");
    return value;
}

ValueId add_value(Context& context, const std::string& name, const Shape& shape, Order order) {
    context.graph.values.push_back(laid_out(context, name, shape, order));
    return context.graph.values.size() - 1;
}

ValueId add_host_value(Context& context, const std::string& name, const Shape& shape) {
    check_size(context, name, shape);
    Value value{name, shape};
    if (!lay_out(value, shape.size() == 4 && shape[0] <= max_batch ? Order::planes : Order::rows))
        value.channels = value.height = value.width = 0;
    context.graph.values.push_back(std::move(value));
    return context.graph.values.size() - 1;
}

Node new_node(const Context& context, Operation operation) {
    Node node;
    node.name = node_name(context);
    node.onnx_type = context.node->op_type();
    node.operation = std::move(operation);
    return node;
}

void finish(Context& context, Node node, ValueId output) {
    if (auto* convolution = node.as<op::Convolution>()) {
        check_finite(context, *convolution);
        apply_given_weights(context, *convolution);
    }
    node.output = output;
    context.references[context.node->output(0)] = {output, context.graph.values[output].shape};
    add_node(context, std::move(node));
}

void finish_like(Context& context, const Reference& input, Node node) {
    const Shape shape = input.shape;
    if (!value_of(context, input).fits_device())
        refuse(context, "a tensor of shape " + to_text(shape) + " has no form on the device");
    node.inputs.insert(node.inputs.begin(), input.value);
    Value value = value_of(context, input);
    value.name = context.node->output(0);
    value.given.reset();
    context.graph.values.push_back(std::move(value));
    finish(context, std::move(node), context.graph.values.size() - 1);
    context.references[context.node->output(0)].shape = shape;
}

} // namespace overtake::compiler
