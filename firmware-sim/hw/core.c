// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Registers and rings of a core. */
#include "hw/core.h"

void ovt_core_init(struct ovt_core *core, u32 number, const struct ovt_profile *profile,
		   enum ovt_mode mode)
{
	memset(core, 0, sizeof(*core));
	core->number = number;
	core->profile = profile;
	core->mode = mode;
}

static u64 core_status(const struct ovt_core *core)
{
	u64 status = core->active ? 1 : 0;

	if (ovt_ring_used(&core->rings[OVT_RING_HIGH]))
		status |= 2;
	if (ovt_ring_used(&core->rings[OVT_RING_NORMAL]))
		status |= 4;
	return status;
}

u64 ovt_core_read(struct ovt_core *core, u32 offset)
{
	switch (offset) {
	case OVT_REG_ID:
		return core->number;
	case OVT_REG_CAPS:
		return OVT_RING_ENTRIES;
	case OVT_REG_STATUS:
		return core_status(core);
	case OVT_REG_LIMIT:
		return core->limit;
	case OVT_REG_LIMIT_ACTIVE:
		return core->limit_active;
	case OVT_REG_COMMIT_END:
		return core->commit_end;
	case OVT_REG_MODE:
		return core->mode;
	case OVT_REG_CLOCK:
		return core->profile->clock_khz;
	case OVT_REG_NORMAL_FLOOR:
		return core->normal_floor;
	case OVT_REG_HIGH_HEAD:
		return core->rings[OVT_RING_HIGH].head;
	case OVT_REG_HIGH_TAIL:
		return core->rings[OVT_RING_HIGH].tail;
	case OVT_REG_NORMAL_HEAD:
		return core->rings[OVT_RING_NORMAL].head;
	case OVT_REG_NORMAL_TAIL:
		return core->rings[OVT_RING_NORMAL].tail;
	case OVT_REG_IRQ_STATUS:
		return core->irq_status;
	case OVT_REG_IRQ_MASK:
		return core->irq_mask;
	case OVT_REG_CURRENT:
		return core->active ? core->exec.descriptor.sequence : 0;
	case OVT_REG_BUSY_NS:
		return core->busy_ns;
	case OVT_REG_HIGH_DONE:
		return core->done[OVT_RING_HIGH];
	case OVT_REG_NORMAL_DONE:
		return core->done[OVT_RING_NORMAL];
	case OVT_REG_RETIRED:
		return core->active ? ovt_read_once(core->exec.retired) : 0;
	case OVT_REG_BAD_ACCESS:
		return core->bad_accesses;
	case OVT_REG_NORMAL_NEXT:
		return core->normal_next;
	case OVT_REG_HIGH_HELD:
		return core->high_held;
	default:
		core->bad_accesses++;
		return 0;
	}
}

/* Ignores a tail that would overrun or rewind its ring, as hardware would. */
static void write_tail(struct ovt_core *core, struct ovt_ring *ring, u64 value)
{
	if ((u32)value - ring->head > OVT_RING_ENTRIES ||
	    (u32)value - ring->tail > OVT_RING_ENTRIES) {
		core->bad_accesses++;
		return;
	}
	ring->tail = (u32)value;
}

static u32 saturate(u64 value)
{
	return value > 0xffffffffu ? 0xffffffffu : (u32)value;
}

void ovt_core_write(struct ovt_core *core, u32 offset, u64 value)
{
	switch (offset) {
	case OVT_REG_CONTROL:
		if (value & OVT_CONTROL_ABORT)
			ovt_store_release(&core->exec.abort, OVERTAKE_FAULT_RESET);
		else if (value & OVT_CONTROL_KILL)
			ovt_store_release(&core->exec.abort, OVERTAKE_FAULT_KILLED);
		break;
	case OVT_REG_LIMIT:
		core->limit = saturate(value);
		break;
	case OVT_REG_NORMAL_FLOOR:
		core->normal_floor = saturate(value);
		break;
	case OVT_REG_COMMIT_END:
		core->commit_end = value;
		break;
	case OVT_REG_NORMAL_NEXT:
		core->normal_next = value;
		break;
	case OVT_REG_HIGH_HELD:
		core->high_held = !!value;
		break;
	case OVT_REG_HIGH_TAIL:
		write_tail(core, &core->rings[OVT_RING_HIGH], value);
		break;
	case OVT_REG_NORMAL_TAIL:
		write_tail(core, &core->rings[OVT_RING_NORMAL], value);
		break;
	case OVT_REG_IRQ_STATUS:
		core->irq_status &= ~(u32)value;
		break;
	case OVT_REG_IRQ_MASK:
		core->irq_mask = (u32)value;
		break;
	default:
		core->bad_accesses++;
	}
}

void ovt_core_skip_cancelled(struct ovt_core *core)
{
	u32 index;

	for (index = 0; index < OVT_RING_COUNT; index++) {
		struct ovt_ring *ring = &core->rings[index];

		while (ovt_ring_used(ring) &&
		       ring->entries[ring->head % OVT_RING_ENTRIES].cancelled)
			ring->head++;
	}
}

void ovt_core_watch(struct ovt_core *core, u64 cpu_ns, u64 wall_ns, u64 now_ns)
{
	struct ovt_exec *exec = &core->exec;
	u64 stop_ns = ovt_read_once(exec->stop_ns);

	if (stop_ns && now_ns >= stop_ns)
		exec->expired = OVERTAKE_FAULT_STOPPED;
	else if ((core->clock.cpu_ns && cpu_ns > core->clock.cpu_ns) ||
		 (core->clock.wall_ns && wall_ns > core->clock.wall_ns))
		exec->expired = OVERTAKE_FAULT_CLOCK;
}

#define STEP_LONG_NS	100000u
#define STEP_SHORT_NS	25000u

u64 ovt_step_budget(u64 budget, u64 took_ns, u64 most)
{
	if (took_ns > STEP_LONG_NS)
		budget /= 2;
	else if (took_ns < STEP_SHORT_NS)
		budget *= 2;
	if (budget > most)
		budget = most;
	return budget ? budget : 1;
}

u64 ovt_core_time_ns(const struct ovt_core *core)
{
	u64 ns = ovt_cycles_to_ns(core->profile, core->exec.cycles);
	u32 percent = core->exec.time_factor;

	if (percent)
		ns = ns / 100 * percent + (ns % 100 * percent + 99) / 100;
	return ns ? ns : 1;
}

static u64 fetch_limit(u64 cycle_limit)
{
	u64 limit = cycle_limit / OVT_CYCLES_PER_FETCH;

	return limit > OVT_FETCHES_MIN ? limit : OVT_FETCHES_MIN;
}

void ovt_core_start(struct ovt_core *core, enum ovt_ring_index index, u64 cycle_limit)
{
	struct ovt_ring *ring = &core->rings[index];
	struct ovt_exec *exec = &core->exec;

	memset(exec, 0, sizeof(*exec));
	exec->descriptor = ring->entries[ring->head % OVT_RING_ENTRIES];
	exec->cycle_limit = cycle_limit;
	exec->fetch_limit = fetch_limit(cycle_limit);
	exec->pc = exec->descriptor.first_insn;
	exec->pricing = core->mode != OVT_MODE_FUNCTIONAL;
	exec->retired = core->profile->fc_overhead_cycles;
	exec->time_factor = core->time_factor;
	ring->head++;
	if (index == OVT_RING_HIGH && core->limit_active &&
	    (ovt_ring_used(&core->rings[OVT_RING_NORMAL]) || core->normal_next))
		core->overtook++;
	else
		core->overtook = 0;
	core->active_ring = index;
	core->active = 1;
}
