// SPDX-License-Identifier: MIT
#include "model/tensor_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

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

/// What the bytes of a tensor count, as its user sees it.
struct Steps {
    float scale;
    float zero_point;
    unsigned flip; // bits in which the bytes in memory differ
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

} // namespace

void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out) {
    const Steps steps = user_steps(tensor);
    for_each_element(tensor, [&](std::size_t index, std::size_t offset) {
        const std::int8_t q = quantise(values[index], steps.scale, steps.zero_point);
        out[offset] = static_cast<std::byte>(static_cast<std::uint8_t>(q) ^ steps.flip);
    });
}

void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values) {
    for_each_element(tensor, [&](std::size_t index, std::size_t offset) {
        const int q = static_cast<std::int8_t>(in[offset]);
        values[index] = tensor.scale * static_cast<float>(q - tensor.zero_point);
    });
}

} // namespace overtake
