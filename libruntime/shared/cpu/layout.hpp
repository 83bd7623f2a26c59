// SPDX-License-Identifier: MIT
//
// How values of operators of the CPU lie in memory.  What an operator means does not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace overtake::cpu {

using Shape = std::vector<std::uint32_t>; // 1..8 dimensions, each at least 1

/// Of a value (batch, channels, axes...).
enum class Layout : std::uint8_t {
    planes,       ///< dense row-major
    blocked,      ///< block_width channels side by side, by (batch, block, axes..., channel)
    channels_last ///< dense, with channels behind the axes; the compiler's float execution has it
};

/// Channels in a block: floats in a register of AVX.  Where the channels of a value are not a
/// multiple of it, the lanes behind the last channel are 0.
constexpr std::size_t block_width = 8;

/// "planes", "blocked", "channels last".
const char* name_of(Layout layout);

std::size_t elements(const Shape& shape);

/// Whether a value of this shape has channels and axes: three dimensions or more.
bool can_be_blocked(const Shape& shape);

/// Floats in memory.
std::size_t stored_elements(const Shape& shape, Layout layout);

/// Puts zeros into the lanes behind the last channel.
void clear_spare_lanes(const Shape& shape, std::span<float> blocked);

/// Copies values between planes and blocks.  One thread at a time.
class Conversion {
public:
    /// The shape can be blocked.  Throws Error ENOMEM and std::bad_alloc.
    Conversion(const Shape& shape, Layout from, Layout to);
    ~Conversion();
    Conversion(Conversion&&) noexcept;

    /// Throws Error ENOMEM.
    void run(std::span<const float> from, std::span<float> to) const;

private:
    struct Reorder;
    std::unique_ptr<Reorder> reorder_;
};

} // namespace overtake::cpu
