// SPDX-License-Identifier: MIT
#include "cpu/tensor_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/layout.hpp"
#include "rounding.hpp"

namespace overtake {

namespace {

/// Calls visit(index in the dense array, byte offset in the device tensor) for every element.
template <typename Visit>
void for_each_element(const Tensor& tensor, Visit visit) {
    std::size_t index = 0;
    const std::size_t image_stride = std::size_t{tensor.height} * tensor.row_stride;
    if (tensor.order == Order::rows) {
        for (std::size_t y = 0; y < tensor.height; y++)
            for (std::size_t x = 0; x < tensor.width; x++)
                for (std::size_t c = 0; c < tensor.channels; c++)
                    visit(index++, y * tensor.row_stride + x * tensor.pixel_stride + c);
        return;
    }
    for (std::size_t image = 0; image < image_count(tensor); image++)
        for (std::size_t c = 0; c < tensor.channels; c++)
            for (std::size_t y = 0; y < tensor.height; y++)
                for (std::size_t x = 0; x < tensor.width; x++)
                    visit(index++, image * image_stride + y * tensor.row_stride +
                                       x * tensor.pixel_stride + c);
}

/// Calls visit(index of the first of a pixel's `lanes` channels in blocks, its byte offset, lanes).
template <typename Visit>
void for_each_block(const Tensor& tensor, std::size_t width, Visit visit) {
    std::size_t index = 0;
    const std::size_t image_stride = std::size_t{tensor.height} * tensor.row_stride;
    for (std::size_t image = 0; image < tensor.shape[0]; image++)
        for (std::size_t c = 0; c < tensor.channels; c += width)
            for (std::size_t y = 0; y < tensor.height; y++)
                for (std::size_t x = 0; x < tensor.width; x++, index += width)
                    visit(index,
                          image * image_stride + y * tensor.row_stride + x * tensor.pixel_stride +
                              c,
                          std::min(width, tensor.channels - c));
}

/// What the bytes of a tensor count, as its user sees it.
struct Steps {
    float scale;
    float zero_point;
    unsigned flip; // bits in which the bytes in memory differ

    std::byte byte_of(float value) const {
        const std::int8_t q = quantise(value, scale, zero_point);
        return static_cast<std::byte>(static_cast<std::uint8_t>(q) ^ flip);
    }
};

float value_of(const Tensor& tensor, std::byte byte) {
    const int q = static_cast<std::int8_t>(byte);
    return tensor.scale * static_cast<float>(q - tensor.zero_point);
}

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

} // namespace

void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out) {
    const Steps steps = user_steps(tensor);
    for_each_element(tensor, [&](std::size_t index, std::size_t offset) {
        out[offset] = steps.byte_of(values[index]);
    });
}

void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values) {
    for_each_element(tensor, [&](std::size_t index, std::size_t offset) {
        values[index] = value_of(tensor, in[offset]);
    });
}

void blocks_to_device(const Tensor& tensor, cpu::Layout blocks, std::span<const float> values,
                      std::span<std::byte> out) {
    const Steps steps = user_steps(tensor);
    for_each_block(tensor, cpu::lanes_of(blocks),
                   [&](std::size_t index, std::size_t offset, std::size_t lanes) {
                       for (std::size_t lane = 0; lane < lanes; lane++)
                           out[offset + lane] = steps.byte_of(values[index + lane]);
                   });
}

void blocks_from_device(const Tensor& tensor, std::span<const std::byte> in, cpu::Layout blocks,
                        std::span<float> values) {
    const std::size_t width = cpu::lanes_of(blocks);
    for_each_block(tensor, width, [&](std::size_t index, std::size_t offset, std::size_t lanes) {
        for (std::size_t lane = 0; lane < width; lane++)
            values[index + lane] = lane < lanes ? value_of(tensor, in[offset + lane]) : 0.0f;
    });
}

} // namespace overtake
