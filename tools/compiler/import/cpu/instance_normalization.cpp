// SPDX-License-Identifier: MIT
//
// InstanceNormalization on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;

void cpu_instance_normalization(Context& context) {
    const Reference input = cpu_input(context, 0);
    if (input.shape.size() < 3)
        refuse(context, "needs channels and at least one axis behind them");
    Reference result = cpu_node(
        context, {CpuOpType::normalize, {2}, {Attributes(*context.node).real("epsilon", 1e-5f)}},
        {input}, input.shape);
    Shape per_channel(input.shape.size() - 1, 1);
    per_channel[0] = input.shape[1];
    for (int index = 1; index < 3; ++index) {
        Reference parameter = cpu_input(context, index);
        if (element_count(parameter.shape) != static_cast<std::size_t>(input.shape[1]))
            refuse(context, "its parameters do not have one element per channel");
        parameter.shape = per_channel;
        const Binary function = index == 1 ? Binary::multiply : Binary::add;
        result = cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(function)}, {}},
                          {result, parameter}, input.shape);
    }
    finish_cpu(context, result);
}

} // namespace overtake::compiler
