/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * One accelerator core: registers, a HIGH and a NORMAL ring, the arbiter between them
 * and the execution of the FC that it chose.
 *
 * Two parties touch a core.  The firmware (fw/) owns rings, registers and the arbiter and
 * is called under the host's lock.  The host's execution thread owns @exec while
 * ovt_core_runnable() holds and calls ovt_core_step() outside all locks.
 */
#ifndef OVT_HW_CORE_H
#define OVT_HW_CORE_H

#include <ovt_port.h>
#include "hw/decode.h"
#include "hw/operators.h"
#include "hw/profile.h"
#include "hw/simd/simd.h"

#define OVT_RING_ENTRIES	64u

/*
 * An FC may fetch one instruction for each OVT_CYCLES_PER_FETCH cycles that it may execute, and at
 * least OVT_FETCHES_MIN.  A fetch takes a host about as long as OVT_CYCLES_PER_FETCH cycles of a
 * core.
 */
#define OVT_CYCLES_PER_FETCH	128u
#define OVT_FETCHES_MIN		4096u
#define OVT_TIME_NEVER		(~0ull)

enum ovt_ring_index { OVT_RING_HIGH, OVT_RING_NORMAL, OVT_RING_COUNT };

enum ovt_mode { OVT_MODE_FUNCTIONAL, OVT_MODE_TIMED, OVT_MODE_BOTH };

/*
 * Offsets of the 64-bit registers.  A read of an unknown or write-only register returns 0, a write
 * to an unknown or read-only one is ignored; both are counted.
 */
enum ovt_register {
	OVT_REG_ID = 0x00,		/* RO core number from 1 */
	OVT_REG_CAPS = 0x08,		/* RO ring entries */
	OVT_REG_CONTROL = 0x10,		/* WO OVT_CONTROL_*: stop the running FC */
	OVT_REG_STATUS = 0x18,		/* RO bit 0: busy; not empty: 1: HIGH, 2: NORMAL */
	OVT_REG_LIMIT = 0x20,		/* RW core limit that the firmware asks for */
	OVT_REG_LIMIT_ACTIVE = 0x28,	/* RO core limit in force */
	OVT_REG_COMMIT_END = 0x30,	/* RW first NORMAL position that is not committed */
	OVT_REG_MODE = 0x38,		/* RO enum ovt_mode */
	OVT_REG_CLOCK = 0x40,		/* RO kHz */
	OVT_REG_NORMAL_FLOOR = 0x48,	/* RW HIGH FCs that may overtake in a row, 0 = any number */
	OVT_REG_HIGH_HEAD = 0x50,	/* RO */
	OVT_REG_HIGH_TAIL = 0x58,	/* RW doorbell */
	OVT_REG_NORMAL_HEAD = 0x60,	/* RO */
	OVT_REG_NORMAL_TAIL = 0x68,	/* RW doorbell */
	OVT_REG_IRQ_STATUS = 0x70,	/* RW; write 1 to clear */
	OVT_REG_IRQ_MASK = 0x78,	/* RW */
	OVT_REG_CURRENT = 0x80,		/* RO arrival sequence of the running FC's job, 0 = idle */
	OVT_REG_BUSY_NS = 0x88,		/* RO device time spent executing */
	OVT_REG_HIGH_DONE = 0x90,	/* RO FCs ended from HIGH */
	OVT_REG_NORMAL_DONE = 0x98,	/* RO FCs ended from NORMAL */
	OVT_REG_RETIRED = 0xa0,		/* RO cycles retired by the running FC */
	OVT_REG_BAD_ACCESS = 0xa8,	/* RO bad accesses (see above), and refused tails */
	OVT_REG_NORMAL_NEXT = 0xb0,	/* RW arrival of the next job to enter NORMAL, 0 = none */
	OVT_REG_HIGH_HELD = 0xb8,	/* RW 1: the first FC of HIGH waits for its stage */
};

#define OVT_CONTROL_ABORT	(1u << 0)	/* with OVERTAKE_FAULT_RESET */
#define OVT_CONTROL_KILL	(1u << 1)	/* with OVERTAKE_FAULT_KILLED */
#define OVT_IRQ_DONE		(1u << 0)
#define OVT_IRQ_FAULT		(1u << 1)

/**
 * struct ovt_descriptor - an FC in a ring
 * @part: the part that has the FC; opaque to the core
 * @regions: the job's regions, OVERTAKE_MAX_REGIONS of them
 * @first_insn: first instruction
 * @insn_count: instructions
 * @fc_index: index in the part
 * @cancelled: skipped at fetch
 * @sequence: arrival of its job, one sequence over all cores, from 1
 * @position: its place in the unbounded ring
 */
struct ovt_descriptor {
	void *part;
	const struct ovt_region *regions;
	u32 first_insn;
	u32 insn_count;
	u32 fc_index;
	u32 cancelled;
	u64 sequence;
	u64 position;
};

struct ovt_ring {
	struct ovt_descriptor entries[OVT_RING_ENTRIES];
	u32 head;	/* free running */
	u32 tail;	/* free running */
};

enum ovt_step {
	OVT_STEP_MORE,		/* budget used up; call again */
	OVT_STEP_PRICED,	/* modelled end known: report with ovt_fw_priced(), call again */
	OVT_STEP_FINISHED,	/* nothing left to execute: report with ovt_fw_executed() */
};

/**
 * struct ovt_clock - time that an FC may take its host, in nanoseconds; 0: any time
 * @cpu_ns: CPU time of the core's execution thread
 * @wall_ns: time from its first step, for a host too busy to give that thread its CPU time
 *
 * The watchdog counts modelled cycles, and the time that a cycle takes a host depends on the
 * operator: two orders of magnitude lie between a dense convolution and a pool of one channel.
 * Only an FC that still executes is stopped.  An FC that holds its core to its modelled end takes
 * the host no time.
 */
struct ovt_clock {
	u64 cpu_ns;
	u64 wall_ns;
};

/* Whether vectors execute an instruction: decided at its first step, and kept to its last. */
enum ovt_simd_use { OVT_SIMD_USE_NO, OVT_SIMD_USE_ASK, OVT_SIMD_USE_YES };

/**
 * struct ovt_exec - the FC that a core executes
 *
 * Written by the firmware when the FC starts, then by the execution thread until it is
 * finished, then read by the firmware.
 */
struct ovt_exec {
	struct ovt_descriptor descriptor;
	u64 cycle_limit;	/* watchdog */
	u64 fetch_limit;	/* watchdog: instructions */
	u64 fetches;		/* instructions fetched by this pass */
	u64 cycles;		/* the FC's modelled cost once @priced */
	u64 retired;		/* cycles retired by this pass */
	u32 pc;
	u32 fault;
	u32 fault_insn;
	u32 abort;		/* set by the firmware at any time, with release */
	u32 expired;		/* fault that ovt_core_watch() found; only for its thread */
	u64 stop_ns;		/* host time when it is to stop, 0 = never; ovt_fw_stop() */
	u32 priced;		/* @cycles is known (timed modes) */
	u32 in_insn;		/* @insn is being executed */
	u32 pricing;		/* the pass that only adds up costs */
	u32 time_factor;	/* the core's when the FC started */
	enum ovt_simd_use simd_use;	/* for @insn */
	struct overtake_insn insn;
	struct ovt_operands operands;
	struct ovt_cursor cursor;
};

struct ovt_core {
	const struct ovt_profile *profile;
	enum ovt_mode mode;
	struct ovt_simd_scratch *simd;	/* memory of the host; NULL: scalar operators only */
	u32 number;			/* from 1 */
	u32 limit;
	u32 limit_active;
	u32 normal_floor;
	u32 overtook;			/* HIGH FCs started in a row while a NORMAL one waited */
	u32 irq_status;
	u32 irq_mask;
	u32 bad_accesses;
	u64 normal_next;
	u32 high_held;
	struct ovt_clock clock;
	u64 watchdog_cycles;		/* cycles that one FC may execute */
	u32 time_factor;		/* percent of the modelled time that FCs take; 0 = 100 */
	u64 commit_end;
	u64 busy_ns;
	u64 done[OVT_RING_COUNT];
	struct ovt_ring rings[OVT_RING_COUNT];
	u32 active;			/* an FC was started and has not been retired */
	enum ovt_ring_index active_ring;
	struct ovt_exec exec;
};

void ovt_core_init(struct ovt_core *core, u32 number, const struct ovt_profile *profile,
		   enum ovt_mode mode);

/*
 * Lets a core execute by vectors the instructions that have such operators: the same bytes, sooner.
 * Called before its first FC, by a host for which ovt_simd_supported() holds and that has the
 * instructions of @level; @scratch outlives the core.
 */
static inline void ovt_core_use_simd(struct ovt_core *core, struct ovt_simd_scratch *scratch,
				     enum ovt_simd_level level)
{
	scratch->level = level;
	core->simd = scratch;
}

/*
 * Gives a core prices, a clock, opcodes and a watchdog that differ from those of other cores of its
 * device.  Called before its first FC; @profile outlives the core.
 */
static inline void ovt_core_set_profile(struct ovt_core *core, const struct ovt_profile *profile,
					u64 watchdog_cycles)
{
	core->profile = profile;
	core->watchdog_cycles = watchdog_cycles;
}

/*
 * FCs that start from now on take @percent of their modelled time, rounded up, as on a core that
 * is throttled.  Modes timed and both; 0 and 100: the modelled time.  Under the host's lock.
 */
static inline void ovt_core_set_time_factor(struct ovt_core *core, u32 percent)
{
	core->time_factor = percent;
}

/* Returns the device time that the running FC takes, whose cost is known; at least 1. */
u64 ovt_core_time_ns(const struct ovt_core *core);

/* Fetches the head of @ring, which is not empty, and makes it the running FC.  Firmware only. */
void ovt_core_start(struct ovt_core *core, enum ovt_ring_index ring, u64 cycle_limit);

/* Drops cancelled descriptors from the heads of both rings.  Firmware only. */
void ovt_core_skip_cancelled(struct ovt_core *core);

static inline u32 ovt_ring_used(const struct ovt_ring *ring)
{
	return ring->tail - ring->head;
}

u64 ovt_core_read(struct ovt_core *core, u32 offset);
void ovt_core_write(struct ovt_core *core, u32 offset, u64 value);

/*
 * ovt_core_step - execute the running FC for at most @budget cycles
 *
 * Called outside all locks, by the core's execution thread only, while the host knows that an FC
 * runs and is not finished.  A step is bounded by its budget, whatever the program, plus one unit
 * of work.
 */
enum ovt_step ovt_core_step(struct ovt_core *core, u64 budget);

/*
 * ovt_core_watch - hold the running FC to its clock
 * @cpu_ns: CPU time that the execution thread has taken since the FC's first step
 * @wall_ns: time since the FC's first step
 * @now_ns: the host's time, on the clock of ovt_fw_stop()
 *
 * Called by the execution thread between steps.  If the FC's time is up, the next step ends it:
 * with OVERTAKE_FAULT_CLOCK, or OVERTAKE_FAULT_STOPPED where a requested stop is due.
 */
void ovt_core_watch(struct ovt_core *core, u64 cpu_ns, u64 wall_ns, u64 now_ns);

/*
 * ovt_step_budget - cycles for the next step, after one of @budget that took the host @took_ns
 * @most: greatest number that it returns; the least is 1
 *
 * Steps are to take tens of microseconds, whatever the operator, so that a core stops that soon.
 */
u64 ovt_step_budget(u64 budget, u64 took_ns, u64 most);

/*
 * ovt_core_charge - the running FC takes @cycles, whatever its program
 *
 * Called in place of ovt_core_step() by a host that knows what an FC costs and has no program for
 * it (the simulator), in mode timed only.  The watchdog applies.  ovt_fw_executed() follows.
 */
void ovt_core_charge(struct ovt_core *core, u64 cycles);

/* The arbiter: see hw/arbiter.c. */
enum ovt_choice { OVT_CHOOSE_NOTHING, OVT_CHOOSE_HIGH, OVT_CHOOSE_NORMAL, OVT_CHOOSE_COMMIT };
enum ovt_choice ovt_arbiter_choose(struct ovt_core *core);

#endif
