/* SPDX-License-Identifier: MIT */
/*
 * Random valid instructions with the memory they need, for the tests of the decoder and of
 * the operators.  Every operand has a region of its own that ends with the operand, on the
 * heap, so that a sanitizer sees any access outside.
 */
#ifndef TESTS_RANDOM_JOB_H
#define TESTS_RANDOM_JOB_H

#include "hw/decode.h"

enum { JOB_WEIGHTS = 1, JOB_IN0 = 3, JOB_IN1 = 4, JOB_OUT = 5, JOB_PARAMS = 6 };

/**
 * struct random_job - an instruction and its memory
 * @insn: valid as generated
 * @regions: for ovt_insn_check(); heap blocks of their exact length
 * @dense: the weights in the order [out channel][in channel of the group][ky][kx] (CONV,
 *	   TRANSPOSED_CONV),
 *	   [channel][ky][kx] (DEPTHWISE), the elements (TABLE), 256 words (DEQUANTISE of bytes);
 *	   NULL for the others
 */
struct random_job {
	struct overtake_insn insn;
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	s8 *dense;
};

/* Returns the next number of a reproducible stream; the first state is the seed, which is not 0. */
u64 random_next(u64 *state);
u32 random_between(u64 *state, u32 least, u32 greatest);

/*
 * Returns whether the bound check leaves the channels of @opcode's operands as they are, instead of
 * rounding them up (overtake_isa.h).
 */
bool random_job_is_exact(u16 opcode);

void random_job_init(struct random_job *job, u16 opcode, u64 *state);
void random_job_free(struct random_job *job);

/*
 * For CONV: makes pairs of weights that can be multiplied as bytes: all pairs, or all but a few in
 * a thousand.  Random pairs hardly ever can.
 */
void random_job_narrow_weights(struct random_job *job, u64 *seed);

/* Returns a heap copy of the output region. */
u8 *random_job_copy_output(const struct random_job *job);

#endif
