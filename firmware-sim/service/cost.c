// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "service/cost.h"

static u64 cycles_of(const struct ovt_cost *cost, u64 index)
{
	const struct ovt_region *program = &cost->regions[OVERTAKE_REGION_PROGRAM];
	struct ovt_operands operands;
	struct overtake_insn insn;

	if (index >= program->length / sizeof(insn))
		return 0;
	memcpy(&insn, program->base + index * sizeof(insn), sizeof(insn));
	ovt_compiler_barrier(); /* the client shares that memory: only the copy is used now */
	if (ovt_insn_check(&insn, cost->regions, &operands) != OVERTAKE_FAULT_NONE)
		return 0;
	return ovt_insn_cycles(cost->profile, &insn);
}

static void add(u64 *sum, u64 cycles)
{
	if (__builtin_add_overflow(*sum, cycles, sum))
		*sum = ~0ull;
}

void ovt_cost_begin(struct ovt_cost *cost, const struct ovt_profile *profile,
		    const struct ovt_region *regions, const struct overtake_fc *fcs, u32 fc_count)
{
	*cost = (struct ovt_cost){
		.profile = profile,
		.regions = regions,
		.fcs = fcs,
		.fc_count = fc_count,
	};
}

void ovt_cost_begin_group(struct ovt_cost *cost, const struct ovt_profile *profile,
			  const struct ovt_region *regions, const struct ovt_fw_group *group)
{
	*cost = (struct ovt_cost){
		.profile = profile,
		.regions = regions,
		.group = group,
		.ahead = group->part_count,
	};
}

static void end_stage(struct ovt_cost *cost)
{
	add(&cost->alone, cost->longest);
	cost->ahead = cost->workers == 1 ? cost->worker : cost->group->part_count;
	cost->longest = 0;
	cost->workers = 0;
	cost->part = 0;
	cost->stage++;
}

static void end_part(struct ovt_cost *cost)
{
	if (cost->works) {
		if (cost->stage && cost->part != cost->ahead)
			add(&cost->part_cycles, cost->profile->sync_cycles);
		cost->workers++;
		cost->worker = cost->part;
		if (cost->part_cycles > cost->longest)
			cost->longest = cost->part_cycles;
	}
	cost->works = false;
	cost->part_cycles = 0;
	if (++cost->part == cost->group->part_count)
		end_stage(cost);
}

/* Ends an FC.  Instructions that were not looked at count the average of those that were. */
static void end_fc(struct ovt_cost *cost, const struct ovt_fc *fc)
{
	u64 average = cost->looked_at ? cost->cycles / cost->looked_at : 0;
	u64 rest;

	if (__builtin_mul_overflow(average, fc->insn_count - cost->insn, &rest))
		rest = ~0ull;
	add(&cost->part_cycles, cost->fc_cycles);
	add(&cost->part_cycles, rest);
	add(&cost->part_cycles, cost->profile->fc_overhead_cycles);
	cost->works = true;
	cost->fc_cycles = 0;
	cost->insn = 0;
	cost->next[cost->part]++;
}

static void step_group(struct ovt_cost *cost)
{
	const struct ovt_fw_part *part = &cost->group->parts[cost->part];
	u32 index = cost->next[cost->part];
	const struct ovt_fc *fc = &part->fcs[index];
	u64 cycles;

	if (index == part->fc_count || part->stages[index] != cost->stage) {
		end_part(cost);
		return;
	}
	if (cost->insn == fc->insn_count || cost->looked_at == OVT_COST_MAX_INSNS) {
		end_fc(cost, fc);
		return;
	}
	cycles = cycles_of(cost, (u64)fc->first_insn + cost->insn);
	cost->looked_at++;
	cost->insn++;
	add(&cost->cycles, cycles);
	add(&cost->fc_cycles, cycles);
}

static bool cost_group(struct ovt_cost *cost, u32 steps)
{
	for (; steps && cost->stage < cost->group->stage_count; steps--)
		step_group(cost);
	return cost->stage < cost->group->stage_count;
}

bool ovt_cost_step(struct ovt_cost *cost, u32 steps)
{
	if (cost->group)
		return cost_group(cost, steps);
	for (; steps && cost->fc < cost->fc_count; steps--) {
		const struct overtake_fc *fc = &cost->fcs[cost->fc];

		if (cost->insn == fc->insn_count || cost->looked_at == OVT_COST_MAX_INSNS) {
			cost->insns += fc->insn_count;
			cost->insn = 0;
			cost->fc++;
			continue;
		}
		cost->looked_at++;
		add(&cost->cycles, cycles_of(cost, (u64)fc->first_insn + cost->insn++));
	}
	return cost->fc < cost->fc_count;
}

u64 ovt_cost_ns(const struct ovt_cost *cost)
{
	u64 times = cost->looked_at ? cost->insns / cost->looked_at : 1;
	u64 most = (u64)cost->profile->clock_khz * OVT_COST_MAX_MS;
	u64 cycles = cost->alone;

	if (!cost->group && __builtin_mul_overflow(cost->cycles, times, &cycles))
		cycles = ~0ull;
	add(&cycles, (u64)cost->profile->fc_overhead_cycles * cost->fc_count);
	return ovt_cycles_to_ns(cost->profile, cycles < most ? cycles : most);
}

u64 ovt_segment_cost_ns(const struct ovt_profile *profile, const struct ovt_region *regions,
			const struct overtake_fc *fcs, u32 fc_count)
{
	struct ovt_cost cost;

	ovt_cost_begin(&cost, profile, regions, fcs, fc_count);
	while (ovt_cost_step(&cost, ~0u))
		;
	return ovt_cost_ns(&cost);
}

u64 ovt_group_cost_ns(const struct ovt_profile *profile, const struct ovt_region *regions,
		      const struct ovt_fw_group *group)
{
	struct ovt_cost cost;

	ovt_cost_begin_group(&cost, profile, regions, group);
	while (ovt_cost_step(&cost, ~0u))
		;
	return ovt_cost_ns(&cost);
}
