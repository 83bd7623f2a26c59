// SPDX-License-Identifier: MIT
//
// Softmax and LogSoftmax on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_softmax(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", -1), input.shape.size());
    const bool is_log = context.node->op_type() == "LogSoftmax";
    finish_cpu(context, cpu_node(context,
                                 {is_log ? CpuOpType::log_softmax : CpuOpType::softmax,
                                  {static_cast<std::int64_t>(axis)},
                                  {}},
                                 {input}, input.shape));
}

} // namespace overtake::compiler
