// SPDX-License-Identifier: MIT
#include "compiler/lower/lower.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "compiler/inputs/nv12.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/cut.hpp"
#include "compiler/lower/images.hpp"
#include "compiler/lower/memory_plan.hpp"
#include "compiler/lower/pack_weights.hpp"

namespace overtake::compiler {
namespace {

class Lowering {
public:
    Lowering(const Graph& graph, const QuantisedGraph& quantised, ReuseScratch reuse)
        : graph_(graph), quantised_(quantised), reuse_(reuse) {}

    Program run(const std::vector<NodeRange>& ranges, Constants constants) {
        program_.constants = std::move(constants);
        for (const NodeRange& range : ranges) {
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
        place(graph_, segment, last_readers_, reuse_);
        place_constants(segment);
        places_ = &segment.places;
        segment.first_step = program_.steps.size();
        for (std::size_t index = segment.first_node;
             index < segment.first_node + segment.node_count; ++index) {
            index_ = index;
            node_ = &graph_.nodes[index];
            node_quantised_ = &quantised_.nodes[index];
            lower_node();
        }
        segment.step_count = program_.steps.size() - segment.first_step;
    }

    void lower_node() {
        const auto lower_image = [&](std::uint32_t image) {
            image_ = image;
            const std::size_t first = program_.steps.size();
            std::visit([&](const auto& operation) { lower(operation); }, node_->operation);
            std::vector<Step> steps(program_.steps.begin() + static_cast<std::ptrdiff_t>(first),
                                    program_.steps.end());
            return steps;
        };
        images_ = images_of(graph_, *node_);
        const std::size_t before = program_.steps.size();
        const std::vector<Step> first = lower_image(0);
        if (images_ == 1)
            return;
        const std::vector<Step> second = lower_image(1);
        program_.steps.resize(before);
        for (std::size_t index = 0; index < first.size(); ++index)
            add_images(first[index].insn, second[index].insn);
    }

    void add_images(const overtake_insn& first, const overtake_insn& second) {
        if (const auto whole = for_all_images(first, second, images_))
            return add(*whole);
        for (std::uint32_t image = 0; image < images_; ++image)
            add(for_image(first, second, image));
    }

    overtake_operand operand(ValueId id) const { return operand_at(id, places_->at(id)); }

    // Shows the present image: for rows a part of the height, and for a value with only one image
    // all of it.
    void show_image(overtake_operand& whole, const Value& value, const Place& place) const {
        if (images_ == 1) {
            whole.height *= value.batch; // the images have no gaps
        } else if (value.batch > 1) {
            whole.offset += image_ * place.image_stride;
        } else if (node_->is<op::Permute>()) {
            whole.height /= images_;
            whole.offset += std::uint64_t{image_} * whole.height * whole.row_stride;
        }
    }

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
        result.type = value.is_int16 ? OVERTAKE_TYPE_INT16 : OVERTAKE_TYPE_INT8;
        show_image(result, value, place);
        return result;
    }

    // Returns the part of an operand with the elements first + n * step of each axis, as many as
    // `value` has.
    static overtake_operand part(overtake_operand whole, const std::array<Stretch, 3>& stretches,
                                 const Value& value) {
        const auto& [channels, rows, columns] = stretches;
        whole.offset += std::uint64_t{channels.first} * ovt_element_bytes(&whole) +
                        std::uint64_t{rows.first} * whole.row_stride +
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

    void add(const overtake_insn& insn) { program_.steps.push_back({insn, index_}); }

    void copy(const overtake_operand& from, const overtake_operand& to) {
        overtake_insn insn{};
        insn.opcode = OVERTAKE_OP_COPY;
        insn.in[0] = from;
        insn.out = to;
        add(insn);
    }

    // Returns an instruction with the node's operands, without a clamp.
    overtake_insn instruction(std::uint32_t opcode) const {
        overtake_insn insn{};
        insn.opcode = static_cast<std::uint16_t>(opcode);
        insn.out = operand(node_->output);
        for (std::size_t input = 0; input < node_->inputs.size(); ++input)
            insn.in[input] = operand(node_->inputs[input]);
        return insn;
    }

    // Does the same with the node's clamp, for instructions that compute.
    overtake_insn clamped_instruction(std::uint32_t opcode) const {
        overtake_insn insn = instruction(opcode);
        insn.clamp_min = static_cast<std::int16_t>(node_quantised_->clamp_min);
        insn.clamp_max = static_cast<std::int16_t>(node_quantised_->clamp_max);
        return insn;
    }

    // Copies into a concat's output the inputs that were not written there directly.
    void lower(const op::Concat& concat) {
        std::array<Stretch, 3> stretches;
        for (ValueId input : node_->inputs) {
            const Value& value = graph_.values[input];
            const overtake_operand to = part(operand(node_->output), stretches, value);
            if (!is_same_place(operand(input), to))
                copy(operand(input), to);
            const std::uint32_t sizes[3] = {value.channels, value.height, value.width};
            stretches[concat.axis].first += sizes[concat.axis];
        }
    }

    // Copies a slice that is no view.  If its last stretched pixel would leave a row, copies it
    // column by column.
    void lower(const op::Slice& slice) {
        const overtake_operand whole = operand(node_->inputs[0]), to = operand(node_->output);
        const overtake_operand from = part(whole, slice.stretches, graph_.values[node_->output]);
        if (is_same_place(from, to))
            return;
        const bool fits = std::uint64_t{from.width} * from.pixel_stride <= from.row_stride;
        if (fits || from.width == 1)
            return copy(from, to);
        for (std::uint32_t column = 0; column < from.width; ++column) {
            overtake_operand source = from, target = to;
            source.offset += std::uint64_t{column} * from.pixel_stride;
            source.pixel_stride = whole.pixel_stride;
            target.offset += std::uint64_t{column} * to.pixel_stride;
            source.width = target.width = 1;
            copy(source, target);
        }
    }

    // Copies a reshape that is no view, with the dimensions of the side that has smaller pixels.
    void lower(const op::Reshape&) {
        const ValueId input = node_->inputs[0], output = node_->output;
        const overtake_operand from = operand(input), to = operand(output);
        if (is_same_place(from, to))
            return;
        const Value &whole = graph_.values[input], &wanted = graph_.values[output];
        if (from.channels >= to.channels)
            copy(operand_at(output, seen_as(places_->at(input), whole, wanted)), to);
        else
            copy(from, operand_at(input, seen_as(places_->at(output), wanted, whole)));
    }

    // Places constants of a segment among the weights.
    void place_constants(ProgramSegment& segment) {
        for (std::size_t index = segment.first_node;
             index < segment.first_node + segment.node_count; ++index)
            for (ValueId input : graph_.nodes[index].inputs)
                if (graph_.values[input].is_constant())
                    segment.places[input].offset =
                        program_.constants.append(std::span<const std::int8_t>(
                            pack_constant(graph_.values[input], quantised_.values[input])));
    }

    void lower(const op::Pad& pad) {
        const Value &in = graph_.values[node_->inputs[0]], &out = graph_.values[node_->output];
        const int filling = quantised_.values[node_->output].nearest(pad.fill);
        if (in.channels != out.channels)
            return pad_by_copying(pad, filling);
        overtake_insn insn = instruction(OVERTAKE_OP_PAD);
        insn.pad_top = static_cast<std::uint16_t>(pad.front[axis_height]);
        insn.pad_left = static_cast<std::uint16_t>(pad.front[axis_width]);
        if (pad.mode == op::Pad::Mode::edge)
            insn.flags = OVERTAKE_FLAG_EDGE;
        else if (pad.mode == op::Pad::Mode::reflect)
            insn.flags = OVERTAKE_FLAG_REFLECT;
        else
            insn.fill = filling;
        add(insn);
    }

    // Fills the output, then copies the input into its middle.  The instruction that pads cannot
    // pad channels.
    void pad_by_copying(const op::Pad& pad, int filling) {
        const overtake_operand from = operand(node_->inputs[0]), to = operand(node_->output);
        add(fill_instruction(to, from, filling));
        std::array<Stretch, 3> middle;
        for (std::size_t axis = 0; axis < middle.size(); ++axis)
            middle[axis].first = pad.front[axis];
        copy(from, part(to, middle, graph_.values[node_->inputs[0]]));
    }

    void lower(const op::Permute& permute) {
        overtake_insn insn = instruction(OVERTAKE_OP_PERMUTE);
        insn.axes = static_cast<std::uint32_t>(permute.axes[0] | permute.axes[1] << 2 |
                                               permute.axes[2] << 4);
        add(insn);
    }

    void lower(const op::Convolution& convolution) {
        using Kind = op::Convolution::Kind;
        const bool is_depthwise = convolution.kind == Kind::depthwise;
        overtake_insn insn =
            clamped_instruction(is_depthwise                           ? OVERTAKE_OP_DEPTHWISE
                                : convolution.kind == Kind::transposed ? OVERTAKE_OP_TRANSPOSED_CONV
                                                                       : OVERTAKE_OP_CONV);
        if (!is_depthwise)
            insn.groups = convolution.groups;
        set_window(insn, convolution.window);
        set_weights(insn, is_depthwise
                              ? pack_depthwise(convolution, *node_quantised_)
                              : pack_convolution(convolution, *node_quantised_,
                                                 insn.in[0].channels / convolution.groups));
        set_parameters(insn, pack_parameters(*node_quantised_));
        add(insn);
    }

    void lower(const op::Pair& pair) {
        overtake_insn insn = clamped_instruction(opcode_of(pair));
        const QuantisedNode& quantised = *node_quantised_;
        if (pair.kind == op::Pair::Kind::multiply) {
            insn.multiplier[0] = quantised.requantise[0].multiplier;
            insn.shift[0] = quantised.requantise[0].shift;
        } else {
            insn.multiplier[0] = quantised.add_scales[0].multiplier;
            insn.multiplier[1] = quantised.add_scales[1].multiplier;
            insn.shift[0] = quantised.add_scales[0].shift;
        }
        add(insn);
    }

    static std::uint32_t opcode_of(const op::Pair& pair) {
        switch (pair.kind) {
        case op::Pair::Kind::add:
            return OVERTAKE_OP_ADD;
        case op::Pair::Kind::subtract:
            return OVERTAKE_OP_SUB;
        case op::Pair::Kind::multiply:
            return OVERTAKE_OP_MUL;
        case op::Pair::Kind::maximum:
            return OVERTAKE_OP_MAX;
        case op::Pair::Kind::minimum:
            return OVERTAKE_OP_MIN;
        }
        return OVERTAKE_OP_ADD;
    }

    void lower(const op::Pool& pool) {
        const bool is_average = pool.kind == op::Pool::Kind::average;
        overtake_insn insn =
            clamped_instruction(is_average ? OVERTAKE_OP_AVERAGE_POOL : OVERTAKE_OP_MAX_POOL);
        set_window(insn, pool.window);
        if (is_average) {
            insn.flags = pool.count_include_pad ? OVERTAKE_FLAG_COUNT_INCLUDE_PAD : 0;
            insn.flags |= pool.clips_padding ? OVERTAKE_FLAG_CLIP_PAD : 0;
            insn.pad_bottom = static_cast<std::uint16_t>(pool.pad_bottom);
            insn.pad_right = static_cast<std::uint16_t>(pool.pad_right);
            set_parameters(insn, pack_average(*node_quantised_));
        }
        add(insn);
    }

    void lower(const op::Activation&) {
        if (!node_quantised_->requantise.empty())
            return requantise();
        overtake_insn insn = instruction(OVERTAKE_OP_TABLE);
        insn.weights_region = OVERTAKE_REGION_WEIGHTS;
        insn.weights_offset =
            program_.constants.append(std::span<const std::uint8_t>(node_quantised_->table));
        add(insn);
    }

    void requantise() {
        overtake_insn insn = clamped_instruction(OVERTAKE_OP_REQUANTISE);
        insn.multiplier[0] = node_quantised_->requantise[0].multiplier;
        insn.shift[0] = node_quantised_->requantise[0].shift;
        add(insn);
    }

    void lower(const op::Copy&) {
        const Value& input = graph_.values[node_->inputs[0]];
        if (input.user_type == UserType::nv12)
            convert_nv12(input);
        else
            add(instruction(OVERTAKE_OP_COPY));
    }

    void lower(const op::Resize& resize) {
        const auto fixed = [](double pixels) {
            return static_cast<std::int64_t>(
                std::nearbyint(std::ldexp(pixels, OVERTAKE_POSITION_BITS)));
        };
        const bool is_nearest = resize.kind == op::Resize::Kind::nearest;
        overtake_insn insn =
            instruction(is_nearest ? OVERTAKE_OP_RESIZE_NEAREST : OVERTAKE_OP_RESIZE_BILINEAR);
        insn.start_y = fixed(resize.rows.start);
        insn.start_x = fixed(resize.columns.start);
        insn.step_y = static_cast<std::uint32_t>(fixed(resize.rows.step));
        insn.step_x = static_cast<std::uint32_t>(fixed(resize.columns.step));
        add(insn);
    }

    void lower(const op::MatrixProduct&) {
        overtake_insn insn = clamped_instruction(OVERTAKE_OP_MATMUL);
        set_parameters(insn, pack_parameters(*node_quantised_));
        add(insn);
    }

    void lower(const op::DepthToSpace& blocks) {
        overtake_insn insn = instruction(OVERTAKE_OP_DEPTH_TO_SPACE);
        insn.flags = blocks.channel_major ? OVERTAKE_FLAG_CRD : 0;
        insn.kernel_height = insn.kernel_width = static_cast<std::uint16_t>(blocks.block);
        add(insn);
    }

    void lower(const op::SpaceToDepth& blocks) {
        overtake_insn insn = instruction(OVERTAKE_OP_SPACE_TO_DEPTH);
        insn.kernel_height = insn.kernel_width = static_cast<std::uint16_t>(blocks.block);
        add(insn);
    }

    void lower(const op::Reduce& reduce) {
        const bool is_maximum = reduce.kind == op::Reduce::Kind::maximum;
        const bool is_minimum = reduce.kind == op::Reduce::Kind::minimum;
        overtake_insn insn = clamped_instruction(is_maximum   ? OVERTAKE_OP_REDUCE_MAX
                                                 : is_minimum ? OVERTAKE_OP_REDUCE_MIN
                                                              : OVERTAKE_OP_REDUCE_SUM);
        insn.axes = reduce.axes;
        if (!is_maximum && !is_minimum) {
            insn.multiplier[0] = node_quantised_->requantise[0].multiplier;
            insn.shift[0] = node_quantised_->requantise[0].shift;
        }
        add(insn);
    }

    // Copies the bytes of the input; an axis of 1 repeats them.
    void lower(const op::Broadcast&) {
        overtake_insn insn = clamped_instruction(OVERTAKE_OP_ADD);
        insn.in[1] = insn.in[0];
        insn.multiplier[0] = 1u << OVERTAKE_SHIFT_MIN;
        insn.shift[0] = OVERTAKE_SHIFT_MIN;
        add(insn);
    }

    void lower(const op::Cpu&) {} // it is in no segment of the device

    // Converts each pixel exactly, from its own bytes.
    void convert_nv12(const Value& picture) {
        overtake_insn insn = clamped_instruction(OVERTAKE_OP_NV12);
        const Nv12Planes planes = nv12_planes(picture, insn.in[0].region, insn.in[0].offset);
        insn.flags = static_cast<std::uint16_t>(picture.picture_flags | OVERTAKE_FLAG_NEAREST);
        insn.in[0] = planes.luma;
        if (!(picture.picture_flags & OVERTAKE_FLAG_GRAY))
            insn.in[1] = planes.chroma;
        insn.step_y = insn.step_x = 1u << OVERTAKE_POSITION_BITS;
        set_parameters(insn, nv12_parameters(insn.out.zero_point));
        add(insn);
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
    const ReuseScratch reuse_;
    const std::vector<std::size_t> last_readers_ = last_readers(graph_);
    Program program_;
    const std::unordered_map<ValueId, Place>* places_ = nullptr; // of the segment being lowered
    // The node being lowered: its index in the graph, itself and its quantisation.
    std::size_t index_ = 0;
    const Node* node_ = nullptr;
    const QuantisedNode* node_quantised_ = nullptr;
    std::uint32_t images_ = 1, image_ = 0; // of the node; the one being lowered
};

} // namespace

Program lower(const Graph& graph, const QuantisedGraph& quantised) {
    return lower(graph, quantised, segments_of(graph), {});
}

Program lower(const Graph& graph, const QuantisedGraph& quantised,
              const std::vector<NodeRange>& ranges, Constants constants, ReuseScratch reuse) {
    return Lowering(graph, quantised, reuse).run(ranges, std::move(constants));
}

void check_steps(const Graph& graph, const Program& program) {
    for (const ProgramSegment& segment : program.segments)
        check_steps(graph, std::span(program.steps).subspan(segment.first_step, segment.step_count),
                    segment, segment.scratch_bytes, program.constants);
}

void check_steps(const Graph& graph, std::span<const Step> steps, const ProgramSegment& segment,
                 std::uint64_t scratch_bytes, const Constants& constants) {
    static std::uint8_t anywhere[1]; // addresses are computed and never dereferenced
    std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions{};
    const auto bind = [&](std::uint32_t region, std::uint64_t bytes, std::uint32_t access) {
        regions[region] = {anywhere, bytes, access, 0};
    };
    bind(OVERTAKE_REGION_WEIGHTS, constants.bytes().size(), OVT_REGION_READ);
    bind(OVERTAKE_REGION_SCRATCH, scratch_bytes, OVT_REGION_READ | OVT_REGION_WRITE);
    for (std::size_t index = 0; index < segment.io.size(); ++index)
        bind(OVERTAKE_REGION_IO + static_cast<std::uint32_t>(index),
             segment.places.at(segment.io[index].value).bytes,
             segment.io[index].writable ? OVT_REGION_READ | OVT_REGION_WRITE : OVT_REGION_READ);
    for (const Step& step : steps) {
        ovt_operands operands{};
        const std::uint32_t fault = ovt_insn_check(&step.insn, regions.data(), &operands);
        if (fault != OVERTAKE_FAULT_NONE)
            throw CompileError(describe(graph.nodes[step.node]),
                               "exceeds the device's limits (fault " + std::to_string(fault) +
                                   "); make the operator smaller");
    }
}

} // namespace overtake::compiler
