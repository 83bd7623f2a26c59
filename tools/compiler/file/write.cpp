// SPDX-License-Identifier: MIT
#include "compiler/file/write.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "compiler/cores/core_plan.hpp"
#include "compiler/file/core_plan_table.hpp"
#include "compiler/float/onednn.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/memory_plan.hpp"
#include "compiler/units/compile_units.hpp"
#include "model_generated.h"
#include "overtake_accel.h"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

// The limit for code, weights and constants in a FlatBuffer; names and reports of nodes come in
// addition.
constexpr std::uint64_t largest_file = FLATBUFFERS_MAX_BUFFER_SIZE / 8 * 7;

// The tensors that the file names: values that cross the border of a segment.
class TensorTable {
public:
    TensorTable(flatbuffers::FlatBufferBuilder& builder, const Graph& graph,
                const QuantisedGraph& quantised, const Normalisation& normalisation)
        : builder_(builder), graph_(graph), quantised_(quantised), normalisation_(normalisation),
          on_device_(device_values(graph)) {}

    // Returns the number of a value's tensor, which is made at the first use.
    std::uint32_t number(ValueId id) {
        const auto [entry, is_new] = numbers_.emplace(id, offsets_.size());
        if (is_new)
            offsets_.push_back(make(id));
        return entry->second;
    }

    std::vector<std::uint32_t> numbers(const std::vector<ValueId>& ids) {
        std::vector<std::uint32_t> result;
        for (ValueId id : ids)
            result.push_back(number(id));
        return result;
    }

    const std::vector<flatbuffers::Offset<fbs::Tensor>>& offsets() const { return offsets_; }

private:
    static fbs::DataType data_type(const Value& value) {
        switch (value.user_type) {
        case UserType::int8:
            return fbs::DataType::Int8;
        case UserType::uint8:
            return fbs::DataType::UInt8;
        case UserType::nv12:
            return fbs::DataType::Nv12;
        case UserType::float32:
            break;
        }
        return fbs::DataType::Float32;
    }

    static fbs::Colours colours(const Value& value) {
        if (!value.is_picture)
            return fbs::Colours::Unknown;
        if (value.picture_flags & OVERTAKE_FLAG_GRAY)
            return fbs::Colours::Gray;
        return value.picture_flags & OVERTAKE_FLAG_BGR ? fbs::Colours::Bgr : fbs::Colours::Rgb;
    }

    // Returns no vector, which adds nothing to a table, if none is wanted or if it would be empty.
    flatbuffers::Offset<flatbuffers::Vector<float>> vector_if(bool is_wanted,
                                                              const std::vector<float>& numbers) {
        if (!is_wanted || numbers.empty())
            return {};
        return builder_.CreateVector(numbers);
    }

    // Whether the input takes pictures that its user has to normalise.
    bool is_picture_to_normalise(ValueId id) const {
        const Value& value = graph_.values[id];
        const auto shape = picture_shape(value.shape);
        return shape && value.user_type == UserType::float32 &&
               std::ranges::find(graph_.inputs, id) != graph_.inputs.end() &&
               normalisation_.fits(shape->channels);
    }

    flatbuffers::Offset<fbs::Tensor> make(ValueId id) {
        const Value& value = graph_.values[id];
        const bool on_device = on_device_[id];
        const Place place = on_device ? dense_place(value) : Place{};
        std::vector<std::uint32_t> shape(value.shape.begin(), value.shape.end());
        if (shape.empty())
            shape = {1};
        if (value.user_type == UserType::nv12)
            shape = {1, 1, value.height * 3 / 2, value.width};
        const auto name = builder_.CreateString(value.name);
        const auto data = builder_.CreateVector(value.constant);
        const auto dimensions = builder_.CreateVector(shape);
        const bool normalises = is_picture_to_normalise(id);
        const auto mean = vector_if(normalises, normalisation_.mean),
                   scale = vector_if(normalises, normalisation_.scale);
        fbs::TensorBuilder tensor(builder_);
        tensor.add_name(name);
        tensor.add_shape(dimensions);
        tensor.add_data_type(data_type(value));
        tensor.add_bytes(tensor_bytes(value, on_device));
        if (on_device) {
            tensor.add_height(value.height);
            tensor.add_width(value.width);
            tensor.add_channels(value.channels);
            tensor.add_row_stride(place.row_stride);
            tensor.add_pixel_stride(place.pixel_stride);
            tensor.add_scale(quantised_.values[id].scale);
            tensor.add_zero_point(quantised_.values[id].zero_point);
            tensor.add_is_int16(value.is_int16);
            tensor.add_order(static_cast<fbs::Order>(value.order));
        }
        if (on_device && value.user_type == UserType::nv12) {
            tensor.add_height(value.height * 3 / 2);
            tensor.add_channels(1);
        }
        tensor.add_colours(colours(value));
        tensor.add_full_range((value.picture_flags & OVERTAKE_FLAG_FULL_RANGE) != 0);
        tensor.add_from_resizer(value.from_resizer);
        if (value.is_constant())
            tensor.add_data(data);
        tensor.add_pixel_mean(mean);
        tensor.add_pixel_scale(scale);
        if (std::ranges::find(graph_.outputs, id) != graph_.outputs.end()) {
            tensor.add_element_type(static_cast<fbs::ElementType>(value.element_type));
            tensor.add_is_scalar(value.shape.empty());
        }
        return tensor.Finish();
    }

    flatbuffers::FlatBufferBuilder& builder_;
    const Graph& graph_;
    const QuantisedGraph& quantised_;
    const Normalisation& normalisation_;
    const std::vector<bool> on_device_;
    std::map<ValueId, std::uint32_t> numbers_;
    std::vector<flatbuffers::Offset<fbs::Tensor>> offsets_;
};

flatbuffers::Offset<fbs::Segment> bpu_segment(flatbuffers::FlatBufferBuilder& builder,
                                              std::span<const FunctionCall> calls,
                                              const std::vector<IoRegion>& io,
                                              std::uint64_t scratch_bytes, TensorTable& tensors) {
    std::vector<fbs::Fc> fcs;
    for (const FunctionCall& fc : calls)
        fcs.emplace_back(fc.first_step, fc.step_count, fc.cycles);
    std::vector<fbs::Binding> bindings;
    for (std::size_t index = 0; index < io.size(); ++index)
        bindings.emplace_back(OVERTAKE_REGION_IO + static_cast<std::uint32_t>(index),
                              tensors.number(io[index].value), io[index].writable);
    const auto bpu = fbs::CreateBpuSegmentDirect(builder, &fcs, &bindings,
                                                 static_cast<std::uint32_t>(scratch_bytes));
    return fbs::CreateSegment(builder, bpu);
}

std::vector<flatbuffers::Offset<fbs::Attribute>>
attributes_of(flatbuffers::FlatBufferBuilder& builder, const op::Cpu& form) {
    std::vector<flatbuffers::Offset<fbs::Attribute>> attributes;
    if (form.custom)
        for (const OperatorAttribute& attribute : form.custom->attributes) {
            const auto strings = builder.CreateVectorOfStrings(attribute.strings);
            const auto name = builder.CreateString(attribute.name);
            const auto integers = builder.CreateVector(attribute.integers);
            const auto reals = builder.CreateVector(attribute.reals);
            const auto shape = builder.CreateVector(attribute.shape);
            attributes.push_back(
                fbs::CreateAttribute(builder, name, integers, reals, strings, shape));
        }
    return attributes;
}

// Returns the number of elements of the node's inputs and output.
std::uint64_t elements(const Graph& graph, const Node& node) {
    std::uint64_t count = graph.values[node.output].elements();
    for (const ValueId input : node.inputs)
        count += graph.values[input].elements();
    return count;
}

// Writes segments of the CPU; each of their operators is in the file once.
class CpuSegments {
public:
    CpuSegments(flatbuffers::FlatBufferBuilder& builder, const Graph& graph, const CpuRates& rates,
                TensorTable& tensors)
        : builder_(builder), graph_(graph), rates_(rates), tensors_(tensors) {}

    flatbuffers::Offset<fbs::Segment> of(const std::vector<std::size_t>& nodes) {
        std::vector<flatbuffers::Offset<fbs::CpuOp>> ops;
        double expected_us = 0;
        for (const std::size_t index : nodes) {
            const Node& node = graph_.nodes[index];
            if (!ops_.contains(index))
                ops_[index] = make(node);
            ops.push_back(ops_[index]);
            expected_us +=
                rates_.microseconds(multiply_accumulates(graph_, node), elements(graph_, node));
        }
        return fbs::CreateSegment(
            builder_, 0,
            fbs::CreateCpuSegmentDirect(builder_, &ops, CpuRates::nanoseconds(expected_us)));
    }

private:
    flatbuffers::Offset<fbs::CpuOp> make(const Node& node) {
        const auto inputs = tensors_.numbers(node.inputs);
        const auto outputs = tensors_.numbers({node.output});
        const auto& form = std::get<op::Cpu>(node.operation);
        const auto attributes = attributes_of(builder_, form);
        const bool has_axis = form.type == CpuOpType::softmax;
        return fbs::CreateCpuOpDirect(
            builder_, static_cast<fbs::CpuOpType>(form.type), node.name.c_str(), &inputs, &outputs,
            has_axis ? static_cast<int>(form.integers[0]) : -1, &form.integers, &form.reals,
            form.custom ? form.custom->domain.c_str() : nullptr,
            form.custom ? form.custom->type.c_str() : nullptr, &attributes);
    }

    flatbuffers::FlatBufferBuilder& builder_;
    const Graph& graph_;
    const CpuRates& rates_;
    TensorTable& tensors_;
    std::map<std::size_t, flatbuffers::Offset<fbs::CpuOp>> ops_; // by node
};

// The cost of one node's steps by the cycle model.
struct NodeCost {
    std::uint64_t bytes = 0;
    std::uint64_t cycles = 0;
};

std::uint64_t traffic(const overtake_insn& insn) {
    std::uint64_t bytes = ovt_insn_weights_bytes(&insn) + ovt_insn_params_bytes(&insn);
    for (const overtake_operand* operand : {&insn.out, &insn.in[0], &insn.in[1]})
        bytes += std::uint64_t{operand->height} * operand->width * operand->channels *
                 ovt_element_bytes(operand);
    return bytes;
}

std::vector<flatbuffers::Offset<fbs::NodeReport>>
node_reports(flatbuffers::FlatBufferBuilder& builder, const Graph& graph, const Program& program,
             const ModelFacts& facts) {
    std::vector<NodeCost> costs(graph.nodes.size());
    for (const Step& step : program.steps) {
        costs[step.node].bytes += traffic(step.insn);
        costs[step.node].cycles += ovt_insn_cycles(facts.profile, &step.insn);
    }
    std::vector<flatbuffers::Offset<fbs::NodeReport>> reports;
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
        const Node& node = graph.nodes[index];
        reports.push_back(fbs::CreateNodeReportDirect(
            builder, node.name.c_str(), node.onnx_type.c_str(), node.on_bpu(),
            multiply_accumulates(graph, node), costs[index].bytes, costs[index].cycles,
            facts.similarities[index].cosine, facts.similarities[index].error,
            facts.similarities[index].own_error));
    }
    return reports;
}

std::vector<fbs::FcShare> fc_shares(const Program& program, const ovt_profile& profile) {
    std::vector<fbs::FcShare> shares;
    for (std::uint32_t fc = 0; fc < program.fcs.size(); ++fc) {
        const FunctionCall& call = program.fcs[fc];
        std::map<std::size_t, fbs::FcShare> by_node; // nodes are in the order of execution
        for (std::uint32_t index = 0; index < call.step_count; ++index) {
            const Step& step = program.steps[call.first_step + index];
            const fbs::FcShare& share = by_node[step.node];
            by_node[step.node] = {fc, static_cast<std::uint32_t>(step.node), share.insn_count() + 1,
                                  share.cycles() + ovt_insn_cycles(&profile, &step.insn)};
        }
        for (const auto& [node, share] : by_node)
            shares.push_back(share);
    }
    return shares;
}

std::vector<flatbuffers::Offset<fbs::ScratchUse>>
scratch_uses(flatbuffers::FlatBufferBuilder& builder, const Graph& graph, const Program& program) {
    std::vector<flatbuffers::Offset<fbs::ScratchUse>> uses;
    for (const ProgramSegment& segment : program.segments)
        for (const ScratchUse& use : segment.scratch)
            uses.push_back(fbs::CreateScratchUseDirect(
                builder, graph.values[use.value].name.c_str(), use.offset, use.bytes,
                static_cast<std::uint32_t>(use.first_node),
                static_cast<std::uint32_t>(use.last_node)));
    return uses;
}

flatbuffers::Offset<fbs::UnitWork> unit_work(flatbuffers::FlatBufferBuilder& builder,
                                             const CompiledUnit& unit, const CompiledWork& work,
                                             CpuSegments& cpu_segments, TensorTable& tensors) {
    std::vector<flatbuffers::Offset<fbs::Segment>> segments;
    for (std::size_t index = 0; index < unit.segments.size(); ++index) {
        const UnitSegment& segment = unit.segments[index];
        segments.push_back(segment.on_bpu ? bpu_segment(builder, work.fcs[index], segment.io,
                                                        segment.scratch_bytes, tensors)
                                          : cpu_segments.of(segment.nodes));
    }
    return fbs::CreateUnitWorkDirect(builder, static_cast<std::uint32_t>(work.class_index),
                                     &segments);
}

std::vector<flatbuffers::Offset<fbs::Unit>> unit_tables(flatbuffers::FlatBufferBuilder& builder,
                                                        const CompiledUnits& units,
                                                        CpuSegments& cpu_segments,
                                                        TensorTable& tensors) {
    std::vector<flatbuffers::Offset<fbs::Unit>> tables;
    for (const CompiledUnit& unit : units.units) {
        std::vector<flatbuffers::Offset<fbs::UnitWork>> works;
        for (const CompiledWork& work : unit.work)
            works.push_back(unit_work(builder, unit, work, cpu_segments, tensors));
        tables.push_back(fbs::CreateUnitDirect(builder, unit.after, unit.operations, &works));
    }
    return tables;
}

std::vector<flatbuffers::Offset<fbs::UnitClass>>
class_tables(flatbuffers::FlatBufferBuilder& builder, const CompiledUnits& units) {
    std::vector<flatbuffers::Offset<fbs::UnitClass>> tables;
    for (const ProcessorClass& of : units.classes) {
        flatbuffers::Offset<fbs::Profile> profile;
        if (of.profile)
            profile = profile_table(builder, *of.profile, of.cpu);
        tables.push_back(fbs::CreateUnitClassDirect(builder, of.name.c_str(), profile));
    }
    return tables;
}

flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>
aligned_bytes(flatbuffers::FlatBufferBuilder& builder, const void* data, std::size_t bytes) {
    builder.ForceVectorAlignment(bytes, sizeof(std::uint8_t), 64);
    return builder.CreateVector(static_cast<const std::uint8_t*>(data), bytes);
}

std::vector<std::size_t> numbers(std::size_t first, std::size_t count) {
    std::vector<std::size_t> result(count);
    std::iota(result.begin(), result.end(), first);
    return result;
}

// Writes the segments that have operators to run.  Sets `of_program` to the number in the file of
// each segment of the program.
std::vector<flatbuffers::Offset<fbs::Segment>>
segment_tables(flatbuffers::FlatBufferBuilder& builder, const Program& program,
               CpuSegments& cpu_segments, TensorTable& tensors,
               std::vector<std::uint32_t>& of_program) {
    std::vector<flatbuffers::Offset<fbs::Segment>> segments;
    for (const ProgramSegment& segment : program.segments) {
        of_program.push_back(static_cast<std::uint32_t>(segments.size()));
        if (!segment.on_bpu)
            segments.push_back(cpu_segments.of(numbers(segment.first_node, segment.node_count)));
        else if (segment.fc_count > 0) // a segment of only views has no job
            segments.push_back(bpu_segment(
                builder, std::span(program.fcs).subspan(segment.first_fc, segment.fc_count),
                segment.io, segment.scratch_bytes, tensors));
    }
    return segments;
}

// Checks the size of code, weights and constants of the CPU: these make a file large.
void check_file(const Graph& graph, const Program& program, std::size_t instructions) {
    const std::uint64_t weights = program.constants.bytes().size();
    check_buffer(graph.name + ": its weights", weights);
    std::uint64_t bytes = weights + instructions * sizeof(overtake_insn);
    for (const Value& value : graph.values)
        bytes += value.constant.size() * sizeof(float);
    check_file_bytes(graph.name, bytes);
}

} // namespace

/// Returns 1.1, which older devices run, unless the instructions use tensors of 16 bits.
std::uint32_t instruction_set_of(std::span<const overtake_insn> instructions) {
    const auto is_wide = [](const overtake_insn& insn) {
        return insn.out.type != 0 || insn.in[0].type != 0 || insn.in[1].type != 0;
    };
    return std::ranges::any_of(instructions, is_wide) ? OVERTAKE_ISA_VERSION_INT16
                                                      : OVERTAKE_ISA_VERSION_INT16 - 1;
}

std::vector<overtake_insn> instructions_of(const Program& program) {
    std::vector<overtake_insn> instructions;
    for (const Step& step : program.steps)
        instructions.push_back(step.insn);
    return instructions;
}

void check_buffer(const std::string& what, std::uint64_t bytes) {
    if (bytes > OVERTAKE_MAX_BUFFER_BYTES)
        throw CompileError(what, "takes " + std::to_string(bytes >> 20) + " MiB, of " +
                                     std::to_string(OVERTAKE_MAX_BUFFER_BYTES >> 20) +
                                     " that are possible; divide the model");
}

void check_file_bytes(const std::string& what, std::uint64_t bytes) {
    if (bytes > largest_file)
        throw CompileError(what, "makes a file of " + std::to_string(bytes >> 20) + " MiB, of " +
                                     std::to_string(largest_file >> 20) +
                                     " that are possible; divide it");
}

void check_sizes(const Graph& graph) {
    const std::vector<bool> on_device = device_values(graph);
    std::vector<bool> in_file(graph.values.size());
    for (const auto* ids : {&graph.inputs, &graph.outputs})
        for (ValueId id : *ids)
            in_file[id] = true;
    for (const Node& node : graph.nodes)
        if (!node.on_bpu()) {
            in_file[node.output] = true;
            for (ValueId input : node.inputs)
                in_file[input] = true;
        }
    std::uint64_t total = 0;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        if (!in_file[id])
            continue;
        const std::string what = "tensor '" + graph.values[id].name + "'";
        const std::uint64_t bytes = tensor_bytes(graph.values[id], on_device[id]);
        check_buffer(what, bytes);
        total += bytes;
        if (total > OVERTAKE_MAX_CLIENT_BYTES)
            throw CompileError(what, "and others together take more than the " +
                                         std::to_string(OVERTAKE_MAX_CLIENT_BYTES >> 20) +
                                         " MiB of a request; divide the model");
    }
}

std::vector<std::uint8_t> serialise(const Graph& graph, const QuantisedGraph& quantised,
                                    const Program& program, const ModelFacts& facts) {
    const std::vector<overtake_insn> instructions =
        facts.instructions.empty() ? instructions_of(program) : facts.instructions;
    check_file(graph, program, instructions.size());
    flatbuffers::FlatBufferBuilder builder(program.constants.bytes().size() + (1 << 16));
    TensorTable tensors(builder, graph, quantised, facts.normalisation);
    CpuSegments cpu_segments(builder, graph, facts.cpu, tensors);
    const auto inputs = tensors.numbers(graph.inputs);
    const auto outputs = tensors.numbers(graph.outputs);
    std::vector<std::uint32_t> segment_numbers;
    const auto segments = segment_tables(builder, program, cpu_segments, tensors, segment_numbers);
    const std::size_t segment_tensors = tensors.offsets().size();
    std::vector<flatbuffers::Offset<fbs::UnitClass>> classes;
    std::vector<flatbuffers::Offset<fbs::Unit>> units;
    if (facts.units) {
        classes = class_tables(builder, *facts.units);
        units = unit_tables(builder, *facts.units, cpu_segments, tensors);
    }

    const auto name = builder.CreateString(graph.name);
    const auto producer =
        builder.CreateString("overtake " OVERTAKE_VERSION ", " + onednn_version());
    const auto profile = profile_table(builder, *facts.profile, facts.cpu);
    const std::span all_tensors(tensors.offsets());
    const auto tensor_vector = builder.CreateVector(all_tensors.data(), segment_tensors);
    const auto input_vector = builder.CreateVector(inputs);
    const auto output_vector = builder.CreateVector(outputs);
    const auto segment_vector = builder.CreateVector(segments);
    const auto nodes = builder.CreateVector(node_reports(builder, graph, program, facts));
    const auto scratch = builder.CreateVector(scratch_uses(builder, graph, program));
    const auto shares = builder.CreateVectorOfStructs(fc_shares(program, *facts.profile));
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::UnitClass>>> class_vector;
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Unit>>> unit_vector;
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fbs::Tensor>>> unit_tensors;
    if (facts.units) {
        class_vector = builder.CreateVector(classes);
        unit_vector = builder.CreateVector(units);
        const auto own = all_tensors.subspan(segment_tensors);
        unit_tensors = builder.CreateVector(own.data(), own.size());
    }
    flatbuffers::Offset<fbs::CorePlan> core_plan;
    if (facts.core_plan)
        core_plan = core_plan_table(builder, *facts.core_plan, segment_numbers);
    const auto code =
        aligned_bytes(builder, instructions.data(), instructions.size() * sizeof(overtake_insn));
    const auto weights =
        aligned_bytes(builder, program.constants.bytes().data(), program.constants.bytes().size());
    fbs::ModelBuilder model(builder);
    const std::uint32_t instruction_set = instruction_set_of(instructions);
    model.add_version(instruction_set == OVERTAKE_ISA_VERSION_INT16 ? model_file_version_int16
                                                                    : model_file_version);
    model.add_isa_version(instruction_set);
    model.add_name(name);
    model.add_producer(producer);
    model.add_profile(profile);
    model.add_max_time_per_fc_us(facts.max_time_per_fc_us);
    model.add_tensors(tensor_vector);
    model.add_inputs(input_vector);
    model.add_outputs(output_vector);
    model.add_segments(segment_vector);
    model.add_program(code);
    model.add_weights(weights);
    model.add_nodes(nodes);
    model.add_scratch(scratch);
    model.add_fc_shares(shares);
    model.add_calibration_samples(facts.samples);
    model.add_compared_samples(facts.compared);
    model.add_noise(facts.noise);
    if (facts.units) {
        model.add_unit_classes(class_vector);
        model.add_units(unit_vector);
        model.add_unit_tensors(unit_tensors);
    }
    if (facts.core_plan)
        model.add_core_plan(core_plan);
    fbs::FinishModelBuffer(builder, model.Finish());
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace overtake::compiler
