// SPDX-License-Identifier: MIT
#include "units.hpp"

#include <cctype>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "time_units.hpp"

namespace overtake::command {
namespace {

// Returns how many MiB the text means; nothing if it is no number with or without a unit.
std::optional<double> read_mebibytes(const std::string& text) {
    static const std::map<std::string, double> units = {
        {"", 0x1p-20}, {"K", 0x1p-10}, {"M", 1}, {"G", 0x1p10}, {"T", 0x1p20}};
    const auto number = read_number(text);
    if (!number)
        return std::nullopt;
    const double value = number->first;
    std::string unit(number->second);
    if (unit.empty())
        return value;
    // Removes the B of bytes and the iB of binary units: all units are binary.
    if (unit.ends_with("iB"))
        unit.resize(unit.size() - 2);
    else if (unit.ends_with('B'))
        unit.pop_back();
    if (unit.size() == 1)
        unit[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
    const auto found = units.find(unit);
    return found == units.end() ? std::nullopt : std::optional(value * found->second);
}

std::optional<double> read_time(const std::string& text, TimeUnit unit) {
    const auto unit_ns = static_cast<double>(unit);
    const std::optional<double> ns = read_time_ns(text, unit_ns);
    return ns ? std::optional(*ns / unit_ns) : std::nullopt;
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

// Replaces the text by the number as the option's own type reads it.
std::string replace_whole(std::string& text, std::optional<double> value, std::uint64_t least,
                          std::uint64_t most, const std::string& refusal) {
    const std::optional<double> whole = value ? whole_of(*value) : std::nullopt;
    if (!whole || *whole < static_cast<double>(least) || *whole > static_cast<double>(most))
        return fmt::format("'{}' is not a whole number in {}..{}{}", text, least, most, refusal);
    text = fmt::format("{:.0f}", *whole);
    return "";
}

} // namespace

CLI::Validator whole_duration(TimeUnit unit, std::uint64_t least, std::uint64_t most) {
    const std::string refusal =
        fmt::format(" {}, nor such a time with a unit (30s, 5min)", name_of(unit));
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
                return replace_whole(text, read_mebibytes(text), least, most,
                                     " MiB, nor a size such as 64M or 2G");
            },
            fmt::format("{}..{}", least, most)};
}

} // namespace overtake::command
