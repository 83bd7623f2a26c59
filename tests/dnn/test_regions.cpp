// SPDX-License-Identifier: MIT
//
// hbDNNRoiInfer: regions of a picture, which the device crops and resizes.
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "board.hpp"
#include "dnn/hb_dnn_ext.h"
#include "dnn/task.hpp"

namespace overtake::test {
namespace {

constexpr std::int32_t picture_width = 120, picture_height = 40, picture_stride = 128;

ModelSpec resizing(bool on_two_cores) {
    ModelSpec spec = picture_to_bytes();
    spec.tensors[0].from_resizer = true;
    spec.on_two_cores = on_two_cores;
    return spec;
}

std::uint8_t luma_at(std::int32_t y, std::int32_t x) {
    return static_cast<std::uint8_t>(20 + 2 * y + x);
}

/// Returns the gray of a pixel without colour: BT.601, limited range (docs/reference/isa.md).
int gray_of(int luma) {
    return std::clamp((9539 * (luma - 16) + 4096) >> 13, 0, 255);
}

/// A picture of grays, and memory for the results of `batches` regions of 4 x 18 pixels.
class Regions {
public:
    explicit Regions(std::size_t batches, bool on_two_cores = false)
        : board(resizing(on_two_cores)), input(board.inputs[0]) {
        hbSysAllocCachedMem(&picture, picture_stride * picture_height * 3 / 2);
        auto* bytes = static_cast<std::uint8_t*>(picture.virAddr);
        std::memset(bytes, 128, picture.memSize);
        for (std::int32_t y = 0; y < picture_height; y++)
            for (std::int32_t x = 0; x < picture_width; x++)
                bytes[y * picture_stride + x] = luma_at(y, x);
        input.sysMem[0] = picture;
        const auto describe = [](std::int32_t width) {
            return hbDNNTensorShape{{1, 3, picture_height, width, 0, 0, 0, 0}, 4};
        };
        input.properties.validShape = describe(picture_width);
        input.properties.alignedShape = describe(picture_stride);
        hbSysAllocCachedMem(&results, static_cast<std::uint32_t>(batches * batch_bytes));
        output.sysMem[0] = results;
        inputs.assign(batches, input);
    }
    ~Regions() {
        hbSysFreeMem(&picture);
        hbSysFreeMem(&results);
    }

    std::int32_t submit(std::vector<hbDNNRoi> regions, hbDNNTaskHandle_t* task) {
        hbDNNInferCtrlParam control = board.control();
        hbDNNTensor* out = &output;
        return hbDNNRoiInfer(task, &out, inputs.data(), regions.data(),
                             static_cast<std::int32_t>(regions.size()), board.model, &control);
    }
    /// Submits, waits and releases.
    std::int32_t run(const std::vector<hbDNNRoi>& regions) {
        hbDNNTaskHandle_t task = nullptr;
        if (const std::int32_t status = submit(regions, &task); status != 0)
            return status;
        const std::int32_t status = hbDNNWaitTaskDone(task, 0);
        hbDNNReleaseTask(task);
        return status;
    }
    int result(std::size_t batch, std::size_t y, std::size_t x, std::size_t channel = 0) const {
        return static_cast<const std::int8_t*>(
                   results.virAddr)[batch * batch_bytes + (y * 18 + x) * 8 + channel] +
               128;
    }

    static constexpr std::size_t batch_bytes = std::size_t{4} * 18 * 8;
    BoardModel board;
    hbDNNTensor input;
    hbDNNTensor output{};
    std::vector<hbDNNTensor> inputs;
    hbSysMem picture{}, results{};
};

hbDNNRoi region(std::int32_t left, std::int32_t top, std::int32_t width, std::int32_t height) {
    return {left, top, left + width - 1, top + height - 1};
}

TEST(BoardRegions, ARegionOfTheModelsSizeIsCutOut) {
    BoardDevice device;
    const std::vector<hbDNNRoi> regions = {region(0, 0, 18, 4), region(102, 36, 18, 4),
                                           region(50, 20, 18, 4)};
    Regions bench(regions.size());
    std::int32_t source = -1;
    ASSERT_EQ(hbDNNGetInputSource(&source, bench.board.model, 0), 0);
    EXPECT_EQ(source, HB_DNN_INPUT_FROM_RESIZER);
    ASSERT_EQ(bench.run(regions), 0);
    for (std::size_t batch = 0; batch < regions.size(); batch++)
        for (std::int32_t y = 0; y < 4; y++)
            for (std::int32_t x = 0; x < 18; x++)
                for (std::size_t c = 0; c < 3; c++)
                    ASSERT_EQ(bench.result(batch, static_cast<std::size_t>(y),
                                           static_cast<std::size_t>(x), c),
                              gray_of(luma_at(regions[batch].top + y, regions[batch].left + x)))
                        << batch << ": " << y << ", " << x;
}

TEST(BoardRegions, RegionsOfOtherSizesAreResizedFromTheirFirstPixelToTheirLast) {
    BoardDevice device;
    for (const hbDNNRoi& whole :
         {region(10, 4, 36, 8), region(0, 0, picture_width, picture_height), region(4, 2, 2, 2)}) {
        Regions bench(1);
        ASSERT_EQ(bench.run({whole}), 0);
        for (std::size_t y = 0; y < 4; y++)
            for (std::size_t x = 0; x < 18; x++) {
                const double at_y =
                    whole.top + (whole.bottom - whole.top) * static_cast<double>(y) / 3;
                const double at_x =
                    whole.left + (whole.right - whole.left) * static_cast<double>(x) / 17;
                // Luma is linear, so between pixels it is what the formula says.
                ASSERT_NEAR(bench.result(0, y, x),
                            gray_of(static_cast<int>(20.5 + 2 * at_y + at_x)), 2)
                    << y << ", " << x;
            }
    }
}

TEST(BoardRegions, SeveralCoresResizeRegionsAlike) {
    FcCounter fcs;
    BoardDevice device(fcs.options());
    const std::vector<hbDNNRoi> regions = {region(0, 0, 18, 4), region(10, 4, 36, 8),
                                           region(0, 0, picture_width, picture_height)};
    Regions one(regions.size()), several(regions.size(), true);
    ASSERT_EQ(one.run(regions), 0);
    const unsigned on_one_core = fcs.on_core(2);
    ASSERT_EQ(several.run(regions), 0);
    EXPECT_EQ(fcs.on_core(2), on_one_core + regions.size());
    EXPECT_EQ(std::memcmp(one.results.virAddr, several.results.virAddr,
                          regions.size() * Regions::batch_bytes),
              0);
}

TEST(BoardRegions, PlanesMayLieApart) {
    BoardDevice device;
    Regions bench(1);
    hbSysMem chroma;
    ASSERT_EQ(hbSysAllocMem(&chroma, picture_stride * picture_height / 2), 0);
    std::memset(chroma.virAddr, 128, chroma.memSize);
    std::memset(static_cast<char*>(bench.picture.virAddr) + picture_stride * picture_height, 0,
                picture_stride * picture_height / 2);
    bench.inputs[0].sysMem[1] = chroma;
    bench.inputs[0].properties.tensorType = HB_DNN_IMG_TYPE_NV12_SEPARATE;
    ASSERT_EQ(bench.run({region(20, 10, 18, 4)}), 0);
    EXPECT_EQ(bench.result(0, 1, 2, 2), gray_of(luma_at(11, 22)));
    EXPECT_EQ(hbSysFreeMem(&chroma), 0);
}

TEST(BoardRegions, WrongArgumentsAreRefused) {
    BoardDevice device;
    Regions bench(1);
    const auto status_of = [&](hbDNNRoi wrong) { return bench.run({wrong}); };
    EXPECT_EQ(status_of(region(1, 0, 18, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(0, 1, 18, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(0, 0, 17, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(0, 0, 18, 5)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(-2, 0, 18, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(0, -2, 18, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(104, 0, 18, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(region(0, 38, 18, 4)), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({18, 0, 1, 3}), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({0, 0, INT32_MAX, 3}), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(bench.run({}), HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(bench.run(std::vector(256, region(0, 0, 18, 4))),
              HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT);
    // The results of two regions do not fit into the memory of one.
    bench.inputs.assign(2, bench.input);
    EXPECT_EQ(bench.run({region(0, 0, 18, 4), region(2, 0, 18, 4)}), HB_DNN_INVALID_ARGUMENT);

    const auto with_input = [&](auto change) {
        bench.inputs[0] = bench.input;
        change(bench.inputs[0]);
        return bench.run({region(0, 0, 18, 4)});
    };
    EXPECT_EQ(with_input([](hbDNNTensor& in) { in.properties.tensorType = HB_DNN_IMG_TYPE_RGB; }),
              HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(with_input([](hbDNNTensor& in) {
                  in.properties.validShape.dimensionSize[3] = picture_stride + 2;
              }),
              HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(with_input([](hbDNNTensor& in) { in.properties.validShape.dimensionSize[2] = 41; }),
              HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(with_input([](hbDNNTensor& in) { in.properties.validShape.dimensionSize[2] = 42; }),
              HB_DNN_INVALID_ARGUMENT); // more than the memory has
    EXPECT_EQ(with_input([](hbDNNTensor& in) { in.sysMem[0].virAddr = nullptr; }),
              HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(with_input([](hbDNNTensor& in) { in.properties.validShape.numDimensions = 3; }),
              HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(with_input([](hbDNNTensor&) {}), 0);

    hbDNNTaskHandle_t task = nullptr;
    hbDNNTensor* out = &bench.output;
    hbDNNInferCtrlParam control = bench.board.control();
    hbDNNRoi roi = region(0, 0, 18, 4);
    BoardModel other(copy_bytes());
    EXPECT_EQ(hbDNNRoiInfer(&task, &out, bench.inputs.data(), &roi, 1, other.model, &control),
              HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(
        hbDNNRoiInfer(&task, &out, bench.inputs.data(), nullptr, 1, bench.board.model, &control),
        HB_DNN_INVALID_ARGUMENT);
    EXPECT_EQ(bench.board.infer(&task), HB_DNN_INVALID_ARGUMENT); // it wants a region
}

} // namespace
} // namespace overtake::test
