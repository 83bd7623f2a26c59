// SPDX-License-Identifier: MIT
//
// RoiAlign on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/ir/limits.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

void cpu_roi_align(Context& context) {
    static const std::map<std::string, cpu::RegionPool> modes = {
        {"avg", cpu::RegionPool::average},
        {"max", cpu::RegionPool::maximum},
    };
    const Attributes attributes(*context.node);
    const auto mode = modes.find(attributes.text("mode", "avg"));
    const std::string rule = attributes.text("coordinate_transformation_mode", "half_pixel");
    if (mode == modes.end() || (rule != "half_pixel" && rule != "output_half_pixel"))
        refuse(context, "its mode or coordinate transformation is none that ONNX knows");
    const std::int64_t samples = attributes.integer("sampling_ratio", 0);
    if (samples < 0 || samples > 256)
        refuse(context, "its sampling_ratio must lie in 0..256");
    const float scale = attributes.real("spatial_scale", 1);
    if (!std::isfinite(scale))
        refuse(context, "its spatial_scale is no number");
    const std::int64_t height = attributes.integer("output_height", 1),
                       width = attributes.integer("output_width", 1);
    check_between(context, {height}, 1, max_dimension, "output_height");
    check_between(context, {width}, 1, max_dimension, "output_width");
    const Reference input = cpu_input(context, 0), regions = cpu_input(context, 1),
                    pictures = cpu_input(context, 2);
    if (input.shape.size() != 4 || regions.shape.size() != 2 || regions.shape[1] != 4 ||
        pictures.shape != Shape{regions.shape[0]})
        refuse(context, "needs pictures of two axes, four numbers for each region and one picture "
                        "for each region");
    finish_cpu(context,
               cpu_node(context,
                        {CpuOpType::roi_align,
                         {static_cast<std::int64_t>(mode->second), rule == "half_pixel", samples},
                         {scale}},
                        {input, regions, pictures},
                        {regions.shape[0], input.shape[1], height, width}));
}

} // namespace overtake::compiler
