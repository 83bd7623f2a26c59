// SPDX-License-Identifier: MIT
//
// GlobalMaxPool and GlobalAveragePool on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Reduction;

void cpu_global_pool(Context& context) {
    const Reference input = cpu_input(context, 0);
    if (input.shape.size() < 3)
        refuse(context, "needs channels and at least one axis behind them");
    const bool is_max = context.node->op_type() == "GlobalMaxPool";
    std::vector<std::int64_t> integers = {
        static_cast<std::int64_t>(is_max ? Reduction::maximum : Reduction::mean)};
    Shape shape = input.shape;
    for (std::size_t axis = 2; axis < shape.size(); ++axis) {
        integers.push_back(static_cast<std::int64_t>(axis));
        shape[axis] = 1;
    }
    finish_cpu(context, cpu_node(context, {CpuOpType::reduce, integers, {}}, {input}, shape));
}

} // namespace overtake::compiler
