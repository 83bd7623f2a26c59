// SPDX-License-Identifier: MIT
//
// The limits of a tensor's size, and the memory of its channels, for all parts of the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "overtake_isa.h"

namespace overtake::compiler {

constexpr std::int64_t max_elements = std::int64_t{1} << 31; // of one tensor, as in the runtime
constexpr std::size_t max_rank = 8;                          // dimensions of a tensor, likewise
constexpr std::int64_t max_dimension = 1 << 20;              // of a tensor on the device
constexpr std::int64_t max_batch = 256;                      // images of a tensor on the device
constexpr std::int64_t max_window = 65535;                   // 16 bits in an instruction
constexpr std::int64_t max_exact_integer = 1 << 24;          // float32 holds all integers up to it

/// Returns the bytes of a pixel on the device: its channels and those that alignment adds.
constexpr std::uint32_t whole_pixel(std::uint32_t channels) {
    return (channels + OVERTAKE_CHANNEL_ALIGN - 1) / OVERTAKE_CHANNEL_ALIGN *
           OVERTAKE_CHANNEL_ALIGN;
}

} // namespace overtake::compiler
