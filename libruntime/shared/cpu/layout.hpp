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
    blocked_8,    ///< 8 channels side by side, by (batch, block, axes..., channel)
    blocked_16,   ///< 16
    channels_last ///< dense, with channels behind the axes; the compiler's float execution has it
};

/// Channels in a block, which are floats in a register of AVX2 or AVX-512; 1 where there are none.
/// Where the channels of a value are not a multiple of it, the lanes behind the last channel are 0.
constexpr std::size_t lanes_of(Layout layout) {
    return layout == Layout::blocked_8 ? 8 : layout == Layout::blocked_16 ? 16 : 1;
}

constexpr bool is_blocked(Layout layout) {
    return lanes_of(layout) > 1;
}

/// Blocks as the vectors of this CPU are long, as far as oneDNN uses them.  What oneDNN uses cannot
/// be limited in this process from then on.
Layout blocks_of_this_cpu();

/// "planes", "blocks of 8", "blocks of 16", "channels last".
const char* name_of(Layout layout);

std::size_t elements(const Shape& shape);

/// Whether a value of this shape has channels and axes: three dimensions or more.
bool can_be_blocked(const Shape& shape);

/// Floats in memory.
std::size_t stored_elements(const Shape& shape, Layout layout);

/// Puts zeros into the lanes behind the last channel of values in such blocks.
void clear_spare_lanes(const Shape& shape, Layout blocks, std::span<float> values);

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
