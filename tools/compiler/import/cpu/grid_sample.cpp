// SPDX-License-Identifier: MIT
//
// GridSample on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>
#include <map>
#include <string>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

void cpu_grid_sample(Context& context) {
    // Opset 20 has other names for the modes.
    static const std::map<std::string, cpu::GridMode> modes = {
        {"bilinear", cpu::GridMode::bilinear}, {"linear", cpu::GridMode::bilinear},
        {"nearest", cpu::GridMode::nearest},   {"bicubic", cpu::GridMode::bicubic},
        {"cubic", cpu::GridMode::bicubic},
    };
    static const std::map<std::string, cpu::GridPadding> paddings = {
        {"zeros", cpu::GridPadding::zeros},
        {"border", cpu::GridPadding::border},
        {"reflection", cpu::GridPadding::reflection},
    };
    const Attributes attributes(*context.node);
    const auto mode = modes.find(attributes.text("mode", "bilinear"));
    const auto padding = paddings.find(attributes.text("padding_mode", "zeros"));
    if (mode == modes.end() || padding == paddings.end())
        refuse(context, "its mode or padding is none that ONNX knows");
    const Reference input = cpu_input(context, 0), grid = cpu_input(context, 1);
    if (input.shape.size() != 4 || grid.shape.size() != 4 || grid.shape[3] != 2 ||
        grid.shape[0] != input.shape[0])
        refuse(context, "it samples no pictures; pictures of two axes are supported");
    finish_cpu(context, cpu_node(context,
                                 {CpuOpType::grid_sample,
                                  {static_cast<std::int64_t>(mode->second),
                                   static_cast<std::int64_t>(padding->second),
                                   attributes.integer("align_corners", 0) != 0},
                                  {}},
                                 {input, grid},
                                 {input.shape[0], input.shape[1], grid.shape[1], grid.shape[2]}));
}

} // namespace overtake::compiler
