/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Vector operators: the operators implemented with AVX2, which give the same bytes faster.
 *
 * The scalar operators (hw/operators.h) are the definition.  A vector operator covers an
 * instruction or leaves it to them.  The operator that begins an instruction ends it: the two kinds
 * order their units of work differently, so a cursor of one means nothing to the other.
 *
 * The files of this directory need a CPU with AVX2 and FMA and a host that lets them use its
 * registers (<ovt_simd_port.h>): other files may call them only between ovt_simd_begin() and
 * ovt_simd_end().  They round to nearest, ties to even, which ovt_simd_begin() ensures.  Some
 * operators have further variants for newer CPUs (hw/simd/level.h).
 *
 * Their inputs may change under them, as under the scalar operators: no address and no count
 * depends on anything but the validated instruction and the cursor (and, in TABLE, on a byte that
 * counts into 256).
 */
#ifndef OVT_HW_SIMD_H
#define OVT_HW_SIMD_H

#include <ovt_port.h>
#include "hw/decode.h"
#include "hw/operators.h"
#include "hw/simd/level.h"

/* Elements of the inputs as vector operators multiply them: 16 bits, less the zero point. */
#define OVT_SIMD_INPUTS		(64u * 1024u)

/* These elements as bytes: 3 channels and more, rounded up to 4. */
#define OVT_SIMD_BYTES		(OVT_SIMD_INPUTS * 4u / 3u)
/* Bytes of packed weights of 16 outputs of CONV. */
#define OVT_SIMD_PACKED		(96u * 1024u)
/* Vectors of 32 such weights that are multiplied in two parts, of each of two kinds. */
#define OVT_SIMD_EXTRAS		(OVT_SIMD_PACKED / 64u * 3u / 10u)
/* Rows of taps of CONV that can be left out where they are outside the tensor. */
#define OVT_SIMD_TAP_ROWS	8u
/* Greatest number of sums of a unit of work. */
#define OVT_SIMD_SUMS		128u
/* Blocks of 16 outputs of a unit of work of CONV, and bytes to keep what finishes them. */
#define OVT_SIMD_BLOCKS		2u
#define OVT_SIMD_BLOCK_BYTES	704u
/* Taps of a window whose weights DEPTHWISE keeps. */
#define OVT_SIMD_TAPS		128u

/**
 * struct ovt_simd_scratch - memory of a core's vector operators
 * @level: the instructions that operators may use; a host sets them before the first instruction
 * @inputs: the inputs of the units of work to come; CONV by AVX512-VNNI: weights of 16 more outputs
 * @bytes: these inputs as bytes
 * @packed: CONV: weights of 16 outputs, as bytes or words; for one pixel, its inputs for each step;
 *          DEPTHWISE by AVX512-VNNI: 64 channels and their weights
 * @step_at: CONV: place in a window, in bytes, of the inputs that each step's vectors multiply
 * @steps: CONV: number of steps
 * @extra: CONV: second parts of some bytes, for a step's first vectors and for its second ones
 * @added: MATMUL by AVX512-VNNI: what is added to the sums of each pixel of the group
 * @extra_at: CONV: place of the inputs that each of @extra multiplies
 * @extras: CONV: number of @extra for the first 0, 1, ... rows of taps; the last entry is for all
 * @totals: CONV: sum of the weights of each output of a block for the first 0, 1, ... rows of taps;
 *          the last entry is for all
 * @blocks: CONV: the outputs of the present unit of work (struct ovt_conv_block)
 * @sums: sums of the present unit of work
 * @weights: DEPTHWISE: weights of 16 channels: pairs of taps, widened and interleaved
 * @taps: DEPTHWISE: places of the pairs of taps in a window
 *
 * 356 KiB, aligned to 64 bytes, owned by the host; its contents but @level mean nothing between two
 * instructions.
 */
struct ovt_simd_scratch {
	enum ovt_simd_level level;
	s16 inputs[OVT_SIMD_INPUTS + 64] __attribute__((aligned(64)));
	u8 bytes[OVT_SIMD_BYTES / 64 * 64 + 128];
	s8 packed[OVT_SIMD_PACKED] __attribute__((aligned(64)));
	u32 step_at[OVT_SIMD_PACKED / 64u];
	u32 steps;
	union {
		s8 extra[2][OVT_SIMD_EXTRAS * 32u];
		u32 added[OVT_SIMD_INPUTS / 16u];
	};
	u32 extra_at[2][OVT_SIMD_EXTRAS];
	u32 extras[OVT_SIMD_TAP_ROWS + 1][2];
	u32 totals[OVT_SIMD_BLOCKS][OVT_SIMD_TAP_ROWS + 1][16] __attribute__((aligned(64)));
	u8 blocks[OVT_SIMD_BLOCKS][OVT_SIMD_BLOCK_BYTES] __attribute__((aligned(64)));
	u32 sums[OVT_SIMD_SUMS] __attribute__((aligned(64)));
	s16 weights[OVT_SIMD_TAPS / 2 * 32];
	u32 taps[OVT_SIMD_TAPS];
} __attribute__((aligned(64)));

/*
 * Work that a host has to wait for at once: ovt_simd_run() called with this much work or less takes
 * well below 200 us (docs/reference/operators.md), since it exceeds that work by less than a unit
 * of OVT_SIMD_UNIT.  Units are bounded: groups are small enough to be filled (hw/simd/inputs.h) and
 * strips short enough to be multiplied; larger windows of pools, CONV and DEPTHWISE, and longer
 * rows of MATMUL, have no vector operator.  Reads that miss all caches count: see
 * OVT_SIMD_FAR_WORK.
 */
#define OVT_SIMD_SLICE		(16 * 1024)
/* Greatest count of one unit. */
#define OVT_SIMD_UNIT		(32 * 1024)

/* Pixels or rows so many bytes apart are soon on different pages: reads miss cache and TLB. */
#define OVT_SIMD_FAR		1024u
#define OVT_SIMD_FAR_WORK	30

static inline u32 ovt_simd_far_work(u64 bytes_apart)
{
	return bytes_apart < OVT_SIMD_FAR ? 0 : OVT_SIMD_FAR_WORK;
}

/* Returns the work of a store to a pixel of out beyond that of a store to a pixel in the cache. */
static inline u32 ovt_simd_store_work(const struct overtake_insn *insn)
{
	return ovt_simd_far_work(insn->out.row_stride / insn->out.width);
}

/* Whether a vector operator covers @insn.  Only inside a section: this code may use vectors. */
bool ovt_simd_covers(const struct overtake_insn *insn);

/*
 * ovt_simd_run - execute part of a validated instruction that is covered
 * @work: in: work to spend, at least 1; out: work that is left, possibly below zero by one unit
 *
 * Like ovt_operator_run(), but 1 of @work is about a nanosecond, whatever the operator.  @scratch
 * and @cursor stay with the instruction from its start, where @cursor is all zero, to its end.
 */
bool ovt_simd_run(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work);

#endif
