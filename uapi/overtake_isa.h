/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The Overtake instruction set.
 *
 * A program is an array of fixed-size instructions in the program region of a job.
 * A function call (FC) is a contiguous range of the program.  Instructions run in order; each
 * reads and writes tensors in the job's regions.
 *
 * Extension rules
 * ---------------
 *  - OVERTAKE_ISA_VERSION is major << 16 | minor.  A device runs every program
 *    of its own major version and of any minor version up to its own.
 *  - The size of an instruction never changes within a major version.  New
 *    fields take space from @reserved; new meanings get a new opcode.
 *  - Reserved fields, and fields that an opcode does not use, are zero.  A device refuses an
 *    instruction in which they are not zero, so they can be given a meaning later.
 *  - Numbers once assigned (opcodes, region indices, fault codes) stay assigned.
 *
 * Tensors
 * -------
 * Activations are signed integers of 8 or 16 bits, according to their type, little
 * endian; height x width x channels, channels innermost and contiguous.  Element
 * (y, x, c), which has size bytes, is at
 *
 *	offset + y * row_stride + x * pixel_stride + size * c
 *
 * pixel_stride is a multiple of OVERTAKE_CHANNEL_ALIGN and at least size * channels,
 * row_stride at least width * pixel_stride.  Bytes between channels and
 * pixel_stride are padding: operators may read but never write them.  Bounds
 * checks count channels rounded up to OVERTAKE_CHANNEL_ALIGN, except that COPY
 * and the opcodes marked "exact" below count the channels as they are, so that
 * views of some of a tensor's channels stay inside its region.  Concatenation
 * and slicing are COPYs of such views; a larger stride makes a strided slice.
 * A 1-dimensional tensor is one with height 1.
 *
 * Float tensors (QUANTISE, DEQUANTISE) hold 32-bit IEEE 754 numbers, little
 * endian: element (y, x, c) is 4 * c bytes after the start of its pixel; offset
 * and strides are multiples of 4, pixel_stride is at least 4 * channels, and
 * zero_point is 0.
 *
 * The real value of an element q is scale * (q - zero_point).  Only the compiler
 * knows scales; the device sees the integer multipliers derived from them.
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

#define OVERTAKE_ISA_VERSION		((1u << 16) | 2u)
/* The first version with tensors of 16 bits. */
#define OVERTAKE_ISA_VERSION_INT16	((1u << 16) | 2u)

#define OVERTAKE_CHANNEL_ALIGN		8u
/* Outputs and inputs in a tile of the weights of CONV. */
#define OVERTAKE_WEIGHT_BLOCK		8u
#define OVERTAKE_WEIGHT_INPUTS		2u
#define OVERTAKE_WEIGHT_TILE		(OVERTAKE_WEIGHT_BLOCK * OVERTAKE_WEIGHT_INPUTS)
#define OVERTAKE_MAX_REGIONS		16u
/* The most products (or elements) of one output element; bounds work that cannot be interrupted. */
#define OVERTAKE_MAX_KERNEL_ELEMENTS	(1u << 17)
/* The same bound for CONV, DEPTHWISE, TRANSPOSED_CONV and MATMUL with an input of 16 bits. */
#define OVERTAKE_MAX_INT16_PRODUCTS	(1u << 15)
/* The most bytes from the first element of a tensor to its last; the most bytes of weights. */
#define OVERTAKE_MAX_TENSOR_BYTES	(1ull << 40)
#define OVERTAKE_TABLE_BYTES		256u
/* Elements of a table for an input of 16 bits. */
#define OVERTAKE_INT16_TABLE_ELEMENTS	(1u << 16)
#define OVERTAKE_FLOAT_TABLE_BYTES	1024u
#define OVERTAKE_DELAY_CYCLES_MAX	(1ull << 32)
#define OVERTAKE_MULTIPLIER_MAX		((1u << 24) - 1u)
#define OVERTAKE_SHIFT_MIN		1u
#define OVERTAKE_SHIFT_MAX		62u
/* Positions in an image (RESIZE_*, NV12) are in units of 1/2^20 pixel. */
#define OVERTAKE_POSITION_BITS		20u
#define OVERTAKE_START_MAX		(1ll << 52)
#define OVERTAKE_STEP_MAX		(1u << 30)

/* Region indices.  From OVERTAKE_REGION_IO on, jobs use them as they like. */
#define OVERTAKE_REGION_PROGRAM		0u
#define OVERTAKE_REGION_WEIGHTS		1u
#define OVERTAKE_REGION_SCRATCH		2u
#define OVERTAKE_REGION_IO		3u

/*
 * Opcodes.  in[0] (in0) is the input, in[1] (in1) the second input of opcodes that have two,
 * out the output.  "acc" is a 32-bit accumulator that wraps modulo 2^32.
 * Input positions outside the tensor contribute nothing.  docs/reference/isa.md has every
 * formula in full.
 *
 * CONV		acc = bias[o] + sum (in0 - zp0) * w; groups divides both channel
 *		counts.  Weights: [group][o / 8][ky][kx][i / 2][8 o][2 i], zero filled.
 * DEPTHWISE	channels of in0 = channels of out; weights [ky][kx][channels rounded up to 8].
 * MATMUL	rows = height * width of in0, k = its channels; in1 holds n rows (width n)
 *		of k channels; out has the height and width of in0 and n channels.
 *		acc = bias[n] + sum (in0 - zp0) * (in1 - zp1).  in1 has height 1, or the
 *		height of in0: then row y of in0 is multiplied with row y of in1.
 * ADD		acc = (in0 - zp0) * multiplier[0] + (in1 - zp1) * multiplier[1], in 64 bits,
 *		then rounded half to even by shift[0].  Each dimension of an input is the
 *		output's or 1 (also SUB, MUL, MAX, MIN).
 * MAX_POOL	maximum over the window's positions inside the tensor; zero points equal.
 * AVERAGE_POOL	sum (in0 - zp0) over the window, requantised by entry n - 1 of the
 *		parameters, where n is the number of positions inside the tensor.  With
 *		OVERTAKE_FLAG_COUNT_INCLUDE_PAD, n is kernel_height * kernel_width; with
 *		OVERTAKE_FLAG_CLIP_PAD as well, n leaves out positions more than
 *		pad_bottom rows below or pad_right columns right of the tensor.
 *		A global pool is a pool whose kernel is as large as the input.
 * TABLE	out = table[(unsigned char)in0]; 256 bytes at weights_offset.
 * COPY		out = in0, shapes equal (exact).
 * DELAY	occupies the core for delay_cycles, at most OVERTAKE_DELAY_CYCLES_MAX.
 * JUMP		continues at instruction jump_target of the program, which is in the FC.
 *
 * Opcodes since minor version 1:
 *
 * SUB		as ADD, but subtracts the second product.
 * MUL		(in0 - zp0) * (in1 - zp1) * multiplier[0], rounded by shift[0].
 * MAX, MIN	as ADD, with the greater (lesser) of the two products instead of their sum.
 * REQUANTISE	requantise(in0 - zp0, multiplier[0], shift[0]).
 * TRANSPOSED_CONV	as CONV, also for weights and parameters; tap (ky, kx) adds input (y', x')
 *		to output (y, x) when y' * stride_height = y + pad_top - ky * dilation_height
 *		and likewise for x.
 * PAD		in0, placed at row pad_top and column pad_left of out; around it fill, or with
 *		OVERTAKE_FLAG_EDGE the nearest element, or with OVERTAKE_FLAG_REFLECT the
 *		mirrored one (exact).
 * PERMUTE	exchanges axes: axes names the axis of in0 (0 height, 1 width, 2 channels)
 *		that becomes out's height, width << 2, channels << 4 (exact).
 * DEPTH_TO_SPACE	block = kernel_height = kernel_width; out (y, x, c) = in0 (y / block,
 *		x / block, (y % block * block + x % block) * out.channels + c), and with
 *		OVERTAKE_FLAG_CRD channel c * block^2 + y % block * block + x % block (exact).
 * SPACE_TO_DEPTH	the inverse of DEPTH_TO_SPACE without a flag (exact).
 * RESIZE_NEAREST, RESIZE_BILINEAR	input position of output (y, x): start_y + y * step_y,
 *		start_x + x * step_x, clamped to the tensor; zero points equal.
 * REDUCE_SUM	sum (in0 - zp0) over the axes of axes (OVERTAKE_AXIS_*), requantised by
 *		multiplier[0] and shift[0] (exact).
 * REDUCE_MAX, REDUCE_MIN	zero points equal (exact).
 * QUANTISE	in0 is a float tensor: in0 * multiplier[0] / 2^shift[0], rounded half to even
 *		(exact).  NaN counts as 0.
 * DEQUANTISE	out is a float tensor: word (unsigned char)in0 of the 256 at weights_offset,
 *		a multiple of 4 (exact).
 * NV12		in0 is an image's luma (1 channel, pixel_stride 1), in1 its chroma (2 channels,
 *		pixel_stride 2, half the luma's size rounded up), unsigned bytes.  Crops and
 *		resizes like RESIZE_BILINEAR, or RESIZE_NEAREST with OVERTAKE_FLAG_NEAREST;
 *		converts to R, G, B (or by flag to B, G, R, or to gray, which reads no
 *		chroma) of 0..255; then requantise(v + bias[c], multiplier[c], shift[c]).
 *		Three arrays of 8 words at params_offset (exact).
 *
 * Since minor version 2, operands may have 16 bits (OVERTAKE_TYPE_INT16), for all opcodes but NV12,
 * in any combination.  But in0 and out have the same type for opcodes that only move elements or
 * choose among them (COPY, PAD, PERMUTE, *_TO_*, RESIZE_*, MAX_POOL, REDUCE_MAX, REDUCE_MIN).  An
 * operand of 16 bits has zero_point 0.  clamp and fill have the range of out's type.
 *
 *  - CONV, DEPTHWISE, TRANSPOSED_CONV, MATMUL with an input of 16 bits: a sum has 64 bits, does
 *    not wrap, and has at most OVERTAKE_MAX_INT16_PRODUCTS products.  If MATMUL has two such
 *    inputs, the sum is divided by 256, rounded half to even, before the bias is added.
 *  - TABLE: for an input of 16 bits the table has OVERTAKE_INT16_TABLE_ELEMENTS elements, and the
 *    bits of the input, as an unsigned number, are the index; elements are as wide as out's.
 *  - DEQUANTISE: for an input of 16 bits there is no table; out is
 *    in0 * multiplier[0] / 2^shift[0], rounded to the nearest float, half to even.
 *
 * An FC is hung if it executes for more cycles than the watchdog allows, or executes more
 * instructions than both 4096 and a 128th of these cycles.
 *
 * CONV, DEPTHWISE, TRANSPOSED_CONV and MATMUL read three arrays of n 32-bit words, one after
 * the other at params_offset, where n is the number of output channels rounded up to 8:
 * bias (signed), multiplier, shift.  AVERAGE_POOL reads two arrays of
 * kernel_height * kernel_width words: multiplier, shift.  Words out of range make the
 * outputs that depend on them unspecified, and so do padding weights that are not zero.
 *
 * The last window of CONV, DEPTHWISE and the pools begins inside the tensor.  A dilated window may
 * have no tap inside the tensor: then acc = bias[o], and MAX_POOL gives the smallest value that its
 * clamp permits.  An output element has at most OVERTAKE_MAX_KERNEL_ELEMENTS products (or
 * elements).  If an instruction reads a tensor that it writes, the result is unspecified, but
 * nothing outside the tensor changes.
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
#define OVERTAKE_OP_SUB			11u
#define OVERTAKE_OP_MUL			12u
#define OVERTAKE_OP_MAX			13u
#define OVERTAKE_OP_MIN			14u
#define OVERTAKE_OP_REQUANTISE		15u
#define OVERTAKE_OP_TRANSPOSED_CONV	16u
#define OVERTAKE_OP_PAD			17u
#define OVERTAKE_OP_PERMUTE		18u
#define OVERTAKE_OP_DEPTH_TO_SPACE	19u
#define OVERTAKE_OP_SPACE_TO_DEPTH	20u
#define OVERTAKE_OP_RESIZE_NEAREST	21u
#define OVERTAKE_OP_RESIZE_BILINEAR	22u
#define OVERTAKE_OP_REDUCE_SUM		23u
#define OVERTAKE_OP_REDUCE_MAX		24u
#define OVERTAKE_OP_REDUCE_MIN		25u
#define OVERTAKE_OP_QUANTISE		26u
#define OVERTAKE_OP_DEQUANTISE		27u
#define OVERTAKE_OP_NV12		28u
#define OVERTAKE_OP_COUNT		29u

#define OVERTAKE_FLAG_COUNT_INCLUDE_PAD	(1u << 0)	/* AVERAGE_POOL */
#define OVERTAKE_FLAG_CLIP_PAD		(1u << 1)	/* AVERAGE_POOL, with the flag above */
#define OVERTAKE_FLAG_EDGE		(1u << 2)	/* PAD */
#define OVERTAKE_FLAG_REFLECT		(1u << 3)	/* PAD */
#define OVERTAKE_FLAG_CRD		(1u << 4)	/* DEPTH_TO_SPACE */
#define OVERTAKE_FLAG_NEAREST		(1u << 5)	/* NV12 */
#define OVERTAKE_FLAG_FULL_RANGE	(1u << 6)	/* NV12: luma and chroma of 0..255 */
#define OVERTAKE_FLAG_BGR		(1u << 7)	/* NV12 */
#define OVERTAKE_FLAG_GRAY		(1u << 8)	/* NV12 */

/* Types of a tensor's elements. */
#define OVERTAKE_TYPE_INT8		0u
#define OVERTAKE_TYPE_INT16		1u

/* REDUCE_*: axes that are reduced. */
#define OVERTAKE_AXIS_HEIGHT		(1u << 0)
#define OVERTAKE_AXIS_WIDTH		(1u << 1)
#define OVERTAKE_AXIS_CHANNELS		(1u << 2)

/**
 * struct overtake_operand - a tensor in one of the job's regions
 * @region: region index
 * @zero_point: the integer that represents 0, -128..127; 0 for 16 bits, float tensors and pictures
 * @offset: bytes from the start of the region to element (0, 0, 0)
 * @height: rows, at least 1
 * @width: pixels per row, at least 1
 * @channels: elements per pixel, at least 1
 * @row_stride: bytes from one row to the next
 * @pixel_stride: bytes from one pixel to the next
 * @type: OVERTAKE_TYPE_*; 0 for float tensors and pictures
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
	__u32 type;
};

/**
 * struct overtake_insn - one instruction, 256 bytes
 * @opcode: OVERTAKE_OP_*
 * @flags: OVERTAKE_FLAG_*
 * @groups: CONV: groups, at least 1
 * @out: the tensor that it writes
 * @in: the tensors that it reads
 * @weights_offset: bytes into the region @weights_region
 * @params_offset: bytes into the region @params_region, a multiple of 4
 * @weights_region: region of the weights or the table
 * @params_region: region of the requantisation parameters
 * @kernel_height: window rows, at least 1 (convolutions, pools); *_TO_*: the block
 * @kernel_width: window columns, at least 1; *_TO_*: the block
 * @stride_height: window step in rows, at least 1
 * @stride_width: window step in columns, at least 1
 * @pad_top: rows of the first window above the tensor, fewer than the window's extent
 *	     (kernel_height - 1) * dilation_height + 1; PAD: rows above the input
 * @pad_left: columns of the first window left of the tensor, fewer than the window's
 *	      extent; PAD: columns left of the input
 * @clamp_min: least output, in the range of out's type
 * @clamp_max: greatest output, in the range of out's type, not below clamp_min
 * @multiplier: integer scales below 2^24: for both inputs (ADD, SUB, MAX, MIN), or only [0]
 *		(MUL, REQUANTISE, REDUCE_SUM, QUANTISE, DEQUANTISE of 16 bits)
 * @shift: [0] is the right shift that goes with @multiplier, [1] is zero
 * @delay_cycles: DELAY: cycles, at least 1
 * @jump_target: JUMP: index of an instruction of the same FC
 * @dilation_height: rows from tap to tap, 0 means 1 (CONV, DEPTHWISE, TRANSPOSED_CONV, MAX_POOL)
 * @dilation_width: columns from tap to tap, 0 means 1
 * @start_y: position of output row 0 in in0, in 1/2^20 pixels, at most OVERTAKE_START_MAX from 0
 * @start_x: position of output column 0 in in0, with the same unit and limit
 * @step_y: rows of in0 from one output row to the next, in 1/2^20 pixels, at most OVERTAKE_STEP_MAX
 * @step_x: columns of in0 from one output column to the next, with the same unit and limit
 * @pad_bottom: AVERAGE_POOL with OVERTAKE_FLAG_CLIP_PAD: rows below the tensor that count,
 *		fewer than kernel_height
 * @pad_right: columns right of the tensor that count, fewer than kernel_width
 * @fill: PAD without a flag: the value around the input, in the range of out's type
 * @axes: PERMUTE: the permutation; REDUCE_*: OVERTAKE_AXIS_* to reduce, at least one
 * @reserved: zero
 *
 * Padding below and to the right of a tensor follows from the output's shape.
 * COPY, TABLE, DELAY, JUMP, PAD, PERMUTE, *_TO_*, RESIZE_* and DEQUANTISE do not clamp, because
 * they at most move elements or look them up.  Their clamp fields are zero.
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
	__u16 dilation_height;
	__u16 dilation_width;
	__s64 start_y;
	__s64 start_x;
	__u32 step_y;
	__u32 step_x;
	__u16 pad_bottom;
	__u16 pad_right;
	__s32 fill;
	__u32 axes;
	__u32 reserved[5];
};

/*
 * Faults: why a job ended early.  The numbers are stable.  struct overtake_result has the
 * fault of a job and the index of the instruction.
 */
#define OVERTAKE_FAULT_NONE		0u
#define OVERTAKE_FAULT_OPCODE		1u	/* unknown opcode */
#define OVERTAKE_FAULT_RESERVED		2u	/* a field that must be zero is not zero */
#define OVERTAKE_FAULT_FIELD		3u	/* a field is out of its range */
#define OVERTAKE_FAULT_REGION		4u	/* there is no such region, or it is not bound */
#define OVERTAKE_FAULT_BOUNDS		5u	/* an operand leaves its region */
#define OVERTAKE_FAULT_PERMISSION	6u	/* the region does not permit the access */
#define OVERTAKE_FAULT_SHAPE		7u	/* the operands' shapes do not fit */
#define OVERTAKE_FAULT_PROGRAM		8u	/* the FC leaves the program */
#define OVERTAKE_FAULT_WATCHDOG		9u	/* the FC executed for too many cycles */
#define OVERTAKE_FAULT_RESET		10u	/* the core was reset during the FC */
#define OVERTAKE_FAULT_KILLED		11u	/* the context was destroyed during the FC */
#define OVERTAKE_FAULT_CLOCK		12u	/* executing the FC took its host too long */
#define OVERTAKE_FAULT_STOPPED		13u	/* it kept executing after a cancel or deadline */
#define OVERTAKE_FAULT_UNSUPPORTED	14u	/* this core lacks the opcode */

#endif
