// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace overtake::timeline {

/// Renders an SVG document with the program rsvg-convert and creates or replaces `path`: whole or
/// not at all. Throws Error: the program is missing (naming its package), it fails (with what it
/// said), or the file cannot be written (naming it and the reason).
void write_png(std::string_view svg, const std::string& path);

} // namespace overtake::timeline
