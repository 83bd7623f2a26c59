// SPDX-License-Identifier: MIT
#include "compiler/onnx/settle_ceil_mode.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/node_builder.hpp"
#include "compiler/onnx/tensor_facts.hpp"

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr std::int64_t most = 1 << 30;

bool rounds_up(const onnx::NodeProto& node) {
    const bool is_pool = node.op_type() == "MaxPool" || node.op_type() == "AveragePool";
    const Attributes attributes(node);
    return is_pool && node.input_size() > 0 && attributes.integer("ceil_mode", 0) != 0 &&
           attributes.text("auto_pad", "NOTSET") == "NOTSET";
}

// Returns the padding behind the tensor with which there are all windows except the last.  Returns
// nothing if the last begins in the tensor or in the padding before it.
std::optional<std::int64_t> without_last(std::int64_t size, std::int64_t extent,
                                         std::int64_t stride, std::int64_t before,
                                         std::int64_t behind) {
    const std::int64_t room = size + before + behind - extent;
    const std::int64_t last = (room + stride - 1) / stride; // begins at last * stride
    if (room < 1 || last * stride < size + before)
        return std::nullopt;
    return std::max<std::int64_t>((last - 1) * stride + extent - size - before, 0);
}

// Returns whether the node has changed.
bool settle(onnx::NodeProto& node, const Numbers& shape) {
    const Attributes attributes(node);
    const Numbers kernel = attributes.integers("kernel_shape", {});
    const std::size_t axes = kernel.size();
    const Numbers ones(axes, 1), none(2 * axes, 0);
    const Numbers strides = attributes.integers("strides", ones);
    const Numbers dilations = attributes.integers("dilations", ones);
    Numbers pads = attributes.integers("pads", none);
    const auto is_sound = [](std::int64_t number) { return number >= 0 && number <= most; };
    if (shape.size() != axes + 2 || strides.size() != axes || dilations.size() != axes ||
        pads.size() != 2 * axes || !std::ranges::all_of(shape, is_sound) ||
        !std::ranges::all_of(pads, is_sound))
        return false; // refused later
    bool is_changed = false, rounds_others_up = false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t extent = (kernel[axis] - 1) * dilations[axis] + 1;
        const std::int64_t before = pads[axis], size = shape[axis + 2];
        std::int64_t& behind = pads[axis + axes];
        const std::int64_t room = size + before + behind - extent;
        const auto settled = without_last(size, extent, strides[axis], before, behind);
        rounds_others_up = rounds_others_up || (!settled && room > 0 && room % strides[axis] != 0);
        is_changed = is_changed || settled;
        behind = settled.value_or(behind);
    }
    // Windows that rounding up adds along other axes have no other form.
    if (!is_changed || rounds_others_up)
        return false;
    set_integers(node, "pads", pads);
    for (auto& attribute : *node.mutable_attribute())
        if (attribute.name() == "ceil_mode")
            attribute.set_i(0);
    return true;
}

void forget_shapes(onnx::GraphProto& graph) {
    graph.clear_value_info();
    for (auto& output : *graph.mutable_output())
        if (output.type().has_tensor_type())
            output.mutable_type()->mutable_tensor_type()->clear_shape();
}

} // namespace

void settle_ceil_mode(onnx::ModelProto& model, Libonnx& libonnx) {
    if (std::ranges::none_of(model.graph().node(), rounds_up))
        return;
    // The file's shapes are right, and contradict the shapes that libonnx infers until then.
    onnx::ModelProto inferred = model;
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        forget_shapes(*inferred.mutable_graph());
        libonnx.infer_shapes(inferred);
        const TensorFacts facts(inferred.graph());
        for (int index = 0; index < model.graph().node_size() && !is_changed; ++index) {
            onnx::NodeProto& node = *model.mutable_graph()->mutable_node(index);
            if (!rounds_up(node))
                continue;
            const auto shape = facts.shape(node.input(0));
            is_changed = shape && settle(node, *shape);
            if (is_changed)
                *inferred.mutable_graph()->mutable_node(index) = node;
        }
    }
}

} // namespace overtake::compiler
