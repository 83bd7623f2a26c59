// SPDX-License-Identifier: MIT
//
// Tests which byte of a device's tensor holds which element of a user's array.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/tensor_layout.hpp"

namespace overtake::test {
namespace {

/// 2 x 3 pixels of 4 channels, with padding behind each pixel and each row.
Tensor tensor_of(Order order) {
    Tensor tensor{};
    tensor.shape = order == Order::rows ? std::vector<std::uint32_t>{2, 3, 4}
                                        : std::vector<std::uint32_t>{4, 2, 3};
    tensor.data_type = DataType::float32;
    tensor.height = 2;
    tensor.width = 3;
    tensor.channels = 4;
    tensor.row_stride = 32;
    tensor.pixel_stride = 8;
    tensor.scale = 0.5f;
    tensor.zero_point = -3;
    tensor.bytes = 64;
    tensor.order = order;
    return tensor;
}

std::size_t index_of(Order order, std::size_t y, std::size_t x, std::size_t c) {
    return order == Order::rows ? (y * 3 + x) * 4 + c : (c * 2 + y) * 3 + x;
}

class TensorLayout : public testing::TestWithParam<Order> {};

TEST_P(TensorLayout, EachElementHasItsByteAndPaddingStays) {
    const Tensor tensor = tensor_of(GetParam());
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), -7.0f);
    std::vector<std::byte> bytes(64, std::byte{99});
    to_device(tensor, values, bytes);
    for (std::size_t y = 0; y < 2; y++)
        for (std::size_t x = 0; x < 4; x++)
            for (std::size_t c = 0; c < 8; c++) {
                const auto byte = static_cast<std::int8_t>(bytes[y * 32 + x * 8 + c]);
                if (x == 3 || c >= 4)
                    EXPECT_EQ(byte, 99) << "padding at " << y << ", " << x << ", " << c;
                else
                    EXPECT_EQ(0.5f * static_cast<float>(byte + 3),
                              values[index_of(GetParam(), y, x, c)])
                        << y << ", " << x << ", " << c;
            }
}

TEST_P(TensorLayout, ComesBackAsItWent) {
    const Tensor tensor = tensor_of(GetParam());
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), -7.0f);
    std::vector<std::byte> bytes(64);
    to_device(tensor, values, bytes);
    std::vector<float> returned(24);
    from_device(tensor, bytes, returned);
    EXPECT_EQ(returned, values);
}

TEST(TensorLayoutOfABatch, ImagesLieOneBehindTheOther) {
    constexpr std::size_t images = 3, image_elements = 24, image_bytes = 64;
    Tensor tensor = tensor_of(Order::planes);
    tensor.shape.insert(tensor.shape.begin(), images);
    tensor.bytes = images * image_bytes;
    std::vector<float> values(images * image_elements);
    std::iota(values.begin(), values.end(), -30.0f);
    std::vector<std::byte> bytes(tensor.bytes);
    to_device(tensor, values, bytes);
    for (std::size_t image = 0; image < images; image++)
        for (std::size_t y = 0; y < 2; y++)
            for (std::size_t x = 0; x < 3; x++)
                for (std::size_t c = 0; c < 4; c++) {
                    const std::size_t place = image * image_bytes + y * 32 + x * 8 + c;
                    const std::size_t index =
                        image * image_elements + index_of(Order::planes, y, x, c);
                    EXPECT_EQ(0.5f * static_cast<float>(static_cast<std::int8_t>(bytes[place]) + 3),
                              values[index])
                        << image << ", " << y << ", " << x << ", " << c;
                }
    std::vector<float> returned(values.size());
    from_device(tensor, bytes, returned);
    EXPECT_EQ(returned, values);
}

/// Returns the same tensor with elements of 16 bits.
Tensor int16_tensor_of(Order order) {
    Tensor tensor = tensor_of(order);
    tensor.is_int16 = true;
    tensor.zero_point = 0;
    tensor.scale = 0.25f;
    tensor.row_stride = 64;
    tensor.pixel_stride = 16;
    tensor.bytes = 128;
    return tensor;
}

std::int16_t word_at(const std::vector<std::byte>& bytes, std::size_t at) {
    return static_cast<std::int16_t>(std::to_integer<unsigned>(bytes[at]) |
                                     std::to_integer<unsigned>(bytes[at + 1]) << 8);
}

TEST_P(TensorLayout, ElementsOf16BitsHaveTwoBytes) {
    const Tensor tensor = int16_tensor_of(GetParam());
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), -7.0f);
    values[0] = 9000;
    values[1] = -9000;
    values[2] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::byte> bytes(128, std::byte{99});
    to_device(tensor, values, bytes);
    values[0] = 32767 * 0.25f;
    values[1] = -32768 * 0.25f;
    values[2] = 0;
    for (std::size_t y = 0; y < 2; y++)
        for (std::size_t x = 0; x < 4; x++)
            for (std::size_t c = 0; c < 8; c++) {
                const std::int16_t word = word_at(bytes, y * 64 + x * 16 + 2 * c);
                if (x == 3 || c >= 4)
                    EXPECT_EQ(word, 99 * 257) << "padding at " << y << ", " << x << ", " << c;
                else
                    EXPECT_EQ(0.25f * static_cast<float>(word),
                              values[index_of(GetParam(), y, x, c)])
                        << y << ", " << x << ", " << c;
            }
    std::vector<float> returned(24);
    from_device(tensor, bytes, returned);
    EXPECT_EQ(returned, values);
}

/// Channels 0..3 of one block of 8, then zeros.
TEST(TensorLayoutInBlocks, ElementsOf16BitsHaveTwoBytes) {
    Tensor tensor = int16_tensor_of(Order::planes);
    tensor.shape = {1, 4, 2, 3};
    const std::size_t width = cpu::lanes_of(cpu::Layout::blocked_8);
    std::vector<float> values(6 * width), returned(6 * width);
    for (std::size_t pixel = 0; pixel < 6; pixel++)
        for (std::size_t c = 0; c < 4; c++)
            values[pixel * width + c] = static_cast<float>(pixel * 4 + c);
    std::vector<std::byte> bytes(128, std::byte{99});
    blocks_to_device(tensor, cpu::Layout::blocked_8, values, bytes);
    EXPECT_EQ(word_at(bytes, 64 + 16 + 2 * 3), 4 * (4 * 4 + 3));
    EXPECT_EQ(word_at(bytes, 2 * 4), 99 * 257) << "padding";
    blocks_from_device(tensor, bytes, cpu::Layout::blocked_8, returned);
    EXPECT_EQ(returned, values);
}

TEST(TensorLayoutOfBytes, ElementsAreBytesWhateverTheirScale) {
    Tensor tensor = tensor_of(Order::rows);
    const auto first_bytes = [&](DataType type) {
        tensor.data_type = type;
        std::vector<float> values(24);
        const float chosen[] = {-200, -128, 0, 127.5f, 128, 255, 300};
        std::ranges::copy(chosen, values.begin());
        std::vector<std::byte> bytes(64);
        to_device(tensor, values, bytes);
        std::vector<int> first;
        for (const std::size_t at : {0, 1, 2, 3, 8, 9, 10})
            first.push_back(static_cast<std::uint8_t>(bytes[at]));
        return first;
    };
    EXPECT_EQ(first_bytes(DataType::int8), (std::vector{128, 128, 0, 127, 127, 127, 127}));
    // The device has them as int8, smaller by 128.
    EXPECT_EQ(first_bytes(DataType::uint8), (std::vector{128, 128, 128, 0, 0, 127, 127}));
    // The device has them in the form of cameras.
    EXPECT_EQ(first_bytes(DataType::nv12), (std::vector{0, 0, 0, 128, 128, 255, 255}));
}

INSTANTIATE_TEST_SUITE_P(Orders, TensorLayout, testing::Values(Order::planes, Order::rows),
                         [](const auto& order) {
                             return order.param == Order::rows ? "rows" : "planes";
                         });

} // namespace
} // namespace overtake::test
