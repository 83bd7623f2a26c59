/* SPDX-License-Identifier: MIT */
/*
 * Instructions that take a host as long as possible for their modelled cost: for tests of the
 * bounds of a step and of its effect on others, and for a benchmark.  Each has all its tensors and
 * constants in one region.
 */
#ifndef TESTS_HOSTILE_SHAPES_H
#define TESTS_HOSTILE_SHAPES_H

#include <ovt_port.h>
#include "overtake_isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct hostile_place - the memory of an instruction
 * @region: index of the region
 * @bytes: bytes of the region, a power of two, at least 4 MiB.  Its last quarter is written
 * @outputs: outputs that are each made of many inputs, at least 1
 */
struct hostile_place {
	u32 region;
	u64 bytes;
	u32 outputs;
};

/**
 * struct hostile_shape - a shape that takes long
 * @opcode: OVERTAKE_OP_*
 * @name: name of opcode and shape
 * @far: successive reads are on different cache lines
 * @build: builds the instruction
 */
struct hostile_shape {
	u16 opcode;
	const char *name;
	bool far;
	void (*build)(struct overtake_insn *insn, const struct hostile_place *place);
};

/* The table ends with an entry without a name; it has each opcode that computes at least once. */
extern const struct hostile_shape hostile_shapes[];

/* Returns the number of reads of elements of the instruction's first input. */
u64 hostile_reads(const struct overtake_insn *insn);

#ifdef __cplusplus
}
#endif

#endif
