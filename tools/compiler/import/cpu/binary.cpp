// SPDX-License-Identifier: MIT
//
// Functions of two elements on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>
#include <string>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/functions.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;

// Imports functions with numpy's broadcasting; Sum, Max and Min take any number of inputs, and Mean
// is their sum divided by the number.
void cpu_binary(Context& context) {
    Reference result = cpu_input(context, 0);
    const std::string& type = context.node->op_type();
    for (int index = 1; index < context.node->input_size(); ++index) {
        const Reference right = cpu_input(context, index);
        const bool is_power = type == "Pow"; // it has its base's type
        const bool integer = result.integer && (right.integer || is_power);
        const auto form = type == "Mean" ? Binary::add : binary_form(*context.node, integer);
        const Shape shape = broadcast_shape(context, result.shape, right.shape);
        result = cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(*form)}, {}},
                          {result, right}, shape);
        if (integer && is_power)
            result = cpu_truncated(context, result);
        result.integer = integer || gives_truth(type);
    }
    if (type == "Mean")
        result = cpu_node(
            context, {CpuOpType::binary, {static_cast<std::int64_t>(Binary::divide)}, {}},
            {result, cpu_constant(context, {}, {static_cast<float>(context.node->input_size())})},
            result.shape);
    finish_cpu(context, result);
}

} // namespace overtake::compiler
