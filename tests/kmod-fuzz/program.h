/* SPDX-License-Identifier: MIT */
/* Valid programs for the interface fuzzer, made of the random jobs of tests/firmware-sim. */
#ifndef KMOD_FUZZ_PROGRAM_H
#define KMOD_FUZZ_PROGRAM_H

#include <stdint.h>

#include "overtake_isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes at most @count valid instructions whose operands all lie in region OVERTAKE_REGION_IO, and
 * their inputs to the first @data_bytes of that region.  @seed is not 0.  Returns the number of
 * instructions: at least one if @data_bytes is at least 64 KiB.
 */
uint32_t fuzz_program(uint64_t seed, struct overtake_insn *insns, uint32_t count, uint8_t *data,
		      uint64_t data_bytes);

/*
 * Writes one instruction of @opcode as above, and to @expected all of @data after the instruction,
 * as the plain reference computes it.  Returns 0 if no such job fits into @data_bytes.
 */
int fuzz_reference(uint64_t seed, uint16_t opcode, struct overtake_insn *insn, uint8_t *data,
		   uint8_t *expected, uint64_t data_bytes);

#ifdef __cplusplus
}
#endif

#endif
