// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/timeline/canvas.hpp"

namespace overtake::timeline {

/// Device time from left to right. Ticks are at round times. A label is the device time; if that
/// would take too many digits, it is the time since a round time that the caption names.
class TimeAxis {
public:
    /// Pixels [left, right] show [from_ns, to_ns]. Labels are times since `origin_ns`, which is at
    /// most from_ns.
    TimeAxis(std::uint64_t from_ns, std::uint64_t to_ns, double left, double right,
             std::uint64_t origin_ns = 0);

    std::uint64_t from_ns() const { return from_; }
    std::uint64_t to_ns() const { return to_; }
    double left() const { return left_; }
    double right() const { return right_; }
    /// Returns the x of a time; a time outside is moved to the nearer end.
    double x(std::uint64_t ns) const;
    /// Draws grid lines from y `top` to `bottom`.
    void draw_grid(Canvas& canvas, double top, double bottom) const;
    /// Draws labels and caption, which need `height` below y.
    void draw_labels(Canvas& canvas, double y) const;
    /// Draws the labels only, above y; they need 18.
    void draw_top_labels(Canvas& canvas, double y) const;
    static constexpr double height = 46;

private:
    struct Tick {
        std::uint64_t ns;
        std::string label;
    };

    void draw_tick_labels(Canvas& canvas, double baseline) const;

    std::uint64_t from_;
    std::uint64_t to_;
    double left_;
    double right_;
    std::vector<Tick> ticks_;
    std::string caption_;
};

/// Returns a duration for people: "250 ns", "1.25 ms", with at most `digits` decimals.
std::string duration_text(std::uint64_t ns, int digits = 2);

} // namespace overtake::timeline
