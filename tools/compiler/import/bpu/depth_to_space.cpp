// SPDX-License-Identifier: MIT
//
// DepthToSpace and SpaceToDepth on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

void bpu_depth_to_space(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = image_input(context, 0);
    const std::int64_t block = attributes.integer("blocksize", 0);
    const bool is_inverse = context.node->op_type() == "SpaceToDepth";
    if (input.shape.size() != 4 || block < 1 || block > max_window)
        refuse(context, "needs an image and a block size");
    Shape shape = input.shape;
    if (is_inverse && (shape[2] % block != 0 || shape[3] % block != 0))
        refuse(context, "its block size does not divide height and width");
    if (!is_inverse && shape[1] % (block * block) != 0)
        refuse(context, "its block size does not divide the channels");
    shape[1] = is_inverse ? shape[1] * block * block : shape[1] / (block * block);
    for (std::size_t axis : {2, 3})
        shape[axis] = is_inverse ? shape[axis] / block : shape[axis] * block;
    const auto size = static_cast<std::uint32_t>(block);
    const bool is_channel_major = attributes.text("mode", "DCR") == "CRD";
    Node node = is_inverse ? new_node(context, op::SpaceToDepth{size})
                           : new_node(context, op::DepthToSpace{size, is_channel_major});
    node.inputs = {input.value};
    finish(context, std::move(node), add_value(context, context.node->output(0), shape));
}

} // namespace overtake::compiler
