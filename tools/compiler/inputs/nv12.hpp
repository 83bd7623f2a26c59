// SPDX-License-Identifier: MIT
//
// Pictures as cameras give them: rows of luma, then half as many rows of chroma, U and V
// alternating, one pair for each two by two pixels.  They use BT.601, as the device computes it,
// without interpolation of chroma.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/firmware.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Returns the bytes of a picture whose `pixels` (0..255) are channel by channel in the colours of
/// `flags` (OVERTAKE_FLAG_BGR, _GRAY, _FULL_RANGE).  Height and width are even.
std::vector<std::uint8_t> to_nv12(std::span<const float> pixels, std::uint32_t height,
                                  std::uint32_t width, std::uint32_t flags);

/// Returns such pixels from the bytes of a picture.
std::vector<float> from_nv12(std::span<const std::uint8_t> bytes, std::uint32_t height,
                             std::uint32_t width, std::uint32_t flags);

/// The place of the bytes of an nv12 input, from `offset` of a region on, without padding.
struct Nv12Planes {
    overtake_operand luma;
    overtake_operand chroma;
};
Nv12Planes nv12_planes(const Value& picture, std::uint32_t region, std::uint64_t offset);

/// Returns the words of the parameters of an NV12 instruction that writes bytes minus 128 to a
/// tensor with this zero point.
std::vector<std::uint32_t> nv12_parameters(int zero_point);

} // namespace overtake::compiler
