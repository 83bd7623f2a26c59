// SPDX-License-Identifier: MIT
#include "observe/timeline/axis.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace overtake::timeline {
namespace {

constexpr std::uint64_t most_ticks = 12;
constexpr std::size_t longest_label = 6;

struct Unit {
    std::uint64_t ns;
    std::string_view name;
};

constexpr std::array<Unit, 4> units = {
    {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "µs"}, {1, "ns"}}};

const Unit& fitting_unit(std::uint64_t ns) {
    for (const Unit& unit : units)
        if (ns >= unit.ns)
            return unit;
    return units.back();
}

/// Returns the smallest of 1, 2, 5, 10, 20, 50 ... ns that fits at most most_ticks times into
/// `span`.
std::uint64_t tick_step(std::uint64_t span) {
    std::uint64_t power = 1;
    for (;; power *= 10)
        for (std::uint64_t factor : {1, 2, 5})
            if (span / (factor * power) <= most_ticks)
                return factor * power;
}

/// Returns `ns` in `unit` with as many decimals as `step` needs.
std::string in_unit(std::uint64_t ns, const Unit& unit, std::uint64_t step) {
    int decimals = 0;
    for (std::uint64_t part = unit.ns; part > 1 && step % part != 0; part /= 10)
        decimals++;
    if (decimals == 0)
        return fmt::format("{}", ns / unit.ns);
    const std::string fraction = fmt::format("{}", unit.ns + ns % unit.ns);
    return fmt::format("{}.{}", ns / unit.ns,
                       fraction.substr(1, static_cast<std::size_t>(decimals)));
}

} // namespace

std::string duration_text(std::uint64_t ns, int digits) {
    const Unit& unit = fitting_unit(ns);
    std::string number =
        fmt::format("{:.{}f}", static_cast<double>(ns) / static_cast<double>(unit.ns), digits);
    if (number.find('.') != std::string::npos) {
        number.erase(number.find_last_not_of('0') + 1);
        if (number.back() == '.')
            number.pop_back();
    }
    return fmt::format("{} {}", number, unit.name);
}

TimeAxis::TimeAxis(std::uint64_t from_ns, std::uint64_t to_ns, double left, double right,
                   std::uint64_t origin_ns)
    : from_(from_ns), to_(std::max(to_ns, from_ns + 1)), left_(left), right_(right) {
    const std::uint64_t span = to_ - from_;
    const std::uint64_t from = from_ - origin_ns;
    const std::uint64_t to = to_ - origin_ns;
    const std::uint64_t step = tick_step(span);
    const Unit& unit = fitting_unit(std::max<std::uint64_t>(span / 2, 1));
    std::uint64_t first = from / step * step + (from % step != 0 ? step : 0);
    std::uint64_t base = 0;
    caption_ = fmt::format("device time, {}", unit.name);
    if (in_unit(to, unit, step).size() > longest_label) {
        // The labels count from a round time at or before the left edge. It is a multiple of the
        // smallest power of ten that is not below the span.
        std::uint64_t round = 1;
        while (round < span && round <= ~std::uint64_t{0} / 10)
            round *= 10;
        base = from / round * round;
        caption_ = fmt::format("device time, {} after {} s", unit.name,
                               in_unit(base, units.front(), std::max<std::uint64_t>(round, 1)));
    }
    for (std::uint64_t at = first; at <= to && ticks_.size() <= most_ticks + 1; at += step)
        ticks_.push_back({origin_ns + at, fmt::format("{}{}", base != 0 ? "+" : "",
                                                      in_unit(at - base, unit, step))});
}

double TimeAxis::x(std::uint64_t ns) const {
    const double share =
        static_cast<double>(std::clamp(ns, from_, to_) - from_) / static_cast<double>(to_ - from_);
    return left_ + share * (right_ - left_);
}

void TimeAxis::draw_grid(Canvas& canvas, double top, double bottom) const {
    for (const Tick& tick : ticks_)
        canvas.line(x(tick.ns), top, x(tick.ns), bottom, "stroke=\"#d4d4d4\"");
}

void TimeAxis::draw_tick_labels(Canvas& canvas, double baseline) const {
    for (const Tick& tick : ticks_) {
        const double half = text_width(tick.label) / 2;
        const double at = std::min(x(tick.ns), picture_width - half - 2);
        canvas.text(at, baseline, tick.label, "text-anchor=\"middle\" class=\"tick\"");
    }
}

void TimeAxis::draw_labels(Canvas& canvas, double y) const {
    canvas.line(left_, y, right_, y, "stroke=\"#555555\"");
    for (const Tick& tick : ticks_)
        canvas.line(x(tick.ns), y, x(tick.ns), y + 4, "stroke=\"#555555\"");
    draw_tick_labels(canvas, y + 18);
    canvas.text((left_ + right_) / 2, y + 38, caption_, "text-anchor=\"middle\"");
}

void TimeAxis::draw_top_labels(Canvas& canvas, double y) const {
    draw_tick_labels(canvas, y - 6);
}

} // namespace overtake::timeline
