/* SPDX-License-Identifier: MIT */
/* What the generators of random instructions are made of; each family of opcodes has a file. */
#ifndef TESTS_RANDOM_PARTS_H
#define TESTS_RANDOM_PARTS_H

#include "random_job.h"

/* Binds @region to a heap block of random bytes. */
void random_bind(struct random_job *job, u32 region, u64 size, u32 flags, u64 *state);

/* Give an operand its shape, strides with some slack, and a region that ends where it does. */
void random_output(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state);
void random_input(struct random_job *job, u32 index, u32 height, u32 width, u32 channels,
		  u64 *state);

/* Zeroed weights in a region of their own; job->dense gets @dense_bytes of random ones. */
u8 *random_weights(struct random_job *job, u64 dense_bytes, u64 packed_bytes, u64 *state);

/* Mostly scales that bring sums of about @magnitude into int8, and everything else that is valid. */
void random_scale(u32 *multiplier, u32 *shift, u32 magnitude, u64 *state);

/* The same of sums of @terms elements times @factor, by the types of the operands. */
void random_scale_to(const struct random_job *job, u32 *multiplier, u32 *shift, u32 factor,
		     u32 terms, u64 *state);

/* Any element of type @type. */
s32 random_value(u32 type, u64 *state);

/* @words words of parameters; returns where they are. */
u32 *random_params(struct random_job *job, u64 words, u64 *state);

/* Bias, multiplier and shift of @channels sums of @products products. */
void random_channel_params(struct random_job *job, u32 channels, u32 products, u64 *state);

/* One family of opcodes each: everything of job->insn but opcode and clamp. */
void random_window_job(struct random_job *job, u64 *state);
void random_elementwise_job(struct random_job *job, u64 *state);
void random_moving_job(struct random_job *job, u64 *state);
void random_resize_job(struct random_job *job, u64 *state);

#endif
