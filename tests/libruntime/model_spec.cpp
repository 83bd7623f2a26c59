// SPDX-License-Identifier: MIT
#include "model_spec.hpp"

#include <span>

namespace overtake::test {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<fbs::Tensor> build_tensor(FlatBufferBuilder& builder, const TensorSpec& spec) {
    const auto name = builder.CreateString(spec.name);
    const auto shape = builder.CreateVector(spec.shape);
    return fbs::CreateTensor(
        builder, name, shape, static_cast<fbs::DataType>(spec.data_type), spec.height, spec.width,
        spec.channels, spec.row_stride, spec.pixel_stride, spec.scale, spec.zero_point, spec.bytes,
        static_cast<fbs::Order>(spec.order), 0, fbs::Colours::Unknown, false,
        fbs::ElementType::Float32, false, spec.from_resizer, 0, 0, spec.is_int16);
}

Offset<fbs::BpuSegment> build_bpu(FlatBufferBuilder& builder, const SegmentSpec& spec) {
    const auto fcs = builder.CreateVectorOfStructs(spec.fcs);
    const auto bindings = builder.CreateVectorOfStructs(spec.bindings);
    return fbs::CreateBpuSegment(builder, fcs, bindings, spec.scratch_bytes);
}

Offset<fbs::CpuSegment> build_cpu(FlatBufferBuilder& builder, const SegmentSpec& spec) {
    std::vector<Offset<fbs::CpuOp>> ops;
    for (const CpuOpSpec& op : spec.ops) {
        const auto name = builder.CreateString("op");
        const auto inputs = builder.CreateVector(op.inputs);
        const auto outputs = builder.CreateVector(op.outputs);
        const std::vector<Offset<fbs::Attribute>> attributes = {
            fbs::CreateAttributeDirect(builder, "numbers", &op.numbers)};
        const auto domain = builder.CreateString(op.domain);
        const auto type = builder.CreateString(op.custom_type);
        const auto attribute_vector = builder.CreateVector(attributes);
        ops.push_back(fbs::CreateCpuOp(builder, static_cast<fbs::CpuOpType>(op.type), name, inputs,
                                       outputs, op.axis, 0, 0, domain, type, attribute_vector));
    }
    return fbs::CreateCpuSegment(builder, builder.CreateVector(ops), spec.expected_ns);
}

Offset<fbs::Segment> build_segment(FlatBufferBuilder& builder, const SegmentSpec& spec) {
    Offset<fbs::BpuSegment> bpu;
    Offset<fbs::CpuSegment> cpu;
    if (spec.bpu)
        bpu = build_bpu(builder, spec);
    if (spec.cpu)
        cpu = build_cpu(builder, spec);
    return fbs::CreateSegment(builder, bpu, cpu);
}

Offset<flatbuffers::Vector<std::uint8_t>> build_bytes(FlatBufferBuilder& builder, const void* data,
                                                      std::size_t size) {
    builder.ForceVectorAlignment(size, 1, 64);
    return builder.CreateVector(static_cast<const std::uint8_t*>(data), size);
}

} // namespace

TensorSpec device_tensor(const std::string& name, std::uint32_t height, std::uint32_t width,
                         std::uint32_t channels, float scale, std::int32_t zero_point) {
    TensorSpec tensor;
    tensor.name = name;
    tensor.shape = {1, channels, height, width};
    tensor.height = height;
    tensor.width = width;
    tensor.channels = channels;
    tensor.pixel_stride = (channels + 7) / 8 * 8;
    tensor.row_stride = width * tensor.pixel_stride;
    tensor.scale = scale;
    tensor.zero_point = zero_point;
    tensor.bytes = std::uint64_t{height} * tensor.row_stride;
    return tensor;
}

TensorSpec host_tensor(const std::string& name, const std::vector<std::uint32_t>& shape) {
    TensorSpec tensor;
    tensor.name = name;
    tensor.shape = shape;
    tensor.bytes = sizeof(float);
    for (const std::uint32_t dimension : shape)
        tensor.bytes *= dimension;
    return tensor;
}

namespace {

/// Copies rows of a tensor from one region to the next.
overtake_insn copy_rows(const TensorSpec& tensor, std::uint32_t first, std::uint32_t count) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_COPY;
    insn.in[0] = {.region = OVERTAKE_REGION_IO,
                  .zero_point = 0,
                  .offset = std::uint64_t{first} * tensor.row_stride,
                  .height = count,
                  .width = tensor.width,
                  .channels = tensor.channels,
                  .row_stride = tensor.row_stride,
                  .pixel_stride = tensor.pixel_stride,
                  .type = OVERTAKE_TYPE_INT8};
    insn.out = insn.in[0];
    insn.out.region = OVERTAKE_REGION_IO + 1;
    return insn;
}

/// Two FCs that copy tensor `from` to tensor `to`.
SegmentSpec copying_segment(std::uint32_t from, std::uint32_t to) {
    SegmentSpec bpu;
    bpu.bpu = true;
    bpu.fcs = {fbs::Fc(0, 1, 100), fbs::Fc(1, 1, 300)};
    bpu.bindings = {fbs::Binding(OVERTAKE_REGION_IO, from, false),
                    fbs::Binding(OVERTAKE_REGION_IO + 1, to, true)};
    return bpu;
}

SegmentSpec softmax_segment(std::uint32_t from, std::uint32_t to, int axis) {
    SegmentSpec cpu;
    cpu.cpu = true;
    cpu.ops = {{.type = 1, .inputs = {from}, .outputs = {to}, .axis = axis}};
    return cpu;
}

Offset<fbs::CorePlan> build_plan(FlatBufferBuilder& builder, const ModelSpec& spec,
                                 Offset<fbs::Profile> profile) {
    std::vector<Offset<fbs::CoreSegment>> segments;
    for (std::uint32_t number = 0; number < spec.segments.size(); number++) {
        const SegmentSpec& segment = spec.segments[number];
        if (!segment.bpu)
            continue;
        const std::vector<fbs::Fc> first(segment.fcs.begin(), segment.fcs.begin() + 1);
        const std::vector<fbs::Fc> rest(segment.fcs.begin() + 1, segment.fcs.end());
        const std::vector<std::uint32_t> stages(rest.size());
        const std::vector<std::uint32_t> stage(1);
        const std::vector parts = {fbs::CreateCorePartDirect(builder, 0, &first, &stage),
                                   fbs::CreateCorePartDirect(builder, 1, &rest, &stages)};
        segments.push_back(
            fbs::CreateCoreSegmentDirect(builder, number, &parts, segment.scratch_bytes, 200));
    }
    const std::vector profiles = {profile};
    return fbs::CreateCorePlanDirect(builder, 2, &profiles, 500, &segments, nullptr, 400, 200);
}

} // namespace

ModelSpec copy_and_softmax(std::uint32_t height, std::uint32_t width, std::uint32_t channels) {
    ModelSpec spec;
    spec.tensors = {device_tensor("input", height, width, channels, 0.5f, -3),
                    device_tensor("copied", height, width, channels, 0.5f, -3),
                    host_tensor("softmax", {1, channels, height, width})};
    spec.inputs = {0};
    spec.outputs = {2, 1};
    spec.program = {copy_rows(spec.tensors[0], 0, 1), copy_rows(spec.tensors[0], 1, height - 1)};
    spec.segments = {copying_segment(0, 1), softmax_segment(1, 2, 1)};
    return spec;
}

ModelSpec softmax_and_copy(std::uint32_t height, std::uint32_t width, std::uint32_t channels) {
    const std::vector<std::uint32_t> shape{1, height, width, channels};
    ModelSpec spec;
    spec.tensors = {host_tensor("input", shape),
                    device_tensor("softmax", height, width, channels, 1.0f / 256, -128),
                    device_tensor("copied", height, width, channels, 1.0f / 256, -128)};
    for (std::size_t tensor : {1, 2}) {
        spec.tensors[tensor].shape = shape;
        spec.tensors[tensor].order = static_cast<std::uint8_t>(fbs::Order::Rows);
    }
    spec.inputs = {0};
    spec.outputs = {2};
    spec.program = {copy_rows(spec.tensors[1], 0, 1), copy_rows(spec.tensors[1], 1, height - 1)};
    spec.segments = {softmax_segment(0, 1, 3), copying_segment(1, 2)};
    return spec;
}

std::vector<std::byte> build(const ModelSpec& spec) {
    FlatBufferBuilder builder;
    std::vector<Offset<fbs::Tensor>> tensors;
    for (const TensorSpec& tensor : spec.tensors)
        tensors.push_back(build_tensor(builder, tensor));
    std::vector<Offset<fbs::Segment>> segments;
    for (const SegmentSpec& segment : spec.segments)
        segments.push_back(build_segment(builder, segment));
    const auto tensor_vector = builder.CreateVector(tensors);
    const auto segment_vector = builder.CreateVector(segments);
    const auto inputs = builder.CreateVector(spec.inputs);
    const auto outputs = builder.CreateVector(spec.outputs);
    const auto program =
        build_bytes(builder, spec.program.data(),
                    spec.program.size() * sizeof(overtake_insn) - spec.program_bytes_cut);
    const auto weights = build_bytes(builder, spec.weights.data(), spec.weights.size());
    const auto profile_name = builder.CreateString("default");
    const auto profile =
        fbs::CreateProfile(builder, profile_name, spec.clock_khz, 256, 64, 32, 200, 1000);
    const auto name = builder.CreateString(spec.name);
    Offset<fbs::CorePlan> plan;
    if (spec.on_two_cores)
        plan = build_plan(builder, spec, profile);

    fbs::ModelBuilder model(builder);
    model.add_version(spec.version);
    model.add_isa_version(spec.isa_version);
    model.add_name(name);
    model.add_profile(profile);
    model.add_tensors(tensor_vector);
    model.add_inputs(inputs);
    model.add_outputs(outputs);
    model.add_segments(segment_vector);
    model.add_program(program);
    model.add_weights(weights);
    if (spec.on_two_cores)
        model.add_core_plan(plan);
    fbs::FinishModelBuffer(builder, model.Finish());
    const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    return {bytes, bytes + builder.GetSize()};
}

std::unique_ptr<fbs::ModelT> unpacked(const ModelSpec& spec) {
    const std::vector<std::byte> bytes = build(spec);
    return std::unique_ptr<fbs::ModelT>(fbs::GetModel(bytes.data())->UnPack());
}

std::shared_ptr<const Model> loaded(const fbs::ModelT& model) {
    flatbuffers::FlatBufferBuilder builder;
    fbs::FinishModelBuffer(builder, fbs::Model::Pack(builder, &model));
    const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    return Model::from_bytes({bytes.begin(), bytes.end()});
}

} // namespace overtake::test
