// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * MATMUL for CPUs with AVX512-VNNI: a CONV of 1 x 1 whose weights are the rows of in[1].
 *
 * Elements of in[0] have 128 added, elements of in[1] are multiplied as they are.  With a' as the
 * byte of an element a, the sum of the products (a - za) * (b - zb) is the sum of a' * b, less
 * (za + 128) times the sum of b, which is subtracted from an output's bias, less zb times the sum
 * of (a - za), which is subtracted from all sums of a pixel.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_walk.h"
#include "hw/simd/matmul.h"
#include "hw/simd/vector_operators.h"
#include "hw/simd/vector512.h"

/* Products in a nanosecond, for 16 outputs, on a CPU that is not fast. */
#define PRODUCTS_PER_NS	64
/* Work of loading the scales of 16 outputs, and of finding their rows of in[1]. */
#define BLOCK_WORK	60
#define VECTOR_BYTES	64u
#define INPUTS_AT_ONCE	4u

/* ovt_cursor.filled: what the scratch holds. */
#define FILLED		(1u << 0)
/* What is added to the sums of each pixel. */
#define ADDED		(1u << 1)
/* The weights of the first block, and of the second. */
#define PACKED		(1u << 2)
#define PACKED_SECOND	(1u << 3)

/* An instruction as a CONV. */
struct plan {
	struct overtake_insn as_conv;
	struct ovt_simd_inputs bytes;
	u32 quads;
};

static bool make_plan(struct plan *plan, const struct overtake_insn *insn)
{
	struct ovt_simd_inputs words;

	if (!ovt_matmul_plan(&words, &plan->as_conv, insn))
		return false;
	ovt_simd_inputs_as_bytes(&plan->bytes, &words);
	plan->quads = plan->bytes.pixel / INPUTS_AT_ONCE;
	return plan->quads * VECTOR_BYTES <= OVT_SIMD_PACKED;
}

bool ovt_matmul_vnni512_covers(const struct overtake_insn *insn)
{
	struct plan plan;

	return make_plan(&plan, insn);
}

/* Returns the sum of @count bytes. */
static u32 sum_of(const u8 *bytes, u32 count)
{
	const ovt_s32x16 ones = ovt_broadcast_s32x16(0x01010101);
	ovt_s32x16 sums = { 0 };
	u32 done, i, sum = 0;

	for (done = 0; done < count; done += VECTOR_BYTES) {
		ovt_c8x64 part = ovt_load_some_512((const s8 *)bytes + done, count - done);

		/* Ones are the signed factor. */
		sums = ovt_add_products_512(sums, (ovt_s32x16)part, ones);
	}
	for (i = 0; i < 16; i++)
		sum += (u32)sums[i];
	return sum;
}

/* Prepares what is added to the sums of each pixel of the group; returns the work. */
static s64 add_pixels(const struct plan *plan, const struct overtake_insn *insn,
		      struct ovt_simd_scratch *scratch, const struct ovt_cursor *cursor)
{
	const u32 depth = insn->in[0].channels;
	const u32 zero = depth * (u32)(insn->in[0].zero_point + 128);
	const u32 width = ovt_simd_group_width(&plan->bytes, insn, cursor->x);
	const u32 height = ovt_simd_group_height(&plan->bytes, insn, cursor->y);
	u32 *to = scratch->added;
	u32 y, x;

	if (!insn->in[1].zero_point)
		return 0;
	for (y = 0; y < height; y++) {
		for (x = 0; x < width; x++) {
			const u8 *window = scratch->bytes + ovt_simd_window(&plan->bytes, y, x);

			*to++ = (u32)-insn->in[1].zero_point * (sum_of(window, depth) - zero);
		}
	}
	return (s64)height * width * (4 + depth / 16);
}

/* Returns the place of output @index of a block in a vector: see struct ovt_simd_sums. */
static u32 packed_at(u32 index)
{
	return index / 4 == 1 ? index + 4 : index / 4 == 2 ? index - 4 : index;
}

/* Copies the first @depth elements of a row; those behind them weigh 0. */
static void pack_row(s8 *to, const s8 *row, u32 depth)
{
	u32 quad;

	for (quad = 0; quad < depth / INPUTS_AT_ONCE; quad++, to += VECTOR_BYTES)
		ovt_store_s32(to, ovt_load_s32(row + quad * INPUTS_AT_ONCE));
	if (depth % INPUTS_AT_ONCE) {
		u32 last = (u32)ovt_load_s32(row + quad * INPUTS_AT_ONCE);

		ovt_store_s32(to, (s32)(last & ((1u << depth % INPUTS_AT_ONCE * 8) - 1)));
	}
}

/* Packs block @index: @count rows of in[1], and zeros behind them.  Returns the work. */
static OVT_SIMD_NOINLINE s64
pack_block(const struct plan *plan, const struct overtake_insn *insn,
	   const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	   const struct ovt_cursor *cursor, u32 count, u32 index)
{
	const u32 batch = insn->in[1].height == 1 ? 0 : cursor->y;
	const u32 channel = cursor->c + index * OVT_SIMD_OUTPUTS;
	const ovt_s32x16 ones = ovt_broadcast_s32x16(0x01010101);
	s8 *packed = index ? (s8 *)scratch->inputs : scratch->packed;
	ovt_s32x16 totals = { 0 };
	u32 i;

	if (count < OVT_SIMD_OUTPUTS)
		memset(packed, 0, plan->quads * VECTOR_BYTES);
	for (i = 0; i < count; i++)
		pack_row(packed + packed_at(i) * INPUTS_AT_ONCE,
			 ovt_input_at(insn, operands, 1, batch, channel + i, 0),
			 insn->in[0].channels);
	for (i = 0; i < plan->quads; i++) {
		scratch->step_at[i] = i * INPUTS_AT_ONCE;
		totals = ovt_add_products_512(totals, ones,
					      ovt_load_s32x16(packed + i * VECTOR_BYTES));
	}
	ovt_store_s32x16(scratch->totals[index][0], totals);
	return OVT_SIMD_OUTPUTS * (4 + ovt_simd_far_work(insn->in[1].pixel_stride) + plan->quads);
}

static u32 of_block(u32 count, u32 index)
{
	u32 left = count - index * OVT_SIMD_OUTPUTS;

	return left < OVT_SIMD_OUTPUTS ? left : OVT_SIMD_OUTPUTS;
}

/* Does what comes before multiplication, one part a call; returns false if nothing is left. */
static bool prepare(const struct plan *plan, const struct overtake_insn *insn,
		    const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		    struct ovt_cursor *cursor, u32 count, s64 *work)
{
	u32 *filled = &cursor->filled;

	if (!(*filled & FILLED)) {
		*work -= ovt_simd_inputs_fill(&plan->bytes, &plan->as_conv, operands, cursor->y,
					      cursor->x, 0, scratch->bytes);
		*filled |= FILLED;
	} else if (!(*filled & ADDED)) {
		*work -= add_pixels(plan, insn, scratch, cursor);
		*filled |= ADDED;
	} else if (!(*filled & PACKED)) {
		*work -= pack_block(plan, insn, operands, scratch, cursor, of_block(count, 0), 0);
		*filled |= PACKED;
	} else if (!(*filled & PACKED_SECOND) && count > OVT_SIMD_OUTPUTS) {
		*work -= pack_block(plan, insn, operands, scratch, cursor, of_block(count, 1), 1);
		*filled |= PACKED_SECOND;
	} else {
		return false;
	}
	return true;
}

static void load_block(struct ovt_conv_block *block, const struct plan *plan,
		       const struct overtake_insn *insn, const struct ovt_operands *operands,
		       const struct ovt_simd_scratch *scratch, u32 channel, u32 count, u32 index)
{
	const ovt_u32x8 added = (ovt_u32x8)ovt_broadcast_s32(insn->in[0].zero_point + 128);
	const u32 *totals = scratch->totals[index][0];

	ovt_simd_channels_load(&block->channels, insn, operands, channel, count,
			       (u64)insn->in[0].channels * 255 * 255);
	block->start.low = block->channels.bias.low - (ovt_u32x8)ovt_load_s32x8(totals) * added;
	block->start.high = block->channels.bias.high -
			    (ovt_u32x8)ovt_load_s32x8(totals + 8) * added;
	block->steps.weights = index ? (const s8 *)scratch->inputs : scratch->packed;
	block->steps.at = scratch->step_at;
	block->steps.end = scratch->step_at + plan->quads;
	block->count = count;
	block->index = index;
}

/* Runs pixels of the outputs at the cursor until these end (true) or the work is used up. */
static OVT_SIMD_NOINLINE bool
run_outputs(const struct plan *plan, const struct overtake_insn *insn,
	    const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	    struct ovt_cursor *cursor, u32 count, s64 *work)
{
	const u32 pixels = ovt_simd_group_width(&plan->bytes, insn, cursor->x) *
			   ovt_simd_group_height(&plan->bytes, insn, cursor->y);
	const s64 pixel_work = 10 + ovt_simd_store_work(insn) +
			       (s64)plan->bytes.pixel * OVT_SIMD_OUTPUTS / PRODUCTS_PER_NS;
	struct ovt_conv_block *blocks = (struct ovt_conv_block *)scratch->blocks;
	struct ovt_conv_row row = { .sums = (struct ovt_simd_sums *)scratch->sums };
	struct ovt_conv_walk walk;
	u32 i;

	for (i = 0; i * OVT_SIMD_OUTPUTS < count; i++) {
		load_block(&blocks[i], plan, insn, operands, scratch,
			   cursor->c + i * OVT_SIMD_OUTPUTS, of_block(count, i), i);
		*work -= BLOCK_WORK;
	}
	ovt_conv_walk_from(&walk, &plan->bytes, &plan->as_conv, operands, scratch->bytes, cursor,
			   false);
	do {
		const u32 first = walk.done;

		ovt_conv_place_row(&row, &walk, *work, pixel_work);
		if (insn->in[1].zero_point)
			row.added = scratch->added + first;
		ovt_conv_vnni512(&row, blocks, count);
		*work -= 20 + row.pixels * pixel_work;
	} while (walk.done < pixels && *work > 0);
	cursor->strip = walk.done < pixels ? walk.done : 0;
	return !cursor->strip;
}

static bool advance(const struct plan *plan, const struct overtake_insn *insn,
		    struct ovt_cursor *cursor, u32 count)
{
	cursor->c += count;
	cursor->filled &= ~(PACKED | PACKED_SECOND);
	if (cursor->c < insn->out.channels)
		return true;
	cursor->filled = 0;
	return ovt_simd_next_group(&plan->bytes, insn, cursor);
}

bool ovt_matmul_vnni512(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	const u32 most = OVT_SIMD_BLOCKS * OVT_SIMD_OUTPUTS;
	struct plan plan;

	if (!make_plan(&plan, insn))
		return true;
	do {
		u32 left = insn->out.channels - cursor->c;
		u32 count = left < most ? left : most;

		if (prepare(&plan, insn, operands, scratch, cursor, count, work))
			continue;
		if (run_outputs(&plan, insn, operands, scratch, cursor, count, work) &&
		    !advance(&plan, insn, cursor, count))
			return true;
	} while (*work > 0);
	return false;
}
