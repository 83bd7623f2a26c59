// SPDX-License-Identifier: MIT
#include "compiler/import/cpu/window.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

std::vector<std::int64_t> padding_of(const Context& context,
                                     const std::vector<std::int64_t>& extents,
                                     const std::vector<std::int64_t>& strides, const Shape& sizes,
                                     const Shape& counts, bool is_given) {
    const Attributes attributes(*context.node);
    const std::size_t axes = extents.size();
    const auto pads = attributes.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
    const std::string auto_pad = auto_pad_of(context);
    const auto extra = attributes.integers("output_padding", std::vector<std::int64_t>(axes, 0));
    std::vector<std::int64_t> result(axes);
    if (pads.size() != 2 * axes || strides.size() != axes || extra.size() != axes)
        refuse(context, "its pads or strides do not fit the input");
    check_between(context, pads, -max_dimension, max_dimension, "pads");
    check_between(context, extra, 0, max_dimension, "output_padding");
    for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t total = std::max<std::int64_t>(
            (counts[axis] - 1) * strides[axis] + extra[axis] + extents[axis] - sizes[axis], 0);
        if (auto_pad == "SAME_UPPER")
            result[axis] = total / 2;
        else if (auto_pad == "SAME_LOWER" || (auto_pad == "NOTSET" && !is_given))
            result[axis] = total - total / 2;
        else if (auto_pad == "NOTSET")
            result[axis] = pads[axis];
    }
    return result;
}

} // namespace overtake::compiler
