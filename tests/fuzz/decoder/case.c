// SPDX-License-Identifier: MIT
#include "case.h"

#include <stdio.h>
#include <stdlib.h>

#include "hw/operators.h"
#include "hw/profile.h"
#include "hw/simd/choose.h"
#include "hw/simd/simd.h"

/* Greatest work of a case; the largest instructions are left unfinished. */
#define WORK_MAX	(1 << 18)

struct memory {
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct ovt_operands operands;
};

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_decoder: %s\n", what);
	abort();
}

static bool accepts(const struct overtake_insn *insn, const struct ovt_region *regions)
{
	struct ovt_operands operands = { 0 };

	return ovt_insn_check(insn, regions, &operands) == OVERTAKE_FAULT_NONE;
}

/* Returns the least length of region @index that is accepted if all others are very large. */
static u64 least_length(const struct fuzz_case *input, u32 index)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	u64 refused = 0, accepted = FUZZ_REGION_MAX;
	static u8 nothing;

	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		regions[i] = (struct ovt_region){ &nothing, 1ull << 41, input->regions[i].flags, 0 };
	regions[index].length = accepted;
	if (!accepts(&input->insn, regions))
		return input->regions[index].length;
	while (accepted - refused > 1) {
		regions[index].length = (refused + accepted) / 2;
		if (accepts(&input->insn, regions))
			accepted = regions[index].length;
		else
			refused = regions[index].length;
	}
	/* A region that no operand names is accepted unbound. */
	regions[index].length = 0;
	return accepts(&input->insn, regions) ? 0 : accepted;
}

static void fill(u8 *bytes, u64 length, u64 seed)
{
	for (u64 i = 0; i < length; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (u8)(seed >> 56);
	}
}

static void bind_all(struct memory *memory, const struct fuzz_case *input, const u64 *lengths)
{
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++) {
		struct ovt_region *region = &memory->regions[i];

		*region = (struct ovt_region){ NULL, lengths[i], input->regions[i].flags, 0 };
		region->base = malloc(lengths[i] ? lengths[i] : 1);
		if (!region->base)
			abort();
		fill(region->base, lengths[i], input->seed + i);
	}
}

static void free_all(struct memory *memory)
{
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		free(memory->regions[i].base);
}

/* Runs the case by the scalar operator. Returns whether the instruction came to its end. */
static bool run_scalar(const struct fuzz_case *input, struct memory *memory, s64 budget)
{
	struct ovt_cursor cursor = { 0 };
	s64 spent = 0;
	bool finished = false;

	while (!finished && spent < WORK_MAX) {
		s64 work = budget;

		finished = ovt_operator_run(&input->insn, &memory->operands, &cursor, &work);
		if (work >= budget)
			fail("a call did no work");
		spent += budget - work;
	}
	return finished;
}

static void run_vector(const struct fuzz_case *input, struct memory *memory, s64 budget,
		       enum ovt_simd_level level)
{
	struct ovt_simd_scratch *scratch = aligned_alloc(64, sizeof(*scratch));
	struct ovt_cursor cursor = { 0 };
	bool finished = false;

	if (!scratch)
		abort();
	scratch->level = level;
	while (!finished) {
		struct ovt_simd_section section;
		s64 work = budget;

		ovt_simd_begin(&section);
		finished = ovt_simd_run(&input->insn, &memory->operands, scratch, &cursor, &work);
		ovt_simd_end(&section);
	}
	free(scratch);
}

/* Returns whether no input shares a region with the output: otherwise the result is unspecified. */
static bool is_specified(const struct overtake_insn *insn)
{
	u32 out = insn->out.region;

	return insn->in[0].region != out && insn->in[1].region != out &&
	       insn->weights_region != out && insn->params_region != out;
}

static void assert_same(const struct fuzz_case *input, const struct memory *a, const struct memory *b,
			const char *what)
{
	u32 out = input->insn.out.region;

	if (memcmp(a->regions[out].base, b->regions[out].base, a->regions[out].length))
		fail(what);
}

/* Runs the case again from the same memory, without steps, and compares the memories. */
static void compare_whole(const struct fuzz_case *input, const u64 *lengths,
			  const struct memory *stepped)
{
	struct memory again;

	bind_all(&again, input, lengths);
	ovt_insn_check(&input->insn, again.regions, &again.operands);
	run_scalar(input, &again, INT64_MAX);
	assert_same(input, stepped, &again, "steps differ");
	free_all(&again);
}

/*
 * Runs the case by the vector operator with the instructions of @level, if the CPU has them, and
 * compares.
 */
static void compare_vector(const struct fuzz_case *input, const u64 *lengths,
			   const struct memory *stepped, enum ovt_simd_level level)
{
	struct memory again;

	if (!ovt_simd_has(level))
		return;
	bind_all(&again, input, lengths);
	ovt_insn_check(&input->insn, again.regions, &again.operands);
	run_vector(input, &again, input->budget, level);
	assert_same(input, stepped, &again, "vectors differ");
	free_all(&again);
}

static enum fuzz_outcome run_accepted(const struct fuzz_case *input, const u64 *lengths,
				      struct memory *memory)
{
	if (!ovt_insn_cycles(ovt_profile_find("ideal"), &input->insn))
		fail("an instruction costs nothing");
	if (input->insn.opcode == OVERTAKE_OP_DELAY || input->insn.opcode == OVERTAKE_OP_JUMP)
		return FUZZ_FINISHED;
	if (!run_scalar(input, memory, input->budget))
		return FUZZ_UNFINISHED;
	if (!is_specified(&input->insn))
		return FUZZ_FINISHED;
	compare_whole(input, lengths, memory);
	if (ovt_simd_supported() && ovt_simd_covers(&input->insn)) {
		for (int level = 0; level < OVT_SIMD_LEVELS; level++)
			compare_vector(input, lengths, memory, (enum ovt_simd_level)level);
	}
	return FUZZ_FINISHED;
}

enum fuzz_outcome fuzz_run(const u8 *bytes, size_t size)
{
	enum fuzz_outcome outcome = FUZZ_REFUSED;
	u64 lengths[OVERTAKE_MAX_REGIONS];
	struct fuzz_case input = { 0 };
	struct memory memory = { 0 };

	memcpy(&input, bytes, size < sizeof(input) ? size : sizeof(input));
	input.budget += !input.budget;
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		lengths[i] = input.regions[i].snug ? least_length(&input, i) :
						     input.regions[i].length;
	bind_all(&memory, &input, lengths);
	if (!ovt_insn_check(&input.insn, memory.regions, &memory.operands))
		outcome = run_accepted(&input, lengths, &memory);
	free_all(&memory);
	return outcome;
}
