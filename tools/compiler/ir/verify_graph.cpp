// SPDX-License-Identifier: MIT
#include "compiler/ir/verify_graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "cpu/operation.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

constexpr const char* misfit = "shapes do not fit each other";

// The operands of check_node(): inputs and output have three dimensions on the device.
struct Operands {
    std::vector<const Value*> inputs;
    const Value& out;

    const Value& in(std::size_t index = 0) const { return *inputs[index]; }
};

// Returns the sizes by axis_*.
std::array<std::uint64_t, 3> sizes_of(const Value& value) {
    return {value.channels, value.height, value.width};
}

bool is_alike(const Value& left, const Value& right) {
    return sizes_of(left) == sizes_of(right);
}

bool is_whole(const Value& value) {
    const auto [channels, height, width] = sizes_of(value);
    return channels > 0 && value.batch * channels * height * width == value.elements() &&
           (!value.is_constant() || value.constant.size() == value.elements());
}

bool broadcasts(const Value& from, const Value& to) {
    const auto sizes = sizes_of(from), wanted = sizes_of(to);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        if (sizes[axis] != 1 && sizes[axis] != wanted[axis])
            return false;
    return true;
}

bool is_sound(const Window& window) {
    return std::min({window.kernel_height, window.kernel_width, window.stride_height,
                     window.stride_width, window.dilation_height, window.dilation_width}) > 0;
}

bool fits(const op::Convolution& convolution, const Operands& operands) {
    const bool is_depthwise = convolution.kind == op::Convolution::Kind::depthwise;
    const std::uint64_t in = operands.in().channels, out = operands.out.channels;
    const std::uint64_t groups = is_depthwise ? out : convolution.groups;
    return is_sound(convolution.window) && groups > 0 && in % groups == 0 && out % groups == 0 &&
           (!is_depthwise || in == out) && convolution.bias.size() == out &&
           convolution.weights.size() == out * (in / groups) * convolution.window.positions();
}

bool fits(const op::Pair&, const Operands& operands) {
    return broadcasts(operands.in(0), operands.out) && broadcasts(operands.in(1), operands.out);
}

bool fits(const op::Pool& pool, const Operands& operands) {
    return is_sound(pool.window) && operands.in().channels == operands.out.channels;
}

bool fits(const op::Activation&, const Operands& operands) {
    return is_alike(operands.in(), operands.out);
}

bool fits(const op::Copy&, const Operands& operands) {
    return is_alike(operands.in(), operands.out);
}

bool fits(const op::Concat& concat, const Operands& operands) {
    const auto wanted = sizes_of(operands.out);
    std::uint64_t length = 0;
    for (const Value* input : operands.inputs) {
        auto sizes = sizes_of(*input);
        length += sizes[concat.axis];
        sizes[concat.axis] = wanted[concat.axis];
        if (sizes != wanted)
            return false;
    }
    return length == wanted[concat.axis];
}

bool fits(const op::Slice& slice, const Operands& operands) {
    const auto from = sizes_of(operands.in()), to = sizes_of(operands.out);
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        const auto [first, step] = slice.stretches[axis];
        if (first + (to[axis] - 1) * step >= from[axis])
            return false;
    }
    return true;
}

bool fits(const op::Resize&, const Operands& operands) {
    return operands.in().channels == operands.out.channels; // positions are clamped
}

bool fits(const op::MatrixProduct&, const Operands& operands) {
    const Value &left = operands.in(0), &right = operands.in(1), &out = operands.out;
    return left.channels == right.channels && left.height == out.height &&
           left.width == out.width && right.width == out.channels &&
           (right.height == 1 || right.height == left.height);
}

// Returns height, width and channels of one part that is permuted on its own: an image, or a part
// of the height of rows.  All are zero if the value has no such parts.
std::array<std::uint32_t, 3> part_of(const Value& value, std::uint32_t parts) {
    if (value.batch == parts)
        return {value.height, value.width, value.channels};
    if (value.batch != 1 || value.height % parts != 0)
        return {};
    return {value.height / parts, value.width, value.channels};
}

bool fits(const op::Permute& permute, const Operands& operands) {
    auto axes = permute.axes;
    std::ranges::sort(axes);
    if (axes != std::array<std::size_t, 3>{0, 1, 2} || permute.batches < 1)
        return false;
    const auto from = part_of(operands.in(), permute.batches);
    const auto to = part_of(operands.out, permute.batches);
    for (std::size_t k = 0; k < axes.size(); ++k)
        if (from[permute.axes[k]] != to[k] || to[k] == 0)
            return false;
    return true;
}

bool fits(const op::Pad& pad, const Operands& operands) {
    const auto from = sizes_of(operands.in()), to = sizes_of(operands.out);
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        const std::uint64_t front = pad.front[axis];
        if (front + from[axis] > to[axis])
            return false;
        const std::uint64_t behind = to[axis] - from[axis] - front;
        if (pad.mode == op::Pad::Mode::reflect && std::max(front, behind) >= from[axis])
            return false;
    }
    return true;
}

bool is_blocks(const Value& deep, const Value& wide, std::uint64_t block) {
    return deep.channels == wide.channels * block * block && wide.height == deep.height * block &&
           wide.width == deep.width * block;
}

bool fits(const op::DepthToSpace& operation, const Operands& operands) {
    return is_blocks(operands.in(), operands.out, operation.block);
}

bool fits(const op::SpaceToDepth& operation, const Operands& operands) {
    return is_blocks(operands.out, operands.in(), operation.block);
}

bool fits(const op::Reduce& reduce, const Operands& operands) {
    auto sizes = sizes_of(operands.in());
    constexpr std::uint32_t bits[3] = {OVERTAKE_AXIS_CHANNELS, OVERTAKE_AXIS_HEIGHT,
                                       OVERTAKE_AXIS_WIDTH};
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        if (reduce.axes & bits[axis])
            sizes[axis] = 1;
    return sizes == sizes_of(operands.out);
}

bool fits(const op::Broadcast&, const Operands& operands) {
    return broadcasts(operands.in(), operands.out);
}

bool fits(const op::Reshape&, const Operands& operands) {
    return operands.in().elements() == operands.out.elements();
}

bool fits(const op::Cpu&, const Operands&) {
    return true; // it has a check of its own
}

// Images stay separate: each input has as many as the output, or one for all of them.
bool has_its_images(const Node& node, const Operands& operands) {
    return node.is<op::Reshape>() || node.is<op::Permute>() ||
           std::ranges::all_of(operands.inputs, [&](const Value* input) {
               return input->batch == 1 || input->batch == operands.out.batch;
           });
}

// Returns how many inputs an operator of the device has; 0: any number except none.
std::size_t inputs_of(const Operation& operation) {
    return std::visit(
        Overloaded{[](const op::Pair&) { return 2u; }, [](const op::MatrixProduct&) { return 2u; },
                   [](const op::Concat&) { return 0u; }, [](const auto&) { return 1u; }},
        operation);
}

} // namespace

std::string check_node(const Graph& graph, const Node& node) {
    if (!node.on_bpu())
        return cpu::check(cpu_operation(graph, node));
    Operands operands{{}, graph.values[node.output]};
    for (const ValueId input : node.inputs)
        operands.inputs.push_back(&graph.values[input]);
    const std::size_t count = inputs_of(node.operation);
    if (count == 0 ? operands.inputs.empty() : operands.inputs.size() != count)
        return "has more or fewer inputs than it takes";
    if (!is_whole(operands.out) ||
        !std::ranges::all_of(operands.inputs, [](const Value* input) { return is_whole(*input); }))
        return "a tensor of it has no form on the device";
    const auto fits_its_operands = [&](const auto& operation) { return fits(operation, operands); };
    return has_its_images(node, operands) && std::visit(fits_its_operands, node.operation) ? ""
                                                                                           : misfit;
}

} // namespace overtake::compiler
