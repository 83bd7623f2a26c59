// SPDX-License-Identifier: MIT
#include "observe/timeline/canvas.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "printable.hpp"

namespace overtake::timeline {
namespace {

constexpr char32_t replacement = 0xfffd;

constexpr std::string_view definitions = R"svg(<defs>
<pattern id="high" width="6" height="6" patternTransform="rotate(45)" patternUnits="userSpaceOnUse"><path d="M0 0v6" stroke="#000000" stroke-opacity="0.5" stroke-width="2.4"/></pattern>
<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r="1.3" fill="#ffffff" fill-opacity="0.85"/></pattern>
<pattern id="stripes" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 2.5h5" stroke="#ffffff" stroke-opacity="0.7" stroke-width="1.6"/></pattern>
<pattern id="unrecorded" width="9" height="9" patternTransform="rotate(-45)" patternUnits="userSpaceOnUse"><rect width="9" height="9" fill="#e2e2e2"/><path d="M0 0v9" stroke="#8a8a8a" stroke-width="3"/></pattern>
</defs>
)svg";

/// XML allows no other control characters. Format characters would show a name in another order.
bool allowed_in_pictures(char32_t c) {
    const bool is_space = c == '\t' || c == '\n' || c == '\r';
    return is_space || (!is_control_or_format(c) && c != 0xfffe && c != 0xffff);
}

/// Takes one character off the front. Returns U+FFFD for a byte that begins no character, and for a
/// character that pictures may not have.
char32_t take_character(std::string_view& text) {
    const Utf8Character next = first_character(text);
    const bool is_valid = next.bytes != 0 && allowed_in_pictures(next.value);
    text.remove_prefix(next.bytes != 0 ? next.bytes : 1);
    return is_valid ? next.value : replacement;
}

void append_utf8(std::string& out, char32_t c) {
    const auto byte = [&](char32_t bits) { out += static_cast<char>(bits); };
    if (c < 0x80) {
        byte(c);
    } else if (c < 0x800) {
        byte(0xc0 | c >> 6);
        byte(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        byte(0xe0 | c >> 12);
        byte(0x80 | (c >> 6 & 0x3f));
        byte(0x80 | (c & 0x3f));
    } else {
        byte(0xf0 | c >> 18);
        byte(0x80 | (c >> 12 & 0x3f));
        byte(0x80 | (c >> 6 & 0x3f));
        byte(0x80 | (c & 0x3f));
    }
}

/// The advance widths of DejaVu Sans from the space to the tilde, in thousandths of the font size.
constexpr std::array<int, 95> ascii_widths = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838,
};

/// Returns the width as a share of the font size. Characters that are no ASCII count as wide.
double character_width(char32_t c) {
    if (c >= U' ' && c <= U'~')
        return ascii_widths[c - U' '] / 1000.0;
    return c < 0x1100 ? 0.85 : 1.05;
}

} // namespace

std::string escape(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const char32_t c = take_character(text);
        switch (c) {
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '&':
            out += "&amp;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            append_utf8(out, c);
        }
    }
    return out;
}

std::string valid_utf8(std::string_view text) {
    std::string out;
    while (!text.empty())
        append_utf8(out, take_character(text));
    return out;
}

double text_width(std::string_view text, double size) {
    double sum = 0;
    while (!text.empty())
        sum += character_width(take_character(text));
    return sum * size;
}

std::string shortened(std::string_view text, double room, double size) {
    if (text_width(text, size) <= room)
        return std::string(text);
    std::vector<char32_t> characters;
    while (!text.empty())
        characters.push_back(take_character(text));
    const double limit = room / size - character_width(U'…');
    double used = 0;
    std::size_t front = 0;
    std::size_t back = 0;
    // Takes characters alternately from both ends, the front first: names differ at either end.
    while (front + back < characters.size()) {
        const bool take_front = front <= back;
        const char32_t c =
            take_front ? characters[front] : characters[characters.size() - 1 - back];
        used += character_width(c);
        if (used > limit)
            break;
        (take_front ? front : back)++;
    }
    std::string out;
    for (std::size_t at = 0; at < front; at++)
        append_utf8(out, characters[at]);
    append_utf8(out, U'…');
    for (std::size_t at = characters.size() - back; at < characters.size(); at++)
        append_utf8(out, characters[at]);
    return out;
}

void Canvas::rectangle(double x, double y, double wide, double high, std::string_view style,
                       std::string_view title) {
    body_ += fmt::format(
        "<rect x=\"{0:.2f}\" y=\"{1:.{5}f}\" width=\"{2:.2f}\" height=\"{3:.{5}f}\" {4}", x, y,
        wide, high, style, y_decimals_);
    body_ += title.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escape(title));
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view style) {
    body_ +=
        fmt::format("<line x1=\"{0:.2f}\" y1=\"{1:.{5}f}\" x2=\"{2:.2f}\" y2=\"{3:.{5}f}\" {4}/>\n",
                    x1, y1, x2, y2, style, y_decimals_);
}

void Canvas::path(std::string_view commands, std::string_view style) {
    body_ += fmt::format("<path d=\"{}\" {}/>\n", commands, style);
}

void Canvas::text(double x, double y, std::string_view words, std::string_view style) {
    body_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, escape(words));
}

void Canvas::head(std::string_view title, std::string_view words) {
    constexpr double title_size = 17;
    constexpr double smallest_title = 13;
    constexpr double bold = 1.2; // a bold letter is up to this much wider
    double size = title_size;
    while (size > smallest_title && text_width(title, size * bold) > plot_right - plot_left)
        size--;
    text(plot_left, 28, shortened(title, plot_right - plot_left, size * bold),
         fmt::format("font-size=\"{}\" font-weight=\"bold\"", size));
    text(plot_left, 47, words, "fill=\"#555555\"");
}

void Canvas::begin_group(std::string_view kind, std::string_view title) {
    body_ += fmt::format("<g class=\"{}\"><title>{}</title>\n", kind, escape(title));
}

void Canvas::end_group() {
    body_ += "</g>\n";
}

std::string Canvas::document(double height) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" "
        "font-size=\"{2:.0f}\" fill=\"#222222\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{3}{4}</svg>\n",
        picture_width, height, font_size, definitions, std::exchange(body_, {}));
}

std::string Canvas::element(double width, double height, std::string_view label) {
    return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}"
                       "</svg>\n",
                       width, height, escape(label), std::exchange(body_, {}));
}

} // namespace overtake::timeline
