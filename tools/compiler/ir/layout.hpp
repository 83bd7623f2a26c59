// SPDX-License-Identifier: MIT
//
// The place of a tensor of ONNX in the three dimensions of the device.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// The ONNX axes of height, width and channels; -1 for a dimension of 1 without an axis.
using DeviceAxes = std::array<int, 3>;

/// Gives the value the dimensions that its shape has in an order: planes are (N, C, H, W), (N, C,
/// W) or (N, C), N of them the images of a batch; rows take the last axis as channels, the one in
/// front of it as width and all others as height.  False if the shape has no such form or exceeds
/// the device.
bool lay_out(Value& value, Order order);

/// Returns one of so many images of the value; for rows, a part of the height.  Returns nothing if
/// the value does not have so many.
std::optional<Value> one_image(const Value& value, std::uint32_t images);

/// Returns the axes of ONNX that make each dimension of the device: height, width, channels.
std::array<std::vector<std::size_t>, 3> axes_of_dimensions(const Value& value);

/// Returns the axis of each dimension; nothing if several axes make one dimension.
std::optional<DeviceAxes> device_axes(const Value& value);

/// Returns the axes of a permute that makes `to` of `from`: ONNX axis perm[i] of `from` is axis i
/// of `to`.  Returns nothing if no permute does.
std::optional<std::array<std::size_t, 3>> permutation_between(const Value& from, const Value& to,
                                                              std::span<const std::int64_t> perm);

/// Returns the same if elements have the same order in ONNX in both, with dimensions of 1 added or
/// left out.
std::optional<std::array<std::size_t, 3>> permutation_of_same(const Value& from, const Value& to);

/// A permutation of each of `batches` images.
struct Permutation {
    std::array<std::size_t, 3> axes = {0, 1, 2};
    std::uint32_t batches = 1;
};

/// Do the same for values that may have several images: each image is permuted on its own, by
/// permutation_between() or permutation_of_same().
std::optional<Permutation> image_permutation_between(const Value& from, const Value& to,
                                                     std::span<const std::int64_t> perm);
std::optional<Permutation> image_permutation_of_same(const Value& from, const Value& to);

/// Whether a reshape makes `to` of `from` by one copy.  It can divide the pixels into other rows,
/// and make a row of pixels of the channels of each pixel, or the reverse.
bool can_reshape(const Value& from, const Value& to);

} // namespace overtake::compiler
