// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "service/cost.h"

struct count {
	const struct ovt_profile *profile;
	const struct ovt_region *regions;
	u64 insns;
	u64 looked_at;
	u64 cycles;
};

static u64 cycles_of(const struct count *count, u64 index)
{
	const struct ovt_region *program = &count->regions[OVERTAKE_REGION_PROGRAM];
	struct ovt_operands operands;
	struct overtake_insn insn;

	if (index >= program->length / sizeof(insn))
		return 0;
	memcpy(&insn, program->base + index * sizeof(insn), sizeof(insn));
	ovt_compiler_barrier(); /* the client shares that memory: from here on only the copy */
	if (ovt_insn_check(&insn, count->regions, &operands) != OVERTAKE_FAULT_NONE)
		return 0;
	return ovt_insn_cycles(count->profile, &insn);
}

static void add(struct count *count, u64 cycles)
{
	if (__builtin_add_overflow(count->cycles, cycles, &count->cycles))
		count->cycles = ~0ull;
}

static void add_fc(struct count *count, const struct overtake_fc *fc)
{
	u64 i;

	count->insns += fc->insn_count;
	for (i = 0; i < fc->insn_count && count->looked_at < OVT_COST_MAX_INSNS; i++) {
		count->looked_at++;
		add(count, cycles_of(count, (u64)fc->first_insn + i));
	}
}

u64 ovt_segment_cost_ns(const struct ovt_profile *profile, const struct ovt_region *regions,
			const struct overtake_fc *fcs, u32 fc_count)
{
	struct count count = { .profile = profile, .regions = regions };
	u64 times, overhead = (u64)profile->fc_overhead_cycles * fc_count;
	u64 most = (u64)profile->clock_khz * OVT_COST_MAX_MS;
	u32 i;

	for (i = 0; i < fc_count; i++)
		add_fc(&count, &fcs[i]);
	times = count.looked_at ? count.insns / count.looked_at : 1;
	if (__builtin_mul_overflow(count.cycles, times, &count.cycles))
		count.cycles = ~0ull;
	add(&count, overhead);
	return ovt_cycles_to_ns(profile, count.cycles < most ? count.cycles : most);
}
