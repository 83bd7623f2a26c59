// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Instruction decoder: nothing reaches an operator that this file has not accepted.
 *
 * Order of the checks: opcode, fields that must be zero, ranges of the fields, shapes
 * against each other, and last the regions.  All arithmetic is on u64 and cannot overflow:
 * each function says why.
 */
#include "hw/decode.h"

/* What an opcode uses.  Everything else in its instruction is zero. */
#define USES_INPUT	0x001	/* out and in[0] */
#define USES_INPUT1	0x002
#define USES_WEIGHTS	0x004
#define USES_PARAMS	0x008
#define USES_WINDOW	0x010	/* kernel, stride and padding */
#define USES_CLAMP	0x020
#define USES_SCALES	0x040	/* multiplier[] and shift[0] */
#define USES_GROUPS	0x080
#define USES_DELAY	0x100
#define USES_JUMP	0x200

struct opcode_rule {
	u16 uses;
	u16 flags;	/* OVERTAKE_FLAG_* it knows */
};

static const struct opcode_rule opcode_rules[OVERTAKE_OP_COUNT] = {
	[OVERTAKE_OP_CONV] = {
		USES_INPUT | USES_WEIGHTS | USES_PARAMS | USES_WINDOW | USES_CLAMP | USES_GROUPS,
		0 },
	[OVERTAKE_OP_DEPTHWISE] = {
		USES_INPUT | USES_WEIGHTS | USES_PARAMS | USES_WINDOW | USES_CLAMP, 0 },
	[OVERTAKE_OP_MATMUL] = {
		USES_INPUT | USES_INPUT1 | USES_PARAMS | USES_CLAMP, 0 },
	[OVERTAKE_OP_ADD] = {
		USES_INPUT | USES_INPUT1 | USES_CLAMP | USES_SCALES, 0 },
	[OVERTAKE_OP_MAX_POOL] = {
		USES_INPUT | USES_WINDOW | USES_CLAMP, 0 },
	[OVERTAKE_OP_AVERAGE_POOL] = {
		USES_INPUT | USES_PARAMS | USES_WINDOW | USES_CLAMP,
		OVERTAKE_FLAG_COUNT_INCLUDE_PAD },
	[OVERTAKE_OP_TABLE] = { USES_INPUT | USES_WEIGHTS, 0 },
	[OVERTAKE_OP_COPY] = { USES_INPUT, 0 },
	[OVERTAKE_OP_DELAY] = { USES_DELAY, 0 },
	[OVERTAKE_OP_JUMP] = { USES_JUMP, 0 },
};

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

u64 ovt_insn_weights_bytes(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return conv_weights_bytes(insn);
	case OVERTAKE_OP_DEPTHWISE:
		return (u64)insn->kernel_height * insn->kernel_width *
		       round_up_channels(insn->out.channels);
	case OVERTAKE_OP_TABLE:
		return OVERTAKE_TABLE_BYTES;
	default:
		return 0;
	}
}

u64 ovt_insn_params_bytes(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MATMUL:
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
	if (!(uses & USES_PARAMS) && (insn->params_offset || insn->params_region))
		return false;
	return !insn->out.reserved && !insn->in[0].reserved && !insn->in[1].reserved;
}

static bool unused_window_zero(const struct overtake_insn *insn, u32 uses)
{
	if (uses & USES_WINDOW)
		return true;
	return !insn->kernel_height && !insn->kernel_width && !insn->stride_height &&
	       !insn->stride_width && !insn->pad_top && !insn->pad_left;
}

static bool unused_scalars_zero(const struct overtake_insn *insn, u32 uses)
{
	if (!(uses & USES_CLAMP) && (insn->clamp_min || insn->clamp_max))
		return false;
	if (!(uses & USES_SCALES) && (insn->multiplier[0] || insn->multiplier[1] || insn->shift[0]))
		return false;
	if (!(uses & USES_GROUPS) && insn->groups)
		return false;
	if (!(uses & USES_DELAY) && insn->delay_cycles)
		return false;
	if (!(uses & USES_JUMP) && insn->jump_target)
		return false;
	return !insn->shift[1] && all_zero(insn->reserved, sizeof(insn->reserved));
}

static bool operand_fields_valid(const struct overtake_operand *operand)
{
	if (!operand->height || !operand->width || !operand->channels)
		return false;
	if (operand->zero_point < -128 || operand->zero_point > 127)
		return false;
	if (operand->pixel_stride % OVERTAKE_CHANNEL_ALIGN ||
	    operand->pixel_stride < operand->channels)
		return false;
	return operand->row_stride >= (u64)operand->width * operand->pixel_stride;
}

static bool window_fields_valid(const struct overtake_insn *insn)
{
	if (!insn->kernel_height || !insn->kernel_width)
		return false;
	if (!insn->stride_height || !insn->stride_width)
		return false;
	return insn->pad_top < insn->kernel_height && insn->pad_left < insn->kernel_width;
}

static bool clamp_fields_valid(const struct overtake_insn *insn)
{
	return insn->clamp_min >= -128 && insn->clamp_max <= 127 &&
	       insn->clamp_min <= insn->clamp_max;
}

static bool scale_fields_valid(const struct overtake_insn *insn)
{
	return insn->multiplier[0] <= OVERTAKE_MULTIPLIER_MAX &&
	       insn->multiplier[1] <= OVERTAKE_MULTIPLIER_MAX &&
	       insn->shift[0] >= OVERTAKE_SHIFT_MIN && insn->shift[0] <= OVERTAKE_SHIFT_MAX;
}

static bool fields_valid(const struct overtake_insn *insn, u32 uses)
{
	if ((uses & USES_INPUT) &&
	    !(operand_fields_valid(&insn->out) && operand_fields_valid(&insn->in[0])))
		return false;
	if ((uses & USES_INPUT1) && !operand_fields_valid(&insn->in[1]))
		return false;
	if ((uses & USES_WINDOW) && !window_fields_valid(insn))
		return false;
	if ((uses & USES_CLAMP) && !clamp_fields_valid(insn))
		return false;
	if ((uses & USES_SCALES) && !scale_fields_valid(insn))
		return false;
	if ((uses & USES_GROUPS) && !insn->groups)
		return false;
	if ((uses & USES_DELAY) &&
	    (!insn->delay_cycles || insn->delay_cycles > OVERTAKE_DELAY_CYCLES_MAX))
		return false;
	return insn->params_offset % sizeof(u32) == 0;
}

/* A sum over @height * @width * @channels products; the first product is below 2^32. */
static bool kernel_size_valid(u32 height, u32 width, u32 channels)
{
	u64 positions = (u64)height * width;

	return positions <= OVERTAKE_MAX_KERNEL_ELEMENTS &&
	       positions * channels <= OVERTAKE_MAX_KERNEL_ELEMENTS;
}

/*
 * The last window begins inside the tensor.  The first one reaches into it because the
 * padding is below the kernel's size, hence all of them do.  At most 2^32 * 2^16.
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

static bool conv_shapes_fit(const struct overtake_insn *insn)
{
	return insn->in[0].channels % insn->groups == 0 &&
	       insn->out.channels % insn->groups == 0 &&
	       all_windows_overlap(insn) &&
	       kernel_size_valid(insn->kernel_height, insn->kernel_width,
				 insn->in[0].channels / insn->groups);
}

static bool per_channel_window_fits(const struct overtake_insn *insn)
{
	return insn->in[0].channels == insn->out.channels && all_windows_overlap(insn) &&
	       kernel_size_valid(insn->kernel_height, insn->kernel_width, 1);
}

static bool matmul_shapes_fit(const struct overtake_insn *insn)
{
	const struct overtake_operand *b = &insn->in[1];

	return same_plane(&insn->in[0], &insn->out) && b->height == 1 &&
	       b->width == insn->out.channels && b->channels == insn->in[0].channels &&
	       kernel_size_valid(1, 1, b->channels);
}

static bool elementwise_shapes_fit(const struct overtake_insn *insn,
				   const struct overtake_operand *in)
{
	return same_plane(in, &insn->out) && in->channels == insn->out.channels;
}

static bool shapes_fit(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return conv_shapes_fit(insn);
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_AVERAGE_POOL:
		return per_channel_window_fits(insn);
	case OVERTAKE_OP_MAX_POOL:
		return per_channel_window_fits(insn) &&
		       insn->in[0].zero_point == insn->out.zero_point;
	case OVERTAKE_OP_MATMUL:
		return matmul_shapes_fit(insn);
	case OVERTAKE_OP_ADD:
		return elementwise_shapes_fit(insn, &insn->in[0]) &&
		       elementwise_shapes_fit(insn, &insn->in[1]);
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_COPY:
		return elementwise_shapes_fit(insn, &insn->in[0]);
	default:
		return true;
	}
}

/* Where @bytes from @offset of region @index are, if the region permits @access there. */
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
 * Valid fields make a row's bytes at most row_stride, so the sum is at most
 * height * row_stride, below 2^64.
 */
static u64 operand_span(const struct overtake_operand *operand)
{
	return (u64)(operand->height - 1) * operand->row_stride +
	       (u64)(operand->width - 1) * operand->pixel_stride +
	       round_up_channels(operand->channels);
}

static u32 resolve_operand(const struct ovt_region *regions,
			   const struct overtake_operand *operand, u32 access, u8 **place)
{
	return resolve_span(regions, operand->region, operand->offset, operand_span(operand),
			    access, place);
}

static u32 resolve_input(const struct ovt_region *regions, const struct overtake_operand *operand,
			 const u8 **place)
{
	u8 *input = NULL;
	u32 fault = resolve_operand(regions, operand, OVT_REGION_READ, &input);

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
		fault = resolve_operand(regions, &insn->out, OVT_REGION_WRITE, &operands->out);
	if (!fault && (uses & USES_INPUT))
		fault = resolve_input(regions, &insn->in[0], &operands->in[0]);
	if (!fault && (uses & USES_INPUT1))
		fault = resolve_input(regions, &insn->in[1], &operands->in[1]);
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
	u32 fault;

	if (insn->opcode >= OVERTAKE_OP_COUNT)
		return OVERTAKE_FAULT_OPCODE;
	rule = &opcode_rules[ovt_index_nospec((u32)insn->opcode, OVERTAKE_OP_COUNT)];
	if (!rule->uses)
		return OVERTAKE_FAULT_OPCODE;
	if ((insn->flags & ~rule->flags) || !unused_operands_zero(insn, rule->uses) ||
	    !unused_window_zero(insn, rule->uses) || !unused_scalars_zero(insn, rule->uses))
		return OVERTAKE_FAULT_RESERVED;
	if (!fields_valid(insn, rule->uses))
		return OVERTAKE_FAULT_FIELD;
	if (!shapes_fit(insn))
		return OVERTAKE_FAULT_SHAPE;
	fault = resolve_all(insn, rule->uses, regions, operands);
	/* No operand is touched before the checks above have really been decided. */
	ovt_barrier_nospec();
	return fault;
}
