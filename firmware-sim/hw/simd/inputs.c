// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/operator_units.h"
#include "hw/simd/inputs.h"
#include "hw/simd/vector.h"

/* Work of going to the next row of inputs. */
#define ROW_WORK		20
/* Elements that are converted, and later multiplied, at once. */
#define LANES			16u
/* Work of the scalar operators, on a CPU that is not fast: a unit of 8 outputs, and products. */
#define UNIT_NS			32
#define SCALAR_PRODUCTS_PER_NS	2

/* Returns the number of windows of @extent, @step apart, that fit into @room; 0 if none does. */
static u32 windows_in(u64 room, u32 extent, u32 step, u32 wanted)
{
	u64 windows;

	if (room < extent)
		return 0;
	windows = (room - extent) / step + 1;
	return windows < wanted ? (u32)windows : wanted;
}

/* Returns the rows or columns that a window spans, below 2^32: both arguments are below 2^16. */
static u32 extent(u32 kernel, u16 dilation)
{
	return (kernel - 1) * ovt_dilation(dilation) + 1;
}

/* Returns the elements of a column that are written: the last group of channels may be narrower. */
static u32 written(const struct ovt_simd_inputs *inputs)
{
	u32 rounded = (inputs->channels + LANES - 1) / LANES * LANES;

	return rounded < inputs->pixel ? rounded : inputs->pixel;
}

static u32 column_work(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn)
{
	u64 apart = (u64)insn->in[0].pixel_stride * inputs->sample_x;

	return 2 + inputs->pixel / 16 + (written(inputs) - inputs->channels) +
	       ovt_simd_far_work(apart);
}

static u64 fill_work(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
		     u64 rows, u64 columns)
{
	u64 apart = (u64)insn->in[0].row_stride * inputs->sample_y;

	return rows * (ROW_WORK + ovt_simd_far_work(apart) +
		       columns * column_work(inputs, insn));
}

static u32 columns_of(const struct ovt_simd_inputs *inputs, u32 width)
{
	return (width - 1) * inputs->step_x + inputs->extent_x;
}

static u32 rows_of(const struct ovt_simd_inputs *inputs, u32 height)
{
	return (height - 1) * inputs->step_y + inputs->extent_y;
}

void ovt_simd_inputs_narrow(struct ovt_simd_inputs *inputs, u32 width)
{
	if (inputs->width <= width)
		return;
	inputs->width = width;
	inputs->height = 1;
	inputs->row = columns_of(inputs, width) * inputs->pixel;
}

/* Returns the work of a column as words or as bytes, which may have more that align it. */
static u32 most_column_work(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn)
{
	struct ovt_simd_inputs bytes;
	u32 as_words = column_work(inputs, insn), as_bytes;

	ovt_simd_inputs_as_bytes(&bytes, inputs);
	as_bytes = column_work(&bytes, insn);
	return as_words > as_bytes ? as_words : as_bytes;
}

/* Makes groups smaller, so that filling one is a unit of work; false if one pixel is too many. */
static bool shrink(struct ovt_simd_inputs *inputs, const struct overtake_insn *insn)
{
	const u32 fixed = (u32)fill_work(inputs, insn, 1, 0);
	const u32 column = most_column_work(inputs, insn);
	u64 row = fixed + (u64)columns_of(inputs, inputs->width) * column;
	u32 room = OVT_SIMD_UNIT / inputs->extent_y;
	u32 width;

	inputs->height = windows_in(OVT_SIMD_UNIT / row, inputs->extent_y, inputs->step_y,
				    inputs->height);
	if (inputs->height)
		return true;
	inputs->height = 1;
	if (room < fixed)
		return false;
	width = windows_in((room - fixed) / column, inputs->extent_x,
			   inputs->step_x, inputs->width);
	if (width)
		ovt_simd_inputs_narrow(inputs, width);
	return width > 0;
}

bool ovt_simd_inputs_pay(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 u32 outputs, u32 products)
{
	u64 taps = (u64)insn->kernel_height * insn->kernel_width;
	u64 units = (u64)inputs->height * inputs->width * ((outputs + 7ull) / 8);
	u64 scalar = units * (UNIT_NS + taps * products * 8 / SCALAR_PRODUCTS_PER_NS);

	return fill_work(inputs, insn, rows_of(inputs, inputs->height),
			 columns_of(inputs, inputs->width)) <= scalar;
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
	inputs->size = sizeof(s16);
	inputs->pixel = (channels + align - 1) / align * align;
	if (inputs->extent_y > OVT_SIMD_INPUTS || inputs->extent_x > OVT_SIMD_INPUTS ||
	    (u64)inputs->extent_y * inputs->extent_x * inputs->pixel > OVT_SIMD_INPUTS)
		return false;
	inputs->width = windows_in(OVT_SIMD_INPUTS / ((u64)inputs->extent_y * inputs->pixel),
				   inputs->extent_x, inputs->step_x, insn->out.width);
	inputs->row = columns_of(inputs, inputs->width) * inputs->pixel;
	inputs->height = 1;
	if (inputs->width == insn->out.width)
		inputs->height = windows_in(OVT_SIMD_INPUTS / inputs->row, inputs->extent_y,
					    inputs->step_y, insn->out.height);
	return shrink(inputs, insn);
}

void ovt_simd_inputs_as_bytes(struct ovt_simd_inputs *bytes, const struct ovt_simd_inputs *words)
{
	*bytes = *words;
	bytes->size = sizeof(u8);
	bytes->pixel = (words->channels + 3) / 4 * 4;
	bytes->row = words->row / words->pixel * bytes->pixel;
}

/* How bytes of a tensor become elements. */
struct conversion {
	ovt_s16x16 zero_point;
	u8 outside;	/* each byte of an element that adds nothing to sums */
	u32 size;
};

static __always_inline void convert_16(u8 *to, ovt_s8x16 bytes, const struct conversion *how)
{
	if (how->size == sizeof(u8))
		ovt_store_s8x16(to, bytes ^ (s8)-128);
	else
		ovt_store_s16x16(to, ovt_widen_s8(bytes) - how->zero_point);
}

static __always_inline ovt_s8x16 load_8(const s8 *from)
{
	return (ovt_s8x16)(ovt_s64x2) { (s64)ovt_load_u64(from), 0 };
}

/* Converts whole vectors of a long run of bytes; returns the number of bytes converted. */
static u64 convert_bytes(u8 *to, const s8 *from, u64 count)
{
	const ovt_s8x32 sign = ovt_broadcast_s8(-128);
	u64 done;

	for (done = 0; done + 64 <= count; done += 64) {
		ovt_s8x32 first = ovt_load_s8x32(from + done);
		ovt_s8x32 second = ovt_load_s8x32(from + done + 32);

		ovt_store_s8x32(to + done, first ^ sign);
		ovt_store_s8x32(to + done + 32, second ^ sign);
	}
	return done;
}

/* Converts whole vectors of a long run to words; returns the number of elements converted. */
static u64 convert_words(s16 *to, const s8 *from, u64 count, ovt_s16x16 zero_point)
{
	u64 done;

	for (done = 0; done + 32 <= count; done += 32) {
		ovt_s8x16 first = ovt_load_s8x16(from + done);
		ovt_s8x16 second = ovt_load_s8x16(from + done + 16);

		ovt_store_s16x16(to + done, ovt_widen_s8(first) - zero_point);
		ovt_store_s16x16(to + done + 16, ovt_widen_s8(second) - zero_point);
	}
	return done;
}

/* Loads the first 4 bytes of 8 columns that are 8 bytes apart. */
static __always_inline ovt_s32x8 load_narrow(const s8 *from)
{
	ovt_f32x8 first = (ovt_f32x8)ovt_load_s8x32(from);
	ovt_f32x8 second = (ovt_f32x8)ovt_load_s8x32(from + 32);
	ovt_i64x4 low = (ovt_i64x4)__builtin_ia32_shufps256(first, second, 0x88);

	return (ovt_s32x8)__builtin_ia32_permdi256(low, 0xd8);
}

/* Converts 4 columns to words: bytes of no channel become 0. */
static __always_inline void store_narrow_words(s16 *to, ovt_s32x4 columns, ovt_s32x4 kept,
					       ovt_s16x16 zero_point)
{
	ovt_s16x16 words = ovt_widen_s8((ovt_s8x16)columns) - zero_point;

	ovt_store_s16x16(to, words & ovt_widen_s8((ovt_s8x16)kept));
}

/* Converts columns of 3 or 4 @channels, 8 bytes apart, in whole vectors.  Returns their number. */
static u32 convert_narrow(u8 *to, const s8 *from, u32 columns, u32 channels,
			  const struct conversion *how)
{
	const ovt_s32x8 kept = ovt_broadcast_s32(channels == 3 ? 0x00ffffff : -1);
	const ovt_s32x8 added = (ovt_s32x8)ovt_broadcast_s8(-128) & kept;
	const ovt_s32x8 outside = (ovt_s32x8)ovt_broadcast_s8((s8)how->outside) & ~kept;
	const ovt_s32x4 kept_half = ovt_low_half((ovt_u32x8)kept);
	u32 done;

	for (done = 0; done + 8 <= columns; done += 8, from += 64, to += 32 * how->size) {
		ovt_s32x8 bytes = load_narrow(from);
		s16 *words = (s16 *)to;

		if (how->size == sizeof(u8)) {
			ovt_store_s8x32(to, (ovt_s8x32)(((bytes & kept) ^ added) | outside));
			continue;
		}
		store_narrow_words(words, ovt_low_half((ovt_u32x8)bytes), kept_half,
				   how->zero_point);
		store_narrow_words(words + 16, ovt_high_half((ovt_u32x8)bytes), kept_half,
				   how->zero_point);
	}
	return done;
}

/* Converts @count elements.  Up to 15 elements behind them are written as well, with no meaning. */
static void convert(u8 *to, const s8 *from, u64 count, u64 readable, const struct conversion *how)
{
	u64 done = how->size == sizeof(u8) ? convert_bytes(to, from, count) :
		   convert_words((s16 *)to, from, count, how->zero_point);

	while (done < count) {
		u64 left = readable - done;
		u64 word = 0;

		if (left >= 16) {
			convert_16(to + done * how->size, ovt_load_s8x16(from + done), how);
			done += 16;
			continue;
		}
		if (left > 8)
			left = 8;
		if (left == 8)
			word = ovt_load_u64(from + done);
		else
			memcpy(&word, from + done, left);
		convert_16(to + done * how->size, (ovt_s8x16)(ovt_s64x2) { (s64)word, 0 }, how);
		done += left;
	}
}

/* Converts pixels of one row in the tensor; each overwrites the excess of the one before it. */
static void convert_pixels(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			   const s8 *from, u32 count, u64 readable, u8 *to,
			   const struct conversion *how)
{
	u64 pixel_stride = (u64)insn->in[0].pixel_stride * inputs->sample_x;
	u32 used = inputs->channels * how->size, pixel = inputs->pixel * how->size;
	u32 end = written(inputs) * how->size;
	u32 x = 0, rest;

	if (pixel_stride == inputs->channels && pixel_stride == inputs->pixel) {
		convert(to, from, count * pixel_stride, count * pixel_stride, how);
		return;
	}
	if (inputs->pixel == 4 && inputs->channels >= 3 && pixel_stride == 8 && readable >= 8) {
		x = convert_narrow(to, from, count, inputs->channels, how);
		to += x * pixel;
		from += x * pixel_stride;
	}
	for (; x < count; x++, to += pixel, from += pixel_stride) {
		if (inputs->channels <= 8 && readable >= 8)
			convert_16(to, load_8(from), how);
		else
			convert(to, from, inputs->channels, readable, how);
		for (rest = used; rest < end; rest++)
			to[rest] = how->outside;
	}
}

/* Returns how many of @count samples from @first on, @sample apart, are below @limit. */
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
		     u32 first_channel, u8 *to, const struct conversion *how)
{
	u64 padded = ((u64)insn->in[0].channels + 7) / 8 * 8;
	u64 pixel = (u64)inputs->pixel * how->size;
	u32 before = samples_below(first_x, inputs->sample_x, 0, columns);
	u32 inside = samples_below(first_x, inputs->sample_x, insn->in[0].width, columns) - before;
	u32 after = columns - before - inside;

	memset(to, how->outside, before * pixel);
	to += before * pixel;
	if (inside) {
		u32 x = (u32)(first_x + (s64)before * inputs->sample_x);

		convert_pixels(inputs, insn,
			       ovt_input_at(insn, operands, 0, y, x, first_channel), inside,
			       padded - first_channel, to, how);
	}
	memset(to + inside * pixel, how->outside, after * pixel);
}

s64 ovt_simd_inputs_fill(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 const struct ovt_operands *operands, u32 y, u32 x, u32 first_channel,
			 void *to)
{
	u32 rows = rows_of(inputs, ovt_simd_group_height(inputs, insn, y));
	u32 columns = columns_of(inputs, ovt_simd_group_width(inputs, insn, x));
	s64 first_y = (s64)((u64)y * insn->stride_height) - insn->pad_top;
	s64 first_x = (s64)((u64)x * insn->stride_width) - insn->pad_left;
	u32 row_bytes = inputs->row * inputs->size;
	struct conversion how = {
		.zero_point = ovt_broadcast_s16((s16)insn->in[0].zero_point),
		.outside = inputs->size == sizeof(u8) ? (u8)(insn->in[0].zero_point + 128) : 0,
		.size = inputs->size,
	};
	u8 *at = to;
	u32 row;

	for (row = 0; row < rows; row++, at += row_bytes) {
		s64 from = first_y + (s64)row * inputs->sample_y;

		if (from < 0 || from >= insn->in[0].height)
			memset(at, how.outside, row_bytes);
		else
			fill_row(inputs, insn, operands, (u32)from, first_x, columns,
				 first_channel, at, &how);
	}
	return (s64)fill_work(inputs, insn, rows, columns);
}
