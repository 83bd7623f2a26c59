// SPDX-License-Identifier: MIT
//
// Pad on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

void cpu_pad(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::size_t rank = input.shape.size();
    const std::vector<std::int64_t> pads = pads_of(context, rank);
    const std::string mode = Attributes(*context.node).text("mode", "constant");
    static const std::map<std::string, cpu::Padding> modes = {
        {"constant", cpu::Padding::constant},
        {"edge", cpu::Padding::edge},
        {"reflect", cpu::Padding::reflect},
        {"wrap", cpu::Padding::wrap},
    };
    if (!modes.contains(mode))
        refuse(context, "mode '" + mode + "' is not supported");
    std::vector<std::int64_t> integers = {static_cast<std::int64_t>(modes.at(mode))};
    Shape shape = input.shape;
    check_between(context, pads, -max_elements, max_elements, "pads");
    for (std::size_t axis = 0; axis < rank; ++axis) {
        shape[axis] += pads[axis] + pads[axis + rank];
        if (shape[axis] < 1)
            refuse(context, "cuts off more than there is");
        integers.push_back(pads[axis]);
    }
    Reference result =
        cpu_node(context, {CpuOpType::pad, integers, {fill_of(context)}}, {input}, shape);
    result.integer = input.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
