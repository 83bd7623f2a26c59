// SPDX-License-Identifier: MIT
//
// LayerNormalization on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_layer_normalization(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0);
    const std::size_t axis = axis_of(context, attributes.integer("axis", -1), input.shape.size());
    if (context.node->output_size() > 1)
        refuse(context, "its second output is not supported");
    std::vector<Reference> inputs = {input};
    const Shape normalised(input.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                           input.shape.end());
    for (int index = 1; index < 3 && has_input(context, index); ++index) {
        inputs.push_back(cpu_input(context, index));
        if (element_count(inputs.back().shape) != element_count(normalised))
            refuse(context, "scale and bias must have one element for each that is normalised");
    }
    finish_cpu(context, cpu_node(context,
                                 {CpuOpType::normalize,
                                  {static_cast<std::int64_t>(axis)},
                                  {attributes.real("epsilon", 1e-5f)}},
                                 inputs, input.shape));
}

} // namespace overtake::compiler
