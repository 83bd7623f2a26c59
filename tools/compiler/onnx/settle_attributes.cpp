// SPDX-License-Identifier: MIT
#include "compiler/onnx/settle_attributes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/node_builder.hpp"

namespace overtake::compiler {
namespace {

constexpr int first_opset_with_pad_inputs = 11;
constexpr int first_opset_with_middles_of_pixels = 16; // in RoiAlign

void forget_ceil_mode(onnx::NodeProto& node) {
    if (!Attributes(node).text("auto_pad", "NOTSET").starts_with("SAME_"))
        return;
    for (auto& attribute : *node.mutable_attribute())
        if (attribute.name() == "ceil_mode")
            attribute.set_i(0);
}

// Returns the kernel: that of constant weights, or else kernel_shape.
std::vector<std::int64_t> kernel_of(const onnx::GraphProto& graph, const onnx::NodeProto& node) {
    for (const auto& tensor : graph.initializer())
        if (node.input_size() > 1 && tensor.name() == node.input(1) && tensor.dims_size() > 2)
            return {tensor.dims().begin() + 2, tensor.dims().end()};
    return Attributes(node).integers("kernel_shape", {});
}

// Writes the pads of a ConvTranspose, which do not depend on the size of the input.
void write_pads_of_transposed(const onnx::GraphProto& graph, onnx::NodeProto& node) {
    const Attributes attributes(node);
    const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
    const auto extra = attributes.integers("output_padding", {});
    if (!auto_pad.starts_with("SAME_") || attributes.has("output_shape") ||
        std::ranges::all_of(extra, [](auto number) { return number == 0; }))
        return;
    const std::size_t axes = extra.size();
    const std::vector<std::int64_t> ones(axes, 1), kernel = kernel_of(graph, node);
    const auto strides = attributes.integers("strides", ones);
    const auto dilations = attributes.integers("dilations", ones);
    if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes)
        return; // refused later
    constexpr std::int64_t most = 1 << 30;
    std::vector<std::int64_t> pads(2 * axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
        if (extra[axis] < 0 || extra[axis] > most || kernel[axis] < 0 || kernel[axis] > most)
            return;
        const std::int64_t extent = (kernel[axis] - 1) * dilations[axis] + 1;
        const std::int64_t total = std::max<std::int64_t>(extra[axis] + extent - strides[axis], 0);
        pads[axis] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        pads[axis + axes] = total - pads[axis];
    }
    set_integers(node, "pads", pads);
    for (auto& attribute : *node.mutable_attribute())
        if (attribute.name() == "auto_pad")
            attribute.set_s("NOTSET");
}

void write_pad_value(onnx::NodeProto& node) {
    if (Attributes(node).has("value"))
        return;
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(0);
}

} // namespace

void settle_attributes(onnx::ModelProto& model, int opset) {
    for (auto& node : *model.mutable_graph()->mutable_node()) {
        if (node.op_type() == "AveragePool" || node.op_type() == "MaxPool")
            forget_ceil_mode(node);
        else if (node.op_type() == "ConvTranspose")
            write_pads_of_transposed(model.graph(), node);
        else if (node.op_type() == "Pad" && opset < first_opset_with_pad_inputs)
            write_pad_value(node);
        else if (node.op_type() == "RoiAlign" && opset < first_opset_with_middles_of_pixels)
            set_text(node, "coordinate_transformation_mode", "output_half_pixel");
    }
}

} // namespace overtake::compiler
