// SPDX-License-Identifier: MIT
#include "hostile_shapes.h"

/* Side of a square window with nearly the greatest number of positions. */
#define SIDE		362u
#define LONG		OVERTAKE_MAX_KERNEL_ELEMENTS

static void place_operand(struct overtake_operand *operand, const struct hostile_place *place,
			  u64 offset, u32 height, u32 width, u32 channels, u32 pixel_stride)
{
	*operand = (struct overtake_operand){
		.region = place->region,
		.offset = offset,
		.height = height,
		.width = width,
		.channels = channels,
		.pixel_stride = pixel_stride,
		.row_stride = width * pixel_stride,
	};
}

static void place_out(struct overtake_insn *insn, const struct hostile_place *place, u32 height,
		      u32 width, u32 channels, u32 pixel_stride)
{
	place_operand(&insn->out, place, place->bytes / 4 * 3, height, width, channels, pixel_stride);
}

#define WEIGHTS_OFFSET	4096u

/* Places parameters at the region's beginning, weights of windows and products behind them. */
static void begin(struct overtake_insn *insn, u16 opcode, const struct hostile_place *place)
{
	memset(insn, 0, sizeof(*insn));
	insn->opcode = opcode;
	switch (opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
		insn->groups = 1;
		insn->weights_region = insn->params_region = place->region;
		insn->weights_offset = WEIGHTS_OFFSET;
		break;
	case OVERTAKE_OP_DEPTHWISE:
		insn->weights_region = insn->params_region = place->region;
		insn->weights_offset = WEIGHTS_OFFSET;
		break;
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_DEQUANTISE:
		insn->weights_region = place->region;
		break;
	case OVERTAKE_OP_MATMUL:
	case OVERTAKE_OP_AVERAGE_POOL:
	case OVERTAKE_OP_NV12:
		insn->params_region = place->region;
		break;
	}
}

static void clamp(struct overtake_insn *insn)
{
	insn->clamp_min = -128;
	insn->clamp_max = 127;
}

/* Returns the greatest distance of @count elements in half of the region, at most a page. */
static u32 apart(const struct hostile_place *place, u64 count)
{
	u64 bytes = place->bytes / 2 / count / 8 * 8;

	return bytes < 8 ? 8 : bytes > 4096 ? 4096 : (u32)bytes;
}

/* Makes windows of 1 channel that lie beside each other. */
static void window(struct overtake_insn *insn, u16 opcode, const struct hostile_place *place)
{
	u32 width = SIDE + place->outputs - 1;

	begin(insn, opcode, place);
	place_operand(&insn->in[0], place, 0, SIDE, width, 1, apart(place, (u64)SIDE * width));
	place_out(insn, place, 1, place->outputs, 1, 8);
	insn->kernel_height = SIDE;
	insn->kernel_width = SIDE;
	insn->stride_height = 1;
	insn->stride_width = 1;
	/* All taps reach the last output of a transposed convolution. */
	if (opcode == OVERTAKE_OP_TRANSPOSED_CONV) {
		insn->pad_top = SIDE - 1;
		insn->pad_left = SIDE - 1;
	}
	clamp(insn);
}

static void conv_window(struct overtake_insn *insn, const struct hostile_place *place)
{
	window(insn, OVERTAKE_OP_CONV, place);
}

static void conv_inputs(struct overtake_insn *insn, const struct hostile_place *place)
{
	begin(insn, OVERTAKE_OP_CONV, place);
	place_operand(&insn->in[0], place, 0, 1, 1, LONG, LONG);
	place_out(insn, place, 1, 1, 1, 8);
	insn->kernel_height = insn->kernel_width = 1;
	insn->stride_height = insn->stride_width = 1;
	clamp(insn);
}

static void depthwise_window(struct overtake_insn *insn, const struct hostile_place *place)
{
	window(insn, OVERTAKE_OP_DEPTHWISE, place);
}

static void max_pool_window(struct overtake_insn *insn, const struct hostile_place *place)
{
	window(insn, OVERTAKE_OP_MAX_POOL, place);
}

static void average_pool_window(struct overtake_insn *insn, const struct hostile_place *place)
{
	window(insn, OVERTAKE_OP_AVERAGE_POOL, place);
}

static void transposed_window(struct overtake_insn *insn, const struct hostile_place *place)
{
	window(insn, OVERTAKE_OP_TRANSPOSED_CONV, place);
}

/* Strides and dilations are large: most outputs search for taps that do not exist. */
static void transposed_search(struct overtake_insn *insn, const struct hostile_place *place)
{
	begin(insn, OVERTAKE_OP_TRANSPOSED_CONV, place);
	place_operand(&insn->in[0], place, 0, 1, 1, 1, 8);
	place_out(insn, place, 128, 128, 1, 8);
	insn->kernel_height = insn->kernel_width = 1;
	insn->stride_height = insn->stride_width = 65521;
	insn->dilation_height = insn->dilation_width = 40503;
	clamp(insn);
}

static void matmul_long_rows(struct overtake_insn *insn, const struct hostile_place *place)
{
	begin(insn, OVERTAKE_OP_MATMUL, place);
	place_operand(&insn->in[0], place, 0, 1, 1, LONG, LONG);
	place_operand(&insn->in[1], place, LONG, 1, place->outputs, LONG, LONG);
	place_out(insn, place, 1, 1, place->outputs, (place->outputs + 7) / 8 * 8);
	clamp(insn);
}

/* Each output is one product, and lies on a cache line of its own. */
static void matmul_short_rows(struct overtake_insn *insn, const struct hostile_place *place)
{
	begin(insn, OVERTAKE_OP_MATMUL, place);
	place_operand(&insn->in[0], place, 0, 1, 4096, 1, 8);
	place_operand(&insn->in[1], place, 0, 1, 1, 1, 8);
	place_out(insn, place, 1, 4096, 1, 64);
	clamp(insn);
}

/* Makes pixels of 1 element. */
static void narrow(struct overtake_insn *insn, u16 opcode, const struct hostile_place *place)
{
	u64 pixels = place->bytes / 4 / 64;
	u32 side = 1;

	while ((u64)side * side * 4 <= pixels)
		side *= 2;
	begin(insn, opcode, place);
	place_operand(&insn->in[0], place, 0, side, side, 1, 64);
	place_out(insn, place, side, side, 1, 64);
}

static void narrow_two(struct overtake_insn *insn, u16 opcode, const struct hostile_place *place)
{
	narrow(insn, opcode, place);
	insn->in[1] = insn->in[0];
	insn->in[1].offset = place->bytes / 4;
	clamp(insn);
	insn->multiplier[0] = 1;
	insn->multiplier[1] = opcode == OVERTAKE_OP_MUL ? 0 : 1;
	insn->shift[0] = 1;
}

/* One input is repeated along the channels, which no vector operator does. */
static void broadcast(struct overtake_insn *insn, u16 opcode, const struct hostile_place *place)
{
	u32 channels = (u32)(place->bytes / 4);

	narrow_two(insn, opcode, place);
	place_operand(&insn->in[0], place, 0, 1, 1, channels, channels);
	place_operand(&insn->in[1], place, 0, 1, 1, 1, 8);
	place_out(insn, place, 1, 1, channels, channels);
}

#define TWO(name, opcode) \
	static void name##_narrow(struct overtake_insn *insn, const struct hostile_place *place) \
	{ \
		narrow_two(insn, opcode, place); \
	} \
	static void name##_broadcast(struct overtake_insn *insn, const struct hostile_place *place) \
	{ \
		broadcast(insn, opcode, place); \
	}

TWO(add, OVERTAKE_OP_ADD)
TWO(sub, OVERTAKE_OP_SUB)
TWO(mul, OVERTAKE_OP_MUL)
TWO(max, OVERTAKE_OP_MAX)
TWO(min, OVERTAKE_OP_MIN)

static void requantise_narrow(struct overtake_insn *insn, const struct hostile_place *place)
{
	narrow(insn, OVERTAKE_OP_REQUANTISE, place);
	clamp(insn);
	insn->multiplier[0] = 1;
	insn->shift[0] = 1;
}

static void table_narrow(struct overtake_insn *insn, const struct hostile_place *place)
{
	narrow(insn, OVERTAKE_OP_TABLE, place);
}

static void copy_narrow(struct overtake_insn *insn, const struct hostile_place *place)
{
	narrow(insn, OVERTAKE_OP_COPY, place);
}

static void pad_narrow(struct overtake_insn *insn, const struct hostile_place *place)
{
	narrow(insn, OVERTAKE_OP_PAD, place);
	insn->flags = OVERTAKE_FLAG_EDGE;
	insn->in[0].height = insn->in[0].width = 1;
	insn->pad_top = insn->pad_left = (u16)(insn->out.height / 2);
}

/* Rows become channels: successive elements are read from successive rows. */
static void permute_rows(struct overtake_insn *insn, const struct hostile_place *place)
{
	u32 rows = (u32)(place->bytes / 2 / 4096);

	begin(insn, OVERTAKE_OP_PERMUTE, place);
	place_operand(&insn->in[0], place, 0, rows, 256, 1, 8);
	insn->in[0].row_stride = 4096;
	insn->axes = 2 | 1 << 2 | 0 << 4;
	place_out(insn, place, 1, 256, rows, (rows + 7) / 8 * 8);
}

/* Makes a block of 8 x 8 pixels; the elements of a pixel lie 64 channels apart. */
static void depth_to_space(struct overtake_insn *insn, const struct hostile_place *place)
{
	begin(insn, OVERTAKE_OP_DEPTH_TO_SPACE, place);
	insn->flags = OVERTAKE_FLAG_CRD;
	insn->kernel_height = insn->kernel_width = 8;
	place_operand(&insn->in[0], place, 0, 1, 1, 64 * 2048, 64 * 2048);
	place_out(insn, place, 8, 8, 2048, 2048);
}

static void space_to_depth(struct overtake_insn *insn, const struct hostile_place *place)
{
	u32 stride = apart(place, 128 * 128);

	begin(insn, OVERTAKE_OP_SPACE_TO_DEPTH, place);
	insn->kernel_height = insn->kernel_width = 128;
	place_operand(&insn->in[0], place, 0, 128, 128, 1, stride);
	place_out(insn, place, 1, 1, 128 * 128, 128 * 128);
}

static void resize_nearest(struct overtake_insn *insn, const struct hostile_place *place)
{
	narrow(insn, OVERTAKE_OP_RESIZE_NEAREST, place);
	insn->step_y = insn->step_x = 1u << OVERTAKE_POSITION_BITS;
}

static void resize_bilinear(struct overtake_insn *insn, const struct hostile_place *place)
{
	narrow(insn, OVERTAKE_OP_RESIZE_BILINEAR, place);
	insn->step_y = insn->step_x = (1u << OVERTAKE_POSITION_BITS) * 3 / 4;
}

static void reduce(struct overtake_insn *insn, u16 opcode, u32 axes,
		   const struct hostile_place *place)
{
	begin(insn, opcode, place);
	insn->axes = axes;
	if (axes & OVERTAKE_AXIS_CHANNELS)
		place_operand(&insn->in[0], place, 0, place->outputs, 1, LONG, LONG);
	else
		place_operand(&insn->in[0], place, 0, LONG, place->outputs, 1,
			      apart(place, (u64)LONG * place->outputs));
	place_out(insn, place, axes & OVERTAKE_AXIS_CHANNELS ? place->outputs : 1,
		  axes & OVERTAKE_AXIS_CHANNELS ? 1 : place->outputs, 1, 8);
	clamp(insn);
	if (opcode == OVERTAKE_OP_REDUCE_SUM) {
		insn->multiplier[0] = 1;
		insn->shift[0] = 1;
	}
}

#define REDUCE(name, opcode) \
	static void name##_rows(struct overtake_insn *insn, const struct hostile_place *place) \
	{ \
		reduce(insn, opcode, OVERTAKE_AXIS_HEIGHT, place); \
	} \
	static void name##_channels(struct overtake_insn *insn, const struct hostile_place *place) \
	{ \
		reduce(insn, opcode, OVERTAKE_AXIS_CHANNELS, place); \
	}

REDUCE(reduce_sum, OVERTAKE_OP_REDUCE_SUM)
REDUCE(reduce_max, OVERTAKE_OP_REDUCE_MAX)
REDUCE(reduce_min, OVERTAKE_OP_REDUCE_MIN)

static void quantise(struct overtake_insn *insn, const struct hostile_place *place)
{
	u32 channels = (u32)(place->bytes / 16);

	begin(insn, OVERTAKE_OP_QUANTISE, place);
	place_operand(&insn->in[0], place, 0, 1, 1, channels, channels * 4);
	place_out(insn, place, 1, 1, channels, channels);
	clamp(insn);
	insn->multiplier[0] = 1;
	insn->shift[0] = 1;
}

static void dequantise(struct overtake_insn *insn, const struct hostile_place *place)
{
	u32 channels = (u32)(place->bytes / 16);

	begin(insn, OVERTAKE_OP_DEQUANTISE, place);
	place_operand(&insn->in[0], place, 0, 1, 1, channels, channels);
	place_out(insn, place, 1, 1, channels, channels * 4);
}

/* Each pixel of a picture lies between four others. */
static void nv12(struct overtake_insn *insn, const struct hostile_place *place)
{
	u32 side = 1;

	while ((u64)side * side * 16 <= place->bytes / 4 * 2)
		side *= 2;
	side /= 2;
	begin(insn, OVERTAKE_OP_NV12, place);
	place_operand(&insn->in[0], place, 0, side, side, 1, 1);
	place_operand(&insn->in[1], place, place->bytes / 2, side / 2, side / 2, 2, 2);
	place_out(insn, place, side, side, 3, 8);
	insn->start_y = insn->start_x = 1 << (OVERTAKE_POSITION_BITS - 1);
	insn->step_y = insn->step_x = (1u << OVERTAKE_POSITION_BITS) * 3 / 4;
	clamp(insn);
}

const struct hostile_shape hostile_shapes[] = {
	{ OVERTAKE_OP_CONV, "CONV, window of 362 x 362", true, conv_window },
	{ OVERTAKE_OP_CONV, "CONV, 131072 inputs", false, conv_inputs },
	{ OVERTAKE_OP_DEPTHWISE, "DEPTHWISE, window of 362 x 362", true, depthwise_window },
	{ OVERTAKE_OP_MATMUL, "MATMUL, rows of 131072", false, matmul_long_rows },
	{ OVERTAKE_OP_MATMUL, "MATMUL, rows of 1", true, matmul_short_rows },
	{ OVERTAKE_OP_ADD, "ADD, 1 channel", true, add_narrow },
	{ OVERTAKE_OP_ADD, "ADD, one input repeated", false, add_broadcast },
	{ OVERTAKE_OP_MAX_POOL, "MAX_POOL, window of 362 x 362", true, max_pool_window },
	{ OVERTAKE_OP_AVERAGE_POOL, "AVERAGE_POOL, window of 362 x 362", true, average_pool_window },
	{ OVERTAKE_OP_TABLE, "TABLE, 1 channel", true, table_narrow },
	{ OVERTAKE_OP_COPY, "COPY, 1 channel", true, copy_narrow },
	{ OVERTAKE_OP_SUB, "SUB, 1 channel", true, sub_narrow },
	{ OVERTAKE_OP_SUB, "SUB, one input repeated", false, sub_broadcast },
	{ OVERTAKE_OP_MUL, "MUL, 1 channel", true, mul_narrow },
	{ OVERTAKE_OP_MUL, "MUL, one input repeated", false, mul_broadcast },
	{ OVERTAKE_OP_MAX, "MAX, 1 channel", true, max_narrow },
	{ OVERTAKE_OP_MAX, "MAX, one input repeated", false, max_broadcast },
	{ OVERTAKE_OP_MIN, "MIN, 1 channel", true, min_narrow },
	{ OVERTAKE_OP_MIN, "MIN, one input repeated", false, min_broadcast },
	{ OVERTAKE_OP_REQUANTISE, "REQUANTISE, 1 channel", true, requantise_narrow },
	{ OVERTAKE_OP_TRANSPOSED_CONV, "TRANSPOSED_CONV, window of 362 x 362", true,
	  transposed_window },
	{ OVERTAKE_OP_TRANSPOSED_CONV, "TRANSPOSED_CONV, taps to look for", false,
	  transposed_search },
	{ OVERTAKE_OP_PAD, "PAD, 1 channel", true, pad_narrow },
	{ OVERTAKE_OP_PERMUTE, "PERMUTE, rows to channels", true, permute_rows },
	{ OVERTAKE_OP_DEPTH_TO_SPACE, "DEPTH_TO_SPACE, block of 8", true, depth_to_space },
	{ OVERTAKE_OP_SPACE_TO_DEPTH, "SPACE_TO_DEPTH, block of 128", true, space_to_depth },
	{ OVERTAKE_OP_RESIZE_NEAREST, "RESIZE_NEAREST, 1 channel", true, resize_nearest },
	{ OVERTAKE_OP_RESIZE_BILINEAR, "RESIZE_BILINEAR, 1 channel", true, resize_bilinear },
	{ OVERTAKE_OP_REDUCE_SUM, "REDUCE_SUM, 131072 rows", true, reduce_sum_rows },
	{ OVERTAKE_OP_REDUCE_SUM, "REDUCE_SUM, 131072 channels", false, reduce_sum_channels },
	{ OVERTAKE_OP_REDUCE_MAX, "REDUCE_MAX, 131072 rows", true, reduce_max_rows },
	{ OVERTAKE_OP_REDUCE_MAX, "REDUCE_MAX, 131072 channels", false, reduce_max_channels },
	{ OVERTAKE_OP_REDUCE_MIN, "REDUCE_MIN, 131072 rows", true, reduce_min_rows },
	{ OVERTAKE_OP_REDUCE_MIN, "REDUCE_MIN, 131072 channels", false, reduce_min_channels },
	{ OVERTAKE_OP_QUANTISE, "QUANTISE, one pixel", false, quantise },
	{ OVERTAKE_OP_DEQUANTISE, "DEQUANTISE, one pixel", false, dequantise },
	{ OVERTAKE_OP_NV12, "NV12, between pixels", false, nv12 },
	{ 0 },
};

u64 hostile_reads(const struct overtake_insn *insn)
{
	u64 inputs = (u64)insn->in[0].height * insn->in[0].width * insn->in[0].channels;
	u64 outputs = (u64)insn->out.height * insn->out.width * insn->out.channels;

	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return outputs * insn->kernel_height * insn->kernel_width * insn->in[0].channels;
	case OVERTAKE_OP_MATMUL:
		return outputs * insn->in[0].channels;
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		return inputs;
	default:
		return outputs;
	}
}
