// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace overtake::timeline {

/// Renders an SVG document with the program rsvg-convert, and creates or replaces `path`
/// atomically. Throws Error if the program is missing (naming its package), if it fails (with its
/// message), or if the file cannot be written (naming the file and the reason).
void write_png(std::string_view svg, const std::string& path);

} // namespace overtake::timeline
