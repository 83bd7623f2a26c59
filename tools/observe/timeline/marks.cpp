// SPDX-License-Identifier: MIT
#include "observe/timeline/marks.hpp"

#include <fmt/format.h>

namespace overtake::timeline {

void draw_preemption_mark(Canvas& canvas, double x, double y, double size) {
    canvas.path(
        fmt::format("M{:.2f} {:.1f}l{:.1f} {:.1f}h{:.1f}z", x, y, size, 2 * size, -2 * size),
        fmt::format("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.8\"", mark_colour));
}

void draw_strip(Canvas& canvas, double y, std::span<const StripBar> bars, std::uint64_t most) {
    for (const StripBar& bar : bars) {
        if (bar.count == 0)
            continue;
        const double share = static_cast<double>(bar.count) / static_cast<double>(most);
        canvas.begin_group("preemptions",
                           fmt::format("{} preemption{}", bar.count, bar.count == 1 ? "" : "s"));
        canvas.rectangle(
            bar.begin, y, bar.end - bar.begin, strip_height,
            fmt::format("fill=\"{}\" fill-opacity=\"{:.2f}\"", mark_colour, 0.15 + 0.85 * share));
        canvas.end_group();
    }
}

} // namespace overtake::timeline
