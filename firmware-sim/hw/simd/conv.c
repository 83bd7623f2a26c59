// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV.
 *
 * Outputs are computed in groups of pixels whose inputs fit into the scratch (hw/simd/inputs.h).
 * A unit of work is a strip of up to 6 pixels of a group times 16 output channels.  A strip
 * is multiplied as bytes where the weights allow it, else as words; the weights are packed where
 * enough pixels share them.  A CPU with VNNI multiplies any weights as
 * bytes, and with AVX512-VNNI a unit of work is pixels of a row times two blocks of 16 output
 * channels.
 *
 * conv_words.c multiplies words; conv_pack.c packs, and conv_packed.c multiplies packed weights;
 * conv_vnni.c and conv_vnni512.c do so with newer instructions; conv_single.c has the case of one
 * pixel; conv_finish.c rounds; conv_walk.c goes through the pixels; transposed.c makes CONVs of
 * TRANSPOSED_CONV.  ovt_unit_conv() (hw/op_conv.c) defines the right result.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_walk.h"
#include "hw/simd/vector_operators.h"

#define VECTOR_OUTPUTS	OVERTAKE_WEIGHT_BLOCK
/* Greatest number of products of a unit of work: some tens of microseconds. */
#define UNIT_PRODUCTS	(1u << 20)
/* Products in a nanosecond, on a CPU that is not fast. */
#define PRODUCTS_PER_NS	32
/* Bytes of weights in a nanosecond, on a busy machine: they come from memory if used once. */
#define WEIGHTS_PER_NS	8
/* Greatest number of weights of a unit of work. */
#define UNIT_WEIGHTS	(OVT_SIMD_UNIT * WEIGHTS_PER_NS)
/* Work of loading the scales of 16 outputs. */
#define BLOCK_WORK	60
/* Least number of pixels for which packing weights is worth while, as bytes and as words. */
#define BYTES_PIXELS	8u
#define WORDS_PIXELS	24u
/* The same for VNNI, whose bytes need no check. */
#define VNNI_PIXELS	2u

/* ovt_cursor.filled: what the scratch holds for the cursor's outputs. */
#define FILLED_WORDS	(1u << 0)
#define FILLED_BYTES	(1u << 1)
#define PACKED_WORDS	(1u << 2)
#define PACKED_BYTES	(1u << 3)
/* The scratch holds the words of one pixel, spread; the second flag: as digits. */
#define FILLED_SINGLE	(1u << 4)
#define FILLED_DIGITS	(1u << 5)
/* The instruction has weights that cannot be, or are not, packed as bytes. */
#define WIDE		(1u << 6)

static_assert(sizeof(struct ovt_conv_block) <= OVT_SIMD_BLOCK_BYTES, "blocks have room");
static_assert(sizeof(((struct ovt_simd_scratch *)0)->inputs) >= OVT_SIMD_PACKED,
	      "inputs have room for the weights of a block");

static void plan_run(struct ovt_conv_run *run, const struct ovt_simd_inputs *inputs,
		     const struct overtake_insn *insn, u32 at_once, u64 tap_bytes)
{
	run->length = inputs->pixel / at_once;
	run->columns = insn->kernel_width;
	run->column_step = ovt_dilation(insn->dilation_width) * inputs->pixel;
	run->weights_row = (s64)(tap_bytes * insn->kernel_width);
	run->weights_column = (s64)tap_bytes;
	run->rows = insn->kernel_height;
	run->row_step = ovt_dilation(insn->dilation_height) * inputs->row;
	/* Taps of a row that are neighbours are one run. */
	if (ovt_dilation(insn->dilation_width) == 1) {
		run->length *= run->columns;
		run->columns = 1;
	}
}

bool ovt_conv_plan_init(struct ovt_conv_plan *plan, const struct overtake_insn *insn)
{
	u32 taps = (u32)insn->kernel_height * insn->kernel_width;
	u64 tap_bytes;
	u32 strip;

	plan->group_inputs = insn->in[0].channels / insn->groups;
	plan->group_outputs = insn->out.channels / insn->groups;
	if (!ovt_simd_inputs_plan(&plan->inputs, insn, plan->group_inputs, OVERTAKE_WEIGHT_INPUTS))
		return false;
	ovt_simd_inputs_as_bytes(&plan->bytes, &plan->inputs);
	tap_bytes = (u64)plan->inputs.pixel * VECTOR_OUTPUTS;
	plan_run(&plan->words_run, &plan->inputs, insn, 2, tap_bytes);
	plan_run(&plan->bytes_run, &plan->bytes, insn, 4, tap_bytes);
	plan->block_bytes = taps * tap_bytes;
	plan->block_step = plan->block_bytes;
	plan->first_weight = 0;
	plan->ordered = true;
	strip = UNIT_PRODUCTS / (taps * plan->inputs.pixel * OVT_SIMD_OUTPUTS);
	plan->strip = strip < 1 ? 1 : strip > OVT_STRIP_PIXELS ? OVT_STRIP_PIXELS : strip;
	return true;
}

/* Returns the group of channels to which output @channel belongs. */
static u32 group_at(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		    u32 channel)
{
	return insn->groups == 1 ? 0 : channel / plan->group_outputs;
}

/* Returns the outputs of a unit of work: fewer if they have many weights. */
static u32 unit_outputs(const struct ovt_conv_plan *plan)
{
	return plan->block_bytes > UNIT_WEIGHTS / 2 ? VECTOR_OUTPUTS : OVT_SIMD_OUTPUTS;
}

static u32 group_pixels(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
			const struct ovt_cursor *cursor)
{
	return ovt_simd_group_height(&plan->inputs, insn, cursor->y) *
	       ovt_simd_group_width(&plan->inputs, insn, cursor->x);
}

/* Whether VNNI multiplies the group at the cursor, as bytes. */
static bool uses_vnni(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		      const struct ovt_simd_scratch *scratch, const struct ovt_cursor *cursor)
{
	return scratch->level != OVT_SIMD_AVX2 && ovt_conv_bytes_fit(plan) &&
	       group_pixels(plan, insn, cursor) >= VNNI_PIXELS;
}

/* Returns the outputs of a unit at the cursor: no more than are left of a group. */
static u32 outputs_at(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		      const struct ovt_simd_scratch *scratch, const struct ovt_cursor *cursor)
{
	u32 left = (group_at(plan, insn, cursor->c) + 1) * plan->group_outputs - cursor->c;
	u32 most = unit_outputs(plan);

	if (scratch->level >= OVT_SIMD_AVX512_VNNI && uses_vnni(plan, insn, scratch, cursor))
		most = OVT_SIMD_BLOCKS * OVT_SIMD_OUTPUTS;
	return left < most ? left : most;
}

/* Returns the work of reading the weights of these outputs. */
static s64 weights_work(const struct ovt_conv_plan *plan)
{
	return (s64)plan->block_bytes * (unit_outputs(plan) / VECTOR_OUTPUTS) / WEIGHTS_PER_NS;
}

bool ovt_conv_plan_pays(const struct ovt_conv_plan *plan, const struct overtake_insn *insn)
{
	return plan->block_bytes <= UNIT_WEIGHTS &&
	       ovt_simd_inputs_pay(&plan->inputs, insn, plan->group_outputs, plan->group_inputs);
}

bool ovt_simd_conv_covers(const struct overtake_insn *insn)
{
	struct ovt_conv_plan plan;

	return ovt_conv_plan_init(&plan, insn) && ovt_conv_plan_pays(&plan, insn);
}

/* Repeats the first 8 outputs, for two pixels at once, in the order of the sums of both. */
static void repeat_outputs(struct ovt_simd_channels *outputs)
{
	struct ovt_simd_factors *factors = &outputs->factors;

	factors->low = (ovt_f32x8)ovt_simd_in_order((ovt_u32x8)factors->low,
						    (ovt_u32x8)factors->high).low;
	factors->high = factors->low;
	outputs->bias = ovt_simd_in_order(outputs->bias.low, outputs->bias.high);
	outputs->bias.high = outputs->bias.low;
}

/* Whether the group at the cursor is one pixel whose window is spread. */
static bool is_single(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		      const struct ovt_cursor *cursor)
{
	return plan->ordered && group_pixels(plan, insn, cursor) == 1 &&
	       ovt_conv_single_fits(&plan->words_run);
}

/* Returns the weights of output @channel, the first of a block. */
static const s8 *weights_at(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 channel)
{
	u64 blocks = (plan->group_outputs + VECTOR_OUTPUTS - 1ull) / VECTOR_OUTPUTS;
	u32 group = group_at(plan, insn, channel);
	u32 block = (channel - group * plan->group_outputs) / VECTOR_OUTPUTS;

	return (const s8 *)operands->weights + (group * blocks + block) * plan->block_step +
	       plan->first_weight;
}

/* Loads block @index of a unit of work: @count outputs from @channel on. */
static void load_block(struct ovt_conv_block *block, const struct ovt_conv_plan *plan,
		       const struct overtake_insn *insn, const struct ovt_operands *operands,
		       u32 channel, u32 count, u32 index)
{
	u64 products = (u64)insn->kernel_height * insn->kernel_width * plan->group_inputs;

	ovt_simd_channels_load(&block->channels, insn, operands, channel, count,
			       products * 255 * 128);
	block->start = block->channels.bias;
	block->weights = weights_at(plan, insn, operands, channel);
	block->block_step = plan->block_step;
	block->count = count;
	block->index = index;
}

/* Loads a block of outputs that are multiplied by vectors of 256 bits. */
static void load_block_256(struct ovt_conv_block *block, const struct ovt_conv_plan *plan,
			   const struct overtake_insn *insn, const struct ovt_operands *operands,
			   const struct ovt_cursor *cursor, u32 count)
{
	load_block(block, plan, insn, operands, cursor->c, count, 0);
	if (count <= VECTOR_OUTPUTS)
		repeat_outputs(&block->channels);
	block->start = block->channels.bias;
	/* Words are finished in another order than they are multiplied. */
	if (!(cursor->filled & PACKED_BYTES) && count > VECTOR_OUTPUTS)
		block->start = ovt_simd_in_order(block->start.low, block->start.high);
}

static s64 max_work(s64 a, s64 b)
{
	return a > b ? a : b;
}

static void load_blocks(struct ovt_conv_block *blocks, const struct ovt_conv_plan *plan,
			const struct overtake_insn *insn, const struct ovt_operands *operands,
			const struct ovt_simd_scratch *scratch, const struct ovt_cursor *cursor,
			u32 count)
{
	u32 i, of_block;

	if (scratch->level < OVT_SIMD_AVX512_VNNI || !(cursor->filled & PACKED_BYTES)) {
		load_block_256(blocks, plan, insn, operands, cursor, count);
		return;
	}
	for (i = 0; i * OVT_SIMD_OUTPUTS < count; i++) {
		of_block = count - i * OVT_SIMD_OUTPUTS;
		if (of_block > OVT_SIMD_OUTPUTS)
			of_block = OVT_SIMD_OUTPUTS;
		load_block(&blocks[i], plan, insn, operands, cursor->c + i * OVT_SIMD_OUTPUTS,
			   of_block, i);
	}
}

/* Loads the rows of taps that the walk has reached. */
static void load_rows(struct ovt_conv_block *blocks, u32 count, const struct ovt_conv_plan *plan,
		      const struct overtake_insn *insn, const struct ovt_simd_scratch *scratch,
		      const struct ovt_conv_walk *walk, u32 filled)
{
	const s32 added = insn->in[0].zero_point + 128;
	u32 i;

	for (i = 0; i * OVT_SIMD_OUTPUTS < count; i++) {
		blocks[i].first_row = walk->first_row;
		blocks[i].end_row = walk->end_row;
		if (filled & PACKED_BYTES && scratch->level != OVT_SIMD_AVX2)
			ovt_conv_load_vnni(&blocks[i], &plan->bytes_run, scratch, added);
		else if (filled & PACKED_BYTES)
			ovt_conv_load_bytes(&blocks[i], &plan->bytes_run, scratch, added);
		else if (filled & PACKED_WORDS)
			ovt_conv_load_steps(&blocks[i], &plan->words_run, scratch);
	}
}

static void run_strip(const struct ovt_conv_plan *plan, const struct ovt_conv_strip *strip,
		      const struct ovt_conv_block *block, u32 filled, enum ovt_simd_level level)
{
	if (filled & PACKED_BYTES && level == OVT_SIMD_AVX_VNNI)
		ovt_conv_vnni(strip, block);
	else if (filled & PACKED_BYTES)
		ovt_conv_packed_bytes(strip, block);
	else if (filled & PACKED_WORDS)
		ovt_conv_packed_words(strip, block);
	else
		ovt_conv_words(strip, &plan->words_run, block);
}

/*
 * Runs strips, or with AVX512-VNNI pixels of a row, as many as @work allows; returns the number of
 * pixels.
 */
static u32 run_pixels(const struct ovt_conv_plan *plan, struct ovt_conv_walk *walk,
		      const struct ovt_conv_block *blocks, struct ovt_simd_scratch *scratch,
		      u32 count, u32 filled, s64 pixel_work, s64 work)
{
	struct ovt_conv_strip strip;
	struct ovt_conv_row row = { .sums = (struct ovt_simd_sums *)scratch->sums };

	if (filled & PACKED_BYTES && scratch->level >= OVT_SIMD_AVX512_VNNI) {
		ovt_conv_place_row(&row, walk, work, pixel_work);
		ovt_conv_vnni512(&row, blocks, count);
		return row.pixels;
	}
	strip.sums = row.sums;
	ovt_conv_place_strip(&strip, walk, plan->strip);
	run_strip(plan, &strip, blocks, filled, scratch->level);
	return strip.pixels;
}

/* Whether rows of taps outside the tensor can be left out. */
static bool skips_rows(const struct overtake_insn *insn, bool bytes)
{
	u32 rows = insn->kernel_height;

	return rows > 1 && (!bytes || rows <= OVT_SIMD_TAP_ROWS);
}

/* Runs strips of the outputs at the cursor until these end (true) or the work is used up. */
static OVT_SIMD_NOINLINE bool
run_block(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
	  const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	  struct ovt_cursor *cursor, u32 count, s64 *work)
{
	const bool bytes = cursor->filled & PACKED_BYTES;
	const u32 pixels = group_pixels(plan, insn, cursor);
	const s64 pixel_work = 10 + ovt_simd_store_work(insn) +
			       (s64)plan->block_bytes / PRODUCTS_PER_NS;
	/* The first strip reads the weights, if they are not packed, which may take longest. */
	s64 least = cursor->filled & (PACKED_BYTES | PACKED_WORDS) ? 0 : weights_work(plan);
	struct ovt_conv_block *blocks = (struct ovt_conv_block *)scratch->blocks;
	struct ovt_conv_walk walk;
	u32 ran;

	*work -= BLOCK_WORK;
	load_blocks(blocks, plan, insn, operands, scratch, cursor, count);
	ovt_conv_walk_from(&walk, bytes ? &plan->bytes : &plan->inputs, insn, operands,
			   bytes ? (const void *)scratch->bytes : scratch->inputs, cursor,
			   skips_rows(insn, bytes));
	load_rows(blocks, count, plan, insn, scratch, &walk, cursor->filled);
	do {
		if (walk.done == walk.end) {
			ovt_conv_walk_on(&walk);
			load_rows(blocks, count, plan, insn, scratch, &walk, cursor->filled);
		}
		ran = run_pixels(plan, &walk, blocks, scratch, count, cursor->filled, pixel_work,
				 *work);
		*work -= max_work(least, 20 + ran * pixel_work);
		least = 0;
	} while (walk.done < pixels && *work > 0);
	cursor->strip = walk.done < pixels ? walk.done : 0;
	return !cursor->strip;
}

/* Moves on.  Past the outputs of a group of channels the scratch has to be filled anew. */
static bool advance(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		    struct ovt_cursor *cursor, u32 count)
{
	cursor->c += count;
	cursor->filled &= ~(PACKED_BYTES | PACKED_WORDS);
	if (cursor->c - group_at(plan, insn, cursor->c - count) * plan->group_outputs <
	    plan->group_outputs)
		return true;
	cursor->filled &= WIDE;
	if (cursor->c < insn->out.channels)
		return true;
	return ovt_simd_next_group(&plan->inputs, insn, cursor);
}

/* Runs outputs of one pixel, whose window is spread, until they end or the work is used up. */
static OVT_SIMD_NOINLINE bool
run_single(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
	   const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	   struct ovt_cursor *cursor, s64 *work)
{
	const bool digits = cursor->filled & FILLED_DIGITS;
	const bool wide = scratch->level >= OVT_SIMD_AVX512_VNNI;
	const s64 multiplied = 30 + ovt_simd_store_work(insn) +
			       (s64)plan->block_bytes / PRODUCTS_PER_NS;
	const s64 block_work = BLOCK_WORK + max_work(weights_work(plan), multiplied);
	struct ovt_conv_strip strip = {
		.pixels = 1,
		.sums = (struct ovt_simd_sums *)scratch->sums,
	};
	struct ovt_conv_block block;
	u32 count;

	do {
		count = outputs_at(plan, insn, scratch, cursor);
		strip.outputs[0] = ovt_output_at(insn, operands, cursor);
		if (wide)
			load_block(&block, plan, insn, operands, cursor->c, count, 0);
		else
			load_block_256(&block, plan, insn, operands, cursor, count);
		if (wide)
			ovt_conv_single_vnni512(strip.outputs[0], &plan->words_run, &block,
						insn->in[0].zero_point + 128, scratch);
		else if (digits)
			ovt_conv_single_digits(&strip, &plan->words_run, &block, scratch);
		else
			ovt_conv_single_words(&strip, &plan->words_run, &block, scratch);
		*work -= block_work;
		if (!advance(plan, insn, cursor, count))
			return true;
	} while (*work > 0 && cursor->filled & FILLED_SINGLE);
	return false;
}

static s64 fill(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		struct ovt_cursor *cursor)
{
	u32 first_channel = group_at(plan, insn, cursor->c) * plan->group_inputs;
	s64 work;

	if (cursor->filled & PACKED_BYTES) {
		cursor->filled |= FILLED_BYTES;
		return ovt_simd_inputs_fill(&plan->bytes, insn, operands, cursor->y, cursor->x,
					    first_channel, scratch->bytes);
	}
	cursor->filled |= FILLED_WORDS;
	work = ovt_simd_inputs_fill(&plan->inputs, insn, operands, cursor->y, cursor->x,
				    first_channel, scratch->inputs);
	if (is_single(plan, insn, cursor)) {
		cursor->filled |= FILLED_SINGLE;
		if (scratch->level >= OVT_SIMD_AVX512_VNNI)
			ovt_conv_single_bytes(&plan->words_run, insn->in[0].zero_point + 128,
					      scratch);
		else if (ovt_conv_single_spread(&plan->words_run, scratch))
			cursor->filled |= FILLED_DIGITS;
		work += (s64)plan->block_bytes / PRODUCTS_PER_NS;
	}
	return work;
}

/* Packs the weights of the outputs at the cursor for VNNI. */
static s64 pack_vnni(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		     const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		     const struct ovt_cursor *cursor, u32 count)
{
	s64 work = 0;
	u32 i;

	for (i = 0; i * OVT_SIMD_OUTPUTS < count; i++) {
		const s8 *weights = weights_at(plan, insn, operands,
					       cursor->c + i * OVT_SIMD_OUTPUTS);

		if (scratch->level >= OVT_SIMD_AVX512_VNNI)
			ovt_conv_pack_vnni512(plan, weights, count - i * OVT_SIMD_OUTPUTS, i,
					      scratch);
		else
			ovt_conv_pack_vnni(plan, weights, count, scratch);
		work += 20 + max_work(weights_work(plan), (s64)plan->block_bytes / PRODUCTS_PER_NS);
	}
	return work;
}

/*
 * Packs the weights of the outputs at the cursor, or decides not to; returns false if there is
 * nothing to do.  Weights that do not fit as bytes are then packed as words.
 */
static bool pack(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		 const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		 struct ovt_cursor *cursor, u32 count, s64 *work)
{
	const s8 *weights = weights_at(plan, insn, operands, cursor->c);
	u32 pixels = group_pixels(plan, insn, cursor);
	u32 *filled = &cursor->filled;

	if (*filled & (PACKED_BYTES | PACKED_WORDS))
		return false;
	if (uses_vnni(plan, insn, scratch, cursor)) {
		*work -= pack_vnni(plan, insn, operands, scratch, cursor, count);
		*filled |= PACKED_BYTES;
		return true;
	}
	if (!(*filled & WIDE)) {
		if (pixels >= BYTES_PIXELS && ovt_conv_bytes_fit(plan)) {
			/* The work if all weights are split. */
			*work -= 20 + (s64)plan->block_bytes / PRODUCTS_PER_NS * 6;
			*filled |= ovt_conv_pack_bytes(plan, weights, count, pixels, scratch) ?
				   PACKED_BYTES : WIDE;
			return true;
		}
		*filled |= WIDE;
	}
	if (pixels < WORDS_PIXELS || !ovt_conv_words_fit(plan))
		return false;
	*work -= 20 + weights_work(plan);
	ovt_conv_pack_words(plan, weights, count, scratch);
	*filled |= PACKED_WORDS;
	return true;
}

bool ovt_conv_plan_run(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		       const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		       struct ovt_cursor *cursor, s64 *work)
{
	do {
		u32 count = outputs_at(plan, insn, scratch, cursor);
		bool bytes;

		if (cursor->filled & FILLED_SINGLE) {
			if (run_single(plan, insn, operands, scratch, cursor, work))
				return true;
			continue;
		}
		if (pack(plan, insn, operands, scratch, cursor, count, work))
			continue;
		bytes = cursor->filled & PACKED_BYTES;
		if (!(cursor->filled & (bytes ? FILLED_BYTES : FILLED_WORDS))) {
			*work -= fill(plan, insn, operands, scratch, cursor);
			continue;
		}
		if (run_block(plan, insn, operands, scratch, cursor, count, work) &&
		    !advance(plan, insn, cursor, count))
			return true;
	} while (*work > 0);
	return false;
}

bool ovt_simd_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct ovt_conv_plan plan;

	return !ovt_conv_plan_init(&plan, insn) ||
	       ovt_conv_plan_run(&plan, insn, operands, scratch, cursor, work);
}
