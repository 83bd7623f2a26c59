// SPDX-License-Identifier: MIT
/*
 * Suspend and resume with jobs in flight.  The system suspends as usual, up to and including the
 * callbacks of all devices, and then resumes (pm_test).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "load.h"
#include "ring.h"

#define TIMED	"cores=2 mode=timed profile=ideal watchdog_ms=60000"
#define MANUAL	"cores=1 mode=timed profile=ideal manual_clock=1"
#define LOADED	"cores=2 mode=functional watchdog_ms=2 ban_offences=0"
#define LOADED_BOTH "cores=2 mode=both watchdog_ms=5 ban_offences=0"
#define THREE	"devices=3 cores=1,2,3 mode=timed,functional,both profile=ideal"
#define TRACING	"/sys/kernel/tracing/"
#define MS	1000000ull
#define NEVER	OVERTAKE_DEADLINE_NEVER
#define JOBS	12u
#define FCS	4u
/* Instructions of 0.9 s in one FC; a suspend waits for 5 s. */
#define LONG	10u

static void need_suspend(void)
{
	char text[64];

	if (read_file("/sys/power/state", text, sizeof(text)) || !strstr(text, "freeze") ||
	    access("/sys/power/pm_test", W_OK))
		check_skip("this kernel cannot test suspend");
	check_equal(write_file("/sys/power/pm_test", "devices"), 0);
	check_equal(write_file("/sys/module/suspend/parameters/pm_test_delay", "1"), 0);
}

/* Returns 0 after the resume, or -errno of the refused suspend. */
static int suspend(void)
{
	return write_file("/sys/power/state", "freeze");
}

static void trace_begin(void)
{
	check_equal(write_file(TRACING "trace", " "), 0);
	check_equal(write_file(TRACING "set_event", "power:suspend_resume"), 0);
	check_equal(write_file(TRACING "set_event", "overtake:fc_start"), 0);
	check_equal(write_file(TRACING "set_event", "overtake:fc_done"), 0);
	check_equal(write_file(TRACING "tracing_on", "1"), 0);
}

/**
 * struct seen - numbers of FCs in the trace
 * @before: FCs that started before the devices were suspended
 * @asleep: FCs that started or ended while the devices were suspended
 * @after: FCs that started after that
 */
struct seen {
	unsigned int before, asleep, after;
};

static void trace_end(struct seen *seen)
{
	bool asleep = false, awake_again = false;
	char line[1024];
	FILE *trace;

	check_equal(write_file(TRACING "events/enable", "0"), 0);
	trace = fopen(TRACING "trace", "r");
	check(trace);
	memset(seen, 0, sizeof(*seen));
	while (fgets(line, sizeof(line), trace)) {
		if (strstr(line, "dpm_suspend[") && strstr(line, " end"))
			asleep = true;
		else if (strstr(line, "dpm_resume[") && strstr(line, " begin"))
			asleep = false, awake_again = true;
		else if (asleep && (strstr(line, "fc_start:") || strstr(line, "fc_done:")))
			seen->asleep++;
		else if (strstr(line, "fc_start:"))
			*(awake_again ? &seen->after : &seen->before) += 1;
	}
	fclose(trace);
	check(awake_again && !asleep);
}

static void submit_delays(struct client *client, struct io_uring *ring)
{
	struct job job;
	unsigned int i;

	put_delay(client, 0, 20 * MS);
	put_delay(client, 1, 20 * MS);
	put_delay(client, 2, 20 * MS);
	put_delay(client, 3, 20 * MS);
	for (i = 0; i < JOBS; i++) {
		job_init(&job, client, i + 1, 0, FCS);
		job.submit.priority = i % 3 ? 10 : 255;
		check_equal(job_submit(client, &job), 0);
		job_init(&job, client, 100 + i, 0, FCS);
		ring_submit_job(ring, client, &job);
	}
}

static void collect_delays(struct client *client, struct io_uring *ring)
{
	struct overtake_result result;
	struct completion completion;
	unsigned int i;

	for (i = 0; i < JOBS; i++) {
		check_equal(job_wait(client, i + 1, NEVER, &result), 0);
		check_equal(result.status, 0);
		check_equal(result.fcs_done, FCS);
		check_equal(result.executed_ns, FCS * 20 * MS);
		completion = ring_reap(ring);
		check_equal(completion.status, 0);
		check_equal(completion.executed_ns, FCS * 20 * MS);
	}
}

/* 24 jobs on two cores, a second of work: the suspend comes in its middle. */
static void suspend_holds_the_cores(void)
{
	struct client client;
	struct io_uring ring;
	struct seen seen;

	need_suspend();
	client = client_open(0, 255);
	ring_open_default(&ring);
	trace_begin();
	submit_delays(&client, &ring);
	check_equal(suspend(), 0);
	collect_delays(&client, &ring);
	trace_end(&seen);
	check_message(seen.before >= 2 && !seen.asleep && seen.after >= 2 &&
		      seen.before + seen.after == 2 * JOBS * FCS,
		      "FCs: %u before, %u asleep, %u after", seen.before, seen.asleep, seen.after);
	io_uring_queue_exit(&ring);
	client_close(&client);
	wait_until_forgotten();
}

static void clients_compute_right_over_suspends(void)
{
	pid_t neighbour, loads[2];
	unsigned int i;

	need_suspend();
	neighbour = neighbour_start();
	for (i = 0; i < 2; i++)
		loads[i] = load_start(60 + i);
	for (i = 0; i < 3; i++)
		check_equal(suspend(), 0);
	for (i = 0; i < 2; i++)
		load_kill(loads[i]);
	neighbour_stop(neighbour);
	wait_until_forgotten();
}

static void devices_suspend_together(void)
{
	struct client clients[3];
	struct io_uring rings[3];
	unsigned int i;

	need_suspend();
	for (i = 0; i < 3; i++) {
		struct job job;

		clients[i] = client_open(i, 255);
		ring_open_default(&rings[i]);
		put_copy(&clients[i], 0, 8192, 0, 4096);
		put_delay(&clients[i], 1, 50 * MS);
		job_init(&job, &clients[i], 1, 0, 2);
		ring_submit_job(&rings[i], &clients[i], &job);
		job_init(&job, &clients[i], 2, 0, 2);
		check_equal(job_submit(&clients[i], &job), 0);
	}
	check_equal(suspend(), 0);
	for (i = 0; i < 3; i++) {
		struct overtake_result result;

		check_equal(ring_reap(&rings[i]).status, 0);
		check_equal(job_wait(&clients[i], 2, NEVER, &result), 0);
		check_equal(result.status, 0);
		check_equal(result.fcs_done, 2);
		io_uring_queue_exit(&rings[i]);
		client_close(&clients[i]);
	}
}

static void manual_clock_stands_still(void)
{
	struct overtake_result result;
	struct client client;
	struct job job;
	char path[128];

	need_suspend();
	client = client_open(0, 254);
	put_delay(&client, 0, 1000);
	put_delay(&client, 1, 500);
	check_equal(advance_clock(0, 100), 0);
	job_init(&job, &client, 1, 0, 2);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 600), 0); /* in the middle of the first FC */
	check_equal(suspend(), 0);
	debugfs_path(path, sizeof(path), 0, "clock");
	check_equal(read_counter(path), 600);
	check_equal(job_wait(&client, 1, 0, &result), -ETIMEDOUT);
	check_equal(advance_clock(0, 2000), 0);
	check_equal(job_wait(&client, 1, 0, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.start_ns, 100);
	check_equal(result.end_ns, 1600);
	client_close(&client);
}

/* pm_test lets the clock run while the devices are suspended, so deadlines pass meanwhile. */
static void deadlines_go_on(void)
{
	struct overtake_result result;
	struct client client;
	struct job job;

	need_suspend();
	client = client_open(0, 254);
	put_delay(&client, 0, 500 * MS);
	put_delay(&client, 1, 1 * MS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 1;
	check_equal(job_submit(&client, &job), 0);
	/* This job is behind the first one, and could start after 500 ms at the earliest. */
	job_init(&job, &client, 2, 1, 1);
	job.submit.core = 1;
	job.submit.deadline_ns = monotonic_ns() + 400 * (int64_t)MS;
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 3, 1, 1);
	job.submit.core = 1;
	check_equal(job_submit(&client, &job), 0);
	check_equal(suspend(), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.executed_ns, 500 * MS);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	check_equal(result.status, -ETIME);
	check_equal(result.fcs_done, 0);
	check_equal(job_wait(&client, 3, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

/* An FC that does not end in time makes the driver refuse the suspend, and ends as usual. */
static void long_fc_refuses_suspend(void)
{
	struct overtake_result result;
	struct client client;
	struct job job;
	uint32_t i;

	need_suspend();
	/* Readers of the kernel log must not count these messages as complaints. */
	check_equal(write_file("/dev/kmsg", "overtake-test: expect overtake overtake.0: PM: "
			       ".*(error|returns) -16\n"), 0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect PM: Some devices failed to "
			       "suspend\n"), 0);
	client = client_open(0, 254);
	for (i = 0; i < LONG; i++)
		put_delay(&client, i, 900 * MS);
	put_delay(&client, LONG, 1 * MS);
	job_init(&job, &client, 1, 0, 1);
	job.fcs[0].insn_count = LONG;
	job.submit.core = 1;
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, LONG, 1);
	job.submit.core = 1;
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	check_equal(suspend(), -EBUSY);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.executed_ns, LONG * 900 * MS);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

const struct test_case power_cases[] = {
	{ "power-suspend-holds-the-cores", TIMED, suspend_holds_the_cores },
	{ "power-deadlines-go-on", TIMED, deadlines_go_on },
	{ "power-long-fc-refuses-suspend", TIMED, long_fc_refuses_suspend },
	{ "power-devices-suspend-together", THREE, devices_suspend_together },
	{ "power-manual-clock-stands-still", MANUAL, manual_clock_stands_still },
	{ "power-clients-compute-right-over-suspends", LOADED,
	  clients_compute_right_over_suspends },
	{ "power-clients-compute-right-over-suspends-both", LOADED_BOTH,
	  clients_compute_right_over_suspends },
	{ 0 },
};
