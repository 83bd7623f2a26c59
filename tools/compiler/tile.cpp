// SPDX-License-Identifier: MIT
#include "tile.hpp"

#include <algorithm>

namespace overtake::compiler {
namespace {

// One axis of a windowed operator.  Operators without a window are windows of one.
struct Axis {
    std::int64_t kernel, stride, pad, size;
};

struct Span {
    std::uint32_t first, count, pad;
};

// The input positions that outputs [first, first + count) read, and the padding in front of them.
Span input_span(const Axis& axis, std::uint32_t first, std::uint32_t count) {
    const std::int64_t begin = std::int64_t{first} * axis.stride - axis.pad;
    const std::int64_t end =
        (std::int64_t{first} + count - 1) * axis.stride - axis.pad + axis.kernel;
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    return {static_cast<std::uint32_t>(from),
            static_cast<std::uint32_t>(std::min(end, axis.size) - from),
            static_cast<std::uint32_t>(from - begin)};
}

bool has_window(const overtake_insn& insn) {
    return insn.kernel_height > 0;
}

bool has_second_input(const overtake_insn& insn) {
    return insn.opcode == OVERTAKE_OP_ADD;
}

void narrow_rows(overtake_operand& operand, std::uint32_t first, std::uint32_t count) {
    operand.offset += std::uint64_t{first} * operand.row_stride;
    operand.height = count;
}

void narrow_columns(overtake_operand& operand, std::uint32_t first, std::uint32_t count) {
    operand.offset += std::uint64_t{first} * operand.pixel_stride;
    operand.width = count;
}

void narrow_channels(overtake_operand& operand, std::uint32_t first, std::uint32_t count) {
    operand.offset += first;
    operand.channels = count;
}

std::uint32_t round_up(std::uint32_t channels) {
    return (channels + OVERTAKE_CHANNEL_ALIGN - 1) / OVERTAKE_CHANNEL_ALIGN *
           OVERTAKE_CHANNEL_ALIGN;
}

// Rows [first, first + count) of a matrix of bytes, as a new matrix.
template <typename Element>
std::vector<Element> slice(const Constants& constants, std::uint64_t offset, std::size_t rows,
                           std::size_t columns, std::size_t first, std::size_t count) {
    std::vector<Element> result(rows * count);
    for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(result.data() + row * count,
                    constants.bytes().data() + offset + (row * columns + first) * sizeof(Element),
                    count * sizeof(Element));
    return result;
}

} // namespace

overtake_insn cut_rows(const overtake_insn& insn, std::uint32_t first, std::uint32_t count) {
    overtake_insn part = insn;
    narrow_rows(part.out, first, count);
    if (has_window(insn)) {
        const Span span =
            input_span({insn.kernel_height, insn.stride_height, insn.pad_top, insn.in[0].height},
                       first, count);
        narrow_rows(part.in[0], span.first, span.count);
        part.pad_top = static_cast<std::uint16_t>(span.pad);
        return part;
    }
    narrow_rows(part.in[0], first, count);
    if (has_second_input(insn))
        narrow_rows(part.in[1], first, count);
    return part;
}

overtake_insn cut_columns(const overtake_insn& insn, std::uint32_t first, std::uint32_t count) {
    overtake_insn part = insn;
    narrow_columns(part.out, first, count);
    if (has_window(insn)) {
        const Span span = input_span(
            {insn.kernel_width, insn.stride_width, insn.pad_left, insn.in[0].width}, first, count);
        narrow_columns(part.in[0], span.first, span.count);
        part.pad_left = static_cast<std::uint16_t>(span.pad);
        return part;
    }
    narrow_columns(part.in[0], first, count);
    if (has_second_input(insn))
        narrow_columns(part.in[1], first, count);
    return part;
}

std::uint32_t channel_step(const overtake_insn& insn) {
    if (insn.opcode != OVERTAKE_OP_CONV || insn.groups == 1)
        return OVERTAKE_CHANNEL_ALIGN;
    // Whole groups, where they begin and end at blocks of weights and of channels.
    const std::uint32_t inputs = insn.in[0].channels / insn.groups;
    const std::uint32_t outputs = insn.out.channels / insn.groups;
    const bool aligned =
        inputs % OVERTAKE_CHANNEL_ALIGN == 0 && outputs % OVERTAKE_CHANNEL_ALIGN == 0;
    return aligned ? outputs : 0;
}

// A cut without its constants: shapes only, which is what the cycle model looks at.
static overtake_insn narrow_all_channels(const overtake_insn& insn, std::uint32_t first,
                                         std::uint32_t count) {
    overtake_insn part = insn;
    narrow_channels(part.out, first, count);
    if (insn.opcode != OVERTAKE_OP_CONV) {
        narrow_channels(part.in[0], first, count);
        if (has_second_input(insn))
            narrow_channels(part.in[1], first, count);
    } else if (insn.groups > 1) {
        const std::uint32_t outputs = insn.out.channels / insn.groups;
        const std::uint32_t inputs = insn.in[0].channels / insn.groups;
        narrow_channels(part.in[0], first / outputs * inputs, count / outputs * inputs);
        part.groups = count / outputs;
    }
    return part;
}

std::uint64_t channel_cut_cycles(const ovt_profile& profile, const overtake_insn& insn,
                                 std::uint32_t count) {
    const overtake_insn part = narrow_all_channels(insn, 0, count);
    return ovt_insn_cycles(&profile, &part);
}

overtake_insn cut_channels(const overtake_insn& insn, std::uint32_t first, std::uint32_t count,
                           Constants& constants) {
    overtake_insn part = narrow_all_channels(insn, first, count);
    const bool is_convolution = insn.opcode == OVERTAKE_OP_CONV;
    const bool is_depthwise = insn.opcode == OVERTAKE_OP_DEPTHWISE;
    const std::size_t positions = std::size_t{insn.kernel_height} * insn.kernel_width;
    if (is_convolution && first > 0) { // blocks of output channels lie one behind the other
        const overtake_insn before = narrow_all_channels(insn, 0, first);
        part.weights_offset += ovt_insn_weights_bytes(&before);
    }
    if (is_depthwise)
        part.weights_offset = constants.append(std::span<const std::int8_t>(
            slice<std::int8_t>(constants, insn.weights_offset, positions,
                               round_up(insn.out.channels), first, round_up(count))));
    if (is_convolution || is_depthwise)
        part.params_offset = constants.append(std::span<const std::uint32_t>(
            slice<std::uint32_t>(constants, insn.params_offset, 3, round_up(insn.out.channels),
                                 first, round_up(count))));
    return part;
}

} // namespace overtake::compiler
