// SPDX-License-Identifier: MIT
/* A core by itself: its registers, the steps of an FC, and FCs whose cost the host states. */
#include "cmocka_all.h"
#include "hw/core.h"
#include "hw/simd/choose.h"

#define MEMORY_BYTES	20000u
#define CYCLE_LIMIT	5000u

/* A core, with memory for a program and its data. */
struct bench {
	struct ovt_core core;
	struct overtake_insn program[4];
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	u8 memory[MEMORY_BYTES];
};

static struct bench *bench_new(enum ovt_mode mode)
{
	static struct bench bench;

	memset(&bench, 0, sizeof(bench));
	ovt_core_init(&bench.core, 3, ovt_profile_find("ideal"), mode);
	bench.regions[OVERTAKE_REGION_PROGRAM] = (struct ovt_region){
		.base = (u8 *)bench.program,
		.length = sizeof(bench.program),
		.flags = OVT_REGION_READ,
	};
	bench.regions[OVERTAKE_REGION_IO] = (struct ovt_region){
		.base = bench.memory,
		.length = sizeof(bench.memory),
		.flags = OVT_REGION_READ | OVT_REGION_WRITE,
	};
	return &bench;
}

static void delay(struct bench *bench, u32 at, u64 cycles)
{
	bench->program[at].opcode = OVERTAKE_OP_DELAY;
	bench->program[at].delay_cycles = cycles;
}

static void jump(struct bench *bench, u32 at, u32 target)
{
	bench->program[at].opcode = OVERTAKE_OP_JUMP;
	bench->program[at].jump_target = target;
}

/* Makes a COPY of @count bytes from the start of the memory to its middle. */
static void copy(struct bench *bench, u32 at, u32 count)
{
	struct overtake_insn *insn = &bench->program[at];

	insn->opcode = OVERTAKE_OP_COPY;
	insn->out = (struct overtake_operand){
		.region = OVERTAKE_REGION_IO, .height = 1, .width = 1, .channels = count,
		.row_stride = count, .pixel_stride = count,
	};
	insn->in[0] = insn->out;
	insn->out.offset = MEMORY_BYTES / 2;
}

static u32 tail_register(enum ovt_ring_index ring)
{
	return ring == OVT_RING_HIGH ? OVT_REG_HIGH_TAIL : OVT_REG_NORMAL_TAIL;
}

/* Submits an FC of @count instructions from @first on, by the doorbell. */
static void ring_fc(struct bench *bench, enum ovt_ring_index ring, u32 first, u32 count,
		    u64 sequence)
{
	struct ovt_ring *entries = &bench->core.rings[ring];

	entries->entries[entries->tail % OVT_RING_ENTRIES] = (struct ovt_descriptor){
		.regions = bench->regions,
		.first_insn = first,
		.insn_count = count,
		.sequence = sequence,
	};
	ovt_core_write(&bench->core, tail_register(ring), entries->tail + 1);
}

static void start_fc(struct bench *bench, u32 first, u32 count)
{
	ring_fc(bench, OVT_RING_NORMAL, first, count, 1);
	ovt_core_start(&bench->core, OVT_RING_NORMAL, CYCLE_LIMIT);
}

static void registers_say_what_the_core_does(void **state)
{
	static const struct {
		const char *name;
		u32 offset;
		u64 idle;
		u64 running;
	} rows[] = {
		{ "ID", OVT_REG_ID, 3, 3 },
		{ "CAPS", OVT_REG_CAPS, OVT_RING_ENTRIES, OVT_RING_ENTRIES },
		{ "CONTROL, write only", OVT_REG_CONTROL, 0, 0 },
		{ "STATUS", OVT_REG_STATUS, 0, 7 },
		{ "LIMIT", OVT_REG_LIMIT, 0, 5 },
		{ "LIMIT_ACTIVE", OVT_REG_LIMIT_ACTIVE, 0, 0 },
		{ "COMMIT_END", OVT_REG_COMMIT_END, 0, 1ull << 40 },
		{ "MODE", OVT_REG_MODE, OVT_MODE_TIMED, OVT_MODE_TIMED },
		{ "CLOCK", OVT_REG_CLOCK, 1000000, 1000000 },
		{ "HIGH_HEAD", OVT_REG_HIGH_HEAD, 0, 1 },
		{ "HIGH_TAIL", OVT_REG_HIGH_TAIL, 0, 2 },
		{ "NORMAL_HEAD", OVT_REG_NORMAL_HEAD, 0, 0 },
		{ "NORMAL_TAIL", OVT_REG_NORMAL_TAIL, 0, 3 },
		{ "IRQ_STATUS", OVT_REG_IRQ_STATUS, 0, OVT_IRQ_DONE | OVT_IRQ_FAULT },
		{ "IRQ_MASK", OVT_REG_IRQ_MASK, 0, OVT_IRQ_DONE },
		{ "CURRENT", OVT_REG_CURRENT, 0, 77 },
		{ "BUSY_NS", OVT_REG_BUSY_NS, 0, 1ull << 33 },
		{ "HIGH_DONE", OVT_REG_HIGH_DONE, 0, 11 },
		{ "NORMAL_DONE", OVT_REG_NORMAL_DONE, 0, 12 },
		{ "RETIRED", OVT_REG_RETIRED, 0, 40 },
		{ "NORMAL_NEXT", OVT_REG_NORMAL_NEXT, 0, 1ull << 41 },
		{ "HIGH_HELD", OVT_REG_HIGH_HELD, 0, 1 },
	};
	struct bench *bench = bench_new(OVT_MODE_TIMED);
	struct ovt_core *core = &bench->core;
	u32 bad = 0;
	size_t row;
	u32 index;

	(void)state;
	for (row = 0; row < COUNT(rows); row++) {
		print_message("%s, idle\n", rows[row].name);
		assert_int_equal(ovt_core_read(core, rows[row].offset), rows[row].idle);
	}
	delay(bench, 0, 40);
	ring_fc(bench, OVT_RING_HIGH, 0, 1, 77);
	ring_fc(bench, OVT_RING_HIGH, 0, 1, 78);
	for (index = 0; index < 3; index++)
		ring_fc(bench, OVT_RING_NORMAL, 0, 1, 80 + index);
	ovt_core_start(core, OVT_RING_HIGH, CYCLE_LIMIT);
	assert_int_equal(ovt_core_step(core, 1), OVT_STEP_MORE);
	ovt_core_write(core, OVT_REG_LIMIT, 5);
	ovt_core_write(core, OVT_REG_COMMIT_END, 1ull << 40);
	ovt_core_write(core, OVT_REG_IRQ_MASK, OVT_IRQ_DONE);
	ovt_core_write(core, OVT_REG_NORMAL_NEXT, 1ull << 41);
	ovt_core_write(core, OVT_REG_HIGH_HELD, 2);
	core->irq_status = OVT_IRQ_DONE | OVT_IRQ_FAULT;
	core->busy_ns = 1ull << 33;
	core->done[OVT_RING_HIGH] = 11;
	core->done[OVT_RING_NORMAL] = 12;
	for (row = 0; row < COUNT(rows); row++) {
		print_message("%s, running\n", rows[row].name);
		assert_int_equal(ovt_core_read(core, rows[row].offset), rows[row].running);
		bad += 2 * (rows[row].offset == OVT_REG_CONTROL);
	}
	assert_int_equal(ovt_core_read(core, OVT_REG_BAD_ACCESS), bad);
}

static void unknown_and_read_only_registers_ignore_writes_and_are_counted(void **state)
{
	static const u32 offsets[] = {
		OVT_REG_ID, OVT_REG_CAPS, OVT_REG_STATUS, OVT_REG_LIMIT_ACTIVE, OVT_REG_MODE,
		OVT_REG_CLOCK, OVT_REG_HIGH_HEAD, OVT_REG_NORMAL_HEAD, OVT_REG_CURRENT,
		OVT_REG_BUSY_NS, OVT_REG_HIGH_DONE, OVT_REG_NORMAL_DONE, OVT_REG_RETIRED,
	};
	struct ovt_core *core = &bench_new(OVT_MODE_TIMED)->core;
	size_t index;

	(void)state;
	for (index = 0; index < COUNT(offsets); index++) {
		u64 before = ovt_core_read(core, offsets[index]);

		ovt_core_write(core, offsets[index], before + 1);
		assert_int_equal(ovt_core_read(core, offsets[index]), before);
		assert_int_equal(ovt_core_read(core, OVT_REG_BAD_ACCESS), index + 1);
	}
	assert_int_equal(ovt_core_read(core, 0x1000), 0);
	ovt_core_write(core, 0x1000, 5);
	ovt_core_write(core, OVT_REG_BAD_ACCESS, 0);
	assert_int_equal(ovt_core_read(core, OVT_REG_BAD_ACCESS), COUNT(offsets) + 3);
}

static void a_doorbell_that_overruns_or_rewinds_its_ring_is_ignored(void **state)
{
	static const enum ovt_ring_index indices[] = { OVT_RING_HIGH, OVT_RING_NORMAL };
	size_t index;

	(void)state;
	for (index = 0; index < COUNT(indices); index++) {
		struct ovt_core *core = &bench_new(OVT_MODE_TIMED)->core;
		u32 tail = tail_register(indices[index]);

		core->rings[indices[index]].head = 0xfffffff0u;
		core->rings[indices[index]].tail = 0xfffffffeu;
		ovt_core_write(core, tail, 0xfffffffdu);
		assert_int_equal(ovt_core_read(core, tail), 0xfffffffeu);
		ovt_core_write(core, tail, 0xffffffefu);
		assert_int_equal(ovt_core_read(core, tail), 0xfffffffeu);
		ovt_core_write(core, tail, 0x31);
		assert_int_equal(ovt_core_read(core, tail), 0xfffffffeu);
		assert_int_equal(ovt_core_read(core, OVT_REG_BAD_ACCESS), 3);
		ovt_core_write(core, tail, 0x30);	/* full: 64 from the head */
		assert_int_equal(ovt_core_read(core, tail), 0x30);
		assert_int_equal(ovt_core_read(core, OVT_REG_BAD_ACCESS), 3);
	}
}

static void limits_beyond_32_bits_are_the_largest(void **state)
{
	static const u32 registers[] = { OVT_REG_LIMIT, OVT_REG_NORMAL_FLOOR };
	struct ovt_core *core = &bench_new(OVT_MODE_TIMED)->core;
	size_t index;

	(void)state;
	for (index = 0; index < COUNT(registers); index++) {
		ovt_core_write(core, registers[index], 0xffffffffu);
		assert_int_equal(ovt_core_read(core, registers[index]), 0xffffffffu);
		ovt_core_write(core, registers[index], 1ull << 32);
		assert_int_equal(ovt_core_read(core, registers[index]), 0xffffffffu);
		ovt_core_write(core, registers[index], 0);
		assert_int_equal(ovt_core_read(core, registers[index]), 0);
	}
}

static void interrupts_are_cleared_by_writing_ones(void **state)
{
	struct ovt_core *core = &bench_new(OVT_MODE_TIMED)->core;

	(void)state;
	core->irq_status = OVT_IRQ_DONE | OVT_IRQ_FAULT;
	ovt_core_write(core, OVT_REG_IRQ_STATUS, OVT_IRQ_DONE);
	assert_int_equal(ovt_core_read(core, OVT_REG_IRQ_STATUS), OVT_IRQ_FAULT);
	ovt_core_write(core, OVT_REG_IRQ_STATUS, 0);
	assert_int_equal(ovt_core_read(core, OVT_REG_IRQ_STATUS), OVT_IRQ_FAULT);
}

static void cancelled_descriptors_are_skipped_at_the_heads_only(void **state)
{
	struct bench *bench = bench_new(OVT_MODE_TIMED);
	struct ovt_ring *ring = &bench->core.rings[OVT_RING_NORMAL];
	u32 index;

	(void)state;
	for (index = 0; index < 4; index++) {
		ring_fc(bench, OVT_RING_NORMAL, 0, 1, 1 + index);
		ring->entries[index].cancelled = index != 2;
	}
	ovt_core_skip_cancelled(&bench->core);
	assert_int_equal(ring->head, 2);
	ovt_core_start(&bench->core, OVT_RING_NORMAL, CYCLE_LIMIT);
	assert_int_equal(ovt_core_read(&bench->core, OVT_REG_CURRENT), 3);
	ovt_core_skip_cancelled(&bench->core);
	assert_int_equal(ovt_ring_used(ring), 0);
}

static void control_stops_the_running_fc(void **state)
{
	static const enum ovt_mode modes[] = { OVT_MODE_TIMED, OVT_MODE_FUNCTIONAL, OVT_MODE_BOTH };
	static const struct {
		u32 control;
		u32 fault;
	} stops[] = {
		{ OVT_CONTROL_ABORT, OVERTAKE_FAULT_RESET },
		{ OVT_CONTROL_KILL, OVERTAKE_FAULT_KILLED },
	};
	size_t index;

	(void)state;
	for (index = 0; index < COUNT(modes) * COUNT(stops); index++) {
		enum ovt_mode mode = modes[index / COUNT(stops)];
		struct bench *bench = bench_new(mode);
		struct ovt_exec *exec = &bench->core.exec;

		jump(bench, 1, 1);
		start_fc(bench, 1, 1);
		ovt_core_write(&bench->core, OVT_REG_CONTROL, 0);
		assert_int_equal(ovt_core_step(&bench->core, 10), OVT_STEP_MORE);
		assert_int_equal(exec->fault, OVERTAKE_FAULT_NONE);
		ovt_core_write(&bench->core, OVT_REG_CONTROL, stops[index % COUNT(stops)].control);
		assert_int_equal(ovt_core_step(&bench->core, 10), OVT_STEP_FINISHED);
		assert_int_equal(exec->fault, stops[index % COUNT(stops)].fault);
		assert_int_equal(exec->fault_insn, 1);
		assert_int_equal(exec->cycles, mode == OVT_MODE_FUNCTIONAL ? 0 : 10);
	}
}

static void an_operator_is_aborted_in_its_middle(void **state)
{
	struct bench *bench = bench_new(OVT_MODE_FUNCTIONAL);

	(void)state;
	memset(bench->memory, 7, MEMORY_BYTES / 2);
	copy(bench, 0, MEMORY_BYTES / 2);
	start_fc(bench, 0, 1);
	assert_int_equal(ovt_core_step(&bench->core, 2), OVT_STEP_MORE);
	ovt_core_write(&bench->core, OVT_REG_CONTROL, OVT_CONTROL_ABORT);
	assert_int_equal(ovt_core_step(&bench->core, 1000), OVT_STEP_FINISHED);
	assert_int_equal(bench->memory[MEMORY_BYTES / 2], 7);
	assert_int_equal(bench->memory[MEMORY_BYTES - 1], 0);
	assert_int_equal(bench->core.exec.fault, OVERTAKE_FAULT_RESET);
}

static void a_jump_stays_in_its_fc(void **state)
{
	static const struct {
		const char *description;
		u32 target;
		u32 fault;
	} rows[] = {
		{ "first instruction", 1, OVERTAKE_FAULT_WATCHDOG },
		{ "last instruction", 2, OVERTAKE_FAULT_WATCHDOG },
		{ "before the FC", 0, OVERTAKE_FAULT_PROGRAM },
		{ "behind the FC", 3, OVERTAKE_FAULT_PROGRAM },
		{ "far away", 0xffffffffu, OVERTAKE_FAULT_PROGRAM },
	};
	size_t row;

	(void)state;
	for (row = 0; row < COUNT(rows); row++) {
		struct bench *bench = bench_new(OVT_MODE_TIMED);

		print_message("%s\n", rows[row].description);
		delay(bench, 0, 1);
		delay(bench, 1, 1);
		jump(bench, 2, rows[row].target);
		delay(bench, 3, 1);
		start_fc(bench, 1, 2);
		assert_int_equal(ovt_core_step(&bench->core, ~0ull), OVT_STEP_FINISHED);
		assert_int_equal(bench->core.exec.fault, rows[row].fault);
	}
}

/* On "ideal" a jump costs a cycle, and a DELAY its delay_cycles. */
static void a_jump_goes_on_at_its_target(void **state)
{
	static const enum ovt_mode modes[] = { OVT_MODE_FUNCTIONAL, OVT_MODE_TIMED };
	size_t row;

	(void)state;
	for (row = 0; row < COUNT(modes); row++) {
		struct bench *bench = bench_new(modes[row]);

		delay(bench, 0, 30);
		jump(bench, 1, 3);
		delay(bench, 2, 1000);
		delay(bench, 3, 7);
		start_fc(bench, 0, 4);
		assert_int_equal(ovt_core_step(&bench->core, ~0ull), OVT_STEP_FINISHED);
		assert_int_equal(bench->core.exec.fault, OVERTAKE_FAULT_NONE);
		assert_int_equal(bench->core.exec.retired, 30 + 1 + 7);
	}
}

static void an_fc_may_use_up_its_cycles_and_no_more(void **state)
{
	u64 extra;

	(void)state;
	for (extra = 0; extra < 2; extra++) {
		struct bench *bench = bench_new(OVT_MODE_TIMED);
		struct ovt_exec *exec = &bench->core.exec;

		delay(bench, 0, 1);
		delay(bench, 1, CYCLE_LIMIT - 1 + extra);
		start_fc(bench, 0, 2);
		assert_int_equal(ovt_core_step(&bench->core, 100), OVT_STEP_FINISHED);
		assert_int_equal(exec->fault,
				 extra ? OVERTAKE_FAULT_WATCHDOG : OVERTAKE_FAULT_NONE);
		assert_int_equal(exec->fault_insn, extra);
		assert_int_equal(exec->cycles, CYCLE_LIMIT);
	}
}

/* Instructions that cost hardly any cycles take time of the host nevertheless. */
static void an_fc_that_fetches_for_ever_at_no_cost_is_hung(void **state)
{
	static const u64 limits[] = { 100 * OVT_FETCHES_MIN, 1000 * OVT_FETCHES_MIN };
	size_t row;

	(void)state;
	for (row = 0; row < COUNT(limits); row++) {
		struct bench *bench = bench_new(OVT_MODE_FUNCTIONAL);
		struct ovt_exec *exec = &bench->core.exec;
		u64 fetches = limits[row] / OVT_CYCLES_PER_FETCH;

		delay(bench, 0, 1);
		jump(bench, 1, 0);
		ring_fc(bench, OVT_RING_NORMAL, 0, 2, 1);
		ovt_core_start(&bench->core, OVT_RING_NORMAL, limits[row]);
		assert_int_equal(ovt_core_step(&bench->core, ~0ull), OVT_STEP_FINISHED);
		assert_int_equal(exec->fault, OVERTAKE_FAULT_WATCHDOG);
		assert_int_equal(exec->fetches - 1,
				 fetches > OVT_FETCHES_MIN ? fetches : OVT_FETCHES_MIN);
		assert_int_equal(exec->retired, limits[row]);
	}
}

/* A client shares the memory of a program and can write to it at any time. */
static void a_program_rewritten_after_pricing_costs_no_more(void **state)
{
	static const struct {
		u64 cycles;
		u32 fault;
	} rows[] = {
		{ 9, OVERTAKE_FAULT_NONE },
		{ 10, OVERTAKE_FAULT_NONE },
		{ 11, OVERTAKE_FAULT_WATCHDOG },
	};
	size_t row;

	(void)state;
	for (row = 0; row < COUNT(rows); row++) {
		struct bench *bench = bench_new(OVT_MODE_BOTH);

		delay(bench, 0, 10);
		start_fc(bench, 0, 1);
		assert_int_equal(ovt_core_step(&bench->core, 100), OVT_STEP_PRICED);
		bench->program[0].delay_cycles = rows[row].cycles;
		assert_int_equal(ovt_core_step(&bench->core, 100), OVT_STEP_FINISHED);
		assert_int_equal(bench->core.exec.fault, rows[row].fault);
		assert_int_equal(bench->core.exec.cycles, 10);
	}
}

/* The fetch is a step, and each run of the operator is one. */
static void an_operator_is_executed_in_bounded_steps(void **state)
{
	struct bench *bench = bench_new(OVT_MODE_FUNCTIONAL);
	u32 steps = 1;
	u32 index;

	(void)state;
	for (index = 0; index < MEMORY_BYTES / 2; index++)
		bench->memory[index] = (u8)(index * 7);
	copy(bench, 0, MEMORY_BYTES / 2);
	delay(bench, 1, 1);
	start_fc(bench, 0, 2);
	while (ovt_core_step(&bench->core, 1) == OVT_STEP_MORE)
		steps++;
	assert_in_range(steps, 4, 10);
	assert_int_equal(bench->core.exec.fault, OVERTAKE_FAULT_NONE);
	assert_memory_equal(bench->memory, bench->memory + MEMORY_BYTES / 2, MEMORY_BYTES / 2);
}

static void mode_both_tells_the_cost_before_it_computes(void **state)
{
	struct bench *bench = bench_new(OVT_MODE_BOTH);
	struct ovt_exec *exec = &bench->core.exec;
	u64 cycles;

	(void)state;
	bench->core.profile = ovt_profile_find("default");
	bench->memory[0] = 9;
	copy(bench, 0, 8);
	start_fc(bench, 0, 1);
	cycles = bench->core.profile->fc_overhead_cycles +
		 ovt_insn_cycles(bench->core.profile, &bench->program[0]);
	assert_int_equal(ovt_core_step(&bench->core, 100), OVT_STEP_PRICED);
	assert_int_equal(exec->cycles, cycles);
	assert_int_equal(bench->memory[MEMORY_BYTES / 2], 0);
	assert_int_equal(ovt_core_step(&bench->core, 100), OVT_STEP_FINISHED);
	assert_int_equal(exec->cycles, cycles);
	assert_int_equal(ovt_core_read(&bench->core, OVT_REG_RETIRED), cycles);
	assert_int_equal(bench->memory[MEMORY_BYTES / 2], 9);
}

static void mode_timed_computes_nothing(void **state)
{
	struct bench *bench = bench_new(OVT_MODE_TIMED);

	(void)state;
	bench->memory[0] = 9;
	copy(bench, 0, 8);
	start_fc(bench, 0, 1);
	assert_int_equal(ovt_core_step(&bench->core, 100), OVT_STEP_FINISHED);
	assert_int_equal(bench->core.exec.fault, OVERTAKE_FAULT_NONE);
	assert_int_equal(bench->memory[MEMORY_BYTES / 2], 0);
}

static void a_stated_cost_is_charged_within_the_watchdogs_limit(void **state)
{
	static const struct {
		const char *description;
		u64 cycles;
		bool aborted;
		u64 charged;
		u32 fault;
	} rows[] = {
		{ "nothing", 0, false, 0, OVERTAKE_FAULT_NONE },
		{ "just the limit", CYCLE_LIMIT, false, CYCLE_LIMIT, OVERTAKE_FAULT_NONE },
		{ "more", CYCLE_LIMIT + 1, false, CYCLE_LIMIT, OVERTAKE_FAULT_WATCHDOG },
		{ "the largest", ~0ull, false, CYCLE_LIMIT, OVERTAKE_FAULT_WATCHDOG },
		{ "aborted before", 100, true, 100, OVERTAKE_FAULT_RESET },
	};
	size_t row;

	(void)state;
	for (row = 0; row < COUNT(rows); row++) {
		struct bench *bench = bench_new(OVT_MODE_TIMED);
		struct ovt_exec *exec = &bench->core.exec;

		print_message("%s\n", rows[row].description);
		start_fc(bench, 2, 1);
		if (rows[row].aborted)
			ovt_core_write(&bench->core, OVT_REG_CONTROL, OVT_CONTROL_ABORT);
		ovt_core_charge(&bench->core, rows[row].cycles);
		assert_int_equal(exec->cycles, rows[row].charged);
		assert_int_equal(ovt_core_read(&bench->core, OVT_REG_RETIRED), rows[row].charged);
		assert_int_equal(exec->fault, rows[row].fault);
		assert_int_equal(exec->fault_insn, rows[row].fault ? 2 : 0);
		assert_int_equal(exec->priced, 1);
	}
}

/* Halves bytes, from the start of the memory to its middle; unlike PERMUTE, with vectors. */
static void requantise(struct bench *bench, u32 at, u32 count)
{
	struct overtake_insn *insn = &bench->program[at];

	copy(bench, at, count);
	insn->opcode = OVERTAKE_OP_REQUANTISE;
	insn->multiplier[0] = 1;
	insn->shift[0] = 1;
	insn->clamp_min = -128;
	insn->clamp_max = 127;
}

/* Returns how many steps of the least budget a REQUANTISE and a PERMUTE back took. */
static u32 run_with(struct bench *bench, struct ovt_simd_scratch *scratch)
{
	u32 steps = 1;
	u32 vector_steps = 0;

	for (u32 i = 0; i < MEMORY_BYTES; i++)
		bench->memory[i] = (u8)(i * 7 + i / 256);
	requantise(bench, 0, 9000);
	copy(bench, 1, 9000);
	bench->program[1].opcode = OVERTAKE_OP_PERMUTE;
	bench->program[1].axes = 0 | 1 << 2 | 2 << 4; /* each axis stays */
	bench->program[1].in[0].offset = MEMORY_BYTES / 2;
	bench->program[1].out.offset = 0;
	if (scratch)
		ovt_core_use_simd(&bench->core, scratch, ovt_simd_best());
	start_fc(bench, 0, 2);
	while (ovt_core_step(&bench->core, 1) == OVT_STEP_MORE) {
		if (bench->core.exec.in_insn && bench->core.exec.simd_use == OVT_SIMD_USE_YES) {
			assert_int_equal(bench->core.exec.pc, 0);
			vector_steps++;
		}
		steps++;
	}
	assert_int_equal(!!scratch, !!vector_steps);
	assert_int_equal(bench->core.exec.fault, OVERTAKE_FAULT_NONE);
	return steps;
}

static void vectors_give_the_same_bytes_in_steps(void **state)
{
	static struct ovt_simd_scratch scratch;
	static u8 expected[MEMORY_BYTES];
	struct bench *bench = bench_new(OVT_MODE_FUNCTIONAL);

	(void)state;
	if (!ovt_simd_supported())
		skip();
	assert_true(run_with(bench, NULL) > 6);
	memcpy(expected, bench->memory, sizeof(expected));
	bench = bench_new(OVT_MODE_FUNCTIONAL);
	assert_true(run_with(bench, &scratch) > 6);
	assert_memory_equal(bench->memory, expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_say_what_the_core_does),
		cmocka_unit_test(unknown_and_read_only_registers_ignore_writes_and_are_counted),
		cmocka_unit_test(a_doorbell_that_overruns_or_rewinds_its_ring_is_ignored),
		cmocka_unit_test(limits_beyond_32_bits_are_the_largest),
		cmocka_unit_test(interrupts_are_cleared_by_writing_ones),
		cmocka_unit_test(cancelled_descriptors_are_skipped_at_the_heads_only),
		cmocka_unit_test(control_stops_the_running_fc),
		cmocka_unit_test(an_operator_is_aborted_in_its_middle),
		cmocka_unit_test(a_jump_stays_in_its_fc),
		cmocka_unit_test(a_jump_goes_on_at_its_target),
		cmocka_unit_test(an_fc_may_use_up_its_cycles_and_no_more),
		cmocka_unit_test(an_operator_is_executed_in_bounded_steps),
		cmocka_unit_test(an_fc_that_fetches_for_ever_at_no_cost_is_hung),
		cmocka_unit_test(a_program_rewritten_after_pricing_costs_no_more),
		cmocka_unit_test(mode_both_tells_the_cost_before_it_computes),
		cmocka_unit_test(mode_timed_computes_nothing),
		cmocka_unit_test(a_stated_cost_is_charged_within_the_watchdogs_limit),
		cmocka_unit_test(vectors_give_the_same_bytes_in_steps),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
