// SPDX-License-Identifier: MIT
//
// Canvas: an SVG document, element by element. Lengths are pixels, y grows downwards.
#pragma once

#include <string>
#include <string_view>

namespace overtake::timeline {

/// The look that all pictures share.
inline constexpr double picture_width = 1200;
inline constexpr double font_size = 12;
inline constexpr double plot_left = 150; ///< x of the beginning of time
inline constexpr double plot_right = picture_width - 24;
inline constexpr double legend_top = 62;
inline constexpr std::string_view mark_colour = "#b00000";
/// The pattern of FCs of HIGH rings.
inline constexpr std::string_view high_pattern = "url(#high)";
/// The pattern of time that was not recorded.
inline constexpr std::string_view unrecorded_pattern = "url(#unrecorded)";

class Canvas {
public:
    /// `y_decimals`: the decimals of y and height of rectangles and lines; x and width have two.
    explicit Canvas(int y_decimals = 1) : y_decimals_(y_decimals) {}
    /// `style`: SVG attributes, here and below. `title`: a text for people who point at it; may be
    /// empty.
    void rectangle(double x, double y, double wide, double high, std::string_view style,
                   std::string_view title = {});
    void line(double x1, double y1, double x2, double y2, std::string_view style);
    void path(std::string_view commands, std::string_view style);
    /// `words` are escaped; y is the baseline.
    void text(double x, double y, std::string_view words, std::string_view style = {});
    /// Draws the two lines at the top of the picture, above legend_top.
    void head(std::string_view title, std::string_view words);
    /// Begins a group, which ends at end_group(): one thing of the picture. `kind` is the group's
    /// class name, for programs; `title` is a text for people who point at it.
    void begin_group(std::string_view kind, std::string_view title);
    void end_group();
    /// Returns the document, in the look that all pictures share, and empties the canvas.
    std::string document(double height);
    /// Returns an element of a page and empties the canvas. The page's style defines the look of
    /// classes; `label` describes the element.
    std::string element(double width, double height, std::string_view label);

private:
    int y_decimals_;
    std::string body_;
};

/// Returns valid XML and HTML text for any bytes: special characters are escaped, and impossible
/// ones replaced.
std::string escape(std::string_view text);

/// Returns `text` with U+FFFD in place of bytes that are no UTF-8, or characters that pictures may
/// not have.
std::string valid_utf8(std::string_view text);

/// Returns an estimate of the width of `text`, rather too wide than too narrow.
double text_width(std::string_view text, double size = font_size);

/// Returns `text`, or as much of its beginning and end as fits `room`, with an ellipsis between.
std::string shortened(std::string_view text, double room, double size = font_size);

} // namespace overtake::timeline
