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

/// The ONNX axes that height, width and channels are; -1 for a size of 1 that is none.
using DeviceAxes = std::array<int, 3>;

/// Gives the value the dimensions that its shape has in an order: planes are (N, C, H, W), (N, C,
/// W) or (N, C), N of them the images of a batch; rows take the last axis as channels, the one in
/// front of it as width and all others as height.  False if the shape has no such form or exceeds
/// the device.
bool lay_out(Value& value, Order order);

/// One of as many images: of rows a part of the height.  Nothing where the value has not so many.
std::optional<Value> one_image(const Value& value, std::uint32_t images);

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

/// A permutation of each of `batches` images.
struct Permutation {
    std::array<std::size_t, 3> axes = {0, 1, 2};
    std::uint32_t batches = 1;
};

/// The same of values that may have several images, which stay apart: permutation_between() and
/// permutation_of_same() of each.
std::optional<Permutation> image_permutation_between(const Value& from, const Value& to,
                                                     std::span<const std::int64_t> perm);
std::optional<Permutation> image_permutation_of_same(const Value& from, const Value& to);

/// Whether `to` is `from` with its rows and columns run together differently, or with each pixel's
/// channels made a row of pixels, or the reverse: what a reshape does by copying once.
bool can_reshape(const Value& from, const Value& to);

} // namespace overtake::compiler
