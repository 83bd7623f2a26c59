// SPDX-License-Identifier: MIT
/*
 * Fair devices: contexts take turns below priority 255 (docs/reference/scenarios.md, "Fair").  The
 * tests check the exact order on the manual clock, and its use beside a neighbour with many jobs.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "load.h"

#define MANUAL		"cores=1 mode=timed profile=ideal manual_clock=1"
#define TIMED		"cores=1 mode=timed profile=ideal queue_timeout_ms=1000"
#define QUOTA		"fair=1 quota_ms=100"
#define MANUAL_QUOTA	MANUAL " queue_timeout_ms=60000 " QUOTA
#define US		1000ull
#define MS		1000000ull
#define SECOND		(1000 * MS)
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

/* Runs two contexts, the first of weight 2, with four FCs of 100 us each, all at START_NS. */
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

/* The order of the contexts is 1 1 2 1 1 2 2 2. */
static void contexts_take_turns_by_weight(void)
{
	struct overtake_result first, second;

	two_contexts(&first, &second);
	check_equal(first.start_ns, START_NS);
	check_equal(first.end_ns, START_NS + 500 * US);
	check_equal(second.start_ns, START_NS + 200 * US);
	check_equal(second.end_ns, START_NS + 800 * US);
}

/* The order of the contexts is 1 1 1 1 2 2 2 2. */
static void first_come_first_served_unless_asked(void)
{
	struct overtake_result first, second;

	two_contexts(&first, &second);
	check_equal(first.end_ns, START_NS + 400 * US);
	check_equal(second.start_ns, START_NS + 400 * US);
	check_equal(second.end_ns, START_NS + 800 * US);
}

/* When a context dies, the other one gets all further turns. */
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

/* Starts an unprivileged client that has a pile of jobs until it is killed. */
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

/* Copies 8 bytes beside the pile, with the default deadline; returns the status of the job. */
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

static void a_pile_delays_no_other_context(void)
{
	check_equal(copy_beside_a_pile(), 0);
}

/* Without fair turns, the pile delays the copy beyond its deadline, so the test above can fail. */
static void without_it_a_pile_does(void)
{
	check_equal(copy_beside_a_pile(), -ETIME);
}

static uint64_t busy_ns(const struct client *client)
{
	struct drm_overtake_core_info info;

	device_query_core(client->fd, 1, &info);
	return info.busy_ns;
}

/*
 * FCs take 40 ms, and the quota is 100 ms of a second: three run, of which 20 ms count in the next
 * second, then two, and so on.  The core idles otherwise.  A neighbour runs as if it were alone.
 */
static void a_quota_is_exact(void)
{
	struct client hog = client_open_at_zero(), other = client_open(0, 254);
	struct overtake_result result;
	char path[128];
	uint32_t fc;

	sysfs_path(path, sizeof(path), 0, "quota_ms");
	check_equal(read_counter(path), 100);
	for (fc = 0; fc < 64; fc++)
		put_delay(&hog, fc, 40 * MS);
	put_delay(&other, 0, 5 * MS);
	check_equal(advance_clock(0, START_NS), 0);
	submit_to(&hog, hog.context, 1, 254, 27);
	check_equal(advance_clock(0, START_NS + 119 * MS), 0);
	check_equal(busy_ns(&other), 80 * MS);
	check_equal(advance_clock(0, START_NS + 500 * MS), 0);
	check_equal(busy_ns(&other), 120 * MS);
	check_state_says("quota: 120000000 ns used, rested 1 times, window ends at 1000100000, rests");

	submit_to(&other, other.context, 2, 0, 1);
	check_equal(advance_clock(0, START_NS + 505 * MS + 1), 0);
	collect(&other, other.context, 2, &result);
	check_equal(result.queued_ns, START_NS + 500 * MS);
	check_equal(result.start_ns, START_NS + 500 * MS);
	check_equal(result.end_ns, START_NS + 505 * MS);

	check_equal(advance_clock(0, START_NS + 10 * SECOND), 0);
	check_equal(busy_ns(&other), 10 * 100 * MS + 5 * MS);
	check_equal(advance_clock(0, START_NS + 10 * SECOND + 81 * MS), 0);
	collect(&hog, hog.context, 1, &result);
	check_equal(result.end_ns, START_NS + 10 * SECOND + 80 * MS);
	client_close(&hog);
	client_close(&other);
}

/* Makes a client that rests: one job of 200 ms has run since START_NS, and 10 wait behind it. */
static struct client resting_client(void)
{
	struct client client = client_open_at_zero();
	uint32_t tag;

	put_delay(&client, 0, 200 * MS);
	check_equal(advance_clock(0, START_NS), 0);
	for (tag = 0; tag <= 10; tag++)
		submit_to(&client, client.context, tag, 0, 1);
	check_equal(advance_clock(0, START_NS + 500 * MS), 0);
	check_state_says(", rests");
	return client;
}

/* The clock stands half a second before the end of the window; only a cancel steps it by 1 ns. */
static void who_rests_can_be_ended(void)
{
	struct client client = resting_client();
	struct overtake_result result;

	check_equal(job_cancel(&client, 10), 0);
	check_equal(advance_clock(0, START_NS + 500 * MS + 1), 0);
	check_equal(job_wait(&client, 10, OVERTAKE_DEADLINE_NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(context_destroy(client.fd, client.context), 0);
	client_close(&client);
	wait_until_forgotten();

	client = resting_client();
	client_close(&client);
	wait_until_forgotten();

	client = resting_client();
	device_bind(0, "unbind");
	device_bind(0, "bind");
	client_close(&client);
}

static uint64_t device_now(const struct client *client)
{
	struct drm_overtake_device_info info;

	device_query(client->fd, &info);
	return info.device_time_ns;
}

/*
 * On the real clock, in device time: a hog gets 100 ms of each second that has passed, one FC more
 * or two less (FCs count when they end, and a busy host may be late).  A job of another client
 * waits at most as long.  A busy host may stretch FCs beyond their modelled time.
 */
static void a_quota_leaves_neighbours_alone(void)
{
	const uint64_t quota_ns = 100 * MS, fc_ns = 20 * MS;
	struct client client = client_open(0, 254);
	uint64_t begin_ns = device_now(&client), piled_ns, end_ns, busy;
	pid_t hog = neighbour_with_a_pile();
	struct overtake_result result;
	unsigned int tag;

	piled_ns = device_now(&client);
	put_delay(&client, 0, 1 * US);
	for (tag = 0; tag < 40; tag++) {
		struct job job;

		usleep(100000);
		job_init(&job, &client, tag, 0, 1);
		check_equal(job_submit(&client, &job), 0);
		check_equal(job_wait(&client, tag, OVERTAKE_DEADLINE_NEVER, &result), 0);
		check_equal(result.status, 0);
		check(result.start_ns - result.queued_ns <=
		      quota_ns + fc_ns + stat_of("stretched_ns"));
	}
	end_ns = device_now(&client);
	busy = busy_ns(&client);
	check_message(busy >= (end_ns - piled_ns) / SECOND * quota_ns - 2 * fc_ns, "%llu ns in %llu",
		      (unsigned long long)busy, (unsigned long long)(end_ns - piled_ns));
	end_ns = device_now(&client);
	check_message(busy <= ((end_ns - begin_ns) / SECOND + 1) * quota_ns + fc_ns + 40 * US +
			      stat_of("stretched_ns"),
		      "%llu ns in %llu", (unsigned long long)busy,
		      (unsigned long long)(end_ns - begin_ns));
	check_equal(kill(hog, SIGKILL), 0);
	check_equal(waitpid(hog, NULL, 0), hog);
	client_close(&client);
	wait_until_forgotten();
}

/* The kernel log names the remedy. */
static void a_quota_needs_turns(void)
{
	static const char *const bad[] = {
		"quota_ms=100", "quota_ms=1000 fair=1", "devices=2 quota_ms=1 fair=1,0",
	};
	size_t i;

	check_equal(write_file("/dev/kmsg", "overtake-test: expect quota_ms: not 0\\.\\.999$\n"), 0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect quota_ms: only where contexts "
			       "take turns; add fair=1$\n"), 0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect failed with error -22\n"), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		module_is_refused(bad[i]);
}

const struct test_case fair_cases[] = {
	{ "fair-contexts-take-turns-by-weight", MANUAL " fair=1", contexts_take_turns_by_weight },
	{ "fair-only-if-asked", MANUAL, first_come_first_served_unless_asked },
	{ "fair-a-context-that-dies-leaves-the-circle", MANUAL " fair=1",
	  a_context_that_dies_leaves_the_circle },
	{ "fair-a-pile-delays-no-other-context", TIMED " fair=1", a_pile_delays_no_other_context },
	{ "fair-without-it-a-pile-does", TIMED, without_it_a_pile_does },
	{ "fair-a-quota-is-exact", MANUAL_QUOTA, a_quota_is_exact },
	{ "fair-a-resting-context-can-be-ended", MANUAL_QUOTA, who_rests_can_be_ended },
	{ "fair-a-quota-leaves-neighbours-alone", TIMED " " QUOTA, a_quota_leaves_neighbours_alone },
	{ "fair-a-quota-needs-turns", NULL, a_quota_needs_turns },
	{ 0 },
};
