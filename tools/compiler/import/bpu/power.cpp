// SPDX-License-Identifier: MIT
//
// Pow on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cmath>
#include <vector>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

// Imports a Pow: with one number it is a function of the other operand.
void bpu_power(Context& context) {
    if (!is_constant(context, 0) && !is_constant(context, 1))
        refuse(context, "is supported with a constant only");
    const int index = is_constant(context, 0) ? 0 : 1;
    const std::vector<float> numbers = reals_of(constant_input(context, index));
    const Reference input = variable_input(context, 1 - index);
    if (numbers.size() != 1 || constant_input(context, index).shape.size() > input.shape.size())
        refuse(context, "is supported with one number only");
    if (index == 0)
        return add_function(context, input,
                            [base = numbers[0]](float x) { return std::pow(base, x); });
    add_function(context, input,
                 [exponent = numbers[0]](float x) { return std::pow(x, exponent); });
}

} // namespace overtake::compiler
