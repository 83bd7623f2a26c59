// SPDX-License-Identifier: MIT
#include "compiler/inputs/images.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>

#include <png.h>
#include <turbojpeg.h>

#include "compiler/inputs/sample_file.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

constexpr std::uint64_t most_pixels = 1ull << 28;
constexpr std::size_t colours = 3;

Image sized(const std::string& path, std::uint64_t height, std::uint64_t width) {
    if (height == 0 || width == 0)
        throw CompileError(path, "has no pixels; is the file whole?");
    if (height > most_pixels || width > most_pixels / height)
        throw CompileError(path, "has " + std::to_string(width) + " x " + std::to_string(height) +
                                     " pixels; make it smaller");
    Image image{static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width), {}};
    image.pixels.resize(colours * height * width);
    return image;
}

Image read_png(const std::string& path, const std::string& bytes) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    const std::unique_ptr<png_image, void (*)(png_image*)> release(&png, png_image_free);
    if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
        throw CompileError(path, std::string("libpng refuses it: ") + png.message);
    Image image = sized(path, png.height, png.width);
    png.format = PNG_FORMAT_RGB;
    const png_color black{0, 0, 0};
    if (!png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr))
        throw CompileError(path, std::string("libpng refuses it: ") + png.message);
    return image;
}

Image read_jpeg(const std::string& path, const std::string& bytes) {
    const auto* const start = reinterpret_cast<const unsigned char*>(bytes.data());
    const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
    const auto refuse = [&] {
        throw CompileError(path,
                           std::string("libjpeg refuses it: ") + tjGetErrorStr2(decoder.get()));
    };
    int width = 0, height = 0, sampling = 0, space = 0;
    if (tjDecompressHeader3(decoder.get(), start, bytes.size(), &width, &height, &sampling,
                            &space) != 0)
        refuse();
    Image image =
        sized(path, static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width));
    if (tjDecompress2(decoder.get(), start, bytes.size(), image.pixels.data(), width, 0, height,
                      TJPF_RGB, TJFLAG_ACCURATEDCT) != 0)
        refuse();
    return image;
}

// The pixels between which an output pixel lies, and how near it is to the second.
struct Between {
    std::uint32_t first, second;
    float fraction;
};

std::vector<Between> positions(std::uint32_t outputs, std::uint32_t inputs) {
    std::vector<Between> result;
    const double step = double{1} * inputs / outputs;
    for (std::uint32_t output = 0; output < outputs; ++output) {
        const double position = std::clamp((output + 0.5) * step - 0.5, 0.0, inputs - 1.0);
        const auto first = static_cast<std::uint32_t>(position);
        result.push_back(
            {first, std::min(first + 1, inputs - 1), static_cast<float>(position - first)});
    }
    return result;
}

} // namespace

bool is_image_name(const std::string& path) {
    std::string extension = std::filesystem::path(path).extension();
    std::ranges::transform(extension, extension.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

Image read_image(const std::string& path) {
    const std::string bytes = read_sample_file(path);
    if (bytes.starts_with("\x89PNG"))
        return read_png(path, bytes);
    if (bytes.starts_with("\xff\xd8\xff"))
        return read_jpeg(path, bytes);
    throw CompileError(path, describe_other(bytes));
}

Image resize(const Image& image, std::uint32_t height, std::uint32_t width) {
    if (image.height == height && image.width == width)
        return image;
    Image result{height, width, {}};
    result.pixels.reserve(colours * height * width);
    const auto columns = positions(width, image.width);
    for (const Between& row : positions(height, image.height))
        for (const Between& column : columns)
            for (std::size_t colour = 0; colour < colours; ++colour) {
                const auto pixel = [&](std::size_t y, std::size_t x) {
                    return static_cast<float>(
                        image.pixels[(y * image.width + x) * colours + colour]);
                };
                const auto mix = [](float a, float b, float part) { return a + (b - a) * part; };
                const float above = mix(pixel(row.first, column.first),
                                        pixel(row.first, column.second), column.fraction);
                const float below = mix(pixel(row.second, column.first),
                                        pixel(row.second, column.second), column.fraction);
                result.pixels.push_back(
                    static_cast<std::uint8_t>(std::lround(mix(above, below, row.fraction))));
            }
    return result;
}

std::vector<float> to_values(const Image& image, Colours wanted, bool channels_last) {
    const std::size_t pixels = std::size_t{image.height} * image.width;
    const std::size_t channels = wanted == Colours::gray ? 1 : colours;
    std::vector<float> values(channels * pixels);
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        const std::uint8_t* rgb = image.pixels.data() + pixel * colours;
        for (std::size_t channel = 0; channel < channels; ++channel) {
            float value = rgb[wanted == Colours::bgr ? colours - 1 - channel : channel];
            if (wanted == Colours::gray)
                value = std::nearbyint(0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]);
            values[channels_last ? pixel * channels + channel : channel * pixels + pixel] = value;
        }
    }
    return values;
}

std::optional<PictureShape> picture_shape(const std::vector<std::int64_t>& shape,
                                          bool channels_last) {
    const auto is_colours = [&](std::size_t axis) { return shape[axis] == 1 || shape[axis] == 3; };
    if (shape.size() != 4)
        return std::nullopt;
    channels_last = channels_last || !is_colours(1);
    if (!is_colours(channels_last ? 3 : 1))
        return std::nullopt;
    const auto size = [&](std::size_t axis) { return static_cast<std::uint32_t>(shape[axis]); };
    return channels_last ? PictureShape{size(1), size(2), size(3), true}
                         : PictureShape{size(2), size(3), size(1), false};
}

void normalise(const Normalisation& normalisation, const PictureShape& shape,
               std::vector<float>& values) {
    const auto each = [&](const std::vector<float>& numbers, const char* option, float otherwise) {
        if (numbers.size() > 1 && numbers.size() != shape.channels)
            throw CompileError(option, std::to_string(numbers.size()) + " numbers for " +
                                           std::to_string(shape.channels) +
                                           " channels; give one number, or one a channel");
        std::vector<float> result(shape.channels, numbers.empty() ? otherwise : numbers[0]);
        if (numbers.size() > 1)
            result = numbers;
        return result;
    };
    const std::vector<float> mean = each(normalisation.mean, "--mean", 0),
                             scale = each(normalisation.scale, "--scale", 1);
    const std::size_t pixels = values.size() / shape.channels;
    for (std::size_t index = 0; index < values.size(); ++index) {
        const std::size_t channel = shape.channels_last ? index % shape.channels : index / pixels;
        values[index] = (values[index] - mean[channel]) * scale[channel];
    }
}

} // namespace overtake::compiler
