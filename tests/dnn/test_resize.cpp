// SPDX-License-Identifier: MIT
//
// hbDNNResize: pictures of luma, NV12 in one memory or two, and BGR get another size.
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "board.hpp"

namespace overtake::test {
namespace {

/// A picture in memory of its own.
struct Picture {
    Picture(std::int32_t type, std::int32_t width, std::int32_t height, std::int32_t stride,
            std::int32_t layout = HB_DNN_LAYOUT_NCHW) {
        tensor.properties.tensorType = type;
        tensor.properties.tensorLayout = layout;
        const auto shape = [&](std::int32_t columns) {
            return layout == HB_DNN_LAYOUT_NHWC
                       ? hbDNNTensorShape{{1, height, columns, 3, 0, 0, 0, 0}, 4}
                       : hbDNNTensorShape{{1, 3, height, columns, 0, 0, 0, 0}, 4};
        };
        tensor.properties.validShape = shape(width);
        tensor.properties.alignedShape = shape(stride);
        hbSysAllocMem(&tensor.sysMem[0], static_cast<std::uint32_t>(3 * stride * height));
        if (type == HB_DNN_IMG_TYPE_NV12_SEPARATE)
            hbSysAllocMem(&tensor.sysMem[1], static_cast<std::uint32_t>(stride * height / 2));
    }
    ~Picture() {
        hbSysFreeMem(&tensor.sysMem[0]);
        if (tensor.properties.tensorType == HB_DNN_IMG_TYPE_NV12_SEPARATE)
            hbSysFreeMem(&tensor.sysMem[1]);
    }
    std::uint8_t* bytes(std::size_t part = 0) {
        return static_cast<std::uint8_t*>(tensor.sysMem[part].virAddr);
    }

    hbDNNTensor tensor{};
};

std::int32_t resize(Picture& to, Picture& from, const hbDNNRoi* region = nullptr) {
    hbDNNResizeCtrlParam control;
    HB_DNN_INITIALIZE_RESIZE_CTRL_PARAM(&control);
    hbDNNTaskHandle_t task = nullptr;
    if (const std::int32_t status = hbDNNResize(&task, &to.tensor, &from.tensor, region, &control);
        status != 0)
        return status;
    const std::int32_t status = hbDNNWaitTaskDone(task, 0);
    hbDNNReleaseTask(task);
    return status;
}

/// Fills a plane with values that rise by 2 per row and 1 per column, so they are linear between
/// pixels, too.
void fill(std::uint8_t* plane, int width, int height, int stride, int pixel = 1, int base = 0) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            plane[y * stride + x * pixel] = static_cast<std::uint8_t>(base + 2 * y + x);
}

TEST(BoardResize, LumaIsInterpolatedFromTheFirstPixelToTheLast) {
    BoardDevice device;
    Picture from(HB_DNN_IMG_TYPE_Y, 33, 17, 48), to(HB_DNN_IMG_TYPE_Y, 65, 5, 80);
    fill(from.bytes(), 33, 17, 48);
    ASSERT_EQ(resize(to, from), 0);
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 65; x++)
            ASSERT_NEAR(to.bytes()[y * 80 + x], 2 * 4 * y + 0.5 * x, 0.5) << y << ", " << x;
    const hbDNNRoi region{8, 4, 15, 11};
    Picture small(HB_DNN_IMG_TYPE_Y, 8, 8, 16);
    ASSERT_EQ(resize(small, from, &region), 0);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            ASSERT_EQ(small.bytes()[y * 16 + x], 2 * (4 + y) + 8 + x);
}

TEST(BoardResize, Nv12TogetherAndApart) {
    BoardDevice device;
    for (const std::int32_t type : {HB_DNN_IMG_TYPE_NV12, HB_DNN_IMG_TYPE_NV12_SEPARATE}) {
        Picture from(type, 32, 16, 32), to(type, 16, 8, 16);
        std::uint8_t* chroma =
            type == HB_DNN_IMG_TYPE_NV12 ? from.bytes() + 32 * 16 : from.bytes(1);
        fill(from.bytes(), 32, 16, 32);
        fill(chroma, 16, 8, 32, 2, 50);      // U
        fill(chroma + 1, 16, 8, 32, 2, 120); // V
        const hbDNNRoi region{16, 8, 31, 15};
        ASSERT_EQ(resize(to, from, &region), 0);
        const std::uint8_t* out = type == HB_DNN_IMG_TYPE_NV12 ? to.bytes() + 16 * 8 : to.bytes(1);
        EXPECT_EQ(to.bytes()[0], 2 * 8 + 16);
        EXPECT_EQ(to.bytes()[7 * 16 + 15], 2 * 15 + 31);
        EXPECT_EQ(out[0], 50 + 2 * 4 + 8);
        EXPECT_EQ(out[1], 120 + 2 * 4 + 8);
        EXPECT_EQ(out[3 * 16 + 14], 50 + 2 * 7 + 15);
    }
}

TEST(BoardResize, ColoursPixelByPixelOrInPlanes) {
    BoardDevice device;
    for (const std::int32_t layout : {HB_DNN_LAYOUT_NHWC, HB_DNN_LAYOUT_NCHW}) {
        Picture from(HB_DNN_IMG_TYPE_BGR, 10, 6, 10, layout),
            to(HB_DNN_IMG_TYPE_BGR, 19, 11, 19, layout);
        const bool is_interleaved = layout == HB_DNN_LAYOUT_NHWC;
        for (int c = 0; c < 3; c++)
            fill(from.bytes() + (is_interleaved ? c : c * 60), 10, 6, is_interleaved ? 30 : 10,
                 is_interleaved ? 3 : 1, 40 * c);
        ASSERT_EQ(resize(to, from), 0);
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < 11; y++)
                for (int x = 0; x < 19; x++)
                    ASSERT_NEAR(
                        to.bytes()[is_interleaved ? y * 57 + x * 3 + c : c * 209 + y * 19 + x],
                        40 * c + y + 0.5 * x, 0.5);
    }
}

TEST(BoardResize, PicturesOfOneLineAndTheLargestAreResized) {
    BoardDevice device;
    Picture line(HB_DNN_IMG_TYPE_Y, 16, 1, 16), lines(HB_DNN_IMG_TYPE_Y, 16, 2, 16);
    EXPECT_EQ(resize(lines, line), 0);
    Picture high(HB_DNN_IMG_TYPE_Y, 1, 4080, 16), less(HB_DNN_IMG_TYPE_Y, 1, 4000, 16);
    EXPECT_EQ(resize(less, high), 0);
    Picture wide(HB_DNN_IMG_TYPE_Y, 4080, 1, 4080), narrow(HB_DNN_IMG_TYPE_Y, 4000, 1, 4000);
    EXPECT_EQ(resize(narrow, wide), 0);
    for (const auto& [at, size] : {std::pair(2, 4081), {2, 0}, {3, 0}}) {
        Picture wrong(HB_DNN_IMG_TYPE_Y, 16, 4096, 16);
        wrong.tensor.properties.validShape.dimensionSize[at] = size;
        EXPECT_EQ(resize(lines, wrong), HB_DNN_INVALID_ARGUMENT) << at << ": " << size;
    }
}

TEST(BoardResize, MemoryThatIsFreedIsUsedToTheEnd) {
    EngineOptions options;
    options.workers = 1;
    BoardDevice device({}, options);
    Picture large(HB_DNN_IMG_TYPE_Y, 4000, 4000, 4000), other(HB_DNN_IMG_TYPE_Y, 4000, 4000, 4000),
        small(HB_DNN_IMG_TYPE_Y, 16, 16, 16);
    hbDNNResizeCtrlParam control;
    HB_DNN_INITIALIZE_RESIZE_CTRL_PARAM(&control);
    hbDNNTaskHandle_t first = nullptr, second = nullptr;
    ASSERT_EQ(hbDNNResize(&first, &other.tensor, &large.tensor, nullptr, &control), 0);
    hbDNNTensor from = small.tensor;
    ASSERT_EQ(hbSysAllocMem(&from.sysMem[0], 256), 0);
    std::memset(from.sysMem[0].virAddr, 77, 256);
    ASSERT_EQ(hbDNNResize(&second, &small.tensor, &from, nullptr, &control), 0);
    ASSERT_EQ(hbSysFreeMem(&from.sysMem[0]), 0); // the worker is still at the first
    EXPECT_EQ(hbDNNWaitTaskDone(second, 0), 0);
    EXPECT_EQ(small.bytes()[0], 77);
    EXPECT_EQ(small.bytes()[255], 77);
    EXPECT_EQ(hbDNNReleaseTask(first), 0);
    EXPECT_EQ(hbDNNReleaseTask(second), 0);
}

TEST(BoardResize, WrongArgumentsAreRefused) {
    BoardDevice device;
    Picture from(HB_DNN_IMG_TYPE_NV12, 32, 16, 32), to(HB_DNN_IMG_TYPE_NV12, 16, 8, 16);
    const auto bad = HB_DNN_INVALID_ARGUMENT;
    const auto with = [&](auto change) {
        const hbDNNTensor in = from.tensor, out = to.tensor;
        change(from.tensor, to.tensor);
        const std::int32_t status = resize(to, from);
        from.tensor = in;
        to.tensor = out;
        return status;
    };
    EXPECT_EQ(with([](hbDNNTensor&, hbDNNTensor&) {}), 0);
    EXPECT_EQ(with([](hbDNNTensor& in, hbDNNTensor&) { in.properties.tensorType = 13; }), bad);
    EXPECT_EQ(with([](hbDNNTensor& in, hbDNNTensor&) { in.properties.tensorType = 0; }), bad);
    EXPECT_EQ(
        with([](hbDNNTensor& in, hbDNNTensor&) { in.properties.validShape.numDimensions = 3; }),
        bad);
    for (const std::int32_t size : {0, -2, 31, 4082, 34})
        EXPECT_EQ(with([&](hbDNNTensor& in, hbDNNTensor&) {
                      in.properties.validShape.dimensionSize[3] = size;
                  }),
                  bad)
            << size;
    EXPECT_EQ(with([](hbDNNTensor& in, hbDNNTensor&) {
                  in.properties.alignedShape.dimensionSize[3] = 40;
              }),
              bad);
    EXPECT_EQ(with([](hbDNNTensor&, hbDNNTensor& out) { out.sysMem[0].virAddr = nullptr; }), bad);
    EXPECT_EQ(with([](hbDNNTensor& in, hbDNNTensor&) {
                  in.sysMem[0].virAddr =
                      static_cast<char*>(in.sysMem[0].virAddr) + 32 * 16 * 3 / 2 + 1;
              }),
              bad);
    for (const hbDNNRoi& region : {hbDNNRoi{1, 0, 16, 15}, hbDNNRoi{0, 0, 32, 15},
                                   hbDNNRoi{-2, 0, 15, 15}, hbDNNRoi{8, 0, 1, 15}})
        EXPECT_EQ(resize(to, from, &region), bad);
    // Shrinking to 1/186 and growing 256 times are refused, 1/185 is not.
    Picture wide(HB_DNN_IMG_TYPE_Y, 372, 2, 384), narrow(HB_DNN_IMG_TYPE_Y, 2, 2, 16),
        less(HB_DNN_IMG_TYPE_Y, 370, 2, 384), one(HB_DNN_IMG_TYPE_Y, 1, 2, 16),
        many(HB_DNN_IMG_TYPE_Y, 256, 2, 256);
    EXPECT_EQ(resize(narrow, wide), bad);
    EXPECT_EQ(resize(narrow, less), 0);
    EXPECT_EQ(resize(many, one), bad);
    hbDNNTaskHandle_t task = nullptr;
    hbDNNResizeCtrlParam control;
    HB_DNN_INITIALIZE_RESIZE_CTRL_PARAM(&control);
    EXPECT_EQ(hbDNNResize(nullptr, &to.tensor, &from.tensor, nullptr, &control), bad);
    EXPECT_EQ(hbDNNResize(&task, nullptr, &from.tensor, nullptr, &control), bad);
    EXPECT_EQ(hbDNNResize(&task, &to.tensor, nullptr, nullptr, &control), bad);
    EXPECT_EQ(hbDNNResize(&task, &to.tensor, &from.tensor, nullptr, nullptr), bad);
    control.bpuCoreId = 5;
    EXPECT_EQ(hbDNNResize(&task, &to.tensor, &from.tensor, nullptr, &control), bad);
}

} // namespace
} // namespace overtake::test
