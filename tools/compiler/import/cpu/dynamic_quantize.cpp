// SPDX-License-Identifier: MIT
//
// DynamicQuantizeLinear on the CPU: its bytes, their scale and their zero point, in float32 as ONNX
// writes them.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;
using cpu::Reduction;
using cpu::Unary;

namespace {

constexpr float greatest_byte = 255;

// Makes functions of tensors of the present node.
struct Steps {
    Context& context;

    Reference number(float value) const { return cpu_constant(context, {}, {value}); }

    Reference unary(Unary function, const Reference& of, std::vector<float> reals = {}) const {
        return cpu_node(context,
                        {CpuOpType::unary, {static_cast<std::int64_t>(function)}, std::move(reals)},
                        {of}, of.shape);
    }

    Reference binary(Binary function, const Reference& left, const Reference& right) const {
        return cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(function)}, {}},
                        {left, right}, broadcast_shape(context, left.shape, right.shape));
    }

    // Returns the extreme of all elements and 0.
    Reference extreme(Reduction reduction, Binary function, const Reference& of) const {
        std::vector<std::int64_t> integers = {static_cast<std::int64_t>(reduction)};
        for (std::size_t axis = 0; axis < of.shape.size(); ++axis)
            integers.push_back(static_cast<std::int64_t>(axis));
        return binary(function, cpu_node(context, {CpuOpType::reduce, integers, {}}, {of}, {}),
                      number(0));
    }

    // Returns the nearest byte; of two that are equally near, the even one.
    Reference whole(const Reference& of) const {
        Reference result = unary(Unary::round, of);
        result.integer = true;
        return result;
    }
    Reference clipped(const Reference& of) const {
        return unary(Unary::clip, of, {0, greatest_byte});
    }
};

} // namespace

void cpu_dynamic_quantize(Context& context) {
    const Reference x = cpu_input(context, 0);
    const Steps steps{context};
    const Reference least = steps.extreme(Reduction::minimum, Binary::minimum, x);
    const Reference most = steps.extreme(Reduction::maximum, Binary::maximum, x);
    const Reference range = steps.binary(Binary::subtract, most, least);
    // A tensor of only zeros has a scale of 1, as in ONNX Runtime.
    const Reference is_flat = steps.binary(Binary::equal, range, steps.number(0));
    const Reference scale = steps.binary(
        Binary::add, steps.binary(Binary::divide, range, steps.number(greatest_byte)), is_flat);
    const Reference zero_point = steps.whole(steps.clipped(steps.binary(
        Binary::divide, steps.binary(Binary::subtract, steps.number(0), least), scale)));
    Reference bytes = steps.clipped(
        steps.binary(Binary::add, steps.whole(steps.binary(Binary::divide, x, scale)), zero_point));
    bytes.integer = true;
    const Reference* results[] = {&bytes, &scale, &zero_point};
    for (int output = 0; output < context.node->output_size(); ++output)
        if (!context.node->output(output).empty())
            finish_cpu(context, *results[output], output);
}

} // namespace overtake::compiler
