// SPDX-License-Identifier: MIT
//
// The operator Where on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_where(Context& context) {
    const Reference condition = cpu_input(context, 0), left = cpu_input(context, 1),
                    right = cpu_input(context, 2);
    const Shape shape = broadcast_shape(context, condition.shape,
                                        broadcast_shape(context, left.shape, right.shape));
    Reference result =
        cpu_node(context, {CpuOpType::select, {}, {}}, {condition, left, right}, shape);
    result.integer = left.integer && right.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
