// SPDX-License-Identifier: MIT
/*
 * kill -9 of a client in each state that a client can be in.  However often this happens, nothing
 * is stuck or left, a neighbour's jobs stay right, and the machine has as much memory as before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "load.h"
#include "ring.h"

#define BOTH		"cores=2 mode=both profile=default watchdog_ms=5"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull

/* Memory that may come and go by itself: caches of each CPU, memory that RCU has yet to free. */
#define MEMORY_NOISE_KIB	16384ull

/* A client in some state: the victim calls a function for its state again and again. */
struct victim {
	struct client client;
	struct io_uring ring;
	uint64_t tag;
	struct job job;
};

static void submit_by_ioctl(struct victim *victim)
{
	job_init(&victim->job, &victim->client, victim->tag++, 0, 4);
	job_submit(&victim->client, &victim->job);
}

static void submit_by_ring(struct victim *victim)
{
	job_init(&victim->job, &victim->client, victim->tag++, 0, 4);
	if (io_uring_sq_space_left(&victim->ring))
		ring_submit_job(&victim->ring, &victim->client, &victim->job);
}

static void wait_in_ioctl(struct victim *victim)
{
	struct overtake_result result;

	submit_by_ioctl(victim);
	job_wait_any(&victim->client, NEVER, &result);
}

static void wait_in_ring(struct victim *victim)
{
	struct io_uring_cqe *cqe;

	submit_by_ring(victim);
	if (!io_uring_wait_cqe(&victim->ring, &cqe))
		io_uring_cqe_seen(&victim->ring, cqe);
}

static void wait_for_buffer(struct victim *victim)
{
	struct drm_overtake_bo_wait wait = {
		.handle = victim->client.data.handle,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
		.deadline_ns = NEVER,
	};

	submit_by_ioctl(victim);
	device_ioctl(victim->client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &wait);
}

static void map_and_unmap(struct victim *victim)
{
	struct buffer buffer = buffer_create(victim->client.fd, 1 << 20,
					     OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);

	submit_by_ioctl(victim);
	memset(buffer.data, 1, buffer.size);
	buffer_destroy(victim->client.fd, &buffer);
}

static void destroy_contexts(struct victim *victim)
{
	submit_by_ioctl(victim);
	context_destroy(victim->client.fd, victim->client.context);
	context_create(victim->client.fd, 255, 1, &victim->client.context);
}

static void close_and_open(struct victim *victim)
{
	submit_by_ioctl(victim);
	client_close(&victim->client);
	victim->client = client_open(0, 255);
	put_delay(&victim->client, 0, 2 * MS);
}

static void (*const states[])(struct victim *victim) = {
	submit_by_ioctl, submit_by_ring, wait_in_ioctl, wait_in_ring, wait_for_buffer,
	map_and_unmap, destroy_contexts, close_and_open,
};

#define STATE_COUNT	(sizeof(states) / sizeof(states[0]))

static void victim_live(void (*state)(struct victim *victim), int ready)
{
	struct victim victim = { .client = client_open(0, 255) };
	struct overtake_result result;

	ring_open_to_abandon(&victim.ring);
	put_delay(&victim.client, 0, 2 * MS);
	put_copy(&victim.client, 1, 32768, 16384, 8192);
	put_jump(&victim.client, 2, 2); /* for ever */
	state(&victim);
	check_equal(write(ready, "", 1), 1);
	for (;;) {
		state(&victim);
		/* Collects jobs that have ended, to make room. */
		while (!job_wait_any(&victim.client, 0, &result))
			;
		io_uring_get_events(&victim.ring);
		io_uring_cq_advance(&victim.ring, io_uring_cq_ready(&victim.ring));
	}
}

/* Starts a victim, and waits until it is in its state. */
static pid_t victim_start(void (*state)(struct victim *victim))
{
	int pipes[2];
	char byte;
	pid_t pid;

	check_equal(pipe(pipes), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		victim_live(state, pipes[1]);
	close(pipes[1]);
	check_message(read(pipes[0], &byte, 1) == 1, "the victim ended by itself");
	close(pipes[0]);
	return pid;
}

static unsigned int rounds(void)
{
	const char *factor = getenv("KMOD_ROUNDS");

	return factor ? (unsigned int)strtoul(factor, NULL, 10) : 3;
}

static void killed_in_every_state(void)
{
	unsigned long long before = 0, after;
	unsigned int seed = 3, round, kills = 0;
	pid_t neighbour = neighbour_start();
	size_t state;

	for (round = 0; round < rounds(); round++) {
		for (state = 0; state < STATE_COUNT; state++) {
			pid_t victim = victim_start(states[state]);

			usleep((unsigned int)rand_r(&seed) % 5000);
			load_kill(victim);
			kills++;
		}
		/* Caches are full after a quarter of the rounds. */
		if (round == rounds() / 4)
			before = meminfo_kib("MemAvailable");
	}
	neighbour_stop(neighbour);
	wait_until_forgotten();
	after = meminfo_kib("MemAvailable");
	printf("# %u kills; memory available: %llu KiB, at the end %llu KiB\n", kills, before,
	       after);
	fflush(stdout);
	check_message(after + MEMORY_NOISE_KIB >= before, "%llu KiB are gone", before - after);
}

const struct test_case soak_cases[] = {
	{ "soak-killed-in-every-state", BOTH, killed_in_every_state },
	{ 0 },
};
