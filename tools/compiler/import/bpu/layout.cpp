// SPDX-License-Identifier: MIT
//
// Values in the order that an operator of the device wants, and Transpose.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/ir/error.hpp"
#include "compiler/ir/layout.hpp"

namespace overtake::compiler {
namespace {

std::vector<std::int64_t> same_axes(std::size_t rank) {
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

constexpr std::array<std::size_t, 3> no_change = {0, 1, 2};
// More instructions than these for one transposition are left to the CPU.
constexpr std::int64_t max_batches = 64;

} // namespace

bool Importer::is_on_device(ValueId value) const {
    return std::ranges::any_of(graph_.nodes, [&](const Node& node) {
        return node.on_bpu() &&
               (node.output == value || std::ranges::find(node.inputs, value) != node.inputs.end());
    });
}

const Node* Importer::writer_of(ValueId value) const {
    const auto found =
        std::ranges::find_if(graph_.nodes, [&](const Node& node) { return node.output == value; });
    return found == graph_.nodes.end() ? nullptr : &*found;
}

ValueId Importer::add_permute(ValueId from, Value to, const std::array<std::size_t, 3>& axes) {
    Node node = new_node(Operator::permute);
    node.inputs = {from};
    node.axes = axes;
    graph_.values.push_back(std::move(to));
    node.output = graph_.values.size() - 1;
    graph_.nodes.push_back(std::move(node));
    return graph_.values.size() - 1;
}

// The value that a reference stands for, with its shape and in an order; made if it is not there.
ValueId Importer::in_order(const Reference& reference, Order order) {
    const Value value = value_of(reference);
    if (value.is_constant())
        refuse("its operands must be computed");
    if (value.shape != reference.shape)
        return reshaped(reference, order);
    Value wanted = laid_out(value.name, reference.shape, order);
    const bool is_same = value.fits_device() && value.order == order;
    if (is_same || (value.fits_device() && value.height * value.width == 1 &&
                    wanted.height * wanted.width == 1))
        return reference.value;
    if (!is_on_device(reference.value)) {
        graph_.values[reference.value] = wanted;
        return reference.value;
    }
    const auto key = std::pair(reference.value, order);
    if (const auto known = reordered_.find(key); known != reordered_.end())
        return known->second;
    const auto axes = permutation_between(value, wanted, same_axes(value.shape.size()));
    if (!axes && is_expensive(node_->op_type()))
        return in_order(cpu_node({CpuOpType::dequantize, {}, {}}, {reference}, value.shape), order);
    if (!axes)
        refuse("a tensor of shape " + to_text(value.shape) + " cannot be reordered on the device");
    wanted.name = value.name + (order == Order::rows ? ":rows" : ":planes");
    const ValueId made = add_permute(reference.value, std::move(wanted), *axes);
    reordered_[key] = made;
    return made;
}

// A value of another shape that the device can give it by copying.
ValueId Importer::reshaped(const Reference& reference, Order order) {
    const Value value = value_of(reference);
    if (!is_on_device(reference.value) && writer_of(reference.value))
        return in_order({with_own_shape(reference), reference.shape}, order); // the CPU has it
    for (Order possible : {order, order == Order::rows ? Order::planes : Order::rows}) {
        Value wanted{value.name + ":" + to_text(reference.shape), reference.shape};
        Value source = value;
        if (!lay_out(wanted, possible) || !source.fits_device())
            continue;
        if (source.height * source.width == 1) // in either order
            source.order = Order::rows;
        if (!can_reshape(source, wanted))
            continue;
        Node node = new_node(Operator::reshape);
        node.inputs = {reference.value};
        graph_.values.push_back(wanted);
        node.output = graph_.values.size() - 1;
        const Reference made{node.output, reference.shape};
        graph_.nodes.push_back(std::move(node));
        return in_order(made, order);
    }
    Value wanted{value.name + ":" + to_text(reference.shape), reference.shape};
    if (value.fits_device() && lay_out(wanted, order))
        if (const auto axes = permutation_of_same(value, wanted))
            return add_permute(reference.value, std::move(wanted), *axes);
    // Data cross for it as they would if the reader went to the CPU.
    if (is_expensive(node_->op_type()))
        return in_order({with_own_shape(reference), reference.shape}, order);
    refuse("reshaping " + to_text(value.shape) + " to " + to_text(reference.shape) +
           " moves data in a way that the device cannot");
}

// Its last two axes exchanged, as rows.
ValueId Importer::transposed_matrix(const Reference& reference) {
    const ValueId rows = in_order(reference, Order::rows);
    // What has just been transposed is as it should be.
    ValueId source = rows;
    std::array<std::size_t, 3> axes = {0, 2, 1};
    for (const Node* writer = writer_of(source);
         writer && writer->op == Operator::permute && writer->batches == 1;
         writer = writer_of(source)) {
        for (std::size_t& axis : axes)
            axis = writer->axes[axis];
        source = writer->inputs[0];
    }
    if (axes == no_change)
        return source;
    Shape shape = reference.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return add_permute(source, laid_out(node_->name() + ":transposed", shape, Order::rows), axes);
}

// A picture or a signal with batch 1, as planes.
Reference Importer::image_input(int index) {
    const Reference input = variable_input(index);
    if (input.shape.size() != 4 && input.shape.size() != 3)
        refuse("a tensor of shape " + to_text(input.shape) +
               " is neither (1, C, H, W) nor (1, C, W)");
    if (input.shape[0] != 1)
        refuse("a tensor of shape " + to_text(input.shape) +
               " has a batch; export the model with batch 1");
    return {in_order(input, Order::planes), input.shape};
}

namespace {

// A transposition without axes of 1, those that stay together made one: sizes in the input's order,
// and which of them each axis of the output is.
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

} // namespace

// More axes than the device has, of which some stay together, and the first may stay where it is:
// then each of its elements is permuted on its own.
bool Importer::transpose_groups(const Reference& input, const std::vector<std::int64_t>& perm,
                                const Shape& shape) {
    Groups groups = groups_of(input.shape, perm);
    if (groups.sizes.size() < 2) {
        references_[node_->output(0)] = {input.value, shape};
        return true;
    }
    Node node = new_node(Operator::permute);
    if (groups.sizes.size() == 4 && groups.perm[0] == 0 && groups.sizes[0] <= max_batches) {
        node.batches = static_cast<std::uint32_t>(groups.sizes[0]);
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
        node.axes[k] = static_cast<std::size_t>(groups.perm[k]);
        to.push_back(from[node.axes[k]]);
    }
    from[0] *= node.batches;
    to[0] *= node.batches;
    node.inputs = {in_order({input.value, from}, Order::rows)};
    Value target = laid_out(node_->output(0), to, Order::rows);
    Value wanted{node_->output(0), shape};
    if (lay_out(wanted, Order::rows))
        if (const auto rest = permutation_of_same(target, wanted);
            rest && (node.batches == 1 || *rest == no_change)) {
            const auto axes = node.axes;
            for (std::size_t k = 0; k < 3; ++k)
                node.axes[k] = axes[(*rest)[k]];
            target = std::move(wanted);
        }
    graph_.values.push_back(std::move(target));
    finish(std::move(node), graph_.values.size() - 1);
    references_[node_->output(0)].shape = shape; // whoever reads it as such reshapes it
    return true;
}

// Often the bytes stay where they are, and only what they are called changes.
void Importer::transpose() {
    const Reference input = variable_input(0);
    const auto perm = permutation(input.shape.size());
    Shape shape;
    for (std::int64_t axis : perm)
        shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
    if (!value_of(input).fits_device())
        refuse("a tensor of shape " + to_text(input.shape) + " has no form on the device");
    std::optional<ValueId> from;
    try {
        from = in_order(input, value_of(input).order);
    } catch (const CompileError&) { // with fewer axes perhaps
    }
    std::optional<std::pair<Value, std::array<std::size_t, 3>>> chosen;
    for (Order order : {Order::rows, Order::planes}) {
        Value wanted{node_->output(0), shape};
        if (!from || !lay_out(wanted, order))
            continue;
        const auto axes = permutation_between(graph_.values[*from], wanted, perm);
        if (axes && (!chosen || *axes == no_change))
            chosen = {std::move(wanted), *axes};
    }
    if (!chosen && transpose_groups(input, perm, shape))
        return;
    if (!chosen)
        refuse("from " + to_text(input.shape) + " to " + to_text(shape) +
               " has no form on the device");
    Node node = new_node(Operator::permute);
    node.axes = chosen->second;
    node.inputs = {*from};
    graph_.values.push_back(std::move(chosen->first));
    finish(std::move(node), graph_.values.size() - 1);
}

} // namespace overtake::compiler
