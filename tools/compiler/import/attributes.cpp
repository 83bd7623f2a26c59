// SPDX-License-Identifier: MIT
#include "compiler/import/attributes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/old_resizes.hpp"

namespace overtake::compiler {

std::vector<std::int64_t> permutation(const Context& context, std::size_t rank) {
    std::vector<std::int64_t> reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    const auto order = Attributes(*context.node).integers("perm", reversed);
    auto sorted = order;
    std::ranges::sort(sorted);
    std::ranges::reverse(sorted);
    if (sorted != reversed)
        refuse(context, "its perm names not every axis once");
    return order;
}

std::vector<SlicedAxis> sliced_axes(const Context& context, const Shape& shape) {
    const auto starts = integers_of(constant_input(context, 1)),
               ends = integers_of(constant_input(context, 2));
    std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
    std::iota(axes.begin(), axes.end(), 0);
    if (has_input(context, 3))
        axes = integers_of(constant_input(context, 3));
    if (has_input(context, 4))
        steps = integers_of(constant_input(context, 4));
    if (ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size())
        refuse(context, "starts, ends, axes and steps must be constants of one length");
    std::vector<SlicedAxis> result;
    for (std::size_t index = 0; index < starts.size(); ++index) {
        const std::size_t axis = axis_of(context, axes[index], shape.size());
        if (std::ranges::any_of(result, [&](const SlicedAxis& one) { return one.axis == axis; }))
            refuse(context, "names an axis twice");
        const std::int64_t size = shape[axis], step = steps[index];
        if (step == 0 || step < -max_dimension || step > max_dimension)
            refuse(context, "its steps are zero or out of range");
        // With a negative step a slice may end before the first element.
        const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
        const auto clamp = [&](std::int64_t position) {
            return std::clamp(position < 0 ? position + size : position, low, high);
        };
        const std::int64_t first = clamp(starts[index]), last = clamp(ends[index]);
        const std::int64_t way = step > 0 ? last - first : first - last;
        const std::int64_t stride = step > 0 ? step : -step;
        if (way <= 0)
            refuse(context, "gives an empty tensor");
        result.push_back({axis, first, step, (way + stride - 1) / stride});
    }
    return result;
}

std::vector<std::int64_t> split_sizes(const Context& context, std::int64_t size) {
    const int outputs = context.node->output_size();
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(outputs), size / outputs);
    if (has_input(context, 1))
        sizes = integers_of(constant_input(context, 1));
    else if (Attributes(*context.node).has("split"))
        sizes = Attributes(*context.node).integers("split", {});
    else if (size % outputs != 0)
        refuse(context, "does not say how " + std::to_string(size) + " elements become " +
                            std::to_string(outputs) + " parts, which are not equal");
    if (std::ranges::any_of(sizes, [](std::int64_t count) { return count < 1; }))
        refuse(context, "gives an empty tensor");
    if (sizes.size() != static_cast<std::size_t>(outputs) ||
        std::ranges::any_of(sizes, [&](std::int64_t count) { return count > size; }) ||
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != size)
        refuse(context, "its parts do not add up to " + std::to_string(size));
    return sizes;
}

std::vector<std::int64_t> reduced_axes(const Context& context, std::size_t rank) {
    auto axes = Attributes(*context.node).integers("axes", {});
    if (has_input(context, 1))
        axes = integers_of(constant_input(context, 1));
    if (axes.empty() && Attributes(*context.node).integer("noop_with_empty_axes", 0) == 0) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (std::int64_t& axis : axes)
        axis = static_cast<std::int64_t>(axis_of(context, axis, rank));
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end())
        refuse(context, "names an axis twice");
    return axes;
}

Shape reduced_shape(const Context& context, const Shape& shape,
                    const std::vector<std::int64_t>& axes) {
    const bool keeps = Attributes(*context.node).integer("keepdims", 1) != 0;
    Shape result;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) == axes.end())
            result.push_back(shape[axis]);
        else if (keeps)
            result.push_back(1);
    return result;
}

std::vector<std::int64_t> pads_of(const Context& context, std::size_t rank) {
    const std::vector<std::int64_t> pads = has_input(context, 1)
                                               ? integers_of(constant_input(context, 1))
                                               : Attributes(*context.node).integers("pads", {});
    if (pads.size() != 2 * rank)
        refuse(context, "its pads do not fit the input");
    check_between(context, pads, -max_dimension, max_dimension, "pads");
    return pads;
}

float fill_of(const Context& context) {
    if (has_input(context, 2)) {
        const std::vector<float> fill = reals_of(constant_input(context, 2));
        if (fill.size() > 1)
            refuse(context, "what it pads with must be a single number");
        if (!fill.empty())
            return fill[0];
    }
    return Attributes(*context.node).real("value", 0.0f);
}

Shape joined_shape(const Context& context, const std::vector<Shape>& shapes, std::size_t axis) {
    Shape result = shapes.at(0);
    result.at(axis) = 0;
    for (const Shape& shape : shapes) {
        if (shape.size() != result.size())
            refuse(context,
                   "its inputs differ in rank: " + to_text(shapes[0]) + " and " + to_text(shape));
        for (std::size_t other = 0; other < shape.size(); ++other)
            if (other != axis && shape[other] != result[other])
                refuse(context, "inputs of shapes " + to_text(shapes[0]) + " and " +
                                    to_text(shape) + " cannot be joined along axis " +
                                    std::to_string(axis));
        result[axis] += shape[axis];
    }
    return result;
}

Shape expanded_shape(Context& context, const Shape& from) {
    // Shapes are static: a computed shape has to be the one that the model declares.
    const bool is_declared =
        !is_constant(context, 1) && context.shapes.contains(context.node->output(0));
    Shape to = is_declared ? output_shape(context) : integers_of(constant_input(context, 1));
    std::ranges::replace(to, -1, 1); // exporters write -1 for a dimension that stays
    check_between(context, to, 1, max_elements, "its shape");
    return broadcast_shape(context, from, to);
}

std::vector<float> resize_scales(const Context& context, std::size_t rank) {
    std::vector<float> scales;
    if (has_input(context, 2) && !is_constant(context, 2))
        refuse(context, "its scales must be constants; export the model with fixed sizes");
    if (has_input(context, 2))
        scales = reals_of(constant_input(context, 2));
    const bool has_sizes =
        is_constant(context, 3) && element_count(constant_input(context, 3).shape) > 0;
    for (const int index : {2, 3}) {
        const std::size_t count =
            is_constant(context, index) ? element_count(constant_input(context, index).shape) : 0;
        if (count > 0 && count != rank)
            refuse(context, std::string(index == 2 ? "scales" : "sizes") + " has " +
                                std::to_string(count) + " numbers for " + std::to_string(rank) +
                                " axes");
    }
    if (has_sizes && !scales.empty())
        refuse(context, "names both scales and sizes");
    return scales;
}

std::string rounding_of_resize(const Context& context, double scale) {
    static const std::set<std::string> known = {"floor", "ceil", "round_prefer_floor",
                                                "round_prefer_ceil"};
    const std::string rounding =
        Attributes(*context.node).text("nearest_mode", "round_prefer_floor");
    if (Attributes(*context.node).has(is_from_before_11))
        return scale < 1 ? "ceil" : "floor";
    if (!known.contains(rounding))
        refuse(context, "nearest mode '" + rounding + "' is not supported");
    return rounding;
}

void check_scale(const Context& context, double scale, std::int64_t outputs) {
    constexpr double far = 1ll << 40;
    if (!(scale > 0 && scale < far && static_cast<double>(outputs) / scale < far))
        refuse(context, "its scales are not positive or out of range");
}

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

std::string auto_pad_of(const Context& context) {
    static const std::set<std::string> known = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const std::string auto_pad = Attributes(*context.node).text("auto_pad", "NOTSET");
    if (!known.contains(auto_pad))
        refuse(context, "auto_pad '" + auto_pad + "' is not supported");
    return auto_pad;
}

std::int64_t round_position(const std::string& mode, double position) {
    // A number that is exact on paper is a half or a whole here too, whatever its last bits.
    constexpr double hair = 1e-9;
    if (mode == "ceil")
        return static_cast<std::int64_t>(std::ceil(position - hair));
    if (mode == "round_prefer_floor")
        return static_cast<std::int64_t>(std::ceil(position - 0.5 - hair));
    if (mode == "round_prefer_ceil")
        return static_cast<std::int64_t>(std::floor(position + 0.5 + hair));
    return static_cast<std::int64_t>(std::floor(position + hair));
}

void check_weights(const Context& context, int index) {
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (is_constant(context, index) &&
        !std::ranges::all_of(constant_input(context, index).floats, is_finite))
        refuse(context, "input '" + input_name(context, index) +
                            "' holds NaN or infinity; export the model again");
}

} // namespace overtake::compiler
