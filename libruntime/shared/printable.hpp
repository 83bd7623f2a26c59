// SPDX-License-Identifier: MIT
//
// Makes names and texts of others fit to be printed.
//
// Other users and the authors of files choose names of processes, models and tensors.  Printed
// unchanged, such names could move the cursor of a terminal, show a line in another order than it
// has, or hide a part of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace overtake {

/// One character of UTF-8 at the beginning of a text.
struct Utf8Character {
    char32_t value = 0;
    std::size_t bytes = 0; ///< 0: the text does not begin with one
    bool cut_off = false;  ///< the text ends within one
};

/// `text` must not be empty.
inline Utf8Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return {lead, 1};
    if (lead < 0xc2 || lead > 0xf4)
        return {};
    const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t value = lead & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes; i++) {
        if (i == text.size())
            return {.cut_off = true};
        if ((byte(i) & 0xc0) != 0x80)
            return {};
        value = value << 6 | (byte(i) & 0x3fu);
    }
    // Encoded longer than needed, half of a UTF-16 pair, or beyond the last character.
    const bool is_none = (bytes == 3 && (value < 0x800 || (value >= 0xd800 && value < 0xe000))) ||
                         (bytes == 4 && (value < 0x10000 || value > 0x10ffff));
    return is_none ? Utf8Character{} : Utf8Character{value, bytes};
}

/// Control characters, line and paragraph separators, and format characters (Unicode's category
/// Cf).  These change the direction of text, such as U+202E, or are invisible.
constexpr bool is_control_or_format(char32_t character) {
    struct Range {
        char32_t first, last;
    };
    constexpr std::array<Range, 21> ranges{{
        {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x0600, 0x0605},
        {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},
        {0x08e2, 0x08e2},   {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
        {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    }};
    for (const auto& [first, last] : ranges)
        if (character >= first && character <= last)
            return true;
    return false;
}

/// Returns `text` with a question mark for each character that is_control_or_format() and for each
/// byte that is no UTF-8; lines may stay separate.
inline std::string printable(std::string_view text, bool keep_lines = false) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Utf8Character next = first_character(text);
        const bool is_line_end = keep_lines && next.bytes != 0 && next.value == U'\n';
        if (is_line_end || (next.bytes != 0 && !is_control_or_format(next.value)))
            out += text.substr(0, next.bytes);
        else
            out += '?';
        text.remove_prefix(next.bytes != 0 ? next.bytes : 1);
    }
    return out;
}

/// Returns the JSON text with the same values.  Such characters in its strings, beyond ASCII
/// control characters, become escapes of four hexadecimal digits (\u202e).  Line ends between
/// values stay.
inline std::string printable_json(std::string_view json) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(json.size());
    const auto escape = [&](char32_t unit) {
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4)
            out += digits[unit >> shift & 0xf];
    };
    while (!json.empty()) {
        const Utf8Character next = first_character(json);
        const std::size_t bytes = next.bytes != 0 ? next.bytes : 1;
        // In JSON, ASCII control characters stand only between values, where an escape would have
        // no meaning.
        if (next.value < 0x7f || !is_control_or_format(next.value)) {
            out += json.substr(0, bytes);
        } else if (next.value < 0x10000) {
            escape(next.value);
        } else {
            escape(0xd7c0 + (next.value >> 10));
            escape(0xdc00 + (next.value & 0x3ff));
        }
        json.remove_prefix(bytes);
    }
    return out;
}

} // namespace overtake
