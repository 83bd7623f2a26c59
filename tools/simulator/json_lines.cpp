// SPDX-License-Identifier: MIT
#include "simulator/json_lines.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace overtake::simulator {
namespace {

/// Returns whether JSON has the character as it is. Most names have only such characters, and each
/// line has a name.
bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

} // namespace

std::string json_text(const std::string& text) {
    if (std::ranges::all_of(text, is_plain))
        return '"' + text + '"';
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string or_null(const std::optional<std::uint64_t>& time) {
    return time ? std::to_string(*time) : "null";
}

} // namespace overtake::simulator
