/* SPDX-License-Identifier: MIT */
/*
 * Instructions that take a host as long as possible for what the model charges: for tests of what
 * a step may do and of what others see meanwhile, and for a benchmark.  Each has all its tensors and
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
 * struct hostile_place - where an instruction has its memory
 * @region: index
 * @bytes: of the region; a power of two, at least 4 MiB.  Its last quarter is written
 * @outputs: that are made of many inputs each, at least 1
 */
struct hostile_place {
	u32 region;
	u64 bytes;
	u32 outputs;
};

/**
 * struct hostile_shape - one way to ask for much
 * @opcode: OVERTAKE_OP_*
 * @name: of opcode and shape
 * @far: what it reads one after the other is on different cache lines
 * @build: the instruction
 */
struct hostile_shape {
	u16 opcode;
	const char *name;
	bool far;
	void (*build)(struct overtake_insn *insn, const struct hostile_place *place);
};

/* Ended by an entry without a name; at least one of each opcode that computes. */
extern const struct hostile_shape hostile_shapes[];

/* Elements that the instruction reads of its first input, each as often as it is read. */
u64 hostile_reads(const struct overtake_insn *insn);

#ifdef __cplusplus
}
#endif

#endif
