// SPDX-License-Identifier: MIT
//
// The functions of dnn/hb_dnn.h, hb_dnn_status.h and hb_dnn_ext.h.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <time.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dnn/api.hpp"
#include "dnn/convert.hpp"
#include "dnn/hb_dnn.h"
#include "dnn/hb_dnn_ext.h"
#include "dnn/log.hpp"
#include "dnn/process.hpp"
#include "dnn/resize.hpp"
#include "dnn/task.hpp"

namespace overtake::dnn {

std::int32_t fail(const char* function, std::int32_t status, const char* text) noexcept {
    try {
        // A caller may wait in turns, so a timeout is no error.
        log(status == HB_DNN_TIMEOUT ? LogLevel::info : LogLevel::error,
            fmt::format("{}: {} ({})", function, text, status));
    } catch (const std::bad_alloc&) {
        return status;
    }
    return status;
}

} // namespace overtake::dnn

using namespace overtake;
using namespace overtake::dnn;

namespace {

constexpr std::size_t pack_limit = 1024;

// Handles

std::shared_ptr<Pack> pack_of(Process& process, hbPackedDNNHandle_t handle) {
    std::shared_ptr<Pack> pack = process.packs.find(handle);
    if (!pack)
        throw Failure(HB_DNN_INVALID_PACKED_DNN_HANDLE,
                      "packedDNNHandle is none, or has been released");
    return pack;
}

std::shared_ptr<Network> network_of(Process& process, hbDNNHandle_t handle) {
    std::shared_ptr<Network> network = process.networks.find(handle);
    if (!network)
        throw Failure(HB_DNN_INVALID_DNN_HANDLE, "dnnHandle is none, or has been released");
    return network;
}

std::shared_ptr<DnnTask> task_of(Process& process, hbDNNTaskHandle_t handle) {
    std::shared_ptr<DnnTask> task = process.tasks.find(handle);
    if (!task)
        throw Failure(HB_DNN_INVALID_TASK_HANDLE, "taskHandle is none, or has been released");
    return task;
}

Port& port_at(std::vector<Port>& ports, std::int32_t index, const char* kind) {
    if (index < 0 || static_cast<std::size_t>(index) >= ports.size())
        refuse(fmt::format("there is no {} {}, the model has {}", kind, index, ports.size()));
    return ports[static_cast<std::size_t>(index)];
}

// Loading

using Models = std::vector<std::shared_ptr<const Model>>;

template <class Load>
Models load_models(Load load) {
    try {
        return load();
    } catch (const Error& error) {
        switch (error.code()) {
        case EINVAL:
            throw Failure(
                HB_DNN_INVALID_MODEL,
                fmt::format("{}; only models of `overtake compile` run here", error.what()));
        case ENOMEM:
            throw Failure(HB_DNN_OUT_OF_MEMORY, error.what());
        default:
            throw Failure(HB_DNN_CAN_NOT_OPEN_FILE, error.what());
        }
    }
}

void add_network(Process& process, Pack& pack, const std::shared_ptr<const Model>& model) {
    if (pack.find(std::string(model->name())))
        refuse(fmt::format("two models are called {}", model->name()));
    try {
        pack.networks.push_back(std::make_shared<Network>(process.load(model)));
    } catch (const Error& error) {
        if (error.code() == ENODEV)
            throw;
        const bool no_room = error.code() == ENOMEM || error.code() == ENOSPC;
        throw Failure(no_room ? HB_DNN_OUT_OF_MEMORY : HB_DNN_INVALID_MODEL, error.what());
    }
}

hbPackedDNNHandle_t register_pack(Process& process, const std::vector<Models>& files) {
    if (process.packs.size() >= pack_limit)
        throw Failure(HB_DNN_MODEL_NUMBER_EXCEED_LIMIT,
                      fmt::format("{} packs are loaded already", pack_limit));
    auto pack = std::make_shared<Pack>();
    for (const Models& models : files)
        for (const std::shared_ptr<const Model>& model : models)
            add_network(process, *pack, model);
    try {
        for (const std::shared_ptr<Network>& network : pack->networks) {
            pack->names.push_back(network->name.c_str());
            network->handle = process.networks.add(network);
        }
        return process.packs.add(pack);
    } catch (...) { // the caller has no handles of the networks
        for (const std::shared_ptr<Network>& network : pack->networks)
            process.networks.take(network->handle);
        throw;
    }
}

/// Loads the models.  If the device is gone and the program has released its packs and tasks, opens
/// the device anew and loads them there.
hbPackedDNNHandle_t initialize(Process& process, const std::vector<Models>& files) {
    try {
        return register_pack(process, files);
    } catch (const Error& error) {
        Process* const fresh = error.code() == ENODEV ? Process::reopen(process) : nullptr;
        if (!fresh)
            throw;
        log(LogLevel::warning, fmt::format("{}; the device has been opened anew, and memory of "
                                           "before has to be allocated again",
                                           error.what()));
        return register_pack(*fresh, files);
    }
}

// Tasks

/// A new task with a place among the tasks of the process, or the open task of the handle.
class TaskSlot {
public:
    TaskSlot(Process& process, hbDNNTaskHandle_t handle, std::size_t models) : process_(process) {
        if (handle) {
            task_ = task_of(process, handle);
            task_->check_open(models);
        } else {
            task_ = std::make_shared<DnnTask>(process.engine());
            task_->check_open(models);
            new_ = process.tasks.add(task_, task_limit);
            if (!new_)
                throw Failure(HB_DNN_TASK_NUM_EXCEED_LIMIT,
                              fmt::format("{} tasks have not been released", task_limit));
        }
    }
    TaskSlot(const TaskSlot&) = delete;
    TaskSlot& operator=(const TaskSlot&) = delete;
    ~TaskSlot() {
        if (new_)
            process_.tasks.take(new_);
    }

    DnnTask& task() { return *task_; }

    /// Gives the caller the handle, once everything that may fail has been done.
    void commit(hbDNNTaskHandle_t* handle) {
        if (void* const added = std::exchange(new_, nullptr))
            *handle = added;
    }

private:
    Process& process_;
    std::shared_ptr<DnnTask> task_;
    void* new_ = nullptr; ///< its handle, which no caller has yet
};

std::vector<BoundTensor> bind_outputs(std::vector<Port>& ports, const hbDNNTensor* tensors,
                                      const Memory& memory) {
    std::vector<BoundTensor> bound;
    for (Port& port : ports)
        bound.push_back(bind(port, *tensors++, memory));
    return bound;
}

void infer(Process& process, hbDNNTaskHandle_t* taskHandle, hbDNNTensor** output,
           const hbDNNTensor* input, hbDNNHandle_t dnnHandle, hbDNNInferCtrlParam* control) {
    require(taskHandle, "taskHandle");
    require(output, "output");
    require(*output, "*output");
    require(input, "input");
    require(control, "inferCtrlParam");
    const std::shared_ptr<Network> network = network_of(process, dnnHandle);
    const TaskOptions options = task_options(*control, process.cores());
    process.check_priority(options.priority);
    if (std::ranges::any_of(network->inputs, &Port::from_resizer))
        refuse("the model has inputs from the resizer: use hbDNNRoiInfer()");
    const std::vector<BoundTensor> inputs = bind_inputs(network->inputs, input, process.memory);
    const std::vector<BoundTensor> outputs =
        bind_outputs(network->outputs, *output, process.memory);
    TaskSlot slot(process, *taskHandle, 1);
    slot.task().add_all(network, {inputs}, {outputs});
    if (control->more == 0)
        slot.task().submit(options);
    slot.commit(taskHandle);
}

/// Warns once of a region that the first generation of the board refuses; this library does not
/// limit regions.
void warn_of_limits(const hbDNNRoi& region) {
    static std::atomic_flag warned;
    const std::int32_t width = region.right - region.left + 1;
    const std::int32_t height = region.bottom - region.top + 1;
    const bool fits = width >= 16 && width < 256 && height >= 16 && height < 256;
    if (!fits && !warned.test_and_set())
        log(LogLevel::warning,
            fmt::format("hbDNNRoiInfer: a region of {} x {} works here, but not on X3, where both "
                        "are 16 to 255",
                        width, height));
}

void roi_infer(Process& process, hbDNNTaskHandle_t* taskHandle, hbDNNTensor** output,
               const hbDNNTensor* input, hbDNNRoi* rois, std::int32_t roiCount,
               hbDNNHandle_t dnnHandle, hbDNNInferCtrlParam* control) {
    require(taskHandle, "taskHandle");
    require(output, "output");
    require(*output, "*output");
    require(input, "input");
    require(rois, "rois");
    require(control, "inferCtrlParam");
    const std::shared_ptr<Network> network = network_of(process, dnnHandle);
    const TaskOptions options = task_options(*control, process.cores());
    process.check_priority(options.priority);
    const auto resizers = std::ranges::count_if(network->inputs, &Port::from_resizer);
    if (resizers == 0)
        refuse("the model has no input from the resizer: compile it with input_source resizer, or "
               "use hbDNNInfer()");
    if (roiCount < 1 || roiCount % resizers != 0)
        refuse(fmt::format("roiCount {}: it is a multiple of the model's {} resizer input(s)",
                           roiCount, resizers));
    const auto batches = static_cast<std::size_t>(roiCount / resizers);
    TaskSlot slot(process, *taskHandle, batches);
    std::vector<std::vector<BoundTensor>> inputs(batches), outputs(batches);
    for (std::size_t batch = 0; batch < batches; batch++) {
        for (Port& port : network->inputs) {
            if (port.from_resizer) {
                inputs[batch].push_back(bind_region(port, *input++, *rois, process.memory));
                warn_of_limits(*rois++);
            } else {
                inputs[batch].push_back(bind(port, *input++, process.memory));
            }
        }
        for (std::size_t i = 0; i < network->outputs.size(); i++)
            outputs[batch].push_back(
                bind_part(network->outputs[i], (*output)[i], batch, batches, process.memory));
    }
    slot.task().add_all(network, inputs, outputs);
    if (control->more == 0)
        slot.task().submit(options);
    slot.commit(taskHandle);
}

void resize(Process& process, hbDNNTaskHandle_t* taskHandle, hbDNNTensor* output,
            const hbDNNTensor* input, const hbDNNRoi* roi, hbDNNResizeCtrlParam* control) {
    require(taskHandle, "taskHandle");
    require(output, "output");
    require(input, "input");
    require(control, "resizeCtrlParam");
    const TaskOptions options = task_options(*control, process.cores());
    process.check_priority(options.priority);
    ResizeWork work = resize_work(*output, *input, roi, process.memory);
    TaskSlot slot(process, *taskHandle, 1);
    slot.task().add(std::move(work.compute),
                    std::make_shared<std::vector<std::shared_ptr<Buffer>>>(std::move(work.keep)));
    slot.task().submit(options);
    slot.commit(taskHandle);
}

std::int64_t deadline_in(std::int32_t milliseconds) {
    if (milliseconds <= 0)
        return deadline_never;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (std::int64_t{now.tv_sec} * 1000 + milliseconds) * 1'000'000 + now.tv_nsec;
}

void wait(Process& process, hbDNNTaskHandle_t handle, std::int32_t timeout) {
    const std::shared_ptr<DnnTask> task = task_of(process, handle);
    if (task->is_open())
        throw Failure(HB_DNN_API_USE_ERROR,
                      "the task is open for more models: submit it with `more` 0 first");
    if (!task->request()->wait(deadline_in(timeout)))
        throw Failure(HB_DNN_TIMEOUT, fmt::format("the task still runs after {} ms", timeout));
    const std::int32_t status = task->request()->status();
    if (status != 0)
        throw Failure(status_of_end(status), why_it_failed(*task->request()));
    if (process.profile)
        task->tell(*process.profile);
}

void set_callback(Process& process, hbDNNTaskHandle_t handle, hbDNNTaskDoneCb callback,
                  void* userdata) {
    const std::shared_ptr<DnnTask> task = task_of(process, handle);
    require(callback, "callback");
    Process* const caller = Process::of_this_thread();
    task->set_callback([=](std::int32_t status) {
        Process::use_in_this_thread(caller);
        callback(handle, status_of_end(status), userdata);
    });
}

/// Releases the handle and cancels the task, which is destroyed after its end.
void release(Process& process, hbDNNTaskHandle_t handle) {
    const std::shared_ptr<DnnTask> task = process.tasks.take(handle);
    if (!task)
        throw Failure(HB_DNN_INVALID_TASK_HANDLE, "taskHandle is none, or has been released");
    if (process.profile)
        task->tell(*process.profile);
    task->leave();
}

} // namespace

// hb_dnn_status.h

OVERTAKE_DNN_API const char* hbDNNGetErrorDesc(int32_t errorCode) {
    return describe_status(errorCode);
}

// hb_dnn.h

OVERTAKE_DNN_API const char* hbDNNGetVersion(void) {
    return "1.23.0 (Overtake " OVERTAKE_VERSION ")";
}

OVERTAKE_DNN_API int32_t hbDNNInitializeFromFiles(hbPackedDNNHandle_t* packedDNNHandle,
                                                  const char** modelFileNames,
                                                  int32_t modelFileCount) {
    return call("hbDNNInitializeFromFiles", [&](Process& process) {
        require(packedDNNHandle, "packedDNNHandle");
        require(modelFileNames, "modelFileNames");
        if (modelFileCount < 1)
            refuse("modelFileCount is below 1");
        std::vector<Models> files;
        for (std::int32_t i = 0; i < modelFileCount; i++) {
            require(modelFileNames[i], "a file name");
            files.push_back(load_models([&] { return Model::load_all(modelFileNames[i]); }));
        }
        *packedDNNHandle = initialize(process, files);
    });
}

OVERTAKE_DNN_API int32_t hbDNNInitializeFromDDR(hbPackedDNNHandle_t* packedDNNHandle,
                                                const void** modelData, int32_t* modelDataLengths,
                                                int32_t modelDataCount) {
    return call("hbDNNInitializeFromDDR", [&](Process& process) {
        require(packedDNNHandle, "packedDNNHandle");
        require(modelData, "modelData");
        require(modelDataLengths, "modelDataLengths");
        if (modelDataCount < 1)
            refuse("modelDataCount is below 1");
        std::vector<Models> files;
        for (std::int32_t i = 0; i < modelDataCount; i++) {
            require(modelData[i], "a model's data");
            if (modelDataLengths[i] < 1)
                refuse("a model's length is below 1");
            const std::span bytes(static_cast<const std::byte*>(modelData[i]),
                                  static_cast<std::size_t>(modelDataLengths[i]));
            files.push_back(load_models([&] { return Model::all_from_bytes(bytes); }));
        }
        *packedDNNHandle = initialize(process, files);
    });
}

OVERTAKE_DNN_API int32_t hbDNNRelease(hbPackedDNNHandle_t packedDNNHandle) {
    return call("hbDNNRelease", [&](Process& process) {
        const std::shared_ptr<Pack> pack = pack_of(process, packedDNNHandle);
        if (pack->is_running())
            throw Failure(HB_DNN_MODEL_IS_RUNNING, "tasks of its models have not been released");
        for (const std::shared_ptr<Network>& network : pack->networks)
            process.networks.take(network->handle);
        process.packs.take(packedDNNHandle);
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetModelNameList(const char*** modelNameList, int32_t* modelNameCount,
                                               hbPackedDNNHandle_t packedDNNHandle) {
    return call("hbDNNGetModelNameList", [&](Process& process) {
        require(modelNameList, "modelNameList");
        require(modelNameCount, "modelNameCount");
        const std::shared_ptr<Pack> pack = pack_of(process, packedDNNHandle);
        *modelNameList = pack->names.data();
        *modelNameCount = static_cast<std::int32_t>(pack->names.size());
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetModelHandle(hbDNNHandle_t* dnnHandle,
                                             hbPackedDNNHandle_t packedDNNHandle,
                                             const char* modelName) {
    return call("hbDNNGetModelHandle", [&](Process& process) {
        require(dnnHandle, "dnnHandle");
        const std::shared_ptr<Pack> pack = pack_of(process, packedDNNHandle);
        require(modelName, "modelName");
        const std::shared_ptr<Network> network = pack->find(modelName);
        if (!network)
            refuse(fmt::format("there is no model '{}'; there are: {}", modelName,
                               fmt::join(pack->names, ", ")));
        *dnnHandle = network->handle;
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetInputCount(int32_t* inputCount, hbDNNHandle_t dnnHandle) {
    return call("hbDNNGetInputCount", [&](Process& process) {
        require(inputCount, "inputCount");
        *inputCount = static_cast<std::int32_t>(network_of(process, dnnHandle)->inputs.size());
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetInputName(const char** name, hbDNNHandle_t dnnHandle,
                                           int32_t inputIndex) {
    return call("hbDNNGetInputName", [&](Process& process) {
        require(name, "name");
        *name = port_at(network_of(process, dnnHandle)->inputs, inputIndex, "input").name.c_str();
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetInputTensorProperties(hbDNNTensorProperties* properties,
                                                       hbDNNHandle_t dnnHandle,
                                                       int32_t inputIndex) {
    return call("hbDNNGetInputTensorProperties", [&](Process& process) {
        require(properties, "properties");
        *properties =
            properties_of(port_at(network_of(process, dnnHandle)->inputs, inputIndex, "input"));
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetOutputCount(int32_t* outputCount, hbDNNHandle_t dnnHandle) {
    return call("hbDNNGetOutputCount", [&](Process& process) {
        require(outputCount, "outputCount");
        *outputCount = static_cast<std::int32_t>(network_of(process, dnnHandle)->outputs.size());
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetOutputName(const char** name, hbDNNHandle_t dnnHandle,
                                            int32_t outputIndex) {
    return call("hbDNNGetOutputName", [&](Process& process) {
        require(name, "name");
        *name =
            port_at(network_of(process, dnnHandle)->outputs, outputIndex, "output").name.c_str();
    });
}

OVERTAKE_DNN_API int32_t hbDNNGetOutputTensorProperties(hbDNNTensorProperties* properties,
                                                        hbDNNHandle_t dnnHandle,
                                                        int32_t outputIndex) {
    return call("hbDNNGetOutputTensorProperties", [&](Process& process) {
        require(properties, "properties");
        *properties =
            properties_of(port_at(network_of(process, dnnHandle)->outputs, outputIndex, "output"));
    });
}

OVERTAKE_DNN_API int32_t hbDNNInfer(hbDNNTaskHandle_t* taskHandle, hbDNNTensor** output,
                                    const hbDNNTensor* input, hbDNNHandle_t dnnHandle,
                                    hbDNNInferCtrlParam* inferCtrlParam) {
    return call("hbDNNInfer", [&](Process& process) {
        infer(process, taskHandle, output, input, dnnHandle, inferCtrlParam);
    });
}

OVERTAKE_DNN_API int32_t hbDNNRoiInfer(hbDNNTaskHandle_t* taskHandle, hbDNNTensor** output,
                                       const hbDNNTensor* input, hbDNNRoi* rois, int32_t roiCount,
                                       hbDNNHandle_t dnnHandle,
                                       hbDNNInferCtrlParam* inferCtrlParam) {
    return call("hbDNNRoiInfer", [&](Process& process) {
        roi_infer(process, taskHandle, output, input, rois, roiCount, dnnHandle, inferCtrlParam);
    });
}

OVERTAKE_DNN_API int32_t hbDNNResize(hbDNNTaskHandle_t* taskHandle, hbDNNTensor* output,
                                     const hbDNNTensor* input, const hbDNNRoi* roi,
                                     hbDNNResizeCtrlParam* resizeCtrlParam) {
    return call("hbDNNResize", [&](Process& process) {
        resize(process, taskHandle, output, input, roi, resizeCtrlParam);
    });
}

OVERTAKE_DNN_API int32_t hbDNNSetTaskDoneCb(hbDNNTaskHandle_t taskHandle, hbDNNTaskDoneCb callback,
                                            void* userdata) {
    return call("hbDNNSetTaskDoneCb",
                [&](Process& process) { set_callback(process, taskHandle, callback, userdata); });
}

OVERTAKE_DNN_API int32_t hbDNNWaitTaskDone(hbDNNTaskHandle_t taskHandle, int32_t timeout) {
    return call("hbDNNWaitTaskDone", [&](Process& process) { wait(process, taskHandle, timeout); });
}

OVERTAKE_DNN_API int32_t hbDNNReleaseTask(hbDNNTaskHandle_t taskHandle) {
    return call("hbDNNReleaseTask", [&](Process& process) { release(process, taskHandle); });
}

// hb_dnn_ext.h

OVERTAKE_DNN_API int32_t hbDNNGetInputSource(int32_t* inputSource, hbDNNHandle_t dnnHandle,
                                             int32_t inputIndex) {
    return call("hbDNNGetInputSource", [&](Process& process) {
        require(inputSource, "inputSource");
        const Port& port = port_at(network_of(process, dnnHandle)->inputs, inputIndex, "input");
        if (port.from_resizer)
            *inputSource = HB_DNN_INPUT_FROM_RESIZER;
        else if (port.tensor->data_type == DataType::nv12)
            *inputSource = HB_DNN_INPUT_FROM_PYRAMID;
        else
            *inputSource = HB_DNN_INPUT_FROM_DDR;
    });
}
