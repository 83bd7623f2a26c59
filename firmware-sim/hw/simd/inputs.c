// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/operator_units.h"
#include "hw/simd/inputs.h"
#include "hw/simd/vector.h"

/* Outputs whose windows of @extent, @step apart, fit into @room; 0 if none does. */
static u32 windows_in(u64 room, u32 extent, u32 step, u32 wanted)
{
	u64 windows;

	if (room < extent)
		return 0;
	windows = (room - extent) / step + 1;
	return windows < wanted ? (u32)windows : wanted;
}

/* Below 2^32: both are below 2^16. */
static u32 extent(u32 kernel, u16 dilation)
{
	return (kernel - 1) * ovt_dilation(dilation) + 1;
}

bool ovt_simd_inputs_plan(struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			  u32 channels, u32 align)
{
	bool one_row = insn->kernel_height == 1;
	bool one_column = insn->kernel_width == 1;

	/* A window of one row needs none of the rows that a stride leaves out. */
	inputs->step_y = one_row ? 1 : insn->stride_height;
	inputs->step_x = one_column ? 1 : insn->stride_width;
	inputs->sample_y = one_row ? insn->stride_height : 1;
	inputs->sample_x = one_column ? insn->stride_width : 1;
	inputs->extent_y = extent(insn->kernel_height, insn->dilation_height);
	inputs->extent_x = extent(insn->kernel_width, insn->dilation_width);
	inputs->channels = channels;
	inputs->pixel = (channels + align - 1) / align * align;
	if (inputs->extent_y > OVT_SIMD_INPUTS || inputs->extent_x > OVT_SIMD_INPUTS ||
	    (u64)inputs->extent_y * inputs->extent_x * inputs->pixel > OVT_SIMD_INPUTS)
		return false;
	inputs->width = windows_in(OVT_SIMD_INPUTS / ((u64)inputs->extent_y * inputs->pixel),
				   inputs->extent_x, inputs->step_x, insn->out.width);
	inputs->row = ((inputs->width - 1) * inputs->step_x + inputs->extent_x) * inputs->pixel;
	inputs->height = 1;
	if (inputs->width == insn->out.width)
		inputs->height = windows_in(OVT_SIMD_INPUTS / inputs->row, inputs->extent_y,
					    inputs->step_y, insn->out.height);
	return true;
}

/* Up to 15 elements behind @count are written as well, with no meaning. */
static void convert(s16 *to, const s8 *from, u64 count, u64 readable, ovt_s16x16 zero_point)
{
	u64 done = 0;

	while (done < count) {
		u64 left = readable - done;
		ovt_s8x16 bytes = { 0 };

		if (left >= 16) {
			bytes = ovt_load_s8x16(from + done);
			left = 16;
		} else if (left >= 8) {
			bytes = (ovt_s8x16)(ovt_s64x2) { (s64)ovt_load_u64(from + done), 0 };
			left = 8;
		} else {
			u64 word = 0;

			memcpy(&word, from + done, left);
			bytes = (ovt_s8x16)(ovt_s64x2) { (s64)word, 0 };
		}
		ovt_store_s16x16(to + done, ovt_widen_s8(bytes) - zero_point);
		done += left;
	}
}

/* Pixels of one row that lie in the tensor, from left to right: each covers the last's excess. */
static void convert_pixels(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			   const s8 *from, u32 count, u64 readable, s16 *to)
{
	ovt_s16x16 zero_point = ovt_broadcast_s16((s16)insn->in[0].zero_point);
	u64 pixel_stride = (u64)insn->in[0].pixel_stride * inputs->sample_x;
	u32 x, c;

	if (pixel_stride == inputs->channels && pixel_stride == inputs->pixel) {
		convert(to, from, count * pixel_stride, count * pixel_stride, zero_point);
		return;
	}
	for (x = 0; x < count; x++) {
		convert(to, from, inputs->channels, readable, zero_point);
		for (c = inputs->channels; c < inputs->pixel; c++)
			to[c] = 0;
		to += inputs->pixel;
		from += pixel_stride;
	}
}

/* How many of @count samples from @first on, @sample apart, lie below @limit. */
static u32 samples_below(s64 first, u32 sample, s64 limit, u32 count)
{
	u64 samples;

	if (first >= limit)
		return 0;
	samples = (u64)(limit - first - 1) / sample + 1;
	return samples < count ? (u32)samples : count;
}

static void fill_row(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		     const struct ovt_operands *operands, u32 y, s64 first_x, u32 columns,
		     u32 first_channel, s16 *to)
{
	u64 padded = ((u64)insn->in[0].channels + 7) / 8 * 8;
	u32 before = samples_below(first_x, inputs->sample_x, 0, columns);
	u32 inside = samples_below(first_x, inputs->sample_x, insn->in[0].width, columns) - before;
	u32 after = columns - before - inside;

	memset(to, 0, (u64)before * inputs->pixel * sizeof(*to));
	to += before * inputs->pixel;
	if (inside) {
		u32 x = (u32)(first_x + (s64)before * inputs->sample_x);

		convert_pixels(inputs, insn,
			       ovt_input_at(insn, operands, 0, y, x, first_channel), inside,
			       padded - first_channel, to);
	}
	memset(to + inside * inputs->pixel, 0, (u64)after * inputs->pixel * sizeof(*to));
}

s64 ovt_simd_inputs_fill(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 const struct ovt_operands *operands, u32 y, u32 x, u32 first_channel,
			 struct ovt_simd_scratch *scratch)
{
	u32 height = ovt_simd_group_height(inputs, insn, y);
	u32 width = ovt_simd_group_width(inputs, insn, x);
	u32 rows = (height - 1) * inputs->step_y + inputs->extent_y;
	u32 columns = (width - 1) * inputs->step_x + inputs->extent_x;
	s64 first_y = (s64)((u64)y * insn->stride_height) - insn->pad_top;
	s64 first_x = (s64)((u64)x * insn->stride_width) - insn->pad_left;
	s16 *to = scratch->inputs;
	u32 row;

	for (row = 0; row < rows; row++, to += inputs->row) {
		s64 at = first_y + (s64)row * inputs->sample_y;

		if (at < 0 || at >= insn->in[0].height)
			memset(to, 0, inputs->row * sizeof(*to));
		else
			fill_row(inputs, insn, operands, (u32)at, first_x, columns, first_channel,
				 to);
	}
	return (s64)rows * (20 + (s64)columns * (2 + inputs->pixel / 16));
}
