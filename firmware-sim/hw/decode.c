// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The instruction decoder: an operator gets only instructions that this file has accepted.
 *
 * The order of the checks is: opcode, fields that must be zero, ranges of the fields, shapes
 * against each other, and last the regions.  All arithmetic is on u64 and cannot overflow:
 * comments of the functions give the reasons.
 */
#include "hw/decode.h"
#include "hw/decode_shapes.h"

/* Fields that an opcode uses.  All other fields of its instruction are zero. */
#define USES_INPUT	0x00001	/* out and in[0] */
#define USES_INPUT1	0x00002
#define USES_WEIGHTS	0x00004
#define USES_PARAMS	0x00008
#define USES_KERNEL	0x00010
#define USES_STRIDE	0x00020
#define USES_PAD	0x00040	/* above and left */
#define USES_PAD_AFTER	0x00080	/* below and right */
#define USES_DILATION	0x00100
#define USES_CLAMP	0x00200
#define USES_SCALE	0x00400	/* multiplier[0] and shift[0] */
#define USES_SCALE1	0x00800	/* multiplier[1] */
#define USES_GROUPS	0x01000
#define USES_DELAY	0x02000
#define USES_JUMP	0x04000
#define USES_POSITION	0x08000	/* start and step */
#define USES_FILL	0x10000
#define USES_AXES	0x20000

/* Kinds of its operands, if they are not signed bytes checked with channels rounded up. */
#define EXACT		0x100000	/* channels are not rounded up for the bound check */
#define FLOAT_INPUT	0x200000
#define FLOAT_OUTPUT	0x400000
#define PICTURE		0x800000	/* in[0] and in[1] are planes of unsigned bytes */

#define USES_WINDOW	(USES_KERNEL | USES_STRIDE | USES_PAD)
#define USES_TWO	(USES_INPUT | USES_INPUT1 | USES_CLAMP | USES_SCALE)

struct opcode_rule {
	u32 uses;
	u32 flags;	/* OVERTAKE_FLAG_* it knows */
};

static const struct opcode_rule opcode_rules[OVERTAKE_OP_COUNT] = {
	[OVERTAKE_OP_CONV] = {
		USES_INPUT | USES_WEIGHTS | USES_PARAMS | USES_WINDOW | USES_DILATION |
		USES_CLAMP | USES_GROUPS, 0 },
	[OVERTAKE_OP_DEPTHWISE] = {
		USES_INPUT | USES_WEIGHTS | USES_PARAMS | USES_WINDOW | USES_DILATION |
		USES_CLAMP, 0 },
	[OVERTAKE_OP_MATMUL] = {
		USES_INPUT | USES_INPUT1 | USES_PARAMS | USES_CLAMP, 0 },
	[OVERTAKE_OP_ADD] = { USES_TWO | USES_SCALE1, 0 },
	[OVERTAKE_OP_MAX_POOL] = {
		USES_INPUT | USES_WINDOW | USES_DILATION | USES_CLAMP, 0 },
	[OVERTAKE_OP_AVERAGE_POOL] = {
		USES_INPUT | USES_PARAMS | USES_WINDOW | USES_CLAMP,
		OVERTAKE_FLAG_COUNT_INCLUDE_PAD | OVERTAKE_FLAG_CLIP_PAD },
	[OVERTAKE_OP_TABLE] = { USES_INPUT | USES_WEIGHTS, 0 },
	[OVERTAKE_OP_COPY] = { USES_INPUT | EXACT, 0 },
	[OVERTAKE_OP_DELAY] = { USES_DELAY, 0 },
	[OVERTAKE_OP_JUMP] = { USES_JUMP, 0 },
	[OVERTAKE_OP_SUB] = { USES_TWO | USES_SCALE1, 0 },
	[OVERTAKE_OP_MUL] = { USES_TWO, 0 },
	[OVERTAKE_OP_MAX] = { USES_TWO | USES_SCALE1, 0 },
	[OVERTAKE_OP_MIN] = { USES_TWO | USES_SCALE1, 0 },
	[OVERTAKE_OP_REQUANTISE] = { USES_INPUT | USES_CLAMP | USES_SCALE, 0 },
	[OVERTAKE_OP_TRANSPOSED_CONV] = {
		USES_INPUT | USES_WEIGHTS | USES_PARAMS | USES_WINDOW | USES_DILATION |
		USES_CLAMP | USES_GROUPS, 0 },
	[OVERTAKE_OP_PAD] = {
		USES_INPUT | USES_PAD | USES_FILL | EXACT,
		OVERTAKE_FLAG_EDGE | OVERTAKE_FLAG_REFLECT },
	[OVERTAKE_OP_PERMUTE] = { USES_INPUT | USES_AXES | EXACT, 0 },
	[OVERTAKE_OP_DEPTH_TO_SPACE] = { USES_INPUT | USES_KERNEL | EXACT, OVERTAKE_FLAG_CRD },
	[OVERTAKE_OP_SPACE_TO_DEPTH] = { USES_INPUT | USES_KERNEL | EXACT, 0 },
	[OVERTAKE_OP_RESIZE_NEAREST] = { USES_INPUT | USES_POSITION, 0 },
	[OVERTAKE_OP_RESIZE_BILINEAR] = { USES_INPUT | USES_POSITION, 0 },
	[OVERTAKE_OP_REDUCE_SUM] = { USES_INPUT | USES_AXES | USES_CLAMP | USES_SCALE | EXACT, 0 },
	[OVERTAKE_OP_REDUCE_MAX] = { USES_INPUT | USES_AXES | USES_CLAMP | EXACT, 0 },
	[OVERTAKE_OP_REDUCE_MIN] = { USES_INPUT | USES_AXES | USES_CLAMP | EXACT, 0 },
	[OVERTAKE_OP_QUANTISE] = {
		USES_INPUT | USES_CLAMP | USES_SCALE | FLOAT_INPUT | EXACT, 0 },
	[OVERTAKE_OP_DEQUANTISE] = { USES_INPUT | USES_WEIGHTS | FLOAT_OUTPUT | EXACT, 0 },
	[OVERTAKE_OP_NV12] = {
		USES_INPUT | USES_INPUT1 | USES_PARAMS | USES_POSITION | USES_CLAMP |
		PICTURE | EXACT,
		OVERTAKE_FLAG_NEAREST | OVERTAKE_FLAG_FULL_RANGE | OVERTAKE_FLAG_BGR |
		OVERTAKE_FLAG_GRAY },
};

/* Returns the USES_* of @insn: its opcode's, changed by its flags and the type of its input. */
static u32 insn_uses(const struct overtake_insn *insn, const struct opcode_rule *rule)
{
	u32 uses = rule->uses;

	/* A table of words for 2^16 elements would take 256 KiB: a scale takes its place. */
	if ((uses & FLOAT_OUTPUT) && insn->in[0].type)
		uses = (uses & ~USES_WEIGHTS) | USES_SCALE;
	if (insn->flags & OVERTAKE_FLAG_CLIP_PAD)
		uses |= USES_PAD_AFTER;
	if (insn->flags & (OVERTAKE_FLAG_EDGE | OVERTAKE_FLAG_REFLECT))
		uses &= ~USES_FILL;
	if (insn->flags & OVERTAKE_FLAG_GRAY)
		uses &= ~USES_INPUT1;
	return uses;
}

static u64 round_up_channels(u32 channels)
{
	return ((u64)channels + OVERTAKE_CHANNEL_ALIGN - 1) / OVERTAKE_CHANNEL_ALIGN *
	       OVERTAKE_CHANNEL_ALIGN;
}

/* Below 2^60: groups * blocks is below 2^33, one block of accepted windows below 2^24 bytes. */
static u64 conv_weights_bytes(const struct overtake_insn *insn)
{
	u64 output_blocks = round_up_channels(insn->out.channels / insn->groups) /
			    OVERTAKE_WEIGHT_BLOCK;
	u64 inputs = insn->in[0].channels / insn->groups;
	u64 tiles = (inputs + OVERTAKE_WEIGHT_INPUTS - 1) / OVERTAKE_WEIGHT_INPUTS;

	return insn->groups * output_blocks * insn->kernel_height * insn->kernel_width *
	       tiles * OVERTAKE_WEIGHT_TILE;
}

static u64 table_bytes(const struct overtake_insn *insn)
{
	u64 elements = insn->in[0].type ? OVERTAKE_INT16_TABLE_ELEMENTS : OVERTAKE_TABLE_BYTES;

	return elements * ovt_element_bytes(&insn->out);
}

u64 ovt_insn_weights_bytes(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return conv_weights_bytes(insn);
	case OVERTAKE_OP_DEPTHWISE:
		return (u64)insn->kernel_height * insn->kernel_width *
		       round_up_channels(insn->out.channels);
	case OVERTAKE_OP_TABLE:
		return table_bytes(insn);
	case OVERTAKE_OP_DEQUANTISE:
		return insn->in[0].type ? 0 : OVERTAKE_FLOAT_TABLE_BYTES;
	default:
		return 0;
	}
}

u64 ovt_insn_params_bytes(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_TRANSPOSED_CONV:
	case OVERTAKE_OP_MATMUL:
	case OVERTAKE_OP_NV12:
		return 3 * sizeof(u32) * round_up_channels(insn->out.channels);
	case OVERTAKE_OP_AVERAGE_POOL:
		return 2 * sizeof(u32) * (u64)insn->kernel_height * insn->kernel_width;
	default:
		return 0;
	}
}

static bool all_zero(const void *bytes, size_t size)
{
	const u8 *byte = bytes;
	size_t i;

	for (i = 0; i < size; i++) {
		if (byte[i])
			return false;
	}
	return true;
}

static bool operand_zero(const struct overtake_operand *operand)
{
	return all_zero(operand, sizeof(*operand));
}

static bool unused_operands_zero(const struct overtake_insn *insn, u32 uses)
{
	if (!(uses & USES_INPUT) && !(operand_zero(&insn->out) && operand_zero(&insn->in[0])))
		return false;
	if (!(uses & USES_INPUT1) && !operand_zero(&insn->in[1]))
		return false;
	if (!(uses & USES_WEIGHTS) && (insn->weights_offset || insn->weights_region))
		return false;
	return (uses & USES_PARAMS) || !(insn->params_offset || insn->params_region);
}

static bool unused_window_zero(const struct overtake_insn *insn, u32 uses)
{
	if (!(uses & USES_KERNEL) && (insn->kernel_height || insn->kernel_width))
		return false;
	if (!(uses & USES_STRIDE) && (insn->stride_height || insn->stride_width))
		return false;
	if (!(uses & USES_PAD) && (insn->pad_top || insn->pad_left))
		return false;
	if (!(uses & USES_PAD_AFTER) && (insn->pad_bottom || insn->pad_right))
		return false;
	return (uses & USES_DILATION) || !(insn->dilation_height || insn->dilation_width);
}

static bool unused_scales_zero(const struct overtake_insn *insn, u32 uses)
{
	if (!(uses & USES_CLAMP) && (insn->clamp_min || insn->clamp_max))
		return false;
	if (!(uses & USES_SCALE) && (insn->multiplier[0] || insn->shift[0]))
		return false;
	if (!(uses & USES_SCALE1) && insn->multiplier[1])
		return false;
	return !insn->shift[1];
}

static bool unused_scalars_zero(const struct overtake_insn *insn, u32 uses)
{
	if (!(uses & USES_GROUPS) && insn->groups)
		return false;
	if (!(uses & USES_DELAY) && insn->delay_cycles)
		return false;
	if (!(uses & USES_JUMP) && insn->jump_target)
		return false;
	if (!(uses & USES_POSITION) &&
	    (insn->start_y || insn->start_x || insn->step_y || insn->step_x))
		return false;
	if (!(uses & USES_FILL) && insn->fill)
		return false;
	if (!(uses & USES_AXES) && insn->axes)
		return false;
	return all_zero(insn->reserved, sizeof(insn->reserved));
}

/* Whether this version knows the type of @operand. */
static bool type_known(const struct overtake_operand *operand)
{
	return operand->type <= OVERTAKE_TYPE_INT16;
}

/* Whether all types are known, and float tensors and pictures have neither type nor zero point. */
static bool unused_types_zero(const struct overtake_insn *insn, u32 uses)
{
	if ((uses & FLOAT_OUTPUT) && (insn->out.zero_point || insn->out.type))
		return false;
	if ((uses & (FLOAT_INPUT | PICTURE)) && (insn->in[0].zero_point || insn->in[0].type))
		return false;
	if ((uses & PICTURE) && (insn->in[1].zero_point || insn->in[1].type || insn->out.type))
		return false;
	return type_known(&insn->out) && type_known(&insn->in[0]) && type_known(&insn->in[1]);
}

/* Whether operands of 16 bits have no zero point: their range around 0 is wide enough. */
static bool wide_zero_points_zero(const struct overtake_insn *insn)
{
	return !(insn->out.type && insn->out.zero_point) &&
	       !(insn->in[0].type && insn->in[0].zero_point) &&
	       !(insn->in[1].type && insn->in[1].zero_point);
}

static bool unused_zero(const struct overtake_insn *insn, u32 uses)
{
	return unused_operands_zero(insn, uses) && unused_window_zero(insn, uses) &&
	       unused_scales_zero(insn, uses) && unused_scalars_zero(insn, uses) &&
	       unused_types_zero(insn, uses) && wide_zero_points_zero(insn);
}

/* How the elements of a tensor lie in memory. */
struct layout {
	u32 element;	/* bytes */
	u32 alignment;	/* of the strides, bytes */
	bool exact;
};

#define OUTPUT	2u	/* beside the inputs 0 and 1 */

static struct layout operand_layout(const struct overtake_operand *operand, u32 uses, u32 index)
{
	struct layout layout = { ovt_element_bytes(operand), OVERTAKE_CHANNEL_ALIGN, uses & EXACT };

	if (uses & (index == OUTPUT ? FLOAT_OUTPUT : FLOAT_INPUT)) {
		layout.element = sizeof(u32);
		layout.alignment = sizeof(u32);
	} else if ((uses & PICTURE) && index != OUTPUT) {
		layout.alignment = index + 1;
	}
	return layout;
}

static bool operand_fields_valid(const struct overtake_operand *operand, struct layout layout)
{
	if (!operand->height || !operand->width || !operand->channels)
		return false;
	if (operand->zero_point < -128 || operand->zero_point > 127)
		return false;
	if (operand->pixel_stride % layout.alignment ||
	    operand->pixel_stride < (u64)operand->channels * layout.element)
		return false;
	if (operand->row_stride % layout.element || operand->offset % layout.element)
		return false;
	return operand->row_stride >= (u64)operand->width * operand->pixel_stride;
}

static bool operands_valid(const struct overtake_insn *insn, u32 uses)
{
	if ((uses & USES_INPUT) &&
	    !(operand_fields_valid(&insn->out, operand_layout(&insn->out, uses, OUTPUT)) &&
	      operand_fields_valid(&insn->in[0], operand_layout(&insn->in[0], uses, 0))))
		return false;
	return !(uses & USES_INPUT1) ||
	       operand_fields_valid(&insn->in[1], operand_layout(&insn->in[1], uses, 1));
}

/* The extent of a kernel is below 2^32: 65534 * 65535 + 1. */
static bool window_fields_valid(const struct overtake_insn *insn)
{
	u32 height, width;

	if (!insn->kernel_height || !insn->kernel_width)
		return false;
	if (!insn->stride_height || !insn->stride_width)
		return false;
	height = (insn->kernel_height - 1u) * ovt_dilation(insn->dilation_height) + 1;
	width = (insn->kernel_width - 1u) * ovt_dilation(insn->dilation_width) + 1;
	return insn->pad_top < height && insn->pad_left < width &&
	       (!insn->pad_bottom || insn->pad_bottom < height) &&
	       (!insn->pad_right || insn->pad_right < width);
}

/* Whether @value, a field of the instruction that is an element of out, is in its range. */
static bool is_output_value(const struct overtake_insn *insn, s32 value)
{
	return insn->out.type ? value >= -32768 && value <= 32767 : value >= -128 && value <= 127;
}

static bool clamp_fields_valid(const struct overtake_insn *insn)
{
	return is_output_value(insn, insn->clamp_min) && is_output_value(insn, insn->clamp_max) &&
	       insn->clamp_min <= insn->clamp_max;
}

static bool scale_fields_valid(const struct overtake_insn *insn)
{
	return insn->multiplier[0] <= OVERTAKE_MULTIPLIER_MAX &&
	       insn->multiplier[1] <= OVERTAKE_MULTIPLIER_MAX &&
	       insn->shift[0] >= OVERTAKE_SHIFT_MIN && insn->shift[0] <= OVERTAKE_SHIFT_MAX;
}

/* Whether start and step are in range, so that no position overflows: 2^52 + 2^32 * 2^30. */
static bool position_fields_valid(const struct overtake_insn *insn)
{
	return insn->start_y >= -OVERTAKE_START_MAX && insn->start_y <= OVERTAKE_START_MAX &&
	       insn->start_x >= -OVERTAKE_START_MAX && insn->start_x <= OVERTAKE_START_MAX &&
	       insn->step_y <= OVERTAKE_STEP_MAX && insn->step_x <= OVERTAKE_STEP_MAX;
}

/* Whether axes are three, each once (PERMUTE), or at least one of three (REDUCE_*). */
static bool axes_valid(const struct overtake_insn *insn)
{
	u32 first = insn->axes & 3, second = insn->axes >> 2 & 3, third = insn->axes >> 4;

	if (insn->opcode != OVERTAKE_OP_PERMUTE)
		return insn->axes && insn->axes <= (OVERTAKE_AXIS_HEIGHT | OVERTAKE_AXIS_WIDTH |
						    OVERTAKE_AXIS_CHANNELS);
	return third < 3 && (1u << first | 1u << second | 1u << third) == 7;
}

/* Whether no flags exclude each other, and none lacks another flag that it needs. */
static bool flags_valid(const struct overtake_insn *insn)
{
	const u32 reflected_edge = OVERTAKE_FLAG_EDGE | OVERTAKE_FLAG_REFLECT;
	const u32 blue_gray = OVERTAKE_FLAG_BGR | OVERTAKE_FLAG_GRAY;

	if ((insn->flags & OVERTAKE_FLAG_CLIP_PAD) &&
	    !(insn->flags & OVERTAKE_FLAG_COUNT_INCLUDE_PAD))
		return false;
	return (insn->flags & reflected_edge) != reflected_edge &&
	       (insn->flags & blue_gray) != blue_gray;
}

static bool scalars_valid(const struct overtake_insn *insn, u32 uses)
{
	if ((uses & USES_FILL) && !is_output_value(insn, insn->fill))
		return false;
	if ((uses & USES_AXES) && !axes_valid(insn))
		return false;
	if ((uses & USES_POSITION) && !position_fields_valid(insn))
		return false;
	if ((uses & USES_GROUPS) && !insn->groups)
		return false;
	return !(uses & USES_DELAY) ||
	       (insn->delay_cycles && insn->delay_cycles <= OVERTAKE_DELAY_CYCLES_MAX);
}

static bool fields_valid(const struct overtake_insn *insn, u32 uses)
{
	if (!operands_valid(insn, uses) || !flags_valid(insn))
		return false;
	if ((uses & USES_STRIDE) && !window_fields_valid(insn))
		return false;
	if ((uses & USES_KERNEL) && !(insn->kernel_height && insn->kernel_width))
		return false;
	if ((uses & USES_CLAMP) && !clamp_fields_valid(insn))
		return false;
	if ((uses & USES_SCALE) && !scale_fields_valid(insn))
		return false;
	if ((uses & FLOAT_OUTPUT) && insn->weights_offset % sizeof(u32))
		return false;
	return scalars_valid(insn, uses) && insn->params_offset % sizeof(u32) == 0;
}

/* Finds @bytes from @offset of region @index, if the region permits @access there. */
static u32 resolve_span(const struct ovt_region *regions, u32 index, u64 offset, u64 bytes,
			u32 access, u8 **place)
{
	const struct ovt_region *region;

	if (index >= OVERTAKE_MAX_REGIONS)
		return OVERTAKE_FAULT_REGION;
	region = &regions[ovt_index_nospec(index, OVERTAKE_MAX_REGIONS)];
	if (!region->length)
		return OVERTAKE_FAULT_REGION;
	if ((region->flags & access) != access)
		return OVERTAKE_FAULT_PERMISSION;
	if (bytes > OVERTAKE_MAX_TENSOR_BYTES || offset > region->length ||
	    bytes > region->length - offset)
		return OVERTAKE_FAULT_BOUNDS;
	*place = region->base + offset;
	return OVERTAKE_FAULT_NONE;
}

/*
 * Valid fields make a row's bytes at most row_stride, and rounding up its channels adds less than
 * 16, so the sum is at most height * row_stride + 16, below 2^64.
 */
static u64 operand_span(const struct overtake_operand *operand, struct layout layout)
{
	u64 channels = layout.exact ? operand->channels : round_up_channels(operand->channels);

	return (u64)(operand->height - 1) * operand->row_stride +
	       (u64)(operand->width - 1) * operand->pixel_stride + channels * layout.element;
}

static u32 resolve_output(const struct ovt_region *regions, const struct overtake_insn *insn,
			  u32 uses, u8 **place)
{
	return resolve_span(regions, insn->out.region, insn->out.offset,
			    operand_span(&insn->out, operand_layout(&insn->out, uses, OUTPUT)),
			    OVT_REGION_WRITE, place);
}

static u32 resolve_input(const struct ovt_region *regions, const struct overtake_insn *insn,
			 u32 uses, u32 index, const u8 **place)
{
	const struct overtake_operand *operand = &insn->in[index];
	u8 *input = NULL;
	u32 fault = resolve_span(regions, operand->region, operand->offset,
				 operand_span(operand, operand_layout(operand, uses, index)),
				 OVT_REGION_READ, &input);

	*place = input;
	return fault;
}

static u32 resolve_constants(const struct ovt_region *regions, u32 region, u64 offset, u64 bytes,
			     const u8 **place)
{
	u8 *constants = NULL;
	u32 fault = resolve_span(regions, region, offset, bytes, OVT_REGION_READ, &constants);

	*place = constants;
	return fault;
}

static u32 resolve_all(const struct overtake_insn *insn, u32 uses,
		       const struct ovt_region *regions, struct ovt_operands *operands)
{
	u32 fault = OVERTAKE_FAULT_NONE;

	if (uses & USES_INPUT)
		fault = resolve_output(regions, insn, uses, &operands->out);
	if (!fault && (uses & USES_INPUT))
		fault = resolve_input(regions, insn, uses, 0, &operands->in[0]);
	if (!fault && (uses & USES_INPUT1))
		fault = resolve_input(regions, insn, uses, 1, &operands->in[1]);
	if (!fault && (uses & USES_WEIGHTS))
		fault = resolve_constants(regions, insn->weights_region, insn->weights_offset,
					  ovt_insn_weights_bytes(insn), &operands->weights);
	if (!fault && (uses & USES_PARAMS))
		fault = resolve_constants(regions, insn->params_region, insn->params_offset,
					  ovt_insn_params_bytes(insn), &operands->params);
	return fault;
}

u32 ovt_insn_check(const struct overtake_insn *insn, const struct ovt_region *regions,
		   struct ovt_operands *operands)
{
	const struct opcode_rule *rule;
	u32 uses, fault;

	/* No operand of another instruction is used with this one, even under speculation. */
	memset(operands, 0, sizeof(*operands));
	if (insn->opcode >= OVERTAKE_OP_COUNT)
		return OVERTAKE_FAULT_OPCODE;
	rule = &opcode_rules[ovt_index_nospec((u32)insn->opcode, OVERTAKE_OP_COUNT)];
	if (!rule->uses)
		return OVERTAKE_FAULT_OPCODE;
	uses = insn_uses(insn, rule);
	if ((insn->flags & ~rule->flags) || !unused_zero(insn, uses))
		return OVERTAKE_FAULT_RESERVED;
	if (!fields_valid(insn, uses))
		return OVERTAKE_FAULT_FIELD;
	if (!ovt_shapes_fit(insn))
		return OVERTAKE_FAULT_SHAPE;
	fault = resolve_all(insn, uses, regions, operands);
	/* No operand is accessed, even speculatively, before the checks above are decided. */
	ovt_barrier_nospec();
	return fault;
}
