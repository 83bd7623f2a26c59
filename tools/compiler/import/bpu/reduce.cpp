// SPDX-License-Identifier: MIT
//
// ReduceMax, ReduceMean, ReduceMin and ReduceSum on the device.
#include "compiler/import/bpu/operators.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/global_pool.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/layout.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {

namespace {

bool contains(const std::vector<std::int64_t>& axes, std::size_t axis) {
    return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
}

// Returns the axes of the device that these axes of ONNX reduce: OVERTAKE_AXIS_*.
std::uint32_t reduced_on_device(const Context& context, const Value& value,
                                const std::vector<std::int64_t>& axes) {
    constexpr std::uint32_t bits[3] = {OVERTAKE_AXIS_HEIGHT, OVERTAKE_AXIS_WIDTH,
                                       OVERTAKE_AXIS_CHANNELS};
    if (value.batch > 1 && contains(axes, 0))
        refuse(context, "reduces over the images of a batch, which the device computes one by one");
    const auto parts = axes_of_dimensions(value);
    std::uint32_t result = 0;
    for (std::size_t dimension = 0; dimension < parts.size(); ++dimension) {
        bool any = false, all = true;
        for (std::size_t axis : parts[dimension])
            if (value.shape[axis] != 1)
                (contains(axes, axis) ? any : all) = contains(axes, axis);
        if (any && !all)
            refuse(context, "reduces a part of what is one dimension on the device");
        if (any)
            result |= bits[dimension];
    }
    return result;
}

} // namespace

void bpu_reduce(Context& context) {
    static const std::map<std::string, op::Reduce::Kind> kinds = {
        {"ReduceMax", op::Reduce::Kind::maximum},
        {"ReduceMean", op::Reduce::Kind::mean},
        {"ReduceMin", op::Reduce::Kind::minimum},
        {"ReduceSum", op::Reduce::Kind::sum},
    };
    const Reference input = variable_input(context, 0);
    const auto axes = reduced_axes(context, input.shape.size());
    const Shape shape = reduced_shape(context, input.shape, axes);
    Node node = new_node(context, op::Reduce{});
    auto& reduce = *node.as<op::Reduce>();
    reduce.kind = kinds.at(context.node->op_type());
    const ValueId source = in_order(context, input, value_of(context, input).order);
    const Value value = context.graph.values[source];
    const bool is_global = input.shape.size() == 4 && value.order == Order::planes &&
                           axes == std::vector<std::int64_t>{2, 3};
    if (is_global && reduce.kind == op::Reduce::Kind::mean)
        return add_global_pool(context, op::Pool::Kind::average,
                               Attributes(*context.node).integer("keepdims", 1) != 0);
    reduce.axes = reduced_on_device(context, value, axes);
    if (reduce.axes == 0) { // they have one element each
        context.references[context.node->output(0)] = {source, shape};
        return;
    }
    Shape kept = input.shape;
    for (std::int64_t axis : axes)
        kept[static_cast<std::size_t>(axis)] = 1;
    if (element_count(input.shape) / element_count(kept) > OVERTAKE_MAX_KERNEL_ELEMENTS)
        refuse(context, "reduces more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
                            " elements to one");
    node.inputs = {source};
    finish(context, std::move(node),
           add_value(context, context.node->output(0), kept, value.order));
    context.references[context.node->output(0)].shape = shape;
}

} // namespace overtake::compiler
