// SPDX-License-Identifier: MIT
//
// Cast on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Unary;

void cpu_cast(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::int64_t to = Attributes(*context.node).integer("to", onnx::TensorProto::FLOAT);
    if (to == onnx::TensorProto::STRING)
        refuse(context, "text is not supported");
    const bool is_real = to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::DOUBLE ||
                         to == onnx::TensorProto::FLOAT16 || to == onnx::TensorProto::BFLOAT16;
    Unary function = Unary::identity;
    if (to == onnx::TensorProto::BOOL)
        function = Unary::truth;
    else if (!is_real)
        function = Unary::truncate;
    Reference result = input;
    const bool is_whole = function == Unary::truncate && input.integer;
    if (function != Unary::identity && !is_whole)
        result = cpu_node(context, {CpuOpType::unary, {static_cast<std::int64_t>(function)}, {}},
                          {input}, input.shape);
    result.integer = !is_real;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
