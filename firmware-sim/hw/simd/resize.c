// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * RESIZE_BILINEAR, 8 channels of a pixel at once.
 *
 * A blend of two neighbours along x is at most 128 * 256 in magnitude: 16 bits hold it, and one
 * multiplication blends pairs of neighbours along either axis.
 */
#include "hw/operator_units.h"
#include "hw/sampling.h"
#include "hw/simd/pixels.h"
#include "hw/simd/vector_operators.h"

#define RUN_CHANNELS	8u
/* Work of beginning a pixel: it and its corners may be on five pages. */
#define PIXEL_WORK	80

/* Returns the weights of pairs: that of the second is the fraction. */
static __always_inline ovt_s16x16 pair_weights(u32 fraction)
{
	u32 pair = (OVT_FRACTION_ONE - fraction) | fraction << 16;

	return (ovt_s16x16)ovt_broadcast_s32((s32)pair);
}

/* Loads 8 channels of two pixels, side by side as pairs. */
static __always_inline ovt_s16x16 load_pairs(const s8 *first, const s8 *second)
{
	ovt_c8x16 a = (ovt_c8x16)(ovt_s64x2) { (s64)ovt_load_u64(first), 0 };
	ovt_c8x16 b = (ovt_c8x16)(ovt_s64x2) { (s64)ovt_load_u64(second), 0 };

	return ovt_widen_s8((ovt_s8x16)__builtin_ia32_punpcklbw128(a, b));
}

/* Returns pairs of words of two vectors of 8 blends, each below 2^15. */
static __always_inline ovt_s16x16 pair_blends(ovt_u32x8 first, ovt_u32x8 second)
{
	return (ovt_s16x16)((first & 0xffff) | second << 16);
}

/* Returns sums / 2^16, rounded half to even; at most 128. */
static __always_inline ovt_i32x8 round_blends(ovt_u32x8 sums)
{
	ovt_u32x8 odd = sums >> OVT_SAMPLE_BITS & 1;

	return (ovt_i32x8)(sums + ((1u << (OVT_SAMPLE_BITS - 1)) - 1) + odd) >> OVT_SAMPLE_BITS;
}

static __always_inline u64 pack_words(ovt_i32x8 words)
{
	ovt_i32x4 low = (ovt_i32x4)ovt_low_half((ovt_u32x8)words);
	ovt_i32x4 high = (ovt_i32x4)ovt_high_half((ovt_u32x8)words);
	ovt_i16x8 both = __builtin_ia32_packssdw128(low, high);
	ovt_s64x2 bytes = (ovt_s64x2)__builtin_ia32_packsswb128(both, both);

	return (u64)bytes[0];
}

/* The four pixels between which an output pixel lies. */
struct corners {
	const s8 *above[2];
	const s8 *below[2];
	ovt_s16x16 weights_x;
	ovt_s16x16 weights_y;
};

static void find_corners(struct corners *corners, const struct overtake_insn *insn,
			 const struct ovt_operands *operands, const struct ovt_cursor *at)
{
	struct ovt_sample y = ovt_sample_at(ovt_position(insn->start_y, insn->step_y, at->y,
							 insn->in[0].height));
	struct ovt_sample x = ovt_sample_at(ovt_position(insn->start_x, insn->step_x, at->x,
							 insn->in[0].width));

	corners->above[0] = ovt_input_at(insn, operands, 0, y.first, x.first, 0);
	corners->above[1] = ovt_input_at(insn, operands, 0, y.first, x.second, 0);
	corners->below[0] = ovt_input_at(insn, operands, 0, y.second, x.first, 0);
	corners->below[1] = ovt_input_at(insn, operands, 0, y.second, x.second, 0);
	corners->weights_x = pair_weights(x.fraction);
	corners->weights_y = pair_weights(y.fraction);
}

/* Blends 8 channels from @c on; those up to a multiple of 8 may be read. */
static __always_inline u64 blend(const struct corners *corners, u32 c)
{
	ovt_u32x8 above = ovt_multiply_pairs(load_pairs(corners->above[0] + c,
							corners->above[1] + c),
					     corners->weights_x);
	ovt_u32x8 below = ovt_multiply_pairs(load_pairs(corners->below[0] + c,
							corners->below[1] + c),
					     corners->weights_x);

	return pack_words(round_blends(ovt_multiply_pairs(pair_blends(above, below),
							  corners->weights_y)));
}

static OVT_SIMD_NOINLINE void blend_run(const struct corners *corners, s8 *out, u32 c, u32 end)
{
	for (; c + RUN_CHANNELS <= end; c += RUN_CHANNELS)
		ovt_store_u64(out + c, blend(corners, c));
	if (c < end) {
		u64 bytes = blend(corners, c);

		memcpy(out + c, &bytes, end - c);
	}
}

bool ovt_simd_resize_bilinear(const struct overtake_insn *insn,
			      const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
			      struct ovt_cursor *cursor, s64 *work)
{
	bool more;

	(void)scratch;
	do {
		struct ovt_cursor pixel = { .y = cursor->y, .x = cursor->x };
		u32 left = insn->out.channels - cursor->c;
		u32 count = left < OVT_SIMD_RUN_ELEMENTS ? left : OVT_SIMD_RUN_ELEMENTS;
		struct corners corners;

		find_corners(&corners, insn, operands, cursor);
		blend_run(&corners, ovt_output_at(insn, operands, &pixel), cursor->c,
			  cursor->c + count);
		*work -= PIXEL_WORK + count;
		more = ovt_cursor_next(insn, cursor, count);
	} while (more && *work > 0);
	return !more;
}
