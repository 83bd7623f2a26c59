// SPDX-License-Identifier: MIT
#include "compiler/cores/geometry.hpp"

#include <algorithm>

#include "compiler/lower/cost.hpp"
#include "compiler/lower/cut.hpp"

namespace overtake::compiler {
namespace {

// One axis of a box.
struct Extent {
    std::uint32_t first, count;
};

Extent around_both(Extent a, Extent b) {
    const std::uint32_t first = std::min(a.first, b.first);
    return {first, std::max(a.first + a.count, b.first + b.count) - first};
}

Extent aligned_extent(Extent extent, std::uint32_t step, std::uint32_t size) {
    const std::uint32_t first = extent.first / step * step;
    const std::uint64_t end = (std::uint64_t{extent.first} + extent.count + step - 1) / step * step;
    return {first, static_cast<std::uint32_t>(std::min<std::uint64_t>(end, size)) - first};
}

// Whether an input reaches the piece.  In a transposed convolution no input reaches some outputs: a
// piece of only these reads nothing, which no instruction can express.
bool reads_something(const overtake_insn& insn, const Box& box) {
    if (insn.opcode != OVERTAKE_OP_TRANSPOSED_CONV)
        return true;
    const overtake_insn part = piece_shape(insn, box);
    const auto fits = [](const overtake_operand& small, const overtake_operand& large) {
        return small.height > 0 && small.width > 0 && small.height <= large.height &&
               small.width <= large.width;
    };
    return fits(part.in[0], insn.in[0]);
}

// Whether a piece has only the padding around a tensor: then it makes its output from nothing.
bool is_filling(const overtake_insn& insn, const overtake_insn& part) {
    return part.opcode != insn.opcode;
}

overtake_insn cut_pixels(const overtake_insn& insn, const Box& box) {
    return cut_columns(cut_rows(insn, box.row, box.rows), box.column, box.columns);
}

} // namespace

Box around(const Box& a, const Box& b) {
    if (is_empty(a))
        return b;
    if (is_empty(b))
        return a;
    const Extent rows = around_both({a.row, a.rows}, {b.row, b.rows});
    const Extent columns = around_both({a.column, a.columns}, {b.column, b.columns});
    const Extent channels = around_both({a.channel, a.channels}, {b.channel, b.channels});
    return {rows.first, rows.count, columns.first, columns.count, channels.first, channels.count};
}

Box whole(const overtake_insn& insn) {
    return {0, insn.out.height, 0, insn.out.width, 0, insn.out.channels};
}

bool can_cut(const overtake_insn& insn) {
    switch (insn.opcode) {
    case OVERTAKE_OP_DELAY:
    case OVERTAKE_OP_JUMP:
    case OVERTAKE_OP_QUANTISE: // cuts count a channel of floats as one byte
    case OVERTAKE_OP_DEQUANTISE:
        return false;
    default:
        return true;
    }
}

Box aligned(const overtake_insn& insn, const Box& box) {
    if (is_empty(box))
        return {};
    if (!can_cut(insn))
        return whole(insn);
    const std::uint32_t channels_each = channel_step(insn);
    const Extent rows = aligned_extent({box.row, box.rows}, row_step(insn), insn.out.height);
    const Extent columns =
        aligned_extent({box.column, box.columns}, column_step(insn), insn.out.width);
    const Extent channels = channels_each == 0 ? Extent{0, insn.out.channels}
                                               : aligned_extent({box.channel, box.channels},
                                                                channels_each, insn.out.channels);
    const Box result{rows.first,    rows.count,     columns.first,
                     columns.count, channels.first, channels.count};
    return reads_something(insn, result) ? result : whole(insn);
}

overtake_insn piece_shape(const overtake_insn& insn, const Box& box) {
    if (box == whole(insn))
        return insn;
    const overtake_insn part = cut_pixels(insn, box);
    return box.channels == insn.out.channels ? part
                                             : channel_shape(part, box.channel, box.channels);
}

overtake_insn piece(const overtake_insn& insn, const Box& box, Constants& constants) {
    if (box == whole(insn))
        return insn;
    overtake_insn part = cut_pixels(insn, box);
    if (box.channels < insn.out.channels)
        part = cut_channels(part, box.channel, box.channels, constants);
    if (is_filling(insn, part)) { // its source is perhaps another core's
        for (overtake_operand& operand : part.in) {
            const std::vector<std::uint8_t> zeros(OVERTAKE_CHANNEL_ALIGN *
                                                  ovt_element_bytes(&operand));
            operand.region = OVERTAKE_REGION_WEIGHTS;
            operand.offset = constants.append(std::span<const std::uint8_t>(zeros));
        }
    }
    return part;
}

std::uint64_t piece_cost(const overtake_insn& insn, const Box& box, const ovt_profile& profile) {
    return is_empty(box) ? 0 : cost(piece_shape(insn, box), profile);
}

Box seen_from(const overtake_operand& outer, const overtake_operand& inner, const Box& box) {
    const std::uint64_t bytes = inner.offset - outer.offset;
    const std::uint64_t in_row = bytes % outer.row_stride;
    Box result = box;
    result.row += static_cast<std::uint32_t>(bytes / outer.row_stride);
    result.column += static_cast<std::uint32_t>(in_row / outer.pixel_stride);
    result.channel +=
        static_cast<std::uint32_t>(in_row % outer.pixel_stride / ovt_element_bytes(&outer));
    return result;
}

Box needed(const overtake_insn& insn, std::size_t input, const Box& box) {
    return is_empty(box) ? Box{} : needed_by(insn, input, piece_shape(insn, box));
}

Box needed_by(const overtake_insn& insn, std::size_t input, const overtake_insn& part) {
    const overtake_operand& from = insn.in[input];
    if (from.channels == 0 || is_filling(insn, part))
        return {};
    const overtake_operand& reads = part.in[input];
    return seen_from(from, reads, {0, reads.height, 0, reads.width, 0, reads.channels});
}

std::uint64_t operations(const overtake_insn& insn) {
    const std::uint64_t outputs = elements(whole(insn));
    const std::uint64_t positions = std::uint64_t{insn.kernel_height} * insn.kernel_width;
    const auto across = [](std::uint32_t kernel, std::uint32_t stride) {
        return (kernel + stride - 1) / stride;
    };
    switch (insn.opcode) {
    case OVERTAKE_OP_CONV:
        return outputs * positions * (insn.in[0].channels / insn.groups);
    case OVERTAKE_OP_TRANSPOSED_CONV:
        return outputs * across(insn.kernel_height, insn.stride_height) *
               across(insn.kernel_width, insn.stride_width) * (insn.in[0].channels / insn.groups);
    case OVERTAKE_OP_MATMUL:
        return outputs * insn.in[0].channels;
    case OVERTAKE_OP_DEPTHWISE:
    case OVERTAKE_OP_MAX_POOL:
    case OVERTAKE_OP_AVERAGE_POOL:
        return outputs * positions;
    default:
        return outputs;
    }
}

} // namespace overtake::compiler
