// SPDX-License-Identifier: MIT
#include "compiler/cores/layers.hpp"

#include <algorithm>
#include <utility>

#include "compiler/cores/geometry.hpp"
#include "compiler/lower/lower.hpp"

namespace overtake::compiler {
namespace {

std::pair<std::uint32_t, std::uint64_t> start_of(const Buffer& buffer) {
    return {buffer.region, buffer.offset};
}

bool is_used(const overtake_operand& operand) {
    return operand.channels > 0;
}

std::uint64_t end_of(const overtake_operand& operand) {
    return operand.offset + std::uint64_t{operand.height - 1} * operand.row_stride +
           std::uint64_t{operand.width - 1} * operand.pixel_stride +
           std::uint64_t{operand.channels} * ovt_element_bytes(&operand);
}

bool have_same_strides(const overtake_operand& a, const overtake_operand& b) {
    return a.row_stride == b.row_stride && a.pixel_stride == b.pixel_stride && a.type == b.type;
}

Box box_of(const overtake_operand& operand) {
    return {0, operand.height, 0, operand.width, 0, operand.channels};
}

bool meet(std::uint32_t first, std::uint32_t count, std::uint32_t other, std::uint32_t others) {
    return first < other + others && other < first + count;
}

// Whether the operands, both in the buffer, may have bytes in common.  If their strides differ, the
// bytes between the elements of an operand count as its own.
bool overlap(const Buffer& buffer, const overtake_operand& a, const overtake_operand& b) {
    if (a.offset >= end_of(b) || b.offset >= end_of(a))
        return false;
    if (!have_same_strides(a, b))
        return true;
    overtake_operand origin = a;
    origin.offset = buffer.offset;
    const Box left = seen_from(origin, a, box_of(a)), right = seen_from(origin, b, box_of(b));
    return meet(left.row, left.rows, right.row, right.rows) &&
           meet(left.column, left.columns, right.column, right.columns) &&
           meet(left.channel, left.channels, right.channel, right.channels);
}

// Whether `part` is a box of the operand that was written as `written`.
bool is_box_of(const overtake_operand& part, const overtake_operand& written) {
    const bool same_rows = part.height == 1 || part.row_stride == written.row_stride;
    const bool same_pixels = part.width == 1 || part.pixel_stride == written.pixel_stride;
    if (!same_rows || !same_pixels || part.type != written.type || part.offset < written.offset)
        return false;
    const Box box = seen_from(written, part, box_of(part));
    return box.row + box.rows <= written.height && box.column + box.columns <= written.width &&
           box.channel + box.channels <= written.channels;
}

std::vector<Buffer> buffers_of(const ProgramSegment& segment) {
    std::vector<Buffer> buffers;
    for (const ScratchUse& use : segment.scratch)
        buffers.push_back({OVERTAKE_REGION_SCRATCH, use.offset, use.bytes});
    for (std::size_t index = 0; index < segment.io.size(); ++index)
        buffers.push_back({OVERTAKE_REGION_IO + static_cast<std::uint32_t>(index), 0,
                           segment.places.at(segment.io[index].value).bytes});
    std::ranges::sort(
        buffers, {}, [](const Buffer& buffer) { return std::tuple(buffer.region, buffer.offset); });
    return buffers;
}

// The layers that write and read each buffer, which show the writers and readers of each layer.
class Links {
public:
    explicit Links(SegmentLayers& segment)
        : segment_(segment), writers_(segment.buffers.size()), readers_(segment.buffers.size()) {}

    void find() {
        for (std::size_t index = 0; index < segment_.layers.size(); ++index)
            link(index);
        for (Layer& layer : segment_.layers)
            layer.can_be_private = can_be_private(layer);
    }

private:
    std::size_t number(const Buffer* buffer) const {
        return static_cast<std::size_t>(buffer - segment_.buffers.data());
    }

    void link(std::size_t index) {
        Layer& layer = segment_.layers[index];
        for (std::size_t input : {0, 1}) {
            const overtake_operand& in = layer.step.insn.in[input];
            const Buffer* buffer = is_used(in) ? buffer_of(segment_, in) : nullptr;
            if (!buffer)
                continue;
            readers_[number(buffer)].push_back({index, input});
            for (const std::size_t writer : writers_[number(buffer)])
                if (overlap(*buffer, segment_.layers[writer].step.insn.out, in))
                    connect(writer, index, input);
        }
        const overtake_operand& out = layer.step.insn.out;
        const Buffer& buffer = *buffer_of(segment_, out);
        for (const std::size_t writer : writers_[number(&buffer)])
            if (overlap(buffer, segment_.layers[writer].step.insn.out, out))
                layer.overwrites.push_back(writer);
        for (const auto& [reader, input] : readers_[number(&buffer)])
            if (reader != index &&
                overlap(buffer, segment_.layers[reader].step.insn.in[input], out))
                layer.overwrites.push_back(reader);
        writers_[number(&buffer)].push_back(index);
    }

    void connect(std::size_t writer, std::size_t reader, std::size_t input) {
        segment_.layers[reader].writers[input].push_back(writer);
        std::vector<std::size_t>& readers = segment_.layers[writer].readers;
        if (readers.empty() || readers.back() != reader)
            readers.push_back(reader);
    }

    bool can_be_private(const Layer& layer) const {
        const overtake_operand& out = layer.step.insn.out;
        const std::size_t buffer = number(buffer_of(segment_, out));
        return out.region == OVERTAKE_REGION_SCRATCH && writers_[buffer].size() == 1 &&
               !layer.readers.empty() &&
               std::ranges::all_of(readers_[buffer], [&](const auto& reader) {
                   const Layer& other = segment_.layers[reader.first];
                   return is_box_of(other.step.insn.in[reader.second], out);
               });
    }

    SegmentLayers& segment_;
    std::vector<std::vector<std::size_t>> writers_;                         // by buffer: layers
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> readers_; // layers, inputs
};

} // namespace

const Buffer* buffer_of(const SegmentLayers& segment, const overtake_operand& operand) {
    const std::pair<std::uint32_t, std::uint64_t> start{operand.region, operand.offset};
    const auto behind = std::ranges::upper_bound(segment.buffers, start, {}, start_of);
    if (behind == segment.buffers.begin() || std::prev(behind)->region != operand.region)
        return nullptr;
    return &*std::prev(behind);
}

std::vector<SegmentLayers> layers_of(const Graph& graph, const QuantisedGraph& quantised,
                                     Program& program) {
    std::vector<NodeRange> ranges;
    for (const ProgramSegment& segment : program.segments)
        ranges.push_back({segment.on_bpu, segment.first_node, segment.node_count});
    Program lowered =
        lower(graph, quantised, ranges, std::move(program.constants), ReuseScratch::no);
    program.constants = std::move(lowered.constants);
    std::vector<SegmentLayers> result;
    for (std::size_t index = 0; index < lowered.segments.size(); ++index) {
        ProgramSegment& memory = lowered.segments[index];
        if (!memory.on_bpu)
            continue;
        SegmentLayers& segment = result.emplace_back();
        segment.segment = index;
        segment.buffers = buffers_of(memory);
        for (std::size_t step = 0; step < memory.step_count; ++step)
            segment.layers.emplace_back().step = lowered.steps[memory.first_step + step];
        segment.memory = std::move(memory);
        Links(segment).find();
    }
    return result;
}

} // namespace overtake::compiler
