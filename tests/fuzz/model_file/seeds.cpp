// SPDX-License-Identifier: MIT
#include <initializer_list>

#include "overtake/model.hpp"
#include "overtake_isa.h"
#include "run_model.hpp"

namespace overtake::fuzz {

namespace {

using Shape = std::vector<std::uint32_t>;

/// Builds a model, part by part.
class Builder {
public:
    Builder() {
        model_.version = model_file_version;
        model_.isa_version = OVERTAKE_ISA_VERSION;
        model_.name = "seed";
        model_.profile = std::make_unique<fbs::ProfileT>();
        model_.profile->name = "default";
        model_.profile->clock_khz = 1'000'000;
    }

    std::uint32_t host(const Shape& shape, std::vector<float> data = {}) {
        auto tensor = std::make_unique<fbs::TensorT>();
        tensor->name = "t" + std::to_string(model_.tensors.size());
        tensor->shape = shape;
        tensor->bytes = sizeof(float);
        for (const std::uint32_t size : shape)
            tensor->bytes *= size;
        tensor->data = std::move(data);
        return add(std::move(tensor));
    }

    std::uint32_t device(std::uint32_t height, std::uint32_t width, std::uint32_t channels) {
        auto tensor = std::make_unique<fbs::TensorT>();
        tensor->name = "d" + std::to_string(model_.tensors.size());
        tensor->shape = {1, channels, height, width};
        tensor->height = height;
        tensor->width = width;
        tensor->channels = channels;
        tensor->pixel_stride = (channels + 7) / 8 * 8;
        tensor->row_stride = width * tensor->pixel_stride;
        tensor->bytes = std::uint64_t{height} * tensor->row_stride;
        tensor->scale = 0.5f;
        return add(std::move(tensor));
    }

    std::uint32_t input(std::uint32_t number) {
        model_.inputs.push_back(number);
        return number;
    }

    /// Adds an operator in a segment of the CPU of its own.
    std::uint32_t op(fbs::CpuOpType type, std::vector<std::uint32_t> inputs, std::uint32_t output,
                     std::vector<std::int64_t> integers, std::vector<float> reals = {}) {
        auto op = std::make_unique<fbs::CpuOpT>();
        op->type = type;
        op->name = fbs::EnumNameCpuOpType(type);
        op->inputs = std::move(inputs);
        op->outputs = {output};
        op->integers = std::move(integers);
        op->reals = std::move(reals);
        auto segment = std::make_unique<fbs::SegmentT>();
        segment->cpu = std::make_unique<fbs::CpuSegmentT>();
        segment->cpu->ops.push_back(std::move(op));
        model_.segments.push_back(std::move(segment));
        return output;
    }

    /// Adds a segment of the device that copies a tensor to one of the same shape, row by row.
    std::uint32_t copy(std::uint32_t from, std::uint32_t to) {
        const fbs::TensorT& tensor = *model_.tensors[from];
        const auto first =
            static_cast<std::uint32_t>(model_.program.size() / sizeof(overtake_insn));
        auto segment = std::make_unique<fbs::SegmentT>();
        segment->bpu = std::make_unique<fbs::BpuSegmentT>();
        segment->bpu->bindings = {fbs::Binding(OVERTAKE_REGION_IO, from, false),
                                  fbs::Binding(OVERTAKE_REGION_IO + 1, to, true)};
        for (std::uint32_t row = 0; row < tensor.height; row++) {
            overtake_insn insn{};
            insn.opcode = OVERTAKE_OP_COPY;
            insn.in[0].region = OVERTAKE_REGION_IO;
            insn.in[0].offset = std::uint64_t{row} * tensor.row_stride;
            insn.in[0].height = 1;
            insn.in[0].width = tensor.width;
            insn.in[0].channels = tensor.channels;
            insn.in[0].row_stride = tensor.row_stride;
            insn.in[0].pixel_stride = tensor.pixel_stride;
            insn.out = insn.in[0];
            insn.out.region = OVERTAKE_REGION_IO + 1;
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(&insn);
            model_.program.insert(model_.program.end(), bytes, bytes + sizeof(insn));
            segment->bpu->fcs.push_back(fbs::Fc(first + row, 1, 100));
        }
        model_.segments.push_back(std::move(segment));
        return to;
    }

    fbs::ModelT finish(std::uint32_t output) {
        model_.outputs = {output};
        return std::move(model_);
    }

private:
    std::uint32_t add(std::unique_ptr<fbs::TensorT> tensor) {
        model_.tensors.push_back(std::move(tensor));
        return static_cast<std::uint32_t>(model_.tensors.size() - 1);
    }

    fbs::ModelT model_;
};

/// Returns a model of one operator, whose inputs are inputs of the model and then a constant.
fbs::ModelT one_op(fbs::CpuOpType type, std::initializer_list<Shape> inputs, const Shape& output,
                   std::vector<std::int64_t> integers, std::vector<float> reals = {},
                   std::vector<float> constant = {}) {
    Builder builder;
    std::vector<std::uint32_t> numbers;
    for (const Shape& shape : inputs) {
        const bool is_last = numbers.size() + 1 == inputs.size();
        numbers.push_back(is_last && !constant.empty() ? builder.host(shape, constant)
                                                       : builder.input(builder.host(shape)));
    }
    const std::uint32_t made = builder.host(output);
    return builder.finish(
        builder.op(type, std::move(numbers), made, std::move(integers), std::move(reals)));
}

fbs::ModelT device_and_host() {
    Builder builder;
    const std::uint32_t input = builder.input(builder.device(4, 5, 3));
    const std::uint32_t copied = builder.copy(input, builder.device(4, 5, 3));
    const std::uint32_t host =
        builder.op(fbs::CpuOpType::Softmax, {copied}, builder.host({1, 3, 4, 5}), {1});
    const std::uint32_t back =
        builder.op(fbs::CpuOpType::Unary, {host}, builder.device(4, 5, 3), {25});
    return builder.finish(builder.copy(back, builder.device(4, 5, 3)));
}

/// Adds a unit for each segment, on cores and workers or on workers alone.  The first unit's output
/// is a tensor of units.
fbs::ModelT with_units(fbs::ModelT model) {
    for (const char* name : {"npu", "cpu"}) {
        model.unit_classes.push_back(std::make_unique<fbs::UnitClassT>());
        model.unit_classes.back()->name = name;
    }
    model.unit_classes[0]->profile = std::make_unique<fbs::ProfileT>(*model.profile);
    for (const auto& segment : model.segments) {
        auto unit = std::make_unique<fbs::UnitT>();
        unit->after = model.units.empty() ? 0 : 1ull << (model.units.size() - 1);
        for (std::uint32_t of_class = segment->bpu ? 0 : 1; of_class < 2; of_class++) {
            auto work = std::make_unique<fbs::UnitWorkT>();
            work->class_index = of_class;
            work->segments.push_back(std::make_unique<fbs::SegmentT>(*segment));
            unit->work.push_back(std::move(work));
        }
        model.units.push_back(std::move(unit));
    }
    const auto between = static_cast<std::uint32_t>(model.tensors.size());
    for (auto& work : model.units[0]->work) {
        fbs::Binding& output = work->segments[0]->bpu->bindings[1];
        if (model.unit_tensors.empty())
            model.unit_tensors.push_back(
                std::make_unique<fbs::TensorT>(*model.tensors[output.tensor()]));
        output = fbs::Binding(output.region(), between, true);
    }
    model.units[1]->work[0]->segments[0]->cpu->ops[0]->inputs = {between};
    return model;
}

/// Adds a plan for two cores: core 2 waits for core 1, and then runs the same once more.
fbs::ModelT with_core_plan(fbs::ModelT model) {
    model.core_plan = std::make_unique<fbs::CorePlanT>();
    model.core_plan->core_count = 2;
    model.core_plan->profiles.push_back(std::make_unique<fbs::ProfileT>(*model.profile));
    for (std::uint32_t number = 0; number < model.segments.size(); number++) {
        if (!model.segments[number]->bpu)
            continue;
        auto segment = std::make_unique<fbs::CoreSegmentT>();
        segment->segment = number;
        segment->scratch_bytes = model.segments[number]->bpu->scratch_bytes;
        for (const std::uint32_t core : {0u, 1u}) {
            auto part = std::make_unique<fbs::CorePartT>();
            part->core = core;
            part->fcs = model.segments[number]->bpu->fcs;
            part->stages.assign(part->fcs.size(), core);
            segment->parts.push_back(std::move(part));
        }
        model.core_plan->segments.push_back(std::move(segment));
    }
    return model;
}

fbs::ModelT picture() {
    Builder builder;
    const std::uint32_t camera = builder.input(builder.device(6, 8, 1));
    const std::uint32_t luma =
        builder.op(fbs::CpuOpType::Dequantize, {camera}, builder.device(6, 8, 1), {});
    const std::uint32_t copied = builder.copy(luma, builder.device(6, 8, 1));
    fbs::ModelT model = builder.finish(
        builder.op(fbs::CpuOpType::Dequantize, {copied}, builder.host({1, 1, 6, 8}), {}));
    fbs::TensorT& tensor = *model.tensors[camera];
    tensor.data_type = fbs::DataType::Nv12;
    tensor.pixel_stride = 1;
    tensor.row_stride = 8;
    tensor.bytes = 48;
    return model;
}

} // namespace

std::vector<fbs::ModelT> seed_models() {
    using Type = fbs::CpuOpType;
    const Shape image{1, 4, 5, 6};
    std::vector<fbs::ModelT> models;
    const auto add = [&](fbs::ModelT model) { models.push_back(std::move(model)); };
    add(device_and_host());
    add(with_units(device_and_host()));
    add(with_core_plan(device_and_host()));
    add(picture());
    add(one_op(Type::Softmax, {image}, image, {2}));
    add(one_op(Type::LogSoftmax, {image}, image, {1}));
    add(one_op(Type::Dequantize, {image}, {4, 30}, {}));
    add(one_op(Type::Unary, {image}, image, {26}, {-1, 1}));
    add(one_op(Type::Binary, {image, {4, 1, 1}}, image, {2}));
    add(one_op(Type::Select, {{5, 1}, image, {6}}, image, {}));
    add(one_op(Type::View, {image}, {6, 5, 2}, {1, 1, 6, 60}));
    add(one_op(Type::View, {image}, {4, 3}, {119, -30, -2}));
    add(one_op(Type::Gather, {image, {3}}, {1, 3, 5, 6}, {1}));
    add(one_op(Type::GatherElements, {{4, 5}, {4, 2}}, {4, 2}, {1}));
    add(one_op(Type::ScatterElements, {{4, 5}, {3, 5}, {3, 5}}, {4, 5}, {0, 1}));
    add(one_op(Type::CumulativeSum, {image}, image, {2, 1, 0}));
    for (std::int64_t mode = 0; mode < 3; mode++)
        add(one_op(Type::GridSample, {image, {1, 3, 2, 2}}, {1, 4, 3, 2}, {mode, mode, 1}));
    add(one_op(Type::RoiAlign, {image, {3, 4}, {3}}, {3, 4, 2, 2}, {0, 1, 0}, {0.5f}));
    add(one_op(Type::RoiAlign, {image, {3, 4}, {3}}, {3, 4, 2, 2}, {1, 0, 2}, {1}));
    add(one_op(Type::Pool, {image}, {1, 4, 5, 6}, {5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
    add(one_op(Type::Recurrence, {{3, 2, 4}, {1, 5, 4}, {1, 5, 5}}, {4, 1, 2, 5},
               {0, 1, 0, 0, 0, 8}, {0, 0, 0}));
    add(one_op(Type::Recurrence, {{3, 2, 4}, {2, 9, 4}, {2, 9, 3}, {2, 18}, {2}, {2, 2, 3}},
               {4, 2, 2, 3}, {1, 2, 7, 0, 0, 9, 8, 9, 8}, {0.5f, 0, 0, 0, 0, 0, 0, 0, 0}));
    add(one_op(Type::Recurrence,
               {{3, 2, 4}, {1, 12, 4}, {1, 12, 3}, {1, 24}, {1, 2, 3}, {1, 2, 3}, {1, 9}},
               {5, 1, 2, 3}, {2, 0, 29, 0, 1, 9, 8, 8}, {0, 0, 0, 0, 0, 0, 0}));
    add(one_op(Type::Concat, {image, {1, 2, 5, 6}}, {1, 6, 5, 6}, {1}));
    for (std::int64_t mode = 0; mode < 4; mode++)
        add(one_op(Type::Pad, {{4, 5}}, {7, 7}, {mode, 2, -1}, {0.5f}));
    add(one_op(Type::Interpolate, {{2, 3, 2}}, {2, 4, 2}, {1, 2, 0, 1, 0, 1, 1, 2, 1, 2},
               {1, 0, 0.5f, 0.5f, 1, 0, 0, 1}));
    add(one_op(Type::Normalize, {image, {30}, {30}}, image, {2}, {1e-5f}));
    for (const std::int64_t function : {1, 2, 9})
        add(one_op(Type::Reduce, {image}, {1, 4, 1, 1}, {function, 2, 3}));
    add(one_op(Type::Reduce, {image}, {1, 4, 6}, {11, 2}));
    add(one_op(Type::TopK, {{3, 8}}, {3, 4}, {1, 1, 0}));
    add(one_op(Type::TopK, {{3, 8}}, {2, 8}, {0, 0, 1}));
    add(one_op(Type::NonMaxSuppression, {{1, 6, 4}, {1, 2, 6}}, {8, 3}, {0, 3}, {0.5f, 0}));
    add(one_op(Type::MatrixProduct, {{2, 1, 3, 4}, {5, 4, 2}}, {2, 5, 3, 2}, {}));
    const std::vector<std::int64_t> conv{0, 2, 1, 2, 1, 1, 1, 0},
        transposed{1, 1, 2, 2, 1, 1, 0, 1};
    add(one_op(Type::Convolution, {image, {6, 2, 3, 2}}, {1, 6, 5, 3}, conv));
    add(one_op(Type::Convolution, {image, {4, 3, 2, 3}}, {1, 3, 10, 12}, transposed));
    add(one_op(Type::Convolution, {image, {6, 2, 3, 2}, {6}}, {1, 6, 5, 3}, conv, {},
               {1, 2, 3, 4, 5, 6}));
    for (std::int64_t kind = 0; kind < 4; kind++)
        add(one_op(Type::Pool, {image}, {1, 4, 3, 3}, {kind, 3, 2, 2, 2, 1, 1, 1, 0, 1, 1}));
    return models;
}

namespace {

std::vector<std::uint8_t> finish(flatbuffers::FlatBufferBuilder& builder) {
    const std::uint8_t* bytes = builder.GetBufferPointer();
    return {bytes, bytes + builder.GetSize()};
}

} // namespace

std::vector<std::uint8_t> pack(const fbs::ModelPackT& models) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::ModelPack::Pack(builder, &models), pack_identifier);
    return finish(builder);
}

std::vector<std::uint8_t> pack(const fbs::ModelT& model) {
    flatbuffers::FlatBufferBuilder builder;
    fbs::FinishModelBuffer(builder, fbs::Model::Pack(builder, &model));
    return finish(builder);
}

std::vector<std::uint8_t> seed_pack() {
    fbs::ModelPackT models;
    const std::vector<fbs::ModelT> seeds = seed_models();
    for (std::size_t i = 0; i < 2; i++) {
        models.models.push_back(std::make_unique<fbs::ModelT>(seeds[i]));
        models.models.back()->weights.clear();
    }
    models.weights = {1, 2, 3, 4};
    return pack(models);
}

} // namespace overtake::fuzz
