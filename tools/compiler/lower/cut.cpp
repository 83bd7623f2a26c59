// SPDX-License-Identifier: MIT
#include "compiler/lower/cut.hpp"

#include <algorithm>
#include <optional>

#include "compiler/ir/limits.hpp"
#include "compiler/lower/cost.hpp"

namespace overtake::compiler {
namespace {

// One axis of an instruction: it relates outputs to their inputs.
struct Axis {
    std::int64_t extent; // of a window
    std::int64_t stride;
    std::int64_t pad;
    std::int64_t size;  // of the input
    std::int64_t start; // of a resize
    std::int64_t step;
    bool is_reduced; // each output needs all of it
};

// The inputs that some outputs need, with the `pad` and `start` that remain before them.
struct Span {
    std::uint32_t first, count;
    std::uint16_t pad;
    std::int64_t start;
};

std::int64_t extent(std::uint16_t kernel, std::uint16_t dilation) {
    return std::int64_t{kernel - 1} * std::max<std::int64_t>(dilation, 1) + 1;
}

bool is_reduction(const overtake_insn& insn) {
    return insn.opcode == OVERTAKE_OP_REDUCE_SUM || insn.opcode == OVERTAKE_OP_REDUCE_MAX ||
           insn.opcode == OVERTAKE_OP_REDUCE_MIN;
}

Axis row_axis(const overtake_insn& insn) {
    return {extent(insn.kernel_height, insn.dilation_height),
            insn.stride_height,
            insn.pad_top,
            insn.in[0].height,
            insn.start_y,
            insn.step_y,
            is_reduction(insn) && (insn.axes & OVERTAKE_AXIS_HEIGHT) != 0};
}

Axis column_axis(const overtake_insn& insn) {
    return {extent(insn.kernel_width, insn.dilation_width),
            insn.stride_width,
            insn.pad_left,
            insn.in[0].width,
            insn.start_x,
            insn.step_x,
            is_reduction(insn) && (insn.axes & OVERTAKE_AXIS_WIDTH) != 0};
}

Span make_span(std::int64_t first, std::int64_t last, std::int64_t pad, std::int64_t start) {
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first + 1),
            static_cast<std::uint16_t>(pad), start};
}

// Returns the inputs of windows for outputs [first, first + count).
Span window_span(const Axis& axis, std::int64_t first, std::int64_t count) {
    const std::int64_t begin = first * axis.stride - axis.pad;
    const std::int64_t end = (first + count - 1) * axis.stride - axis.pad + axis.extent;
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    return make_span(from, std::min(end, axis.size) - 1, from - begin, 0);
}

// Input i reaches outputs i * stride - pad and the extent - 1 after it.
Span transposed_span(const Axis& axis, std::int64_t first, std::int64_t count) {
    const std::int64_t reached = first + axis.pad - (axis.extent - 1);
    const std::int64_t from = reached > 0 ? (reached + axis.stride - 1) / axis.stride : 0;
    const std::int64_t last = std::min((first + count - 1 + axis.pad) / axis.stride, axis.size - 1);
    return make_span(from, last, first + axis.pad - from * axis.stride, 0);
}

// Positions are clamped to the input, and a bilinear one needs its neighbour, too.
Span resize_span(const Axis& axis, std::int64_t first, std::int64_t count) {
    const std::int64_t one = std::int64_t{1} << OVERTAKE_POSITION_BITS;
    const std::int64_t start = axis.start + first * axis.step;
    const auto pixel = [&](std::int64_t position) {
        return std::clamp<std::int64_t>(position, 0, (axis.size - 1) * one) / one;
    };
    const std::int64_t from = pixel(start);
    const std::int64_t last = std::min(pixel(start + (count - 1) * axis.step) + 1, axis.size - 1);
    return make_span(from, last, 0, start - from * one);
}

Span input_span(const overtake_insn& insn, const Axis& axis, std::int64_t first,
                std::int64_t count) {
    switch (insn.opcode) {
    case OVERTAKE_OP_CONV:
    case OVERTAKE_OP_DEPTHWISE:
    case OVERTAKE_OP_MAX_POOL:
    case OVERTAKE_OP_AVERAGE_POOL:
        return window_span(axis, first, count);
    case OVERTAKE_OP_TRANSPOSED_CONV:
        return transposed_span(axis, first, count);
    case OVERTAKE_OP_RESIZE_NEAREST:
    case OVERTAKE_OP_RESIZE_BILINEAR:
        return resize_span(axis, first, count);
    case OVERTAKE_OP_DEPTH_TO_SPACE:
        return make_span(first / insn.kernel_height, (first + count) / insn.kernel_height - 1, 0,
                         0);
    case OVERTAKE_OP_SPACE_TO_DEPTH:
        return make_span(first * insn.kernel_height, (first + count) * insn.kernel_height - 1, 0,
                         0);
    default: // an output reads its own input element, the only one, or all
        if (axis.is_reduced)
            return make_span(0, axis.size - 1, 0, 0);
        if (axis.size == 1)
            return make_span(0, 0, 0, 0);
        return make_span(first, first + count - 1, 0, 0);
    }
}

bool is_convolution(const overtake_insn& insn) {
    return insn.opcode == OVERTAKE_OP_CONV || insn.opcode == OVERTAKE_OP_TRANSPOSED_CONV;
}

bool has_second_input(const overtake_insn& insn) {
    switch (insn.opcode) {
    case OVERTAKE_OP_ADD:
    case OVERTAKE_OP_SUB:
    case OVERTAKE_OP_MUL:
    case OVERTAKE_OP_MAX:
    case OVERTAKE_OP_MIN:
        return true;
    default:
        return false;
    }
}

// MATMUL: its second input has a row for each output row, or one for all rows, and a pixel for each
// output channel.
bool is_matrix_product(const overtake_insn& insn) {
    return insn.opcode == OVERTAKE_OP_MATMUL;
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
    operand.offset += std::uint64_t{first} * ovt_element_bytes(&operand);
    operand.channels = count;
}

// Narrows the input of a permutation along the axis that becomes axis `axis` (0 rows, 1 columns, 2
// channels) of the output.
void narrow_permuted(const overtake_insn& insn, overtake_operand& input, unsigned axis,
                     std::uint32_t first, std::uint32_t count) {
    switch (insn.axes >> 2 * axis & 3) {
    case 0:
        return narrow_rows(input, first, count);
    case 1:
        return narrow_columns(input, first, count);
    default:
        return narrow_channels(input, first, count);
    }
}

// A padded axis has `pad` outputs before the first of its `size` input elements.  Returns the input
// elements that outputs [first, first + count) need; Span::pad is the pad of these outputs before
// them.  Returns nothing if these outputs are all fill values.
std::optional<Span> padded_span(const overtake_insn& insn, std::int64_t pad, std::int64_t size,
                                std::int64_t first, std::int64_t count) {
    const std::int64_t begin = first - pad, end = begin + count - 1;
    if (insn.flags & OVERTAKE_FLAG_EDGE) {
        const std::int64_t from = std::clamp<std::int64_t>(begin, 0, size - 1);
        const std::int64_t last = std::clamp<std::int64_t>(end, 0, size - 1);
        const std::int64_t room = count - (last - from + 1);
        return make_span(from, last, std::clamp<std::int64_t>(from - begin, 0, room), 0);
    }
    if (end < 0 || begin >= size)
        return std::nullopt;
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    return make_span(from, std::min(end, size - 1), from - begin, 0);
}

// Returns columns [first, first + count) of all rows of a matrix, as a new matrix.
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

// Whether the instruction is PAD with REFLECT, which is not cut: a part in the pad would have to
// read its input backwards, but strides are positive.
static bool is_mirrored(const overtake_insn& insn) {
    return insn.opcode == OVERTAKE_OP_PAD && (insn.flags & OVERTAKE_FLAG_REFLECT) != 0;
}

std::uint32_t row_step(const overtake_insn& insn) {
    if (insn.opcode == OVERTAKE_OP_DEPTH_TO_SPACE)
        return insn.kernel_height;
    return is_mirrored(insn) ? insn.out.height : 1;
}

std::uint32_t column_step(const overtake_insn& insn) {
    if (insn.opcode == OVERTAKE_OP_DEPTH_TO_SPACE)
        return insn.kernel_width;
    return is_mirrored(insn) ? insn.out.width : 1;
}

// Fills `out` with `value`: an ADD with multipliers 0, clamped to [value, value].  It reads
// `readable`, which does not change the result.
overtake_insn fill_instruction(const overtake_operand& out, const overtake_operand& readable,
                               int value) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_ADD;
    insn.out = out;
    insn.in[0] = readable;
    insn.in[0].height = insn.in[0].width = insn.in[0].channels = 1;
    insn.in[1] = insn.in[0];
    insn.shift[0] = OVERTAKE_SHIFT_MIN;
    insn.clamp_min = insn.clamp_max = static_cast<std::int16_t>(value);
    return insn;
}

static overtake_insn cut_padded_rows(const overtake_insn& insn, std::uint32_t first,
                                     std::uint32_t count) {
    overtake_insn part = insn;
    narrow_rows(part.out, first, count);
    const auto span = padded_span(insn, insn.pad_top, insn.in[0].height, first, count);
    if (!span)
        return fill_instruction(part.out, insn.in[0], insn.fill);
    narrow_rows(part.in[0], span->first, span->count);
    part.pad_top = span->pad;
    return part;
}

static overtake_insn cut_padded_columns(const overtake_insn& insn, std::uint32_t first,
                                        std::uint32_t count) {
    overtake_insn part = insn;
    narrow_columns(part.out, first, count);
    const auto span = padded_span(insn, insn.pad_left, insn.in[0].width, first, count);
    if (!span)
        return fill_instruction(part.out, insn.in[0], insn.fill);
    narrow_columns(part.in[0], span->first, span->count);
    part.pad_left = span->pad;
    return part;
}

overtake_insn cut_rows(const overtake_insn& insn, std::uint32_t first, std::uint32_t count) {
    if (is_mirrored(insn)) // it cannot be cut
        return insn;
    if (insn.opcode == OVERTAKE_OP_PAD)
        return cut_padded_rows(insn, first, count);
    overtake_insn part = insn;
    if (insn.opcode == OVERTAKE_OP_NV12) {
        // The chroma has half the rows, so not every cut of the luma is one of the chroma.  The
        // inputs stay whole, and start_y moves.
        narrow_rows(part.out, first, count);
        part.start_y += std::int64_t{first} * insn.step_y;
        return part;
    }
    narrow_rows(part.out, first, count);
    if (insn.opcode == OVERTAKE_OP_PERMUTE) {
        narrow_permuted(insn, part.in[0], 0, first, count);
        return part;
    }
    const Span span = input_span(insn, row_axis(insn), first, count);
    narrow_rows(part.in[0], span.first, span.count);
    if ((has_second_input(insn) || is_matrix_product(insn)) && insn.in[1].height > 1)
        narrow_rows(part.in[1], first, count);
    part.pad_top = span.pad;
    part.start_y = span.start;
    return part;
}

overtake_insn cut_columns(const overtake_insn& insn, std::uint32_t first, std::uint32_t count) {
    if (is_mirrored(insn))
        return insn;
    if (insn.opcode == OVERTAKE_OP_PAD)
        return cut_padded_columns(insn, first, count);
    overtake_insn part = insn;
    if (insn.opcode == OVERTAKE_OP_NV12) {
        narrow_columns(part.out, first, count);
        part.start_x += std::int64_t{first} * insn.step_x;
        return part;
    }
    narrow_columns(part.out, first, count);
    if (insn.opcode == OVERTAKE_OP_PERMUTE) {
        narrow_permuted(insn, part.in[0], 1, first, count);
        return part;
    }
    const Span span = input_span(insn, column_axis(insn), first, count);
    narrow_columns(part.in[0], span.first, span.count);
    if (has_second_input(insn) && insn.in[1].width > 1)
        narrow_columns(part.in[1], first, count);
    part.pad_left = span.pad;
    part.start_x = span.start;
    return part;
}

std::uint32_t channel_step(const overtake_insn& insn) {
    if (insn.opcode == OVERTAKE_OP_DEPTH_TO_SPACE || insn.opcode == OVERTAKE_OP_SPACE_TO_DEPTH)
        return 0;
    if (!is_convolution(insn) || insn.groups == 1)
        return OVERTAKE_CHANNEL_ALIGN;
    // Takes whole groups, if they begin and end at blocks of weights and of channels.
    const std::uint32_t inputs = insn.in[0].channels / insn.groups;
    const std::uint32_t outputs = insn.out.channels / insn.groups;
    const bool aligned =
        inputs % OVERTAKE_CHANNEL_ALIGN == 0 && outputs % OVERTAKE_CHANNEL_ALIGN == 0;
    return aligned ? outputs : 0;
}

static bool reduces_channels(const overtake_insn& insn) {
    return is_reduction(insn) && (insn.axes & OVERTAKE_AXIS_CHANNELS) != 0;
}

overtake_insn channel_shape(const overtake_insn& insn, std::uint32_t first, std::uint32_t count) {
    overtake_insn part = insn;
    narrow_channels(part.out, first, count);
    if (insn.opcode == OVERTAKE_OP_PERMUTE) {
        narrow_permuted(insn, part.in[0], 2, first, count);
    } else if (is_matrix_product(insn)) {
        narrow_columns(part.in[1], first, count);
    } else if (!is_convolution(insn)) {
        if (insn.in[0].channels > 1 && !reduces_channels(insn))
            narrow_channels(part.in[0], first, count);
        if (has_second_input(insn) && insn.in[1].channels > 1)
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
    return cost(channel_shape(insn, 0, count), profile);
}

overtake_insn cut_channels(const overtake_insn& insn, std::uint32_t first, std::uint32_t count,
                           Constants& constants) {
    overtake_insn part = channel_shape(insn, first, count);
    const bool is_dense = is_convolution(insn);
    const bool is_depthwise = insn.opcode == OVERTAKE_OP_DEPTHWISE;
    const std::size_t positions = std::size_t{insn.kernel_height} * insn.kernel_width;
    if (is_dense && first > 0) { // blocks of output channels follow each other
        const overtake_insn before = channel_shape(insn, 0, first);
        part.weights_offset += ovt_insn_weights_bytes(&before);
    }
    if (is_depthwise)
        part.weights_offset = constants.append(std::span<const std::int8_t>(
            slice<std::int8_t>(constants, insn.weights_offset, positions,
                               whole_pixel(insn.out.channels), first, whole_pixel(count))));
    if (is_dense || is_depthwise || is_matrix_product(insn))
        part.params_offset = constants.append(std::span<const std::uint32_t>(
            slice<std::uint32_t>(constants, insn.params_offset, 3, whole_pixel(insn.out.channels),
                                 first, whole_pixel(count))));
    return part;
}

} // namespace overtake::compiler
