// SPDX-License-Identifier: MIT
#include "cpu/tensor_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpu/layout.hpp"
#include "rounding.hpp"

namespace overtake {

namespace {

/// Calls visit(index in the dense array, byte offset in the device tensor) for every element, which
/// has `size` bytes.
template <std::size_t size, typename Visit>
void for_each_element(const Tensor& tensor, Visit visit) {
    std::size_t index = 0;
    const std::size_t image_stride = std::size_t{tensor.height} * tensor.row_stride;
    if (tensor.order == Order::rows) {
        for (std::size_t y = 0; y < tensor.height; y++)
            for (std::size_t x = 0; x < tensor.width; x++)
                for (std::size_t c = 0; c < tensor.channels; c++)
                    visit(index++, y * tensor.row_stride + x * tensor.pixel_stride + c * size);
        return;
    }
    for (std::size_t image = 0; image < image_count(tensor); image++)
        for (std::size_t c = 0; c < tensor.channels; c++)
            for (std::size_t y = 0; y < tensor.height; y++)
                for (std::size_t x = 0; x < tensor.width; x++)
                    visit(index++, image * image_stride + y * tensor.row_stride +
                                       x * tensor.pixel_stride + c * size);
}

/// Calls visit(index of the first of a pixel's `lanes` channels in blocks, its byte offset, lanes).
template <std::size_t size, typename Visit>
void for_each_block(const Tensor& tensor, std::size_t width, Visit visit) {
    std::size_t index = 0;
    const std::size_t image_stride = std::size_t{tensor.height} * tensor.row_stride;
    for (std::size_t image = 0; image < tensor.shape[0]; image++)
        for (std::size_t c = 0; c < tensor.channels; c += width)
            for (std::size_t y = 0; y < tensor.height; y++)
                for (std::size_t x = 0; x < tensor.width; x++, index += width)
                    visit(index,
                          image * image_stride + y * tensor.row_stride + x * tensor.pixel_stride +
                              c * size,
                          std::min(width, tensor.channels - c));
}

/// The scale and zero point by which the bytes of a tensor stand for values.
struct Steps {
    static constexpr std::size_t size = 1;
    float scale;
    float zero_point;
    unsigned flip; // the bits that are inverted in memory

    void store(float value, std::byte* to) const {
        const std::int8_t q = quantise(value, scale, zero_point);
        *to = static_cast<std::byte>(static_cast<std::uint8_t>(q) ^ flip);
    }
    float load(const std::byte* from) const {
        return scale * (static_cast<float>(static_cast<std::int8_t>(*from)) - zero_point);
    }
};

/// The scale of elements of 16 bits.  The host's byte order is the device's: little endian.
struct WideSteps {
    static constexpr std::size_t size = sizeof(std::int16_t);
    float scale;

    void store(float value, std::byte* to) const {
        const std::int16_t q = quantise_int16(value, scale);
        std::memcpy(to, &q, size);
    }
    float load(const std::byte* from) const {
        std::int16_t q;
        std::memcpy(&q, from, size);
        return scale * static_cast<float>(q);
    }
};

Steps user_steps(const Tensor& tensor) {
    switch (tensor.data_type) {
    case DataType::int8:
        return {1, 0, 0};
    case DataType::uint8:
        return {1, -128, 0};
    case DataType::nv12:
        return {1, -128, 0x80};
    default:
        return {tensor.scale, static_cast<float>(tensor.zero_point), 0};
    }
}

/// Returns the steps with which the device computes, whatever the user sees.
Steps device_steps(const Tensor& tensor) {
    return {tensor.scale, static_cast<float>(tensor.zero_point), 0};
}

/// Calls function() with WideSteps for a tensor of 16 bits, with `narrow` for any other.
template <typename Function>
void with_steps(const Tensor& tensor, const Steps& narrow, Function function) {
    if (tensor.is_int16)
        function(WideSteps{tensor.scale});
    else
        function(narrow);
}

} // namespace

void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out) {
    with_steps(tensor, user_steps(tensor), [&]<typename Kind>(const Kind& steps) {
        for_each_element<Kind::size>(tensor, [&](std::size_t index, std::size_t offset) {
            steps.store(values[index], &out[offset]);
        });
    });
}

void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values) {
    with_steps(tensor, device_steps(tensor), [&]<typename Kind>(const Kind& steps) {
        for_each_element<Kind::size>(tensor, [&](std::size_t index, std::size_t offset) {
            values[index] = steps.load(&in[offset]);
        });
    });
}

void blocks_to_device(const Tensor& tensor, cpu::Layout blocks, std::span<const float> values,
                      std::span<std::byte> out) {
    with_steps(tensor, user_steps(tensor), [&]<typename Kind>(const Kind& steps) {
        for_each_block<Kind::size>(tensor, cpu::lanes_of(blocks),
                                   [&](std::size_t index, std::size_t offset, std::size_t lanes) {
                                       for (std::size_t lane = 0; lane < lanes; lane++)
                                           steps.store(values[index + lane],
                                                       &out[offset + lane * Kind::size]);
                                   });
    });
}

void blocks_from_device(const Tensor& tensor, std::span<const std::byte> in, cpu::Layout blocks,
                        std::span<float> values) {
    const std::size_t width = cpu::lanes_of(blocks);
    with_steps(tensor, device_steps(tensor), [&]<typename Kind>(const Kind& steps) {
        for_each_block<Kind::size>(
            tensor, width, [&](std::size_t index, std::size_t offset, std::size_t lanes) {
                for (std::size_t lane = 0; lane < width; lane++)
                    values[index + lane] =
                        lane < lanes ? steps.load(&in[offset + lane * Kind::size]) : 0.0f;
            });
    });
}

} // namespace overtake
