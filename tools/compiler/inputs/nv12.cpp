// SPDX-License-Identifier: MIT
#include "compiler/inputs/nv12.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace overtake::compiler {
namespace {

constexpr std::size_t pair = 2; // pixels that share their chroma, in each direction
constexpr std::size_t parameter_channels = 8;

// The steps of luma and chroma for all of a byte's 0..255, and the luma of black.
struct Scales {
    double luma, chroma, black;
};

Scales scales_of(std::uint32_t flags) {
    return flags & OVERTAKE_FLAG_FULL_RANGE ? Scales{1, 1, 0}
                                            : Scales{219.0 / 255, 224.0 / 255, 16};
}

std::uint8_t byte(double value) {
    return static_cast<std::uint8_t>(std::clamp(std::nearbyint(value), 0.0, 255.0));
}

// Numbers with 13 bits of fraction, as docs/reference/isa.md has them.
struct Matrix {
    int luma, red_v, green_u, green_v, blue_u, black;
};

Matrix matrix_of(std::uint32_t flags) {
    return flags & OVERTAKE_FLAG_FULL_RANGE ? Matrix{8192, 11485, 2819, 5850, 14516, 0}
                                            : Matrix{9539, 13075, 3209, 6660, 16525, 16};
}

float from_fixed(int sum) {
    return static_cast<float>(std::clamp((sum + 4096) >> 13, 0, 255));
}

} // namespace

std::vector<std::uint8_t> to_nv12(std::span<const float> pixels, std::uint32_t height,
                                  std::uint32_t width, std::uint32_t flags) {
    const std::size_t area = std::size_t{height} * width;
    const Scales scales = scales_of(flags);
    std::vector<std::uint8_t> bytes(area + area / pair, 128);
    std::vector<double> u(area / (pair * pair)), v(u.size());
    for (std::size_t pixel = 0; pixel < area; ++pixel) {
        if (flags & OVERTAKE_FLAG_GRAY) {
            bytes[pixel] = byte(scales.black + scales.luma * pixels[pixel]);
            continue;
        }
        const std::size_t red = flags & OVERTAKE_FLAG_BGR ? 2 : 0;
        const double r = pixels[red * area + pixel], g = pixels[area + pixel],
                     b = pixels[(2 - red) * area + pixel];
        const double y = 0.299 * r + 0.587 * g + 0.114 * b;
        bytes[pixel] = byte(scales.black + scales.luma * y);
        const std::size_t shared = pixel / width / pair * (width / pair) + pixel % width / pair;
        u[shared] += scales.chroma * (b - y) / 1.772 / (pair * pair);
        v[shared] += scales.chroma * (r - y) / 1.402 / (pair * pair);
    }
    if (!(flags & OVERTAKE_FLAG_GRAY))
        for (std::size_t shared = 0; shared < u.size(); ++shared) {
            bytes[area + pair * shared] = byte(128 + u[shared]);
            bytes[area + pair * shared + 1] = byte(128 + v[shared]);
        }
    return bytes;
}

std::vector<float> from_nv12(std::span<const std::uint8_t> bytes, std::uint32_t height,
                             std::uint32_t width, std::uint32_t flags) {
    const std::size_t area = std::size_t{height} * width;
    const Matrix matrix = matrix_of(flags);
    const bool is_gray = (flags & OVERTAKE_FLAG_GRAY) != 0;
    const std::size_t red = flags & OVERTAKE_FLAG_BGR ? 2 : 0;
    std::vector<float> pixels(is_gray ? area : 3 * area);
    for (std::size_t pixel = 0; pixel < area; ++pixel) {
        const int luma = matrix.luma * (bytes[pixel] - matrix.black);
        if (is_gray) {
            pixels[pixel] = from_fixed(luma);
            continue;
        }
        const std::size_t shared = pixel / width / pair * (width / pair) + pixel % width / pair;
        const int u = bytes[area + pair * shared] - 128, v = bytes[area + pair * shared + 1] - 128;
        pixels[red * area + pixel] = from_fixed(luma + matrix.red_v * v);
        pixels[area + pixel] = from_fixed(luma - matrix.green_u * u - matrix.green_v * v);
        pixels[(2 - red) * area + pixel] = from_fixed(luma + matrix.blue_u * u);
    }
    return pixels;
}

Nv12Planes nv12_planes(const Value& picture, std::uint32_t region, std::uint64_t offset) {
    Nv12Planes planes{};
    planes.luma.region = planes.chroma.region = region;
    planes.luma.offset = offset;
    planes.luma.height = picture.height;
    planes.luma.width = planes.luma.row_stride = picture.width;
    planes.luma.channels = planes.luma.pixel_stride = 1;
    planes.chroma.offset = offset + std::uint64_t{picture.height} * picture.width;
    planes.chroma.height = picture.height / pair;
    planes.chroma.width = picture.width / pair;
    planes.chroma.row_stride = picture.width;
    planes.chroma.channels = planes.chroma.pixel_stride = pair;
    return planes;
}

std::vector<std::uint32_t> nv12_parameters(int zero_point) {
    constexpr std::uint32_t one_multiplier = 2, one_shift = 1; // shift 0 is not possible
    std::vector<std::uint32_t> words;
    const auto append = [&](std::uint32_t word) {
        words.insert(words.end(), parameter_channels, word);
    };
    append(static_cast<std::uint32_t>(-128 - zero_point));
    append(one_multiplier);
    append(one_shift);
    return words;
}

} // namespace overtake::compiler
