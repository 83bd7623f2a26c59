// SPDX-License-Identifier: MIT
//
// Wrong uses of the C interface, each with its status.  The table of docs/reference/board-errors.md
// is made from this list (board_tests --print-table), and a test compares the two.
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "board.hpp"
#include "dnn/hb_dnn_ext.h"
#include "dnn/task.hpp"
#include "misuse.hpp"

namespace overtake::test {
namespace {

using List = MisuseList;

/// Adds the cases of a function that takes a model's handle, and maybe the index of a port.
template <class Call>
void add_model_cases(List& list, const char* function, Call call) {
    const auto add = [&](const char* what, std::int32_t status, auto handle_of) {
        list.push_back(
            {function, what, status, [=](Bench& b) { return call(b, handle_of(b), 0, false); }});
    };
    list.push_back({function, "result is NULL", HB_DNN_INVALID_ARGUMENT,
                    [=](Bench& b) { return call(b, b.board.model, 0, true); }});
    add("dnnHandle is NULL", HB_DNN_INVALID_DNN_HANDLE, [](Bench&) { return nullptr; });
    add("dnnHandle was released", HB_DNN_INVALID_DNN_HANDLE,
        [](Bench& b) { return b.stale_model; });
    add("dnnHandle is a packed handle", HB_DNN_INVALID_DNN_HANDLE,
        [](Bench& b) { return b.board.pack; });
    add("dnnHandle is no handle", HB_DNN_INVALID_DNN_HANDLE, [](Bench& b) { return b.garbage; });
}

template <class Call>
void add_index_cases(List& list, const char* function, Call call) {
    add_model_cases(list, function, call);
    const auto add = [&](const char* what, std::int32_t index) {
        list.push_back({function, what, HB_DNN_INVALID_ARGUMENT,
                        [=](Bench& b) { return call(b, b.board.model, index, false); }});
    };
    add("index is -1", -1);
    add("index is one too large", 2);
    add("index is INT32_MAX", INT32_MAX);
}

void add_model_functions(List& list) {
    static std::int32_t number;
    static const char* text;
    static hbDNNTensorProperties properties;
    add_model_cases(list, "hbDNNGetInputCount", [](Bench&, void* model, std::int32_t, bool null) {
        return hbDNNGetInputCount(null ? nullptr : &number, model);
    });
    add_model_cases(list, "hbDNNGetOutputCount", [](Bench&, void* model, std::int32_t, bool null) {
        return hbDNNGetOutputCount(null ? nullptr : &number, model);
    });
    add_index_cases(list, "hbDNNGetInputName", [](Bench&, void* model, std::int32_t i, bool null) {
        return hbDNNGetInputName(null ? nullptr : &text, model, i);
    });
    add_index_cases(list, "hbDNNGetOutputName", [](Bench&, void* model, std::int32_t i, bool null) {
        return hbDNNGetOutputName(null ? nullptr : &text, model, i);
    });
    add_index_cases(
        list, "hbDNNGetInputTensorProperties", [](Bench&, void* model, std::int32_t i, bool null) {
            return hbDNNGetInputTensorProperties(null ? nullptr : &properties, model, i);
        });
    add_index_cases(
        list, "hbDNNGetOutputTensorProperties", [](Bench&, void* model, std::int32_t i, bool null) {
            return hbDNNGetOutputTensorProperties(null ? nullptr : &properties, model, i);
        });
    add_index_cases(list, "hbDNNGetInputSource",
                    [](Bench&, void* model, std::int32_t i, bool null) {
                        return hbDNNGetInputSource(null ? nullptr : &number, model, i);
                    });
}

std::int32_t initialize(const std::vector<const char*>& files, bool null = false) {
    hbPackedDNNHandle_t pack;
    std::vector<const char*> names = files;
    return hbDNNInitializeFromFiles(null ? nullptr : &pack, names.data(),
                                    static_cast<std::int32_t>(names.size()));
}

std::int32_t initialize_bytes(const void* data, std::int32_t length, std::int32_t count = 1) {
    hbPackedDNNHandle_t pack;
    return hbDNNInitializeFromDDR(&pack, &data, &length, count);
}

void add_loading(List& list) {
    const char* files = "hbDNNInitializeFromFiles";
    const auto bad = HB_DNN_INVALID_ARGUMENT;
    list.push_back({files, "packedDNNHandle is NULL", bad,
                    [](Bench&) { return initialize({"x.ovm"}, true); }});
    list.push_back({files, "modelFileNames is NULL", bad, [](Bench&) {
                        hbPackedDNNHandle_t pack;
                        return hbDNNInitializeFromFiles(&pack, nullptr, 1);
                    }});
    list.push_back(
        {files, "a file name is NULL", bad, [](Bench&) { return initialize({nullptr}); }});
    list.push_back({files, "modelFileCount is 0", bad, [](Bench&) { return initialize({}); }});
    list.push_back({files, "modelFileCount is -1", bad, [](Bench&) {
                        hbPackedDNNHandle_t pack;
                        const char* name = "x.ovm";
                        return hbDNNInitializeFromFiles(&pack, &name, -1);
                    }});
    list.push_back({files, "there is no such file", HB_DNN_CAN_NOT_OPEN_FILE,
                    [](Bench&) { return initialize({"/no/such/file.ovm"}); }});
    list.push_back({files, "the file is empty", HB_DNN_INVALID_MODEL,
                    [](Bench&) { return initialize({"/dev/null"}); }});
    list.push_back({files, "the file is something else", HB_DNN_INVALID_MODEL,
                    [](Bench&) { return initialize({"/proc/self/exe"}); }});
    list.push_back({files, "two models of one name", bad, [](Bench& b) {
                        const std::string path = std::filesystem::temp_directory_path() /
                                                 ("misuse" + std::to_string(getpid()) + ".ovm");
                        std::ofstream(path, std::ios::binary)
                            .write(reinterpret_cast<const char*>(b.board.bytes.data()),
                                   static_cast<std::streamsize>(b.board.bytes.size()));
                        const std::int32_t status = initialize({path.c_str(), path.c_str()});
                        std::filesystem::remove(path);
                        return status;
                    }});
    const char* ddr = "hbDNNInitializeFromDDR";
    list.push_back({ddr, "packedDNNHandle is NULL", bad, [](Bench& b) {
                        const void* data = b.board.bytes.data();
                        std::int32_t length = 100;
                        return hbDNNInitializeFromDDR(nullptr, &data, &length, 1);
                    }});
    list.push_back({ddr, "modelData is NULL", bad, [](Bench&) {
                        hbPackedDNNHandle_t pack;
                        std::int32_t length = 100;
                        return hbDNNInitializeFromDDR(&pack, nullptr, &length, 1);
                    }});
    list.push_back({ddr, "modelDataLengths is NULL", bad, [](Bench& b) {
                        hbPackedDNNHandle_t pack;
                        const void* data = b.board.bytes.data();
                        return hbDNNInitializeFromDDR(&pack, &data, nullptr, 1);
                    }});
    list.push_back({ddr, "a model's data is NULL", bad,
                    [](Bench&) { return initialize_bytes(nullptr, 100); }});
    list.push_back({ddr, "a length is 0", bad,
                    [](Bench& b) { return initialize_bytes(b.board.bytes.data(), 0); }});
    list.push_back({ddr, "a length is -1", bad,
                    [](Bench& b) { return initialize_bytes(b.board.bytes.data(), -1); }});
    list.push_back({ddr, "modelDataCount is 0", bad,
                    [](Bench& b) { return initialize_bytes(b.board.bytes.data(), 100, 0); }});
    list.push_back({ddr, "the data are cut short", HB_DNN_INVALID_MODEL,
                    [](Bench& b) { return initialize_bytes(b.board.bytes.data(), 100); }});
    list.push_back({ddr, "the data are something else", HB_DNN_INVALID_MODEL,
                    [](Bench& b) { return initialize_bytes(b.memory.virAddr, 4096); }});
}

void add_packs(List& list) {
    const auto bad_pack = HB_DNN_INVALID_PACKED_DNN_HANDLE;
    static const char** names;
    static std::int32_t count;
    static hbDNNHandle_t model;
    const auto add = [&](const char* function, auto call) {
        list.push_back(
            {function, "packedDNNHandle is NULL", bad_pack, [=](Bench&) { return call(nullptr); }});
        list.push_back({function, "packedDNNHandle was released", bad_pack,
                        [=](Bench& b) { return call(b.stale_pack); }});
        list.push_back({function, "packedDNNHandle is a model's handle", bad_pack,
                        [=](Bench& b) { return call(b.board.model); }});
        list.push_back({function, "packedDNNHandle is no handle", bad_pack,
                        [=](Bench& b) { return call(b.garbage); }});
    };
    add("hbDNNRelease", [](void* pack) { return hbDNNRelease(pack); });
    list.push_back(
        {"hbDNNRelease", "a task has not been released", HB_DNN_MODEL_IS_RUNNING, [](Bench& b) {
             const hbDNNTaskHandle_t task = b.ended();
             const std::int32_t status = hbDNNRelease(b.board.pack);
             hbDNNReleaseTask(task);
             return status;
         }});
    add("hbDNNGetModelNameList",
        [](void* pack) { return hbDNNGetModelNameList(&names, &count, pack); });
    list.push_back({"hbDNNGetModelNameList", "modelNameList is NULL", HB_DNN_INVALID_ARGUMENT,
                    [](Bench& b) { return hbDNNGetModelNameList(nullptr, &count, b.board.pack); }});
    list.push_back({"hbDNNGetModelNameList", "modelNameCount is NULL", HB_DNN_INVALID_ARGUMENT,
                    [](Bench& b) { return hbDNNGetModelNameList(&names, nullptr, b.board.pack); }});
    add("hbDNNGetModelHandle",
        [](void* pack) { return hbDNNGetModelHandle(&model, pack, "test"); });
    list.push_back({"hbDNNGetModelHandle", "dnnHandle is NULL", HB_DNN_INVALID_ARGUMENT,
                    [](Bench& b) { return hbDNNGetModelHandle(nullptr, b.board.pack, "test"); }});
    list.push_back({"hbDNNGetModelHandle", "modelName is NULL", HB_DNN_INVALID_ARGUMENT,
                    [](Bench& b) { return hbDNNGetModelHandle(&model, b.board.pack, nullptr); }});
    list.push_back({"hbDNNGetModelHandle", "there is no such model", HB_DNN_INVALID_ARGUMENT,
                    [](Bench& b) { return hbDNNGetModelHandle(&model, b.board.pack, "yolo"); }});
}

void add_infer(List& list) {
    const char* f = "hbDNNInfer";
    const auto bad = HB_DNN_INVALID_ARGUMENT;
    static hbDNNTaskHandle_t task;
    list.push_back({f, "taskHandle is NULL", bad, [](Bench& b) { return b.board.infer(nullptr); }});
    const auto call = [](Bench& b, hbDNNTensor** out, const hbDNNTensor* in, void* model,
                         bool has_control) {
        hbDNNInferCtrlParam control = b.board.control();
        task = nullptr;
        return hbDNNInfer(&task, out, in, model, has_control ? &control : nullptr);
    };
    list.push_back({f, "output is NULL", bad, [=](Bench& b) {
                        return call(b, nullptr, b.board.inputs.data(), b.board.model, true);
                    }});
    list.push_back({f, "*output is NULL", bad, [=](Bench& b) {
                        hbDNNTensor* out = nullptr;
                        return call(b, &out, b.board.inputs.data(), b.board.model, true);
                    }});
    list.push_back({f, "input is NULL", bad, [=](Bench& b) {
                        hbDNNTensor* out = b.board.outputs.data();
                        return call(b, &out, nullptr, b.board.model, true);
                    }});
    list.push_back({f, "inferCtrlParam is NULL", bad, [=](Bench& b) {
                        hbDNNTensor* out = b.board.outputs.data();
                        return call(b, &out, b.board.inputs.data(), b.board.model, false);
                    }});
    const auto with_model = [=](const char* what, auto handle_of) {
        return Misuse{f, what, HB_DNN_INVALID_DNN_HANDLE, [=](Bench& b) {
                          hbDNNTensor* out = b.board.outputs.data();
                          return call(b, &out, b.board.inputs.data(), handle_of(b), true);
                      }};
    };
    list.push_back(with_model("dnnHandle is NULL", [](Bench&) { return nullptr; }));
    list.push_back(with_model("dnnHandle was released", [](Bench& b) { return b.stale_model; }));
    list.push_back(
        with_model("dnnHandle is a packed handle", [](Bench& b) { return b.board.pack; }));
    list.push_back(with_model("dnnHandle is no handle", [](Bench& b) { return b.garbage; }));
    const auto control = [&](const char* what, auto change) {
        list.push_back({f, what, bad, [=](Bench& b) { return b.infer_with(change); }});
    };
    control("bpuCoreId is -1", [](hbDNNInferCtrlParam& c) { c.bpuCoreId = -1; });
    control("bpuCoreId is 3", [](hbDNNInferCtrlParam& c) { c.bpuCoreId = 3; });
    control("priority is -1", [](hbDNNInferCtrlParam& c) { c.priority = -1; });
    control("priority is 256", [](hbDNNInferCtrlParam& c) { c.priority = 256; });
    control("the control struct was not initialised",
            [](hbDNNInferCtrlParam& c) { std::memset(&c, 0xa5, sizeof(c)); });
    const auto tensors = [&](const char* what, auto change) {
        list.push_back({f, what, bad, [=](Bench& b) {
                            return b.infer_tensors(
                                [&](hbDNNTensor& in, hbDNNTensor& out) { change(b, in, out); });
                        }});
    };
    tensors("the input tensor was not initialised",
            [](Bench&, hbDNNTensor& in, hbDNNTensor&) { std::memset(&in, 0xa5, sizeof(in)); });
    tensors("the output tensor was not initialised",
            [](Bench&, hbDNNTensor&, hbDNNTensor& out) { std::memset(&out, 0xa5, sizeof(out)); });
    tensors("the input's virAddr is NULL",
            [](Bench&, hbDNNTensor& in, hbDNNTensor&) { in.sysMem[0].virAddr = nullptr; });
    tensors("the output's virAddr is NULL",
            [](Bench&, hbDNNTensor&, hbDNNTensor& out) { out.sysMem[0].virAddr = nullptr; });
    tensors("the input is not device memory", [](Bench& b, hbDNNTensor& in, hbDNNTensor&) {
        in.sysMem[0].virAddr = b.board.bytes.data();
    });
    tensors("the output is not device memory", [](Bench& b, hbDNNTensor&, hbDNNTensor& out) {
        out.sysMem[0].virAddr = b.board.bytes.data();
    });
    tensors("the input's memory was freed",
            [](Bench& b, hbDNNTensor& in, hbDNNTensor&) { in.sysMem[0] = b.freed; });
    tensors("the output's memory was freed",
            [](Bench& b, hbDNNTensor&, hbDNNTensor& out) { out.sysMem[0] = b.freed; });
    const auto short_by_one = [](Bench& b, hbDNNTensor& tensor) {
        tensor.sysMem[0].virAddr = static_cast<char*>(b.memory.virAddr) + 4096 - 159;
    };
    tensors("the input's memory is a byte too short",
            [=](Bench& b, hbDNNTensor& in, hbDNNTensor&) { short_by_one(b, in); });
    tensors("the output's memory is a byte too short",
            [=](Bench& b, hbDNNTensor&, hbDNNTensor& out) { short_by_one(b, out); });
    tensors("tensorType is another", [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
        in.properties.tensorType = HB_DNN_TENSOR_TYPE_F32;
    });
    tensors("tensorType is NV12_SEPARATE for what is no picture",
            [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
                in.properties.tensorType = HB_DNN_IMG_TYPE_NV12_SEPARATE;
            });
    tensors("alignedShape is another", [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
        in.properties.alignedShape.dimensionSize[1] = 3;
    });
    tensors("validShape is another", [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
        in.properties.validShape.dimensionSize[1] = 3;
    });
    tensors("validShape has 9 dimensions", [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
        in.properties.validShape.numDimensions = 9;
    });
    tensors("alignedShape has 9 dimensions", [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
        in.properties.alignedShape.numDimensions = 9;
    });
    tensors("alignedShape has -1 dimensions", [](Bench&, hbDNNTensor& in, hbDNNTensor&) {
        in.properties.alignedShape.numDimensions = -1;
    });
    const auto bad_task = HB_DNN_INVALID_TASK_HANDLE;
    list.push_back(
        {f, "*taskHandle is no handle", bad_task, [](Bench& b) { return b.infer_on(b.garbage); }});
    list.push_back({f, "*taskHandle was released", bad_task,
                    [](Bench& b) { return b.infer_on(b.stale_task); }});
    list.push_back({f, "*taskHandle is a model's handle", bad_task,
                    [](Bench& b) { return b.infer_on(b.board.model); }});
    list.push_back({f, "*taskHandle has been submitted", bad_task, [](Bench& b) {
                        const hbDNNTaskHandle_t submitted = b.ended();
                        const std::int32_t status = b.infer_on(submitted);
                        hbDNNReleaseTask(submitted);
                        return status;
                    }});
    list.push_back({f, "a task above 32", HB_DNN_TASK_NUM_EXCEED_LIMIT, [](Bench& b) {
                        std::vector<hbDNNTaskHandle_t> tasks;
                        for (std::size_t i = 0; i < dnn::task_limit; i++)
                            tasks.push_back(b.open());
                        hbDNNTaskHandle_t one_more = nullptr;
                        const std::int32_t status = b.board.infer(&one_more);
                        for (const hbDNNTaskHandle_t open : tasks)
                            hbDNNReleaseTask(open);
                        return status;
                    }});
    list.push_back(
        {f, "a model above 255 in a task", HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT, [](Bench& b) {
             hbDNNTaskHandle_t open = b.open();
             hbDNNInferCtrlParam more = b.board.control();
             more.more = 1;
             for (std::size_t i = 1; i < dnn::models_of_a_task; i++)
                 b.board.infer(&open, more);
             const std::int32_t status = b.board.infer(&open);
             hbDNNReleaseTask(open);
             return status;
         }});
}

void add_tasks(List& list) {
    const auto bad_task = HB_DNN_INVALID_TASK_HANDLE;
    const auto add = [&](const char* function, auto call) {
        list.push_back(
            {function, "taskHandle is NULL", bad_task, [=](Bench&) { return call(nullptr); }});
        list.push_back({function, "taskHandle was released", bad_task,
                        [=](Bench& b) { return call(b.stale_task); }});
        list.push_back({function, "taskHandle is a packed handle", bad_task,
                        [=](Bench& b) { return call(b.board.pack); }});
        list.push_back({function, "taskHandle is no handle", bad_task,
                        [=](Bench& b) { return call(b.garbage); }});
    };
    add("hbDNNWaitTaskDone", [](void* task) { return hbDNNWaitTaskDone(task, 0); });
    list.push_back(
        {"hbDNNWaitTaskDone", "the task is open for more", HB_DNN_API_USE_ERROR, [](Bench& b) {
             const hbDNNTaskHandle_t open = b.open();
             const std::int32_t status = hbDNNWaitTaskDone(open, 0);
             hbDNNReleaseTask(open);
             return status;
         }});
    add("hbDNNReleaseTask", [](void* task) { return hbDNNReleaseTask(task); });
    list.push_back({"hbDNNReleaseTask", "twice", bad_task, [](Bench& b) {
                        const hbDNNTaskHandle_t ended = b.ended();
                        hbDNNReleaseTask(ended);
                        return hbDNNReleaseTask(ended);
                    }});
    add("hbDNNSetTaskDoneCb", [](void* task) {
        return hbDNNSetTaskDoneCb(
            task, [](hbDNNTaskHandle_t, std::int32_t, void*) {}, nullptr);
    });
    list.push_back(
        {"hbDNNSetTaskDoneCb", "callback is NULL", HB_DNN_INVALID_ARGUMENT, [](Bench& b) {
             const hbDNNTaskHandle_t ended = b.ended();
             const std::int32_t status = hbDNNSetTaskDoneCb(ended, nullptr, nullptr);
             hbDNNReleaseTask(ended);
             return status;
         }});
}

void add_memory(List& list) {
    const auto bad = HB_SYS_INVALID_ARGUMENT;
    for (const auto& [function, allocate] :
         {std::pair("hbSysAllocMem", &hbSysAllocMem),
          std::pair("hbSysAllocCachedMem", &hbSysAllocCachedMem)}) {
        list.push_back({function, "mem is NULL", bad,
                        [allocate = allocate](Bench&) { return allocate(nullptr, 100); }});
        list.push_back({function, "size is 0", bad, [allocate = allocate](Bench&) {
                            hbSysMem mem;
                            return allocate(&mem, 0);
                        }});
        list.push_back({function, "size is more than a buffer may have", HB_SYS_OUT_OF_MEMORY,
                        [allocate = allocate](Bench&) {
                            hbSysMem mem;
                            return allocate(&mem, UINT32_MAX);
                        }});
    }
    static char bytes[4200];
    const auto add = [&](const char* function, auto call) {
        list.push_back({function, "mem is NULL", bad, [=](Bench&) { return call(nullptr, 16u); }});
        const auto with = [&](const char* what, auto change, std::uint32_t size = 16) {
            list.push_back({function, what, bad, [=](Bench& b) {
                                hbSysMem mem = b.memory;
                                change(b, mem);
                                return call(&mem, size);
                            }});
        };
        with("virAddr is NULL", [](Bench&, hbSysMem& mem) { mem.virAddr = nullptr; });
        with("it is not device memory", [](Bench&, hbSysMem& mem) { mem.virAddr = bytes; });
        with("it was freed", [](Bench& b, hbSysMem& mem) { mem = b.freed; });
    };
    add("hbSysFlushMem",
        [](hbSysMem* mem, std::uint32_t) { return hbSysFlushMem(mem, HB_SYS_MEM_CACHE_CLEAN); });
    for (const std::int32_t flag : {0, 3, -1})
        list.push_back({"hbSysFlushMem", "flag is " + std::to_string(flag), bad,
                        [flag](Bench& b) { return hbSysFlushMem(&b.memory, flag); }});
    add("hbSysWriteMem",
        [](hbSysMem* mem, std::uint32_t size) { return hbSysWriteMem(mem, bytes, size); });
    list.push_back({"hbSysWriteMem", "src is NULL", bad,
                    [](Bench& b) { return hbSysWriteMem(&b.memory, nullptr, 16); }});
    list.push_back({"hbSysWriteMem", "a byte too much", bad,
                    [](Bench& b) { return hbSysWriteMem(&b.memory, bytes, 4097); }});
    add("hbSysReadMem",
        [](hbSysMem* mem, std::uint32_t size) { return hbSysReadMem(bytes, mem, size); });
    list.push_back({"hbSysReadMem", "dest is NULL", bad,
                    [](Bench& b) { return hbSysReadMem(nullptr, &b.memory, 16); }});
    list.push_back({"hbSysReadMem", "a byte too much", bad,
                    [](Bench& b) { return hbSysReadMem(bytes, &b.memory, 4097); }});
    add("hbSysFreeMem", [](hbSysMem* mem, std::uint32_t) { return hbSysFreeMem(mem); });
    list.push_back({"hbSysFreeMem", "virAddr is inside an allocation", bad, [](Bench& b) {
                        hbSysMem mem = b.memory;
                        mem.virAddr = static_cast<char*>(mem.virAddr) + 16;
                        return hbSysFreeMem(&mem);
                    }});
    list.push_back(
        {"hbSysRegisterMem", "mem is NULL", bad, [](Bench&) { return hbSysRegisterMem(nullptr); }});
    const auto no = HB_SYS_REGISTER_MEM_FAILED;
    list.push_back({"hbSysRegisterMem", "phyAddr is not of ours", no, [](Bench&) {
                        hbSysMem mem{12345, nullptr, 16};
                        return hbSysRegisterMem(&mem);
                    }});
    list.push_back({"hbSysRegisterMem", "it is longer than the allocation", no, [](Bench& b) {
                        hbSysMem mem{b.memory.phyAddr, nullptr, 4097};
                        return hbSysRegisterMem(&mem);
                    }});
    list.push_back({"hbSysUnregisterMem", "mem is NULL", bad,
                    [](Bench&) { return hbSysUnregisterMem(nullptr); }});
    list.push_back({"hbSysUnregisterMem", "it was not registered", no,
                    [](Bench& b) { return hbSysUnregisterMem(&b.memory); }});
}

const List& misuses() {
    static const List list = [] {
        List made;
        add_loading(made);
        add_packs(made);
        add_model_functions(made);
        add_infer(made);
        add_tasks(made);
        add_memory(made);
        add_picture_misuses(made);
        return made;
    }();
    return list;
}

const char* name_of(std::int32_t status) {
    switch (status) {
#define NAME(status)                                                                               \
    case status:                                                                                   \
        return #status
        NAME(HB_DNN_INVALID_ARGUMENT);
        NAME(HB_DNN_INVALID_MODEL);
        NAME(HB_DNN_INVALID_PACKED_DNN_HANDLE);
        NAME(HB_DNN_INVALID_DNN_HANDLE);
        NAME(HB_DNN_CAN_NOT_OPEN_FILE);
        NAME(HB_DNN_TASK_NUM_EXCEED_LIMIT);
        NAME(HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT);
        NAME(HB_DNN_INVALID_TASK_HANDLE);
        NAME(HB_DNN_MODEL_IS_RUNNING);
        NAME(HB_DNN_API_USE_ERROR);
        NAME(HB_SYS_INVALID_ARGUMENT);
        NAME(HB_SYS_OUT_OF_MEMORY);
        NAME(HB_SYS_REGISTER_MEM_FAILED);
#undef NAME
    default:
        return "?";
    }
}

TEST(BoardMisuse, EachHasItsStatus) {
    BoardDevice device;
    EXPECT_GE(misuses().size(), 200u);
    for (const Misuse& misuse : misuses()) {
        Bench bench;
        EXPECT_EQ(misuse.use(bench), misuse.status) << misuse.function << ": " << misuse.what;
        // Correct calls still work.
        hbDNNTaskHandle_t task = nullptr;
        ASSERT_EQ(bench.board.infer(&task), 0) << misuse.function << ": " << misuse.what;
        ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
        ASSERT_EQ(hbDNNReleaseTask(task), 0);
    }
}

} // namespace

void print_misuses() {
    std::printf("| function | wrong use | status |\n|---|---|---|\n");
    for (const Misuse& misuse : misuses())
        std::printf("| %s | %s | %s |\n", misuse.function, misuse.what.c_str(),
                    name_of(misuse.status));
}

} // namespace overtake::test
