// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* MAX_POOL and AVERAGE_POOL, 16 channels of a pixel at once. */
#include "hw/operator_units.h"
#include "hw/simd/pixels.h"
#include "hw/simd/requantise.h"
#include "hw/simd/vector_operators.h"

/* Greatest number of bytes of either sign that 16 bits can add up. */
#define ADDENDS	255u
/* Work of going to the next row of a window. */
#define ROW_WORK	20
/* In rows of so many pixels, only the first window reads rows that no cache holds. */
#define WIDE		64u

static u64 padded_channels(const struct overtake_insn *insn)
{
	return ((u64)insn->in[0].channels + 7) / 8 * 8;
}

/* The work of a unit of an instruction. */
struct costs {
	u32 store;
	u32 row;
	u32 position;
};

static struct costs costs_of(const struct overtake_insn *insn)
{
	u64 apart = (u64)insn->in[0].pixel_stride * ovt_dilation(insn->dilation_width);
	struct costs costs = { .store = ovt_simd_store_work(insn), .row = ROW_WORK,
			       .position = 1 + ovt_simd_far_work(apart) };

	if (insn->in[0].width < WIDE)
		costs.row += ovt_simd_far_work(insn->in[0].row_stride);
	return costs;
}

/* Returns the work of @rows x @columns positions. */
static s64 window_work(const struct costs *costs, u32 rows, u32 columns)
{
	return (s64)rows * (costs->row + (s64)columns * costs->position);
}

bool ovt_simd_pool_covers(const struct overtake_insn *insn)
{
	struct costs costs = costs_of(insn);

	return window_work(&costs, insn->kernel_height, insn->kernel_width) <= OVT_SIMD_UNIT;
}

static OVT_SIMD_NOINLINE ovt_s8x16
greatest(const struct overtake_insn *insn, const struct ovt_operands *operands,
	 const struct ovt_window *window, u32 c)
{
	u64 readable = padded_channels(insn) - c;
	u64 step = (u64)window->column_step * insn->in[0].pixel_stride;
	ovt_c8x16 result = { -128, -128, -128, -128, -128, -128, -128, -128,
			     -128, -128, -128, -128, -128, -128, -128, -128 };
	u32 y, x;

	for (y = 0; y < window->rows; y++) {
		const s8 *in = ovt_tap_at(insn, operands, window, y, 0, c);

		for (x = 0; x < window->columns; x++, in += step) {
			ovt_s8x16 channels = ovt_simd_load_channels(in, readable);

			result = __builtin_ia32_pmaxsb128(result, (ovt_c8x16)channels);
		}
	}
	return (ovt_s8x16)result;
}

static ovt_c8x16 broadcast_s8(s8 value)
{
	return (ovt_c8x16) { value, value, value, value, value, value, value, value,
			     value, value, value, value, value, value, value, value };
}

bool ovt_simd_max_pool(const struct overtake_insn *insn, const struct ovt_operands *operands,
		       struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	ovt_c8x16 least = broadcast_s8((s8)insn->clamp_min);
	ovt_c8x16 most = broadcast_s8((s8)insn->clamp_max);
	struct costs costs = costs_of(insn);
	bool more;

	(void)scratch;
	do {
		struct ovt_window window = ovt_window_at(insn, cursor);
		u32 left = insn->out.channels - cursor->c;
		u32 count = left < 16 ? left : 16;
		ovt_c8x16 result = (ovt_c8x16)greatest(insn, operands, &window, cursor->c);

		result = __builtin_ia32_pmaxsb128(result, least);
		result = __builtin_ia32_pminsb128(result, most);
		ovt_simd_store(ovt_output_at(insn, operands, cursor), (ovt_s8x16)result, count);
		*work -= 20 + costs.store + window_work(&costs, window.rows, window.columns);
		more = ovt_cursor_next(insn, cursor, count);
	} while (more && *work > 0);
	return !more;
}

/* Adds 16 sums of 16 bits to those of 32 bits. */
static __always_inline void add_wide(struct ovt_simd_sums *sums, ovt_s16x16 addends)
{
	sums->low += ovt_widen_s16(ovt_low_half((ovt_u32x8)addends));
	sums->high += ovt_widen_s16(ovt_high_half((ovt_u32x8)addends));
}

/* Adds up the bytes, without regard to the zero point. */
static OVT_SIMD_NOINLINE void
add_window(const struct overtake_insn *insn, const struct ovt_operands *operands,
	   const struct ovt_window *window, u32 c, struct ovt_simd_sums *sums)
{
	u64 readable = padded_channels(insn) - c;
	u64 step = (u64)window->column_step * insn->in[0].pixel_stride;
	ovt_s16x16 part = { 0 };
	u32 addends = 0;
	u32 y, x;

	for (y = 0; y < window->rows; y++) {
		const s8 *in = ovt_tap_at(insn, operands, window, y, 0, c);

		for (x = 0; x < window->columns; x++, in += step) {
			part += ovt_widen_s8(ovt_simd_load_channels(in, readable));
			if (++addends == ADDENDS) {
				add_wide(sums, part);
				part = (ovt_s16x16) { 0 };
				addends = 0;
			}
		}
	}
	add_wide(sums, part);
}

/* Loads the scale, which all channels of a pixel share. */
static void load_scale(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
		       const struct ovt_operands *operands, const struct ovt_cursor *at, u32 inside)
{
	u32 kernel = (u32)insn->kernel_height * insn->kernel_width;
	u32 entry = ovt_positions_counted(insn, at, inside) - 1;
	ovt_s32x8 multiplier = ovt_broadcast_s32((s32)ovt_param(operands, entry));
	ovt_s32x8 shift = ovt_broadcast_s32((s32)ovt_param(operands, (u64)kernel + entry));
	u32 multipliers[8], shifts[8];

	ovt_store_s32x8(multipliers, multiplier);
	ovt_store_s32x8(shifts, shift);
	channels->factors.low = ovt_simd_factors_of(multipliers, shifts);
	channels->factors.high = channels->factors.low;
}

bool ovt_simd_average_pool(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct ovt_simd_channels channels;
	struct costs costs = costs_of(insn);
	bool more;

	(void)scratch;
	ovt_simd_range_init(&channels.range, insn);
	do {
		struct ovt_window window = ovt_window_at(insn, cursor);
		u32 positions = window.rows * window.columns;
		ovt_u32x8 zeros = (ovt_u32x8)ovt_broadcast_s32(-insn->in[0].zero_point *
							       (s32)positions);
		struct ovt_simd_sums sums = { zeros, zeros };
		u32 left = insn->out.channels - cursor->c;
		u32 count = left < 16 ? left : 16;

		load_scale(&channels, insn, operands, cursor, positions);
		add_window(insn, operands, &window, cursor->c, &sums);
		sums = ovt_simd_in_order(sums.low, sums.high);
		ovt_simd_store(ovt_output_at(insn, operands, cursor),
			       ovt_simd_requantise_double(&sums, &channels), count);
		*work -= 30 + costs.store + window_work(&costs, window.rows, window.columns);
		more = ovt_cursor_next(insn, cursor, count);
	} while (more && *work > 0);
	return !more;
}
