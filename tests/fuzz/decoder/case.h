/* SPDX-License-Identifier: MIT */
/* An input of the fuzzer: the bytes of an instruction and of its memory. */
#ifndef TESTS_FUZZ_DECODER_CASE_H
#define TESTS_FUZZ_DECODER_CASE_H

#include "hw/decode.h"

/*
 * struct fuzz_region - one of the instruction's regions
 * @length: bytes; 0 = not bound
 * @flags: OVT_REGION_*
 * @snug: not 0: @length is replaced by the least length that the decoder accepts, if there is one
 *	  up to FUZZ_REGION_MAX
 */
struct fuzz_region {
	u16 length;
	u8 flags;
	u8 snug;
};

#define FUZZ_REGION_MAX	65535u

/*
 * struct fuzz_case - an input; shorter inputs are filled up with zeros, longer ones cut
 * @insn: the instruction, unchanged
 * @regions: regions of the job
 * @budget: budget of a call of the operator, from 1 on
 * @seed: seed of the contents of the regions
 */
struct fuzz_case {
	struct overtake_insn insn;
	struct fuzz_region regions[OVERTAKE_MAX_REGIONS];
	u32 budget;
	u32 seed;
};

/* The outcome of a case. */
enum fuzz_outcome { FUZZ_REFUSED, FUZZ_UNFINISHED, FUZZ_FINISHED };

/*
 * Decodes @bytes and runs an accepted instruction in heap blocks of exactly the regions' lengths:
 * in steps, at once, and by the vector operator if the CPU can.  Ends the process if they differ.
 */
enum fuzz_outcome fuzz_run(const u8 *bytes, size_t size);

#endif
