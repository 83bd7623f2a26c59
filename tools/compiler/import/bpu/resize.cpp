// SPDX-License-Identifier: MIT
//
// Resize of images, nearest or linear, on the device.
#include "compiler/import/bpu/operators.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {

namespace {

constexpr double fixed_one = 1 << OVERTAKE_POSITION_BITS;

// Returns fixed-point positions that, rounded down, give ONNX's choice for every output.
std::optional<Positions> nearest_positions(const std::string& mode, const Positions& exact,
                                           std::uint32_t inputs, std::uint32_t outputs) {
    const auto step = static_cast<std::int64_t>(std::nearbyint(exact.step * fixed_one));
    const auto one = static_cast<std::int64_t>(fixed_one);
    std::int64_t low = std::numeric_limits<std::int64_t>::min();
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t output = 0; output < outputs; ++output) {
        const std::int64_t choice = round_position(mode, exact.start + output * exact.step);
        const std::int64_t index = std::clamp<std::int64_t>(choice, 0, std::int64_t{inputs} - 1);
        const std::int64_t begin = index * one - std::int64_t{output} * step;
        if (index > 0)
            low = std::max(low, begin);
        if (index < std::int64_t{inputs} - 1)
            high = std::min(high, begin + one - 1);
    }
    if (low > high)
        return std::nullopt;
    const auto wanted = static_cast<std::int64_t>(std::nearbyint(exact.start * fixed_one));
    return Positions{static_cast<double>(std::clamp(wanted, low, high)) / fixed_one,
                     static_cast<double>(step) / fixed_one};
}

} // namespace

void bpu_resize(Context& context) {
    const Attributes attributes(*context.node);
    const std::vector<float> scales =
        resize_scales(context, variable_input(context, 0).shape.size());
    const Reference input = image_input(context, 0);
    const Shape shape = output_shape(context);
    const bool is_image = input.shape.size() == 4 && shape.size() == 4;
    if (!is_image || shape[0] != input.shape[0] || shape[1] != input.shape[1])
        refuse(context, "from " + to_text(input.shape) + " to " + to_text(shape) +
                            " resizes more than height and width");
    const std::string mode = attributes.text("mode", "nearest");
    if (mode != "nearest" && mode != "linear")
        refuse(context, "mode '" + mode + "' is not supported; nearest and linear are");
    const std::string transformation =
        attributes.text("coordinate_transformation_mode", "half_pixel");

    Node node = new_node(context, op::Resize{});
    auto& resize = *node.as<op::Resize>();
    resize.kind = mode == "nearest" ? op::Resize::Kind::nearest : op::Resize::Kind::bilinear;
    for (std::size_t axis : {2, 3}) {
        const auto inputs = static_cast<std::uint32_t>(input.shape[axis]);
        const auto outputs = static_cast<std::uint32_t>(shape[axis]);
        const double scale =
            !scales.empty() ? double{scales[axis]} : static_cast<double>(outputs) / inputs;
        const std::string rounding = rounding_of_resize(context, scale);
        check_scale(context, scale, outputs);
        auto positions = resize_positions(transformation, scale, inputs, outputs);
        if (!positions)
            refuse(context, "coordinate transformation '" + transformation + "' is not supported");
        if (positions->step * fixed_one > double{OVERTAKE_STEP_MAX})
            refuse(context, "shrinks more than " +
                                std::to_string(OVERTAKE_STEP_MAX >> OVERTAKE_POSITION_BITS) +
                                " times");
        if (resize.kind == op::Resize::Kind::nearest)
            positions = nearest_positions(rounding, *positions, inputs, outputs);
        if (!positions)
            refuse(context, "nearest mode '" + rounding + "' cannot be expressed for this size");
        (axis == 2 ? resize.rows : resize.columns) = *positions;
    }
    node.inputs = {input.value};
    finish(context, std::move(node), add_value(context, context.node->output(0), shape));
}

} // namespace overtake::compiler
