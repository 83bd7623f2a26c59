// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* NV12: turns a region of a camera picture into a network's input, in one instruction. */
#include "hw/operator_units.h"
#include "hw/sampling.h"

#define IMAGE_WORK	64	/* for a pixel (hw/operators.h) */
#define QUARTER_PIXEL	(1 << (OVERTAKE_POSITION_BITS - 2))

/* BT.601, in 1/2^13. */
#define COLOUR_BITS	13u
#define COLOUR_ONE	(1 << COLOUR_BITS)

struct colour_matrix {
	s32 black;	/* luma of black */
	s32 luma;
	s32 red_v;
	s32 green_u;
	s32 green_v;
	s32 blue_u;
};

/* 255 / 219 and 255 / 112 times 0.701, 0.114 * 0.886 / 0.587, 0.299 * 0.701 / 0.587, 0.886 */
static const struct colour_matrix limited_range = { 16, 9539, 13075, 3209, 6660, 16525 };
/* 1 and 1.402, 0.344136, 0.714136, 1.772 */
static const struct colour_matrix full_range = { 0, COLOUR_ONE, 11485, 2819, 5850, 14516 };

struct pixel {
	s32 y;
	s32 u;
	s32 v;
};

static s32 to_byte(s32 value)
{
	if (value < 0)
		return 0;
	return value > 255 ? 255 : value;
}

/* Turns a sum of products of the matrix into a byte; half is added before the shift. */
static s32 from_matrix(s32 sum)
{
	return to_byte((sum + COLOUR_ONE / 2) >> COLOUR_BITS);
}

/* Returns byte @c, unsigned, at the place between four pixels of plane @index. */
static s32 sample(const struct overtake_insn *insn, const struct ovt_operands *operands, u32 index,
		  struct ovt_sample y, struct ovt_sample x, u32 c)
{
	s32 first = ovt_blend((u8)*ovt_input_at(insn, operands, index, y.first, x.first, c),
			      (u8)*ovt_input_at(insn, operands, index, y.first, x.second, c),
			      x.fraction);
	s32 second = ovt_blend((u8)*ovt_input_at(insn, operands, index, y.second, x.first, c),
			       (u8)*ovt_input_at(insn, operands, index, y.second, x.second, c),
			       x.fraction);

	return (s32)ovt_round_shift(ovt_blend(first, second, y.fraction), OVT_SAMPLE_BITS);
}

/* A chroma sample is in the middle of four luma samples. */
static struct ovt_sample chroma_sample(s64 luma, u32 size)
{
	return ovt_sample_at(ovt_position_clamp((luma >> 1) - QUARTER_PIXEL, size));
}

/* Returns the pixel in which @position lies, of a plane that was halved @halvings times. */
static struct ovt_sample whole(s64 position, u32 halvings)
{
	return ovt_sample_at(position >> (OVERTAKE_POSITION_BITS + halvings)
					 << OVERTAKE_POSITION_BITS);
}

static struct pixel pixel_at(const struct overtake_insn *insn, const struct ovt_operands *operands,
			     const struct ovt_cursor *at)
{
	bool nearest = insn->flags & OVERTAKE_FLAG_NEAREST;
	s64 y = ovt_position(insn->start_y, insn->step_y, at->y, insn->in[0].height);
	s64 x = ovt_position(insn->start_x, insn->step_x, at->x, insn->in[0].width);
	struct ovt_sample row = nearest ? whole(y, 0) : ovt_sample_at(y);
	struct ovt_sample column = nearest ? whole(x, 0) : ovt_sample_at(x);
	struct pixel pixel = { .y = sample(insn, operands, 0, row, column, 0) };

	if (insn->flags & OVERTAKE_FLAG_GRAY)
		return pixel;
	row = nearest ? whole(y, 1) : chroma_sample(y, insn->in[1].height);
	column = nearest ? whole(x, 1) : chroma_sample(x, insn->in[1].width);
	pixel.u = sample(insn, operands, 1, row, column, 0) - 128;
	pixel.v = sample(insn, operands, 1, row, column, 1) - 128;
	return pixel;
}

/* Converts @pixel to @colours, in the order of the output's channels. */
static void convert(const struct overtake_insn *insn, struct pixel pixel, s32 *colours)
{
	const struct colour_matrix *matrix = insn->flags & OVERTAKE_FLAG_FULL_RANGE ?
					     &full_range : &limited_range;
	s32 luma = matrix->luma * (pixel.y - matrix->black);
	s32 red = from_matrix(luma + matrix->red_v * pixel.v);
	s32 blue = from_matrix(luma + matrix->blue_u * pixel.u);

	if (insn->flags & OVERTAKE_FLAG_GRAY) {
		colours[0] = from_matrix(luma);
		return;
	}
	colours[0] = insn->flags & OVERTAKE_FLAG_BGR ? blue : red;
	colours[1] = from_matrix(luma - matrix->green_u * pixel.u - matrix->green_v * pixel.v);
	colours[2] = insn->flags & OVERTAKE_FLAG_BGR ? red : blue;
}

s64 ovt_unit_nv12(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_cursor *at, u32 count)
{
	s8 *out = ovt_output_at(insn, operands, at);
	s32 colours[3];
	u32 i;

	/* A pixel is one unit: the cursor's channel is 0, count is 1 or 3. */
	convert(insn, pixel_at(insn, operands, at), colours);
	for (i = 0; i < count; i++) {
		s32 acc = (s32)(ovt_param(operands, i) + (u32)colours[i]);
		s64 scaled = ovt_requantise(acc, ovt_param(operands, 8 + i),
					    ovt_param(operands, 16 + i));

		out[i] = (s8)ovt_clamp(insn, scaled + insn->out.zero_point);
	}
	return IMAGE_WORK;
}
