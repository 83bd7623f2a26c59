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

ModelSpec picture_to_bytes() {
    constexpr std::uint32_t rows = 4, width = 18;
    ModelSpec spec;
    spec.name = "picture";
    TensorSpec picture;
    picture.name = "picture";
    picture.data_type = 5;
    picture.shape = {1, 1, rows * 3 / 2, width};
    picture.height = rows * 3 / 2;
    picture.width = picture.row_stride = width;
    picture.channels = picture.pixel_stride = 1;
    picture.scale = 1;
    picture.bytes = std::uint64_t{picture.height} * width;
    TensorSpec bytes = device_tensor("bytes", rows, width, 3, 1, -128);
    bytes.data_type = 2;
    spec.tensors = {picture, bytes};
    spec.inputs = {0};
    spec.outputs = {1};
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_NV12;
    insn.flags = OVERTAKE_FLAG_NEAREST;
    insn.in[0] = {.region = OVERTAKE_REGION_IO,
                  .zero_point = 0,
                  .offset = 0,
                  .height = rows,
                  .width = width,
                  .channels = 1,
                  .row_stride = width,
                  .pixel_stride = 1,
                  .type = OVERTAKE_TYPE_INT8};
    insn.in[1] = insn.in[0];
    insn.in[1].offset = rows * width;
    insn.in[1].height = rows / 2;
    insn.in[1].width = width / 2;
    insn.in[1].channels = insn.in[1].pixel_stride = 2;
    insn.out = {.region = OVERTAKE_REGION_IO + 1,
                .zero_point = -128,
                .offset = 0,
                .height = rows / 2,
                .width = width,
                .channels = 3,
                .row_stride = bytes.row_stride,
                .pixel_stride = bytes.pixel_stride,
                .type = OVERTAKE_TYPE_INT8};
    insn.clamp_min = -128;
    insn.clamp_max = 127;
    insn.step_y = insn.step_x = 1u << OVERTAKE_POSITION_BITS;
    insn.params_region = OVERTAKE_REGION_WEIGHTS;
    spec.program = {insn, insn};
    spec.program[1].start_y = std::int64_t{rows / 2} << OVERTAKE_POSITION_BITS;
    spec.program[1].out.offset = rows / 2 * std::uint64_t{bytes.row_stride};
    for (const std::uint32_t word : {0u, 2u, 1u}) // bias, multiplier, shift, of 8 channels each
        for (int channel = 0; channel < 8; channel++)
            for (int byte = 0; byte < 4; byte++)
                spec.weights.push_back(static_cast<std::uint8_t>(word >> (8 * byte)));
    SegmentSpec segment;
    segment.bpu = true;
    segment.fcs = {fbs::Fc(0, 1, 100), fbs::Fc(1, 1, 100)};
    segment.bindings = {fbs::Binding(OVERTAKE_REGION_IO, 0, false),
                        fbs::Binding(OVERTAKE_REGION_IO + 1, 1, true)};
    spec.segments = {segment};
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
