// SPDX-License-Identifier: MIT
//
// Attributes and constant inputs that an operator reads in the same way for the device and for the
// CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Elements first, first + step, ... of one axis of ONNX.
struct SlicedAxis {
    std::size_t axis;
    std::int64_t first, step, count;
};

/// Returns the axes of a Transpose, each once; in reverse if none are given.
std::vector<std::int64_t> permutation(const Context& context, std::size_t rank);

/// Returns the parts of each axis that a Slice takes, by axis.
std::vector<SlicedAxis> sliced_axes(const Context& context, const Shape& shape);

std::vector<std::int64_t> split_sizes(const Context& context, std::int64_t size);

/// Returns the axes that a reduction names, ascending.  If it names none, returns all axes, or none
/// with noop_with_empty_axes.
std::vector<std::int64_t> reduced_axes(const Context& context, std::size_t rank);

Shape reduced_shape(const Context& context, const Shape& shape,
                    const std::vector<std::int64_t>& axes);

/// Returns the elements before each axis, then those after each; a negative number cuts elements
/// off.
std::vector<std::int64_t> pads_of(const Context& context, std::size_t rank);

float fill_of(const Context& context);

/// Returns the shape of tensors joined along an axis; they may differ only in that axis.
Shape joined_shape(const Context& context, const std::vector<Shape>& shapes, std::size_t axis);

Shape expanded_shape(Context& context, const Shape& from);

/// Returns the scales of a Resize, one for each axis of its input; none if it names sizes.  The
/// ratio of sizes cannot replace a scale: with the scale 1.6, two elements become three, a ratio
/// of 1.5.
std::vector<float> resize_scales(const Context& context, std::size_t rank);

/// Returns how a Resize rounds along an axis: floor, ceil, round_prefer_floor or round_prefer_ceil.
std::string rounding_of_resize(const Context& context, double scale);

/// Refuses a scale that is not positive, and a scale of 2^40 or more.  Also refuses a scale with
/// which the position of the end of `outputs` elements is 2^40 or more.
void check_scale(const Context& context, double scale, std::int64_t outputs);

/// Returns start and step of the positions along one axis, for a coordinate transformation mode of
/// ONNX.  Returns null for other modes.
std::optional<Positions> resize_positions(const std::string& mode, double scale,
                                          std::int64_t inputs, std::int64_t outputs);

/// Returns NOTSET, SAME_UPPER, SAME_LOWER or VALID.
std::string auto_pad_of(const Context& context);

std::int64_t round_position(const std::string& mode, double position);

/// Refuses weights that are NaN or infinite: the model is broken.
void check_weights(const Context& context, int index);

} // namespace overtake::compiler
