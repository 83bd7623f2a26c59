/* SPDX-License-Identifier: MIT */
/* Parts of the reference; the plain arithmetic is in reference.c. */
#ifndef TESTS_REFERENCE_PARTS_H
#define TESTS_REFERENCE_PARTS_H

#include "reference.h"

/* Returns in[index] at (y, x, c) minus its zero point; 0 outside the tensor's rows and columns. */
s64 reference_input(const struct random_job *job, u32 index, s64 y, s64 x, u64 c);

/* Returns word @index of array @array of the parameters, whose arrays have @length words. */
u32 reference_param(const struct random_job *job, u64 array, u64 length, u64 index);

/* Adds the zero point and clamps. */
s32 reference_finish(const struct random_job *job, s64 value);

/* Applies bias, multiplier and shift of channel @c, then reference_finish(). */
s32 reference_finish_channel(const struct random_job *job, s64 sum, u32 c);

/* Each function returns element (y, x, c) of the output for a family of opcodes. */
s32 reference_moved(const struct random_job *job, u32 y, u32 x, u32 c);
s32 reference_resized(const struct random_job *job, u32 y, u32 x, u32 c);
s32 reference_colour(const struct random_job *job, u32 y, u32 x, u32 c);

#endif
