// SPDX-License-Identifier: MIT
//
// DepthToSpace and SpaceToDepth on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

void cpu_depth_to_space(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0);
    const std::int64_t block = attributes.integer("blocksize", 0);
    const bool is_inverse = context.node->op_type() == "SpaceToDepth";
    if (input.shape.size() != 4 || block < 1 || block > max_window)
        refuse(context, "needs an image and a block size");
    const std::int64_t n = input.shape[0], c = input.shape[1], h = input.shape[2],
                       w = input.shape[3];
    Reference result = input;
    if (is_inverse) {
        if (h % block != 0 || w % block != 0)
            refuse(context, "its block size does not divide height and width");
        result = cpu_view(context, input, 0, {c * h * w, w, 1, h * w, block * w, block},
                          {n, block, block, c, h / block, w / block});
        result.shape = {n, c * block * block, h / block, w / block};
        return finish_cpu(context, result);
    }
    if (c % (block * block) != 0)
        refuse(context, "its block size does not divide the channels");
    const std::int64_t channels = c / (block * block), plane = h * w;
    const bool is_crd = attributes.text("mode", "DCR") == "CRD";
    // The steps of a channel, of a row and of a column within the block.
    const std::int64_t of_channel = is_crd ? block * block * plane : plane;
    const std::int64_t of_row = is_crd ? block * plane : block * channels * plane;
    const std::int64_t of_column = is_crd ? plane : channels * plane;
    result = cpu_view(context, input, 0, {c * plane, of_channel, w, of_row, 1, of_column},
                      {n, channels, h, block, w, block});
    result.shape = {n, channels, h * block, w * block};
    finish_cpu(context, result);
}

} // namespace overtake::compiler
