// SPDX-License-Identifier: MIT
#include "compiler/lower/lower.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/inputs/nv12.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/cut.hpp"
#include "compiler/lower/memory_plan.hpp"
#include "compiler/lower/pack_weights.hpp"
#include "compiler/passes/order_segments.hpp"

namespace overtake::compiler {
namespace {

class Lowering {
public:
    Lowering(const Graph& graph, const QuantisedGraph& quantised)
        : graph_(graph), quantised_(quantised) {}

    Program run() {
        for (const NodeRange& range : segments_of(graph_)) {
            ProgramSegment segment;
            segment.on_bpu = range.on_bpu;
            segment.first_node = range.first;
            segment.node_count = range.count;
            if (range.on_bpu)
                lower_segment(segment);
            program_.segments.push_back(std::move(segment));
        }
        return std::move(program_);
    }

private:
    void lower_segment(ProgramSegment& segment) {
        place(graph_, segment);
        place_constants(segment);
        places_ = &segment.places;
        segment.first_step = program_.steps.size();
        for (std::size_t index = segment.first_node;
             index < segment.first_node + segment.node_count; ++index) {
            const Node& node = graph_.nodes[index];
            if (node.op == Operator::concat)
                join(index);
            else if (node.op == Operator::slice)
                cut_out(index);
            else if (node.op == Operator::reshape)
                reshape(index);
            else if (node.op == Operator::permute)
                permute(index);
            else if (node.op == Operator::pad && pads_channels(node))
                pad_by_copying(index);
            else
                program_.steps.push_back({instruction(index), index});
        }
        segment.step_count = program_.steps.size() - segment.first_step;
    }

    overtake_operand operand(ValueId id) const { return operand_at(id, (*places_)[id]); }

    overtake_operand operand_at(ValueId id, const Place& place) const {
        const Value& value = graph_.values[id];
        overtake_operand result{};
        result.region = place.region;
        result.zero_point = quantised_.values[id].zero_point;
        result.offset = place.offset;
        result.height = value.height;
        result.width = value.width;
        result.channels = value.channels;
        result.row_stride = place.row_stride;
        result.pixel_stride = place.pixel_stride;
        return result;
    }

    // The elements first + n * step of an operand, count of them by axis.
    static overtake_operand part(overtake_operand whole, const std::array<Stretch, 3>& stretches,
                                 const Value& value) {
        const auto& [channels, rows, columns] = stretches;
        whole.offset += channels.first + std::uint64_t{rows.first} * whole.row_stride +
                        std::uint64_t{columns.first} * whole.pixel_stride;
        whole.channels = value.channels;
        whole.height = value.height;
        whole.width = value.width;
        whole.row_stride *= rows.step;
        whole.pixel_stride *= columns.step;
        return whole;
    }

    static bool is_same_place(const overtake_operand& a, const overtake_operand& b) {
        return a.region == b.region && a.offset == b.offset;
    }

    void copy(const overtake_operand& from, const overtake_operand& to, std::size_t index) {
        overtake_insn insn{};
        insn.opcode = OVERTAKE_OP_COPY;
        insn.in[0] = from;
        insn.out = to;
        program_.steps.push_back({insn, index});
    }

    // Copies into a concat's output what was not written there in the first place.
    void join(std::size_t index) {
        const Node& node = graph_.nodes[index];
        std::array<Stretch, 3> stretches;
        for (ValueId input : node.inputs) {
            const Value& value = graph_.values[input];
            const overtake_operand to = part(operand(node.output), stretches, value);
            if (!is_same_place(operand(input), to))
                copy(operand(input), to, index);
            const std::uint32_t sizes[3] = {value.channels, value.height, value.width};
            stretches[node.device_axis].first += sizes[node.device_axis];
        }
    }

    // Copies a slice that is no view.  Where its last stretched pixel would leave a row, it comes
    // column by column.
    void cut_out(std::size_t index) {
        const Node& node = graph_.nodes[index];
        const overtake_operand whole = operand(node.inputs[0]), to = operand(node.output);
        const overtake_operand from = part(whole, node.stretches, graph_.values[node.output]);
        if (is_same_place(from, to))
            return;
        const bool fits = std::uint64_t{from.width} * from.pixel_stride <= from.row_stride;
        if (fits || from.width == 1)
            return copy(from, to, index);
        for (std::uint32_t column = 0; column < from.width; ++column) {
            overtake_operand source = from, target = to;
            source.offset += std::uint64_t{column} * from.pixel_stride;
            source.pixel_stride = whole.pixel_stride;
            target.offset += std::uint64_t{column} * to.pixel_stride;
            source.width = target.width = 1;
            copy(source, target, index);
        }
    }

    // What is no view is copied, seen with the dimensions of the one that has the smaller pixels.
    void reshape(std::size_t index) {
        const Node& node = graph_.nodes[index];
        const ValueId input = node.inputs[0];
        const overtake_operand from = operand(input), to = operand(node.output);
        if (is_same_place(from, to))
            return;
        if (from.channels >= to.channels)
            copy(operand_at(node.output, seen_as((*places_)[input], graph_.values[input],
                                                 graph_.values[node.output])),
                 to, index);
        else
            copy(from,
                 operand_at(input, seen_as((*places_)[node.output], graph_.values[node.output],
                                           graph_.values[input])),
                 index);
    }

    // Constants of a segment lie among the weights.
    void place_constants(ProgramSegment& segment) {
        for (std::size_t index = segment.first_node;
             index < segment.first_node + segment.node_count; ++index)
            for (ValueId input : graph_.nodes[index].inputs)
                if (graph_.values[input].is_constant())
                    segment.places[input].offset =
                        program_.constants.append(std::span<const std::int8_t>(
                            pack_constant(graph_.values[input], quantised_.values[input])));
    }

    bool pads_channels(const Node& node) const {
        return graph_.values[node.inputs[0]].channels != graph_.values[node.output].channels;
    }

    int filling(const Node& node) const {
        return quantised_.values[node.output].nearest(node.padding.fill);
    }

    // Fills the output, then copies the input into its middle.  The instruction that pads leaves
    // channels alone.
    void pad_by_copying(std::size_t index) {
        const Node& node = graph_.nodes[index];
        const overtake_operand from = operand(node.inputs[0]), to = operand(node.output);
        program_.steps.push_back({fill_instruction(to, from, filling(node)), index});
        std::array<Stretch, 3> middle;
        for (std::size_t axis = 0; axis < middle.size(); ++axis)
            middle[axis].first = node.padding.front[axis];
        copy(from, part(to, middle, graph_.values[node.inputs[0]]), index);
    }

    void permute(std::size_t index) {
        const Node& node = graph_.nodes[index];
        const overtake_insn whole = instruction(index);
        const std::uint32_t from = whole.in[0].height / node.batches,
                            to = whole.out.height / node.batches;
        for (std::uint32_t batch = 0; batch < node.batches; ++batch) {
            overtake_insn insn = whole;
            insn.in[0].height = from;
            insn.in[0].offset += std::uint64_t{batch} * from * whole.in[0].row_stride;
            insn.out.height = to;
            insn.out.offset += std::uint64_t{batch} * to * whole.out.row_stride;
            program_.steps.push_back({insn, index});
        }
    }

    static std::uint32_t axes_of(const Node& node) {
        return static_cast<std::uint32_t>(node.axes[0] | node.axes[1] << 2 | node.axes[2] << 4);
    }

    overtake_insn instruction(std::size_t index) {
        const Node& node = graph_.nodes[index];
        const QuantisedNode& quantised = quantised_.nodes[index];
        overtake_insn insn{};
        insn.out = operand(node.output);
        for (std::size_t input = 0; input < node.inputs.size(); ++input)
            insn.in[input] = operand(node.inputs[input]);
        insn.clamp_min = static_cast<std::int16_t>(quantised.clamp_min);
        insn.clamp_max = static_cast<std::int16_t>(quantised.clamp_max);
        switch (node.op) {
        case Operator::convolution:
            insn.opcode = OVERTAKE_OP_CONV;
            insn.groups = node.groups;
            set_window(insn, node.window);
            set_weights(insn, pack_convolution(node, quantised, insn.in[0].channels / node.groups));
            set_parameters(insn, pack_parameters(quantised));
            break;
        case Operator::depthwise:
            insn.opcode = OVERTAKE_OP_DEPTHWISE;
            set_window(insn, node.window);
            set_weights(insn, pack_depthwise(node, quantised));
            set_parameters(insn, pack_parameters(quantised));
            break;
        case Operator::transposed_convolution:
            insn.opcode = OVERTAKE_OP_TRANSPOSED_CONV;
            insn.groups = node.groups;
            set_window(insn, node.window);
            set_weights(insn, pack_convolution(node, quantised, insn.in[0].channels / node.groups));
            set_parameters(insn, pack_parameters(quantised));
            break;
        case Operator::multiply:
            insn.opcode = OVERTAKE_OP_MUL;
            insn.multiplier[0] = quantised.requantise[0].multiplier;
            insn.shift[0] = quantised.requantise[0].shift;
            break;
        case Operator::add:
        case Operator::subtract:
        case Operator::maximum:
        case Operator::minimum:
            insn.opcode = pair_opcode(node.op);
            insn.multiplier[0] = quantised.add_scales[0].multiplier;
            insn.multiplier[1] = quantised.add_scales[1].multiplier;
            insn.shift[0] = quantised.add_scales[0].shift;
            break;
        case Operator::max_pool:
            insn.opcode = OVERTAKE_OP_MAX_POOL;
            set_window(insn, node.window);
            break;
        case Operator::average_pool:
            insn.opcode = OVERTAKE_OP_AVERAGE_POOL;
            insn.flags = node.count_include_pad ? OVERTAKE_FLAG_COUNT_INCLUDE_PAD : 0;
            insn.flags |= node.clips_padding ? OVERTAKE_FLAG_CLIP_PAD : 0;
            insn.pad_bottom = static_cast<std::uint16_t>(node.pad_bottom);
            insn.pad_right = static_cast<std::uint16_t>(node.pad_right);
            set_window(insn, node.window);
            set_parameters(insn, pack_average(quantised));
            break;
        case Operator::activation:
            insn.opcode = OVERTAKE_OP_TABLE;
            insn.weights_region = OVERTAKE_REGION_WEIGHTS;
            insn.weights_offset =
                program_.constants.append(std::span<const std::uint8_t>(quantised.table));
            insn.clamp_min = insn.clamp_max = 0;
            break;
        case Operator::copy:
            if (graph_.values[node.inputs[0]].user_type == UserType::nv12) {
                set_nv12(insn, graph_.values[node.inputs[0]]);
                break;
            }
            insn.opcode = OVERTAKE_OP_COPY;
            insn.clamp_min = insn.clamp_max = 0;
            break;
        case Operator::resize_nearest:
        case Operator::resize_bilinear:
            insn.opcode = node.op == Operator::resize_nearest ? OVERTAKE_OP_RESIZE_NEAREST
                                                              : OVERTAKE_OP_RESIZE_BILINEAR;
            set_positions(insn, node);
            insn.clamp_min = insn.clamp_max = 0;
            break;
        case Operator::matrix_product:
            insn.opcode = OVERTAKE_OP_MATMUL;
            set_parameters(insn, pack_parameters(quantised));
            break;
        case Operator::permute:
            insn.opcode = OVERTAKE_OP_PERMUTE;
            insn.axes = axes_of(node);
            insn.clamp_min = insn.clamp_max = 0;
            break;
        case Operator::pad:
            set_padding(insn, node);
            break;
        case Operator::depth_to_space:
        case Operator::space_to_depth:
            insn.opcode = node.op == Operator::depth_to_space ? OVERTAKE_OP_DEPTH_TO_SPACE
                                                              : OVERTAKE_OP_SPACE_TO_DEPTH;
            insn.flags = node.channel_major ? OVERTAKE_FLAG_CRD : 0;
            insn.kernel_height = static_cast<std::uint16_t>(node.window.kernel_height);
            insn.kernel_width = static_cast<std::uint16_t>(node.window.kernel_width);
            insn.clamp_min = insn.clamp_max = 0;
            break;
        case Operator::reduce:
            set_reduction(insn, node, quantised);
            break;
        case Operator::broadcast:
            set_broadcast(insn);
            break;
        case Operator::concat:
        case Operator::slice:
        case Operator::reshape:
        case Operator::cpu:
            break;
        }
        return insn;
    }

    // Pixel by pixel, so that each is exactly what its bytes say.
    void set_nv12(overtake_insn& insn, const Value& picture) {
        const Nv12Planes planes = nv12_planes(picture, insn.in[0].region, insn.in[0].offset);
        insn.opcode = OVERTAKE_OP_NV12;
        insn.flags = static_cast<std::uint16_t>(picture.picture_flags | OVERTAKE_FLAG_NEAREST);
        insn.in[0] = planes.luma;
        if (!(picture.picture_flags & OVERTAKE_FLAG_GRAY))
            insn.in[1] = planes.chroma;
        insn.step_y = insn.step_x = 1u << OVERTAKE_POSITION_BITS;
        set_parameters(insn, nv12_parameters(insn.out.zero_point));
    }

    static std::uint16_t pair_opcode(Operator op) {
        switch (op) {
        case Operator::subtract:
            return OVERTAKE_OP_SUB;
        case Operator::maximum:
            return OVERTAKE_OP_MAX;
        case Operator::minimum:
            return OVERTAKE_OP_MIN;
        default:
            return OVERTAKE_OP_ADD;
        }
    }

    void set_padding(overtake_insn& insn, const Node& node) const {
        insn.opcode = OVERTAKE_OP_PAD;
        insn.pad_top = static_cast<std::uint16_t>(node.padding.front[axis_height]);
        insn.pad_left = static_cast<std::uint16_t>(node.padding.front[axis_width]);
        insn.clamp_min = insn.clamp_max = 0;
        if (node.padding.mode == Padding::Mode::edge)
            insn.flags = OVERTAKE_FLAG_EDGE;
        else if (node.padding.mode == Padding::Mode::reflect)
            insn.flags = OVERTAKE_FLAG_REFLECT;
        else
            insn.fill = filling(node);
    }

    static void set_reduction(overtake_insn& insn, const Node& node,
                              const QuantisedNode& quantised) {
        insn.axes = node.reduced_axes;
        insn.multiplier[0] = insn.shift[0] = 0;
        if (node.reduction == ReduceKind::maximum) {
            insn.opcode = OVERTAKE_OP_REDUCE_MAX;
        } else if (node.reduction == ReduceKind::minimum) {
            insn.opcode = OVERTAKE_OP_REDUCE_MIN;
        } else {
            insn.opcode = OVERTAKE_OP_REDUCE_SUM;
            insn.multiplier[0] = quantised.requantise[0].multiplier;
            insn.shift[0] = quantised.requantise[0].shift;
        }
    }

    // The input and nothing of itself: its bytes, wherever an axis of 1 repeats them.
    static void set_broadcast(overtake_insn& insn) {
        insn.opcode = OVERTAKE_OP_ADD;
        insn.in[1] = insn.in[0];
        insn.multiplier[0] = 1u << OVERTAKE_SHIFT_MIN;
        insn.shift[0] = OVERTAKE_SHIFT_MIN;
    }

    static void set_positions(overtake_insn& insn, const Node& node) {
        const auto fixed = [](double pixels) {
            return static_cast<std::int64_t>(
                std::nearbyint(std::ldexp(pixels, OVERTAKE_POSITION_BITS)));
        };
        insn.start_y = fixed(node.rows.start);
        insn.start_x = fixed(node.columns.start);
        insn.step_y = static_cast<std::uint32_t>(fixed(node.rows.step));
        insn.step_x = static_cast<std::uint32_t>(fixed(node.columns.step));
    }

    static void set_window(overtake_insn& insn, const Window& window) {
        insn.kernel_height = static_cast<std::uint16_t>(window.kernel_height);
        insn.kernel_width = static_cast<std::uint16_t>(window.kernel_width);
        insn.stride_height = static_cast<std::uint16_t>(window.stride_height);
        insn.stride_width = static_cast<std::uint16_t>(window.stride_width);
        insn.pad_top = static_cast<std::uint16_t>(window.pad_top);
        insn.pad_left = static_cast<std::uint16_t>(window.pad_left);
        if (window.dilation_height != 1 || window.dilation_width != 1) {
            insn.dilation_height = static_cast<std::uint16_t>(window.dilation_height);
            insn.dilation_width = static_cast<std::uint16_t>(window.dilation_width);
        }
    }

    void set_weights(overtake_insn& insn, const std::vector<std::int8_t>& weights) {
        insn.weights_region = OVERTAKE_REGION_WEIGHTS;
        insn.weights_offset = program_.constants.append(std::span(weights));
    }

    void set_parameters(overtake_insn& insn, const std::vector<std::uint32_t>& words) {
        insn.params_region = OVERTAKE_REGION_WEIGHTS;
        insn.params_offset = program_.constants.append(std::span(words));
    }

    const Graph& graph_;
    const QuantisedGraph& quantised_;
    Program program_;
    const std::vector<Place>* places_ = nullptr; // of the segment being lowered
};

} // namespace

Program lower(const Graph& graph, const QuantisedGraph& quantised) {
    return Lowering(graph, quantised).run();
}

void check_steps(const Graph& graph, const Program& program) {
    static std::uint8_t anywhere[1]; // addresses are computed and never followed
    for (const ProgramSegment& segment : program.segments) {
        std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions{};
        const auto bind = [&](std::uint32_t region, std::uint64_t bytes, std::uint32_t access) {
            regions[region] = {anywhere, bytes, access, 0};
        };
        bind(OVERTAKE_REGION_WEIGHTS, program.constants.bytes().size(), OVT_REGION_READ);
        bind(OVERTAKE_REGION_SCRATCH, segment.scratch_bytes, OVT_REGION_READ | OVT_REGION_WRITE);
        for (std::size_t index = 0; index < segment.io.size(); ++index)
            bind(OVERTAKE_REGION_IO + static_cast<std::uint32_t>(index),
                 segment.places[segment.io[index].value].bytes,
                 segment.io[index].writable ? OVT_REGION_READ | OVT_REGION_WRITE : OVT_REGION_READ);
        for (std::size_t index = 0; index < segment.step_count; ++index) {
            const Step& step = program.steps[segment.first_step + index];
            ovt_operands operands{};
            const std::uint32_t fault = ovt_insn_check(&step.insn, regions.data(), &operands);
            if (fault != OVERTAKE_FAULT_NONE)
                throw CompileError(describe(graph.nodes[step.node]),
                                   "exceeds the device's limits (fault " + std::to_string(fault) +
                                       "); make the operator smaller");
        }
    }
}

} // namespace overtake::compiler
