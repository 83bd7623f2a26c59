// SPDX-License-Identifier: MIT
//
// Resize on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

namespace {

struct Tap {
    std::int64_t position;
    double weight;
};

double cubic_weight(double distance, double a) {
    const double x = std::abs(distance);
    if (x <= 1)
        return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

// Returns the positions that one output of a resized axis mixes.
std::vector<Tap> resize_taps(const std::string& mode, const std::string& rounding, double position,
                             std::int64_t size, double cubic, bool exclude_outside) {
    if (mode == "nearest") {
        const auto nearest = round_position(rounding, position);
        return {{std::clamp<std::int64_t>(nearest, 0, size - 1), 1.0}};
    }
    const std::int64_t reach = mode == "cubic" ? 2 : 1;
    const auto first = static_cast<std::int64_t>(std::floor(position));
    std::vector<Tap> taps;
    double sum = 0;
    for (std::int64_t at = first - reach + 1; at <= first + reach; ++at) {
        const double distance = position - static_cast<double>(at);
        double weight = mode == "cubic" ? cubic_weight(distance, cubic) : 1 - std::abs(distance);
        if (mode == "cubic" && exclude_outside && (at < 0 || at >= size))
            weight = 0;
        sum += weight;
        taps.push_back({std::clamp<std::int64_t>(at, 0, size - 1), weight});
    }
    for (Tap& tap : taps)
        tap.weight /= sum;
    return taps;
}

} // namespace

// Resizes axis by axis; each output is a weighted sum of inputs.
void cpu_resize(Context& context) {
    const Attributes attributes(*context.node);
    Reference result = cpu_input(context, 0);
    const std::vector<float> scales = resize_scales(context, result.shape.size());
    const bool integer = result.integer;
    const Shape shape = output_shape(context);
    const std::string mode = attributes.text("mode", "nearest");
    const std::string transformation =
        attributes.text("coordinate_transformation_mode", "half_pixel");
    if (mode != "nearest" && mode != "linear" && mode != "cubic")
        refuse(context, "mode '" + mode + "' is not supported; nearest, linear and cubic are");
    const double cubic = double{attributes.real("cubic_coeff_a", -0.75f)};
    const bool exclude = attributes.integer("exclude_outside", 0) != 0;
    if (shape.size() != result.shape.size())
        refuse(context, "input and output differ in rank");
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t from = result.shape[axis], to = shape[axis];
        const double scale = !scales.empty() ? double{scales[axis]}
                                             : static_cast<double>(to) / static_cast<double>(from);
        if (from == to && scale == 1)
            continue;
        check_between(context, {to}, 1, std::int64_t{1} << 24, "its size");
        check_scale(context, scale, to);
        const auto positions = resize_positions(transformation, scale, from, to);
        if (!positions)
            refuse(context, "coordinate transformation '" + transformation + "' is not supported");
        const std::string rounding = rounding_of_resize(context, scale);
        op::Cpu form{CpuOpType::interpolate, {static_cast<std::int64_t>(axis), 0}, {}};
        for (std::int64_t output = 0; output < to; ++output) {
            const double position =
                positions->start + static_cast<double>(output) * positions->step;
            for (const Tap& tap : resize_taps(mode, rounding, position, from, cubic, exclude)) {
                form.integers.push_back(tap.position);
                form.reals.push_back(static_cast<float>(tap.weight));
            }
        }
        form.integers[1] = static_cast<std::int64_t>(form.reals.size()) / to;
        Shape next = result.shape;
        next[axis] = to;
        result = cpu_node(context, form, {result}, next);
    }
    finish_cpu(context, integer && mode != "nearest" ? cpu_truncated(context, result) : result);
}

} // namespace overtake::compiler
