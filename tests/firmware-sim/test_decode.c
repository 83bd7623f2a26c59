// SPDX-License-Identifier: MIT
/*
 * The decoder: one row per reason to refuse an instruction, and a fuzzer that runs whatever
 * is accepted in regions of exactly the size they have.
 */
#include "cmocka_all.h"

#include <stdlib.h>

#include "hw/operators.h"
#include "hw/profile.h"
#include "random_job.h"

/* Row helpers: which bytes of the instruction get which value. */
#define AT(field) offsetof(struct overtake_insn, field), sizeof(((struct overtake_insn *)0)->field)
#define OP(name) OVERTAKE_OP_##name
#define FAULT(name) OVERTAKE_FAULT_##name

static struct overtake_operand tensor(u32 region, u32 height, u32 width, u32 channels)
{
	return (struct overtake_operand){
		.region = region,
		.height = height,
		.width = width,
		.channels = channels,
		.pixel_stride = (channels + 7) & ~7u,
		.row_stride = width * ((channels + 7) & ~7u),
	};
}

static void set_window(struct overtake_insn *insn, u16 kernel, u16 stride, u16 pad)
{
	insn->kernel_height = kernel;
	insn->kernel_width = kernel;
	insn->stride_height = stride;
	insn->stride_width = stride;
	insn->pad_top = pad;
	insn->pad_left = pad;
}

/* 3x3 windows, stride 1, padding 1, over 4x4 pixels of 12 channels; 2 groups. */
static struct overtake_insn valid_insn(u16 opcode)
{
	struct overtake_insn insn = { .opcode = opcode };

	if (opcode == OP(DELAY)) {
		insn.delay_cycles = 5;
		return insn;
	}
	if (opcode == OP(JUMP))
		return insn;
	insn.out = tensor(JOB_OUT, 4, 4, 12);
	insn.in[0] = tensor(JOB_IN0, 4, 4, 12);
	if (opcode != OP(TABLE) && opcode != OP(COPY)) {
		insn.clamp_min = -128;
		insn.clamp_max = 127;
	}
	if (opcode == OP(CONV) || opcode == OP(DEPTHWISE) || opcode == OP(TABLE))
		insn.weights_region = JOB_WEIGHTS;
	if (opcode == OP(CONV) || opcode == OP(DEPTHWISE) || opcode == OP(MATMUL) ||
	    opcode == OP(AVERAGE_POOL))
		insn.params_region = JOB_PARAMS;
	if (opcode == OP(CONV) || opcode == OP(DEPTHWISE) || opcode == OP(MAX_POOL) ||
	    opcode == OP(AVERAGE_POOL))
		set_window(&insn, 3, 1, 1);
	if (opcode == OP(CONV))
		insn.groups = 2;
	if (opcode == OP(MATMUL))
		insn.in[1] = tensor(JOB_IN1, 1, 12, 12);
	if (opcode == OP(ADD)) {
		insn.in[1] = tensor(JOB_IN1, 4, 4, 12);
		insn.multiplier[0] = insn.multiplier[1] = 1;
		insn.shift[0] = 1;
	}
	return insn;
}

/* Regions that end where valid_insn()'s operands end. */
static void exact_regions(struct ovt_region *regions, u16 opcode)
{
	static u8 memory[4096];

	memset(regions, 0, OVERTAKE_MAX_REGIONS * sizeof(*regions));
	regions[JOB_OUT] = (struct ovt_region){ memory, 4 * 4 * 16, OVT_REGION_WRITE, 0 };
	regions[JOB_IN0] = (struct ovt_region){ memory, 4 * 4 * 16, OVT_REGION_READ, 0 };
	regions[JOB_IN1] = (struct ovt_region){ memory, opcode == OP(MATMUL) ? 12 * 16 : 4 * 4 * 16,
						OVT_REGION_READ, 0 };
	/* CONV: 2 groups, each 1 block of outputs by 3 pairs of inputs; DEPTHWISE: 16 channels. */
	regions[JOB_WEIGHTS] = (struct ovt_region){ memory, opcode == OP(CONV) ? 2 * 9 * 3 * 16 :
						    opcode == OP(TABLE) ? 256 : 9 * 16,
						    OVT_REGION_READ, 0 };
	regions[JOB_PARAMS] = (struct ovt_region){ memory, opcode == OP(AVERAGE_POOL) ? 2 * 9 * 4 :
						   3 * 16 * 4, OVT_REGION_READ, 0 };
}

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
	{ "flag that no opcode knows", OP(AVERAGE_POOL), AT(flags), 2, FAULT(RESERVED) },
	{ "count_include_pad", OP(AVERAGE_POOL), AT(flags), 1, FAULT(NONE) },
	{ "first reserved word", OP(COPY), AT(reserved[0]), 1, FAULT(RESERVED) },
	{ "last reserved word", OP(COPY), AT(reserved[14]), 1u << 31, FAULT(RESERVED) },
	{ "reserved word of out", OP(COPY), AT(out.reserved), 1, FAULT(RESERVED) },
	{ "reserved word of in[0]", OP(COPY), AT(in[0].reserved), 1, FAULT(RESERVED) },
	{ "reserved word of in[1]", OP(ADD), AT(in[1].reserved), 1, FAULT(RESERVED) },
	{ "second shift of ADD", OP(ADD), AT(shift[1]), 1, FAULT(RESERVED) },

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
	{ "parameters not aligned", OP(MATMUL), AT(params_offset), 2, FAULT(FIELD) },
	{ "jump anywhere; the core knows the FC", OP(JUMP), AT(jump_target), 0xffffffff,
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
	{ "matmul second operand with rows", OP(MATMUL), AT(in[1].height), 2, FAULT(SHAPE) },
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
	{ "offset at the end", OP(COPY), AT(in[0].offset), 4 * 4 * 16, FAULT(BOUNDS) },
	{ "offset near 2^64", OP(COPY), AT(in[0].offset), ~0ull, FAULT(BOUNDS) },
	{ "offset that wraps to 0", OP(COPY), AT(out.offset), 0ull - 4 * 4 * 16, FAULT(BOUNDS) },
	{ "row stride one too wide", OP(COPY), AT(in[0].row_stride), 65, FAULT(BOUNDS) },
	{ "row stride 2^32 - 1", OP(COPY), AT(in[0].row_stride), 0xffffffff, FAULT(BOUNDS) },
	{ "pixel stride one block too wide", OP(COPY), AT(in[0].row_stride), 80, FAULT(BOUNDS) },
	{ "weights one byte too far", OP(CONV), AT(weights_offset), 1, FAULT(BOUNDS) },
	{ "weights of one group more", OP(CONV), AT(groups), 4, FAULT(BOUNDS) },
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
	for (size_t i = 0; i < sizeof(field_rows) / sizeof(field_rows[0]); i++) {
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
	{ "output not bound", OP(COPY), JOB_OUT, -256, WRITE, FAULT(REGION) },
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
	{ "params not readable", OP(AVERAGE_POOL), JOB_PARAMS, 0, 0, FAULT(PERMISSION) },
};

static void test_one_wrong_region_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(region_rows) / sizeof(region_rows[0]); i++) {
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

#define BIT(name) (1u << OVERTAKE_OP_##name)
#define WINDOWED (BIT(CONV) | BIT(DEPTHWISE) | BIT(MAX_POOL) | BIT(AVERAGE_POOL))
#define TENSORS (WINDOWED | BIT(MATMUL) | BIT(ADD) | BIT(TABLE) | BIT(COPY))

/* Which opcodes use a field, as overtake_isa.h says. */
static const struct {
	const char *name;
	size_t offset;
	size_t size;
	u32 used_by;
} field_users[] = {
	{ "out.region", AT(out.region), TENSORS },
	{ "out.offset", AT(out.offset), TENSORS },
	{ "in[0].height", AT(in[0].height), TENSORS },
	{ "in[0].zero_point", AT(in[0].zero_point), TENSORS },
	{ "in[1].region", AT(in[1].region), BIT(MATMUL) | BIT(ADD) },
	{ "in[1].pixel_stride", AT(in[1].pixel_stride), BIT(MATMUL) | BIT(ADD) },
	{ "weights_offset", AT(weights_offset), BIT(CONV) | BIT(DEPTHWISE) | BIT(TABLE) },
	{ "weights_region", AT(weights_region), BIT(CONV) | BIT(DEPTHWISE) | BIT(TABLE) },
	{ "params_offset", AT(params_offset),
	  BIT(CONV) | BIT(DEPTHWISE) | BIT(MATMUL) | BIT(AVERAGE_POOL) },
	{ "params_region", AT(params_region),
	  BIT(CONV) | BIT(DEPTHWISE) | BIT(MATMUL) | BIT(AVERAGE_POOL) },
	{ "kernel_height", AT(kernel_height), WINDOWED },
	{ "kernel_width", AT(kernel_width), WINDOWED },
	{ "stride_height", AT(stride_height), WINDOWED },
	{ "stride_width", AT(stride_width), WINDOWED },
	{ "pad_top", AT(pad_top), WINDOWED },
	{ "pad_left", AT(pad_left), WINDOWED },
	{ "clamp_min", AT(clamp_min), WINDOWED | BIT(MATMUL) | BIT(ADD) },
	{ "clamp_max", AT(clamp_max), WINDOWED | BIT(MATMUL) | BIT(ADD) },
	{ "multiplier[0]", AT(multiplier[0]), BIT(ADD) },
	{ "multiplier[1]", AT(multiplier[1]), BIT(ADD) },
	{ "shift[0]", AT(shift[0]), BIT(ADD) },
	{ "shift[1]", AT(shift[1]), 0 },
	{ "groups", AT(groups), BIT(CONV) },
	{ "delay_cycles", AT(delay_cycles), BIT(DELAY) },
	{ "jump_target", AT(jump_target), BIT(JUMP) },
};

static void test_unused_fields_are_zero(void **state)
{
	(void)state;
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		for (size_t i = 0; i < sizeof(field_users) / sizeof(field_users[0]); i++) {
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

static void test_sizes_near_the_limits(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(OP(COPY));

	(void)state;
	exact_regions(regions, OP(COPY));
	/* A region as large as no memory: the product of rows and stride is near 2^64. */
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

/* The fuzzer. */

static u64 interesting_value(u64 *state)
{
	static const u64 values[] = { 0, 1, 2, 3, 7, 8, 9, 16, 127, 128, 255, 256, 0x7fff, 0x8000,
				      0xffff, 1u << 24, 0x7fffffff, 0x80000000, 0xfffffff8,
				      0xffffffff, 1ull << 32, 1ull << 40, 1ull << 63, ~7ull, ~0ull };

	return values[random_next(state) % (sizeof(values) / sizeof(values[0]))];
}

/* The fields that bounds depend on: a small change of them is often still valid. */
static const struct {
	size_t offset;
	size_t size;
} shaping_fields[] = {
	{ AT(groups) }, { AT(out.offset) }, { AT(out.height) }, { AT(out.width) },
	{ AT(out.channels) }, { AT(out.row_stride) }, { AT(out.pixel_stride) },
	{ AT(in[0].region) }, { AT(in[0].offset) }, { AT(in[0].height) }, { AT(in[0].width) },
	{ AT(in[0].channels) }, { AT(in[0].row_stride) }, { AT(in[0].pixel_stride) },
	{ AT(in[1].region) }, { AT(in[1].offset) }, { AT(in[1].width) }, { AT(in[1].row_stride) },
	{ AT(weights_offset) }, { AT(params_offset) }, { AT(kernel_height) }, { AT(kernel_width) },
	{ AT(stride_height) }, { AT(stride_width) }, { AT(pad_top) }, { AT(pad_left) },
};

static void mutate_shape(struct overtake_insn *insn, u64 *state)
{
	u32 i = random_between(state, 0, sizeof(shaping_fields) / sizeof(shaping_fields[0]) - 1);
	u32 step = random_between(state, 0, 1) ? 1 : 8;
	u64 value = 0;

	memcpy(&value, (u8 *)insn + shaping_fields[i].offset, shaping_fields[i].size);
	value += random_between(state, 0, 2) ? 0 - (u64)step : step;
	memcpy((u8 *)insn + shaping_fields[i].offset, &value, shaping_fields[i].size);
}

/* Words of 2, 4 or 8 bytes at their natural places, reserved ones rarely. */
static void mutate_bytes(struct overtake_insn *insn, u64 *state)
{
	u32 size = 2u << random_between(state, 0, 2);
	u32 end = random_between(state, 0, 15) ? offsetof(struct overtake_insn, reserved) :
						 sizeof(*insn);
	u32 offset = random_between(state, 0, end / size - 1) * size;
	u64 value = 0;

	memcpy(&value, (u8 *)insn + offset, size);
	switch (random_between(state, 0, 3)) {
	case 0:
		value = interesting_value(state);
		break;
	case 1:
		value ^= 1ull << random_between(state, 0, 8 * size - 1);
		break;
	case 2:
		value += random_between(state, 0, 16) - 8ull;
		break;
	default:
		value = random_between(state, 0, 5);
	}
	memcpy((u8 *)insn + offset, &value, size);
}

/* Whatever was accepted runs to its end without leaving its regions. */
static void run_accepted(const struct random_job *job, const struct ovt_operands *operands)
{
	struct ovt_cursor cursor = { 0 };
	s64 work = 37;

	while (!ovt_operator_run(&job->insn, operands, &cursor, &work))
		work = 1000;
}

static void test_mutated_instructions_stay_inside_their_regions(void **state)
{
	const struct ovt_profile *profile = ovt_profile_find("ideal");
	u32 accepted = 0, refused = 0;
	u64 seed = 20260101;

	(void)state;
	for (u32 i = 0; i < 100000; i++) {
		struct ovt_operands operands = { 0 };
		struct random_job job;
		u32 fault;

		random_job_init(&job, (u16)random_between(&seed, 1, OVERTAKE_OP_COUNT - 1), &seed);
		for (u32 n = random_between(&seed, 1, 3); n; n--)
			mutate_shape(&job.insn, &seed);
		if (!random_between(&seed, 0, 2))
			mutate_bytes(&job.insn, &seed);
		fault = ovt_insn_check(&job.insn, job.regions, &operands);
		if (fault) {
			assert_true(fault <= OVERTAKE_FAULT_SHAPE);
			refused++;
		} else {
			accepted++;
			assert_true(ovt_insn_cycles(profile, &job.insn) > 0);
			if (job.insn.opcode != OP(DELAY) && job.insn.opcode != OP(JUMP))
				run_accepted(&job, &operands);
		}
		random_job_free(&job);
	}
	print_message("%u accepted, %u refused\n", accepted, refused);
	/* The fuzzer is worth something only if it sees both. */
	assert_true(accepted > 3000);
	assert_true(refused > 10000);
}

static void test_bounds_are_exact_for_any_shape(void **state)
{
	u64 seed = 7;

	(void)state;
	for (u32 i = 0; i < 10000; i++) {
		u16 opcode = (u16)random_between(&seed, OVERTAKE_OP_CONV, OVERTAKE_OP_COPY);
		struct random_job job;

		random_job_init(&job, opcode, &seed);
		assert_int_equal(check(&job.insn, job.regions), OVERTAKE_FAULT_NONE);
		for (u32 region = 0; region < OVERTAKE_MAX_REGIONS; region++) {
			if (!job.regions[region].length)
				continue;
			job.regions[region].length--;
			assert_int_equal(check(&job.insn, job.regions),
					 job.regions[region].length ? OVERTAKE_FAULT_BOUNDS :
								      OVERTAKE_FAULT_REGION);
			job.regions[region].length++;
		}
		random_job_free(&job);
	}
}

static void test_random_bytes_are_refused(void **state)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	u64 seed = 99;

	(void)state;
	exact_regions(regions, OP(CONV));
	for (u32 i = 0; i < 20000; i++) {
		struct overtake_insn insn;

		for (size_t byte = 0; byte < sizeof(insn); byte++)
			((u8 *)&insn)[byte] = (u8)(random_next(&seed) >> 32);
		insn.opcode %= OVERTAKE_OP_COUNT;
		assert_int_not_equal(check(&insn, regions), OVERTAKE_FAULT_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_instructions_are_accepted),
		cmocka_unit_test(test_one_wrong_field_is_refused),
		cmocka_unit_test(test_one_wrong_region_is_refused),
		cmocka_unit_test(test_unused_fields_are_zero),
		cmocka_unit_test(test_sizes_near_the_limits),
		cmocka_unit_test(test_operands_are_resolved),
		cmocka_unit_test(test_mutated_instructions_stay_inside_their_regions),
		cmocka_unit_test(test_bounds_are_exact_for_any_shape),
		cmocka_unit_test(test_random_bytes_are_refused),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
