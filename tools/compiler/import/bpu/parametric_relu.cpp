// SPDX-License-Identifier: MIT
//
// PRelu on the device.
#include "compiler/import/bpu/operators.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

// Imports PRelu.  With equal slopes it becomes a function.  Otherwise it becomes the greater of x
// and slope * x if no slope exceeds 1, or the lesser of the two if no slope is below 1.
void bpu_parametric_relu(Context& context) {
    const Reference input = variable_input(context, 0);
    const auto slopes = per_channel(context, constant_input(context, 1), input);
    if (!slopes)
        refuse(context, "is supported with a slope per channel only");
    const auto [least, greatest] = std::ranges::minmax(*slopes);
    if (least == greatest)
        return add_function(context, input,
                            [slope = least](float x) { return x < 0 ? x * slope : x; });
    if (greatest > 1 && least < 1)
        refuse(context, "has slopes above and below 1");
    const std::string name = context.node->output(0);
    add_affine(context, input, *slopes, std::vector<float>(slopes->size(), 0.0f));
    const Reference scaled = context.references.at(name);
    context.graph.values[scaled.value].name = name + ":scaled";
    context.references[name] =
        add_pair(context, greatest > 1 ? op::Pair::Kind::minimum : op::Pair::Kind::maximum,
                 {input, nullptr}, {scaled, nullptr}, name);
}

} // namespace overtake::compiler
