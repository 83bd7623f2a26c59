// SPDX-License-Identifier: MIT
//
// Gemm on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/import/cpu/product.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;

void cpu_gemm(Context& context) {
    for (int index : {0, 1, 2})
        check_weights(context, index);
    const Attributes attributes(*context.node);
    Reference operands[2] = {cpu_input(context, 0), cpu_input(context, 1)};
    const char* const names[2] = {"transA", "transB"};
    for (int index = 0; index < 2; ++index) {
        Reference& operand = operands[index];
        if (operand.shape.size() != 2)
            refuse(context, "needs matrices");
        const Shape shape = {operand.shape[1], operand.shape[0]};
        if (attributes.integer(names[index], 0) != 0)
            operand = cpu_view(context, operand, 0, {1, operand.shape[1]}, shape);
    }
    Reference result = cpu_product(context, operands[0], operands[1]);
    const auto scaled = [&](const Reference& reference, const char* name) {
        const float factor = attributes.real(name, 1.0f);
        if (factor == 1.0f)
            return reference;
        return cpu_node(context,
                        {CpuOpType::binary, {static_cast<std::int64_t>(Binary::multiply)}, {}},
                        {reference, cpu_constant(context, {}, {factor})}, reference.shape);
    };
    result = scaled(result, "alpha");
    if (has_input(context, 2))
        result =
            cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(Binary::add)}, {}},
                     {result, scaled(cpu_input(context, 2), "beta")}, result.shape);
    finish_cpu(context, result);
}

} // namespace overtake::compiler
