// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV.
 *
 * Outputs are computed in groups of pixels whose inputs fit into the scratch (hw/simd/inputs.h).
 * A unit of work is a strip of up to 6 pixels of a group times 16 output channels: the weights
 * [i / 2][8 o][2 i] are widened to 16 bits as they are read, a pair of inputs is broadcast, and
 * one multiplication adds 2 inputs to each of 8 outputs.  12 sums, 2 vectors of weights, the pair
 * and a product are all the registers there are.  Sums wrap, so their order does not matter.
 */
#include "hw/operator_units.h"
#include "hw/simd/twins.h"
#include "hw/simd/inputs.h"
#include "hw/simd/requantise.h"

#define STRIP_PIXELS	6u
#define VECTOR_OUTPUTS	OVERTAKE_WEIGHT_BLOCK
/* Products of a unit of work, at most: some tens of microseconds. */
#define UNIT_PRODUCTS	(1u << 20)
/* Products in a nanosecond, on a CPU that is not fast. */
#define PRODUCTS_PER_NS	32

/**
 * struct conv_plan - how an instruction is cut
 * @inputs: the layout of the scratch
 * @run_pairs: pairs that follow each other in scratch and weights
 * @runs_y: rows of runs in a window
 * @runs_x: runs in such a row
 * @run_step_y: elements of the scratch from one row of runs to the next
 * @run_step_x: elements of the scratch from one run of a row to the next
 * @group_inputs: input channels of a group
 * @group_outputs: output channels of a group
 * @block_bytes: weights of 8 outputs
 * @strip: pixels of a strip, at most
 */
struct conv_plan {
	struct ovt_simd_inputs inputs;
	u32 run_pairs;
	u32 runs_y;
	u32 runs_x;
	u32 run_step_y;
	u32 run_step_x;
	u32 group_inputs;
	u32 group_outputs;
	u64 block_bytes;
	u32 strip;
};

/* A unit of work. */
struct conv_strip {
	const s16 *windows[STRIP_PIXELS];
	s8 *outputs[STRIP_PIXELS];
	const s8 *weights;
	u32 pixels;
	u32 count;	/* output channels, at most 16 */
	struct ovt_simd_sums *sums;	/* of each pixel */
};

static bool plan(struct conv_plan *plan, const struct overtake_insn *insn)
{
	u32 taps = (u32)insn->kernel_height * insn->kernel_width;
	u32 pairs, strip;

	plan->group_inputs = insn->in[0].channels / insn->groups;
	plan->group_outputs = insn->out.channels / insn->groups;
	if (!ovt_simd_inputs_plan(&plan->inputs, insn, plan->group_inputs, 2))
		return false;
	pairs = plan->inputs.pixel / OVERTAKE_WEIGHT_INPUTS;
	plan->run_pairs = pairs;
	plan->runs_x = insn->kernel_width;
	plan->run_step_x = ovt_dilation(insn->dilation_width) * plan->inputs.pixel;
	plan->runs_y = insn->kernel_height;
	plan->run_step_y = ovt_dilation(insn->dilation_height) * plan->inputs.row;
	/* Taps of a row that are neighbours are one run. */
	if (ovt_dilation(insn->dilation_width) == 1) {
		plan->run_pairs *= plan->runs_x;
		plan->runs_x = 1;
	}
	plan->block_bytes = (u64)taps * pairs * OVERTAKE_WEIGHT_TILE;
	strip = UNIT_PRODUCTS / (taps * plan->inputs.pixel * OVT_SIMD_OUTPUTS);
	plan->strip = strip < 1 ? 1 : strip > STRIP_PIXELS ? STRIP_PIXELS : strip;
	return true;
}

bool ovt_simd_conv_covers(const struct overtake_insn *insn)
{
	struct conv_plan ignored;

	return plan(&ignored, insn);
}

/* Adds a run to the sums of @pixels pixels times @vectors * 8 outputs. */
static __always_inline void
multiply_run(struct ovt_simd_sums *sums, const s16 *const *windows, u64 from, const s8 *weights,
	     u64 block_bytes, u32 pairs, const u32 pixels, const u32 vectors)
{
	const s8 *end = weights + (u64)pairs * OVERTAKE_WEIGHT_TILE;
	u64 at = from * sizeof(s16);

	for (; weights != end; weights += OVERTAKE_WEIGHT_TILE, at += sizeof(s32)) {
		ovt_s16x16 low = ovt_widen_s8(ovt_load_s8x16(weights));
		ovt_s16x16 high = { 0 };
		u32 p;

		if (vectors == 2)
			high = ovt_widen_s8(ovt_load_s8x16(weights + block_bytes));
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++) {
			s32 pair = ovt_load_s32((const u8 *)windows[p] + at);
			ovt_s16x16 inputs = (ovt_s16x16)ovt_broadcast_s32(pair);

			sums[p].low += ovt_multiply_pairs(inputs, low);
			if (vectors == 2)
				sums[p].high += ovt_multiply_pairs(inputs, high);
		}
	}
}

static __always_inline void
multiply(struct conv_strip *strip, const struct conv_plan *plan,
	 const struct ovt_simd_channels *outputs, const u32 pixels, const u32 vectors)
{
	u64 run_bytes = (u64)plan->run_pairs * OVERTAKE_WEIGHT_TILE;
	const s8 *weights = strip->weights;
	struct ovt_simd_sums sums[STRIP_PIXELS];
	u32 p, y, x;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		sums[p] = outputs->bias;
	for (y = 0; y < plan->runs_y; y++) {
		u64 from = (u64)y * plan->run_step_y;

		for (x = 0; x < plan->runs_x; x++) {
			multiply_run(sums, strip->windows, from, weights, plan->block_bytes,
				     plan->run_pairs, pixels, vectors);
			weights += run_bytes;
			from += plan->run_step_x;
		}
	}
#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		strip->sums[p] = sums[p];
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(struct conv_strip *strip, const struct conv_plan *plan,
		const struct ovt_simd_channels *outputs, const u32 vectors)
{
	switch (strip->pixels) {
	case 1:
		multiply(strip, plan, outputs, 1, vectors);
		break;
	case 2:
		multiply(strip, plan, outputs, 2, vectors);
		break;
	case 3:
		multiply(strip, plan, outputs, 3, vectors);
		break;
	case 4:
		multiply(strip, plan, outputs, 4, vectors);
		break;
	case 5:
		multiply(strip, plan, outputs, 5, vectors);
		break;
	default:
		multiply(strip, plan, outputs, 6, vectors);
		break;
	}
}

static OVT_SIMD_NOINLINE void multiply_8(struct conv_strip *strip, const struct conv_plan *plan,
					 const struct ovt_simd_channels *outputs)
{
	multiply_pixels(strip, plan, outputs, 1);
}

static OVT_SIMD_NOINLINE void multiply_16(struct conv_strip *strip, const struct conv_plan *plan,
					  const struct ovt_simd_channels *outputs)
{
	multiply_pixels(strip, plan, outputs, 2);
}

static void run_strip(struct conv_strip *strip, const struct conv_plan *plan,
		      const struct ovt_simd_channels *outputs)
{
	u32 p;

	if (strip->count > VECTOR_OUTPUTS)
		multiply_16(strip, plan, outputs);
	else
		multiply_8(strip, plan, outputs);
	for (p = 0; p < strip->pixels; p++)
		ovt_simd_store(strip->outputs[p], ovt_simd_requantise(&strip->sums[p], outputs),
			       strip->count);
}

/* The pixels from @first on, counted through the group's rows. */
static void place_strip(struct conv_strip *strip, const struct conv_plan *plan,
			const struct overtake_insn *insn, const struct ovt_operands *operands,
			const struct ovt_simd_scratch *scratch, const struct ovt_cursor *at,
			u32 width, u32 first)
{
	u32 y = first / width;
	u32 x = first % width;
	u32 p;

	for (p = 0; p < strip->pixels; p++) {
		struct ovt_cursor pixel = { .y = at->y + y, .x = at->x + x, .c = at->c };

		strip->windows[p] = ovt_simd_window(&plan->inputs, scratch, y, x);
		strip->outputs[p] = ovt_output_at(insn, operands, &pixel);
		if (++x == width) {
			x = 0;
			y++;
		}
	}
}

/* Strips of the 16 outputs at the cursor, until they or the work are used up: true if they are. */
static OVT_SIMD_NOINLINE bool
run_block(const struct conv_plan *plan, const struct overtake_insn *insn,
	  const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	  struct ovt_cursor *cursor, u32 count, s64 *work)
{
	u32 group = cursor->c / plan->group_outputs;
	u32 first_output = cursor->c % plan->group_outputs;
	u64 blocks = (plan->group_outputs + VECTOR_OUTPUTS - 1ull) / VECTOR_OUTPUTS;
	u32 width = ovt_simd_group_width(&plan->inputs, insn, cursor->x);
	u32 pixels = ovt_simd_group_height(&plan->inputs, insn, cursor->y) * width;
	u32 strips = (pixels + plan->strip - 1) / plan->strip;
	struct ovt_simd_channels outputs;
	struct conv_strip strip;

	ovt_simd_channels_load(&outputs, insn, operands, cursor->c, count);
	strip.count = count;
	strip.sums = (struct ovt_simd_sums *)scratch->sums;
	strip.weights = (const s8 *)operands->weights +
			(group * blocks + first_output / VECTOR_OUTPUTS) * plan->block_bytes;
	do {
		u32 first = (u32)((u64)pixels * cursor->strip / strips);

		strip.pixels = (u32)((u64)pixels * (cursor->strip + 1) / strips) - first;
		place_strip(&strip, plan, insn, operands, scratch, cursor, width, first);
		run_strip(&strip, plan, &outputs);
		*work -= 20 + strip.pixels * (10 + (s64)plan->block_bytes / PRODUCTS_PER_NS);
		if (++cursor->strip == strips) {
			cursor->strip = 0;
			return true;
		}
	} while (*work > 0);
	return false;
}

/* Past the outputs of a group of channels the scratch has to be filled anew. */
static bool advance(const struct conv_plan *plan, const struct overtake_insn *insn,
		    struct ovt_cursor *cursor, u32 count)
{
	cursor->c += count;
	if (cursor->c % plan->group_outputs)
		return true;
	cursor->filled = 0;
	if (cursor->c < insn->out.channels)
		return true;
	cursor->c = 0;
	cursor->x += ovt_simd_group_width(&plan->inputs, insn, cursor->x);
	if (cursor->x < insn->out.width)
		return true;
	cursor->x = 0;
	cursor->y += ovt_simd_group_height(&plan->inputs, insn, cursor->y);
	return cursor->y < insn->out.height;
}

bool ovt_simd_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct conv_plan cut;

	if (!plan(&cut, insn))
		return true;
	do {
		u32 left = cut.group_outputs - cursor->c % cut.group_outputs;
		u32 count = left < OVT_SIMD_OUTPUTS ? left : OVT_SIMD_OUTPUTS;

		if (!cursor->filled) {
			u32 group = cursor->c / cut.group_outputs;

			*work -= ovt_simd_inputs_fill(&cut.inputs, insn, operands, cursor->y,
						      cursor->x, group * cut.group_inputs, scratch);
			cursor->filled = 1;
			continue;
		}
		if (run_block(&cut, insn, operands, scratch, cursor, count, work) &&
		    !advance(&cut, insn, cursor, count))
			return true;
	} while (*work > 0);
	return false;
}
