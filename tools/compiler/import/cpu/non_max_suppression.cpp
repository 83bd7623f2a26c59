// SPDX-License-Identifier: MIT
//
// NonMaxSuppression on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

// The number of boxes is not known before run time: there are rows for all possible boxes, and
// unused rows have -1.
void cpu_non_max_suppression(Context& context) {
    const Reference boxes = cpu_input(context, 0), scores = cpu_input(context, 1);
    if (boxes.shape.size() != 3 || scores.shape.size() != 3)
        refuse(context, "needs boxes and scores of three dimensions");
    const auto number = [&](int index, float otherwise) {
        if (!has_input(context, index))
            return otherwise;
        const std::vector<float> values = reals_of(constant_input(context, index));
        if (values.size() != 1)
            refuse(context, "its limits must be single numbers");
        return values[0];
    };
    const auto limit = has_input(context, 2) ? integers_of(constant_input(context, 2)) : Shape{0};
    if (limit.size() != 1)
        refuse(context, "its limits must be single numbers");
    const std::int64_t most = std::min(limit[0], boxes.shape[1]);
    if (most < 1)
        refuse(context, "keeps no boxes; max_output_boxes_per_class is not given");
    Reference result =
        cpu_node(context,
                 {CpuOpType::non_max_suppression,
                  {Attributes(*context.node).integer("center_point_box", 0), most},
                  {number(3, 0.0f), number(4, -std::numeric_limits<float>::infinity())}},
                 {boxes, scores}, {scores.shape[0] * scores.shape[1] * most, 3});
    result.integer = true;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
