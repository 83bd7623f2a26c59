// SPDX-License-Identifier: MIT
//
// The layouts of values of CPU operators in memory.  The meaning of an operator does not depend on
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace overtake::cpu {

using Shape = std::vector<std::uint32_t>; // 1..8 dimensions, each at least 1

/// The layout of a value (batch, channels, axes...).
enum class Layout : std::uint8_t {
    planes,       ///< dense row-major
    blocked_8,    ///< 8 channels side by side, by (batch, block, axes..., channel)
    blocked_16,   ///< likewise with 16 channels
    channels_last ///< dense, channels after the axes; only in the compiler's float execution
};

/// Returns the channels in a block, which are the floats in a register of AVX2 or AVX-512; 1 for a
/// layout without blocks.  If the channels of a value are not a multiple of it, the lanes after the
/// last channel are 0.
constexpr std::size_t lanes_of(Layout layout) {
    return layout == Layout::blocked_8 ? 8 : layout == Layout::blocked_16 ? 16 : 1;
}

constexpr bool is_blocked(Layout layout) {
    return lanes_of(layout) > 1;
}

/// Returns blocks as long as the vectors of this CPU, as far as oneDNN uses them.  After this call
/// the instructions that oneDNN uses cannot be limited in this process any more.
Layout blocks_of_this_cpu();

/// Returns "planes", "blocks of 8", "blocks of 16" or "channels last".
const char* name_of(Layout layout);

std::size_t elements(const Shape& shape);

/// Whether a value of this shape has channels and axes: three dimensions or more.
bool can_be_blocked(const Shape& shape);

/// Returns the floats that the value takes in memory.
std::size_t stored_elements(const Shape& shape, Layout layout);

/// Sets to zero the lanes after the last channel of values in such blocks.
void clear_spare_lanes(const Shape& shape, Layout blocks, std::span<float> values);

/// Copies values between planes and blocks.  One thread at a time.
class Conversion {
public:
    /// Takes a shape that can be blocked.  Throws Error ENOMEM and std::bad_alloc.
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
