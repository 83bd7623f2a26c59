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
#include "hw/simd/conv.h"
#include "hw/simd/twins.h"

#define VECTOR_OUTPUTS	OVERTAKE_WEIGHT_BLOCK
/* Products of a unit of work, at most: some tens of microseconds. */
#define UNIT_PRODUCTS	(1u << 20)
/* Products in a nanosecond, on a CPU that is not fast. */
#define PRODUCTS_PER_NS	32
/* Of loading what 16 outputs are scaled by. */
#define BLOCK_WORK	60
/* Fewer pixels are not worth packing weights for. */
#define PACK_PIXELS	16u

/* ovt_cursor.filled: what the scratch holds for the cursor's outputs. */
#define FILLED_WORDS	(1u << 0)
#define FILLED_BYTES	(1u << 1)
#define PACKED		(1u << 2)
/* Of the instruction: it has weights that cannot be packed. */
#define WIDE		(1u << 3)

static void plan_run(struct ovt_conv_run *run, const struct ovt_simd_inputs *inputs,
		     const struct overtake_insn *insn, u32 at_once)
{
	run->length = inputs->pixel / at_once;
	run->columns = insn->kernel_width;
	run->column_step = ovt_dilation(insn->dilation_width) * inputs->pixel;
	run->rows = insn->kernel_height;
	run->row_step = ovt_dilation(insn->dilation_height) * inputs->row;
	/* Taps of a row that are neighbours are one run. */
	if (ovt_dilation(insn->dilation_width) == 1) {
		run->length *= run->columns;
		run->columns = 1;
	}
}

static bool plan(struct ovt_conv_plan *plan, const struct overtake_insn *insn)
{
	u32 taps = (u32)insn->kernel_height * insn->kernel_width;
	u32 strip;

	plan->group_inputs = insn->in[0].channels / insn->groups;
	plan->group_outputs = insn->out.channels / insn->groups;
	if (!ovt_simd_inputs_plan(&plan->inputs, insn, plan->group_inputs, OVERTAKE_WEIGHT_INPUTS))
		return false;
	ovt_simd_inputs_as_bytes(&plan->bytes, &plan->inputs);
	plan_run(&plan->words_run, &plan->inputs, insn, 2);
	plan_run(&plan->bytes_run, &plan->bytes, insn, 4);
	plan->block_bytes = (u64)taps * plan->inputs.pixel * VECTOR_OUTPUTS;
	strip = UNIT_PRODUCTS / (taps * plan->inputs.pixel * OVT_SIMD_OUTPUTS);
	plan->strip = strip < 1 ? 1 : strip > OVT_STRIP_PIXELS ? OVT_STRIP_PIXELS : strip;
	return true;
}

bool ovt_simd_conv_covers(const struct overtake_insn *insn)
{
	struct ovt_conv_plan cut;

	return plan(&cut, insn) && ovt_simd_inputs_pay(&cut.inputs, insn, cut.group_outputs,
						       cut.group_inputs);
}

/* Adds a run to the sums of @pixels pixels times @vectors * 8 outputs. */
static __always_inline void
multiply_run(struct ovt_simd_sums *sums, const u8 *const *windows, u64 from, const s8 *weights,
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
			s32 pair = ovt_load_s32(windows[p] + at);
			ovt_s16x16 inputs = (ovt_s16x16)ovt_broadcast_s32(pair);

			sums[p].low += ovt_multiply_pairs(inputs, low);
			if (vectors == 2)
				sums[p].high += ovt_multiply_pairs(inputs, high);
		}
	}
}

static __always_inline void
multiply(struct ovt_conv_strip *strip, const struct ovt_conv_plan *plan,
	 const struct ovt_simd_channels *outputs, const u32 pixels, const u32 vectors)
{
	const struct ovt_conv_run *run = &plan->words_run;
	u64 run_bytes = (u64)run->length * OVERTAKE_WEIGHT_TILE;
	const s8 *weights = strip->weights;
	struct ovt_simd_sums sums[OVT_STRIP_PIXELS];
	u32 p, y, x;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		sums[p] = outputs->bias;
	for (y = 0; y < run->rows; y++) {
		u64 from = (u64)y * run->row_step;

		for (x = 0; x < run->columns; x++) {
			multiply_run(sums, strip->windows, from, weights, plan->block_bytes,
				     run->length, pixels, vectors);
			weights += run_bytes;
			from += run->column_step;
		}
	}
#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		strip->sums[p] = sums[p];
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(struct ovt_conv_strip *strip, const struct ovt_conv_plan *plan,
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

static OVT_SIMD_NOINLINE void multiply_8(struct ovt_conv_strip *strip,
					 const struct ovt_conv_plan *plan,
					 const struct ovt_simd_channels *outputs)
{
	multiply_pixels(strip, plan, outputs, 1);
}

static OVT_SIMD_NOINLINE void multiply_16(struct ovt_conv_strip *strip,
					  const struct ovt_conv_plan *plan,
					  const struct ovt_simd_channels *outputs)
{
	multiply_pixels(strip, plan, outputs, 2);
}

/* The factors of 8 outputs come twice, for two pixels at once. */
static void repeat_factors(struct ovt_simd_channels *outputs)
{
	outputs->scales.factors[2] = outputs->scales.factors[0];
	outputs->scales.factors[3] = outputs->scales.factors[1];
}

static void store_8(s8 *out, u64 bytes, u32 count)
{
	if (count == VECTOR_OUTPUTS)
		ovt_store_u64(out, bytes);
	else
		memcpy(out, &bytes, count);
}

static void store_strip_8(const struct ovt_conv_strip *strip,
			  const struct ovt_simd_channels *outputs)
{
	u32 p;

	for (p = 0; p < strip->pixels; p += 2) {
		u32 second = p + 1 < strip->pixels ? p + 1 : p;
		struct ovt_simd_sums sums = { strip->sums[p].low, strip->sums[second].low };
		ovt_s64x2 bytes = (ovt_s64x2)ovt_simd_requantise(&sums, outputs);

		store_8(strip->outputs[p], (u64)bytes[0], strip->count);
		store_8(strip->outputs[second], (u64)bytes[1], strip->count);
	}
}

static void store_strip_16(const struct ovt_conv_strip *strip,
			   const struct ovt_simd_channels *outputs)
{
	u32 p;

	for (p = 0; p < strip->pixels; p++)
		ovt_simd_store(strip->outputs[p], ovt_simd_requantise(&strip->sums[p], outputs),
			       strip->count);
}

/* The pixels from @first on, counted through the group's rows. */
static void place_strip(struct ovt_conv_strip *strip, const struct ovt_simd_inputs *inputs,
			const struct overtake_insn *insn, const struct ovt_operands *operands,
			const void *elements, const struct ovt_cursor *at, u32 first)
{
	u32 width = ovt_simd_group_width(inputs, insn, at->x);
	u32 window_step = inputs->step_x * inputs->pixel * inputs->size;
	u32 y = first / width;
	u32 x = first % width;
	u32 p = 0;

	while (p < strip->pixels) {
		struct ovt_cursor pixel = { .y = at->y + y, .x = at->x + x, .c = at->c };
		const u8 *window = (const u8 *)elements +
				   (u64)ovt_simd_window(inputs, y, x) * inputs->size;
		s8 *output = ovt_output_at(insn, operands, &pixel);

		for (; p < strip->pixels && x < width; p++, x++) {
			strip->windows[p] = window;
			strip->outputs[p] = output;
			window += window_step;
			output += insn->out.pixel_stride;
		}
		x = 0;
		y++;
	}
}

static u32 group_pixels(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
			const struct ovt_cursor *cursor)
{
	return ovt_simd_group_height(&plan->inputs, insn, cursor->y) *
	       ovt_simd_group_width(&plan->inputs, insn, cursor->x);
}

static const s8 *weights_at(const struct ovt_conv_plan *plan, const struct ovt_operands *operands,
			    const struct ovt_cursor *cursor)
{
	u64 blocks = (plan->group_outputs + VECTOR_OUTPUTS - 1ull) / VECTOR_OUTPUTS;
	u32 group = cursor->c / plan->group_outputs;
	u32 block = cursor->c % plan->group_outputs / VECTOR_OUTPUTS;

	return (const s8 *)operands->weights + (group * blocks + block) * plan->block_bytes;
}

static void run_strip(struct ovt_conv_strip *strip, const struct ovt_conv_plan *plan,
		      const struct overtake_insn *insn, const struct ovt_operands *operands,
		      struct ovt_simd_scratch *scratch, const struct ovt_cursor *cursor,
		      const struct ovt_simd_channels *outputs, u32 first)
{
	if (cursor->filled & PACKED) {
		place_strip(strip, &plan->bytes, insn, operands, scratch->bytes, cursor, first);
		ovt_conv_multiply_bytes(strip, plan, outputs, scratch,
					insn->in[0].zero_point + 128);
	} else {
		place_strip(strip, &plan->inputs, insn, operands, scratch->inputs, cursor, first);
		if (strip->count > VECTOR_OUTPUTS)
			multiply_16(strip, plan, outputs);
		else
			multiply_8(strip, plan, outputs);
	}
	if (strip->count > VECTOR_OUTPUTS)
		store_strip_16(strip, outputs);
	else
		store_strip_8(strip, outputs);
}

/* Strips of the 16 outputs at the cursor, until they or the work are used up: true if they are. */
static OVT_SIMD_NOINLINE bool
run_block(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
	  const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	  struct ovt_cursor *cursor, u32 count, s64 *work)
{
	bool packed = cursor->filled & PACKED;
	u32 most = packed && plan->strip > OVT_BYTES_PIXELS ? OVT_BYTES_PIXELS : plan->strip;
	u32 pixels = group_pixels(plan, insn, cursor);
	u32 strips = (pixels + most - 1) / most;
	s64 pixel_work = 10 + ovt_simd_store_work(insn) +
			 (s64)plan->block_bytes / PRODUCTS_PER_NS;
	struct ovt_simd_channels outputs;
	struct ovt_conv_strip strip = {
		.count = count,
		.sums = (struct ovt_simd_sums *)scratch->sums,
		.weights = weights_at(plan, operands, cursor),
	};

	*work -= BLOCK_WORK;
	ovt_simd_channels_load(&outputs, insn, operands, cursor->c, count);
	if (count <= VECTOR_OUTPUTS)
		repeat_factors(&outputs);
	do {
		u32 first = (u32)((u64)pixels * cursor->strip / strips);

		strip.pixels = (u32)((u64)pixels * (cursor->strip + 1) / strips) - first;
		run_strip(&strip, plan, insn, operands, scratch, cursor, &outputs, first);
		*work -= 20 + strip.pixels * pixel_work;
		if (++cursor->strip == strips) {
			cursor->strip = 0;
			return true;
		}
	} while (*work > 0);
	return false;
}

/* Past the outputs of a group of channels the scratch has to be filled anew. */
static bool advance(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		    struct ovt_cursor *cursor, u32 count)
{
	cursor->c += count;
	cursor->filled &= ~PACKED;
	if (cursor->c % plan->group_outputs)
		return true;
	cursor->filled &= WIDE;
	if (cursor->c < insn->out.channels)
		return true;
	cursor->c = 0;
	return ovt_simd_next_group(&plan->inputs, insn, cursor);
}

static s64 fill(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		struct ovt_cursor *cursor)
{
	u32 first_channel = cursor->c / plan->group_outputs * plan->group_inputs;

	if (cursor->filled & PACKED) {
		cursor->filled |= FILLED_BYTES;
		return ovt_simd_inputs_fill(&plan->bytes, insn, operands, cursor->y, cursor->x,
					    first_channel, scratch->bytes);
	}
	cursor->filled |= FILLED_WORDS;
	return ovt_simd_inputs_fill(&plan->inputs, insn, operands, cursor->y, cursor->x,
				    first_channel, scratch->inputs);
}

/* Decides how the outputs at the cursor are multiplied; false if that is decided. */
static bool pack(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		 const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		 struct ovt_cursor *cursor, u32 count, s64 *work)
{
	if (cursor->filled & (PACKED | WIDE))
		return false;
	if (!ovt_conv_packs(plan) || group_pixels(plan, insn, cursor) < PACK_PIXELS) {
		cursor->filled |= WIDE;
		return false;
	}
	*work -= 20 + (s64)plan->block_bytes / PRODUCTS_PER_NS * 2;
	cursor->filled |= ovt_conv_pack(plan, weights_at(plan, operands, cursor), count, scratch) ?
			  PACKED : WIDE;
	return true;
}

bool ovt_simd_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct ovt_conv_plan cut;

	if (!plan(&cut, insn))
		return true;
	do {
		u32 left = cut.group_outputs - cursor->c % cut.group_outputs;
		u32 count = left < OVT_SIMD_OUTPUTS ? left : OVT_SIMD_OUTPUTS;

		if (pack(&cut, insn, operands, scratch, cursor, count, work))
			continue;
		if (!(cursor->filled & (cursor->filled & PACKED ? FILLED_BYTES : FILLED_WORDS))) {
			*work -= fill(&cut, insn, operands, scratch, cursor);
			continue;
		}
		if (run_block(&cut, insn, operands, scratch, cursor, count, work) &&
		    !advance(&cut, insn, cursor, count))
			return true;
	} while (*work > 0);
	return false;
}
