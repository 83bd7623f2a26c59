// SPDX-License-Identifier: MIT
//
// Copies between a user's dense float arrays and the device's tensors of int8 or int16 (see
// Tensor).
#pragma once

#include <cstddef>
#include <span>

#include "cpu/layout.hpp"
#include "cpu/program.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// Writes each value as quantise() makes it.  The values of a tensor of bytes are the bytes.
/// `values` has tensor.elements() entries, `out` has tensor.bytes bytes; padding is left as it is.
void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out);

/// Computes value = scale * (q - zero point).  `in` has tensor.bytes bytes, `values` has
/// tensor.elements() entries.
void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values);

/// Do the same for values in blocks of channels of a tensor that is_pixels().
void blocks_from_device(const Tensor& tensor, std::span<const std::byte> in, cpu::Layout blocks,
                        std::span<float> values);
void blocks_to_device(const Tensor& tensor, cpu::Layout blocks, std::span<const float> values,
                      std::span<std::byte> out);

} // namespace overtake
