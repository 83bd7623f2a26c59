/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The operators, resumable.  A unit of work is a run of channels of one output pixel: up to 8
 * (convolutions, MATMUL, pools, reductions, NV12) or up to 4096 (the others), hence at most
 * 8 * OVERTAKE_MAX_KERNEL_ELEMENTS elementary operations.  A unit is not interrupted: the largest,
 * windows and reductions of 2^17 rows each on a page of its own, take milliseconds.
 *
 * What a unit counts bounds what it takes the host: windows and reductions count 8 channels even
 * where there are fewer, an element that is rounded counts as 4, one made of a float or gathered
 * from afar as 16, a pixel of a picture as 64, finding the taps of a transposed convolution as 128,
 * and no unit counts less than OVT_UNIT_WORK_MIN.
 */
#ifndef OVT_HW_OPERATORS_H
#define OVT_HW_OPERATORS_H

#include <ovt_port.h>
#include "hw/decode.h"

/* About what going from one unit to the next takes, in elementary operations. */
#define OVT_UNIT_WORK_MIN	32

/**
 * struct ovt_cursor - how far an operator got; all zero at its start
 * @y: next output row
 * @x: next output column
 * @c: next output channel
 * @strip: twins (hw/simd/simd.h) only: how far they are with these
 * @filled: twins only: their scratch holds the inputs of these
 */
struct ovt_cursor {
	u32 y;
	u32 x;
	u32 c;
	u32 strip;
	u32 filled;
};

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

/* acc * multiplier / 2^shift, rounded half to even. */
s64 ovt_requantise(s32 acc, u32 multiplier, u32 shift);

#endif
