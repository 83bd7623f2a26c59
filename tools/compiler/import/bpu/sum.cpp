// SPDX-License-Identifier: MIT
//
// Sum and Mean on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/reshapes.hpp"

namespace overtake::compiler {

void bpu_sum(Context& context) {
    if (context.node->input_size() == 1)
        return import_alias(context);
    const bool is_mean = context.node->op_type() == "Mean";
    const std::string& name = context.node->output(0);
    const Reference total = add_chain(context, op::Pair::Kind::add, is_mean ? name + ":sum" : name);
    context.references[name] = total;
    const float part = 1.0f / static_cast<float>(context.node->input_size());
    const std::size_t channels = value_of(context, total).channels;
    if (is_mean)
        add_affine(context, total, std::vector<float>(channels, part),
                   std::vector<float>(channels, 0.0f));
}

} // namespace overtake::compiler
