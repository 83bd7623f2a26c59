// SPDX-License-Identifier: MIT
//
// JSON with a list's element on each line, for timelines.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace overtake::simulator {

/// Returns the text in quotes.
std::string json_text(const std::string& text);

/// Returns a time, or null.
std::string or_null(const std::optional<std::uint64_t>& time);

/// Writes a further member of an object: a list with an element on each line.
template <class Items, class Print>
void write_list(std::ostream& out, const char* name, const Items& items, Print print) {
    out << ",\n \"" << name << "\": [";
    const char* separator = "\n  ";
    for (const auto& item : items) {
        out << separator << print(item);
        separator = ",\n  ";
    }
    out << (items.empty() ? "]" : "\n ]");
}

} // namespace overtake::simulator
