// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Execution of one FC in bounded steps.
 *
 * A pass goes over the FC's instructions.  In the timed modes the first pass only adds up
 * their costs; in mode both a pass that computes follows it.  Each pass copies an instruction
 * from the program once and looks only at the copy, so a client that rewrites its program meanwhile
 * only changes which valid instruction runs.
 */
#include <ovt_simd_port.h>
#include "hw/core.h"

/* Greatest budget: larger ones are cut, so that no product of a budget overflows. */
#define BUDGET_MAX	(1ull << 24)

/* Part of a budget, in cycles, that fetching and checking an instruction uses up. */
#define FETCH_CYCLES	1

static enum ovt_step finish(struct ovt_exec *exec, u32 fault)
{
	exec->fault = fault;
	exec->fault_insn = fault ? exec->pc : 0;
	if (exec->pricing)
		exec->cycles = exec->retired;
	return OVT_STEP_FINISHED;
}

static enum ovt_step finish_pass(struct ovt_core *core, struct ovt_exec *exec)
{
	if (!exec->pricing)
		return finish(exec, OVERTAKE_FAULT_NONE);
	exec->cycles = exec->retired;
	exec->priced = 1;
	if (core->mode == OVT_MODE_TIMED)
		return finish(exec, OVERTAKE_FAULT_NONE);
	/* A program that was rewritten meanwhile must not cost more than its price. */
	exec->cycle_limit = exec->cycles;
	exec->pricing = 0;
	exec->fetches = 0;
	exec->pc = exec->descriptor.first_insn;
	ovt_write_once(exec->retired, core->profile->fc_overhead_cycles);
	return OVT_STEP_PRICED;
}

/* Copies instruction pc; false if the program does not have it. */
static bool fetch(struct ovt_exec *exec)
{
	const struct ovt_region *program = &exec->descriptor.regions[OVERTAKE_REGION_PROGRAM];
	u64 offset = (u64)exec->pc * sizeof(exec->insn);

	if (offset + sizeof(exec->insn) > program->length)
		return false;
	/* A jump's target comes from the client: no fetch goes past the end, even speculatively. */
	offset = ovt_index_nospec(offset, program->length - sizeof(exec->insn) + 1);
	memcpy(&exec->insn, program->base + offset, sizeof(exec->insn));
	ovt_compiler_barrier();
	return true;
}

static u32 jump(struct ovt_exec *exec)
{
	const struct ovt_descriptor *descriptor = &exec->descriptor;
	u32 target = exec->insn.jump_target;

	if (target < descriptor->first_insn ||
	    target - descriptor->first_insn >= descriptor->insn_count)
		return OVERTAKE_FAULT_PROGRAM;
	exec->pc = target;
	return OVERTAKE_FAULT_NONE;
}

/*
 * The watchdog counts modelled cycles, and an instruction may cost as little as one cycle.  So a
 * limit of its own bounds the host's time for fetching and checking instructions.
 */
static bool fetched_too_many(struct ovt_exec *exec)
{
	return ++exec->fetches > exec->fetch_limit;
}

static u32 hang(struct ovt_exec *exec)
{
	ovt_write_once(exec->retired, exec->cycle_limit);
	return OVERTAKE_FAULT_WATCHDOG;
}

/* Fetches, checks and charges the instruction at pc. */
static u32 begin_insn(struct ovt_core *core, struct ovt_exec *exec)
{
	u64 retired;
	u32 fault;

	if (fetched_too_many(exec))
		return hang(exec);
	if (!fetch(exec))
		return OVERTAKE_FAULT_PROGRAM;
	if (ovt_profile_lacks(core->profile, exec->insn.opcode))
		return OVERTAKE_FAULT_UNSUPPORTED;
	fault = ovt_insn_check(&exec->insn, exec->descriptor.regions, &exec->operands);
	if (fault)
		return fault;
	retired = exec->retired + ovt_insn_cycles(core->profile, &exec->insn);
	if (retired > exec->cycle_limit)
		return hang(exec);
	ovt_write_once(exec->retired, retired);
	if (exec->insn.opcode == OVERTAKE_OP_JUMP)
		return jump(exec);
	if (exec->pricing || exec->insn.opcode == OVERTAKE_OP_DELAY) {
		exec->pc++;
		return OVERTAKE_FAULT_NONE;
	}
	memset(&exec->cursor, 0, sizeof(exec->cursor));
	exec->simd_use = core->simd ? OVT_SIMD_USE_ASK : OVT_SIMD_USE_NO;
	exec->in_insn = 1;
	return OVERTAKE_FAULT_NONE;
}

/*
 * Goes on with the instruction; returns true at its end.  Use of vector registers is bounded,
 * whatever the budget.  While the host does not grant them, the instruction does not go on, and the
 * budget counts as used up.
 *
 * ovt_simd_covers() is called once, inside a section: it calls code that is compiled for vectors,
 * and outside a section the vector registers belong to other code.
 */
static bool operate(struct ovt_core *core, s64 *work)
{
	struct ovt_exec *exec = &core->exec;
	struct ovt_simd_section section;
	s64 slice = *work < OVT_SIMD_SLICE ? *work : OVT_SIMD_SLICE;
	s64 left = slice;
	bool finished = false;

	if (exec->simd_use == OVT_SIMD_USE_NO)
		return ovt_operator_run(&exec->insn, &exec->operands, &exec->cursor, work);
	if (!ovt_simd_begin(&section)) {
		*work = 0;
		return false;
	}
	if (exec->simd_use == OVT_SIMD_USE_ASK)
		exec->simd_use = ovt_simd_covers(&exec->insn) ? OVT_SIMD_USE_YES : OVT_SIMD_USE_NO;
	if (exec->simd_use == OVT_SIMD_USE_YES)
		finished = ovt_simd_run(&exec->insn, &exec->operands, core->simd, &exec->cursor,
					&left);
	ovt_simd_end(&section);
	*work -= slice - left;
	return finished;
}

enum ovt_step ovt_core_step(struct ovt_core *core, u64 budget)
{
	struct ovt_exec *exec = &core->exec;
	u64 end = (u64)exec->descriptor.first_insn + exec->descriptor.insn_count;
	s64 work_per_cycle = core->profile->macs_per_cycle;
	s64 work = (s64)(budget < BUDGET_MAX ? budget : BUDGET_MAX) * work_per_cycle;

	while (work > 0) {
		u32 fault = ovt_load_acquire(&exec->abort);

		if (!fault)
			fault = exec->expired;
		if (fault)
			return finish(exec, fault);
		if (exec->in_insn) {
			if (!operate(core, &work))
				continue;
			exec->in_insn = 0;
			exec->pc++;
			continue;
		}
		if (exec->pc >= end)
			return finish_pass(core, exec);
		work -= FETCH_CYCLES * work_per_cycle;
		fault = begin_insn(core, exec);
		if (fault)
			return finish(exec, fault);
	}
	return OVT_STEP_MORE;
}

void ovt_core_charge(struct ovt_core *core, u64 cycles)
{
	struct ovt_exec *exec = &core->exec;
	u32 fault = ovt_load_acquire(&exec->abort);

	if (!fault && cycles > exec->cycle_limit) {
		fault = OVERTAKE_FAULT_WATCHDOG;
		cycles = exec->cycle_limit;
	}
	ovt_write_once(exec->retired, cycles);
	exec->priced = 1;
	finish(exec, fault);
}
