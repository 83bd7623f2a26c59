// SPDX-License-Identifier: MIT
//
// How a tensor of ONNX lies in the three dimensions of the device.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Of height, width and channels the ONNX axis that each is; -1 for one of 1 that is none.
using DeviceAxes = std::array<int, 3>;

/// Gives the value the dimensions that its shape has in an order: planes are (1, C, H, W), (1, C,
/// W) or (1, C); rows take the last axis as channels, the one in front of it as width and all
/// others as height.  False if the shape has no such form or exceeds the device.
bool lay_out(Value& value, Order order);

/// The axes of ONNX that make each dimension of the device: height, width, channels.
std::array<std::vector<std::size_t>, 3> axes_of_dimensions(const Value& value);

/// Nothing where several axes make one dimension.
std::optional<DeviceAxes> device_axes(const Value& value);

/// The axes of a permute that makes `to` of `from`, whose ONNX axis perm[i] becomes axis i.
std::optional<std::array<std::size_t, 3>> permutation_between(const Value& from, const Value& to,
                                                              std::span<const std::int64_t> perm);

/// The axes of a permute that makes `to` of `from`, whose elements come in the same order, with
/// dimensions of 1 put in or left out.
std::optional<std::array<std::size_t, 3>> permutation_of_same(const Value& from, const Value& to);

/// Whether `to` is `from` with its rows and columns run together differently, or with each pixel's
/// channels made a row of pixels, or the reverse: what a reshape does by copying once.
bool can_reshape(const Value& from, const Value& to);

} // namespace overtake::compiler
