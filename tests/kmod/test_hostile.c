// SPDX-License-Identifier: MIT
/* Hostile clients: the right error for their jobs, and no effect on other clients. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "hostile_shapes.h"
#include "load.h"

#define WATCHDOG	"cores=2 mode=functional profile=default watchdog_ms=10 ban_offences=0"
#define WATCHDOG_TIMED	"cores=2 mode=timed profile=default watchdog_ms=10 ban_offences=0"
#define NEVER		OVERTAKE_DEADLINE_NEVER

/* A good neighbour copies a pattern on @core, and checks the copy later. */
static void neighbour_submit(struct client *client, uint64_t tag, uint32_t core)
{
	uint32_t from = (uint32_t)(tag % 8) * 1024;
	struct job job;

	memset(client->data.data + from, (int)(tag * 37 + 1), 1024);
	memset(client->data.data + 16384 + from, 0, 1024);
	put_copy(client, (uint32_t)(tag % 8), 16384 + from, from, 1024);
	job_init(&job, client, tag, (uint32_t)(tag % 8), 1);
	job.submit.core = core;
	check_equal(job_submit(client, &job), 0);
}

static void neighbour_check(struct client *client, uint64_t tag, bool computes)
{
	uint32_t from = (uint32_t)(tag % 8) * 1024;
	struct overtake_result result;

	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	if (computes)
		check(!memcmp(client->data.data + from, client->data.data + 16384 + from, 1024));
}

static void endless_loop(bool computes)
{
	struct client hostile = client_open(0, 254);
	struct client neighbour = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_jump(&hostile, 0, 0);
	job_init(&job, &hostile, 1, 0, 1);
	job.submit.core = 1;
	check_equal(job_submit(&hostile, &job), 0);
	neighbour_submit(&neighbour, 1, 1); /* waits behind the loop */
	neighbour_submit(&neighbour, 2, 2);
	check_equal(job_wait(&hostile, 1, NEVER, &result), 0);
	check_equal(result.status, -ETIMEDOUT);
	check_equal(result.fault, OVERTAKE_FAULT_WATCHDOG);
	check_equal(result.fault_insn, 0);
	check_equal(result.fcs_done, 1);
	neighbour_check(&neighbour, 1, computes);
	neighbour_check(&neighbour, 2, computes);
	client_close(&hostile);
	client_close(&neighbour);
}

static void endless_loop_functional(void)
{
	endless_loop(true);
}

static void endless_loop_timed(void)
{
	endless_loop(false);
}

/*
 * Each instruction costs one cycle: the watchdog alone would permit a thousand million fetches,
 * which take minutes of the host's time.
 */
static void loop_that_costs_nothing_is_stopped(void)
{
	struct client hostile = client_open(0, 254);
	struct overtake_result result;
	struct job job;
	uint32_t i;

	for (i = 0; i < 64; i++)
		put_delay(&hostile, i, 1);
	put_jump(&hostile, 64, 0);
	job_init(&job, &hostile, 1, 0, 1);
	job.fcs[0].insn_count = 65;
	check_equal(job_submit(&hostile, &job), 0);
	check_equal(job_wait(&hostile, 1, NEVER, &result), 0);
	check_equal(result.status, -ETIMEDOUT);
	/* The watchdog counts fetches, too; on a slow host the clock of the FC is first. */
	check(result.fault == OVERTAKE_FAULT_WATCHDOG || result.fault == OVERTAKE_FAULT_CLOCK);
	client_close(&hostile);
}

/* The watchdog would take long: the end of the context stops the loop at once. */
static void destroying_the_context_stops_an_endless_loop(bool computes)
{
	struct client hostile = client_open(0, 254);
	struct client neighbour = client_open(0, 254);
	struct job job;

	put_jump(&hostile, 0, 0);
	job_init(&job, &hostile, 1, 0, 1);
	job.submit.core = 1;
	check_equal(job_submit(&hostile, &job), 0);
	neighbour_submit(&neighbour, 1, 1);
	check_equal(context_destroy(hostile.fd, hostile.context), 0);
	neighbour_check(&neighbour, 1, computes);
	client_close(&hostile);
	client_close(&neighbour);
}

static void destroying_stops_an_endless_loop_functional(void)
{
	destroying_the_context_stops_an_endless_loop(true);
}

/* In this mode device time stands still until the loop is priced. */
static void destroying_stops_an_endless_loop_timed(void)
{
	destroying_the_context_stops_an_endless_loop(false);
}

struct bad_row {
	const char *what;
	uint32_t fault;
	void (*spoil)(struct overtake_insn *insn);
};

#define SPOIL(name, statement) \
	static void name(struct overtake_insn *insn) \
	{ \
		statement; \
	}

SPOIL(opcode_zero, insn->opcode = 0)
SPOIL(opcode_unknown, insn->opcode = OVERTAKE_OP_COUNT)
SPOIL(opcode_absurd, insn->opcode = 0xffff)
SPOIL(reserved, insn->reserved[3] = 1)
SPOIL(operand_reserved, insn->out.type = 2)
SPOIL(region_absurd, insn->out.region = ~0u)
SPOIL(region_16, insn->in[0].region = OVERTAKE_MAX_REGIONS)
SPOIL(region_unbound, insn->in[0].region = 9)
SPOIL(offset_behind, insn->out.offset = RESULT_OFFSET)
SPOIL(offset_partly_behind, insn->out.offset = RESULT_OFFSET - 1024 + 8)
SPOIL(offset_wraps, insn->out.offset = ~0ull - 7)
SPOIL(offset_signed, insn->in[0].offset = 1ull << 63)
SPOIL(width_absurd, (insn->out.width = ~0u, insn->in[0].width = ~0u))
SPOIL(writes_program, insn->out.region = OVERTAKE_REGION_PROGRAM)

static const struct bad_row bad_rows[] = {
	{ "opcode 0", OVERTAKE_FAULT_OPCODE, opcode_zero },
	{ "opcode behind the last", OVERTAKE_FAULT_OPCODE, opcode_unknown },
	{ "greatest opcode", OVERTAKE_FAULT_OPCODE, opcode_absurd },
	{ "reserved field", OVERTAKE_FAULT_RESERVED, reserved },
	{ "reserved field of an operand", OVERTAKE_FAULT_RESERVED, operand_reserved },
	{ "greatest region", OVERTAKE_FAULT_REGION, region_absurd },
	{ "region 16", OVERTAKE_FAULT_REGION, region_16 },
	{ "unbound region", OVERTAKE_FAULT_REGION, region_unbound },
	{ "offset behind the region", OVERTAKE_FAULT_BOUNDS, offset_behind },
	{ "tensor ends behind the region", OVERTAKE_FAULT_BOUNDS, offset_partly_behind },
	{ "offset wraps", OVERTAKE_FAULT_BOUNDS, offset_wraps },
	{ "offset is negative", OVERTAKE_FAULT_BOUNDS, offset_signed },
	{ "width is absurd", OVERTAKE_FAULT_FIELD, width_absurd },
	{ "program is written", OVERTAKE_FAULT_PERMISSION, writes_program },
};

static void bad_instruction(struct client *hostile, struct client *neighbour,
			    const struct bad_row *row, uint64_t tag)
{
	struct overtake_result result;
	struct overtake_insn insn;
	struct job job;

	put_delay(hostile, 0, 10);
	put_copy(hostile, 1, 4096, 0, 1024);
	memcpy(&insn, hostile->program.data + sizeof(insn), sizeof(insn));
	row->spoil(&insn);
	put_insn(hostile, 1, &insn);
	put_delay(hostile, 2, 10);
	job_init(&job, hostile, tag, 0, 3);
	job.submit.core = 1;
	check_equal(job_submit(hostile, &job), 0);
	neighbour_submit(neighbour, tag, 1);
	check_equal(job_wait(hostile, tag, NEVER, &result), 0);
	check_message(result.status == -ENOEXEC, "%s: status %d", row->what, result.status);
	if (row->fault == OVERTAKE_FAULT_FIELD)
		check_message(result.fault == OVERTAKE_FAULT_FIELD ||
			      result.fault == OVERTAKE_FAULT_BOUNDS ||
			      result.fault == OVERTAKE_FAULT_SHAPE, "%s: fault %u", row->what,
			      result.fault);
	else
		check_message(result.fault == row->fault, "%s: fault %u, expected %u", row->what,
			      result.fault, row->fault);
	check_equal(result.fault_insn, 1);
	check_equal(result.fcs_done, 2); /* the good one and the bad one */
	neighbour_check(neighbour, tag, true);
}

static void bad_instructions(void)
{
	struct client hostile = client_open(0, 254);
	struct client neighbour = client_open(0, 254);
	struct drm_overtake_core_info before, after;
	size_t i, count = sizeof(bad_rows) / sizeof(bad_rows[0]);

	device_query_core(hostile.fd, 1, &before);
	for (i = 0; i < count; i++)
		bad_instruction(&hostile, &neighbour, &bad_rows[i], i);
	device_query_core(hostile.fd, 1, &after);
	check_equal(after.faults - before.faults, count);
	client_close(&hostile);
	client_close(&neighbour);
}

static void fc_outside_the_program(void)
{
	static const struct overtake_fc fcs[] = {
		{ .first_insn = 256, .insn_count = 1 },
		{ .first_insn = 255, .insn_count = 2 },
		{ .first_insn = ~0u, .insn_count = 1 },
		{ .first_insn = ~0u, .insn_count = ~0u },
		{ .first_insn = 1u << 24, .insn_count = 1 },
	};
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;
	size_t i;

	put_delay(&client, 255, 10);
	for (i = 0; i < sizeof(fcs) / sizeof(fcs[0]); i++) {
		job_init(&job, &client, i, 0, 1);
		job.fcs[0] = fcs[i];
		check_equal(job_submit(&client, &job), 0);
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, -ENOEXEC);
		check_equal(result.fault, OVERTAKE_FAULT_PROGRAM);
	}
	/* The jump leaves the FC, but not the program. */
	put_jump(&client, 0, 255);
	job_init(&job, &client, 100, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 100, NEVER, &result), 0);
	check_equal(result.fault, OVERTAKE_FAULT_PROGRAM);
	/* The job has no program. */
	job_init(&job, &client, 101, 0, 1);
	job.bindings[0].region = OVERTAKE_REGION_WEIGHTS;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 101, NEVER, &result), 0);
	check_equal(result.status, -ENOEXEC);
	client_close(&client);
}

static atomic_bool scribbling;

/* Writes valid instructions with a few random bytes, again and again, while the program runs. */
static void *scribble(void *argument)
{
	struct client *client = argument;
	unsigned int seed = 1;

	while (atomic_load(&scribbling)) {
		uint32_t index = (uint32_t)rand_r(&seed) % 64;
		volatile uint8_t *insn = client->program.data + index * 256;

		insn[rand_r(&seed) % 256] = (uint8_t)rand_r(&seed);
		if (rand_r(&seed) % 8 == 0)
			put_copy(client, index, 8192 + index * 64, index * 64, 64);
	}
	return NULL;
}

static void program_scribbled_over_while_it_runs(void)
{
	struct client hostile = client_open(0, 254);
	struct client neighbour = client_open(0, 254);
	struct buffer secret = buffer_create(hostile.fd, 65536,
					     OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	struct overtake_result result;
	pthread_t thread;
	struct job job;
	uint64_t tag;
	size_t i;

	memset(secret.data, 0x3c, secret.size);
	for (i = 0; i < 64; i++)
		put_copy(&hostile, (uint32_t)i, 8192 + (uint32_t)i * 64, (uint32_t)i * 64, 64);
	atomic_store(&scribbling, true);
	check_equal(pthread_create(&thread, NULL, scribble, &hostile), 0);
	for (tag = 0; tag < 300; tag++) {
		job_init(&job, &hostile, tag, 0, 1);
		job.fcs[0].insn_count = 64;
		job.submit.core = 1;
		check_equal(job_submit(&hostile, &job), 0);
		neighbour_submit(&neighbour, tag, 1);
		check_equal(job_wait(&hostile, tag, NEVER, &result), 0);
		check(result.status == 0 || result.status == -ENOEXEC ||
		      result.status == -ETIMEDOUT);
		neighbour_check(&neighbour, tag, true);
	}
	atomic_store(&scribbling, false);
	pthread_join(thread, NULL);
	/* The secret is mapped, but in no region of the job: it stays as it was. */
	for (i = 0; i < secret.size; i++)
		check_equal(secret.data[i], 0x3c);
	client_close(&hostile);
	client_close(&neighbour);
}

static uint64_t longest_step_ns(void)
{
	char path[128], text[8192];
	const char *at;
	uint64_t longest = 0;

	debugfs_path(path, sizeof(path), 0, "stats");
	check_equal(read_file(path, text, sizeof(text)), 0);
	for (at = text; (at = strstr(at, "_max_step_ns ")); at++) {
		uint64_t ns = strtoull(at + strlen("_max_step_ns "), NULL, 10);

		longest = ns > longest ? ns : longest;
	}
	return longest;
}

#define LARGE_BYTES	(4u << 20)

/*
 * Windows and reductions have 131072 elements, each on a cache line of its own.  A step may count
 * 65536 and a unit of work more; each of these elements counts 8.
 */
static void a_step_is_a_small_part_of_an_output(void)
{
	const struct hostile_place place = { OVERTAKE_REGION_IO, LARGE_BYTES, 1 };
	struct client client = client_open(0, 254);
	struct buffer memory = buffer_create(client.fd, LARGE_BYTES,
					     OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	const struct hostile_shape *shape;
	struct overtake_result result;
	struct overtake_insn insn;
	char path[128];
	uint64_t tag = 0;

	debugfs_path(path, sizeof(path), 0, "stats");
	check_equal(write_file(path, "0"), 0);
	for (shape = hostile_shapes; shape->name; shape++) {
		uint64_t steps = stat_of("core1_steps");
		struct job job;

		shape->build(&insn, &place);
		if (!shape->far || hostile_reads(&insn) < 131000 || insn.out.channels != 1 ||
		    insn.out.width != 1)
			continue;
		put_insn(&client, 0, &insn);
		job_init(&job, &client, ++tag, 0, 1);
		job.submit.core = 1;
		job.bindings[1].address = memory.address;
		job.bindings[1].length = memory.size;
		check_equal(job_submit(&client, &job), 0);
		check_equal(job_wait(&client, tag, NEVER, &result), 0);
		check_message(!result.status, "%s: status %d, fault %u", shape->name, result.status,
			      result.fault);
		steps = stat_of("core1_steps") - steps;
		check_message(hostile_reads(&insn) <= steps * (65536 + 4096) / 8,
			      "%s: %llu steps", shape->name, (unsigned long long)steps);
	}
	check_equal(tag, 8);
	printf("# longest step: %llu ns\n", (unsigned long long)longest_step_ns());
	fflush(stdout);
	client_close(&client);
}

const struct test_case hostile_cases[] = {
	{ "hostile-endless-loop-is-stopped", WATCHDOG, endless_loop_functional },
	{ "hostile-loop-that-costs-nothing-is-stopped",
	  "cores=2 mode=functional profile=ideal", loop_that_costs_nothing_is_stopped },
	{ "hostile-destroying-the-context-stops-an-endless-loop-timed",
	  "cores=2 mode=timed profile=default watchdog_ms=60000",
	  destroying_stops_an_endless_loop_timed },
	{ "hostile-bad-instructions-fault", WATCHDOG, bad_instructions },
	{ "hostile-fc-outside-the-program-faults", WATCHDOG, fc_outside_the_program },
	{ "hostile-program-scribbled-over-while-it-runs", WATCHDOG,
	  program_scribbled_over_while_it_runs },
	{ "hostile-a-step-is-a-small-part-of-an-output", "cores=2 mode=functional profile=default",
	  a_step_is_a_small_part_of_an_output },
	{ "hostile-endless-loop-is-stopped-timed", WATCHDOG_TIMED, endless_loop_timed },
	{ "hostile-destroying-the-context-stops-an-endless-loop",
	  "cores=2 mode=functional profile=default watchdog_ms=60000",
	  destroying_stops_an_endless_loop_functional },
	{ 0 },
};
