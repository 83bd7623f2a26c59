// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <stdexcept>

namespace overtake::test {

namespace {

void require_ok(std::int32_t status) {
    if (status != 0)
        throw std::runtime_error(hbDNNGetErrorDesc(status));
}

} // namespace

BoardDevice::BoardDevice(const EmbeddedOptions& options, const EngineOptions& engine)
    : device(open_embedded(options)) {
    EngineOptions wanted = engine;
    wanted.max_priority = priority_high;
    process = std::make_unique<dnn::Process>(device, std::make_unique<Engine>(device, wanted));
    use();
}

BoardDevice::~BoardDevice() {
    dnn::Process::use_in_this_thread(nullptr);
}

ModelSpec copy_bytes() {
    ModelSpec spec = copy_and_softmax();
    spec.name = "bytes";
    spec.tensors.pop_back();
    for (TensorSpec& tensor : spec.tensors)
        tensor.data_type = 2;
    spec.outputs = {1};
    spec.segments.pop_back();
    return spec;
}

BoardModel::BoardModel(const ModelSpec& spec) : bytes(build(spec)) {
    const void* data = bytes.data();
    auto length = static_cast<std::int32_t>(bytes.size());
    require_ok(hbDNNInitializeFromDDR(&pack, &data, &length, 1));
    require_ok(hbDNNGetModelHandle(&model, pack, spec.name.c_str()));
    std::int32_t count;
    require_ok(hbDNNGetInputCount(&count, model));
    inputs.resize(static_cast<std::size_t>(count));
    for (std::int32_t i = 0; hbDNNTensor & tensor : inputs) {
        require_ok(hbDNNGetInputTensorProperties(&tensor.properties, model, i++));
        require_ok(hbSysAllocCachedMem(
            &tensor.sysMem[0], static_cast<std::uint32_t>(tensor.properties.alignedByteSize)));
    }
    require_ok(hbDNNGetOutputCount(&count, model));
    outputs.resize(static_cast<std::size_t>(count));
    for (std::int32_t i = 0; hbDNNTensor & tensor : outputs) {
        require_ok(hbDNNGetOutputTensorProperties(&tensor.properties, model, i++));
        require_ok(hbSysAllocCachedMem(
            &tensor.sysMem[0], static_cast<std::uint32_t>(tensor.properties.alignedByteSize)));
    }
}

BoardModel::~BoardModel() {
    for (std::vector<hbDNNTensor>* tensors : {&inputs, &outputs})
        for (hbDNNTensor& tensor : *tensors)
            hbSysFreeMem(&tensor.sysMem[0]);
    hbDNNRelease(pack);
}

hbDNNInferCtrlParam BoardModel::control() const {
    hbDNNInferCtrlParam control;
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
    return control;
}

std::int32_t BoardModel::infer(hbDNNTaskHandle_t* task, hbDNNInferCtrlParam wishes) {
    hbDNNTensor* out = outputs.data();
    return hbDNNInfer(task, &out, inputs.data(), model, &wishes);
}

} // namespace overtake::test
