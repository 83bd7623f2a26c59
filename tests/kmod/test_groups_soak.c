// SPDX-License-Identifier: MIT
/*
 * Groups of hostile clients: killed in each state, and as wide and long as they may be, beside a
 * HIGH job.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "group.h"
#include "load.h"
#include "ring.h"

#define BOTH		"cores=2 mode=both profile=default watchdog_ms=5"
#define WIDE		"cores=8 mode=timed profile=default"
#define WIDEST		"cores=64 mode=timed profile=default"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull
#define MEMORY_NOISE_KIB	16384ull

/* A client that is killed; instructions 0 to 3 take 2 ms, 4 never ends, 5 is none. */
struct victim {
	struct client client;
	struct io_uring ring;
	uint64_t tag;
	struct group group;
	uint32_t sync;
};

static void victim_open(struct victim *victim)
{
	struct overtake_insn bad = { .opcode = 0xffff };
	uint32_t i;

	victim->client = client_open(0, 255);
	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&victim->client, i, 2 * MS);
	put_jump(&victim->client, 4, 4);
	put_insn(&victim->client, 5, &bad);
	victim->sync = syncobj_create(victim->client.fd);
	ring_open_to_abandon(&victim->ring);
}

/* Prepares a group on any cores, every other time a HIGH one. */
static void prepare(struct victim *victim)
{
	struct group *group = &victim->group;

	group_init(group, &victim->client, victim->tag++, 0);
	group_wants_record(group, &victim->client);
	group->parts[0].core = OVERTAKE_CORE_ANY;
	group->parts[1].core = OVERTAKE_CORE_ANY;
	group->job.submit.priority = victim->tag % 2 ? 255 : 10;
}

/* Submits a group; of several, some are in a ring, some run and some are held. */
static void runs(struct victim *victim)
{
	prepare(victim);
	job_submit(&victim->client, &victim->group.job);
}

static void runs_by_ring(struct victim *victim)
{
	prepare(victim);
	if (io_uring_sq_space_left(&victim->ring))
		ring_submit_job(&victim->ring, &victim->client, &victim->group.job);
}

static void hangs(struct victim *victim)
{
	prepare(victim);
	victim->group.job.fcs[victim->tag % GROUP_FCS].first_insn = 4;
	job_submit(&victim->client, &victim->group.job);
}

static void faults(struct victim *victim)
{
	prepare(victim);
	victim->group.job.fcs[victim->tag % GROUP_FCS].first_insn = 5;
	job_submit(&victim->client, &victim->group.job);
}

/* Submits a group that waits for the fence of the group before it. */
static void waits_for_a_fence(struct victim *victim)
{
	struct sync_chain out, in;

	prepare(victim);
	sync_chain_init(&out, &victim->group.job);
	sync_chain_out(&out, victim->sync, 0);
	out.sync.base.next = (uintptr_t)&victim->group.extension;
	job_submit(&victim->client, &victim->group.job);
	prepare(victim);
	sync_chain_init(&in, &victim->group.job);
	sync_chain_in(&in, victim->sync, 0);
	in.sync.base.next = (uintptr_t)&victim->group.extension;
	job_submit(&victim->client, &victim->group.job);
}

static void is_cancelled(struct victim *victim)
{
	runs(victim);
	usleep(1000 * (victim->tag % 4));
	job_cancel(&victim->client, victim->tag - 1);
}

static void loses_its_context(struct victim *victim)
{
	runs(victim);
	context_destroy(victim->client.fd, victim->client.context);
	context_create(victim->client.fd, 255, 1, &victim->client.context);
}

static void is_waited_for(struct victim *victim)
{
	struct overtake_result result;

	runs(victim);
	job_wait_any(&victim->client, NEVER, &result);
}

static void (*const states[])(struct victim *victim) = {
	runs, runs_by_ring, hangs, faults, waits_for_a_fence, is_cancelled, loses_its_context,
	is_waited_for,
};

#define STATE_COUNT	(sizeof(states) / sizeof(states[0]))

static void victim_live(size_t state, int ready)
{
	struct overtake_result result;
	struct victim victim = { 0 };

	victim_open(&victim);
	states[state](&victim);
	check_equal(write(ready, "", 1), 1);
	for (;;) {
		states[state](&victim);
		while (!job_wait_any(&victim.client, 0, &result))
			;
		io_uring_get_events(&victim.ring);
		io_uring_cq_advance(&victim.ring, io_uring_cq_ready(&victim.ring));
	}
}

/* Starts a process, and waits until it has written a byte. */
static pid_t start(void (*live)(size_t argument, int ready), size_t argument)
{
	int pipes[2];
	char byte;
	pid_t pid;

	check_equal(pipe(pipes), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live(argument, pipes[1]);
		_exit(1);
	}
	close(pipes[1]);
	check_message(read(pipes[0], &byte, 1) == 1, "the process ended by itself");
	close(pipes[0]);
	return pid;
}

static void killed_in_every_state(void)
{
	const char *factor = getenv("KMOD_ROUNDS");
	unsigned int round, rounds = factor ? (unsigned int)strtoul(factor, NULL, 10) : 3;
	pid_t neighbour = neighbour_start();
	unsigned int seed = 5, kills = 0;
	uint64_t before = 0, after;
	size_t state;

	for (round = 0; round < rounds; round++) {
		for (state = 0; state < STATE_COUNT; state++, kills++) {
			pid_t victim = start(victim_live, state);

			usleep((unsigned int)rand_r(&seed) % 8000);
			load_kill(victim);
		}
		if (round == rounds / 4)
			before = meminfo_kib("MemAvailable");
	}
	neighbour_stop(neighbour);
	wait_until_forgotten();
	after = meminfo_kib("MemAvailable");
	printf("# %u kills; memory available: %llu KiB, at the end %llu KiB\n", kills,
	       (unsigned long long)before, (unsigned long long)after);
	fflush(stdout);
	check_message(after + MEMORY_NOISE_KIB >= before, "%llu KiB are gone",
		      (unsigned long long)(before - after));
}

#define HIGH_JOBS	200u

static uint32_t core_count, part_fcs;	/* of the attack, which has a part on each core */
static struct overtake_fc wide_fcs[OVERTAKE_MAX_FCS];
static uint32_t wide_stages[OVERTAKE_MAX_FCS];

/* Submits a group of 4,096 stages and 65,536 FCs, or jobs on each core with as many FCs. */
static void submit_wide(const struct client *client, bool is_group)
{
	struct group group;
	uint32_t i;

	group_init(&group, client, 0, 0);
	group.job.submit.fcs = (uintptr_t)wide_fcs;
	group.job.submit.fc_count = is_group ? OVERTAKE_MAX_FCS : part_fcs;
	group.extension.stages = (uintptr_t)wide_stages;
	group.extension.stage_count = OVERTAKE_MAX_STAGES;
	group.extension.part_count = core_count;
	for (i = 0; i < core_count; i++) {
		group.parts[i] = (struct overtake_part){ .fc_count = part_fcs, .core = i + 1 };
		if (is_group)
			continue;
		group.job.submit.extensions = 0;
		group.job.submit.core = i + 1;
		group.job.submit.tag = i;
		check_equal(job_submit(client, &group.job), 0);
	}
	if (is_group)
		check_equal(job_submit(client, &group.job), 0);
}

/* Returns the stage of an FC, so that all stages have FCs: of each part, or of parts in turn. */
static uint32_t stage_of(uint32_t part, uint32_t fc)
{
	uint32_t parts_of_all = OVERTAKE_MAX_STAGES / part_fcs;

	if (parts_of_all > 1)
		return fc * parts_of_all + part % parts_of_all;
	return fc / (part_fcs / OVERTAKE_MAX_STAGES);
}

/* Submits the attack, lets it run for a moment and cancels it, for ever. */
static void attack_live(size_t is_group, int ready)
{
	struct client client;
	uint32_t i;

	be_nobody();
	client = client_open(0, 254);
	put_delay(&client, 0, 100000);	/* 0.1 ms */
	for (i = 0; i < OVERTAKE_MAX_FCS; i++) {
		wide_fcs[i].insn_count = 1;
		wide_stages[i] = stage_of(i / part_fcs, i % part_fcs);
	}
	for (i = 0;; i++) {
		struct overtake_result result;
		uint32_t tag;

		submit_wide(&client, is_group);
		if (!i)
			check_equal(write(ready, "", 1), 1);
		usleep(20000);
		for (tag = 0; tag < (is_group ? 1 : core_count); tag++) {
			job_cancel(&client, tag);
			check_equal(job_wait(&client, tag, NEVER, &result), 0);
		}
	}
}

static int compare(const void *one, const void *other)
{
	const uint64_t *first = one, *second = other;

	return *first < *second ? -1 : *first > *second;
}

/* Returns the greatest wait of HIGH jobs in device time; also prints that in time of the host. */
static uint64_t measure(const struct client *client, const char *what)
{
	static uint64_t device_ns[HIGH_JOBS], host_ns[HIGH_JOBS];
	char path[128], held[256] = "";
	struct overtake_result result;
	struct job job;
	uint32_t i;

	debugfs_path(path, sizeof(path), 0, "measure_lock");
	check_equal(write_file(path, "1"), 0);	/* resets the statistics */
	for (i = 0; i < HIGH_JOBS; i++) {
		int64_t begin = monotonic_ns();

		job_init(&job, client, 1, 0, 1);
		job.submit.core = 1 + i % core_count;
		job.submit.priority = 255;
		job.submit.deadline_ns = NEVER;
		check_equal(job_submit(client, &job), 0);
		check_equal(job_wait(client, 1, NEVER, &result), 0);
		check_equal(result.status, 0);
		host_ns[i] = (uint64_t)(monotonic_ns() - begin);
		device_ns[i] = result.start_ns - result.queued_ns;
		usleep(2000);
	}
	debugfs_path(path, sizeof(path), 0, "longest_hold");
	check_equal(read_file(path, held, sizeof(held)), 0);
	held[strcspn(held, "\n")] = 0;
	qsort(device_ns, HIGH_JOBS, sizeof(*device_ns), compare);
	qsort(host_ns, HIGH_JOBS, sizeof(*host_ns), compare);
	printf("# beside %s: HIGH waits %llu us (median %llu) of device time, "
	       "p50 %llu p99 %llu max %llu us of host time; longest hold of the lock %s ns\n", what,
	       (unsigned long long)device_ns[HIGH_JOBS - 1] / 1000,
	       (unsigned long long)device_ns[HIGH_JOBS / 2] / 1000,
	       (unsigned long long)host_ns[HIGH_JOBS / 2] / 1000,
	       (unsigned long long)host_ns[HIGH_JOBS * 99 / 100] / 1000,
	       (unsigned long long)host_ns[HIGH_JOBS - 1] / 1000, held);
	fflush(stdout);
	return device_ns[HIGH_JOBS - 1];
}

/* Returns how long an FC of the attack takes alone. */
static uint64_t fc_time(struct client *client)
{
	struct overtake_result result;
	struct job job;

	put_delay(client, 1, 100000);
	job_init(&job, client, 1, 1, 1);
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, 1, NEVER, &result), 0);
	return result.executed_ns;
}

/*
 * A HIGH job waits for one FC of its core (core limit 1), whatever another client submits.  If the
 * host does not keep up, FCs last longer than their modelled time; the device counts the excess.
 */
static void high_beside_wide_groups(uint32_t cores)
{
	struct client client;
	uint64_t fc_ns;
	char path[128];
	size_t round;

	core_count = cores;
	part_fcs = OVERTAKE_MAX_FCS / cores;
	let_all_users_open();
	client = client_open(0, 255);
	sysfs_path(path, sizeof(path), 0, "core_limit");
	check_equal(write_file(path, "1"), 0);
	put_delay(&client, 0, 10000);
	fc_ns = fc_time(&client);
	for (round = 0; round < 2; round++) {
		uint64_t stretched_ns = stat_of("stretched_ns");
		pid_t attacker = start(attack_live, round);
		uint64_t waited_ns = measure(&client, round ? "groups" : "plain jobs");

		load_kill(attacker);
		stretched_ns = stat_of("stretched_ns") - stretched_ns;
		check_message(waited_ns <= fc_ns + stretched_ns,
			      "a HIGH job waited %llu ns for FCs of %llu ns, stretched by %llu ns",
			      (unsigned long long)waited_ns, (unsigned long long)fc_ns,
			      (unsigned long long)stretched_ns);
	}
	check_equal(write_file(path, "0"), 0);
	client_close(&client);
	wait_until_forgotten();
}

static void high_beside_groups_of_8_parts(void)
{
	high_beside_wide_groups(8);
}

static void high_beside_groups_of_64_parts(void)
{
	high_beside_wide_groups(OVERTAKE_MAX_CORES);
}

const struct test_case group_soak_cases[] = {
	{ "group-attack", WIDE, high_beside_groups_of_8_parts },
	{ "group-attack-of-64-parts", WIDEST, high_beside_groups_of_64_parts },
	{ "group-killed-in-every-state", BOTH, killed_in_every_state },
	{ 0 },
};
