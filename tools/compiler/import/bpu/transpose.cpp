// SPDX-License-Identifier: MIT
//
// Transpose on the device.
#include "compiler/import/bpu/operators.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/layout.hpp"

namespace overtake::compiler {

namespace {

// A transposition that needs more instructions than this goes to the CPU.
constexpr std::int64_t max_batches = 64;

// A transposition without axes of 1, where axes that stay together are joined: the sizes in the
// input's order, and the input axis of each axis of the output.
struct Groups {
    Shape sizes;
    std::vector<std::int64_t> perm;
};

Groups groups_of(const Shape& shape, const std::vector<std::int64_t>& perm) {
    std::vector<std::int64_t> axes; // in the output's order
    for (std::int64_t axis : perm)
        if (shape[static_cast<std::size_t>(axis)] != 1)
            axes.push_back(axis);
    const auto next = [&](std::int64_t axis) {
        do
            ++axis;
        while (axis < std::ssize(shape) && shape[static_cast<std::size_t>(axis)] == 1);
        return axis;
    };
    std::vector<std::pair<std::int64_t, std::int64_t>> groups; // first axis, elements
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t size = shape[static_cast<std::size_t>(axes[i])];
        if (i > 0 && axes[i] == next(axes[i - 1]))
            groups.back().second *= size;
        else
            groups.emplace_back(axes[i], size);
    }
    auto sorted = groups;
    std::ranges::sort(sorted);
    Groups result;
    for (const auto& group : sorted)
        result.sizes.push_back(group.second);
    for (const auto& group : groups)
        result.perm.push_back(std::ranges::find(sorted, group) - sorted.begin());
    return result;
}

// Transposes more axes than the device has, if some stay together.  If the first may stay where it
// is, each of its elements is permuted on its own.
bool transpose_groups(Context& context, const Reference& input,
                      const std::vector<std::int64_t>& perm, const Shape& shape) {
    Groups groups = groups_of(input.shape, perm);
    if (groups.sizes.size() < 2) {
        context.references[context.node->output(0)] = {input.value, shape};
        return true;
    }
    Node node = new_node(context, op::Permute{});
    auto& permute = *node.as<op::Permute>();
    if (groups.sizes.size() == 4 && groups.perm[0] == 0 && groups.sizes[0] <= max_batches) {
        permute.batches = static_cast<std::uint32_t>(groups.sizes[0]);
        groups.sizes.erase(groups.sizes.begin());
        groups.perm.erase(groups.perm.begin());
        for (std::int64_t& axis : groups.perm)
            --axis;
    }
    while (groups.sizes.size() < 3) {
        groups.sizes.insert(groups.sizes.begin(), 1);
        for (std::int64_t& axis : groups.perm)
            ++axis;
        groups.perm.insert(groups.perm.begin(), 0);
    }
    if (groups.sizes.size() > 3)
        return false;
    Shape from = groups.sizes, to;
    for (std::size_t k = 0; k < 3; ++k) {
        permute.axes[k] = static_cast<std::size_t>(groups.perm[k]);
        to.push_back(from[permute.axes[k]]);
    }
    from[0] *= permute.batches;
    to[0] *= permute.batches;
    node.inputs = {in_order(context, {input.value, from}, Order::rows)};
    Value target = laid_out(context, context.node->output(0), to, Order::rows);
    Value wanted{context.node->output(0), shape};
    if (lay_out(wanted, Order::rows))
        if (const auto rest = permutation_of_same(target, wanted);
            rest && (permute.batches == 1 || *rest == no_change)) {
            const auto axes = permute.axes;
            for (std::size_t k = 0; k < 3; ++k)
                permute.axes[k] = axes[(*rest)[k]];
            target = std::move(wanted);
        }
    context.graph.values.push_back(std::move(target));
    finish(context, std::move(node), context.graph.values.size() - 1);
    context.references[context.node->output(0)].shape =
        shape; // a node that reads the device's shape reshapes it
    return true;
}

} // namespace

// Imports a Transpose.  Often the bytes stay where they are, and only their shape changes.
void bpu_transpose(Context& context) {
    const Reference input = variable_input(context, 0);
    const auto perm = permutation(context, input.shape.size());
    Shape shape;
    for (std::int64_t axis : perm)
        shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
    if (!value_of(context, input).fits_device())
        refuse(context, "a tensor of shape " + to_text(input.shape) + " has no form on the device");
    std::optional<ValueId> from;
    // If this fails, fewer axes may do.
    refusal_of([&] { from = in_order(context, input, value_of(context, input).order); });
    std::optional<std::pair<Value, Permutation>> chosen;
    for (Order order : {Order::rows, Order::planes}) {
        Value wanted{context.node->output(0), shape};
        if (!from || !lay_out(wanted, order))
            continue;
        const Value& source = context.graph.values[*from];
        if (chosen && source.batch == 1 && wanted.batch > 1)
            continue; // rows stay rows
        const auto permutation = image_permutation_between(source, wanted, perm);
        if (permutation && (!chosen || permutation->axes == no_change))
            chosen = {std::move(wanted), *permutation};
    }
    if (!chosen && transpose_groups(context, input, perm, shape))
        return;
    if (!chosen)
        refuse(context, "from " + to_text(input.shape) + " to " + to_text(shape) +
                            " has no form on the device");
    Node node = new_node(context, op::Permute{chosen->second.axes, chosen->second.batches});
    node.inputs = {*from};
    context.graph.values.push_back(std::move(chosen->first));
    finish(context, std::move(node), context.graph.values.size() - 1);
}

} // namespace overtake::compiler
