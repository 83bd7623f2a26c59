// SPDX-License-Identifier: MIT
//
// Pad, DepthToSpace and SpaceToDepth on the device.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <cmath>

namespace overtake::compiler {

// Elements in front of each axis, then those behind each; fewer than none are cut off.
std::vector<std::int64_t> Importer::pads_of(std::size_t rank) const {
    const std::vector<std::int64_t> pads =
        has_input(1) ? integers_of(constant_input(1)) : Attributes(*node_).integers("pads", {});
    if (pads.size() != 2 * rank)
        refuse("its pads do not fit the input");
    check_between(pads, -max_dimension, max_dimension, "pads");
    return pads;
}

float Importer::fill_of() const {
    if (has_input(2) && !reals_of(constant_input(2)).empty())
        return reals_of(constant_input(2))[0];
    return Attributes(*node_).real("value", 0.0f);
}

Padding Importer::padding_on_device() const {
    Padding padding;
    const std::string mode = Attributes(*node_).text("mode", "constant");
    if (mode == "edge")
        padding.mode = Padding::Mode::edge;
    else if (mode == "reflect")
        padding.mode = Padding::Mode::reflect;
    else if (mode != "constant")
        refuse("mode '" + mode + "' is not supported");
    padding.fill = padding.mode == Padding::Mode::constant ? fill_of() : 0.0f;
    if (!std::isfinite(padding.fill))
        refuse("what it pads with has no form in 8 bits");
    return padding;
}

// What negative pads cut off is never looked at, so it is a slice, and the rest is padded.
void Importer::pad() {
    const Reference input = variable_input(0);
    const std::size_t rank = input.shape.size();
    const std::vector<std::int64_t> pads = pads_of(rank);
    Node node = new_node(Operator::pad);
    node.padding = padding_on_device();
    ValueId source = in_order(input, value_of(input).order);
    Shape cut = input.shape, shape = input.shape;
    std::array<Stretch, 3> kept;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t front = pads[axis], behind = pads[axis + rank];
        if (front == 0 && behind == 0)
            continue;
        const auto [place, factor] = device_place(graph_.values[source], axis);
        cut[axis] += std::min<std::int64_t>(front, 0) + std::min<std::int64_t>(behind, 0);
        shape[axis] += front + behind;
        if (cut[axis] < 1)
            refuse("cuts off more than there is");
        if (std::max(front, behind) * factor > max_window)
            refuse("pads of more than 65535 elements are not supported");
        const bool repeats = node.padding.mode != Padding::Mode::constant;
        if (repeats && (place == axis_channels || factor != 1 || std::min(front, behind) < 0))
            refuse("repeats elements along channels, or of what it cuts off");
        if (node.padding.mode == Padding::Mode::reflect && std::max(front, behind) >= cut[axis])
            refuse("reflects more than there is");
        kept[place].first = static_cast<std::uint32_t>(std::max<std::int64_t>(-front, 0)) * factor;
        node.padding.front[place] =
            static_cast<std::uint32_t>(std::max<std::int64_t>(front, 0)) * factor;
    }
    if (cut == shape) // nothing is added
        return add_slice(source, kept, node_->output(0), shape);
    if (cut != input.shape) {
        const std::string name = node_->output(0) + ":cut";
        add_slice(source, kept, name, cut);
        source = references_.at(name).value;
    }
    node.inputs = {source};
    finish(std::move(node), add_value(node_->output(0), shape, graph_.values[source].order));
}

void Importer::depth_to_space() {
    const Attributes attributes(*node_);
    const Reference input = image_input(0);
    const std::int64_t block = attributes.integer("blocksize", 0);
    const bool is_inverse = node_->op_type() == "SpaceToDepth";
    if (input.shape.size() != 4 || block < 1 || block > max_window)
        refuse("needs an image and a block size");
    Shape shape = input.shape;
    if (is_inverse && (shape[2] % block != 0 || shape[3] % block != 0))
        refuse("its block size does not divide height and width");
    if (!is_inverse && shape[1] % (block * block) != 0)
        refuse("its block size does not divide the channels");
    shape[1] = is_inverse ? shape[1] * block * block : shape[1] / (block * block);
    for (std::size_t axis : {2, 3})
        shape[axis] = is_inverse ? shape[axis] / block : shape[axis] * block;
    Node node = new_node(is_inverse ? Operator::space_to_depth : Operator::depth_to_space);
    node.channel_major = !is_inverse && attributes.text("mode", "DCR") == "CRD";
    node.window.kernel_height = node.window.kernel_width = static_cast<std::uint32_t>(block);
    node.inputs = {input.value};
    finish(std::move(node), add_value(node_->output(0), shape));
}

} // namespace overtake::compiler
