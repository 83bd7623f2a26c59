// SPDX-License-Identifier: MIT
//
// Pictures as cameras give them: rows of luma, then half as many rows of chroma, U and V by turns,
// one pair for each two by two pixels.  BT.601, as the device computes it; chroma is not
// interpolated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/firmware.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Bytes of a picture whose `pixels` (0..255) are channel by channel in the colours that `flags`
/// (OVERTAKE_FLAG_BGR, _GRAY, _FULL_RANGE) say.  Height and width are even.
std::vector<std::uint8_t> to_nv12(std::span<const float> pixels, std::uint32_t height,
                                  std::uint32_t width, std::uint32_t flags);

/// The reverse.
std::vector<float> from_nv12(std::span<const std::uint8_t> bytes, std::uint32_t height,
                             std::uint32_t width, std::uint32_t flags);

/// Where the bytes of an nv12 input lie, from `offset` of a region on; not padded.
struct Nv12Planes {
    overtake_operand luma;
    overtake_operand chroma;
};
Nv12Planes nv12_planes(const Value& picture, std::uint32_t region, std::uint64_t offset);

/// Words of the parameters of an NV12 instruction that writes bytes less 128 to a tensor of this
/// zero point.
std::vector<std::uint32_t> nv12_parameters(int zero_point);

} // namespace overtake::compiler
