// SPDX-License-Identifier: MIT
//
// Wrong uses of hbDNNRoiInfer() and hbDNNResize(), which replace or extend the tests' own pictures.
#include <climits>
#include <cstring>
#include <memory>

#include "dnn/hb_dnn.h"
#include "misuse.hpp"

namespace overtake::test {

namespace {

constexpr std::int32_t bad = HB_DNN_INVALID_ARGUMENT;

/// Returns memory that has just been freed.
hbSysMem freed() {
    hbSysMem mem;
    hbSysAllocMem(&mem, 4096);
    const hbSysMem gone = mem;
    hbSysFreeMem(&mem);
    return gone;
}

/// All arguments of a call, for a case to spoil.
struct RegionCall {
    explicit RegionCall(Bench& bench) : control(bench.board.control()) {
        ModelSpec spec = picture_to_bytes();
        spec.tensors[0].from_resizer = true;
        model = std::make_unique<BoardModel>(spec);
        handle = model->model;
        in = model->inputs[0];
        hbSysAllocMem(&picture, 64 * 32 * 3 / 2);
        in.sysMem[0] = picture;
        in.properties.validShape = in.properties.alignedShape =
            hbDNNTensorShape{{1, 3, 32, 64, 0, 0, 0, 0}, 4};
        out = model->outputs[0];
        outputs = &out;
    }
    ~RegionCall() { hbSysFreeMem(&picture); }
    std::int32_t call() {
        hbDNNTaskHandle_t task = nullptr;
        return hbDNNRoiInfer(&task, outputs ? &outputs : nullptr, in_argument ? &in : nullptr,
                             regions ? &region : nullptr, count, handle,
                             control_argument ? &control : nullptr);
    }

    std::unique_ptr<BoardModel> model;
    hbDNNHandle_t handle;
    hbSysMem picture{};
    hbDNNTensor in, out{};
    hbDNNTensor* outputs;
    hbDNNRoi region{0, 0, 17, 3};
    std::int32_t count = 1;
    hbDNNInferCtrlParam control;
    bool in_argument = true, regions = true, control_argument = true;
};

struct ResizeCall {
    explicit ResizeCall(Bench&) {
        HB_DNN_INITIALIZE_RESIZE_CTRL_PARAM(&control);
        for (hbDNNTensor* tensor : {&in, &out}) {
            tensor->properties.tensorType = HB_DNN_IMG_TYPE_NV12;
            tensor->properties.tensorLayout = HB_DNN_LAYOUT_NCHW;
            tensor->properties.validShape = tensor->properties.alignedShape =
                hbDNNTensorShape{{1, 3, 16, 32, 0, 0, 0, 0}, 4};
            hbSysAllocMem(&tensor->sysMem[0], 32 * 16 * 3 / 2);
        }
        memory_in = in.sysMem[0];
        memory_out = out.sysMem[0];
    }
    ~ResizeCall() {
        hbSysFreeMem(&memory_in);
        hbSysFreeMem(&memory_out);
    }
    std::int32_t call() {
        hbDNNTaskHandle_t task = nullptr;
        return hbDNNResize(&task, out_argument ? &out : nullptr, in_argument ? &in : nullptr,
                           with_region ? &region : nullptr, control_argument ? &control : nullptr);
    }

    hbDNNTensor in{}, out{};
    hbSysMem memory_in, memory_out;
    hbDNNRoi region{0, 0, 31, 15};
    hbDNNResizeCtrlParam control;
    bool in_argument = true, out_argument = true, with_region = false, control_argument = true;
};

template <class Call>
void add(MisuseList& list, const char* function, const char* what, void (*spoil)(Call&, Bench&),
         std::int32_t status = bad) {
    list.push_back({function, what, status, [=](Bench& bench) {
                        Call call(bench);
                        spoil(call, bench);
                        return call.call();
                    }});
}

void add_regions(MisuseList& list) {
    const auto add_case = [&](const char* what, void (*spoil)(RegionCall&, Bench&),
                              std::int32_t status = bad) {
        add<RegionCall>(list, "hbDNNRoiInfer", what, spoil, status);
    };
    list.push_back({"hbDNNRoiInfer", "taskHandle is NULL", bad, [](Bench& bench) {
                        RegionCall call(bench);
                        return hbDNNRoiInfer(nullptr, &call.outputs, &call.in, &call.region, 1,
                                             call.handle, &call.control);
                    }});
    add_case("output is NULL", [](RegionCall& call, Bench&) { call.outputs = nullptr; });
    add_case("input is NULL", [](RegionCall& call, Bench&) { call.in_argument = false; });
    add_case("rois is NULL", [](RegionCall& call, Bench&) { call.regions = false; });
    add_case("inferCtrlParam is NULL",
             [](RegionCall& call, Bench&) { call.control_argument = false; });
    add_case("roiCount is 0", [](RegionCall& call, Bench&) { call.count = 0; });
    add_case("roiCount is negative", [](RegionCall& call, Bench&) { call.count = INT_MIN; });
    add_case(
        "roiCount is 256", [](RegionCall& call, Bench&) { call.count = 256; },
        HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT);
    add_case(
        "dnnHandle was released",
        [](RegionCall& call, Bench& bench) { call.handle = bench.stale_model; },
        HB_DNN_INVALID_DNN_HANDLE);
    add_case("the model has no input from the resizer",
             [](RegionCall& call, Bench& bench) { call.handle = bench.board.model; });
    add_case("bpuCoreId is 3", [](RegionCall& call, Bench&) { call.control.bpuCoreId = 3; });
    add_case("priority is 256", [](RegionCall& call, Bench&) { call.control.priority = 256; });
    add_case("left is odd", [](RegionCall& call, Bench&) { call.region.left = 1; });
    add_case("top is odd", [](RegionCall& call, Bench&) { call.region.top = 1; });
    add_case("right is even", [](RegionCall& call, Bench&) { call.region.right = 18; });
    add_case("bottom is even", [](RegionCall& call, Bench&) { call.region.bottom = 4; });
    add_case("left is negative", [](RegionCall& call, Bench&) { call.region.left = -2; });
    add_case("top is negative", [](RegionCall& call, Bench&) { call.region.top = INT_MIN; });
    add_case("right is outside of the picture",
             [](RegionCall& call, Bench&) { call.region.right = 65; });
    add_case("bottom is outside of the picture",
             [](RegionCall& call, Bench&) { call.region.bottom = INT_MAX; });
    add_case("left is right of right", [](RegionCall& call, Bench&) { call.region.left = 18; });
    add_case("the picture is RGB",
             [](RegionCall& call, Bench&) { call.in.properties.tensorType = HB_DNN_IMG_TYPE_RGB; });
    add_case("the picture has three dimensions",
             [](RegionCall& call, Bench&) { call.in.properties.validShape.numDimensions = 3; });
    add_case("the picture has an odd height",
             [](RegionCall& call, Bench&) { call.in.properties.validShape.dimensionSize[2] = 31; });
    add_case("the picture is longer than its memory", [](RegionCall& call, Bench&) {
        call.in.properties.validShape.dimensionSize[2] = 64;
        call.in.properties.alignedShape.dimensionSize[2] = 64;
    });
    add_case("the picture has rows longer than their stride", [](RegionCall& call, Bench&) {
        call.in.properties.alignedShape.dimensionSize[3] = 48;
    });
    add_case("the picture has no memory",
             [](RegionCall& call, Bench&) { call.in.sysMem[0].virAddr = nullptr; });
    add_case("the picture's memory was freed",
             [](RegionCall& call, Bench&) { call.in.sysMem[0] = freed(); });
    add_case("planes apart, and no chroma", [](RegionCall& call, Bench&) {
        call.in.properties.tensorType = HB_DNN_IMG_TYPE_NV12_SEPARATE;
        call.in.sysMem[1].virAddr = nullptr;
    });
    add_case("an output has no memory",
             [](RegionCall& call, Bench&) { call.out.sysMem[0].virAddr = nullptr; });
    add_case("an output's memory was freed",
             [](RegionCall& call, Bench&) { call.out.sysMem[0] = freed(); });
    list.push_back({"hbDNNInfer", "the model wants a region", bad, [](Bench& bench) {
                        RegionCall call(bench);
                        hbDNNTaskHandle_t task = nullptr;
                        return call.model->infer(&task);
                    }});
}

void add_resizes(MisuseList& list) {
    const auto add_case = [&](const char* what, void (*spoil)(ResizeCall&, Bench&)) {
        add<ResizeCall>(list, "hbDNNResize", what, spoil);
    };
    list.push_back({"hbDNNResize", "taskHandle is NULL", bad, [](Bench& bench) {
                        ResizeCall call(bench);
                        return hbDNNResize(nullptr, &call.out, &call.in, nullptr, &call.control);
                    }});
    list.push_back(
        {"hbDNNResize", "the task is submitted", HB_DNN_INVALID_TASK_HANDLE, [](Bench& bench) {
             ResizeCall call(bench);
             hbDNNTaskHandle_t task = bench.ended();
             const std::int32_t status =
                 hbDNNResize(&task, &call.out, &call.in, nullptr, &call.control);
             hbDNNReleaseTask(task);
             return status;
         }});
    add_case("output is NULL", [](ResizeCall& call, Bench&) { call.out_argument = false; });
    add_case("input is NULL", [](ResizeCall& call, Bench&) { call.in_argument = false; });
    add_case("resizeCtrlParam is NULL",
             [](ResizeCall& call, Bench&) { call.control_argument = false; });
    add_case("bpuCoreId is 3", [](ResizeCall& call, Bench&) { call.control.bpuCoreId = 3; });
    add_case("priority is -1", [](ResizeCall& call, Bench&) { call.control.priority = -1; });
    add_case("resizeType is 7", [](ResizeCall& call, Bench&) {
        const std::int32_t unknown = 7;
        std::memcpy(&call.control.resizeType, &unknown, sizeof(unknown));
    });
    add_case("a tensor of floats", [](ResizeCall& call, Bench&) {
        call.in.properties.tensorType = call.out.properties.tensorType = HB_DNN_TENSOR_TYPE_F32;
    });
    add_case("two types",
             [](ResizeCall& call, Bench&) { call.out.properties.tensorType = HB_DNN_IMG_TYPE_Y; });
    add_case("no dimensions",
             [](ResizeCall& call, Bench&) { call.in.properties.validShape.numDimensions = 0; });
    add_case("a width of 0",
             [](ResizeCall& call, Bench&) { call.in.properties.validShape.dimensionSize[3] = 0; });
    add_case("a width that is odd",
             [](ResizeCall& call, Bench&) { call.in.properties.validShape.dimensionSize[3] = 31; });
    add_case("more than 4080 columns", [](ResizeCall& call, Bench&) {
        call.in.properties.validShape.dimensionSize[3] = 4082;
        call.in.properties.alignedShape.dimensionSize[3] = 4096;
    });
    add_case("a stride that is no multiple of 16", [](ResizeCall& call, Bench&) {
        call.in.properties.alignedShape.dimensionSize[3] = 40;
    });
    add_case("rows longer than their stride", [](ResizeCall& call, Bench&) {
        call.in.properties.alignedShape.dimensionSize[3] = 16;
    });
    add_case("longer than its memory", [](ResizeCall& call, Bench&) {
        call.in.properties.validShape.dimensionSize[2] = 512;
        call.in.properties.alignedShape.dimensionSize[2] = 512;
    });
    add_case("256 times as wide", [](ResizeCall& call, Bench&) {
        call.in.properties.tensorType = call.out.properties.tensorType = HB_DNN_IMG_TYPE_Y;
        call.in.properties.validShape.dimensionSize[3] = 1;
        call.out.properties.validShape.dimensionSize[3] = 256;
        call.out.properties.alignedShape.dimensionSize[3] = 256;
        call.out.properties.validShape.dimensionSize[2] = 2;
    });
    add_case("no input memory",
             [](ResizeCall& call, Bench&) { call.in.sysMem[0].virAddr = nullptr; });
    add_case("no output memory",
             [](ResizeCall& call, Bench&) { call.out.sysMem[0].virAddr = nullptr; });
    add_case("input memory was freed",
             [](ResizeCall& call, Bench&) { call.in.sysMem[0] = freed(); });
    add_case("output memory was freed",
             [](ResizeCall& call, Bench&) { call.out.sysMem[0] = freed(); });
    add_case("a region that begins at an odd column", [](ResizeCall& call, Bench&) {
        call.with_region = true;
        call.region.left = 1;
    });
    add_case("a region outside of the picture", [](ResizeCall& call, Bench&) {
        call.with_region = true;
        call.region.right = INT_MAX;
    });
    add_case("a region with a negative side", [](ResizeCall& call, Bench&) {
        call.with_region = true;
        call.region.top = INT_MIN;
    });
}

} // namespace

void add_picture_misuses(MisuseList& list) {
    add_regions(list);
    add_resizes(list);
}

} // namespace overtake::test
