// SPDX-License-Identifier: MIT
//
// Operators on the CPU that move elements, and Resize.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiler/import/importer.hpp"

namespace overtake::compiler {
namespace {

// Row-major steps of a shape.
std::vector<std::int64_t> steps_of(const Shape& shape) {
    std::vector<std::int64_t> steps(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;)
        steps[axis - 1] = steps[axis] * shape[axis];
    return steps;
}

} // namespace

// A view of the input: its first element and a step for each axis of `shape`.
Reference Importer::cpu_view(const Reference& input, std::int64_t offset,
                             std::vector<std::int64_t> steps, const Shape& shape) {
    steps.insert(steps.begin(), offset);
    if (shape.empty())
        steps.push_back(0); // the CPU's scalars have one dimension
    Reference result = cpu_node({CpuOpType::view, steps, {}}, {input}, shape);
    result.integer = input.integer;
    return result;
}

void Importer::cpu_transpose() {
    const Reference input = cpu_input(0);
    const std::vector<std::int64_t> order = permutation(input.shape.size());
    const auto from = steps_of(input.shape);
    Shape shape;
    std::vector<std::int64_t> steps;
    for (std::int64_t axis : order) {
        shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
        steps.push_back(from[static_cast<std::size_t>(axis)]);
    }
    finish_cpu(cpu_view(input, 0, steps, shape));
}

// The axes of a Transpose, each once; backwards if none are given.
std::vector<std::int64_t> Importer::permutation(std::size_t rank) const {
    std::vector<std::int64_t> reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    const auto order = Attributes(*node_).integers("perm", reversed);
    auto sorted = order;
    std::ranges::sort(sorted);
    std::ranges::reverse(sorted);
    if (sorted != reversed)
        refuse("its perm names not every axis once");
    return order;
}

void Importer::cpu_slice() {
    const Reference input = cpu_input(0);
    const std::vector<SlicedAxis> axes = sliced_axes(input.shape);
    Shape shape = input.shape;
    std::vector<std::int64_t> steps = steps_of(input.shape);
    std::int64_t offset = 0;
    for (const SlicedAxis& sliced : axes) {
        offset += sliced.first * steps[sliced.axis];
        shape[sliced.axis] = sliced.count;
        steps[sliced.axis] *= sliced.step;
    }
    finish_cpu(cpu_view(input, offset, steps, shape));
}

void Importer::cpu_split() {
    const Reference input = cpu_input(0);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), input.shape.size());
    const std::vector<std::int64_t> sizes = split_sizes(input.shape[axis]);
    const auto steps = steps_of(input.shape);
    std::int64_t first = 0;
    for (int index = 0; index < node_->output_size(); ++index) {
        const std::int64_t count = sizes[static_cast<std::size_t>(index)];
        Shape shape = input.shape;
        shape[axis] = count;
        if (!node_->output(index).empty())
            finish_cpu(cpu_view(input, first * steps[axis], steps, shape), index);
        first += count;
    }
}

Shape Importer::expanded_shape(const Shape& from) {
    // Shapes are static: one that is computed has to be the one that the model declares.
    const bool is_declared = !is_constant(1) && shapes_.contains(node_->output(0));
    Shape to = is_declared ? output_shape() : integers_of(constant_input(1));
    std::ranges::replace(to, -1, 1); // exporters write it for what stays as it is
    check_between(to, 1, max_elements, "its shape");
    return broadcast_shape(from, to);
}

void Importer::cpu_expand() {
    const Reference input = cpu_input(0);
    const Shape shape = expanded_shape(input.shape);
    const auto from = steps_of(input.shape);
    std::vector<std::int64_t> steps(shape.size(), 0);
    const std::size_t added = shape.size() - input.shape.size();
    for (std::size_t axis = added; axis < shape.size(); ++axis)
        if (input.shape[axis - added] != 1)
            steps[axis] = from[axis - added];
    finish_cpu(cpu_view(input, 0, steps, shape));
}

void Importer::cpu_tile() {
    Reference result = cpu_input(0);
    std::vector<std::int64_t> repeats = integers_of(constant_input(1));
    if (repeats.size() != result.shape.size())
        refuse("its repeats do not fit the input");
    if (std::ranges::count(repeats, 0) > 0)
        refuse("gives an empty tensor");
    check_between(repeats, 1, max_elements, "its repeats");
    while (std::ranges::any_of(repeats, [](std::int64_t count) { return count > 1; }))
        result = cpu_repeated(result, repeats);
    finish_cpu(result);
}

// Repeats the first three axes that are to be repeated, and notes in `repeats` that they are.  Each
// becomes two of a view, of which the outer one stands still and the inner one takes along what
// follows; a view has no more than eight.
Reference Importer::cpu_repeated(const Reference& input, std::vector<std::int64_t>& repeats) {
    constexpr std::size_t most_parts = 1 + 2 * 3;
    const auto from = steps_of(input.shape);
    Shape shape = input.shape, parts = {1};
    std::vector<std::int64_t> steps = {0};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (repeats[axis] > 1 && parts.size() < most_parts) {
            parts.insert(parts.end(), {repeats[axis], 1});
            steps.insert(steps.end(), {0, 0});
            if (__builtin_mul_overflow(shape[axis], repeats[axis], &shape[axis]))
                refuse("gives a huge tensor");
            repeats[axis] = 1;
        }
        parts.back() *= input.shape[axis];
        steps.back() = from[axis];
    }
    Reference result = cpu_view(input, 0, steps, parts);
    result.shape = shape;
    return result;
}

void Importer::cpu_depth_to_space() {
    const Attributes attributes(*node_);
    const Reference input = cpu_input(0);
    const std::int64_t block = attributes.integer("blocksize", 0);
    const bool is_inverse = node_->op_type() == "SpaceToDepth";
    if (input.shape.size() != 4 || block < 1 || block > max_window)
        refuse("needs an image and a block size");
    const std::int64_t n = input.shape[0], c = input.shape[1], h = input.shape[2],
                       w = input.shape[3];
    Reference result = input;
    if (is_inverse) {
        if (h % block != 0 || w % block != 0)
            refuse("its block size does not divide height and width");
        result = cpu_view(input, 0, {c * h * w, w, 1, h * w, block * w, block},
                          {n, block, block, c, h / block, w / block});
        result.shape = {n, c * block * block, h / block, w / block};
        return finish_cpu(result);
    }
    if (c % (block * block) != 0)
        refuse("its block size does not divide the channels");
    const std::int64_t channels = c / (block * block), plane = h * w;
    const bool is_crd = attributes.text("mode", "DCR") == "CRD";
    // Of a channel, of a row and of a column within the block.
    const std::int64_t of_channel = is_crd ? block * block * plane : plane;
    const std::int64_t of_row = is_crd ? block * plane : block * channels * plane;
    const std::int64_t of_column = is_crd ? plane : channels * plane;
    result = cpu_view(input, 0, {c * plane, of_channel, w, of_row, 1, of_column},
                      {n, channels, h, block, w, block});
    result.shape = {n, channels, h * block, w * block};
    finish_cpu(result);
}

void Importer::cpu_gather() {
    const Reference input = cpu_input(0), indices = cpu_input(1);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), input.shape.size());
    Shape shape(input.shape.begin(), input.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
    shape.insert(shape.end(), input.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                 input.shape.end());
    Reference result = cpu_node({CpuOpType::gather, {static_cast<std::int64_t>(axis)}, {}},
                                {input, indices}, shape);
    result.integer = input.integer;
    finish_cpu(result);
}

void Importer::cpu_gather_elements() {
    const Reference input = cpu_input(0), indices = cpu_input(1);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), input.shape.size());
    Reference result = cpu_node({CpuOpType::gather_elements, {static_cast<std::int64_t>(axis)}, {}},
                                {input, indices}, indices.shape);
    result.integer = input.integer;
    finish_cpu(result);
}

void Importer::cpu_concat() {
    std::vector<Reference> inputs;
    for (int index = 0; index < node_->input_size(); ++index)
        if (!is_constant(index) || element_count(constant_input(index).shape) > 0)
            inputs.push_back(cpu_input(index));
    if (inputs.empty())
        refuse("joins nothing");
    Shape shape = inputs[0].shape;
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), shape.size());
    shape[axis] = 0;
    bool integer = true;
    for (const Reference& input : inputs) {
        if (input.shape.size() != shape.size())
            refuse("its inputs differ in rank");
        shape[axis] += input.shape[axis];
        integer = integer && input.integer;
    }
    Reference result =
        cpu_node({CpuOpType::concat, {static_cast<std::int64_t>(axis)}, {}}, inputs, shape);
    result.integer = integer;
    finish_cpu(result);
}

void Importer::cpu_pad() {
    const Reference input = cpu_input(0);
    const std::size_t rank = input.shape.size();
    const std::vector<std::int64_t> pads = pads_of(rank);
    const std::string mode = Attributes(*node_).text("mode", "constant");
    static const std::map<std::string, cpu::Padding> modes = {
        {"constant", cpu::Padding::constant},
        {"edge", cpu::Padding::edge},
        {"reflect", cpu::Padding::reflect},
        {"wrap", cpu::Padding::wrap},
    };
    if (!modes.contains(mode))
        refuse("mode '" + mode + "' is not supported");
    std::vector<std::int64_t> integers = {static_cast<std::int64_t>(modes.at(mode))};
    Shape shape = input.shape;
    check_between(pads, -max_elements, max_elements, "pads");
    for (std::size_t axis = 0; axis < rank; ++axis) {
        shape[axis] += pads[axis] + pads[axis + rank];
        if (shape[axis] < 1)
            refuse("cuts off more than there is");
        integers.push_back(pads[axis]);
    }
    Reference result = cpu_node({CpuOpType::pad, integers, {fill_of()}}, {input}, shape);
    result.integer = input.integer;
    finish_cpu(result);
}

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

// The positions that one output of a resized axis mixes.
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

// Axis by axis, each output a weighted sum of inputs.
void Importer::cpu_resize() {
    const Attributes attributes(*node_);
    check_scales();
    Reference result = cpu_input(0);
    const bool integer = result.integer;
    const Shape shape = output_shape();
    const std::string mode = attributes.text("mode", "nearest");
    const std::string transformation =
        attributes.text("coordinate_transformation_mode", "half_pixel");
    if (mode != "nearest" && mode != "linear" && mode != "cubic")
        refuse("mode '" + mode + "' is not supported; nearest, linear and cubic are");
    const std::string rounding = attributes.text("nearest_mode", "round_prefer_floor");
    const double cubic = double{attributes.real("cubic_coeff_a", -0.75f)};
    const bool exclude = attributes.integer("exclude_outside", 0) != 0;
    if (shape.size() != result.shape.size())
        refuse("input and output differ in rank");
    std::vector<float> scales;
    if (is_constant(2))
        scales = reals_of(constant_input(2));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t from = result.shape[axis], to = shape[axis];
        const double scale = scales.size() == shape.size()
                                 ? double{scales[axis]}
                                 : static_cast<double>(to) / static_cast<double>(from);
        if (from == to && scale == 1)
            continue;
        check_between({to}, 1, std::int64_t{1} << 24, "its size");
        check_scale(scale, to);
        const auto positions = resize_positions(transformation, scale, from, to);
        if (!positions)
            refuse("coordinate transformation '" + transformation + "' is not supported");
        CpuForm form{CpuOpType::interpolate, {static_cast<std::int64_t>(axis), 0}, {}};
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
        result = cpu_node(form, {result}, next);
    }
    finish_cpu(integer && mode != "nearest" ? cpu_truncated(result) : result);
}

} // namespace overtake::compiler
