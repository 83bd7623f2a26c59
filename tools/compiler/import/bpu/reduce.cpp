// SPDX-License-Identifier: MIT
//
// Reductions on the device.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <map>

#include "compiler/ir/layout.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

bool contains(const std::vector<std::int64_t>& axes, std::size_t axis) {
    return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
}

} // namespace

// Which axes of the device go if these of ONNX do: OVERTAKE_AXIS_*.
std::uint32_t Importer::reduced_on_device(const Value& value,
                                          const std::vector<std::int64_t>& axes) const {
    constexpr std::uint32_t bits[3] = {OVERTAKE_AXIS_HEIGHT, OVERTAKE_AXIS_WIDTH,
                                       OVERTAKE_AXIS_CHANNELS};
    const auto parts = axes_of_dimensions(value);
    std::uint32_t result = 0;
    for (std::size_t dimension = 0; dimension < parts.size(); ++dimension) {
        bool any = false, all = true;
        for (std::size_t axis : parts[dimension])
            if (value.shape[axis] != 1)
                (contains(axes, axis) ? any : all) = contains(axes, axis);
        if (any && !all)
            refuse("reduces a part of what is one dimension on the device");
        if (any)
            result |= bits[dimension];
    }
    return result;
}

void Importer::reduce() {
    static const std::map<std::string, ReduceKind> kinds = {
        {"ReduceMax", ReduceKind::maximum},
        {"ReduceMean", ReduceKind::mean},
        {"ReduceMin", ReduceKind::minimum},
        {"ReduceSum", ReduceKind::sum},
    };
    const Reference input = variable_input(0);
    const auto axes = reduced_axes(input.shape.size());
    const Shape shape = reduced_shape(input.shape, axes);
    Node node = new_node(Operator::reduce);
    node.reduction = kinds.at(node_->op_type());
    const ValueId source = in_order(input, value_of(input).order);
    const Value value = graph_.values[source];
    const bool is_global = input.shape.size() == 4 && value.order == Order::planes &&
                           axes == std::vector<std::int64_t>{2, 3};
    if (is_global && node.reduction == ReduceKind::mean)
        return add_global_pool(Operator::average_pool,
                               Attributes(*node_).integer("keepdims", 1) != 0);
    node.reduced_axes = reduced_on_device(value, axes);
    if (node.reduced_axes == 0) { // of one element each
        references_[node_->output(0)] = {source, shape};
        return;
    }
    Shape kept = input.shape;
    for (std::int64_t axis : axes)
        kept[static_cast<std::size_t>(axis)] = 1;
    if (element_count(input.shape) / element_count(kept) > OVERTAKE_MAX_KERNEL_ELEMENTS)
        refuse("reduces more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
               " elements to one");
    node.inputs = {source};
    finish(std::move(node), add_value(node_->output(0), kept, value.order));
    references_[node_->output(0)].shape = shape;
}

} // namespace overtake::compiler
