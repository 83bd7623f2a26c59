// SPDX-License-Identifier: MIT
//
// The effect of priority: one thread keeps a core busy with a large model.  Another runs a small
// model about ten times a second, first with priority 0 and then with 255, and prints its median
// and worst latency.
//
//     c++ -std=c++20 priority.cpp $(pkg-config --cflags --libs dnn) -o priority
//     priority LARGE.ovm SMALL.ovm
//
// Priority 255 overtakes where a function call of the large model ends, if there is a core limit:
// compile the large model with --max-time-per-fc, and set BPLAT_CORELIMIT=1.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "dnn/hb_dnn.h"

namespace {

void check(int32_t status, const char* what) {
    if (status == 0)
        return;
    std::fprintf(stderr, "%s: %s\n", what, hbDNNGetErrorDesc(status));
    std::exit(1);
}

struct Model {
    explicit Model(const char* path) {
        const char** names;
        int32_t count;
        check(hbDNNInitializeFromFiles(&pack, &path, 1), path);
        check(hbDNNGetModelNameList(&names, &count, pack), path);
        check(hbDNNGetModelHandle(&model, pack, names[0]), path);
        check(hbDNNGetInputCount(&count, model), path);
        inputs.resize(static_cast<std::size_t>(count));
        for (int32_t i = 0; i < count; i++)
            prepare(inputs[static_cast<std::size_t>(i)], hbDNNGetInputTensorProperties, i);
        check(hbDNNGetOutputCount(&count, model), path);
        outputs.resize(static_cast<std::size_t>(count));
        for (int32_t i = 0; i < count; i++)
            prepare(outputs[static_cast<std::size_t>(i)], hbDNNGetOutputTensorProperties, i);
    }

    template <class Describe>
    void prepare(hbDNNTensor& tensor, Describe describe, int32_t index) {
        check(describe(&tensor.properties, model, index), "properties");
        check(hbSysAllocCachedMem(&tensor.sysMem[0],
                                  static_cast<uint32_t>(tensor.properties.alignedByteSize)),
              "hbSysAllocCachedMem");
    }

    void run(int32_t priority) {
        hbDNNInferCtrlParam control;
        HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
        control.bpuCoreId = HB_BPU_CORE_0;
        control.priority = priority;
        hbDNNTaskHandle_t task = nullptr;
        hbDNNTensor* out = outputs.data();
        check(hbDNNInfer(&task, &out, inputs.data(), model, &control), "hbDNNInfer");
        check(hbDNNWaitTaskDone(task, 0), "hbDNNWaitTaskDone");
        check(hbDNNReleaseTask(task), "hbDNNReleaseTask");
    }

    hbPackedDNNHandle_t pack = nullptr;
    hbDNNHandle_t model = nullptr;
    std::vector<hbDNNTensor> inputs, outputs;
};

double milliseconds(Model& model, int32_t priority) {
    const auto begin = std::chrono::steady_clock::now();
    model.run(priority);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: priority LARGE.ovm SMALL.ovm\n");
        return 2;
    }
    Model large(argv[1]), small(argv[2]);
    std::atomic<bool> stop{false};
    std::thread background([&] {
        while (!stop)
            large.run(0);
    });
    for (const int32_t priority : {0, 255}) {
        std::vector<double> times;
        for (int i = 0; i < 30; i++) {
            times.push_back(milliseconds(small, priority));
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        std::sort(times.begin(), times.end());
        std::printf("priority %3d: median %.2f ms, worst %.2f ms\n", priority,
                    times[times.size() / 2], times.back());
    }
    stop = true;
    background.join();
    return 0;
}
