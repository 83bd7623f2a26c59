// SPDX-License-Identifier: MIT
#include "lower.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "error.hpp"
#include "memory_plan.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

constexpr std::uint64_t scratch_alignment = 64;
constexpr std::uint32_t block = OVERTAKE_WEIGHT_BLOCK;

std::uint32_t round_up(std::uint32_t channels) {
    return (channels + block - 1) / block * block;
}

Place dense_place(const Value& value) {
    Place place;
    place.pixel_stride = round_up(value.channels);
    const std::uint64_t row = std::uint64_t{value.width} * place.pixel_stride;
    place.bytes = row * value.height;
    if (place.bytes > std::numeric_limits<std::uint32_t>::max())
        throw CompileError("tensor '" + value.name + "'", "is larger than 4 GiB");
    place.row_stride = static_cast<std::uint32_t>(row);
    return place;
}

// Weights in tiles of 8 outputs by 2 inputs: [group][o / 8][ky][kx][i / 2][o % 8][i % 2].
std::vector<std::int8_t> pack_convolution(const Node& node, const QuantisedNode& quantised,
                                          std::uint32_t inputs_of_group) {
    const std::uint32_t outputs = static_cast<std::uint32_t>(node.bias.size()) / node.groups;
    const std::uint32_t positions = node.window.kernel_height * node.window.kernel_width;
    constexpr std::size_t tile_inputs = OVERTAKE_WEIGHT_INPUTS;
    const std::size_t input_blocks = (inputs_of_group + tile_inputs - 1) / tile_inputs;
    const std::size_t output_blocks = round_up(outputs) / block;
    std::vector<std::int8_t> packed(node.groups * output_blocks * positions * input_blocks *
                                    OVERTAKE_WEIGHT_TILE);
    std::size_t source = 0;
    for (std::uint32_t group = 0; group < node.groups; ++group)
        for (std::uint32_t o = 0; o < outputs; ++o)
            for (std::uint32_t i = 0; i < inputs_of_group; ++i)
                for (std::uint32_t position = 0; position < positions; ++position) {
                    const std::size_t tile =
                        ((group * output_blocks + o / block) * positions + position) *
                            input_blocks +
                        i / tile_inputs;
                    packed[(tile * block + o % block) * tile_inputs + i % tile_inputs] =
                        quantised.weights[source++];
                }
    return packed;
}

// [ky][kx][channels rounded up to 8]
std::vector<std::int8_t> pack_depthwise(const Node& node, const QuantisedNode& quantised) {
    const auto channels = static_cast<std::uint32_t>(node.bias.size());
    const std::size_t positions = node.window.kernel_height * node.window.kernel_width;
    std::vector<std::int8_t> packed(positions * round_up(channels));
    for (std::uint32_t channel = 0; channel < channels; ++channel)
        for (std::size_t position = 0; position < positions; ++position)
            packed[position * round_up(channels) + channel] =
                quantised.weights[channel * positions + position];
    return packed;
}

// bias, multiplier, shift, each of `channels` rounded up to 8 words.
std::vector<std::uint32_t> pack_parameters(const QuantisedNode& quantised) {
    const std::size_t count = round_up(static_cast<std::uint32_t>(quantised.bias.size()));
    std::vector<std::uint32_t> words(3 * count);
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(2 * count), words.end(),
              OVERTAKE_SHIFT_MIN);
    for (std::size_t channel = 0; channel < quantised.bias.size(); ++channel) {
        words[channel] = static_cast<std::uint32_t>(quantised.bias[channel]);
        words[count + channel] = quantised.requantise[channel].multiplier;
        words[2 * count + channel] = quantised.requantise[channel].shift;
    }
    return words;
}

// multiplier, shift, for each number of positions from 1.
std::vector<std::uint32_t> pack_average(const QuantisedNode& quantised) {
    std::vector<std::uint32_t> words;
    for (const FixedScale& scale : quantised.requantise)
        words.push_back(scale.multiplier);
    for (const FixedScale& scale : quantised.requantise)
        words.push_back(scale.shift);
    return words;
}

class Lowering {
public:
    Lowering(const Graph& graph, const QuantisedGraph& quantised)
        : graph_(graph), quantised_(quantised) {}

    Program run() {
        program_.places.resize(graph_.values.size());
        place_io();
        place_scratch();
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index)
            if (graph_.nodes[index].op != Operator::softmax)
                program_.steps.push_back({instruction(index), index});
        return std::move(program_);
    }

private:
    bool on_bpu(const Node& node) const { return node.op != Operator::softmax; }

    // Values that cross the segment's border get regions of their own.
    void place_io() {
        std::vector<bool> read(graph_.values.size()), written(graph_.values.size()),
            kept(graph_.values.size());
        for (const Node& node : graph_.nodes) {
            for (ValueId input : node.inputs)
                (on_bpu(node) ? read : kept)[input] = true;
            written[node.output] = on_bpu(node);
        }
        for (ValueId output : graph_.outputs)
            kept[output] = true;
        std::vector<bool> given(graph_.values.size());
        for (ValueId input : graph_.inputs)
            given[input] = true;
        for (ValueId value = 0; value < graph_.values.size(); ++value) {
            if (given[value] ? !read[value] : !(written[value] && kept[value]))
                continue;
            if (OVERTAKE_REGION_IO + program_.io.size() == OVERTAKE_MAX_REGIONS)
                throw CompileError(graph_.name,
                                   "more than " +
                                       std::to_string(OVERTAKE_MAX_REGIONS - OVERTAKE_REGION_IO) +
                                       " inputs and outputs are not supported");
            Place place = dense_place(graph_.values[value]);
            place.region = OVERTAKE_REGION_IO + static_cast<std::uint32_t>(program_.io.size());
            program_.places[value] = place;
            program_.io.push_back({value, !given[value]});
        }
    }

    void place_scratch() {
        std::vector<Lifetime> lifetimes;
        std::vector<ValueId> values;
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index) {
            const Node& node = graph_.nodes[index];
            if (!on_bpu(node) || program_.places[node.output].bytes > 0)
                continue;
            program_.places[node.output] = dense_place(graph_.values[node.output]);
            lifetimes.push_back({program_.places[node.output].bytes, index, last_use(node.output)});
            values.push_back(node.output);
        }
        const MemoryPlan plan = plan_memory(lifetimes, scratch_alignment);
        for (std::size_t index = 0; index < values.size(); ++index) {
            program_.places[values[index]].region = OVERTAKE_REGION_SCRATCH;
            program_.places[values[index]].offset = plan.offsets[index];
        }
        program_.scratch_bytes = plan.bytes;
        if (plan.bytes > OVERTAKE_MAX_SCRATCH_BYTES)
            throw CompileError(graph_.name, "needs " + std::to_string(plan.bytes) +
                                                " bytes of scratch, more than " +
                                                std::to_string(OVERTAKE_MAX_SCRATCH_BYTES) +
                                                "; compile it for a smaller input");
    }

    std::size_t last_use(ValueId value) const {
        std::size_t last = 0;
        for (std::size_t index = 0; index < graph_.nodes.size(); ++index)
            if (std::ranges::find(graph_.nodes[index].inputs, value) !=
                graph_.nodes[index].inputs.end())
                last = index;
        return last;
    }

    overtake_operand operand(ValueId id) const {
        const Value& value = graph_.values[id];
        const Place& place = program_.places[id];
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
        case Operator::add:
            insn.opcode = OVERTAKE_OP_ADD;
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
            insn.opcode = OVERTAKE_OP_COPY;
            insn.clamp_min = insn.clamp_max = 0;
            break;
        case Operator::softmax:
            break;
        }
        return insn;
    }

    static void set_window(overtake_insn& insn, const Window& window) {
        insn.kernel_height = static_cast<std::uint16_t>(window.kernel_height);
        insn.kernel_width = static_cast<std::uint16_t>(window.kernel_width);
        insn.stride_height = static_cast<std::uint16_t>(window.stride_height);
        insn.stride_width = static_cast<std::uint16_t>(window.stride_width);
        insn.pad_top = static_cast<std::uint16_t>(window.pad_top);
        insn.pad_left = static_cast<std::uint16_t>(window.pad_left);
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
};

} // namespace

Program lower(const Graph& graph, const QuantisedGraph& quantised) {
    return Lowering(graph, quantised).run();
}

void check_steps(const Graph& graph, const Program& program) {
    static std::uint8_t anywhere[1]; // addresses are computed and never followed
    std::array<ovt_region, OVERTAKE_MAX_REGIONS> regions{};
    const auto bind = [&](std::uint32_t region, std::uint64_t bytes, std::uint32_t access) {
        regions[region] = {anywhere, bytes, access, 0};
    };
    bind(OVERTAKE_REGION_WEIGHTS, program.constants.bytes().size(), OVT_REGION_READ);
    bind(OVERTAKE_REGION_SCRATCH, program.scratch_bytes, OVT_REGION_READ | OVT_REGION_WRITE);
    for (std::size_t index = 0; index < program.io.size(); ++index)
        bind(OVERTAKE_REGION_IO + static_cast<std::uint32_t>(index),
             program.places[program.io[index].value].bytes,
             program.io[index].writable ? OVT_REGION_READ | OVT_REGION_WRITE : OVT_REGION_READ);
    for (const Step& step : program.steps) {
        ovt_operands operands{};
        const std::uint32_t fault = ovt_insn_check(&step.insn, regions.data(), &operands);
        if (fault != OVERTAKE_FAULT_NONE)
            throw CompileError(describe(graph.nodes[step.node]),
                               "exceeds the device's limits (fault " + std::to_string(fault) +
                                   "); make the operator smaller");
    }
}

} // namespace overtake::compiler
