/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The Overtake instruction set.
 *
 * A program is an array of fixed-size instructions in a job's program region.
 * A function call (FC) is a contiguous range of it.  Instructions run in order;
 * each reads and writes tensors that live in the job's regions.
 *
 * Extension rules
 * ---------------
 *  - OVERTAKE_ISA_VERSION is major << 16 | minor.  A device runs every program
 *    of its own major version and of any minor version up to its own.
 *  - The size of an instruction never changes within a major version.  New
 *    fields come out of @reserved; new meanings get a new opcode.
 *  - Reserved fields, and fields that an opcode does not use, are zero.  A device
 *    faults an instruction in which they are not, so they can be given a
 *    meaning later.
 *  - Numbers once assigned (opcodes, region indices, fault codes) stay assigned.
 *
 * Tensors
 * -------
 * Activations are signed 8-bit, height x width x channels, channels innermost
 * and contiguous.  Element (y, x, c) is at
 *
 *	offset + y * row_stride + x * pixel_stride + c
 *
 * pixel_stride is a multiple of OVERTAKE_CHANNEL_ALIGN and at least channels,
 * row_stride at least width * pixel_stride.  Bytes between channels and
 * pixel_stride are padding: operators may read and never write them.  A bound
 * check counts channels rounded up to OVERTAKE_CHANNEL_ALIGN.
 *
 * The real value of an element q is scale * (q - zero_point); scales are known
 * to the compiler only, the device sees the integer multipliers derived from
 * them.
 *
 * Requantisation
 * --------------
 * requantise(acc, multiplier, shift) is acc * multiplier / 2^shift, computed in
 * 64 bits and rounded half to even; multiplier is below 2^24 and shift is 1..62.
 * Then the output's zero point is added and the sum is clamped to
 * [clamp_min, clamp_max].
 */
#ifndef OVERTAKE_ISA_H
#define OVERTAKE_ISA_H

#include <linux/types.h>

#define OVERTAKE_ISA_VERSION		((1u << 16) | 0u)

#define OVERTAKE_CHANNEL_ALIGN		8u
/* Outputs and inputs of a tile of CONV's weights. */
#define OVERTAKE_WEIGHT_BLOCK		8u
#define OVERTAKE_WEIGHT_INPUTS		2u
#define OVERTAKE_WEIGHT_TILE		(OVERTAKE_WEIGHT_BLOCK * OVERTAKE_WEIGHT_INPUTS)
#define OVERTAKE_MAX_REGIONS		16u
/* Products that are summed up into one output element: bounds what cannot be interrupted. */
#define OVERTAKE_MAX_KERNEL_ELEMENTS	(1u << 17)
/* Bytes from a tensor's first element to its last, and of weights. */
#define OVERTAKE_MAX_TENSOR_BYTES	(1ull << 40)
#define OVERTAKE_TABLE_BYTES		256u
#define OVERTAKE_DELAY_CYCLES_MAX	(1ull << 32)
#define OVERTAKE_MULTIPLIER_MAX		((1u << 24) - 1u)
#define OVERTAKE_SHIFT_MIN		1u
#define OVERTAKE_SHIFT_MAX		62u

/* Region indices.  From OVERTAKE_REGION_IO on they are the job's own. */
#define OVERTAKE_REGION_PROGRAM		0u
#define OVERTAKE_REGION_WEIGHTS		1u
#define OVERTAKE_REGION_SCRATCH		2u
#define OVERTAKE_REGION_IO		3u

/*
 * Opcodes.  in[0] is the input, in[1] a second input where one is named,
 * out the output.  "acc" is a 32-bit accumulator that wraps modulo 2^32.
 * Input positions outside the tensor contribute nothing.
 *
 * CONV		acc = bias[o] + sum (in0 - zp0) * w; groups divides both channel
 *		counts.  Weights: [group][o / 8][ky][kx][i / 2][8 o][2 i], zero filled.
 * DEPTHWISE	channels of in0 = channels of out; weights [ky][kx][channels rounded up to 8].
 * MATMUL	rows = height * width of in0, k = its channels; in1 holds n rows (height 1,
 *		width n) of k channels; out has the height and width of in0 and n channels.
 *		acc = bias[n] + sum (in0 - zp0) * (in1 - zp1).
 * ADD		acc = (in0 - zp0) * multiplier[0] + (in1 - zp1) * multiplier[1], in 64 bits,
 *		then rounded half to even by shift[0].
 * MAX_POOL	maximum over the window's positions inside the tensor; zero points equal.
 * AVERAGE_POOL	sum (in0 - zp0) over the window, requantised by entry n - 1 of the
 *		parameters, n being the number of positions inside the tensor; with
 *		OVERTAKE_FLAG_COUNT_INCLUDE_PAD n is kernel_height * kernel_width.
 *		A global pool is a pool whose kernel is the whole input.
 * TABLE	out = table[(unsigned char)in0]; 256 bytes at weights_offset.
 * COPY		out = in0, shapes equal.
 * DELAY	occupies the core for delay_cycles, at most OVERTAKE_DELAY_CYCLES_MAX.
 * JUMP		continues at instruction jump_target of the program, which lies in the FC.
 *
 * An FC that executes for more cycles than the watchdog allows is hung, and so is one that executes
 * more instructions than 4096 and than a 128th of these cycles.
 *
 * CONV, DEPTHWISE and MATMUL read three arrays of n 32-bit words, one behind
 * the other at params_offset, n being the output channels rounded up to 8:
 * bias (signed), multiplier, shift.  AVERAGE_POOL reads two arrays of
 * kernel_height * kernel_width words: multiplier, shift.  Words out of range make the
 * outputs that depend on them unspecified, and so do weights of the zero filling that are
 * not zero.
 *
 * Every window has a position inside its tensor.  The products that are summed up into one
 * output element are at most OVERTAKE_MAX_KERNEL_ELEMENTS.  A tensor that is written and
 * read by one instruction has an unspecified result; nothing outside it is touched.
 */
#define OVERTAKE_OP_CONV		1u
#define OVERTAKE_OP_DEPTHWISE		2u
#define OVERTAKE_OP_MATMUL		3u
#define OVERTAKE_OP_ADD			4u
#define OVERTAKE_OP_MAX_POOL		5u
#define OVERTAKE_OP_AVERAGE_POOL	6u
#define OVERTAKE_OP_TABLE		7u
#define OVERTAKE_OP_COPY		8u
#define OVERTAKE_OP_DELAY		9u
#define OVERTAKE_OP_JUMP		10u
#define OVERTAKE_OP_COUNT		11u

#define OVERTAKE_FLAG_COUNT_INCLUDE_PAD	(1u << 0)

/**
 * struct overtake_operand - a tensor in one of the job's regions
 * @region: region index
 * @zero_point: the integer that stands for 0, -128..127
 * @offset: bytes from the start of the region to element (0, 0, 0)
 * @height: rows, at least 1
 * @width: pixels a row, at least 1
 * @channels: elements a pixel, at least 1
 * @row_stride: bytes from one row to the next
 * @pixel_stride: bytes from one pixel to the next
 * @reserved: zero
 */
struct overtake_operand {
	__u32 region;
	__s32 zero_point;
	__u64 offset;
	__u32 height;
	__u32 width;
	__u32 channels;
	__u32 row_stride;
	__u32 pixel_stride;
	__u32 reserved;
};

/**
 * struct overtake_insn - one instruction, 256 bytes
 * @opcode: OVERTAKE_OP_*
 * @flags: OVERTAKE_FLAG_*
 * @groups: CONV: groups, at least 1
 * @out: the tensor written
 * @in: the tensors read
 * @weights_offset: bytes into the region @weights_region
 * @params_offset: bytes into the region @params_region, a multiple of 4
 * @weights_region: region of the weights or the table
 * @params_region: region of the requantisation parameters
 * @kernel_height: window rows, at least 1 (CONV, DEPTHWISE, pools)
 * @kernel_width: window columns, at least 1
 * @stride_height: window step in rows, at least 1
 * @stride_width: window step in columns, at least 1
 * @pad_top: rows of the first window above the tensor, below kernel_height
 * @pad_left: columns of the first window left of the tensor, below kernel_width
 * @clamp_min: least output, -128..127
 * @clamp_max: greatest output, -128..127, not below clamp_min
 * @multiplier: ADD: integer scales of the two inputs, below 2^24
 * @shift: ADD: [0] is the common right shift, [1] is zero
 * @delay_cycles: DELAY: cycles, at least 1
 * @jump_target: JUMP: index of an instruction of the same FC
 * @reserved: zero
 *
 * Padding below and to the right of a tensor follows from the output's shape.
 * COPY, TABLE, DELAY and JUMP do not clamp; their clamp fields are zero.
 */
struct overtake_insn {
	__u16 opcode;
	__u16 flags;
	__u32 groups;
	struct overtake_operand out;
	struct overtake_operand in[2];
	__u64 weights_offset;
	__u64 params_offset;
	__u32 weights_region;
	__u32 params_region;
	__u16 kernel_height;
	__u16 kernel_width;
	__u16 stride_height;
	__u16 stride_width;
	__u16 pad_top;
	__u16 pad_left;
	__s16 clamp_min;
	__s16 clamp_max;
	__u32 multiplier[2];
	__u32 shift[2];
	__u64 delay_cycles;
	__u32 jump_target;
	__u32 reserved[15];
};

/*
 * Faults: what ended a job early.  The numbers are stable; the record of a job
 * carries one together with the index of the instruction.
 */
#define OVERTAKE_FAULT_NONE		0u
#define OVERTAKE_FAULT_OPCODE		1u	/* unknown opcode */
#define OVERTAKE_FAULT_RESERVED		2u	/* a field that must be zero is not */
#define OVERTAKE_FAULT_FIELD		3u	/* a field is out of its range */
#define OVERTAKE_FAULT_REGION		4u	/* no such region, or not bound */
#define OVERTAKE_FAULT_BOUNDS		5u	/* an operand leaves its region */
#define OVERTAKE_FAULT_PERMISSION	6u	/* the region does not permit the access */
#define OVERTAKE_FAULT_SHAPE		7u	/* the operands' shapes do not fit */
#define OVERTAKE_FAULT_PROGRAM		8u	/* the FC leaves the program */
#define OVERTAKE_FAULT_WATCHDOG		9u	/* the FC executed for too many cycles */
#define OVERTAKE_FAULT_RESET		10u	/* the core was reset under the FC */
#define OVERTAKE_FAULT_KILLED		11u	/* the context was destroyed under the FC */

#endif
