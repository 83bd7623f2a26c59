/* SPDX-License-Identifier: MIT */
/* Instructions that vector operators and scalar ones execute, for tests that compare their bytes. */
#ifndef TESTS_SIMD_CASE_H
#define TESTS_SIMD_CASE_H

#include "hw/operators.h"
#include "hw/simd/simd.h"
#include "random_job.h"

/* The instructions that new scratches allow. */
extern enum ovt_simd_level test_level;

/* Runs a group of tests once for each level of the CPU; returns 0 if all pass. */
int run_at_levels(const char *name, const struct CMUnitTest *tests, size_t count);

/* Returns a scratch of exactly its size, filled with bytes that mean nothing. */
struct ovt_simd_scratch *new_scratch(void);

/*
 * Returns true if a vector operator covered the case; it has then checked that its bytes are the
 * scalar operator's.
 */
bool check_case(const struct random_job *job, struct ovt_simd_scratch *scratch, s64 budget);

/* Returns the cost of a case, in the vector operator's own work. */
s64 total_work(const struct random_job *job, const struct ovt_operands *operands,
	       struct ovt_simd_scratch *scratch);

/* Binds a region of exactly @size bytes with anything in it. */
void bind_anything(struct random_job *job, u32 region, u64 size, u32 flags, u64 *seed);

/* Places @operand in a region: a tensor of anything, sometimes with room behind each pixel. */
void place_dense(struct random_job *job, struct overtake_operand *operand, u32 region, u32 height,
		 u32 width, u32 channels, u64 *seed);

#endif
