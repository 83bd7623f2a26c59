// SPDX-License-Identifier: MIT
#include "units.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace overtake::command {
namespace {

using Units = std::map<std::string, double>;

const Units& times() {
    static const Units units = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},
                                {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
    return units;
}

// Without the B of bytes and the iB of binary units, in which all are.
const Units& sizes() {
    static const Units units = {
        {"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}};
    return units;
}

std::string size_unit(std::string unit) {
    if (unit.ends_with("iB"))
        unit.resize(unit.size() - 2);
    else if (unit.ends_with('B'))
        unit.pop_back();
    if (unit.size() == 1)
        unit[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
    return unit;
}

// How many of `unit` the text is; nothing if it is no number with a unit or without.
std::optional<double> read(const std::string& text, const Units& units, double unit,
                           std::string (*canonical)(std::string)) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || !std::isfinite(value))
        return std::nullopt;
    if (stop == end)
        return value;
    const auto found = units.find(canonical(std::string(stop, end)));
    if (found == units.end())
        return std::nullopt;
    return value * found->second / unit;
}

std::optional<double> read_time(const std::string& text, TimeUnit unit) {
    return read(text, times(), static_cast<double>(unit), [](std::string name) { return name; });
}

std::string name_of(TimeUnit unit) {
    switch (unit) {
    case TimeUnit::microsecond:
        return "us";
    case TimeUnit::millisecond:
        return "ms";
    case TimeUnit::second:
        break;
    }
    return "s";
}

// The number as the option's own type reads it.
std::string replace_whole(std::string& text, std::optional<double> value, std::uint64_t least,
                          std::uint64_t most, const std::string& refusal) {
    const double nearest = value ? std::nearbyint(*value) : 0;
    const bool is_whole = value && std::abs(*value - nearest) <= 1e-9 * std::abs(*value);
    if (!is_whole || nearest < static_cast<double>(least) || nearest > static_cast<double>(most))
        return fmt::format("'{}' is not a whole number in {}..{}{}", text, least, most, refusal);
    text = fmt::format("{:.0f}", nearest);
    return "";
}

} // namespace

CLI::Validator whole_duration(TimeUnit unit, std::uint64_t least, std::uint64_t most) {
    const std::string refusal = fmt::format(" {}, nor a time such as 30s or 5min", name_of(unit));
    return {[=](std::string& text) {
                return replace_whole(text, read_time(text, unit), least, most, refusal);
            },
            fmt::format("{}..{}", least, most)};
}

CLI::Validator duration(TimeUnit unit, double least, double most) {
    return {[=](std::string& text) -> std::string {
                const std::optional<double> value = read_time(text, unit);
                if (!value || !(*value >= least && *value <= most))
                    return fmt::format(
                        "'{}' is not a number in {}..{} {}, nor a time such as 30s or 5min", text,
                        least, most, name_of(unit));
                text = fmt::format("{}", *value);
                return "";
            },
            fmt::format("{}..{}", least, most)};
}

CLI::Validator whole_mebibytes(std::uint64_t least, std::uint64_t most) {
    return {[=](std::string& text) {
                return replace_whole(text, read(text, sizes(), 0x1p20, size_unit), least, most,
                                     " MiB, nor a size such as 64M or 2G");
            },
            fmt::format("{}..{}", least, most)};
}

} // namespace overtake::command
