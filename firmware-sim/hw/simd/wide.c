// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV and DEPTHWISE with an input or output of 16 bits, MATMUL of inputs of 16 bits: 8 outputs of
 * a pixel at once, in the order of the scalar operators, which also round the sums.
 *
 * A product of 16 and 8 bits has 22 bits, the sum of two has 23: 256 products are added up in 32
 * bits, and these sums in 64.  An element of MATMUL's second input is split into two numbers of 8
 * bits, upper * 256 + lower, which are multiplied apart.  Sums of products of bytes stay in 32
 * bits, in which they may wrap.
 */
#include "hw/operator_units.h"
#include "hw/simd/vector.h"
#include "hw/simd/vector_operators.h"

/* Work of beginning a unit, and of rounding 8 sums. */
#define UNIT_WORK	80
/* Vector multiplications whose products are added up in 32 bits. */
#define STEPS_OF_SUM	128u

struct wide_sums {
	ovt_s64x4 of[2];
	ovt_u32x8 recent;
	u32 steps;	/* number of steps added to @recent */
};

static __always_inline ovt_s64x4 widen_s32(ovt_s32x4 values)
{
	return (ovt_s64x4)__builtin_ia32_pmovsxdq256((ovt_i32x4)values);
}

static __always_inline void settle(struct wide_sums *sums)
{
	sums->of[0] += widen_s32(ovt_low_half(sums->recent));
	sums->of[1] += widen_s32(ovt_high_half(sums->recent));
	sums->recent = (ovt_u32x8) { 0 };
	sums->steps = 0;
}

static __always_inline void add(struct wide_sums *sums, ovt_u32x8 products)
{
	sums->recent += products;
	if (++sums->steps == STEPS_OF_SUM)
		settle(sums);
}

static void store(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  const struct ovt_cursor *at, u32 count, struct wide_sums *sums)
{
	union ovt_sums stored;

	if (insn->in[0].type) {
		settle(sums);
		memcpy(stored.wide, sums->of, sizeof(stored.wide));
	} else {
		memcpy(stored.narrow, &sums->recent, sizeof(stored.narrow));
	}
	ovt_store_sums(insn, operands, at, count, &stored);
}

/* Loads two neighbours of a pixel, for all outputs. */
static __always_inline ovt_s16x16 pair(const s8 *in)
{
	return (ovt_s16x16)ovt_broadcast_s32(ovt_load_s32(in));
}

/* Loads an input without a neighbour: the weights behind it may be anything. */
static __always_inline ovt_s16x16 single(const s8 *in)
{
	return (ovt_s16x16)ovt_broadcast_s32((u16)ovt_load(in, OVERTAKE_TYPE_INT16, 0));
}

/* Adds the products of @inputs of a pixel and weights [i / 2][8 o][2 i]. */
static __always_inline void multiply_pixel(struct wide_sums *sums, const s8 *in, const s8 *weights,
					   u32 inputs)
{
	u32 i;

	for (i = 0; i + 1 < inputs; i += 2)
		add(sums, ovt_multiply_pairs(pair(in + 2 * i),
					     ovt_widen_s8(ovt_load_s8x16(weights + 8 * i))));
	if (i < inputs)
		add(sums, ovt_multiply_pairs(single(in + 2 * i),
					     ovt_widen_s8(ovt_load_s8x16(weights + 8 * i))));
}

/* Loads two bytes, or one and 0, less their zero point, for all outputs. */
static __always_inline ovt_s16x16 byte_pair(const s8 *in, s32 zero_point, bool has_second)
{
	u32 first = (u16)(in[0] - zero_point);
	u32 second = has_second ? (u16)(in[1] - zero_point) : 0;

	return (ovt_s16x16)ovt_broadcast_s32((s32)(first | second << 16));
}

/* Adds the products of @inputs of a pixel of bytes and such weights. */
static __always_inline void multiply_bytes(struct wide_sums *sums, const s8 *in, s32 zero_point,
					   const s8 *weights, u32 inputs)
{
	u32 i;

	for (i = 0; i < inputs; i += 2)
		sums->recent += ovt_multiply_pairs(byte_pair(in + i, zero_point, i + 1 < inputs),
						   ovt_widen_s8(ovt_load_s8x16(weights + 8 * i)));
}

/* Returns the work of a window, whose taps may each be on a page of its own. */
static u64 window_work(const struct overtake_insn *insn, u32 inputs)
{
	u64 taps = (u64)insn->kernel_height * insn->kernel_width;
	u64 apart = (u64)insn->in[0].pixel_stride * ovt_dilation(insn->dilation_width);
	u64 far = taps * ovt_simd_far_work(apart) +
		  (u64)insn->kernel_height *
		  ovt_simd_far_work((u64)insn->in[0].row_stride *
				    ovt_dilation(insn->dilation_height));

	return UNIT_WORK + far + ovt_simd_store_work(insn) + taps * (inputs / 2 + 1);
}

static u64 conv_work(const struct overtake_insn *insn)
{
	return window_work(insn, insn->in[0].channels / insn->groups);
}

bool ovt_simd_wide_conv_covers(const struct overtake_insn *insn)
{
	return conv_work(insn) <= OVT_SIMD_UNIT;
}

/* The weights of neighbouring taps are as far apart as the output has channels. */
static u64 depthwise_work(const struct overtake_insn *insn)
{
	u64 taps = (u64)insn->kernel_height * insn->kernel_width;

	return window_work(insn, OVT_UNIT_CHANNELS) +
	       taps * ovt_simd_far_work(insn->out.channels);
}

bool ovt_simd_wide_depthwise_covers(const struct overtake_insn *insn)
{
	return depthwise_work(insn) <= OVT_SIMD_UNIT;
}

static OVT_SIMD_NOINLINE void conv_unit(const struct overtake_insn *insn,
					const struct ovt_operands *operands,
					const struct ovt_cursor *at, u32 count)
{
	struct ovt_block_weights block = ovt_block_weights_at(insn, operands, at);
	struct ovt_window window = ovt_window_at(insn, at);
	struct wide_sums sums = { 0 };
	bool wide = insn->in[0].type;
	u32 y, x;

	for (y = 0; y < window.rows; y++) {
		const s8 *weights = block.weights + (window.kernel_y + y) * block.row +
				    window.kernel_x * block.tap;

		for (x = 0; x < window.columns; x++, weights += block.tap) {
			const s8 *in = ovt_tap_at(insn, operands, &window, y, x,
						  block.first_input);

			if (wide)
				multiply_pixel(&sums, in, weights, block.inputs);
			else
				multiply_bytes(&sums, in, insn->in[0].zero_point, weights,
					       block.inputs);
		}
	}
	store(insn, operands, at, count, &sums);
}

/* Loads 8 bytes as elements of 32 bits. */
static __always_inline ovt_u32x8 widen_bytes(const s8 *bytes)
{
	ovt_s64x2 all = { (s64)ovt_load_u64(bytes), 0 };

	return (ovt_u32x8)__builtin_ia32_pmovsxbd256((ovt_c8x16)all);
}

/* Computes 8 channels.  Bytes behind the last are read: weights and channels have room for 8. */
static OVT_SIMD_NOINLINE void depthwise_unit(const struct overtake_insn *insn,
					     const struct ovt_operands *operands,
					     const struct ovt_cursor *at, u32 count)
{
	const u64 pixel = ((u64)insn->out.channels + 7) / 8 * 8;
	const ovt_u32x8 zero_point = (ovt_u32x8)ovt_broadcast_s32(insn->in[0].zero_point);
	struct ovt_window window = ovt_window_at(insn, at);
	struct wide_sums sums = { 0 };
	bool wide = insn->in[0].type;
	u32 y, x;

	for (y = 0; y < window.rows; y++) {
		const s8 *weights = (const s8 *)operands->weights + at->c +
				    ((u64)(window.kernel_y + y) * insn->kernel_width +
				     window.kernel_x) * pixel;

		for (x = 0; x < window.columns; x++, weights += pixel) {
			const s8 *in = ovt_tap_at(insn, operands, &window, y, x, at->c);
			ovt_u32x8 factors = widen_bytes(weights);

			if (wide)
				add(&sums, ovt_widen_s16(ovt_load_s32x4(in)) * factors);
			else
				sums.recent += (widen_bytes(in) - zero_point) * factors;
		}
	}
	store(insn, operands, at, count, &sums);
}

typedef void unit_function(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   const struct ovt_cursor *at, u32 count);

/* Runs unit by unit, each of which counts @unit_work.  @segment: channels of a group. */
static __always_inline bool run(const struct overtake_insn *insn,
				const struct ovt_operands *operands, struct ovt_cursor *cursor,
				s64 *work, u32 segment, u64 unit_work, unit_function *unit)
{
	u32 left;

	do {
		left = segment - cursor->c % segment;
		if (left > OVT_UNIT_CHANNELS)
			left = OVT_UNIT_CHANNELS;
		unit(insn, operands, cursor, left);
		*work -= (s64)unit_work;
		if (!ovt_cursor_next(insn, cursor, left))
			return true;
	} while (*work > 0);
	return false;
}

bool ovt_simd_wide_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	(void)scratch;
	return run(insn, operands, cursor, work, insn->out.channels / insn->groups,
		   conv_work(insn), conv_unit);
}

bool ovt_simd_wide_depthwise(const struct overtake_insn *insn, const struct ovt_operands *operands,
			     struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	(void)scratch;
	return run(insn, operands, cursor, work, insn->out.channels, depthwise_work(insn),
		   depthwise_unit);
}

static u64 product_work(const struct overtake_insn *insn)
{
	u64 far = OVT_UNIT_CHANNELS * ovt_simd_far_work(insn->in[1].pixel_stride);

	return UNIT_WORK + far + ovt_simd_store_work(insn) +
	       OVT_UNIT_CHANNELS * (insn->in[0].channels / 8 + 4);
}

bool ovt_simd_wide_matmul_covers(const struct overtake_insn *insn)
{
	return insn->in[0].type && insn->in[1].type && product_work(insn) <= OVT_SIMD_UNIT;
}

/* Loads 16 elements of 16 bits, of which @count are read and the others are 0. */
static __always_inline ovt_s16x16 load_words(const s8 *from, u32 count)
{
	s16 words[16] = { 0 };

	if (count >= 16)
		return ovt_load_s16x16(from);
	memcpy(words, from, count * sizeof(*words));
	return ovt_load_s16x16(words);
}

static __always_inline s64 total(struct wide_sums *sums)
{
	ovt_s64x4 all;

	settle(sums);
	all = sums->of[0] + sums->of[1];
	return all[0] + all[1] + all[2] + all[3];
}

/* Returns the sum of products of two rows of @count elements. */
static OVT_SIMD_NOINLINE s64 multiply_rows(const s8 *a, const s8 *b, u32 count)
{
	struct wide_sums lower = { 0 }, upper = { 0 };
	u32 k;

	for (k = 0; k < count; k += 16) {
		ovt_s16x16 factors = load_words(a + 2 * k, count - k);
		ovt_s16x16 words = load_words(b + 2 * k, count - k);

		add(&lower, ovt_multiply_pairs(factors, words << 8 >> 8));
		/* The upper byte is one more where the lower byte counts as negative. */
		add(&upper, ovt_multiply_pairs(factors, (words >> 8) + (words >> 7 & 1)));
	}
	return total(&upper) * 256 + total(&lower);
}

static void matmul_unit(const struct overtake_insn *insn, const struct ovt_operands *operands,
			const struct ovt_cursor *at, u32 count)
{
	const s8 *a = ovt_input_at(insn, operands, 0, at->y, at->x, 0);
	u32 batch = insn->in[1].height == 1 ? 0 : at->y;
	union ovt_sums sums;
	u32 i;

	for (i = 0; i < count; i++) {
		const s8 *b = ovt_input_at(insn, operands, 1, batch, at->c + i, 0);

		sums.wide[i] = multiply_rows(a, b, insn->in[0].channels);
	}
	ovt_store_sums(insn, operands, at, count, &sums);
}

bool ovt_simd_wide_matmul(const struct overtake_insn *insn, const struct ovt_operands *operands,
			  struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	(void)scratch;
	return run(insn, operands, cursor, work, insn->out.channels, product_work(insn),
		   matmul_unit);
}
