// SPDX-License-Identifier: MIT
//
// Between a user's dense float arrays and the device's int8 tensors (see Tensor).
#pragma once

#include <cstddef>
#include <span>

#include "cpu/layout.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// Images of a device tensor: more than one of a batch.
inline std::size_t image_count(const Tensor& tensor) {
    return tensor.elements() / (std::size_t{tensor.height} * tensor.width * tensor.channels);
}

/// Each value as quantise() makes it.  Of a tensor of bytes the values are the bytes.  `values` has
/// tensor.elements() entries, `out` tensor.bytes bytes; padding is left as it is.
void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out);

/// value = scale * (q - zero point).  The reverse shapes.
void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values);

/// Whether the tensor's values can be in blocks of channels (cpu/layout.hpp) as well: its
/// second dimension is the device's channels, and those behind it are its rows and columns.
bool is_block_of_pixels(const Tensor& tensor);

/// As from_device() and to_device(), for values in such blocks.
void blocks_from_device(const Tensor& tensor, std::span<const std::byte> in, cpu::Layout blocks,
                        std::span<float> values);
void blocks_to_device(const Tensor& tensor, cpu::Layout blocks, std::span<const float> values,
                      std::span<std::byte> out);

} // namespace overtake
