// SPDX-License-Identifier: MIT
//
// Between a user's dense float arrays and the device's tensors of int8 or int16 (see Tensor).
#pragma once

#include <cstddef>
#include <span>

#include "cpu/layout.hpp"
#include "cpu/program.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// Each value as quantise() makes it.  Of a tensor of bytes the values are the bytes.  `values` has
/// tensor.elements() entries, `out` tensor.bytes bytes; padding is left as it is.
void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out);

/// value = scale * (q - zero point).  The reverse shapes.
void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values);

/// As from_device() and to_device(), for values in blocks of channels of a tensor that is_pixels().
void blocks_from_device(const Tensor& tensor, std::span<const std::byte> in, cpu::Layout blocks,
                        std::span<float> values);
void blocks_to_device(const Tensor& tensor, cpu::Layout blocks, std::span<const float> values,
                      std::span<std::byte> out);

} // namespace overtake
