// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * TRANSPOSED_CONV, as one CONV for each phase.
 *
 * A phase is the outputs at (y, x) of every stride_height-th row and stride_width-th column.  The
 * same taps, stride apart in the kernel, reach all of them, and bring inputs that are dilation
 * apart.  So a phase is a CONV of stride 1 with these taps, from the last to the first, whose
 * outputs are further apart.  This holds if stride and dilation have no common divisor; in
 * other instructions some outputs have no tap, as where the kernel is shorter than the stride.
 *
 * The cursor's row and column are those of the phase, its other fields are of the phase's CONV.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv.h"
#include "hw/simd/vector_operators.h"

/* Greatest number of phases of an instruction: each is planned before the first begins. */
#define MOST_PHASES	16u
/* Work of planning a phase. */
#define PHASE_WORK	200

/*
 * A phase along one axis: @outputs, of which the first begins @pad before the input or @skipped
 * behind its begin; @taps of the kernel, from @last backwards.
 */
struct axis {
	u32 outputs;
	u32 taps;
	u32 last;
	u32 pad;
	u32 skipped;
};

/**
 * struct phase - one CONV
 * @insn: the instruction
 * @plan: how it is cut
 * @rows: the phase along the rows
 * @columns: the phase along the columns
 */
struct phase {
	struct overtake_insn insn;
	struct ovt_conv_plan plan;
	struct axis rows;
	struct axis columns;
};

/* Returns the only tap below @stride that reaches @position; @stride if there is not just one. */
static u32 first_tap(u32 position, u32 stride, u32 dilation)
{
	u32 back = stride - dilation % stride;
	u32 tap, found = stride;

	for (tap = 0; tap < stride; tap++) {
		if ((position + tap * back) % stride)
			continue;
		if (found != stride)
			return stride;
		found = tap;
	}
	return found;
}

/* Finds @axis.  False if no tap reaches the outputs, or if they are not those of a CONV. */
static bool find_axis(struct axis *axis, u32 phase, u32 stride, u32 pad, u32 kernel, u32 dilation,
		      u32 inputs, u32 outputs)
{
	u32 position = phase + pad;
	u32 first = first_tap(position, stride, dilation);
	s64 begin;

	if (first == stride || first >= kernel)
		return false;
	axis->outputs = (outputs - phase - 1) / stride + 1;
	axis->taps = (kernel - 1 - first) / stride + 1;
	axis->last = first + (axis->taps - 1) * stride;
	/* The input that the last tap brings to the first output: whole strides away. */
	begin = ((s64)position - (s64)axis->last * dilation) / stride;
	axis->pad = begin < 0 ? (u32)-begin : 0;
	axis->skipped = begin > 0 ? (u32)begin : 0;
	return axis->pad <= 0xffff && axis->skipped < inputs;
}

/* Multiplies *@bytes by @stride.  Returns false if the product is not below 2^32. */
static bool widen_stride(u32 *bytes, u32 stride)
{
	u64 wide = (u64)*bytes * stride;

	*bytes = (u32)wide;
	return wide <= (u32)-1;
}

static bool make_conv(struct phase *phase, const struct overtake_insn *insn)
{
	const struct axis *rows = &phase->rows, *columns = &phase->columns;
	struct overtake_insn *conv = &phase->insn;

	*conv = *insn;
	conv->kernel_height = (u16)rows->taps;
	conv->kernel_width = (u16)columns->taps;
	conv->pad_top = (u16)rows->pad;
	conv->pad_left = (u16)columns->pad;
	conv->stride_height = 1;
	conv->stride_width = 1;
	conv->in[0].height -= rows->skipped;
	conv->in[0].width -= columns->skipped;
	conv->out.height = rows->outputs;
	conv->out.width = columns->outputs;
	return widen_stride(&conv->out.row_stride, insn->stride_height) &&
	       widen_stride(&conv->out.pixel_stride, insn->stride_width);
}

static void order_taps(struct ovt_conv_run *run, u32 length, const struct phase *phase,
		       const struct overtake_insn *insn, u64 tap_bytes)
{
	run->length = length;
	run->columns = phase->columns.taps;
	run->weights_row = -(s64)(tap_bytes * insn->kernel_width * insn->stride_height);
	run->weights_column = -(s64)(tap_bytes * insn->stride_width);
}

/* Makes a phase use the weights of @insn: its taps are apart there, and in reverse order. */
static void order_weights(struct phase *phase, const struct overtake_insn *insn)
{
	struct ovt_conv_plan *plan = &phase->plan;
	u64 tap_bytes = (u64)plan->inputs.pixel * OVERTAKE_WEIGHT_BLOCK;
	u64 last = (u64)phase->rows.last * insn->kernel_width + phase->columns.last;

	order_taps(&plan->words_run, plan->inputs.pixel / 2, phase, insn, tap_bytes);
	order_taps(&plan->bytes_run, plan->bytes.pixel / 4, phase, insn, tap_bytes);
	plan->block_step = tap_bytes * insn->kernel_height * insn->kernel_width;
	plan->first_weight = last * tap_bytes;
	plan->ordered = false;
}

/* Plans the phase at (@y, @x). */
static bool plan_phase(struct phase *phase, const struct overtake_insn *insn, u32 y, u32 x)
{
	if (!find_axis(&phase->rows, y, insn->stride_height, insn->pad_top, insn->kernel_height,
		       ovt_dilation(insn->dilation_height), insn->in[0].height,
		       insn->out.height) ||
	    !find_axis(&phase->columns, x, insn->stride_width, insn->pad_left, insn->kernel_width,
		       ovt_dilation(insn->dilation_width), insn->in[0].width, insn->out.width) ||
	    !make_conv(phase, insn) || !ovt_conv_plan_init(&phase->plan, &phase->insn))
		return false;
	order_weights(phase, insn);
	return true;
}

/* Moves on to the next phase in the rows and columns of the output; false past the last. */
static bool next_phase(const struct overtake_insn *insn, u32 *y, u32 *x)
{
	*x += 1;
	if (*x < insn->stride_width && *x < insn->out.width)
		return true;
	*x = 0;
	*y += 1;
	return *y < insn->stride_height && *y < insn->out.height;
}

bool ovt_simd_transposed_covers(const struct overtake_insn *insn)
{
	u32 y = 0, x = 0;

	if ((u32)insn->stride_height * insn->stride_width > MOST_PHASES)
		return false;
	do {
		struct phase phase;

		if (!plan_phase(&phase, insn, y, x) ||
		    !ovt_conv_plan_pays(&phase.plan, &phase.insn))
			return false;
	} while (next_phase(insn, &y, &x));
	return true;
}

static struct ovt_operands phase_operands(const struct phase *phase,
					  const struct overtake_insn *insn,
					  const struct ovt_operands *operands,
					  const struct ovt_cursor *cursor)
{
	struct ovt_operands moved = *operands;

	moved.out += ovt_element_offset(&insn->out, cursor->row, cursor->column, 0);
	moved.in[0] += ovt_element_offset(&insn->in[0], phase->rows.skipped,
					  phase->columns.skipped, 0);
	return moved;
}

bool ovt_simd_transposed(const struct overtake_insn *insn, const struct ovt_operands *operands,
			 struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct ovt_operands moved;
	struct phase phase;
	u32 row, column;

	do {
		if (!plan_phase(&phase, insn, cursor->row, cursor->column))
			return true;
		moved = phase_operands(&phase, insn, operands, cursor);
		*work -= PHASE_WORK;
		if (!ovt_conv_plan_run(&phase.plan, &phase.insn, &moved, scratch, cursor, work))
			return false;
		row = cursor->row;
		column = cursor->column;
		*cursor = (struct ovt_cursor){ 0 };
		if (!next_phase(insn, &row, &column))
			return true;
		cursor->row = row;
		cursor->column = column;
	} while (*work > 0);
	return false;
}
