// SPDX-License-Identifier: MIT
#include "write.hpp"

#include <map>

#include "model_generated.h"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

constexpr std::uint32_t format_version = 1u << 16;

// Tensors that the file names: what crosses the border of a segment.
class TensorTable {
public:
    TensorTable(flatbuffers::FlatBufferBuilder& builder, const Graph& graph,
                const QuantisedGraph& quantised, const Program& program)
        : builder_(builder), graph_(graph), quantised_(quantised), program_(program) {}

    // The number of a value's tensor; made at the first use.
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

    flatbuffers::Offset<fbs::Tensor> make(ValueId id) {
        const Value& value = graph_.values[id];
        const Place& place = program_.places[id];
        const bool on_device = place.bytes > 0;
        std::vector<std::uint32_t> shape(value.shape.begin(), value.shape.end());
        if (value.user_type == UserType::nv12)
            shape = {1, 1, value.height * 3 / 2, value.width};
        const auto name = builder_.CreateString(value.name);
        const auto dimensions = builder_.CreateVector(shape);
        fbs::TensorBuilder tensor(builder_);
        tensor.add_name(name);
        tensor.add_shape(dimensions);
        tensor.add_data_type(data_type(value));
        tensor.add_bytes(on_device ? place.bytes : value.elements() * sizeof(float));
        if (on_device) {
            tensor.add_height(value.height);
            tensor.add_width(value.width);
            tensor.add_channels(value.channels);
            tensor.add_row_stride(place.row_stride);
            tensor.add_pixel_stride(place.pixel_stride);
            tensor.add_scale(quantised_.values[id].scale);
            tensor.add_zero_point(quantised_.values[id].zero_point);
        }
        if (on_device && value.user_type == UserType::nv12) {
            tensor.add_height(value.height * 3 / 2);
            tensor.add_channels(1);
        }
        return tensor.Finish();
    }

    flatbuffers::FlatBufferBuilder& builder_;
    const Graph& graph_;
    const QuantisedGraph& quantised_;
    const Program& program_;
    std::map<ValueId, std::uint32_t> numbers_;
    std::vector<flatbuffers::Offset<fbs::Tensor>> offsets_;
};

flatbuffers::Offset<fbs::Segment> bpu_segment(flatbuffers::FlatBufferBuilder& builder,
                                              const Program& program, TensorTable& tensors) {
    std::vector<fbs::Fc> fcs;
    for (const FunctionCall& fc : program.fcs)
        fcs.emplace_back(fc.first_step, fc.step_count, fc.cycles);
    std::vector<fbs::Binding> bindings;
    for (std::size_t index = 0; index < program.io.size(); ++index)
        bindings.emplace_back(OVERTAKE_REGION_IO + static_cast<std::uint32_t>(index),
                              tensors.number(program.io[index].value), program.io[index].writable);
    const auto segment = fbs::CreateBpuSegmentDirect(
        builder, &fcs, &bindings, static_cast<std::uint32_t>(program.scratch_bytes));
    return fbs::CreateSegment(builder, segment);
}

flatbuffers::Offset<fbs::Segment> cpu_segment(flatbuffers::FlatBufferBuilder& builder,
                                              const Graph& graph, TensorTable& tensors) {
    std::vector<flatbuffers::Offset<fbs::CpuOp>> ops;
    for (const Node& node : graph.nodes) {
        if (node.op != Operator::softmax)
            continue;
        const auto inputs = tensors.numbers(node.inputs);
        const auto outputs = tensors.numbers({node.output});
        ops.push_back(fbs::CreateCpuOpDirect(builder, fbs::CpuOpType::Softmax, node.name.c_str(),
                                             &inputs, &outputs, node.axis));
    }
    return fbs::CreateSegment(builder, 0, fbs::CreateCpuSegmentDirect(builder, &ops));
}

// What the cycle model says of one node's steps.
struct NodeCost {
    std::uint64_t bytes = 0;
    std::uint64_t cycles = 0;
};

std::uint64_t traffic(const overtake_insn& insn) {
    std::uint64_t bytes = ovt_insn_weights_bytes(&insn) + ovt_insn_params_bytes(&insn);
    for (const overtake_operand* operand : {&insn.out, &insn.in[0], &insn.in[1]})
        bytes += std::uint64_t{operand->height} * operand->width * operand->channels;
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
            builder, node.name.c_str(), node.onnx_type.c_str(), node.op != Operator::softmax,
            multiply_accumulates(graph, node), costs[index].bytes, costs[index].cycles,
            facts.cosines[index]));
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
    for (const ScratchUse& use : program.scratch)
        uses.push_back(fbs::CreateScratchUseDirect(
            builder, graph.values[use.value].name.c_str(), use.offset, use.bytes,
            static_cast<std::uint32_t>(use.first_node), static_cast<std::uint32_t>(use.last_node)));
    return uses;
}

flatbuffers::Offset<fbs::Profile> profile_table(flatbuffers::FlatBufferBuilder& builder,
                                                const ovt_profile& profile) {
    return fbs::CreateProfileDirect(
        builder, profile.name, profile.clock_khz, profile.macs_per_cycle, profile.vector_per_cycle,
        profile.bytes_per_cycle, profile.insn_overhead_cycles, profile.fc_overhead_cycles);
}

flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>
aligned_bytes(flatbuffers::FlatBufferBuilder& builder, const void* data, std::size_t bytes) {
    builder.ForceVectorAlignment(bytes, sizeof(std::uint8_t), 64);
    return builder.CreateVector(static_cast<const std::uint8_t*>(data), bytes);
}

} // namespace

std::vector<std::uint8_t> serialise(const Graph& graph, const QuantisedGraph& quantised,
                                    const Program& program, const ModelFacts& facts) {
    flatbuffers::FlatBufferBuilder builder(program.constants.bytes().size() + (1 << 16));
    TensorTable tensors(builder, graph, quantised, program);
    const auto inputs = tensors.numbers(graph.inputs);
    const auto outputs = tensors.numbers(graph.outputs);
    std::vector<flatbuffers::Offset<fbs::Segment>> segments;
    if (!program.steps.empty())
        segments.push_back(bpu_segment(builder, program, tensors));
    if (program.steps.size() == 0 || std::ranges::any_of(graph.nodes, [](const Node& node) {
            return node.op == Operator::softmax;
        }))
        segments.push_back(cpu_segment(builder, graph, tensors));
    std::vector<overtake_insn> instructions;
    for (const Step& step : program.steps)
        instructions.push_back(step.insn);

    const auto name = builder.CreateString(graph.name);
    const auto producer = builder.CreateString("overtake " OVERTAKE_VERSION);
    const auto profile = profile_table(builder, *facts.profile);
    const auto tensor_vector = builder.CreateVector(tensors.offsets());
    const auto input_vector = builder.CreateVector(inputs);
    const auto output_vector = builder.CreateVector(outputs);
    const auto segment_vector = builder.CreateVector(segments);
    const auto nodes = builder.CreateVector(node_reports(builder, graph, program, facts));
    const auto scratch = builder.CreateVector(scratch_uses(builder, graph, program));
    const auto shares = builder.CreateVectorOfStructs(fc_shares(program, *facts.profile));
    const auto code =
        aligned_bytes(builder, instructions.data(), instructions.size() * sizeof(overtake_insn));
    const auto weights =
        aligned_bytes(builder, program.constants.bytes().data(), program.constants.bytes().size());
    fbs::ModelBuilder model(builder);
    model.add_version(format_version);
    model.add_isa_version(OVERTAKE_ISA_VERSION);
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
    fbs::FinishModelBuffer(builder, model.Finish());
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace overtake::compiler
