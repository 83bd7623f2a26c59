// SPDX-License-Identifier: MIT
//
// The C interface when it is used as documented.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "board.hpp"
#include "dnn/environment.hpp"
#include "dnn/hb_dnn_ext.h"

namespace overtake::test {
namespace {

float* floats(const hbDNNTensor& tensor) {
    return static_cast<float*>(tensor.sysMem[0].virAddr);
}

void fill(BoardModel& board) {
    const std::size_t count =
        static_cast<std::size_t>(board.inputs[0].properties.alignedByteSize) / sizeof(float);
    for (std::size_t i = 0; i < count; i++)
        floats(board.inputs[0])[i] = 0.5f * static_cast<float>(i % 7);
}

/// Expects the second output of copy_and_softmax() to equal the input.
void expect_copied(const BoardModel& board) {
    EXPECT_EQ(std::memcmp(board.outputs[1].sysMem[0].virAddr, board.inputs[0].sysMem[0].virAddr,
                          static_cast<std::size_t>(board.inputs[0].properties.alignedByteSize)),
              0);
}

EmbeddedOptions stepped() {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    return options;
}

/// Steps the clock until the task has ended: it may not have reached the device yet.
void run_clock_until_done(BoardDevice& device, hbDNNTaskHandle_t task) {
    ManualClock& clock = *device.device->manual_clock();
    do
        clock.advance_to(clock.now_ns() + 1'000'000'000);
    while (hbDNNWaitTaskDone(task, 5) == HB_DNN_TIMEOUT);
}

void infer_and_expect_copied(BoardModel& board) {
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    expect_copied(board);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
}

TEST(BoardInterface, DescribesFloatTensorsAsDenseArrays) {
    BoardDevice device;
    BoardModel board;
    const hbDNNTensorProperties& in = board.inputs[0].properties;
    EXPECT_EQ(in.tensorType, HB_DNN_TENSOR_TYPE_F32);
    EXPECT_EQ(in.tensorLayout, HB_DNN_LAYOUT_NCHW);
    EXPECT_EQ(in.quantiType, NONE);
    ASSERT_EQ(in.validShape.numDimensions, 4);
    const std::array wanted = {1, 3, 4, 5};
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in.validShape.dimensionSize));
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in.alignedShape.dimensionSize));
    EXPECT_EQ(in.alignedByteSize, 240);
    EXPECT_EQ(in.stride[0], 240);
    EXPECT_EQ(in.stride[1], 80);
    EXPECT_EQ(in.stride[3], 4);
    const char* name = nullptr;
    ASSERT_EQ(hbDNNGetOutputName(&name, board.model, 1), 0);
    EXPECT_STREQ(name, "copied");
    std::int32_t source = -1;
    ASSERT_EQ(hbDNNGetInputSource(&source, board.model, 0), 0);
    EXPECT_EQ(source, HB_DNN_INPUT_FROM_DDR);
}

TEST(BoardInterface, DescribesBytesAsTheyLieInDeviceMemory) {
    BoardDevice device;
    BoardModel board(copy_bytes());
    const hbDNNTensorProperties& in = board.inputs[0].properties;
    EXPECT_EQ(in.tensorType, HB_DNN_TENSOR_TYPE_S8);
    EXPECT_EQ(in.tensorLayout, HB_DNN_LAYOUT_NHWC);
    const std::array valid = {1, 4, 5, 3}, aligned = {1, 4, 5, 8}, stride = {160, 40, 8, 1};
    EXPECT_TRUE(std::equal(valid.begin(), valid.end(), in.validShape.dimensionSize));
    EXPECT_TRUE(std::equal(aligned.begin(), aligned.end(), in.alignedShape.dimensionSize));
    EXPECT_TRUE(std::equal(stride.begin(), stride.end(), in.stride));
    EXPECT_EQ(in.alignedByteSize, 160);
    ASSERT_EQ(in.quantiType, SCALE);
    EXPECT_EQ(in.scale.scaleLen, 1);
    EXPECT_EQ(in.scale.scaleData[0], 0.5f);
    EXPECT_EQ(in.scale.zeroPointData[0], -3);
}

TEST(BoardInterface, ComputesAsOftenAsItIsAsked) {
    BoardDevice device;
    BoardModel board;
    fill(board);
    for (int i = 0; i < 50; i++)
        infer_and_expect_copied(board);
    float sum = 0; // softmax over 3 channels of 20 pixels
    for (std::size_t i = 0; i < 60; i++)
        sum += floats(board.outputs[0])[i];
    EXPECT_NEAR(sum, 20, 1e-3);
}

TEST(BoardInterface, AnOutputWithoutPaddingIsWrittenDensely) {
    BoardDevice device;
    BoardModel board(copy_bytes());
    auto* in = static_cast<std::int8_t*>(board.inputs[0].sysMem[0].virAddr);
    for (std::int8_t i = 0; i < 127; i++)
        in[i] = i;
    hbDNNTensor& output = board.outputs[0];
    output.properties.alignedShape = output.properties.validShape;
    hbSysMem padded = output.sysMem[0];
    ASSERT_EQ(hbSysAllocMem(&output.sysMem[0], 60), 0); // 4 x 5 x 3
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    const auto* out = static_cast<const std::int8_t*>(output.sysMem[0].virAddr);
    for (std::size_t pixel = 0; pixel < 20; pixel++)
        for (std::size_t c = 0; c < 3; c++)
            ASSERT_EQ(out[pixel * 3 + c], in[pixel * 8 + c]);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
    EXPECT_EQ(hbSysFreeMem(&padded), 0);
}

/// Makes copy_bytes() for two images.
ModelSpec copy_two_images() {
    ModelSpec spec = copy_bytes();
    for (TensorSpec& tensor : spec.tensors) {
        tensor.shape[0] = 2;
        tensor.bytes *= 2;
    }
    for (overtake_operand* operand : {&spec.program[1].in[0], &spec.program[1].out})
        operand->height += spec.tensors[0].height; // its images lie one behind another
    return spec;
}

TEST(BoardInterface, ABatchIsOneTensorOrOneForEachImage) {
    BoardDevice device;
    BoardModel board(copy_two_images());
    const hbDNNTensor whole = board.inputs[0];
    const auto image_bytes = static_cast<std::uint32_t>(whole.properties.alignedByteSize / 2);
    const auto* out = static_cast<const std::int8_t*>(board.outputs[0].sysMem[0].virAddr);
    for (const bool is_dense : {false, true}) {
        std::vector<hbDNNTensor> images(2, whole);
        for (std::size_t image = 0; image < 2; image++) {
            hbDNNTensorProperties& properties = images[image].properties;
            properties.validShape.dimensionSize[0] = properties.alignedShape.dimensionSize[0] = 1;
            if (is_dense)
                properties.alignedShape = properties.validShape;
            ASSERT_EQ(hbSysAllocMem(&images[image].sysMem[0], image_bytes), 0);
            auto* in = static_cast<std::int8_t*>(images[image].sysMem[0].virAddr);
            for (std::size_t i = 0; i < image_bytes; i++)
                in[i] = static_cast<std::int8_t>(i % 50 + 60 * image);
        }
        board.inputs.assign(images.begin(), images.end());
        hbDNNTaskHandle_t task = nullptr;
        ASSERT_EQ(board.infer(&task), 0);
        ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
        for (std::size_t image = 0; image < 2; image++) {
            const auto* in = static_cast<const std::int8_t*>(images[image].sysMem[0].virAddr);
            for (std::size_t pixel = 0; pixel < 20; pixel++)
                for (std::size_t c = 0; c < 3; c++)
                    ASSERT_EQ(out[(image * 20 + pixel) * 8 + c], in[pixel * (is_dense ? 3 : 8) + c])
                        << image << " " << pixel;
        }
        ASSERT_EQ(hbDNNReleaseTask(task), 0);
        for (hbDNNTensor& image : images)
            ASSERT_EQ(hbSysFreeMem(&image.sysMem[0]), 0);
        board.inputs.assign(1, whole);
    }
    // Both images in one tensor.
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
}

TEST(BoardInterface, UsesMemoryOfBytesInPlaceOrPadsIt) {
    BoardDevice device;
    BoardModel board(copy_bytes());
    auto* in = static_cast<std::int8_t*>(board.inputs[0].sysMem[0].virAddr);
    const auto* out = static_cast<const std::int8_t*>(board.outputs[0].sysMem[0].virAddr);
    for (std::int8_t i = 0; i < 120; i++)
        in[i] = i;
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    for (std::size_t pixel = 0; pixel < 20; pixel++)
        for (std::size_t c = 0; c < 3; c++)
            ASSERT_EQ(out[pixel * 8 + c], in[pixel * 8 + c]);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
    // The same without padding.
    board.inputs[0].properties.alignedShape = board.inputs[0].properties.validShape;
    task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    for (std::size_t pixel = 0; pixel < 20; pixel++)
        for (std::size_t c = 0; c < 3; c++)
            ASSERT_EQ(out[pixel * 8 + c], in[pixel * 3 + c]);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
}

/// Return the bytes of the picture's rows of luma and of chroma.
std::uint8_t luma_at(std::size_t y, std::size_t x) {
    return static_cast<std::uint8_t>(40 + 7 * y + 5 * x);
}
std::uint8_t chroma_at(std::size_t y, std::size_t x) {
    return static_cast<std::uint8_t>(100 + 31 * y + 3 * x);
}

void put_planes(void* luma, void* chroma, std::size_t stride) {
    for (std::size_t y = 0; y < 4; y++)
        for (std::size_t x = 0; x < 18; x++)
            static_cast<std::uint8_t*>(luma)[y * stride + x] = luma_at(y, x);
    for (std::size_t y = 0; y < 2; y++)
        for (std::size_t x = 0; x < 18; x++)
            static_cast<std::uint8_t*>(chroma)[y * stride + x] = chroma_at(y, x);
}

/// Returns the colours that the device computes of a pixel: BT.601, limited range
/// (docs/reference/isa.md).
std::array<int, 3> colours_at(std::size_t y, std::size_t x) {
    const int l = 9539 * (luma_at(y, x) - 16);
    const int u = chroma_at(y / 2, x / 2 * 2) - 128, v = chroma_at(y / 2, x / 2 * 2 + 1) - 128;
    const auto byte = [](int sum) { return std::clamp((sum + 4096) >> 13, 0, 255); };
    return {byte(l + 13075 * v), byte(l - 3209 * u - 6660 * v), byte(l + 16525 * u)};
}

void expect_colours(BoardModel& board) {
    std::memset(board.outputs[0].sysMem[0].virAddr, 0x55,
                static_cast<std::size_t>(board.outputs[0].properties.alignedByteSize));
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
    const auto* out = static_cast<const std::int8_t*>(board.outputs[0].sysMem[0].virAddr);
    for (std::size_t y = 0; y < 4; y++)
        for (std::size_t x = 0; x < 18; x++)
            for (std::size_t c = 0; c < 3; c++)
                ASSERT_EQ(out[(y * 18 + x) * 8 + c] + 128, colours_at(y, x)[c])
                    << y << ", " << x << ", " << c;
}

TEST(BoardInterface, TakesPicturesPaddedOrDenseTogetherOrApart) {
    BoardDevice device;
    BoardModel board(picture_to_bytes());
    hbDNNTensor& in = board.inputs[0];
    const hbDNNTensorProperties properties = in.properties;
    EXPECT_EQ(properties.tensorType, HB_DNN_IMG_TYPE_NV12);
    EXPECT_EQ(properties.tensorLayout, HB_DNN_LAYOUT_NCHW);
    const std::array valid = {1, 3, 4, 18}, aligned = {1, 3, 4, 32};
    EXPECT_TRUE(std::equal(valid.begin(), valid.end(), properties.validShape.dimensionSize));
    EXPECT_TRUE(std::equal(aligned.begin(), aligned.end(), properties.alignedShape.dimensionSize));
    EXPECT_EQ(properties.alignedByteSize, 4 * 32 * 3 / 2);
    EXPECT_EQ(properties.stride[2], 0);
    std::int32_t source = -1;
    ASSERT_EQ(hbDNNGetInputSource(&source, board.model, 0), 0);
    EXPECT_EQ(source, HB_DNN_INPUT_FROM_PYRAMID);

    auto* memory = static_cast<std::uint8_t*>(in.sysMem[0].virAddr);
    put_planes(memory, memory + 4 * 32, 32);
    expect_colours(board);
    in.properties.alignedShape = in.properties.validShape;
    put_planes(memory, memory + 4 * 18, 18);
    expect_colours(board);

    // Two allocations, the other two memories not initialised.
    hbSysMem luma, chroma;
    ASSERT_EQ(hbSysAllocMem(&luma, 4 * 32), 0);
    ASSERT_EQ(hbSysAllocMem(&chroma, 2 * 32), 0);
    const hbSysMem usual = in.sysMem[0];
    std::memset(in.sysMem, 0xa5, sizeof(in.sysMem));
    in.sysMem[0] = luma;
    in.sysMem[1] = chroma;
    in.properties = properties;
    in.properties.tensorType = HB_DNN_IMG_TYPE_NV12_SEPARATE;
    put_planes(luma.virAddr, chroma.virAddr, 32);
    expect_colours(board);
    in.properties.alignedShape = in.properties.validShape;
    put_planes(luma.virAddr, chroma.virAddr, 18);
    expect_colours(board);
    // A chroma plane that is too short.
    in.properties.alignedShape = properties.alignedShape;
    in.sysMem[1].virAddr = static_cast<char*>(chroma.virAddr) + 1;
    hbDNNTaskHandle_t task = nullptr;
    EXPECT_EQ(board.infer(&task), HB_DNN_INVALID_ARGUMENT);
    in.sysMem[0] = usual;
    EXPECT_EQ(hbSysFreeMem(&luma), 0);
    EXPECT_EQ(hbSysFreeMem(&chroma), 0);
}

TEST(BoardInterface, TakesTensorsInTheMiddleOfAnAllocation) {
    BoardDevice device;
    BoardModel board;
    hbSysMem all;
    ASSERT_EQ(hbSysAllocMem(&all, 240 * 4), 0);
    const auto slice = [&](std::uint32_t offset) {
        return hbSysMem{all.phyAddr + offset, static_cast<char*>(all.virAddr) + offset, 240};
    };
    const hbSysMem input = std::exchange(board.inputs[0].sysMem[0], slice(240));
    const hbSysMem output = std::exchange(board.outputs[1].sysMem[0], slice(720));
    fill(board);
    infer_and_expect_copied(board);
    board.inputs[0].sysMem[0] = input;
    board.outputs[1].sysMem[0] = output;
    EXPECT_EQ(hbSysFreeMem(&all), 0);
}

TEST(BoardInterface, AddressesAreUniqueAndNotZero) {
    BoardDevice device;
    hbSysMem a, b;
    ASSERT_EQ(hbSysAllocMem(&a, 100), 0);
    ASSERT_EQ(hbSysAllocCachedMem(&b, 100), 0);
    EXPECT_NE(a.phyAddr, 0u);
    EXPECT_NE(a.phyAddr, b.phyAddr);
    EXPECT_EQ(a.memSize, 100u);
    char text[5] = "npu!", back[5] = {};
    EXPECT_EQ(hbSysWriteMem(&a, text, 5), 0);
    EXPECT_EQ(hbSysReadMem(back, &a, 5), 0);
    EXPECT_STREQ(back, "npu!");
    EXPECT_EQ(hbSysFlushMem(&a, HB_SYS_MEM_CACHE_CLEAN), 0);
    EXPECT_EQ(hbSysFlushMem(&a, HB_SYS_MEM_CACHE_INVALIDATE), 0);
    hbSysMem again{a.phyAddr + 8, nullptr, 16};
    EXPECT_EQ(hbSysRegisterMem(&again), 0);
    EXPECT_EQ(again.virAddr, static_cast<char*>(a.virAddr) + 8);
    EXPECT_EQ(hbSysUnregisterMem(&again), 0);
    EXPECT_EQ(hbSysFreeMem(&a), 0);
    EXPECT_EQ(hbSysFreeMem(&b), 0);
}

TEST(BoardInterface, MemoryThatIsFreedLivesUntilItsTaskHasEnded) {
    BoardDevice device(stepped());
    BoardModel board(copy_bytes());
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    EXPECT_EQ(hbDNNWaitTaskDone(task, 1), HB_DNN_TIMEOUT);
    EXPECT_EQ(hbSysFreeMem(&board.outputs[0].sysMem[0]), 0);
    EXPECT_EQ(hbSysFreeMem(&board.inputs[0].sysMem[0]), 0);
    run_clock_until_done(device, task);
    EXPECT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    EXPECT_EQ(hbDNNReleaseTask(task), 0);
}

TEST(BoardInterface, MoreModelsAreOneTask) {
    BoardDevice device;
    BoardModel first, second(copy_bytes());
    fill(first);
    hbDNNTaskHandle_t task = nullptr;
    hbDNNInferCtrlParam more = first.control();
    more.more = 1;
    ASSERT_EQ(first.infer(&task, more), 0);
    const hbDNNTaskHandle_t before = task;
    for (int i = 0; i < 253; i++)
        ASSERT_EQ(second.infer(&task, more), 0);
    ASSERT_EQ(second.infer(&task), 0);
    EXPECT_EQ(task, before);
    EXPECT_EQ(hbDNNWaitTaskDone(task, 0), 0);
    expect_copied(first);
    EXPECT_EQ(hbDNNRelease(first.pack), HB_DNN_MODEL_IS_RUNNING);
    EXPECT_EQ(hbDNNReleaseTask(task), 0);
}

struct Calls {
    std::atomic<int> count{0};
    std::atomic<std::int32_t> status{1};
    std::promise<void> called;
};

void note_call(hbDNNTaskHandle_t task, std::int32_t status, void* calls) {
    auto& noted = *static_cast<Calls*>(calls);
    noted.status = status;
    hbDNNReleaseTask(task);
    if (noted.count++ == 0)
        noted.called.set_value();
}

TEST(BoardInterface, CallsBackOnceAndMayBeReleasedThere) {
    BoardDevice device;
    BoardModel board;
    for (const bool after : {false, true}) {
        Calls calls;
        hbDNNTaskHandle_t task = nullptr;
        ASSERT_EQ(board.infer(&task), 0);
        if (after) {
            ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
        }
        ASSERT_EQ(hbDNNSetTaskDoneCb(task, note_call, &calls), 0);
        calls.called.get_future().wait();
        EXPECT_EQ(calls.status, 0);
        EXPECT_EQ(hbDNNReleaseTask(task), HB_DNN_INVALID_TASK_HANDLE); // the callback has
        EXPECT_EQ(calls.count, 1);
    }
}

TEST(BoardInterface, ACallbackOfAnOpenTaskIsCalledWhenItIsReleased) {
    BoardDevice device;
    BoardModel board;
    Calls calls;
    hbDNNTaskHandle_t task = nullptr;
    hbDNNInferCtrlParam more = board.control();
    more.more = 1;
    ASSERT_EQ(board.infer(&task, more), 0);
    ASSERT_EQ(hbDNNSetTaskDoneCb(task, note_call, &calls), 0);
    ASSERT_EQ(hbDNNReleaseTask(task), 0);
    calls.called.get_future().wait();
    EXPECT_EQ(calls.status, HB_DNN_RUN_TASK_FAILED);
}

TEST(BoardInterface, ManyThreadsWaitForOneTask) {
    BoardDevice device(stepped());
    BoardModel board(copy_bytes());
    hbDNNTaskHandle_t task = nullptr;
    ASSERT_EQ(board.infer(&task), 0);
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            device.use();
            done += hbDNNWaitTaskDone(task, 0) == 0;
        });
    EXPECT_EQ(hbDNNWaitTaskDone(task, 20), HB_DNN_TIMEOUT);
    run_clock_until_done(device, task);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(done, 8);
    EXPECT_EQ(hbDNNReleaseTask(task), 0);
}

TEST(BoardInterface, ReadsItsEnvironmentAndComplainsOfWhatItCannotUse) {
    const auto read = [](std::map<std::string, std::string> values) {
        return dnn::read_environment([values = std::move(values)](const char* name) -> const char* {
            const auto found = values.find(name);
            return found == values.end() ? nullptr : found->second.c_str();
        });
    };
    const dnn::Environment usual = read({});
    EXPECT_TRUE(usual.complaints.empty());
    EXPECT_EQ(usual.embedded.mode, OVERTAKE_MODE_FUNCTIONAL);
    EXPECT_EQ(usual.embedded.cores, 2u);
    EXPECT_EQ(usual.device, "auto");
    EXPECT_EQ(read({{"OVERTAKE_MODE", "timed"}}).embedded.mode, OVERTAKE_MODE_TIMED);
    EXPECT_EQ(usual.engine.threshold_percent, 10u);
    EXPECT_EQ(usual.engine.insert_max_time_ns, 1'000'000'000u);
    EXPECT_EQ(usual.engine.wait_dispatch_time_ns, 20'000'000u);
    EXPECT_EQ(usual.engine.task_limit, 8u);
    EXPECT_EQ(usual.engine.workers, 4u);
    EXPECT_EQ(usual.engine.core_limit, 0u);
    EXPECT_EQ(usual.engine.slots, 1u);
    EXPECT_EQ(usual.log_level, dnn::LogLevel::warning);
    const dnn::Environment set = read({{"HB_DNN_BPU_SCHEDULE_THRESHOLD", "25"},
                                       {"HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", "7"},
                                       {"HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", "3"},
                                       {"HB_MAX_TASK_NUM", "2"},
                                       {"HB_DNN_SERVICE_MODE", "1"},
                                       {"HB_MAX_THREAD_NUM", "1"},
                                       {"BPLAT_CORELIMIT", "4"},
                                       {"HB_DNN_LOG_LEVEL", "0"},
                                       {"HB_DNN_SIM_PLATFORM", "BAYES"},
                                       {"HB_DNN_SIM_BPU_MEM_SIZE", "2"},
                                       {"OVERTAKE_DEVICE", "embedded"},
                                       {"OVERTAKE_MODE", "both"},
                                       {"OVERTAKE_CORES", "3"},
                                       {"OVERTAKE_CPU_LAYOUT", "blocked"},
                                       {"OVERTAKE_CPU_THREADS", "3"},
                                       {"OVERTAKE_RECORD_LEVEL", "2"},
                                       {"OVERTAKE_SLOTS", "2"}});
    EXPECT_TRUE(set.complaints.empty());
    EXPECT_EQ(set.engine.threshold_percent, 25u);
    EXPECT_EQ(set.engine.insert_max_time_ns, 7'000'000u);
    EXPECT_EQ(set.engine.wait_dispatch_time_ns, 3'000'000u);
    EXPECT_EQ(set.engine.task_limit, 2u);
    EXPECT_EQ(set.engine.workers, 1u);
    EXPECT_EQ(set.engine.core_limit, 4u);
    EXPECT_EQ(set.engine.slots, 2u);
    EXPECT_EQ(set.engine.cpu_layout, CpuLayout::blocked);
    EXPECT_EQ(usual.engine.cpu_layout, CpuLayout::automatic);
    EXPECT_EQ(set.engine.cpu_threads, 3u);
    EXPECT_EQ(usual.engine.cpu_threads, 1u);
    EXPECT_EQ(set.engine.record, 2u);
    EXPECT_EQ(usual.engine.record, 0u);
    const dnn::Environment wrong = read({{"OVERTAKE_CPU_LAYOUT", "NCHW44"}});
    ASSERT_EQ(wrong.complaints.size(), 1u);
    EXPECT_EQ(wrong.complaints[0],
              "OVERTAKE_CPU_LAYOUT=NCHW44: not one of auto, planes, blocked; auto is used");
    EXPECT_EQ(set.log_level, dnn::LogLevel::none);
    EXPECT_EQ(set.memory_bytes, 2u << 20);
    EXPECT_EQ(set.device, "embedded");
    EXPECT_EQ(set.embedded.mode, OVERTAKE_MODE_BOTH);
    EXPECT_EQ(set.embedded.cores, 3u);
    EXPECT_TRUE(set.engine.service);
    EXPECT_FALSE(usual.engine.service);
    EXPECT_EQ(usual.processors, "");
    EXPECT_EQ(usual.engine.policy, "priority");
    EXPECT_FALSE(usual.sets_queue);
    EXPECT_TRUE(set.sets_queue);
    const dnn::Environment several = read({{"OVERTAKE_PROCESSORS", "npu,cpu"},
                                           {"OVERTAKE_POLICY", "heft"},
                                           {"OVERTAKE_TIMES", "a.json,b.json"}});
    EXPECT_EQ(several.times, "a.json,b.json");
    EXPECT_TRUE(several.complaints.empty());
    const dnn::Environment useless = read({{"OVERTAKE_TIMES", "a.json"}});
    ASSERT_EQ(useless.complaints.size(), 1u);
    EXPECT_EQ(useless.complaints[0], "OVERTAKE_TIMES: has no effect without OVERTAKE_PROCESSORS");
    EXPECT_EQ(several.processors, "npu,cpu");
    EXPECT_EQ(several.engine.policy, "heft");
    ServiceSettings device{.slots = 2,
                           .task_limit = 2,
                           .threshold_percent = 25,
                           .share = 1,
                           .insert_max_time_ns = 7'000'000,
                           .wait_dispatch_time_ns = 3'000'000,
                           .overdue_min_time_ns = 0,
                           .overdue_factor = 0};
    EXPECT_EQ(dnn::differences(set, device), "");
    device.task_limit = 8;
    device.insert_max_time_ns = 1'000'000'000;
    EXPECT_EQ(dnn::differences(set, device),
              "HB_DNN_SERVICE_MODE=1: the device's numbers hold, for all processes: "
              "HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME is 1000, not 7, HB_MAX_TASK_NUM is 8, not 2");
    EXPECT_EQ(dnn::differences(read({{"HB_DNN_SERVICE_MODE", "1"}}), device), "")
        << "variables that are not set";
    const dnn::Environment service = read({{"HB_DNN_SERVICE_MODE", "yes"}});
    EXPECT_FALSE(service.engine.service);
    ASSERT_EQ(service.complaints.size(), 1u);
    EXPECT_EQ(service.complaints[0], "HB_DNN_SERVICE_MODE=yes: not one of 0, 1; 0 is used");
    for (const char* bad : {"", "x", "-1", "1.5", "99999999999999999999"}) {
        const dnn::Environment environment = read({{"HB_MAX_TASK_NUM", bad}});
        EXPECT_EQ(environment.engine.task_limit, 8u) << bad;
        EXPECT_EQ(environment.complaints.size(), *bad ? 1u : 0u) << bad;
    }
    const dnn::Environment bad = read({{"HB_MAX_THREAD_NUM", "0"}, {"OVERTAKE_MODE", "fast"}});
    ASSERT_EQ(bad.complaints.size(), 2u);
    EXPECT_EQ(bad.complaints[0], "HB_MAX_THREAD_NUM=0: not an integer from 1 to 256; 4 is used");
    EXPECT_EQ(bad.complaints[1],
              "OVERTAKE_MODE=fast: not one of functional, timed, both; functional is used");
    EXPECT_EQ(read({{"HB_DNN_DUMP_PATH", "/tmp"}}).complaints.size(), 1u);
}

TEST(BoardInterface, EachStatusHasAText) {
    std::set<std::string> texts;
    int statuses = 0;
    const auto note = [&](std::int32_t status) {
        const char* const text = hbDNNGetErrorDesc(status);
        ASSERT_NE(text, nullptr) << status;
        EXPECT_TRUE(texts.insert(text).second) << text;
        statuses++;
    };
    note(0);
    for (std::int32_t status = HB_DNN_INVALID_ARGUMENT; status >= HB_DNN_MULTI_PROGRESS_USE_ERROR;
         status--)
        note(status);
    for (std::int32_t status = HB_SYS_INVALID_ARGUMENT; status >= HB_SYS_REGISTER_MEM_FAILED;
         status--)
        note(status);
    EXPECT_EQ(statuses, 20);
    EXPECT_STREQ(hbDNNGetErrorDesc(-1), "no status of this library");
    EXPECT_STREQ(hbDNNGetErrorDesc(HB_SYS_REGISTER_MEM_FAILED - 1), "no status of this library");
}

TEST(BoardInterface, BytesHaveAScaleOfTheirOwn) {
    BoardDevice device;
    for (const auto& [data_type, type, zero_point] :
         {std::tuple(2, HB_DNN_TENSOR_TYPE_S8, -3), {4, HB_DNN_TENSOR_TYPE_U8, 125}}) {
        ModelSpec spec = copy_bytes();
        for (TensorSpec& tensor : spec.tensors)
            tensor.data_type = static_cast<std::uint8_t>(data_type);
        BoardModel board(spec);
        const hbDNNTensorProperties& properties = board.inputs[0].properties;
        EXPECT_EQ(properties.tensorType, type);
        ASSERT_EQ(properties.quantiType, SCALE);
        ASSERT_EQ(properties.scale.scaleLen, 1);
        EXPECT_EQ(properties.scale.scaleData[0], 0.5f);
        ASSERT_EQ(properties.scale.zeroPointLen, 1);
        EXPECT_EQ(static_cast<std::int8_t>(zero_point), properties.scale.zeroPointData[0]);
    }
}

} // namespace
} // namespace overtake::test
