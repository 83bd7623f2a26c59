// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * DEPTHWISE of any windows; depthwise_direct.c has the usual ones.
 *
 * As CONV, outputs are computed in groups of pixels whose inputs fit into the scratch, here of up
 * to 64 channels.  Two taps of 16 channels are interleaved, inputs as well as weights, so that one
 * multiplication adds both to 8 sums.
 */
#include "hw/operator_units.h"
#include "hw/simd/depthwise.h"
#include "hw/simd/inputs.h"
#include "hw/simd/requantise.h"

/* Channels of the scratch: a few lines of cache of a pixel, and a group of many pixels. */
#define GROUP_CHANNELS	64u
#define STRIP_PIXELS	2u
/* Work of loading the scales of 16 channels. */
#define BLOCK_WORK	60
/* 16-bit elements of a pair of taps of 16 channels. */
#define PAIR_WEIGHTS	32u

/* Returns the number of channels from @first on that share a filling of the scratch. */
static u32 group_channels(const struct overtake_insn *insn, u32 first)
{
	u32 left = insn->out.channels - first;

	return left < GROUP_CHANNELS ? left : GROUP_CHANNELS;
}

/* Returns the work of one pixel of 16 channels. */
static u32 pixel_work(const struct overtake_insn *insn)
{
	u32 pairs = ((u32)insn->kernel_height * insn->kernel_width + 1) / 2;

	return 8 + 2 * pairs + ovt_simd_store_work(insn);
}

/* Plans the groups.  A row of a group is a unit of work.  The last group may be narrower. */
static bool plan(struct ovt_simd_inputs *inputs, const struct overtake_insn *insn)
{
	if ((u32)insn->kernel_height * insn->kernel_width > OVT_SIMD_TAPS ||
	    !ovt_simd_inputs_plan(inputs, insn, group_channels(insn, 0), OVT_SIMD_OUTPUTS))
		return false;
	ovt_simd_inputs_narrow(inputs, OVT_SIMD_UNIT / 2 / pixel_work(insn));
	return true;
}

bool ovt_simd_depthwise_covers(const struct overtake_insn *insn)
{
	struct ovt_simd_inputs inputs;

	return ovt_depthwise_direct_covers(insn) ||
	       (plan(&inputs, insn) &&
		ovt_simd_inputs_pay(&inputs, insn, group_channels(insn, 0), 1));
}

/* Loads the weights of @tap of up to 16 channels from @channel on, with zeros behind them. */
static ovt_s16x16 load_tap(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   u32 tap, u32 channel)
{
	u64 padded = ((u64)insn->out.channels + 7) / 8 * 8;
	const u8 *from = operands->weights + tap * padded + channel;

	if (padded - channel >= 16)
		return ovt_widen_s8(ovt_load_s8x16(from));
	return ovt_widen_s8((ovt_s8x16)(ovt_s64x2) { (s64)ovt_load_u64(from), 0 });
}

/* Interleave 16 channels: elements 0..3 and 8..11 of both, then 4..7 and 12..15. */
static __always_inline ovt_s16x16 interleave_low(ovt_s16x16 a, ovt_s16x16 b)
{
	return (ovt_s16x16)__builtin_ia32_punpcklwd256((ovt_i16x16)a, (ovt_i16x16)b);
}

static __always_inline ovt_s16x16 interleave_high(ovt_s16x16 a, ovt_s16x16 b)
{
	return (ovt_s16x16)__builtin_ia32_punpckhwd256((ovt_i16x16)a, (ovt_i16x16)b);
}

static u32 tap_offset(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		      u32 tap)
{
	u32 y = tap / insn->kernel_width * ovt_dilation(insn->dilation_height);
	u32 x = tap % insn->kernel_width * ovt_dilation(insn->dilation_width);

	return y * inputs->row + x * inputs->pixel;
}

/* Fills the scratch's weights and taps; returns the pairs of taps.  An odd tap's partner is 0. */
static OVT_SIMD_NOINLINE u32
prepare_taps(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
	     const struct ovt_operands *operands, u32 channel, struct ovt_simd_scratch *scratch)
{
	u32 taps = (u32)insn->kernel_height * insn->kernel_width;
	s16 *to = scratch->weights;
	u32 tap;

	for (tap = 0; tap < taps; tap += 2, to += PAIR_WEIGHTS) {
		ovt_s16x16 first = load_tap(insn, operands, tap, channel);
		ovt_s16x16 second = { 0 };

		scratch->taps[tap] = tap_offset(inputs, insn, tap);
		scratch->taps[tap + 1] = scratch->taps[tap];
		if (tap + 1 < taps) {
			second = load_tap(insn, operands, tap + 1, channel);
			scratch->taps[tap + 1] = tap_offset(inputs, insn, tap + 1);
		}
		ovt_store_s16x16(to, interleave_low(first, second));
		ovt_store_s16x16(to + PAIR_WEIGHTS / 2, interleave_high(first, second));
	}
	return (taps + 1) / 2;
}

/* Computes the sums of @pixels windows. */
static __always_inline void
multiply(const struct ovt_simd_scratch *scratch, const s16 *const *windows, u32 pairs,
	 const struct ovt_simd_sums *bias, struct ovt_simd_sums *results, const u32 pixels)
{
	struct ovt_simd_sums sums[STRIP_PIXELS] = { *bias, *bias };
	const s16 *weights = scratch->weights;
	u32 i, p;

	for (i = 0; i < pairs; i++, weights += PAIR_WEIGHTS) {
		ovt_s16x16 low = ovt_load_s16x16(weights);
		ovt_s16x16 high = ovt_load_s16x16(weights + PAIR_WEIGHTS / 2);
		u32 first = scratch->taps[2 * i], second = scratch->taps[2 * i + 1];

#pragma GCC unroll 2
		for (p = 0; p < pixels; p++) {
			ovt_s16x16 a = ovt_load_s16x16(windows[p] + first);
			ovt_s16x16 b = ovt_load_s16x16(windows[p] + second);

			sums[p].low += ovt_multiply_pairs(interleave_low(a, b), low);
			sums[p].high += ovt_multiply_pairs(interleave_high(a, b), high);
		}
	}
#pragma GCC unroll 2
	for (p = 0; p < pixels; p++)
		results[p] = sums[p];
}

static OVT_SIMD_NOINLINE void multiply_one(const struct ovt_simd_scratch *scratch,
					   const s16 *const *windows, u32 pairs,
					   const struct ovt_simd_sums *bias,
					   struct ovt_simd_sums *results)
{
	multiply(scratch, windows, pairs, bias, results, 1);
}

static OVT_SIMD_NOINLINE void multiply_two(const struct ovt_simd_scratch *scratch,
					   const s16 *const *windows, u32 pairs,
					   const struct ovt_simd_sums *bias,
					   struct ovt_simd_sums *results)
{
	multiply(scratch, windows, pairs, bias, results, 2);
}

/* Computes the outputs of one pixel or two. */
static __always_inline void
store_pixels(s8 *out, u32 stride, struct ovt_simd_sums *sums, u32 pixels,
	     const struct ovt_simd_channels *channels, u32 count)
{
	struct ovt_simd_sums *last = &sums[pixels - 1];
	ovt_s8x32 bytes;

	bytes = ovt_simd_requantise_2(&sums[0], last, channels);
	ovt_simd_store(out, ovt_simd_first(bytes), count);
	if (pixels == STRIP_PIXELS)
		ovt_simd_store(out + stride, ovt_simd_second(bytes), count);
}

/* Computes the @count channels at the cursor of one row of the group. */
static void run_row(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		    const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		    const struct ovt_cursor *cursor, const struct ovt_simd_channels *channels,
		    u32 pairs, u32 count)
{
	u32 width = ovt_simd_group_width(inputs, insn, cursor->x);
	struct ovt_cursor at = { .y = cursor->y + cursor->strip, .x = cursor->x, .c = cursor->c };
	s8 *out = ovt_output_at(insn, operands, &at);
	struct ovt_simd_sums sums[STRIP_PIXELS];
	u32 x;

	for (x = 0; x < width; x += STRIP_PIXELS) {
		u32 pixels = width - x < STRIP_PIXELS ? 1 : STRIP_PIXELS;
		const s16 *windows[STRIP_PIXELS];

		windows[0] = scratch->inputs + ovt_simd_window(inputs, cursor->strip, x) +
			     cursor->c % GROUP_CHANNELS;
		windows[1] = windows[0] + inputs->step_x * inputs->pixel;
		if (pixels == 2)
			multiply_two(scratch, windows, pairs, &channels->bias, sums);
		else
			multiply_one(scratch, windows, pairs, &channels->bias, sums);
		store_pixels(out, insn->out.pixel_stride, sums, pixels, channels, count);
		out += (u64)pixels * insn->out.pixel_stride;
	}
}

/* Runs rows of the group until these end (true) or the work is used up. */
static bool run_rows(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		     const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		     struct ovt_cursor *cursor, u32 count, s64 *work)
{
	u32 width = ovt_simd_group_width(inputs, insn, cursor->x);
	u32 pairs = prepare_taps(inputs, insn, operands, cursor->c, scratch);
	s64 row_work = 10 + (s64)width * pixel_work(insn);
	struct ovt_simd_channels channels;

	ovt_simd_channels_load(&channels, insn, operands, cursor->c, count,
			       (u64)insn->kernel_height * insn->kernel_width * 255 * 128);
	*work -= BLOCK_WORK + 4 * pairs;
	do {
		run_row(inputs, insn, operands, scratch, cursor, &channels, pairs, count);
		*work -= row_work;
		if (++cursor->strip == ovt_simd_group_height(inputs, insn, cursor->y)) {
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
	if (cursor->c < insn->out.channels && cursor->c % GROUP_CHANNELS)
		return true;
	cursor->filled = 0;
	if (cursor->c < insn->out.channels)
		return true;
	return ovt_simd_next_group(inputs, insn, cursor);
}

bool ovt_simd_depthwise(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	struct ovt_simd_inputs inputs;

	if (ovt_depthwise_direct_covers(insn))
		return ovt_depthwise_direct(insn, operands, scratch, cursor, work);
	if (!plan(&inputs, insn))
		return true;
	do {
		u32 left = insn->out.channels - cursor->c;
		u32 count = left < OVT_SIMD_OUTPUTS ? left : OVT_SIMD_OUTPUTS;

		if (!cursor->filled) {
			inputs.channels = group_channels(insn, cursor->c);
			*work -= ovt_simd_inputs_fill(&inputs, insn, operands, cursor->y, cursor->x,
						      cursor->c, scratch->inputs);
			cursor->filled = 1;
			continue;
		}
		if (run_rows(&inputs, insn, operands, scratch, cursor, count, work) &&
		    !advance(&inputs, insn, cursor, count))
			return true;
	} while (*work > 0);
	return false;
}
