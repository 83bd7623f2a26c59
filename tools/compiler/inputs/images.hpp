// SPDX-License-Identifier: MIT
//
// Pictures: PNG and JPEG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace overtake::compiler {

/// 8 bits for each of red, green, blue; row by row, `pixels` has 3 * height * width bytes.
struct Image {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::vector<std::uint8_t> pixels;
};

/// Whether the name ends like a picture's that read_image() takes: .png, .jpg, .jpeg.
bool is_image_name(const std::string& path);

/// Reads a PNG or JPEG file, whichever its first bytes say, of any colours; what is transparent
/// lies on black.  Throws CompileError naming the file; pictures of more than 2^28 pixels are
/// refused.
Image read_image(const std::string& path);

/// Bilinear, half pixels, edges repeated; stretches to the wanted size.
Image resize(const Image& image, std::uint32_t height, std::uint32_t width);

/// How a network wants its colours.
enum class Colours { rgb, bgr, gray };

/// Values 0..255, channel by channel as ONNX has them, or pixel by pixel (`channels_last`).  Gray
/// is BT.601's, rounded.
std::vector<float> to_values(const Image& image, Colours colours, bool channels_last);

/// What pictures become before a network sees them: (pixel - mean) * scale, one number or one for
/// each channel; empty: 0 and 1.
struct Normalisation {
    std::vector<float> mean;
    std::vector<float> scale;

    bool empty() const { return mean.empty() && scale.empty(); }
};

/// Normalises `values` of so many channels, one channel behind the other.  Throws CompileError if
/// it has neither one number nor one for each channel.
void normalise(const Normalisation& normalisation, std::size_t channels,
               std::vector<float>& values);

} // namespace overtake::compiler
