// SPDX-License-Identifier: MIT
/*
 * Devices that are fair: contexts take turns below priority 255 (docs/scenarios.md, "Fair").  The order
 * is exact on the manual clock; what it is worth shows beside a neighbour with a pile of jobs.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define MANUAL		"cores=1 mode=timed profile=ideal manual_clock=1"
#define TIMED		"cores=1 mode=timed profile=ideal queue_timeout_ms=1000"
#define US		1000ull
#define MS		1000000ull
#define START_NS	(100 * US)
#define NOBODY		65534
#define PILE		1000u	/* jobs of 20 ms */

static void submit_to(const struct client *client, uint32_t context, uint64_t tag,
		      unsigned int priority, uint32_t fc_count)
{
	struct job job;

	job_init(&job, client, tag, 0, fc_count);
	job.submit.context_id = context;
	job.submit.priority = (uint16_t)priority;
	job.submit.core = 1;
	check_equal(job_submit(client, &job), 0);
}

static void collect(const struct client *client, uint32_t context, uint64_t tag,
		    struct overtake_result *result)
{
	struct client of_context = *client;

	of_context.context = context;
	check_equal(job_wait(&of_context, tag, 0, result), 0);
	check_equal(result->status, 0);
}

/* Two contexts, the first of weight 2, with four FCs of 100 us each, all at START_NS. */
static void two_contexts(struct overtake_result *first, struct overtake_result *second)
{
	struct client client = client_open(0, 254);
	uint32_t other, fc;

	check_equal(context_create(client.fd, 254, 0, &other), 0);
	for (fc = 0; fc < 4; fc++)
		put_delay(&client, fc, 100 * US);
	check_equal(advance_clock(0, START_NS), 0);
	submit_to(&client, client.context, 1, 32, 4);
	submit_to(&client, other, 2, 0, 4);
	check_equal(advance_clock(0, START_NS + 10000 * US), 0);
	collect(&client, client.context, 1, first);
	collect(&client, other, 2, second);
	check_equal(context_destroy(client.fd, other), 0);
	client_close(&client);
}

/* 1 1 2 1 1 2 2 2 */
static void contexts_take_turns_by_weight(void)
{
	struct overtake_result first, second;

	two_contexts(&first, &second);
	check_equal(first.start_ns, START_NS);
	check_equal(first.end_ns, START_NS + 500 * US);
	check_equal(second.start_ns, START_NS + 200 * US);
	check_equal(second.end_ns, START_NS + 800 * US);
}

/* 1 1 1 1 2 2 2 2 */
static void first_come_first_served_unless_asked(void)
{
	struct overtake_result first, second;

	two_contexts(&first, &second);
	check_equal(first.end_ns, START_NS + 400 * US);
	check_equal(second.start_ns, START_NS + 400 * US);
	check_equal(second.end_ns, START_NS + 800 * US);
}

/* The context of a job is the one that it is submitted to: files make no difference. */
static void a_context_that_dies_leaves_the_circle(void)
{
	struct client first = client_open(0, 254), second = client_open(0, 254);
	struct overtake_result result;
	uint32_t fc;

	for (fc = 0; fc < 4; fc++) {
		put_delay(&first, fc, 100 * US);
		put_delay(&second, fc, 100 * US);
	}
	check_equal(advance_clock(0, START_NS), 0);
	submit_to(&first, first.context, 1, 254, 4);
	submit_to(&second, second.context, 2, 254, 4);
	check_equal(advance_clock(0, START_NS + 150 * US), 0);
	client_close(&first);
	check_equal(advance_clock(0, START_NS + 10000 * US), 0);
	collect(&second, second.context, 2, &result);
	check_equal(result.end_ns - result.start_ns, 400 * US);
	check(result.end_ns <= START_NS + 600 * US);
	client_close(&second);
}

/* An unprivileged client with a pile of jobs, until it is killed. */
static pid_t neighbour_with_a_pile(void)
{
	struct client client;
	int ready[2];
	uint32_t i;
	pid_t child;
	char byte;

	check_equal(chmod("/dev/accel/accel0", 0666), 0);
	check_equal(pipe(ready), 0);
	child = fork();
	check(child >= 0);
	if (child) {
		close(ready[1]);
		check_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		return child;
	}
	check_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
	check_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
	client = client_open(0, 254);
	put_delay(&client, 0, 20 * MS);
	for (i = 0; i < PILE; i++) {
		struct job job;

		job_init(&job, &client, i, 0, 1);
		job.submit.priority = 254;
		job.submit.deadline_ns = (uint64_t)monotonic_ns() + 60000 * MS;
		check_equal(job_submit(&client, &job), 0);
	}
	check_equal(write(ready[1], "r", 1), 1);
	for (;;)
		pause();
}

/* 8 bytes beside the pile, with the deadline that every job has by default; its status. */
static int copy_beside_a_pile(void)
{
	pid_t neighbour = neighbour_with_a_pile();
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_copy(&client, 0, 8, 0, 8);
	memset(client.data.data, 0x5a, 8);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, OVERTAKE_DEADLINE_NEVER, &result), 0);
	check_equal(kill(neighbour, SIGKILL), 0);
	check_equal(waitpid(neighbour, NULL, 0), neighbour);
	client_close(&client);
	return result.status;
}

static void a_pile_delays_nobody(void)
{
	check_equal(copy_beside_a_pile(), 0);
}

/* So the test above can fail. */
static void without_it_a_pile_does(void)
{
	check_equal(copy_beside_a_pile(), -ETIME);
}

const struct test_case fair_cases[] = {
	{ "fair-contexts-take-turns-by-weight", MANUAL " fair=1", contexts_take_turns_by_weight },
	{ "fair-only-if-asked", MANUAL, first_come_first_served_unless_asked },
	{ "fair-a-context-that-dies-leaves-the-circle", MANUAL " fair=1",
	  a_context_that_dies_leaves_the_circle },
	{ "fair-a-pile-delays-nobody", TIMED " fair=1", a_pile_delays_nobody },
	{ "fair-without-it-a-pile-does", TIMED, without_it_a_pile_does },
	{ 0 },
};
