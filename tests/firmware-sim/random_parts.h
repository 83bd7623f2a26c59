/* SPDX-License-Identifier: MIT */
/* Parts of the generators of random instructions; each family of opcodes has a file. */
#ifndef TESTS_RANDOM_PARTS_H
#define TESTS_RANDOM_PARTS_H

#include "random_job.h"

/* Binds @region to a heap block of random bytes. */
void random_bind(struct random_job *job, u32 region, u64 size, u32 flags, u64 *state);

/* Give an operand its shape, strides with some slack, and a region that ends with the operand. */
void random_output(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state);
void random_input(struct random_job *job, u32 index, u32 height, u32 width, u32 channels,
		  u64 *state);

/* Makes zeroed weights in a region of their own; job->dense gets @dense_bytes random weights. */
u8 *random_weights(struct random_job *job, u64 dense_bytes, u64 packed_bytes, u64 *state);

/* Makes mostly scales that bring sums of about @magnitude into int8, else any valid scale. */
void random_scale(u32 *multiplier, u32 *shift, u32 magnitude, u64 *state);

/* Does the same for sums of @terms elements times @factor, by the types of the operands. */
void random_scale_to(const struct random_job *job, u32 *multiplier, u32 *shift, u32 factor,
		     u32 terms, u64 *state);

/* Returns any element of type @type. */
s32 random_value(u32 type, u64 *state);

/* Makes @words words of parameters, and returns their address. */
u32 *random_params(struct random_job *job, u64 words, u64 *state);

/* Makes bias, multiplier and shift of @channels sums of @products products. */
void random_channel_params(struct random_job *job, u32 channels, u32 products, u64 *state);

/* Each function is for a family of opcodes: it sets all of job->insn except opcode and clamp. */
void random_window_job(struct random_job *job, u64 *state);
void random_elementwise_job(struct random_job *job, u64 *state);
void random_moving_job(struct random_job *job, u64 *state);
void random_resize_job(struct random_job *job, u64 *state);

#endif
