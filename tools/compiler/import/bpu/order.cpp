// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/order.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/import/partition.hpp"
#include "compiler/ir/layout.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

namespace {

std::vector<std::int64_t> same_axes(std::size_t rank) {
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

ValueId add_mover(Context& context, ValueId from, Value to, Operation operation) {
    Node node = new_node(context, std::move(operation));
    node.inputs = {from};
    context.graph.values.push_back(std::move(to));
    node.output = context.graph.values.size() - 1;
    add_node(context, std::move(node));
    return context.graph.values.size() - 1;
}

ValueId add_permute(Context& context, ValueId from, Value to, const Permutation& permutation) {
    return add_mover(context, from, std::move(to),
                     op::Permute{permutation.axes, permutation.batches});
}

// Makes a value of another shape, if the device can make it by copying.
ValueId reshaped(Context& context, const Reference& reference, Order order) {
    const Value value = value_of(context, reference);
    if (!is_on_device(context, reference.value) && writer_of(context, reference.value))
        return in_order(context, {with_own_shape(context, reference), reference.shape},
                        order); // the CPU has it
    for (Order possible : {order, order == Order::rows ? Order::planes : Order::rows}) {
        Value wanted{value.name + ":" + to_text(reference.shape), reference.shape};
        Value source = value;
        if (!lay_out(wanted, possible) || !source.fits_device())
            continue;
        if (source.batch * source.height * source.width == 1) // both orders are the same
            source.order = Order::rows;
        if (!can_reshape(source, wanted))
            continue;
        const ValueId made = add_mover(context, reference.value, std::move(wanted), op::Reshape{});
        return in_order(context, {made, reference.shape}, order);
    }
    Value wanted{value.name + ":" + to_text(reference.shape), reference.shape};
    if (value.fits_device() && lay_out(wanted, order))
        if (const auto permutation = image_permutation_of_same(value, wanted))
            return add_permute(context, reference.value, std::move(wanted), *permutation);
    // The CPU reshapes the value.  The data would move to the CPU, too, if the reader ran there.
    if (is_expensive(context.node->op_type()))
        return in_order(context, {with_own_shape(context, reference), reference.shape}, order);
    refuse(context, "reshaping " + to_text(value.shape) + " to " + to_text(reference.shape) +
                        " moves data in a way that the device cannot");
}

} // namespace

ValueId in_order(Context& context, const Reference& reference, Order order) {
    const Value value = value_of(context, reference);
    if (value.is_constant())
        refuse(context, "its operands must be computed");
    if (value.shape != reference.shape)
        return reshaped(context, reference, order);
    Value wanted = laid_out(context, value.name, reference.shape, order);
    const bool is_same = value.fits_device() && value.order == order;
    if (is_same || (value.fits_device() && value.batch * value.height * value.width == 1 &&
                    wanted.batch * wanted.height * wanted.width == 1))
        return reference.value;
    if (!is_on_device(context, reference.value)) {
        change_value(context, reference.value) = wanted;
        return reference.value;
    }
    const auto key = std::pair(reference.value, order);
    if (const auto known = context.reordered.find(key))
        return *known;
    const auto permutation =
        image_permutation_between(value, wanted, same_axes(value.shape.size()));
    const bool is_reshape = !permutation && can_reshape(value, wanted);
    if (!permutation && !is_reshape && is_expensive(context.node->op_type()))
        return in_order(
            context, cpu_node(context, {CpuOpType::dequantize, {}, {}}, {reference}, value.shape),
            order);
    if (!permutation && !is_reshape)
        refuse(context,
               "a tensor of shape " + to_text(value.shape) + " cannot be reordered on the device");
    wanted.name = value.name + (order == Order::rows ? ":rows" : ":planes");
    const ValueId made =
        permutation ? add_permute(context, reference.value, std::move(wanted), *permutation)
                    : add_mover(context, reference.value, std::move(wanted), op::Reshape{});
    context.reordered.add(key, made);
    return made;
}

ValueId transposed_matrix(Context& context, const Reference& reference) {
    const ValueId rows = in_order(context, reference, Order::rows);
    // A value that has just been transposed is in the right order.
    ValueId source = rows;
    std::array<std::size_t, 3> axes = {0, 2, 1};
    for (const Node* writer = writer_of(context, source); writer;
         writer = writer_of(context, source)) {
        const auto* permute = writer->as<op::Permute>();
        if (!permute || permute->batches != 1)
            break;
        for (std::size_t& axis : axes)
            axis = permute->axes[axis];
        source = writer->inputs[0];
    }
    if (axes == no_change)
        return source;
    Shape shape = reference.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return add_permute(context, source,
                       laid_out(context, context.node->name() + ":transposed", shape, Order::rows),
                       {axes, 1});
}

Reference image_input(Context& context, int index) {
    const Reference input = variable_input(context, index);
    if (input.shape.size() != 4 && input.shape.size() != 3)
        refuse(context, "a tensor of shape " + to_text(input.shape) +
                            " is neither (N, C, H, W) nor (N, C, W)");
    if (input.shape[0] > max_batch)
        refuse(context, "a tensor of shape " + to_text(input.shape) + " has a batch of more than " +
                            std::to_string(max_batch));
    return {in_order(context, input, Order::planes), input.shape};
}

} // namespace overtake::compiler
