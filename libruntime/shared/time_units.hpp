// SPDX-License-Identifier: MIT
//
// Durations as people write them: a number with a unit, or without.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace overtake {

/// Returns the number at the text's beginning and the text after it; nothing if the text does not
/// begin with a finite number.
inline std::optional<std::pair<double, std::string_view>> read_number(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || !std::isfinite(value))
        return std::nullopt;
    return std::pair(value, std::string_view(stop, static_cast<std::size_t>(end - stop)));
}

/// Returns the nanoseconds of 30s, 1.5ms or 5min.  A number without a unit counts in `unit_ns`
/// nanoseconds.  Nothing for any other text.
inline std::optional<double> read_time_ns(std::string_view text, double unit_ns) {
    constexpr std::array<std::pair<std::string_view, double>, 6> units{
        {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}}};
    const auto number = read_number(text);
    if (!number)
        return std::nullopt;
    const auto [value, unit] = *number;
    if (unit.empty())
        return value * unit_ns;
    for (const auto& [name, ns] : units)
        if (name == unit)
            return value * ns;
    return std::nullopt;
}

/// Returns the whole number that `value` is except for rounding; nothing if it is none.
inline std::optional<double> whole_of(double value) {
    const double nearest = std::nearbyint(value);
    const bool is_whole = std::abs(value - nearest) <= 1e-9 * std::abs(value);
    return is_whole ? std::optional(nearest) : std::nullopt;
}

} // namespace overtake
