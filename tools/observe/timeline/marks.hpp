// SPDX-License-Identifier: MIT
//
// Marks of preemptions: single marks, or, where there are too many, a strip that is darker the more
// preemptions there are.
#pragma once

#include <cstdint>
#include <span>

#include "observe/timeline/canvas.hpp"

namespace overtake::timeline {

/// Draws a triangle whose tip points up to (x, y).
void draw_preemption_mark(Canvas& canvas, double x, double y, double size);

inline constexpr double strip_height = 8;

/// A part of a strip.
struct StripBar {
    double begin;
    double end;
    std::uint64_t count;
};

/// `most` is the count of the darkest bar of the picture.
void draw_strip(Canvas& canvas, double y, std::span<const StripBar> bars, std::uint64_t most);

} // namespace overtake::timeline
