// SPDX-License-Identifier: MIT
#include "option_checks.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace overtake::command {
namespace {

// Returns the number, if the text is nothing else; not for infinity or NaN.
template <typename Number>
std::optional<Number> parse(const std::string& text) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(static_cast<double>(value)))
        return std::nullopt;
    return value;
}

template <typename Number>
CLI::Validator is_number(const char* what) {
    return {[what](std::string& text) -> std::string {
                return parse<Number>(text) ? "" : fmt::format("'{}' is not a {}", text, what);
            },
            ""};
}

} // namespace

std::string listed(const std::vector<std::string>& choices) {
    std::string text;
    for (std::size_t index = 0; index < choices.size(); ++index) {
        if (index > 0)
            text += index + 1 == choices.size() ? " or " : ", ";
        text += choices[index];
    }
    return text;
}

CLI::Validator one_of(std::vector<std::string> choices) {
    const std::string all = listed(choices);
    return {[choices = std::move(choices), all](std::string& text) -> std::string {
                return std::ranges::find(choices, text) != choices.end()
                           ? ""
                           : fmt::format("'{}' is not {}", text, all);
            },
            all};
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
    const std::string range = most == std::numeric_limits<std::uint64_t>::max()
                                  ? fmt::format("{}..2^64 - 1", least)
                                  : fmt::format("{}..{}", least, most);
    return {[=](std::string& text) -> std::string {
                const auto value = parse<std::uint64_t>(text);
                return value && *value >= least && *value <= most
                           ? ""
                           : fmt::format("'{}' is not a whole number in {}", text, range);
            },
            range};
}

CLI::Validator number(double least, double most) {
    const std::string range = fmt::format("{}..{}", least, most);
    return {[=](std::string& text) -> std::string {
                const auto value = parse<double>(text);
                return value && *value >= least && *value <= most
                           ? ""
                           : fmt::format("'{}' is not a number in {}", text, range);
            },
            range};
}

CLI::Validator positive_number() {
    return {[](std::string& text) -> std::string {
                const auto value = parse<double>(text);
                return value && *value > 0 ? "" : fmt::format("'{}' is not a number above 0", text);
            },
            ""};
}

CLI::Validator share() {
    return {[](std::string& text) -> std::string {
                const auto value = parse<double>(text);
                return value && *value > 0 && *value <= 1
                           ? ""
                           : fmt::format("'{}' is not a number above 0 and up to 1", text);
            },
            "0..1"};
}

CLI::Validator non_negative_number() {
    return {[](std::string& text) -> std::string {
                const auto value = parse<double>(text);
                return value && *value >= 0
                           ? ""
                           : fmt::format("'{}' is not a number of at least 0", text);
            },
            ""};
}

CLI::Validator not_empty() {
    return {[](std::string& text) -> std::string { return text.empty() ? "is empty" : ""; }, ""};
}

void check_numbers(CLI::App& command) {
    for (CLI::Option* option : command.get_options()) {
        const std::string type = option->get_type_name();
        if (type.starts_with("UINT"))
            option->check(
                whole_number(0, std::numeric_limits<std::uint64_t>::max()).description(""));
        else if (type.starts_with("INT"))
            option->check(is_number<std::int64_t>("whole number"));
        else if (type.starts_with("FLOAT"))
            option->check(is_number<double>("number"));
    }
}

void check_embedded_options(const CLI::App& command, const std::string& node) {
    for (const char* option : {"--mode", "--cores"})
        if (!node.empty() && command.count(option) > 0)
            throw CLI::ValidationError(
                option, fmt::format("is for an embedded device, and {} is a kernel device, whose "
                                    "module has that as a parameter (insmod overtake.ko {}=...); "
                                    "leave it out or add --device embedded",
                                    node, option + 2));
}

} // namespace overtake::command
