/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How CONV is cut into units of work, for both ways to multiply. */
#ifndef OVT_HW_SIMD_CONV_H
#define OVT_HW_SIMD_CONV_H

#include "hw/simd/inputs.h"
#include "hw/simd/requantise.h"

#define OVT_STRIP_PIXELS	6u
/* Greatest number of pixels of a strip that AVX512-VNNI multiplies. */
#define OVT_ROW_STRIP	8u

/**
 * struct ovt_conv_run - the runs of a window, each contiguous in scratch and weights
 * @length: length of a run: pairs of inputs (words), or four at a time (bytes)
 * @rows: rows of runs in a window
 * @columns: runs in such a row
 * @row_step: elements of the scratch from one row of runs to the next
 * @column_step: elements of the scratch from one run of a row to the next
 * @weights_row: bytes of the weights from one row of runs to the next
 * @weights_column: bytes of the weights from one run of a row to the next
 */
struct ovt_conv_run {
	u32 length;
	u32 rows;
	u32 columns;
	u32 row_step;
	u32 column_step;
	s64 weights_row;
	s64 weights_column;
};

/**
 * struct ovt_conv_plan - how an instruction is cut
 * @inputs: the layout of the inputs as words
 * @bytes: the layout of the inputs as bytes
 * @words_run: runs of a window of words
 * @bytes_run: runs of a window of bytes
 * @group_inputs: input channels of a group
 * @group_outputs: output channels of a group
 * @block_bytes: bytes of the weights of 8 outputs
 * @block_step: bytes from these weights to those of the next 8 outputs of a group
 * @first_weight: bytes from these weights to those of the first tap
 * @strip: greatest number of pixels of a strip
 * @ordered: the weights of 8 outputs follow each other in the order of the taps
 */
struct ovt_conv_plan {
	struct ovt_simd_inputs inputs;
	struct ovt_simd_inputs bytes;
	struct ovt_conv_run words_run;
	struct ovt_conv_run bytes_run;
	u32 group_inputs;
	u32 group_outputs;
	u64 block_bytes;
	u64 block_step;
	u64 first_weight;
	u32 strip;
	bool ordered;
};

/**
 * struct ovt_conv_steps - packed weights of some rows of taps
 * @weights: weights of the first step
 * @at: places in a window of the inputs that the steps multiply
 * @end: behind the place of the last step
 * @extra: second parts of bytes, for the first vectors and for the second ones of steps
 * @extra_at: places of the inputs that these multiply
 * @extra_end: behind the places of the last of these
 * @has_extras: whether there are second parts
 */
struct ovt_conv_steps {
	const s8 *weights;
	const u32 *at;
	const u32 *end;
	const s8 *extra[2];
	const u32 *extra_at[2];
	const u32 *extra_end[2];
	bool has_extras;
};

/**
 * struct ovt_conv_block - 16 output channels, or 8
 * @channels: how their sums are finished; a block of at most 8 channels has them twice, unless
 *            AVX512-VNNI multiplies it
 * @start: the values with which a pixel's sums begin
 * @steps: packed weights
 * @first_row: first row of taps of @steps
 * @end_row: the row of taps behind the last of @steps
 * @weights: weights of the first 8 channels, as the client has them
 * @block_step: bytes from them to those of the second 8
 * @count: number of output channels, at most 16
 * @index: number of the block in its unit of work: where its packed weights are
 */
struct ovt_conv_block {
	struct ovt_simd_channels channels;
	struct ovt_simd_sums start;
	struct ovt_conv_steps steps;
	u32 first_row;
	u32 end_row;
	const s8 *weights;
	u64 block_step;
	u32 count;
	u32 index;
};

/**
 * struct ovt_conv_strip - a unit of work
 * @windows: window of each pixel, in the scratch
 * @outputs: outputs of each pixel
 * @pixels: number of pixels
 * @sums: room for the sums of each pixel
 */
struct ovt_conv_strip {
	const u8 *windows[OVT_STRIP_PIXELS];
	s8 *outputs[OVT_STRIP_PIXELS];
	u32 pixels;
	struct ovt_simd_sums *sums;
};

/**
 * struct ovt_conv_row - pixels of one row, for AVX512-VNNI
 * @window: window of the first pixel, in the scratch
 * @output: outputs of the first pixel
 * @window_step: bytes from the window of a pixel to that of the next
 * @output_step: bytes from the outputs of a pixel to those of the next
 * @sums: room for the sums of a strip
 * @added: what is added to all sums of each pixel, or NULL
 * @pixels: number of pixels, at least 1
 */
struct ovt_conv_row {
	const u8 *window;
	s8 *output;
	u64 window_step;
	u64 output_step;
	struct ovt_simd_sums *sums;
	const u32 *added;
	u32 pixels;
};

/*
 * ovt_conv_plan_init - cut an instruction whose weights are in the order of its taps
 *
 * Returns false if its windows do not fit.
 */
bool ovt_conv_plan_init(struct ovt_conv_plan *plan, const struct overtake_insn *insn);

/* Whether a unit of work is short enough, and takes less time than the scalar operator. */
bool ovt_conv_plan_pays(const struct ovt_conv_plan *plan, const struct overtake_insn *insn);

/* Does the work of ovt_simd_run() for an instruction that has been cut. */
bool ovt_conv_plan_run(const struct ovt_conv_plan *plan, const struct overtake_insn *insn,
		       const struct ovt_operands *operands, struct ovt_simd_scratch *scratch,
		       struct ovt_cursor *cursor, s64 *work);

/* Computes the outputs of a strip whose windows are words. */
void ovt_conv_words(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
		    const struct ovt_conv_block *block);

/* Whether the windows of one pixel fit into the scratch, spread for ovt_conv_single_words(). */
bool ovt_conv_single_fits(const struct ovt_conv_run *run);

/*
 * Spreads the words of the scratch, in the place of packed weights.  Returns true if they have been
 * taken apart into digits.
 */
bool ovt_conv_single_spread(const struct ovt_conv_run *run, struct ovt_simd_scratch *scratch);

/*
 * Copies the words of the scratch, as bytes that have @added added to them, to the place of bytes.
 */
void ovt_conv_single_bytes(const struct ovt_conv_run *run, s32 added,
			   struct ovt_simd_scratch *scratch);

/* Compute the outputs of a strip of one pixel whose window has been spread: as words, as digits. */
void ovt_conv_single_words(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
			   const struct ovt_conv_block *block,
			   const struct ovt_simd_scratch *scratch);
void ovt_conv_single_digits(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
			    const struct ovt_conv_block *block,
			    const struct ovt_simd_scratch *scratch);

/* The same with AVX512-VNNI and the bytes of ovt_conv_single_bytes(). */
void ovt_conv_single_vnni512(s8 *output, const struct ovt_conv_run *run,
			     const struct ovt_conv_block *block, s32 added,
			     const struct ovt_simd_scratch *scratch);

/* Whether the weights of 16 outputs are few enough to be packed: as bytes, as words. */
bool ovt_conv_bytes_fit(const struct ovt_conv_plan *plan);
bool ovt_conv_words_fit(const struct ovt_conv_plan *plan);

/*
 * ovt_conv_pack_bytes - copy the weights of @count outputs for multiplication as bytes
 * @pixels: number of pixels of the group
 *
 * Returns false if too many weights would have to be split to be exact.  See hw/simd/conv_pack.c.
 */
bool ovt_conv_pack_bytes(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
			 u32 pixels, struct ovt_simd_scratch *scratch);

/*
 * ovt_conv_pack_vnni - copy the weights of @count outputs for multiplication as bytes, unchecked
 *
 * The second function is for AVX512-VNNI: block @index of a unit of work, where at most 8 outputs
 * are packed like 16 of which the others have weights 0.
 */
void ovt_conv_pack_vnni(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
			struct ovt_simd_scratch *scratch);
void ovt_conv_pack_vnni512(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
			   u32 index, struct ovt_simd_scratch *scratch);

/* Copies the weights of @count outputs for multiplication as words. */
void ovt_conv_pack_words(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
			 struct ovt_simd_scratch *scratch);

/* Loads the steps from @block->first_row to before @end_row, for bytes or words of windows @run. */
void ovt_conv_load_steps(struct ovt_conv_block *block, const struct ovt_conv_run *run,
			 const struct ovt_simd_scratch *scratch);

/* Loads the steps of bytes and their second parts, and @start if @zero was added to each input. */
void ovt_conv_load_bytes(struct ovt_conv_block *block, const struct ovt_conv_run *run,
			 const struct ovt_simd_scratch *scratch, s32 zero);

/* The same for a block that is packed for VNNI. */
void ovt_conv_load_vnni(struct ovt_conv_block *block, const struct ovt_conv_run *run,
			const struct ovt_simd_scratch *scratch, s32 zero);

/* Compute the outputs of a strip with the block's steps: its windows are bytes, or words. */
void ovt_conv_packed_bytes(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block);
void ovt_conv_packed_words(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block);

/* The same for a block that is packed for AVX-VNNI. */
void ovt_conv_vnni(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block);

/* Computes the @count outputs of a row's pixels in blocks that are packed for AVX512-VNNI. */
void ovt_conv_vnni512(const struct ovt_conv_row *row, const struct ovt_conv_block *blocks,
		      u32 count);

#endif
