// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * MATMUL.
 *
 * in[0] is copied to the scratch in groups of pixels, as for CONV with a kernel of 1 x 1, with
 * zeros behind its channels.  16 products of a pixel and a row of in[1] are added up at once, for 2
 * pixels and 4 rows.  matmul_vnni512.c has the same for newer CPUs.
 */
#include "hw/operator_units.h"
#include "hw/simd/inputs.h"
#include "hw/simd/matmul.h"
#include "hw/simd/requantise.h"
#include "hw/simd/vector_operators.h"

#define STRIP_PIXELS	2u
#define STRIP_ROWS	4u
/* Products in a nanosecond, on a CPU that is not fast. */
#define PRODUCTS_PER_NS	16
/* Work of loading the scales of 16 outputs, and of finding their rows of in[1]. */
#define BLOCK_WORK	60
/* Channels from which on a unit of work has one pixel; twice as many have no vector operator. */
#define LONG_ROW	(OVT_SIMD_UNIT * PRODUCTS_PER_NS / OVT_SIMD_OUTPUTS / STRIP_PIXELS)

/* The rows of in[1] for the outputs of a unit. */
struct matmul_rows {
	const s8 *rows[OVT_SIMD_OUTPUTS];
	u32 depth;
	u64 readable;	/* bytes of a row: channels rounded up to 8 */
	ovt_s16x16 zero_point;
};

bool ovt_matmul_plan(struct ovt_simd_inputs *inputs, struct overtake_insn *as_conv,
		     const struct overtake_insn *insn)
{
	*as_conv = *insn;
	as_conv->kernel_height = 1;
	as_conv->kernel_width = 1;
	as_conv->stride_height = 1;
	as_conv->stride_width = 1;
	if (!ovt_simd_inputs_plan(inputs, as_conv, insn->in[0].channels, OVT_SIMD_OUTPUTS))
		return false;
	/* Each row of in[0] has a matrix of its own. */
	if (insn->in[1].height != 1)
		inputs->height = 1;
	return true;
}

bool ovt_simd_matmul_covers(const struct overtake_insn *insn)
{
	struct overtake_insn as_conv;
	struct ovt_simd_inputs inputs;

	return insn->in[0].channels <= LONG_ROW * STRIP_PIXELS &&
	       ovt_matmul_plan(&inputs, &as_conv, insn) &&
	       ovt_simd_inputs_pay(&inputs, &as_conv, insn->out.channels, insn->in[0].channels);
}

/* Loads 16 elements of a row from @k on; those behind its channels meet zeros. */
static __always_inline ovt_s16x16 load_row(const struct matmul_rows *rows, const s8 *row, u32 k)
{
	ovt_s8x16 bytes;

	if (rows->readable - k >= 16)
		bytes = ovt_load_s8x16(row + k);
	else
		bytes = (ovt_s8x16)(ovt_s64x2) { (s64)ovt_load_u64(row + k), 0 };
	return ovt_widen_s8(bytes) - rows->zero_point;
}

/* Returns the totals of four vectors. */
static __always_inline ovt_s32x4 add_up(const ovt_u32x8 *sums)
{
	ovt_i32x8 low = __builtin_ia32_phaddd256((ovt_i32x8)sums[0], (ovt_i32x8)sums[1]);
	ovt_i32x8 high = __builtin_ia32_phaddd256((ovt_i32x8)sums[2], (ovt_i32x8)sums[3]);
	ovt_u32x8 all = (ovt_u32x8)__builtin_ia32_phaddd256(low, high);

	/* Sums wrap, so they are added as unsigned numbers. */
	return (ovt_s32x4)((ovt_u32x4)ovt_low_half(all) + (ovt_u32x4)ovt_high_half(all));
}

/* Returns the place of the sums of 4 outputs from @first on: see struct ovt_simd_sums. */
static __always_inline u32 packed_at(u32 first)
{
	return first % 8 * 2 + first / 8 * 4;
}

/* Multiplies @pixels pixels by 4 rows from @first on, into these words of their sums. */
static __always_inline void
multiply(const struct matmul_rows *rows, const s16 *const *windows, u32 first,
	 struct ovt_simd_sums *results, const u32 pixels)
{
	ovt_u32x8 sums[STRIP_PIXELS][STRIP_ROWS] = { 0 };
	u32 k, p, r;

	for (k = 0; k < rows->depth; k += 16) {
#pragma GCC unroll 4
		for (r = 0; r < STRIP_ROWS; r++) {
			ovt_s16x16 row = load_row(rows, rows->rows[first + r], k);

#pragma GCC unroll 2
			for (p = 0; p < pixels; p++)
				sums[p][r] += ovt_multiply_pairs(ovt_load_s16x16(windows[p] + k),
								 row);
		}
	}
#pragma GCC unroll 2
	for (p = 0; p < pixels; p++)
		ovt_store_s32x4((s32 *)&results[p] + packed_at(first), add_up(sums[p]));
}

static OVT_SIMD_NOINLINE void multiply_one(const struct matmul_rows *rows,
					   const s16 *const *windows, struct ovt_simd_sums *sums)
{
	u32 r;

	for (r = 0; r < OVT_SIMD_OUTPUTS; r += STRIP_ROWS)
		multiply(rows, windows, r, sums, 1);
}

static OVT_SIMD_NOINLINE void multiply_two(const struct matmul_rows *rows,
					   const s16 *const *windows, struct ovt_simd_sums *sums)
{
	u32 r;

	for (r = 0; r < OVT_SIMD_OUTPUTS; r += STRIP_ROWS)
		multiply(rows, windows, r, sums, 2);
}

/* Finds the rows of @count outputs; the other outputs repeat the last row. */
static void
find_rows(struct matmul_rows *rows, const struct overtake_insn *insn,
	  const struct ovt_operands *operands, const struct ovt_cursor *cursor, u32 count)
{
	u32 batch = insn->in[1].height == 1 ? 0 : cursor->y;
	u32 i;

	rows->depth = insn->in[0].channels;
	rows->readable = ((u64)insn->in[1].channels + 7) / 8 * 8;
	rows->zero_point = ovt_broadcast_s16((s16)insn->in[1].zero_point);
	for (i = 0; i < OVT_SIMD_OUTPUTS; i++)
		rows->rows[i] = ovt_input_at(insn, operands, 1, batch,
					     cursor->c + (i < count ? i : count - 1), 0);
}

/* Runs two pixels of the group from pixel @first on, or only its last. */
static void run_strip(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		      const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		      const struct ovt_cursor *cursor, const struct matmul_rows *rows,
		      const struct ovt_simd_channels *channels, u32 first, u32 pixels, u32 count)
{
	u32 width = ovt_simd_group_width(inputs, insn, cursor->x);
	struct ovt_simd_sums *sums = (struct ovt_simd_sums *)scratch->sums;
	const s16 *windows[STRIP_PIXELS];
	u32 p;

	for (p = 0; p < pixels; p++)
		windows[p] = scratch->inputs + ovt_simd_window(inputs, (first + p) / width,
							       (first + p) % width);
	if (pixels == 2)
		multiply_two(rows, windows, sums);
	else
		multiply_one(rows, windows, sums);
	for (p = 0; p < pixels; p++) {
		struct ovt_cursor at = { .y = cursor->y + (first + p) / width,
					 .x = cursor->x + (first + p) % width, .c = cursor->c };
		ovt_s8x32 bytes;

		sums[p].low += channels->bias.low;
		sums[p].high += channels->bias.high;
		bytes = ovt_simd_requantise_2(&sums[p], &sums[p], channels);
		ovt_simd_store(ovt_output_at(insn, operands, &at), ovt_simd_first(bytes), count);
	}
}

/* Runs strips of the outputs at the cursor until these end (true) or the work is used up. */
static OVT_SIMD_NOINLINE bool
run_outputs(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
	    const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
	    struct ovt_cursor *cursor, u32 count, s64 *work)
{
	u32 pixels = ovt_simd_group_width(inputs, insn, cursor->x) *
		     ovt_simd_group_height(inputs, insn, cursor->y);
	s64 pixel_work = (s64)insn->in[0].channels * OVT_SIMD_OUTPUTS / PRODUCTS_PER_NS +
			 ovt_simd_store_work(insn);
	struct ovt_simd_channels channels;
	struct matmul_rows rows;

	*work -= BLOCK_WORK;
	ovt_simd_channels_load(&channels, insn, operands, cursor->c, count,
			       (u64)insn->in[0].channels * 255 * 255);
	find_rows(&rows, insn, operands, cursor, count);
	do {
		u32 most = rows.depth > LONG_ROW ? 1 : STRIP_PIXELS;
		u32 first = cursor->strip * most;
		u32 strip = pixels - first < most ? 1 : most;

		run_strip(inputs, insn, operands, scratch, cursor, &rows, &channels, first, strip,
			  count);
		*work -= 40 + strip * pixel_work;
		cursor->strip++;
		if (first + strip == pixels) {
			cursor->strip = 0;
			return true;
		}
	} while (*work > 0);
	return false;
}

static bool advance(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		    struct ovt_cursor *cursor, u32 count)
{
	cursor->c += count;
	if (cursor->c < insn->out.channels)
		return true;
	cursor->filled = 0;
	return ovt_simd_next_group(inputs, insn, cursor);
}

bool ovt_simd_matmul(const struct overtake_insn *insn, const struct ovt_operands *operands,
		     struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct ovt_simd_inputs inputs;
	struct overtake_insn as_conv;

	if (scratch->level >= OVT_SIMD_AVX512_VNNI && ovt_matmul_vnni512_covers(insn))
		return ovt_matmul_vnni512(insn, operands, scratch, cursor, work);
	if (!ovt_matmul_plan(&inputs, &as_conv, insn))
		return true;
	do {
		u32 left = insn->out.channels - cursor->c;
		u32 count = left < OVT_SIMD_OUTPUTS ? left : OVT_SIMD_OUTPUTS;

		if (!cursor->filled) {
			*work -= ovt_simd_inputs_fill(&inputs, &as_conv, operands, cursor->y,
						      cursor->x, 0, scratch->inputs);
			cursor->filled = 1;
			continue;
		}
		if (run_outputs(&inputs, insn, operands, scratch, cursor, count, work) &&
		    !advance(&inputs, insn, cursor, count))
			return true;
	} while (*work > 0);
	return false;
}
