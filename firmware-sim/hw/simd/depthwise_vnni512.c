// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * DEPTHWISE of windows that are read in place (hw/simd/depthwise_direct.c), for CPUs with
 * AVX512-VNNI.
 *
 * A column of 64 channels is read once for all windows of a row of outputs.  Four of its rows are
 * interleaved, [channel][4 rows], so that one vpdpbusd adds 4 products to each of 16 sums.  Rows
 * behind the last one weigh 0.  128 is added to inputs, which makes them 0..255; sums begin with
 * the negative product of what was added and the sum of the weights.
 *
 * Channels whose sums or factors need doubles are left to AVX2.
 *
 * Interleaving within 128 bits makes vector 0 of channels 0..3, 16..19, 32..35 and 48..51, vector 1
 * of 4..7, 20..23 and so on.  Packing puts the outputs back into the order of memory.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"
#include "hw/simd/depthwise.h"
#include "hw/simd/vector512.h"

#define TAPS		OVT_DEPTHWISE_TAPS
#define VECTORS		4u
#define GROUPS		(OVT_DEPTHWISE_WIDE / OVT_SIMD_OUTPUTS)
#define VECTOR_BYTES	64u

/**
 * struct wide_block - 64 channels, at the begin of scratch->packed
 * @single: how their sums are finished
 * @start: values with which sums begin
 * @factors: factors in the order of the sums
 * @weights: [column of taps][four rows][vector]
 * @readable: how many bytes of a pixel can be read
 * @count: number of channels
 */
struct wide_block {
	struct ovt_simd_single single;
	ovt_s32x16 start[VECTORS];
	ovt_s32x16 factors[VECTORS];
	s8 weights[TAPS][2][VECTORS][VECTOR_BYTES];
	u32 readable;
	u32 count;
};

static_assert(sizeof(struct wide_block) <= OVT_SIMD_PACKED, "a block fits");

/* Four rows of a column, interleaved. */
struct quad {
	ovt_s32x16 vectors[VECTORS];
};

static __always_inline u32 quads_of(u32 taps)
{
	return (taps + 3) / 4;
}

static __always_inline ovt_c8x64 low_bytes(ovt_c8x64 a, ovt_c8x64 b)
{
	return __builtin_ia32_punpcklbw512_mask(a, b, (ovt_c8x64) { 0 }, (u64)-1);
}

static __always_inline ovt_c8x64 high_bytes(ovt_c8x64 a, ovt_c8x64 b)
{
	return __builtin_ia32_punpckhbw512_mask(a, b, (ovt_c8x64) { 0 }, (u64)-1);
}

static __always_inline ovt_s32x16 low_pairs(ovt_c8x64 a, ovt_c8x64 b)
{
	return (ovt_s32x16)__builtin_ia32_punpcklwd512_mask((ovt_i16x32)a, (ovt_i16x32)b,
							    (ovt_i16x32) { 0 }, (u32)-1);
}

static __always_inline ovt_s32x16 high_pairs(ovt_c8x64 a, ovt_c8x64 b)
{
	return (ovt_s32x16)__builtin_ia32_punpckhwd512_mask((ovt_i16x32)a, (ovt_i16x32)b,
							    (ovt_i16x32) { 0 }, (u32)-1);
}

static __always_inline void interleave(struct quad *quad, const ovt_c8x64 *rows)
{
	ovt_c8x64 first = low_bytes(rows[0], rows[1]), second = low_bytes(rows[2], rows[3]);

	quad->vectors[0] = low_pairs(first, second);
	quad->vectors[1] = high_pairs(first, second);
	first = high_bytes(rows[0], rows[1]);
	second = high_bytes(rows[2], rows[3]);
	quad->vectors[2] = low_pairs(first, second);
	quad->vectors[3] = high_pairs(first, second);
}

/* Puts 16 sums or factors of each group into the order of the interleaved vectors. */
static void order_channels(ovt_s32x16 *vectors, u32 group, const void *low, const void *high)
{
	const u64 part = sizeof(ovt_s32x4);
	u8 *to = (u8 *)vectors + group * part;

	memcpy(to, low, part);
	memcpy(to + VECTOR_BYTES, high, part);
	memcpy(to + 2 * VECTOR_BYTES, (const u8 *)low + part, part);
	memcpy(to + 3 * VECTOR_BYTES, (const u8 *)high + part, part);
}

/* Loads the channels' parameters; returns false if floats are not exact for all of them. */
static OVT_SIMD_NOINLINE bool
load_channels(struct wide_block *block, const struct overtake_insn *insn,
	      const struct ovt_operands *operands, u32 channel, u32 count)
{
	u64 most = (u64)insn->kernel_height * insn->kernel_width * 255 * 128;
	struct ovt_simd_channels channels;
	bool fits = true;
	u32 group;

	for (group = 0; group < GROUPS; group++) {
		u32 first = group * OVT_SIMD_OUTPUTS;

		/* Groups behind the last channel keep the parameters of the one before. */
		if (first < count) {
			u32 left = count - first;

			ovt_simd_channels_load(&channels, insn, operands, channel + first,
					       left < OVT_SIMD_OUTPUTS ? left : OVT_SIMD_OUTPUTS,
					       most);
		}
		fits &= channels.sums_fit;
		order_channels(block->start, group, &channels.bias.low, &channels.bias.high);
		order_channels(block->factors, group, &channels.factors.low,
			       &channels.factors.high);
	}
	block->single = channels.single;
	return fits;
}

bool ovt_depthwise512_load(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   u32 channel, u32 count, struct ovt_simd_scratch *scratch)
{
	struct wide_block *block = (struct wide_block *)scratch->packed;
	const ovt_u32x16 added = (ovt_u32x16)ovt_broadcast_s32x16(insn->in[0].zero_point + 128);
	const ovt_s32x16 ones = ovt_broadcast_s32x16(0x01010101);
	const u64 padded = ((u64)insn->out.channels + 7) / 8 * 8;
	const s8 *weights = (const s8 *)operands->weights + channel;
	const u32 taps = insn->kernel_height;
	ovt_s32x16 totals[VECTORS] = { { 0 }, { 0 }, { 0 }, { 0 } };
	u32 x, q, y, v;

	if (!load_channels(block, insn, operands, channel, count))
		return false;
	block->readable = (count + 7) / 8 * 8;
	block->count = count;
	for (x = 0; x < taps; x++) {
		for (q = 0; q < quads_of(taps); q++) {
			ovt_c8x64 rows[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
			struct quad quad OVT_SIMD_UNSET;

			for (y = 4 * q; y < taps && y < 4 * q + 4; y++)
				rows[y % 4] = ovt_load_some_512(weights + (y * taps + x) * padded,
								block->readable);
			interleave(&quad, rows);
			for (v = 0; v < VECTORS; v++) {
				ovt_store_s32x16(block->weights[x][q][v], quad.vectors[v]);
				totals[v] = ovt_add_products_512(totals[v], ones, quad.vectors[v]);
			}
		}
	}
	for (v = 0; v < VECTORS; v++)
		block->start[v] = (ovt_s32x16)((ovt_u32x16)block->start[v] -
					       (ovt_u32x16)totals[v] * added);
	return true;
}

/* Loads 64 or 32 channels, or as many as there are: masked loads take longer. */
static __always_inline ovt_s32x16
load_channels_of(const s8 *from, const struct wide_block *block, const u32 channels)
{
	if (channels == OVT_DEPTHWISE_WIDE)
		return ovt_load_s32x16(from);
	if (channels == OVT_DEPTHWISE_WIDE / 2)
		return ovt_join_512((ovt_s32x8)ovt_load_s8x32(from), (ovt_s32x8) { 0 });
	return (ovt_s32x16)ovt_load_some_512(from, block->readable);
}

/* Loads rows of column @x of the tensor, or inputs outside it, as 0..255. */
static __always_inline void
load_rows(ovt_c8x64 *rows, const struct ovt_windows *windows, s64 x,
	  const struct wide_block *block, const u32 taps, const u32 channels)
{
	const ovt_s32x16 sign = ovt_broadcast_s32x16((s32)0x80808080);
	const u64 offset = (u64)x * windows->pixel_stride;
	const bool inside = (u64)x < windows->width;
	u32 y;

#pragma GCC unroll 5
	for (y = 0; y < taps; y++) {
		const s8 *from = inside ? windows->rows[y] + (offset & windows->within[y]) :
					  windows->outside;

		rows[y] = (ovt_c8x64)(load_channels_of(from, block, channels) ^ sign);
	}
	/* Rows behind the last weigh 0. */
#pragma GCC unroll 3
	for (y = taps; y < 4 * quads_of(taps); y++)
		rows[y] = rows[taps - 1];
}

static __always_inline void
add_quad(ovt_s32x16 *sums, const struct quad *quad, const s8 (*weights)[VECTOR_BYTES])
{
	u32 v;

#pragma GCC unroll 4
	for (v = 0; v < VECTORS; v++)
		sums[v] = ovt_add_products_512(sums[v], quad->vectors[v],
					       ovt_load_s32x16(weights[v]));
}

/*
 * Adds @stride columns from column @x of the tensor on.  Completes the first of the @open windows,
 * whose sums go to @complete, and begins another window.
 */
static __always_inline void
next_window(ovt_s32x16 (*sums)[VECTORS], ovt_s32x16 *complete,
	    const struct ovt_windows *windows, const struct wide_block *block, s64 x,
	    const u32 taps, const u32 stride, const u32 channels)
{
	const u32 open = (taps + stride - 1) / stride;
	u32 c, i, q, v;

#pragma GCC unroll 2
	for (c = 0; c < stride; c++) {
		ovt_c8x64 rows[8] OVT_SIMD_UNSET;

		load_rows(rows, windows, x + c, block, taps, channels);
#pragma GCC unroll 2
		for (q = 0; q < quads_of(taps); q++) {
			struct quad quad OVT_SIMD_UNSET;

			interleave(&quad, rows + 4 * q);
#pragma GCC unroll 5
			for (i = 0; i < open; i++) {
				const u32 tap = c + stride * (open - 1 - i);

				if (tap < taps)
					add_quad(sums[i], &quad, block->weights[tap][q]);
			}
		}
		/* There are no registers for weights: each column reads them from memory. */
		ovt_simd_reload();
	}
#pragma GCC unroll 4
	for (v = 0; v < VECTORS; v++) {
		complete[v] = sums[0][v];
#pragma GCC unroll 5
		for (i = 0; i + 1 < open; i++)
			sums[i][v] = sums[i + 1][v];
		sums[open - 1][v] = block->start[v];
	}
}

/* Stores @channels bytes, 64 or 32, or as many as there are: at least 32. */
static __always_inline void
store_channels(s8 *out, ovt_c8x64 bytes, const struct wide_block *block, const u32 channels)
{
	u32 count = block->count;

	if (channels == OVT_DEPTHWISE_WIDE) {
		ovt_store_s32x16(out, (ovt_s32x16)bytes);
		return;
	}
	ovt_store_s8x32(out, ovt_half_512(bytes, 0));
	if (channels == OVT_DEPTHWISE_WIDE / 2)
		return;
	if (count >= 48) {
		ovt_store_s8x16(out + 32, ovt_quarter_512((ovt_i32x16)bytes, 2));
		ovt_conv_store_part(out + 48, ovt_quarter_512((ovt_i32x16)bytes, 3), count - 48);
	} else {
		ovt_conv_store_part(out + 32, ovt_quarter_512((ovt_i32x16)bytes, 2), count - 32);
	}
}

/* Finishes a pixel with floats, which are exact here. */
static __always_inline void
finish(const ovt_s32x16 *sums, const struct wide_block *block, s8 *out, const u32 channels)
{
	const struct ovt_simd_single *single = &block->single;
	const ovt_s32x16 least = ovt_broadcast_s32x16(((const ovt_s32x8 *)&single->least)[0][0]);
	const ovt_s32x16 greatest =
		ovt_broadcast_s32x16(((const ovt_s32x8 *)&single->greatest)[0][0]);
	const ovt_f32x16 bias = (ovt_f32x16)ovt_broadcast_s32x16(OVT_SINGLE_BIAS_BITS);
	const ovt_u32x16 zero = (ovt_u32x16)ovt_broadcast_s32x16((s32)single->zero[0]);
	ovt_s32x16 words[VECTORS] OVT_SIMD_UNSET;
	ovt_c8x64 bytes;
	u32 v;

#pragma GCC unroll 4
	for (v = 0; v < VECTORS; v++) {
		ovt_f32x16 rounded = ovt_fma_512(ovt_to_f32_512(sums[v]),
						 (ovt_f32x16)block->factors[v], bias);

		words[v] = (ovt_s32x16)((ovt_u32x16)rounded - zero);
	}
	bytes = ovt_pack_bytes_512(ovt_pack_words_512(words[0], words[1]),
				   ovt_pack_words_512(words[2], words[3]));
	bytes = ovt_clamp_bytes_512(bytes, (ovt_c8x64)least, (ovt_c8x64)greatest);
	store_channels(out, bytes, block, channels);
}

static __always_inline void
multiply_row(const struct ovt_windows *windows, const struct wide_block *block, s8 *out,
	     u32 out_stride, u32 width, const u32 taps, const u32 stride, const u32 channels)
{
	const u32 open = (taps + stride - 1) / stride;
	ovt_s32x16 sums[TAPS][VECTORS] OVT_SIMD_UNSET, complete[VECTORS] OVT_SIMD_UNSET;
	s64 x = windows->x;
	u32 i, v;

#pragma GCC unroll 5
	for (i = 0; i < open; i++) {
#pragma GCC unroll 4
		for (v = 0; v < VECTORS; v++)
			sums[i][v] = block->start[v];
	}
	for (i = 0; i + 1 < open; i++, x += stride)
		next_window(sums, complete, windows, block, x, taps, stride, channels);
	for (; width; width--, x += stride, out += out_stride) {
		next_window(sums, complete, windows, block, x, taps, stride, channels);
		finish(complete, block, out, channels);
	}
}

/* A copy of multiply_row() for each shape: its sums stay in registers. */
#define DEFINE_ROW(name, taps, stride, channels)					\
	static OVT_SIMD_NOINLINE void							\
	name(const struct ovt_windows *windows, const struct wide_block *block, s8 *out, \
	     u32 out_stride, u32 width)							\
	{										\
		multiply_row(windows, block, out, out_stride, width, taps, stride,	\
			     channels);							\
	}

DEFINE_ROW(row_3_1_64, 3, 1, 64)
DEFINE_ROW(row_3_1_32, 3, 1, 32)
DEFINE_ROW(row_3_1_part, 3, 1, 0)
DEFINE_ROW(row_3_2_64, 3, 2, 64)
DEFINE_ROW(row_3_2_32, 3, 2, 32)
DEFINE_ROW(row_3_2_part, 3, 2, 0)
DEFINE_ROW(row_5_1_64, 5, 1, 64)
DEFINE_ROW(row_5_1_32, 5, 1, 32)
DEFINE_ROW(row_5_1_part, 5, 1, 0)
DEFINE_ROW(row_5_2_64, 5, 2, 64)
DEFINE_ROW(row_5_2_32, 5, 2, 32)
DEFINE_ROW(row_5_2_part, 5, 2, 0)

typedef void row_function(const struct ovt_windows *windows, const struct wide_block *block,
			  s8 *out, u32 out_stride, u32 width);

/* Chooses by 3 or 5 taps, stride 1 or 2, and 64, 32 or another number of channels. */
static row_function *row_of(const struct overtake_insn *insn, const struct wide_block *block)
{
	static row_function *const rows[2][2][3] = {
		{ { row_3_1_64, row_3_1_32, row_3_1_part },
		  { row_3_2_64, row_3_2_32, row_3_2_part } },
		{ { row_5_1_64, row_5_1_32, row_5_1_part },
		  { row_5_2_64, row_5_2_32, row_5_2_part } },
	};
	u32 channels = block->count == OVT_DEPTHWISE_WIDE ? 0 :
		       block->count == OVT_DEPTHWISE_WIDE / 2 ? 1 : 2;

	return rows[insn->kernel_height == 5][insn->stride_width == 2][channels];
}

void ovt_depthwise512_row(const struct overtake_insn *insn, const struct ovt_windows *windows,
			  s8 *out, u32 width, const struct ovt_simd_scratch *scratch)
{
	const struct wide_block *block = (const struct wide_block *)scratch->packed;

	row_of(insn, block)(windows, block, out, insn->out.pixel_stride, width);
}
