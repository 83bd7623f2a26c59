// SPDX-License-Identifier: MIT
/*
 * The decoder: one row for each reason to refuse an instruction, and for limits that are accepted.
 * Random instructions: test_decode_random.c.
 */
#include "cmocka_all.h"

#include "hw/operators.h"
#include "hw/profile.h"
#include "random_job.h"
#include "valid_insn.h"

/* Row helpers: which bytes of the instruction get which value. */
#define AT(field) offsetof(struct overtake_insn, field), sizeof(((struct overtake_insn *)0)->field)
#define OP(name) OVERTAKE_OP_##name
#define FAULT(name) OVERTAKE_FAULT_##name

struct field_row {
	const char *description;
	u16 opcode;
	size_t offset;
	size_t size;
	u64 value;
	u32 fault;
};

static const struct field_row field_rows[] = {
	{ "opcode 0", OP(CONV), AT(opcode), 0, FAULT(OPCODE) },
	{ "opcode past the last", OP(CONV), AT(opcode), OVERTAKE_OP_COUNT, FAULT(OPCODE) },
	{ "greatest opcode", OP(CONV), AT(opcode), 0xffff, FAULT(OPCODE) },

	{ "flag that CONV does not know", OP(CONV), AT(flags), 1, FAULT(RESERVED) },
	{ "flag that no opcode knows", OP(AVERAGE_POOL), AT(flags), 1u << 9, FAULT(RESERVED) },
	{ "highest flag", OP(NV12), AT(flags), 1u << 15, FAULT(RESERVED) },
	{ "count_include_pad for another pool", OP(MAX_POOL), AT(flags), 1, FAULT(RESERVED) },
	{ "clip_pad alone", OP(AVERAGE_POOL), AT(flags), 2, FAULT(FIELD) },
	{ "clip_pad with count_include_pad", OP(AVERAGE_POOL), AT(flags), 3, FAULT(NONE) },
	{ "edge for another opcode", OP(COPY), AT(flags), 4, FAULT(RESERVED) },
	{ "edge", OP(PAD), AT(flags), 4, FAULT(NONE) },
	{ "reflect", OP(PAD), AT(flags), 8, FAULT(NONE) },
	{ "edge and reflect", OP(PAD), AT(flags), 12, FAULT(FIELD) },
	{ "CRD", OP(DEPTH_TO_SPACE), AT(flags), 16, FAULT(NONE) },
	{ "CRD of the inverse", OP(SPACE_TO_DEPTH), AT(flags), 16, FAULT(RESERVED) },
	{ "nearest for RESIZE_BILINEAR", OP(RESIZE_BILINEAR), AT(flags), 32, FAULT(RESERVED) },
	{ "nearest for a picture", OP(NV12), AT(flags), 32, FAULT(NONE) },
	{ "full range BGR", OP(NV12), AT(flags), 64 + 128, FAULT(NONE) },
	{ "gray has no chroma", OP(NV12), AT(flags), 256, FAULT(RESERVED) },
	{ "count_include_pad", OP(AVERAGE_POOL), AT(flags), 1, FAULT(NONE) },
	{ "first reserved word", OP(COPY), AT(reserved[0]), 1, FAULT(RESERVED) },
	{ "last reserved word", OP(COPY), AT(reserved[4]), 1u << 31, FAULT(RESERVED) },
	{ "unknown type of out", OP(ADD), AT(out.type), 2, FAULT(RESERVED) },
	{ "unknown type of in[0]", OP(ADD), AT(in[0].type), 3, FAULT(RESERVED) },
	{ "unknown type of in[1]", OP(ADD), AT(in[1].type), 1u << 31, FAULT(RESERVED) },
	{ "type of an unused operand", OP(COPY), AT(in[1].type), 1, FAULT(RESERVED) },
	{ "type of floats read", OP(QUANTISE), AT(in[0].type), 1, FAULT(RESERVED) },
	{ "type of floats written", OP(DEQUANTISE), AT(out.type), 1, FAULT(RESERVED) },
	{ "type of luma", OP(NV12), AT(in[0].type), 1, FAULT(RESERVED) },
	{ "type of chroma", OP(NV12), AT(in[1].type), 1, FAULT(RESERVED) },
	{ "type of what a picture becomes", OP(NV12), AT(out.type), 1, FAULT(RESERVED) },
	{ "16 bits in pixels of bytes", OP(ADD), AT(in[0].type), 1, FAULT(FIELD) },
	{ "second shift of ADD", OP(ADD), AT(shift[1]), 1, FAULT(RESERVED) },
	{ "second scale of MUL", OP(MUL), AT(multiplier[1]), 1, FAULT(RESERVED) },
	{ "dilated average", OP(AVERAGE_POOL), AT(dilation_height), 1, FAULT(RESERVED) },
	{ "padding that does not clip", OP(AVERAGE_POOL), AT(pad_bottom), 1, FAULT(RESERVED) },
	{ "padding right of MAX_POOL", OP(MAX_POOL), AT(pad_right), 1, FAULT(RESERVED) },
	{ "fill without PAD", OP(COPY), AT(fill), 1, FAULT(RESERVED) },
	{ "axes without a use", OP(ADD), AT(axes), 1, FAULT(RESERVED) },
	{ "start without a use", OP(PAD), AT(start_x), 1, FAULT(RESERVED) },
	{ "step without a use", OP(PAD), AT(step_y), 1, FAULT(RESERVED) },
	{ "a block has no stride", OP(DEPTH_TO_SPACE), AT(stride_height), 1, FAULT(RESERVED) },
	{ "a block has no padding", OP(SPACE_TO_DEPTH), AT(pad_left), 1, FAULT(RESERVED) },
	{ "zero point of floats read", OP(QUANTISE), AT(in[0].zero_point), 1, FAULT(RESERVED) },
	{ "zero point of floats written", OP(DEQUANTISE), AT(out.zero_point), 1, FAULT(RESERVED) },
	{ "zero point of luma", OP(NV12), AT(in[0].zero_point), 1, FAULT(RESERVED) },
	{ "zero point of chroma", OP(NV12), AT(in[1].zero_point), 1, FAULT(RESERVED) },

	{ "no rows", OP(COPY), AT(out.height), 0, FAULT(FIELD) },
	{ "no columns", OP(COPY), AT(in[0].width), 0, FAULT(FIELD) },
	{ "no channels", OP(ADD), AT(in[1].channels), 0, FAULT(FIELD) },
	{ "zero point below int8", OP(COPY), AT(out.zero_point), (u32)-129, FAULT(FIELD) },
	{ "zero point above int8", OP(COPY), AT(in[0].zero_point), 128, FAULT(FIELD) },
	{ "least zero point", OP(COPY), AT(out.zero_point), (u32)-128, FAULT(NONE) },
	{ "pixel stride not aligned", OP(COPY), AT(in[0].pixel_stride), 12, FAULT(FIELD) },
	{ "pixel stride below channels", OP(COPY), AT(in[0].pixel_stride), 8, FAULT(FIELD) },
	{ "pixel stride 0", OP(COPY), AT(in[0].pixel_stride), 0, FAULT(FIELD) },
	{ "row stride below a row", OP(COPY), AT(in[0].row_stride), 63, FAULT(FIELD) },
	{ "row stride 0", OP(COPY), AT(out.row_stride), 0, FAULT(FIELD) },
	{ "width * pixel stride above 32 bits", OP(COPY), AT(out.width), 1u << 28, FAULT(FIELD) },
	{ "channels near 2^32", OP(COPY), AT(in[0].channels), 0xfffffffd, FAULT(FIELD) },
	{ "no kernel rows", OP(MAX_POOL), AT(kernel_height), 0, FAULT(FIELD) },
	{ "no kernel columns", OP(DEPTHWISE), AT(kernel_width), 0, FAULT(FIELD) },
	{ "vertical stride 0", OP(CONV), AT(stride_height), 0, FAULT(FIELD) },
	{ "horizontal stride 0", OP(CONV), AT(stride_width), 0, FAULT(FIELD) },
	{ "padding of a whole kernel above", OP(CONV), AT(pad_top), 3, FAULT(FIELD) },
	{ "padding of a whole kernel left", OP(CONV), AT(pad_left), 3, FAULT(FIELD) },
	{ "greatest padding", OP(MAX_POOL), AT(pad_left), 2, FAULT(NONE) },
	{ "clamp below int8", OP(CONV), AT(clamp_min), (u16)-129, FAULT(FIELD) },
	{ "clamp above int8", OP(CONV), AT(clamp_max), 128, FAULT(FIELD) },
	{ "clamp inside out", OP(CONV), AT(clamp_max), (u16)-129, FAULT(FIELD) },
	{ "clamp to one value", OP(CONV), AT(clamp_max), (u16)-128, FAULT(NONE) },
	{ "no groups", OP(CONV), AT(groups), 0, FAULT(FIELD) },
	{ "scale of ADD too large", OP(ADD), AT(multiplier[1]), 1u << 24, FAULT(FIELD) },
	{ "greatest scale of ADD", OP(ADD), AT(multiplier[0]), (1u << 24) - 1, FAULT(NONE) },
	{ "shift 0", OP(ADD), AT(shift[0]), 0, FAULT(FIELD) },
	{ "shift 63", OP(ADD), AT(shift[0]), 63, FAULT(FIELD) },
	{ "greatest shift", OP(ADD), AT(shift[0]), 62, FAULT(NONE) },
	{ "no delay", OP(DELAY), AT(delay_cycles), 0, FAULT(FIELD) },
	{ "delay too long", OP(DELAY), AT(delay_cycles), (1ull << 32) + 1, FAULT(FIELD) },
	{ "greatest delay", OP(DELAY), AT(delay_cycles), 1ull << 32, FAULT(NONE) },
	{ "dilation 1 is what 0 means", OP(CONV), AT(dilation_height), 1, FAULT(NONE) },
	{ "greatest dilation", OP(DEPTHWISE), AT(dilation_width), 0xffff, FAULT(NONE) },
	{ "fill below int8", OP(PAD), AT(fill), (u32)-129, FAULT(FIELD) },
	{ "fill above int8", OP(PAD), AT(fill), 128, FAULT(FIELD) },
	{ "greatest fill", OP(PAD), AT(fill), 127, FAULT(NONE) },
	{ "no axes to reduce", OP(REDUCE_SUM), AT(axes), 0, FAULT(FIELD) },
	{ "a fourth axis to reduce", OP(REDUCE_MAX), AT(axes), 8, FAULT(FIELD) },
	{ "an axis twice", OP(PERMUTE), AT(axes), 1 | 1 << 2 | 0 << 4, FAULT(FIELD) },
	{ "a fourth axis", OP(PERMUTE), AT(axes), 3 | 1 << 2 | 0 << 4, FAULT(FIELD) },
	{ "a fourth axis last", OP(PERMUTE), AT(axes), 0 | 1 << 2 | 3 << 4, FAULT(FIELD) },
	{ "bits behind the axes", OP(PERMUTE), AT(axes), 1 | 2 << 2 | 1 << 6, FAULT(FIELD) },
	{ "start beyond its limit", OP(RESIZE_NEAREST), AT(start_y), (1ull << 52) + 1, FAULT(FIELD) },
	{ "start before its limit", OP(RESIZE_BILINEAR), AT(start_x), ~(1ull << 52), FAULT(FIELD) },
	{ "start_x is the largest number", OP(NV12), AT(start_x), ~0ull >> 1, FAULT(FIELD) },
	{ "start_y is the smallest number", OP(NV12), AT(start_y), 1ull << 63, FAULT(FIELD) },
	{ "greatest start", OP(NV12), AT(start_y), 1ull << 52, FAULT(NONE) },
	{ "least start", OP(NV12), AT(start_x), 0 - (1ull << 52), FAULT(NONE) },
	{ "step above its limit", OP(RESIZE_NEAREST), AT(step_y), (1u << 30) + 1, FAULT(FIELD) },
	{ "step_x is the largest number", OP(NV12), AT(step_x), 0xffffffff, FAULT(FIELD) },
	{ "greatest step", OP(NV12), AT(step_x), 1u << 30, FAULT(NONE) },
	{ "no step", OP(NV12), AT(step_x), 0, FAULT(NONE) },
	{ "no block", OP(DEPTH_TO_SPACE), AT(kernel_height), 0, FAULT(FIELD) },
	{ "no block columns", OP(SPACE_TO_DEPTH), AT(kernel_width), 0, FAULT(FIELD) },
	{ "no groups transposed", OP(TRANSPOSED_CONV), AT(groups), 0, FAULT(FIELD) },
	{ "no stride transposed", OP(TRANSPOSED_CONV), AT(stride_height), 0, FAULT(FIELD) },
	{ "floats not aligned", OP(QUANTISE), AT(in[0].offset), 2, FAULT(FIELD) },
	{ "pixels of floats not aligned", OP(QUANTISE), AT(in[0].pixel_stride), 50, FAULT(FIELD) },
	{ "rows of floats not aligned", OP(DEQUANTISE), AT(out.row_stride), 194, FAULT(FIELD) },
	{ "pixels of floats too short", OP(DEQUANTISE), AT(out.pixel_stride), 44, FAULT(FIELD) },
	{ "table of floats not aligned", OP(DEQUANTISE), AT(weights_offset), 2, FAULT(FIELD) },
	{ "chroma that is not in pairs", OP(NV12), AT(in[1].pixel_stride), 3, FAULT(FIELD) },
	{ "parameters not aligned", OP(MATMUL), AT(params_offset), 2, FAULT(FIELD) },
	{ "any jump target: the core checks it", OP(JUMP), AT(jump_target), 0xffffffff,
	  FAULT(NONE) },

	{ "groups do not divide the channels", OP(CONV), AT(groups), 5, FAULT(SHAPE) },
	{ "groups do not divide the inputs", OP(CONV), AT(in[0].channels), 13, FAULT(SHAPE) },
	{ "groups do not divide the outputs", OP(CONV), AT(out.channels), 13, FAULT(SHAPE) },
	{ "more groups than channels", OP(CONV), AT(groups), 24, FAULT(SHAPE) },
	{ "depthwise channels differ", OP(DEPTHWISE), AT(out.channels), 11, FAULT(SHAPE) },
	{ "max pool channels differ", OP(MAX_POOL), AT(out.channels), 11, FAULT(SHAPE) },
	{ "max pool zero points differ", OP(MAX_POOL), AT(out.zero_point), 1, FAULT(SHAPE) },
	{ "average pool channels differ", OP(AVERAGE_POOL), AT(in[0].channels), 11,
	  FAULT(SHAPE) },
	{ "last window below the tensor", OP(CONV), AT(stride_height), 2, FAULT(SHAPE) },
	{ "last window right of the tensor", OP(MAX_POOL), AT(stride_width), 2, FAULT(SHAPE) },
	{ "stride 2^16 - 1", OP(AVERAGE_POOL), AT(stride_width), 0xffff, FAULT(SHAPE) },
	{ "kernel larger than the limit", OP(MAX_POOL), AT(kernel_height), 0xffff, FAULT(SHAPE) },
	{ "matmul rows differ", OP(MATMUL), AT(out.height), 3, FAULT(SHAPE) },
	{ "matmul columns differ", OP(MATMUL), AT(out.channels), 11, FAULT(SHAPE) },
	{ "matmul depths differ", OP(MATMUL), AT(in[1].channels), 11, FAULT(SHAPE) },
	{ "matmul second operand with some rows", OP(MATMUL), AT(in[1].height), 2, FAULT(SHAPE) },
	{ "matmul second operand with as many rows", OP(MATMUL), AT(in[1].height), 4,
	  FAULT(BOUNDS) },
	{ "transposed groups do not divide", OP(TRANSPOSED_CONV), AT(groups), 5, FAULT(SHAPE) },
	{ "any transposed stride", OP(TRANSPOSED_CONV), AT(stride_height), 9, FAULT(NONE) },
	{ "transposed kernel too large", OP(TRANSPOSED_CONV), AT(kernel_width), 0xffff,
	  FAULT(SHAPE) },
	{ "PAD without room for its input", OP(PAD), AT(pad_top), 2, FAULT(SHAPE) },
	{ "PAD without room beside its input", OP(PAD), AT(pad_left), 2, FAULT(SHAPE) },
	{ "PAD does not change channels", OP(PAD), AT(in[0].channels), 11, FAULT(SHAPE) },
	{ "other axes, other shape", OP(PERMUTE), AT(axes), 0 | 1 << 2 | 2 << 4, FAULT(SHAPE) },
	{ "the other two axes", OP(PERMUTE), AT(axes), 2 | 1 << 2 | 0 << 4, FAULT(NONE) },
	{ "permuted width differs", OP(PERMUTE), AT(out.width), 3, FAULT(SHAPE) },
	{ "permuted channels differ", OP(PERMUTE), AT(out.channels), 11, FAULT(SHAPE) },
	{ "block that is no square", OP(DEPTH_TO_SPACE), AT(kernel_width), 1, FAULT(SHAPE) },
	{ "block rows do not fit", OP(DEPTH_TO_SPACE), AT(out.height), 3, FAULT(SHAPE) },
	{ "block columns do not fit", OP(SPACE_TO_DEPTH), AT(in[0].width), 7, FAULT(SHAPE) },
	{ "channels no multiple of a block", OP(DEPTH_TO_SPACE), AT(in[0].channels), 47,
	  FAULT(SHAPE) },
	{ "channels of another block", OP(DEPTH_TO_SPACE), AT(out.channels), 11, FAULT(SHAPE) },
	{ "resize keeps channels", OP(RESIZE_NEAREST), AT(in[0].channels), 11, FAULT(SHAPE) },
	{ "resize keeps zero points", OP(RESIZE_BILINEAR), AT(in[0].zero_point), 1, FAULT(SHAPE) },
	{ "resize to any size", OP(RESIZE_BILINEAR), AT(in[0].height), 3, FAULT(NONE) },
	{ "reduced axis is not 1", OP(REDUCE_SUM), AT(out.height), 4, FAULT(SHAPE) },
	{ "other width than reduced", OP(REDUCE_MAX), AT(out.width), 1, FAULT(SHAPE) },
	{ "other channels than reduced", OP(REDUCE_MIN), AT(out.channels), 1, FAULT(SHAPE) },
	{ "other axis than the shape's", OP(REDUCE_SUM), AT(axes), 2, FAULT(SHAPE) },
	{ "reduction to a sum changes zero point", OP(REDUCE_SUM), AT(in[0].zero_point), 1,
	  FAULT(NONE) },
	{ "reduction to a maximum keeps zero point", OP(REDUCE_MAX), AT(in[0].zero_point), 1,
	  FAULT(SHAPE) },
	{ "reduction to a minimum keeps zero point", OP(REDUCE_MIN), AT(out.zero_point), 1,
	  FAULT(SHAPE) },
	{ "requantised rows differ", OP(REQUANTISE), AT(in[0].height), 3, FAULT(SHAPE) },
	{ "quantised columns differ", OP(QUANTISE), AT(out.width), 3, FAULT(SHAPE) },
	{ "dequantised channels differ", OP(DEQUANTISE), AT(in[0].channels), 11, FAULT(SHAPE) },
	{ "luma of two channels", OP(NV12), AT(in[0].channels), 2, FAULT(FIELD) },
	{ "chroma of one channel", OP(NV12), AT(in[1].channels), 1, FAULT(SHAPE) },
	{ "chroma rows of another picture", OP(NV12), AT(in[1].height), 2, FAULT(SHAPE) },
	{ "chroma columns of another picture", OP(NV12), AT(in[1].width), 2, FAULT(SHAPE) },
	{ "luma of an even height", OP(NV12), AT(in[0].height), 6, FAULT(BOUNDS) },
	{ "a fourth colour", OP(NV12), AT(out.channels), 4, FAULT(SHAPE) },
	{ "ADD repeats a row", OP(ADD), AT(in[1].height), 1, FAULT(NONE) },
	{ "SUB repeats a column", OP(SUB), AT(in[0].width), 1, FAULT(NONE) },
	{ "MUL repeats a channel", OP(MUL), AT(in[0].channels), 1, FAULT(NONE) },
	{ "MAX repeats only axes of size 1", OP(MAX), AT(in[0].channels), 2, FAULT(SHAPE) },
	{ "MIN does not shrink", OP(MIN), AT(out.height), 1, FAULT(SHAPE) },
	{ "add rows differ", OP(ADD), AT(in[1].height), 3, FAULT(SHAPE) },
	{ "add columns differ", OP(ADD), AT(in[1].width), 3, FAULT(SHAPE) },
	{ "add channels differ", OP(ADD), AT(in[1].channels), 11, FAULT(SHAPE) },
	{ "table shapes differ", OP(TABLE), AT(in[0].channels), 11, FAULT(SHAPE) },
	{ "copy shapes differ", OP(COPY), AT(in[0].height), 3, FAULT(SHAPE) },

	{ "output region past the last", OP(COPY), AT(out.region), 16, FAULT(REGION) },
	{ "greatest region", OP(COPY), AT(in[0].region), 0xffffffff, FAULT(REGION) },
	{ "input region not bound", OP(COPY), AT(in[0].region), 15, FAULT(REGION) },
	{ "second input region not bound", OP(ADD), AT(in[1].region), 0, FAULT(REGION) },
	{ "weights region past the last", OP(CONV), AT(weights_region), 16, FAULT(REGION) },
	{ "params region not bound", OP(CONV), AT(params_region), 2, FAULT(REGION) },
	{ "table region not bound", OP(TABLE), AT(weights_region), 2, FAULT(REGION) },

	{ "output in a read-only region", OP(COPY), AT(out.region), JOB_IN0, FAULT(PERMISSION) },
	{ "input in a write-only region", OP(COPY), AT(in[0].region), JOB_OUT,
	  FAULT(PERMISSION) },
	{ "weights in a write-only region", OP(CONV), AT(weights_region), JOB_OUT,
	  FAULT(PERMISSION) },

	{ "output one byte too far", OP(COPY), AT(out.offset), 1, FAULT(BOUNDS) },
	{ "input one byte too far", OP(COPY), AT(in[0].offset), 1, FAULT(BOUNDS) },
	{ "second input one byte too far", OP(ADD), AT(in[1].offset), 1, FAULT(BOUNDS) },
	{ "offset at the end", OP(COPY), AT(in[0].offset), 4 * 4 * 16 - 4, FAULT(BOUNDS) },
	{ "offset near 2^64", OP(COPY), AT(in[0].offset), ~0ull, FAULT(BOUNDS) },
	{ "offset that wraps to 0", OP(COPY), AT(out.offset), 0ull - 4 * 4 * 16, FAULT(BOUNDS) },
	{ "row stride one byte too wide", OP(COPY), AT(in[0].row_stride), 65, FAULT(BOUNDS) },
	{ "row stride 2^32 - 1", OP(COPY), AT(in[0].row_stride), 0xffffffff, FAULT(BOUNDS) },
	{ "row stride one pixel too wide", OP(COPY), AT(in[0].row_stride), 80, FAULT(BOUNDS) },
	{ "weights one byte too far", OP(CONV), AT(weights_offset), 1, FAULT(BOUNDS) },
	{ "weights of four groups, not two", OP(CONV), AT(groups), 4, FAULT(BOUNDS) },
	{ "weights near 2^64", OP(DEPTHWISE), AT(weights_offset), 0ull - 8, FAULT(BOUNDS) },
	{ "table one byte too far", OP(TABLE), AT(weights_offset), 1, FAULT(BOUNDS) },
	{ "params one word too far", OP(MATMUL), AT(params_offset), 4, FAULT(BOUNDS) },
	{ "params near 2^64", OP(AVERAGE_POOL), AT(params_offset), 0ull - 4, FAULT(BOUNDS) },
	{ "params of a wider kernel", OP(AVERAGE_POOL), AT(kernel_width), 4, FAULT(BOUNDS) },
};

static u32 check(const struct overtake_insn *insn, const struct ovt_region *regions)
{
	struct ovt_operands operands = { 0 };

	return ovt_insn_check(insn, regions, &operands);
}

static void test_exact_instructions_are_accepted(void **state)
{
	(void)state;
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		struct ovt_region regions[OVERTAKE_MAX_REGIONS];
		struct overtake_insn insn = valid_insn(opcode);

		exact_regions(regions, opcode);
		if (check(&insn, regions) != OVERTAKE_FAULT_NONE)
			fail_msg("opcode %u: fault %u", opcode, check(&insn, regions));
	}
}

static void test_one_wrong_field_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(field_rows); i++) {
		const struct field_row *row = &field_rows[i];
		struct ovt_region regions[OVERTAKE_MAX_REGIONS];
		struct overtake_insn insn = valid_insn(row->opcode);
		u32 fault;

		exact_regions(regions, row->opcode);
		memcpy((u8 *)&insn + row->offset, &row->value, row->size);
		fault = check(&insn, regions);
		if (fault != row->fault)
			fail_msg("%s: fault %u instead of %u", row->description, fault,
				 row->fault);
	}
}

struct region_row {
	const char *description;
	u16 opcode;
	u32 region;
	s64 longer;	/* bytes */
	u32 flags;
	u32 fault;
};

#define READ OVT_REGION_READ
#define WRITE OVT_REGION_WRITE

static const struct region_row region_rows[] = {
	{ "output not bound", OP(ADD), JOB_OUT, -256, WRITE, FAULT(REGION) },
	{ "COPY reads no padding", OP(COPY), JOB_IN0, 0, READ, FAULT(NONE) },
	{ "output one byte short", OP(COPY), JOB_OUT, -1, WRITE, FAULT(BOUNDS) },
	{ "output not writable", OP(COPY), JOB_OUT, 0, READ, FAULT(PERMISSION) },
	{ "input one byte short, in its padding", OP(CONV), JOB_IN0, -1, READ, FAULT(BOUNDS) },
	{ "input not readable", OP(CONV), JOB_IN0, 0, WRITE, FAULT(PERMISSION) },
	{ "input readable and writable", OP(CONV), JOB_IN0, 1, READ | WRITE, FAULT(NONE) },
	{ "second input one byte short", OP(MATMUL), JOB_IN1, -1, READ, FAULT(BOUNDS) },
	{ "second input not readable", OP(ADD), JOB_IN1, 0, 0, FAULT(PERMISSION) },
	{ "CONV weights one byte short", OP(CONV), JOB_WEIGHTS, -1, READ, FAULT(BOUNDS) },
	{ "CONV weights not readable", OP(CONV), JOB_WEIGHTS, 0, WRITE, FAULT(PERMISSION) },
	{ "DEPTHWISE weights one byte short", OP(DEPTHWISE), JOB_WEIGHTS, -1, READ,
	  FAULT(BOUNDS) },
	{ "table one byte short", OP(TABLE), JOB_WEIGHTS, -1, READ, FAULT(BOUNDS) },
	{ "CONV params one byte short", OP(CONV), JOB_PARAMS, -1, READ, FAULT(BOUNDS) },
	{ "DEPTHWISE params one byte short", OP(DEPTHWISE), JOB_PARAMS, -1, READ, FAULT(BOUNDS) },
	{ "MATMUL params one byte short", OP(MATMUL), JOB_PARAMS, -1, READ, FAULT(BOUNDS) },
	{ "AVERAGE_POOL params one byte short", OP(AVERAGE_POOL), JOB_PARAMS, -1, READ,
	  FAULT(BOUNDS) },
	{ "NV12 params one byte short", OP(NV12), JOB_PARAMS, -1, READ, FAULT(BOUNDS) },
	{ "luma one byte short", OP(NV12), JOB_IN0, -1, READ, FAULT(BOUNDS) },
	{ "chroma one byte short", OP(NV12), JOB_IN1, -1, READ, FAULT(BOUNDS) },
	{ "floats one byte short", OP(QUANTISE), JOB_IN0, -1, READ, FAULT(BOUNDS) },
	{ "floats written one byte short", OP(DEQUANTISE), JOB_OUT, -1, WRITE, FAULT(BOUNDS) },
	{ "table of floats one byte short", OP(DEQUANTISE), JOB_WEIGHTS, -1, READ, FAULT(BOUNDS) },
	{ "TRANSPOSED_CONV weights one byte short", OP(TRANSPOSED_CONV), JOB_WEIGHTS, -1, READ,
	  FAULT(BOUNDS) },
	{ "params not readable", OP(AVERAGE_POOL), JOB_PARAMS, 0, 0, FAULT(PERMISSION) },
};

static void test_one_wrong_region_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(region_rows); i++) {
		const struct region_row *row = &region_rows[i];
		struct ovt_region regions[OVERTAKE_MAX_REGIONS];
		struct overtake_insn insn = valid_insn(row->opcode);
		u32 fault;

		exact_regions(regions, row->opcode);
		regions[row->region].length += (u64)row->longer;
		regions[row->region].flags = row->flags;
		fault = check(&insn, regions);
		if (fault != row->fault)
			fail_msg("%s: fault %u instead of %u", row->description, fault,
				 row->fault);
	}
}

/* The opcodes that use each field, by overtake_isa.h. */
static const struct {
	const char *name;
	size_t offset;
	size_t size;
	u32 used_by;
} field_users[] = {
	{ "out.region", AT(out.region), TENSORS },
	{ "out.offset", AT(out.offset), TENSORS },
	{ "in[0].height", AT(in[0].height), TENSORS },
	{ "in[0].zero_point", AT(in[0].zero_point), TENSORS & ~(BIT(QUANTISE) | BIT(NV12)) },
	{ "out.zero_point", AT(out.zero_point), TENSORS & ~BIT(DEQUANTISE) },
	{ "in[1].region", AT(in[1].region), TWO_INPUTS },
	{ "in[1].pixel_stride", AT(in[1].pixel_stride), TWO_INPUTS },
	{ "weights_offset", AT(weights_offset), WITH_WEIGHTS },
	{ "weights_region", AT(weights_region), WITH_WEIGHTS },
	{ "params_offset", AT(params_offset), WITH_PARAMS },
	{ "params_region", AT(params_region), WITH_PARAMS },
	{ "kernel_height", AT(kernel_height), WINDOWED | BLOCKS },
	{ "kernel_width", AT(kernel_width), WINDOWED | BLOCKS },
	{ "stride_height", AT(stride_height), WINDOWED },
	{ "stride_width", AT(stride_width), WINDOWED },
	{ "pad_top", AT(pad_top), WINDOWED | BIT(PAD) },
	{ "pad_left", AT(pad_left), WINDOWED | BIT(PAD) },
	{ "clamp_min", AT(clamp_min), CLAMPED },
	{ "clamp_max", AT(clamp_max), CLAMPED },
	{ "multiplier[0]", AT(multiplier[0]), SCALED },
	{ "multiplier[1]", AT(multiplier[1]), SCALED_TWO },
	{ "shift[0]", AT(shift[0]), SCALED },
	{ "shift[1]", AT(shift[1]), 0 },
	{ "dilation_height", AT(dilation_height), DILATED },
	{ "dilation_width", AT(dilation_width), DILATED },
	{ "start_y", AT(start_y), LOOKS },
	{ "start_x", AT(start_x), LOOKS },
	{ "step_y", AT(step_y), LOOKS },
	{ "step_x", AT(step_x), LOOKS },
	{ "pad_bottom without its flag", AT(pad_bottom), 0 },
	{ "pad_right without its flag", AT(pad_right), 0 },
	{ "fill", AT(fill), BIT(PAD) },
	{ "axes", AT(axes), BIT(PERMUTE) | REDUCTIONS },
	{ "reserved", AT(reserved[2]), 0 },
	{ "groups", AT(groups), GROUPED },
	{ "delay_cycles", AT(delay_cycles), BIT(DELAY) },
	{ "jump_target", AT(jump_target), BIT(JUMP) },
};

static void test_unused_fields_are_zero(void **state)
{
	(void)state;
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		for (size_t i = 0; i < COUNT(field_users); i++) {
			struct ovt_region regions[OVERTAKE_MAX_REGIONS];
			struct overtake_insn insn = valid_insn(opcode);
			bool used = field_users[i].used_by >> opcode & 1;

			exact_regions(regions, opcode);
			/* The highest byte: a check of the low half only would miss it. */
			((u8 *)&insn)[field_users[i].offset + field_users[i].size - 1] ^= 0x40;
			if ((check(&insn, regions) == OVERTAKE_FAULT_RESERVED) == used)
				fail_msg("opcode %u, %s", opcode, field_users[i].name);
		}
	}
}

/* A flag forbids or permits a field or an operand: GRAY chroma, CLIP_PAD padding, REFLECT fill. */
static void test_flags_change_what_is_used(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(OP(NV12));

	(void)state;
	exact_regions(regions, OP(NV12));
	insn.flags = OVERTAKE_FLAG_GRAY;
	memset(&insn.in[1], 0, sizeof(insn.in[1]));
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_SHAPE);
	insn.out = tensor(JOB_OUT, 4, 4, 1);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.flags |= OVERTAKE_FLAG_BGR;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_FIELD);

	insn = valid_insn(OP(AVERAGE_POOL));
	exact_regions(regions, OP(AVERAGE_POOL));
	insn.flags = OVERTAKE_FLAG_COUNT_INCLUDE_PAD | OVERTAKE_FLAG_CLIP_PAD;
	insn.pad_bottom = insn.pad_right = 2;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.pad_bottom = 3;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_FIELD);
	insn.pad_bottom = 0;
	insn.pad_right = 3;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_FIELD);

	insn = valid_insn(OP(PAD));
	exact_regions(regions, OP(PAD));
	insn.fill = 5;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.flags = OVERTAKE_FLAG_REFLECT;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_RESERVED);
	insn.fill = 0;
	insn.in[0].height = 1;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_SHAPE);
	insn.flags = OVERTAKE_FLAG_EDGE;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
}

/* The extent of a dilated kernel bounds the padding. */
static void test_padding_is_below_the_dilated_extent(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(OP(MAX_POOL));

	(void)state;
	exact_regions(regions, OP(MAX_POOL));
	insn.dilation_height = 4;
	insn.dilation_width = 0xffff;
	insn.pad_top = 8;
	insn.pad_left = 0xffff;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.pad_top = 9;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_FIELD);
	/* A kernel of one tap has extent 1 whatever its dilation. */
	insn.pad_top = 0;
	insn.kernel_width = 1;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_FIELD);
}

/* The product of the reduced axes has the limit of a window, OVERTAKE_MAX_KERNEL_ELEMENTS. */
static void test_reductions_have_a_largest_size(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(OP(REDUCE_SUM));

	(void)state;
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		regions[i] = (struct ovt_region){ (u8 *)regions, 1ull << 40,
						  OVT_REGION_READ | OVT_REGION_WRITE, 0 };
	insn.axes = 7;
	insn.out = tensor(JOB_OUT, 1, 1, 1);
	insn.in[0] = tensor(JOB_IN0, 64, 64, 32);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.in[0] = tensor(JOB_IN0, 64, 64, 33);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_SHAPE);
	insn.in[0] = tensor(JOB_IN0, 1u << 17, 1, 1);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.in[0] = tensor(JOB_IN0, (1u << 17) + 1, 1, 1);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_SHAPE);
}

static void test_sizes_near_the_limits(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(OP(COPY));

	(void)state;
	exact_regions(regions, OP(COPY));
	/* A region larger than any memory: the product of rows and stride is near 2^64. */
	regions[JOB_IN0].length = regions[JOB_OUT].length = ~0ull;
	insn.in[0].height = insn.out.height = 0xffffffff;
	insn.in[0].row_stride = insn.out.row_stride = 0xffffffff;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_BOUNDS);
	insn.in[0].height = insn.out.height = 1u << 16;
	insn.in[0].row_stride = insn.out.row_stride = 1u << 24;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.out.height = insn.in[0].height = (1u << 16) + 1;
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_BOUNDS);

	insn = valid_insn(OP(MATMUL));
	exact_regions(regions, OP(MATMUL));
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		regions[i].length = 1ull << 40;
	insn.in[0] = tensor(JOB_IN0, 4, 4, OVERTAKE_MAX_KERNEL_ELEMENTS);
	insn.in[1] = tensor(JOB_IN1, 1, 12, OVERTAKE_MAX_KERNEL_ELEMENTS);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	insn.in[0] = tensor(JOB_IN0, 4, 4, OVERTAKE_MAX_KERNEL_ELEMENTS + 1);
	insn.in[1] = tensor(JOB_IN1, 1, 12, OVERTAKE_MAX_KERNEL_ELEMENTS + 1);
	assert_int_equal(check(&insn, regions), OVERTAKE_FAULT_SHAPE);
}

static void test_operands_are_resolved(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(OP(CONV));
	struct ovt_operands operands = { 0 };

	(void)state;
	exact_regions(regions, OP(CONV));
	for (u32 i = 1; i < OVERTAKE_MAX_REGIONS; i++) {
		regions[i].base += 8 * i;
		if (regions[i].length)
			regions[i].length += 32;
	}
	insn.out.offset = 1;
	insn.in[0].offset = 3;
	insn.weights_offset = 5;
	insn.params_offset = 4;
	assert_int_equal(ovt_insn_check(&insn, regions, &operands), OVERTAKE_FAULT_NONE);
	assert_ptr_equal(operands.out, regions[JOB_OUT].base + 1);
	assert_ptr_equal(operands.in[0], regions[JOB_IN0].base + 3);
	assert_ptr_equal(operands.weights, regions[JOB_WEIGHTS].base + 5);
	assert_ptr_equal(operands.params, regions[JOB_PARAMS].base + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_instructions_are_accepted),
		cmocka_unit_test(test_one_wrong_field_is_refused),
		cmocka_unit_test(test_one_wrong_region_is_refused),
		cmocka_unit_test(test_unused_fields_are_zero),
		cmocka_unit_test(test_flags_change_what_is_used),
		cmocka_unit_test(test_padding_is_below_the_dilated_extent),
		cmocka_unit_test(test_reductions_have_a_largest_size),
		cmocka_unit_test(test_sizes_near_the_limits),
		cmocka_unit_test(test_operands_are_resolved),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
