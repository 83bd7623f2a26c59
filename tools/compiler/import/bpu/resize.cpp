// SPDX-License-Identifier: MIT
//
// Resize of images, nearest or linear.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "overtake_isa.h"

namespace overtake::compiler {

// The two numbers of ONNX's coordinate transformation for one axis.
std::optional<Positions> resize_positions(const std::string& mode, double scale,
                                          std::int64_t inputs, std::int64_t outputs) {
    const auto from = static_cast<double>(inputs), to = static_cast<double>(outputs);
    if (mode == "asymmetric")
        return Positions{0, 1 / scale};
    if (mode == "align_corners")
        return Positions{0, outputs > 1 ? (from - 1.0) / (to - 1.0) : 0.0};
    if (mode == "pytorch_half_pixel" && outputs == 1)
        return Positions{0, 0};
    if (mode == "half_pixel" || mode == "pytorch_half_pixel")
        return Positions{0.5 / scale - 0.5, 1 / scale};
    return std::nullopt;
}

std::int64_t round_position(const std::string& mode, double position) {
    // What is exact on paper is a half or a whole here too, whatever the last bits say.
    constexpr double hair = 1e-9;
    if (mode == "ceil")
        return static_cast<std::int64_t>(std::ceil(position - hair));
    if (mode == "round_prefer_floor")
        return static_cast<std::int64_t>(std::ceil(position - 0.5 - hair));
    if (mode == "round_prefer_ceil")
        return static_cast<std::int64_t>(std::floor(position + 0.5 + hair));
    return static_cast<std::int64_t>(std::floor(position + hair));
}

namespace {

constexpr double fixed_one = 1 << OVERTAKE_POSITION_BITS;

// Fixed-point positions that, rounded down, give ONNX's choice for every output.
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

// The ratio of sizes does not do in their place: 1.6 of a size of 2 is 3.
void Importer::check_scales() const {
    if (has_input(2) && !is_constant(2))
        refuse("its scales must be constants; export the model with fixed sizes");
}

// No position lies so far out that it is no whole number any more.
void Importer::check_scale(double scale, std::int64_t outputs) const {
    constexpr double far = 1ll << 40;
    if (!(scale > 0 && scale < far && static_cast<double>(outputs) / scale < far))
        refuse("its scales are not positive or out of range");
}

void Importer::resize() {
    const Attributes attributes(*node_);
    check_scales();
    const Reference input = image_input(0);
    const Shape shape = output_shape();
    const bool is_image = input.shape.size() == 4 && shape.size() == 4;
    if (!is_image || shape[0] != input.shape[0] || shape[1] != input.shape[1])
        refuse("from " + to_text(input.shape) + " to " + to_text(shape) +
               " resizes more than height and width");
    const std::string mode = attributes.text("mode", "nearest");
    if (mode != "nearest" && mode != "linear")
        refuse("mode '" + mode + "' is not supported; nearest and linear are");
    const std::string transformation =
        attributes.text("coordinate_transformation_mode", "half_pixel");
    const std::string rounding = attributes.text("nearest_mode", "round_prefer_floor");

    Node node = new_node(mode == "nearest" ? Operator::resize_nearest : Operator::resize_bilinear);
    const bool has_scales = is_constant(2) && float_input(2).size() == 4;
    for (std::size_t axis : {2, 3}) {
        const auto inputs = static_cast<std::uint32_t>(input.shape[axis]);
        const auto outputs = static_cast<std::uint32_t>(shape[axis]);
        const double scale =
            has_scales ? double{float_input(2)[axis]} : static_cast<double>(outputs) / inputs;
        check_scale(scale, outputs);
        auto positions = resize_positions(transformation, scale, inputs, outputs);
        if (!positions)
            refuse("coordinate transformation '" + transformation + "' is not supported");
        if (positions->step * fixed_one > double{OVERTAKE_STEP_MAX})
            refuse("shrinks more than " +
                   std::to_string(OVERTAKE_STEP_MAX >> OVERTAKE_POSITION_BITS) + " times");
        if (node.op == Operator::resize_nearest)
            positions = nearest_positions(rounding, *positions, inputs, outputs);
        if (!positions)
            refuse("nearest mode '" + rounding + "' cannot be expressed for this size");
        (axis == 2 ? node.rows : node.columns) = *positions;
    }
    node.inputs = {input.value};
    finish(std::move(node), add_value(node_->output(0), shape));
}

} // namespace overtake::compiler
