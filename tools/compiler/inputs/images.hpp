// SPDX-License-Identifier: MIT
//
// Pictures: PNG and JPEG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overtake::compiler {

/// 8 bits each of red, green and blue, row by row; `pixels` has 3 * height * width bytes.
struct Image {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::vector<std::uint8_t> pixels;
};

/// Whether the name ends as that of a picture that read_image() takes: .png, .jpg, .jpeg.
bool is_image_name(const std::string& path);

/// Reads a PNG or JPEG file, as its first bytes tell, of any colours; transparent pixels lie on
/// black.  Throws CompileError naming the file.  Refuses pictures of more than 2^28 pixels.
Image read_image(const std::string& path);

/// Resizes bilinearly, with half pixels and repeated edges; stretches to the wanted size.
Image resize(const Image& image, std::uint32_t height, std::uint32_t width);

/// The colours that a network takes.
enum class Colours { rgb, bgr, gray };

/// Returns values 0..255, channel by channel as ONNX has them, or pixel by pixel (`channels_last`).
/// Gray is that of BT.601, rounded.
std::vector<float> to_values(const Image& image, Colours colours, bool channels_last);

/// The shape in which an input holds a picture.
struct PictureShape {
    std::uint32_t height = 0, width = 0;
    std::uint32_t channels = 0; ///< 1 or 3
    bool channels_last = false; ///< (batch, height, width, channels)
};

/// Returns the shape of an input of four dimensions with one or three channels, which come after
/// the batch or, if that dimension has another size, at the end.  `channels_last`: only at the end.
std::optional<PictureShape> picture_shape(const std::vector<std::int64_t>& shape,
                                          bool channels_last = false);

/// The conversion of pictures before a network sees them: (pixel - mean) * scale, with one number
/// or one for each channel; empty: 0 and 1.
struct Normalisation {
    std::vector<float> mean;
    std::vector<float> scale;

    bool empty() const { return mean.empty() && scale.empty(); }
    /// Whether there is one number, or one for each channel, or none.
    bool fits(std::size_t channels) const {
        const auto is_right = [&](std::size_t count) { return count <= 1 || count == channels; };
        return is_right(mean.size()) && is_right(scale.size());
    }
};

/// Normalises `values` of a picture.  Throws CompileError if there are numbers, but neither one nor
/// one for each channel.
void normalise(const Normalisation& normalisation, const PictureShape& shape,
               std::vector<float>& values);

} // namespace overtake::compiler
