// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Shapes of an instruction's operands against each other and against its window.  No sum or
 * product here exceeds 64 bits: dimensions are below 2^32, strides and padding below 2^16.
 */
#include "hw/decode_shapes.h"

/* Whether @height * @width * @channels is at most @most; the first product is below 2^64. */
static bool at_most(u32 most, u32 height, u32 width, u32 channels)
{
	u64 positions = (u64)height * width;

	return positions <= most && positions * channels <= most;
}

static bool kernel_size_valid(u32 height, u32 width, u32 channels)
{
	return at_most(OVERTAKE_MAX_KERNEL_ELEMENTS, height, width, channels);
}

/* Whether the products are so few that a sum times its multiplier, plus half, is below 2^63. */
static bool product_count_valid(const struct overtake_insn *insn, u32 height, u32 width,
				u32 channels)
{
	return at_most(insn->in[0].type || insn->in[1].type ? OVERTAKE_MAX_INT16_PRODUCTS :
							      OVERTAKE_MAX_KERNEL_ELEMENTS,
		       height, width, channels);
}

/*
 * Whether the last window begins inside the tensor.  The first window reaches into it because the
 * padding is below the kernel's extent, hence all windows do.
 */
static bool windows_overlap(u32 outputs, u32 stride, u32 pad, u32 inputs)
{
	return (u64)(outputs - 1) * stride < (u64)inputs + pad;
}

static bool all_windows_overlap(const struct overtake_insn *insn)
{
	return windows_overlap(insn->out.height, insn->stride_height, insn->pad_top,
			       insn->in[0].height) &&
	       windows_overlap(insn->out.width, insn->stride_width, insn->pad_left,
			       insn->in[0].width);
}

static bool same_plane(const struct overtake_operand *a, const struct overtake_operand *b)
{
	return a->height == b->height && a->width == b->width;
}

static bool same_shape(const struct overtake_insn *insn)
{
	return same_plane(&insn->in[0], &insn->out) && insn->in[0].channels == insn->out.channels;
}

static bool grouped_channels_fit(const struct overtake_insn *insn)
{
	return insn->in[0].channels % insn->groups == 0 &&
	       insn->out.channels % insn->groups == 0 &&
	       product_count_valid(insn, insn->kernel_height, insn->kernel_width,
				   insn->in[0].channels / insn->groups);
}

static bool per_channel_window_fits(const struct overtake_insn *insn)
{
	return insn->in[0].channels == insn->out.channels && all_windows_overlap(insn) &&
	       kernel_size_valid(insn->kernel_height, insn->kernel_width, 1);
}

static bool same_type(const struct overtake_insn *insn)
{
	return insn->in[0].type == insn->out.type;
}

/* Whether an element of in[0] means the same number in out. */
static bool same_numbers(const struct overtake_insn *insn)
{
	return same_type(insn) && insn->in[0].zero_point == insn->out.zero_point;
}

static bool matmul_shapes_fit(const struct overtake_insn *insn)
{
	const struct overtake_operand *b = &insn->in[1];

	return same_plane(&insn->in[0], &insn->out) &&
	       (b->height == 1 || b->height == insn->in[0].height) &&
	       b->width == insn->out.channels && b->channels == insn->in[0].channels &&
	       product_count_valid(insn, 1, 1, b->channels);
}

static bool broadcasts(u32 inputs, u32 outputs)
{
	return inputs == outputs || inputs == 1;
}

static bool operand_broadcasts(const struct overtake_operand *in,
			       const struct overtake_operand *out)
{
	return broadcasts(in->height, out->height) && broadcasts(in->width, out->width) &&
	       broadcasts(in->channels, out->channels);
}

/* Whether @outputs have room for @inputs behind @before, and a mirror has elements to mirror. */
static bool padding_fits(u32 before, u32 inputs, u32 outputs, bool reflect)
{
	u64 padded = (u64)before + inputs;

	if (padded > outputs)
		return false;
	return !reflect || (before < inputs && outputs - padded < inputs);
}

static bool pad_shapes_fit(const struct overtake_insn *insn)
{
	bool reflect = insn->flags & OVERTAKE_FLAG_REFLECT;

	return insn->in[0].channels == insn->out.channels &&
	       padding_fits(insn->pad_top, insn->in[0].height, insn->out.height, reflect) &&
	       padding_fits(insn->pad_left, insn->in[0].width, insn->out.width, reflect);
}

static bool permute_shapes_fit(const struct overtake_insn *insn)
{
	const u32 in[4] = { insn->in[0].height, insn->in[0].width, insn->in[0].channels, 0 };

	return insn->out.height == in[insn->axes & 3] &&
	       insn->out.width == in[insn->axes >> 2 & 3] &&
	       insn->out.channels == in[insn->axes >> 4 & 3];
}

/* Whether @deep has the pixels of @wide's blocks in its channels; block * block is below 2^32. */
static bool block_shapes_fit(const struct overtake_insn *insn, const struct overtake_operand *deep,
			     const struct overtake_operand *wide)
{
	u64 block = insn->kernel_height;

	return insn->kernel_height == insn->kernel_width && wide->height == deep->height * block &&
	       wide->width == deep->width * block &&
	       deep->channels % (block * block) == 0 &&
	       deep->channels / (block * block) == wide->channels;
}

static u32 reduced(const struct overtake_insn *insn, u32 axis, u32 inputs)
{
	return insn->axes & axis ? inputs : 1;
}

static bool reduce_shapes_fit(const struct overtake_insn *insn)
{
	const struct overtake_operand *in = &insn->in[0];
	u32 height = reduced(insn, OVERTAKE_AXIS_HEIGHT, in->height);
	u32 width = reduced(insn, OVERTAKE_AXIS_WIDTH, in->width);
	u32 channels = reduced(insn, OVERTAKE_AXIS_CHANNELS, in->channels);

	return insn->out.height == in->height / height && insn->out.width == in->width / width &&
	       insn->out.channels == in->channels / channels &&
	       kernel_size_valid(height, width, channels);
}

static bool picture_shapes_fit(const struct overtake_insn *insn)
{
	const struct overtake_operand *luma = &insn->in[0], *chroma = &insn->in[1];

	/* A pixel is at least as long as its channels, so there is one channel as well. */
	if (luma->pixel_stride != 1)
		return false;
	if (insn->flags & OVERTAKE_FLAG_GRAY)
		return insn->out.channels == 1;
	return insn->out.channels == 3 && chroma->channels == 2 && chroma->pixel_stride == 2 &&
	       chroma->height == luma->height / 2 + luma->height % 2 &&
	       chroma->width == luma->width / 2 + luma->width % 2;
}

bool ovt_shapes_fit(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return grouped_channels_fit(insn) && all_windows_overlap(insn);
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return grouped_channels_fit(insn);
	case OVERTAKE_OP_DEPTHWISE:
		return per_channel_window_fits(insn) &&
		       product_count_valid(insn, insn->kernel_height, insn->kernel_width, 1);
	case OVERTAKE_OP_AVERAGE_POOL:
		return per_channel_window_fits(insn);
	case OVERTAKE_OP_MAX_POOL:
		return per_channel_window_fits(insn) && same_numbers(insn);
	case OVERTAKE_OP_MATMUL:
		return matmul_shapes_fit(insn);
	case OVERTAKE_OP_ADD:
	case OVERTAKE_OP_SUB:
	case OVERTAKE_OP_MUL:
	case OVERTAKE_OP_MAX:
	case OVERTAKE_OP_MIN:
		return operand_broadcasts(&insn->in[0], &insn->out) &&
		       operand_broadcasts(&insn->in[1], &insn->out);
	case OVERTAKE_OP_COPY:
		return same_shape(insn) && same_type(insn);
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_REQUANTISE:
	case OVERTAKE_OP_QUANTISE:
	case OVERTAKE_OP_DEQUANTISE:
		return same_shape(insn);
	case OVERTAKE_OP_PAD:
		return pad_shapes_fit(insn) && same_type(insn);
	case OVERTAKE_OP_PERMUTE:
		return permute_shapes_fit(insn) && same_type(insn);
	case OVERTAKE_OP_DEPTH_TO_SPACE:
		return block_shapes_fit(insn, &insn->in[0], &insn->out) && same_type(insn);
	case OVERTAKE_OP_SPACE_TO_DEPTH:
		return block_shapes_fit(insn, &insn->out, &insn->in[0]) && same_type(insn);
	case OVERTAKE_OP_RESIZE_NEAREST:
	case OVERTAKE_OP_RESIZE_BILINEAR:
		return insn->in[0].channels == insn->out.channels && same_numbers(insn);
	case OVERTAKE_OP_REDUCE_SUM:
		return reduce_shapes_fit(insn);
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		return reduce_shapes_fit(insn) && same_numbers(insn);
	case OVERTAKE_OP_NV12:
		return picture_shapes_fit(insn);
	default:
		return true;
	}
}
