// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * DEPTHWISE of 3 x 3 or 5 x 5 taps that are neighbours, with strides of 1 or 2.
 *
 * Inputs are read from the tensor in place.  A column of 16 channels is read once for all windows
 * of a row of outputs.  Its rows are interleaved by twos, so that one multiplication adds both to 8
 * sums, and these are added to the sums of each window that contains the column.  The sums of
 * the two to five windows that are not complete stay in registers.
 *
 * The zero point is not subtracted from inputs.  Inputs outside the tensor are the zero point, and
 * all sums begin with the negative product of the zero point and the sum of the weights.
 *
 * depthwise_vnni512.c does the same for 64 channels.
 */
#include "hw/operator_units.h"
#include "hw/simd/depthwise.h"
#include "hw/simd/requantise.h"

/* Work of loading the scales of 16 channels. */
#define BLOCK_WORK	60
/* Approximate number of pixels of 16 channels for which weights are prepared once. */
#define BAND_PIXELS	512u
/* Work of beginning a row of outputs. */
#define ROW_WORK	10
#define MOST_TAPS	OVT_DEPTHWISE_TAPS

/* Returns the pairs of rows of taps; the partner of an odd last row weighs 0. */
static __always_inline u32 pairs_of(u32 taps)
{
	return (taps + 1) / 2;
}

/**
 * struct block - 16 channels
 * @channels: how their sums are finished
 * @start: values with which sums begin
 * @weights: [column of taps][pair of rows], each a vector for the first sums and one for the second
 * @count: number of channels
 * @half: only 8 channels can be read
 */
struct block {
	struct ovt_simd_channels channels;
	struct ovt_simd_sums start;
	const s16 *weights;
	u32 count;
	bool half;
};

/* A column of a window, its rows interleaved by twos. */
struct column {
	ovt_s16x16 low[(MOST_TAPS + 1) / 2];
	ovt_s16x16 high[(MOST_TAPS + 1) / 2];
};

static __always_inline ovt_s16x16 interleave_low(ovt_s16x16 a, ovt_s16x16 b)
{
	return (ovt_s16x16)__builtin_ia32_punpcklwd256((ovt_i16x16)a, (ovt_i16x16)b);
}

static __always_inline ovt_s16x16 interleave_high(ovt_s16x16 a, ovt_s16x16 b)
{
	return (ovt_s16x16)__builtin_ia32_punpckhwd256((ovt_i16x16)a, (ovt_i16x16)b);
}

static __always_inline ovt_s16x16 load_channels(const s8 *from, const bool half)
{
	if (half)
		return ovt_widen_s8((ovt_s8x16)(ovt_s64x2) { (s64)ovt_load_u64(from), 0 });
	return ovt_widen_s8(ovt_load_s8x16(from));
}

bool ovt_depthwise_direct_covers(const struct overtake_insn *insn)
{
	u32 taps = insn->kernel_height;

	return (taps == 3 || taps == 5) && insn->kernel_width == taps &&
	       ovt_dilation(insn->dilation_height) == 1 &&
	       ovt_dilation(insn->dilation_width) == 1 && insn->stride_width <= 2;
}

/* Returns the work of one pixel of 16 channels. */
static u32 pixel_work(const struct overtake_insn *insn)
{
	u32 taps = insn->kernel_height;

	return 6 + taps * pairs_of(taps) + ovt_simd_store_work(insn) +
	       taps * insn->stride_width * ovt_simd_far_work(insn->in[0].pixel_stride);
}

/* Loads 16 channels of a tap, or 8 and zeros; zeros behind the last row of taps. */
static ovt_s16x16 load_tap(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   u32 y, u32 x, u32 channel)
{
	u64 padded = ((u64)insn->out.channels + 7) / 8 * 8;
	const s8 *from = (const s8 *)operands->weights +
			 ((u64)y * insn->kernel_width + x) * padded + channel;

	if (y >= insn->kernel_height)
		return (ovt_s16x16) { 0 };
	return load_channels(from, padded - channel < OVT_SIMD_OUTPUTS);
}

/* Loads the parameters of up to 16 channels; their weights go to @to. */
static OVT_SIMD_NOINLINE void
load_block(struct block *block, const struct overtake_insn *insn,
	   const struct ovt_operands *operands, u32 channel, u32 count, s16 *to)
{
	const ovt_u32x8 zero_point = (ovt_u32x8)ovt_broadcast_s32(insn->in[0].zero_point);
	const ovt_s16x16 ones = ovt_broadcast_s16(1);
	u32 taps = insn->kernel_height;
	struct ovt_simd_sums totals = { { 0 } };
	u32 x, y;

	ovt_simd_channels_load(&block->channels, insn, operands, channel, count,
			       (u64)taps * taps * 255 * 128);
	block->weights = to;
	block->count = count;
	block->half = count <= OVT_SIMD_OUTPUTS / 2;
	for (x = 0; x < taps; x++) {
		for (y = 0; y < taps; y += 2, to += 2 * 16) {
			ovt_s16x16 first = load_tap(insn, operands, y, x, channel);
			ovt_s16x16 second = load_tap(insn, operands, y + 1, x, channel);
			ovt_s16x16 low = interleave_low(first, second);
			ovt_s16x16 high = interleave_high(first, second);

			ovt_store_s16x16(to, low);
			ovt_store_s16x16(to + 16, high);
			totals.low += ovt_multiply_pairs(low, ones);
			totals.high += ovt_multiply_pairs(high, ones);
		}
	}
	block->start.low = block->channels.bias.low - totals.low * zero_point;
	block->start.high = block->channels.bias.high - totals.high * zero_point;
}

/* Loads column @x of the tensor, or inputs outside it. */
static __always_inline void
load_column(struct column *column, const struct ovt_windows *windows, s64 x, const u32 taps,
	    const bool half)
{
	const s8 *from[MOST_TAPS] OVT_SIMD_UNSET;
	u32 y;

	if ((u64)x < windows->width) {
		u64 offset = (u64)x * windows->pixel_stride;

#pragma GCC unroll 5
		for (y = 0; y < taps; y++)
			from[y] = windows->rows[y] + (offset & windows->within[y]);
	} else {
#pragma GCC unroll 5
		for (y = 0; y < taps; y++)
			from[y] = windows->outside;
	}
#pragma GCC unroll 3
	for (y = 0; y < taps; y += 2) {
		ovt_s16x16 first = load_channels(from[y], half), second = { 0 };

		if (y + 1 < taps)
			second = load_channels(from[y + 1], half);
		column->low[y / 2] = interleave_low(first, second);
		column->high[y / 2] = interleave_high(first, second);
	}
}

/* Adds @column times the taps of column @x to the sums of a window. */
static __always_inline void
add_column(struct ovt_simd_sums *sums, const struct column *column, const s16 *weights,
	   const u32 x, const u32 taps)
{
	u32 pair;

#pragma GCC unroll 3
	for (pair = 0; pair < pairs_of(taps); pair++) {
		const s16 *at = weights + (x * pairs_of(taps) + pair) * 2 * 16;

		sums->low += ovt_multiply_pairs(column->low[pair], ovt_load_s16x16(at));
		sums->high += ovt_multiply_pairs(column->high[pair], ovt_load_s16x16(at + 16));
	}
}

/*
 * Adds @stride columns from column @x of the tensor on.  Completes the first of the @open windows,
 * whose sums it returns, and begins another window.
 */
static __always_inline struct ovt_simd_sums
next_window(struct ovt_simd_sums *sums, const struct ovt_windows *windows,
	    const struct block *block, s64 x, const u32 taps, const u32 stride, const bool half)
{
	const u32 open = (taps + stride - 1) / stride;
	struct ovt_simd_sums complete OVT_SIMD_UNSET;
	u32 c, i;

#pragma GCC unroll 2
	for (c = 0; c < stride; c++) {
		struct column column OVT_SIMD_UNSET;

		load_column(&column, windows, x + c, taps, half);
#pragma GCC unroll 5
		for (i = 0; i < open; i++) {
			const u32 tap = c + stride * (open - 1 - i);

			if (tap < taps)
				add_column(&sums[i], &column, block->weights, tap, taps);
		}
		/* There are no registers for weights: each column reads them from memory. */
		ovt_simd_reload();
	}
	complete = sums[0];
#pragma GCC unroll 5
	for (i = 0; i + 1 < open; i++)
		sums[i] = sums[i + 1];
	sums[open - 1] = block->start;
	return complete;
}

/* Computes @width outputs, from @out on every @out_stride bytes. */
static __always_inline void
multiply_row(const struct ovt_windows *windows, const struct block *block, s8 *out, u32 out_stride,
	     u32 width, const u32 taps, const u32 stride, const bool half)
{
	const u32 open = (taps + stride - 1) / stride;
	struct ovt_simd_sums sums[MOST_TAPS] OVT_SIMD_UNSET;
	struct ovt_simd_sums first OVT_SIMD_UNSET, second OVT_SIMD_UNSET;
	s64 x = windows->x;
	u32 done, i;

#pragma GCC unroll 5
	for (i = 0; i < open; i++)
		sums[i] = block->start;
	for (i = 0; i + 1 < open; i++, x += stride)
		next_window(sums, windows, block, x, taps, stride, half);
	for (done = 0; done < width; done += 2, x += 2 * stride) {
		ovt_s8x32 bytes;

		first = next_window(sums, windows, block, x, taps, stride, half);
		second = next_window(sums, windows, block, x + stride, taps, stride, half);
		bytes = ovt_simd_requantise_2(&first, &second, &block->channels);
		ovt_simd_store(out, ovt_simd_first(bytes), block->count);
		out += out_stride;
		if (done + 1 < width)
			ovt_simd_store(out, ovt_simd_second(bytes), block->count);
		out += out_stride;
	}
}

static __always_inline void
multiply_shape(const struct ovt_windows *windows, const struct block *block, s8 *out,
	       u32 out_stride, u32 width, const u32 taps, const u32 stride)
{
	if (block->half)
		multiply_row(windows, block, out, out_stride, width, taps, stride, true);
	else
		multiply_row(windows, block, out, out_stride, width, taps, stride, false);
}

/* A copy of multiply_row() for each shape: taps, then the stride. */
static OVT_SIMD_NOINLINE void row_3_1(const struct ovt_windows *windows, const struct block *block,
				      s8 *out, u32 out_stride, u32 width)
{
	multiply_shape(windows, block, out, out_stride, width, 3, 1);
}

static OVT_SIMD_NOINLINE void row_3_2(const struct ovt_windows *windows, const struct block *block,
				      s8 *out, u32 out_stride, u32 width)
{
	multiply_shape(windows, block, out, out_stride, width, 3, 2);
}

static OVT_SIMD_NOINLINE void row_5_1(const struct ovt_windows *windows, const struct block *block,
				      s8 *out, u32 out_stride, u32 width)
{
	multiply_shape(windows, block, out, out_stride, width, 5, 1);
}

static OVT_SIMD_NOINLINE void row_5_2(const struct ovt_windows *windows, const struct block *block,
				      s8 *out, u32 out_stride, u32 width)
{
	multiply_shape(windows, block, out, out_stride, width, 5, 2);
}

/* Places the windows of output row @y from column @x on, for channels from @channel on. */
static void place_windows(struct ovt_windows *windows, const struct overtake_insn *insn,
			  const struct ovt_operands *operands, u32 y, u32 x, u32 channel)
{
	s64 top = (s64)((u64)y * insn->stride_height) - insn->pad_top;
	u32 row;

	windows->x = (s64)((u64)x * insn->stride_width) - insn->pad_left;
	windows->width = insn->in[0].width;
	windows->pixel_stride = insn->in[0].pixel_stride;
	memset(windows->outside, insn->in[0].zero_point, sizeof(windows->outside));
	for (row = 0; row < insn->kernel_height; row++) {
		bool inside = top + row >= 0 && top + row < insn->in[0].height;

		windows->within[row] = inside ? (u64)-1 : 0;
		windows->rows[row] = inside ? ovt_input_at(insn, operands, 0, (u32)(top + row), 0,
							   channel) : windows->outside;
	}
}

static u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

/**
 * struct chunk - channels that are computed together
 * @channel: the first of them
 * @count: how many channels from the cursor on they complete
 * @wide: vectors of 64 channels compute them
 */
struct chunk {
	u32 channel;
	u32 count;
	bool wide;
};

/* Whether vectors of 64 channels are worth while: half of one may be empty. */
static bool is_wide(const struct overtake_insn *insn, const struct ovt_simd_scratch *scratch)
{
	return scratch->level >= OVT_SIMD_AVX512_VNNI &&
	       insn->out.channels >= OVT_DEPTHWISE_WIDE / 2;
}

/* Prepares channels from @channel on, in @scratch or in @block; returns the work. */
static s64 load_chunk(struct chunk *chunk, struct block *block, const struct overtake_insn *insn,
		      const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		      u32 channel)
{
	u32 left = insn->out.channels - channel;
	s64 work = 0;

	chunk->wide = false;
	if (is_wide(insn, scratch)) {
		u32 lanes = smaller(insn->out.channels, OVT_DEPTHWISE_WIDE);

		/* The last 64 channels are computed whole, some of them once more. */
		chunk->count = smaller(left, OVT_DEPTHWISE_WIDE);
		chunk->channel = left < lanes ? insn->out.channels - lanes : channel;
		chunk->wide = ovt_depthwise512_load(insn, operands, chunk->channel, lanes,
						    scratch);
		work = 4 * BLOCK_WORK;
	}
	if (chunk->wide)
		return work;
	chunk->count = smaller(left, OVT_DEPTHWISE_NARROW);
	chunk->channel = channel;
	load_block(block, insn, operands, channel, chunk->count, scratch->weights);
	return work + BLOCK_WORK;
}

static void run_row(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    const struct ovt_cursor *cursor, const struct chunk *chunk,
		    const struct block *block, const struct ovt_simd_scratch *scratch, u32 width)
{
	struct ovt_cursor at = { .y = cursor->y + cursor->strip, .x = cursor->x,
				 .c = chunk->channel };
	s8 *out = ovt_output_at(insn, operands, &at);
	u32 out_stride = insn->out.pixel_stride;
	struct ovt_windows windows;

	place_windows(&windows, insn, operands, at.y, at.x, at.c);
	if (chunk->wide)
		ovt_depthwise512_row(insn, &windows, out, width, scratch);
	else if (insn->kernel_height == 3 && insn->stride_width == 1)
		row_3_1(&windows, block, out, out_stride, width);
	else if (insn->kernel_height == 3)
		row_3_2(&windows, block, out, out_stride, width);
	else if (insn->stride_width == 1)
		row_5_1(&windows, block, out, out_stride, width);
	else
		row_5_2(&windows, block, out, out_stride, width);
}

/* A row is a unit of work; the cursor's strip counts those of a band. */
bool ovt_depthwise_direct(const struct overtake_insn *insn, const struct ovt_operands *operands,
			  struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	const u32 most = smaller(insn->out.width, OVT_SIMD_UNIT / 2 / pixel_work(insn));
	const s64 row_far = insn->kernel_height * ovt_simd_far_work(insn->in[0].row_stride);
	const u32 band = BAND_PIXELS / most + 1;
	const u32 taps = insn->kernel_height;

	do {
		u32 width = smaller(insn->out.width - cursor->x, most);
		u32 height = smaller(insn->out.height - cursor->y, band);
		struct chunk chunk;
		struct block block;

		*work -= load_chunk(&chunk, &block, insn, operands, scratch, cursor->c) +
			 4 * taps * pairs_of(taps);
		do {
			run_row(insn, operands, cursor, &chunk, &block, scratch, width);
			*work -= ROW_WORK + row_far + (s64)width * pixel_work(insn);
		} while (++cursor->strip < height && *work > 0);
		if (cursor->strip < height)
			return false;
		cursor->strip = 0;
		cursor->c += chunk.count;
		if (cursor->c >= insn->out.channels &&
		    !ovt_cursor_next_pixels(insn, cursor, height, width))
			return true;
	} while (*work > 0);
	return false;
}
