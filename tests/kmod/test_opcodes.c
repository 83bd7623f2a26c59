// SPDX-License-Identifier: MIT
/*
 * An ordinary client uses every opcode to keep a core for itself: in the shape that takes the host
 * longest for its modelled cost, in an FC as large as the watchdog permits, on the real clock.  The
 * FC ends, HIGH gets its turn, and a cancel stops the FC.  The tests assert ends and order only.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "device.h"
#include "hostile_shapes.h"
#include "hw/profile.h"
#include "load.h"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define BYTES		(64u << 20)
#define OUTPUTS		32u
/* Greatest number of instructions of an FC. */
#define INSNS		8192u
#define WATCHDOG_CYCLES	1000000000ull
/* A tenth of the default clock, since 50 FCs run into it; run-attacks tries the default. */
#define SHORT_CLOCK(mode)	"cores=1 mode=" mode " fc_clock_ms=200"
/* Watchdog and clock take so long that only a cancel ends an FC. */
#define NO_CLOCK(mode) \
	"cores=1 mode=" mode " watchdog_ms=600000 fc_clock_ms=600000 stop_grace_ms=20 " \
	"queue_timeout_ms=600000 deadline_max_ms=600000"

/* An ordinary client with much memory and a large program. */
struct hostile {
	struct client client;
	struct buffer memory;
	struct buffer program;
};

static struct hostile hostile_open(void)
{
	struct hostile hostile;

	be_nobody();
	hostile.client = client_open(0, 254);
	hostile.memory = buffer_create(hostile.client.fd, BYTES,
				       OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	hostile.program = buffer_create(hostile.client.fd, INSNS * sizeof(struct overtake_insn),
					OVERTAKE_MAP_READ);
	be_root();
	memset(hostile.memory.data, 1, BYTES);
	return hostile;
}

static void hostile_close(struct hostile *hostile)
{
	buffer_destroy(hostile->client.fd, &hostile->memory);
	buffer_destroy(hostile->client.fd, &hostile->program);
	client_close(&hostile->client);
}

/* Returns how often @insn fits into an FC of @cycles. */
static uint32_t repetitions(const struct overtake_insn *insn, uint64_t cycles)
{
	const struct ovt_profile *profile = ovt_profile_find("default");
	uint64_t fit = (cycles - profile->fc_overhead_cycles) / ovt_insn_cycles(profile, insn);

	return fit < INSNS ? (uint32_t)fit : INSNS;
}

static void put_shape(struct hostile *hostile, const struct hostile_shape *shape, uint32_t *count)
{
	const struct hostile_place place = { OVERTAKE_REGION_IO, BYTES, OUTPUTS };
	struct overtake_insn insn;
	uint32_t i;

	shape->build(&insn, &place);
	*count = repetitions(&insn, WATCHDOG_CYCLES);
	check_message(*count, "%s: one alone is too much", shape->name);
	for (i = 0; i < *count; i++)
		memcpy(hostile->program.data + i * sizeof(insn), &insn, sizeof(insn));
}

static void hostile_submit(struct hostile *hostile, uint64_t tag, uint32_t insns)
{
	struct job job;

	job_init(&job, &hostile->client, tag, 0, 1);
	job.fcs[0].insn_count = insns;
	job.submit.deadline_ns = NEVER;
	job.bindings[0].address = hostile->program.address;
	job.bindings[0].length = hostile->program.size;
	job.bindings[1].address = hostile->memory.address;
	job.bindings[1].length = hostile->memory.size;
	be_nobody();
	check_equal(job_submit(&hostile->client, &job), 0);
	be_root();
}

/* Takes a new context for each opcode, so that no ban ends the attack. */
static void new_context(struct hostile *hostile)
{
	be_nobody();
	check_equal(context_destroy(hostile->client.fd, hostile->client.context), 0);
	check_equal(context_create(hostile->client.fd, 254, 0, &hostile->client.context), 0);
	be_root();
}

/* One FC runs and one waits when a HIGH job comes, with core limit 1. */
static void high_gets_its_turn(struct hostile *hostile, struct client *high,
			       const struct hostile_shape *shape, uint64_t tag)
{
	struct overtake_result first, second, urgent;
	struct job job;
	uint32_t insns;

	put_shape(hostile, shape, &insns);
	hostile_submit(hostile, 1, insns);
	hostile_submit(hostile, 2, insns);
	job_init(&job, high, tag, 0, 1);
	job.submit.priority = 255;
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(high, &job), 0);
	check_equal(job_wait(high, tag, NEVER, &urgent), 0);
	check_equal(urgent.status, 0);
	check_equal(job_wait(&hostile->client, 1, NEVER, &first), 0);
	check_equal(first.fcs_done, 1);
	/* The FC has ended, or on a slow host its clock ran out. */
	check_message(first.status == (first.fault == OVERTAKE_FAULT_CLOCK ? -ETIMEDOUT : 0),
		      "%s: status %d, fault %u", shape->name, first.status, first.fault);
	(void)job_cancel(&hostile->client, 2); /* in time or not */
	check_equal(job_wait(&hostile->client, 2, NEVER, &second), 0);
	/* A slow host may submit HIGH after the second FC began. */
	check_message(!second.start_ns || second.start_ns >= urgent.start_ns ||
		      second.start_ns < urgent.queued_ns,
		      "%s: HIGH waited for two FCs", shape->name);
	new_context(hostile);
	printf("# %s: FC of %u instructions, fault %u, HIGH waited %llu ms\n", shape->name, insns,
	       first.fault, (unsigned long long)(urgent.start_ns - urgent.queued_ns) / 1000000);
	fflush(stdout);
}

static bool is_first_of_its_opcode(const struct hostile_shape *shape)
{
	return shape == hostile_shapes || shape[-1].opcode != shape->opcode;
}

static void every_opcode_ends_and_high_gets_its_turn(void)
{
	struct hostile hostile = hostile_open();
	const struct hostile_shape *shape;
	struct client high = client_open(0, 255);
	struct drm_overtake_core_info before, after;
	uint64_t shapes = 0;

	check_equal(context_create(high.fd, 255, 1, &high.context), 0);
	put_copy(&high, 0, 16384, 0, 64);
	device_query_core(high.fd, 1, &before);
	for (shape = hostile_shapes; shape->name; shape++)
		if (is_first_of_its_opcode(shape))
			high_gets_its_turn(&hostile, &high, shape, ++shapes);
	device_query_core(high.fd, 1, &after);
	check_equal(after.fcs_high - before.fcs_high, shapes);
	check_equal(shapes, OVERTAKE_OP_COUNT - 1 - 2); /* all but DELAY and JUMP */
	hostile_close(&hostile);
	client_close(&high);
	wait_until_forgotten();
}

static void every_opcode_stops_after_a_cancel(void)
{
	struct hostile hostile = hostile_open();
	const struct hostile_shape *shape;
	struct overtake_result result;
	uint64_t tag = 0;
	uint32_t insns;

	for (shape = hostile_shapes; shape->name; shape++) {
		put_shape(&hostile, shape, &insns);
		hostile_submit(&hostile, ++tag, insns);
		wait_until_busy(1);
		be_nobody();
		check_equal(job_cancel(&hostile.client, tag), 0);
		be_root();
		check_equal(job_wait(&hostile.client, tag, NEVER, &result), 0);
		check_message(result.status == -ECANCELED && result.fault == OVERTAKE_FAULT_STOPPED,
			      "%s: status %d, fault %u", shape->name, result.status, result.fault);
	}
	hostile_close(&hostile);
	wait_until_forgotten();
}

const struct test_case opcode_cases[] = {
	{ "opcodes-end-and-high-gets-its-turn-functional", SHORT_CLOCK("functional"),
	  every_opcode_ends_and_high_gets_its_turn },
	{ "opcodes-end-and-high-gets-its-turn-both", SHORT_CLOCK("both"),
	  every_opcode_ends_and_high_gets_its_turn },
	{ "opcodes-stop-after-a-cancel-functional", NO_CLOCK("functional"),
	  every_opcode_stops_after_a_cancel },
	{ "opcodes-stop-after-a-cancel-both", NO_CLOCK("both"),
	  every_opcode_stops_after_a_cancel },
	{ 0 },
};
