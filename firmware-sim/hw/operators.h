/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The operators, which are resumable.  A unit of work is a run of channels of one output pixel: up
 * to 8 (convolutions, MATMUL, pools, reductions, NV12), up to 512 or 1024 (operators that gather
 * elements, QUANTISE) or up to 4096 (the others).  Where outputs are made of many inputs, a unit is
 * a part of such a run (hw/terms.h).  A unit is not interrupted; it counts at most
 * OVT_UNIT_WORK_MAX and reads at most 512 places that may each miss all caches: some 100 us.
 *
 * The count of a unit bounds its time on the host: windows and reductions count 8 channels even
 * where there are fewer, an element that is rounded counts as 4, one made of a float or gathered
 * from afar as 16, a pixel of a picture as 64, finding the taps of a transposed convolution as 128,
 * and no unit counts less than OVT_UNIT_WORK_MIN.
 */
#ifndef OVT_HW_OPERATORS_H
#define OVT_HW_OPERATORS_H

#include <ovt_port.h>
#include "hw/decode.h"

/* Approximate cost of going from one unit to the next, in elementary operations. */
#define OVT_UNIT_WORK_MIN	32
/* Greatest count of a unit. */
#define OVT_UNIT_WORK_MAX	(16 * 1024)
/* Work of the inputs that a unit adds up, for an output that is made of many inputs. */
#define OVT_PART_WORK		4096u

/**
 * struct ovt_cursor - how far an operator got; all zero at its start
 * @y: next output row
 * @x: next output column
 * @c: next output channel
 * @row: row of the next inputs to be added up for these outputs (hw/terms.h)
 * @column: column of these inputs
 * @results: results of the inputs that have been added up: sums of 64 bits, or as many smaller ones
 * @strip: vector operators (hw/simd/simd.h) only: how far they are with these outputs
 * @filled: vector operators only: their scratch holds the inputs of these outputs
 */
struct ovt_cursor {
	u32 y;
	u32 x;
	u32 c;
	u32 row;
	u32 column;
	u64 results[OVERTAKE_WEIGHT_BLOCK];
	u32 strip;
	u32 filled;
};

/* Moves @cursor past a block of @rows x @columns output pixels; returns false past the last. */
static inline bool ovt_cursor_next_pixels(const struct overtake_insn *insn,
					  struct ovt_cursor *cursor, u32 rows, u32 columns)
{
	cursor->c = 0;
	cursor->x += columns;
	if (cursor->x < insn->out.width)
		return true;
	cursor->x = 0;
	cursor->y += rows;
	return cursor->y < insn->out.height;
}

/* Moves @cursor past @count channels of its pixel; returns false past the last pixel. */
static inline bool ovt_cursor_next(const struct overtake_insn *insn, struct ovt_cursor *cursor,
				   u32 count)
{
	cursor->c += count;
	if (cursor->c < insn->out.channels)
		return true;
	return ovt_cursor_next_pixels(insn, cursor, 1, 1);
}

/*
 * ovt_operator_run - execute part of a validated instruction
 * @work: in: elementary operations (MACs or elements) to spend, at least 1; out: what is
 *        left, possibly below zero by one unit of work
 *
 * Returns true when the instruction is finished.  At least one unit of work is done, so a
 * caller that repeats makes progress whatever the budget.  Whatever the budgets, the bytes
 * written are the same.  Touches nothing but the operands.
 */
bool ovt_operator_run(const struct overtake_insn *insn, const struct ovt_operands *operands,
		      struct ovt_cursor *cursor, s64 *work);

/* Returns acc * multiplier / 2^shift, rounded half to even; acc is within 2^38 + 2^32. */
s64 ovt_requantise(s64 acc, u32 multiplier, u32 shift);

#endif
