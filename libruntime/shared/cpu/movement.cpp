// SPDX-License-Identifier: MIT
//
// Operators that move elements, and Interpolate, which also mixes them.
#include <algorithm>
#include <cerrno>
#include <string>

#include "cpu/table.hpp"
#include "overtake/error.hpp"

namespace overtake::cpu {

namespace {

std::string check_copy(const Operation& operation) {
    if (operation.inputs.size() != 1)
        return "needs one input";
    return elements(operation.inputs[0]) == elements(operation.output)
               ? ""
               : "input and output differ in shape";
}

Kernel make_copy(const Operation&) {
    return [](const Inputs& in, std::span<float> out) { std::ranges::copy(in[0], out.begin()); };
}

std::shared_ptr<const Prepared> prepare_copy(const Operation& operation) {
    const double each = operation.costs.copied;
    if (operation.inputs[0] == operation.output && can_be_blocked(operation.output))
        return prepare_in_blocks(operation, each, make_copy, operation.integers);
    return prepare_forms(operation, operation.costs.elements_ns(elements(operation.output), each),
                         make_copy);
}

// integers: the offset of the first element, then the step along each axis of the output, in
// elements of the input.  Transpositions, slices and expansions are all such views.
std::string check_view(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() != 1 + operation.output.size())
        return "needs one input and a step for each axis of the output";
    // The reader and the compiler bound dimensions by 2^32 and elements by 2^31: no sum below
    // wraps.
    constexpr std::int64_t far = 1ll << 31;
    const auto size = static_cast<std::int64_t>(elements(operation.inputs[0]));
    std::int64_t low = operation.integers[0], high = operation.integers[0];
    if (low < 0 || low >= size)
        return "begins outside its input";
    for (std::size_t axis = 0; axis < operation.output.size(); axis++) {
        const std::int64_t step = operation.integers[1 + axis];
        if (step < -far || step > far)
            return "steps out of its input";
        const std::int64_t way = step * (std::int64_t{operation.output[axis]} - 1);
        (way < 0 ? low : high) += way;
        if (low < 0 || high >= size)
            return "leaves its input";
    }
    return "";
}

Kernel make_view(const Operation& operation) {
    return [steps = operation.integers, shape = operation.output,
            position = std::vector<std::uint32_t>(operation.output.size())](
               const Inputs& in, std::span<float> out) mutable {
        std::ranges::fill(position, 0);
        std::int64_t offset = steps[0];
        for (float& element : out) {
            element = in[0][static_cast<std::size_t>(offset)];
            for (std::size_t axis = shape.size(); axis-- > 0;) {
                offset += steps[1 + axis];
                if (++position[axis] < shape[axis])
                    break;
                offset -= steps[1 + axis] * shape[axis];
                position[axis] = 0;
            }
        }
    };
}

std::string check_axis(const Operation& operation, const Shape& shape) {
    if (operation.integers.empty() || operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(shape.size()))
        return "its axis lies outside the tensor";
    return "";
}

// integers: axis.  Inputs: data, indices (negative ones count from the end).
std::string check_gather(const Operation& operation) {
    if (operation.inputs.size() != 2)
        return "needs two inputs";
    if (const std::string reason = check_axis(operation, operation.inputs[0]); !reason.empty())
        return reason;
    const Extents extents =
        around(operation.inputs[0], static_cast<std::size_t>(operation.integers[0]));
    return extents.outer * elements(operation.inputs[1]) * extents.inner ==
                   elements(operation.output)
               ? ""
               : "shapes do not fit each other";
}

std::size_t index_within(float index, std::size_t length) {
    const float position = index < 0 ? index + static_cast<float>(length) : index;
    if (!(position >= 0 && position < static_cast<float>(length)))
        throw Error(ERANGE, "an index leaves the " + std::to_string(length) +
                                " elements that it chooses from; check the inputs");
    return static_cast<std::size_t>(position);
}

Kernel make_gather(const Operation& operation) {
    const Extents extents =
        around(operation.inputs[0], static_cast<std::size_t>(operation.integers[0]));
    return [extents](const Inputs& in, std::span<float> out) {
        float* target = out.data();
        for (std::size_t outer = 0; outer < extents.outer; outer++)
            for (const float index : in[1]) {
                const std::size_t row =
                    outer * extents.length + index_within(index, extents.length);
                target = std::copy_n(in[0].data() + row * extents.inner, extents.inner, target);
            }
    };
}

// Whether indices of GatherElements or ScatterElements fit the data: along each axis but `axis`,
// along which they choose, `indices` is at most as long as `data`.
bool have_places(const Shape& data, const Shape& indices, std::size_t axis) {
    if (indices.size() != data.size())
        return false;
    for (std::size_t i = 0; i < data.size(); i++)
        if (i != axis && indices[i] > data[i])
            return false;
    return true;
}

// Returns the place in the data that the index at `position` of the indices selects.
std::size_t place_of(std::size_t position, float index, const Shape& data, const Shape& indices,
                     std::size_t axis) {
    std::size_t offset = 0, stride = 1;
    for (std::size_t i = indices.size(); i-- > 0;) {
        offset += stride * (i == axis ? index_within(index, data[i]) : position % indices[i]);
        position /= indices[i];
        stride *= data[i];
    }
    return offset;
}

// integers: axis.  Inputs: data, indices of the output's shape.
std::string check_gather_elements(const Operation& operation) {
    if (operation.inputs.size() != 2)
        return "needs two inputs";
    const Shape &data = operation.inputs[0], &indices = operation.inputs[1];
    if (const std::string reason = check_axis(operation, data); !reason.empty())
        return reason;
    return indices == operation.output &&
                   have_places(data, indices, static_cast<std::size_t>(operation.integers[0]))
               ? ""
               : "shapes do not fit each other";
}

Kernel make_gather_elements(const Operation& operation) {
    const auto axis = static_cast<std::size_t>(operation.integers[0]);
    return [axis, data = operation.inputs[0], shape = operation.output](const Inputs& in,
                                                                        std::span<float> out) {
        for (std::size_t i = 0; i < out.size(); i++)
            out[i] = in[0][place_of(i, in[1][i], data, shape, axis)];
    };
}

// integers: axis, Scatter.  Inputs: data, indices, and an update for each index.
std::string check_scatter_elements(const Operation& operation) {
    if (operation.inputs.size() != 3 || operation.integers.size() != 2)
        return "needs three inputs and two numbers";
    const Shape &data = operation.inputs[0], &indices = operation.inputs[1];
    if (const std::string reason = check_axis(operation, data); !reason.empty())
        return reason;
    if (operation.integers[1] < 0 ||
        operation.integers[1] >= static_cast<std::int64_t>(Scatter::count))
        return "no such way to scatter";
    return data == operation.output && indices == operation.inputs[2] &&
                   have_places(data, indices, static_cast<std::size_t>(operation.integers[0]))
               ? ""
               : "shapes do not fit each other";
}

void scatter(Scatter way, float& element, float update) {
    switch (way) {
    case Scatter::add:
        element += update;
        break;
    case Scatter::multiply:
        element *= update;
        break;
    case Scatter::maximum:
        element = std::max(element, update);
        break;
    case Scatter::minimum:
        element = std::min(element, update);
        break;
    default:
        element = update;
    }
}

Kernel make_scatter_elements(const Operation& operation) {
    const auto axis = static_cast<std::size_t>(operation.integers[0]);
    return [axis, way = static_cast<Scatter>(operation.integers[1]), data = operation.output,
            shape = operation.inputs[1]](const Inputs& in, std::span<float> out) {
        std::ranges::copy(in[0], out.begin());
        for (std::size_t i = 0; i < in[1].size(); i++)
            scatter(way, out[place_of(i, in[1][i], data, shape, axis)], in[2][i]);
    };
}

// integers: axis
std::string check_concat(const Operation& operation) {
    if (operation.inputs.empty())
        return "needs inputs";
    if (const std::string reason = check_axis(operation, operation.output); !reason.empty())
        return reason;
    const auto axis = static_cast<std::size_t>(operation.integers[0]);
    std::uint64_t length = 0;
    for (const Shape& input : operation.inputs) {
        if (input.size() != operation.output.size())
            return "shapes do not fit each other";
        for (std::size_t i = 0; i < input.size(); i++)
            if (i != axis && input[i] != operation.output[i])
                return "shapes do not fit each other";
        length += input[axis];
    }
    return length == operation.output[axis] ? "" : "shapes do not fit each other";
}

Kernel make_concat(const Operation& operation) {
    const Extents extents =
        around(operation.output, static_cast<std::size_t>(operation.integers[0]));
    return [extents](const Inputs& in, std::span<float> out) {
        float* target = out.data();
        for (std::size_t outer = 0; outer < extents.outer; outer++)
            for (const auto& input : in) {
                const std::size_t each = input.size() / extents.outer;
                target = std::copy_n(input.data() + outer * each, each, target);
            }
    };
}

// Concatenates in blocks along any axis except the batch; along channels only if the inputs before
// the last one fill whole blocks.
std::shared_ptr<const Prepared> prepare_concat(const Operation& operation) {
    const double each = operation.costs.copied;
    const std::int64_t axis = operation.integers[0];
    bool fits = can_be_blocked(operation.output) && axis > 0;
    for (std::size_t i = 0; i + 1 < operation.inputs.size() && fits; i++)
        fits = axis != 1 || operation.inputs[i][1] % lanes_of(operation.blocks) == 0;
    if (fits)
        return prepare_in_blocks(operation, each, make_concat, operation.integers);
    return prepare_forms(operation, operation.costs.elements_ns(elements(operation.output), each),
                         make_concat);
}

// integers: Padding, then the elements before each axis (negative: cut off).  reals: the constant.
std::string check_pad(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() != 1 + operation.output.size() ||
        operation.inputs[0].size() != operation.output.size())
        return "needs one input and a number for each axis";
    const auto mode = operation.integers[0];
    if (mode < 0 || mode >= static_cast<std::int64_t>(Padding::count))
        return "no such mode";
    for (std::size_t axis = 0; axis < operation.output.size(); axis++) {
        const std::int64_t before = operation.integers[1 + axis];
        if (before < -(1ll << 32) || before > 1ll << 32)
            return "padding is out of range";
        const std::int64_t size = operation.inputs[0][axis];
        const std::int64_t behind = std::int64_t{operation.output[axis]} - size - before;
        if (mode == static_cast<std::int64_t>(Padding::reflect) &&
            (before >= size || behind >= size))
            return "reflects more than there is";
    }
    return "";
}

// Returns the source of a padded position of one axis; -1 for the constant.
std::int64_t padded_source(Padding mode, std::int64_t position, std::int64_t size) {
    if (position >= 0 && position < size)
        return position;
    switch (mode) {
    case Padding::edge:
        return std::clamp<std::int64_t>(position, 0, size - 1);
    case Padding::reflect:
        return position < 0 ? -position : 2 * (size - 1) - position;
    case Padding::wrap:
        return (position % size + size) % size;
    default:
        return -1;
    }
}

Kernel make_pad(const Operation& operation) {
    const Shape &from = operation.inputs[0], &to = operation.output;
    const auto mode = static_cast<Padding>(operation.integers[0]);
    std::vector<std::vector<std::int64_t>> sources(to.size()); // offsets by axis, or -1
    std::int64_t stride = 1;
    for (std::size_t axis = to.size(); axis-- > 0;) {
        for (std::int64_t i = 0; i < to[axis]; i++) {
            const std::int64_t source =
                padded_source(mode, i - operation.integers[1 + axis], from[axis]);
            sources[axis].push_back(source < 0 ? -1 : source * stride);
        }
        stride *= from[axis];
    }
    const float constant = operation.reals.empty() ? 0.0f : operation.reals[0];
    return [sources, constant](const Inputs& in, std::span<float> out) {
        for (std::size_t index = 0; index < out.size(); index++) {
            std::size_t rest = index;
            std::int64_t offset = 0;
            bool inside = true;
            for (std::size_t axis = sources.size(); axis-- > 0;) {
                const std::int64_t source = sources[axis][rest % sources[axis].size()];
                rest /= sources[axis].size();
                inside = inside && source >= 0;
                offset += source;
            }
            out[index] = inside ? in[0][static_cast<std::size_t>(offset)] : constant;
        }
    };
}

std::shared_ptr<const Prepared> prepare_pad(const Operation& operation) {
    const double each = operation.costs.padded;
    const Shape &from = operation.inputs[0], &to = operation.output;
    if (can_be_blocked(to) && from[1] == to[1] && operation.integers[2] == 0) {
        std::vector<std::int64_t> integers = operation.integers;
        integers.push_back(0); // before the lanes
        return prepare_in_blocks(operation, each, make_pad, integers);
    }
    return prepare_forms(operation, operation.costs.elements_ns(elements(to), each), make_pad);
}

// Each position along one axis is a weighted sum of positions of the input.
// integers: axis, taps, then taps positions for each position of the output.  reals: their weights.
std::string check_interpolate(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() < 2 ||
        operation.inputs[0].size() != operation.output.size())
        return "needs one input";
    if (const std::string reason = check_axis(operation, operation.output); !reason.empty())
        return reason;
    const auto axis = static_cast<std::size_t>(operation.integers[0]);
    for (std::size_t i = 0; i < operation.output.size(); i++)
        if (i != axis && operation.inputs[0][i] != operation.output[i])
            return "shapes do not fit each other";
    const std::int64_t taps = operation.integers[1];
    if (taps < 1 || taps > 1 << 16 ||
        operation.reals.size() != static_cast<std::size_t>(taps) * operation.output[axis] ||
        operation.integers.size() != 2 + operation.reals.size())
        return "positions and weights do not fit the output";
    for (std::size_t i = 2; i < operation.integers.size(); i++)
        if (operation.integers[i] < 0 || operation.integers[i] >= operation.inputs[0][axis])
            return "a position leaves the input";
    return "";
}

Kernel make_interpolate(const Operation& operation) {
    const auto axis = static_cast<std::size_t>(operation.integers[0]);
    const Extents from = around(operation.inputs[0], axis);
    const std::size_t length = operation.output[axis];
    return [from, length, taps = static_cast<std::size_t>(operation.integers[1]),
            positions = std::vector(operation.integers.begin() + 2, operation.integers.end()),
            weights = operation.reals](const Inputs& in, std::span<float> out) {
        for (std::size_t outer = 0; outer < from.outer; outer++)
            for (std::size_t i = 0; i < length; i++) {
                float* target = out.data() + (outer * length + i) * from.inner;
                std::fill_n(target, from.inner, 0.0f);
                for (std::size_t tap = i * taps; tap < (i + 1) * taps; tap++) {
                    const float* source =
                        in[0].data() +
                        (outer * from.length + static_cast<std::size_t>(positions[tap])) *
                            from.inner;
                    for (std::size_t j = 0; j < from.inner && weights[tap] != 0; j++)
                        target[j] += weights[tap] * source[j];
                }
            }
    };
}

std::shared_ptr<const Prepared> prepare_interpolate(const Operation& operation) {
    const double each = operation.costs.interpolated * static_cast<double>(operation.integers[1]);
    if (can_be_blocked(operation.output) && operation.integers[0] > 1)
        return prepare_in_blocks(operation, each, make_interpolate, operation.integers);
    return prepare_forms(operation, operation.costs.elements_ns(elements(operation.output), each),
                         make_interpolate);
}

constexpr Entry movement_table[] = {
    {CpuOpType::dequantize, "Copy", check_copy, make_copy, prepare_copy},
    {CpuOpType::view, "View", check_view, make_view},
    {CpuOpType::gather, "Gather", check_gather, make_gather},
    {CpuOpType::gather_elements, "GatherElements", check_gather_elements, make_gather_elements},
    {CpuOpType::scatter_elements, "ScatterElements", check_scatter_elements, make_scatter_elements},
    {CpuOpType::concat, "Concat", check_concat, make_concat, prepare_concat},
    {CpuOpType::pad, "Pad", check_pad, make_pad, prepare_pad},
    {CpuOpType::interpolate, "Interpolate", check_interpolate, make_interpolate,
     prepare_interpolate},
};

} // namespace

std::span<const Entry> movement_operators() {
    return movement_table;
}

} // namespace overtake::cpu
