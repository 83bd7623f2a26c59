// SPDX-License-Identifier: MIT
//
// The axis of the device for an axis of ONNX, and parts of tensors along an axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// The place of an axis of ONNX: an axis of the device (axis_*), and the number of elements there
/// that make one element of ONNX's axis.
struct DevicePlace {
    std::size_t axis;
    std::uint32_t factor;
};

/// Returns the place of an axis of ONNX in a value.  If several axes of ONNX make one dimension of
/// the device, the axes in front of `axis` must have one element.
DevicePlace device_place(const Context& context, const Value& value, std::size_t axis);

void add_slice(Context& context, ValueId input, const std::array<Stretch, 3>& stretches,
               const std::string& name, const Shape& shape);

/// Joins the parts one behind the other along an axis.  All parts must have the same order.
Reference joined(Context& context, const std::vector<Reference>& parts, std::size_t axis,
                 const std::string& name);

/// Returns a part of one axis, as a value of its own.
Reference stretch_of(Context& context, const Reference& input, std::size_t axis, std::int64_t first,
                     std::int64_t count, const std::string& name);

/// The device refuses a Gather of more runs of positions, and a Tile with more repeats of an axis.
constexpr std::size_t most_pieces = 64;

} // namespace overtake::compiler
