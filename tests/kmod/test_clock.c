// SPDX-License-Identifier: MIT
/*
 * Promises in the host's time beside clients whose FCs take the host much longer than the device:
 * real clock, every mode, ordinary clients.  The tests print times; they assert only that jobs end,
 * while the hog would go on for minutes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "load.h"
#include "ring.h"
#include "stalled_page.h"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define SECOND		1000000000ll
/* The watchdog takes minutes, so that the clock has to act. */
#define CLOCK(mode)	"cores=2 mode=" mode " watchdog_ms=600000 fc_clock_ms=100 ban_offences=0"
/* Here the clock takes minutes, too. */
#define LONG_CLOCK(mode) \
	"cores=2 mode=" mode " watchdog_ms=600000 fc_clock_ms=600000 stop_grace_ms=20 " \
	"queue_timeout_ms=600000 deadline_max_ms=600000"

/* Submits an FC on @core that executes until it is stopped. */
static void hog(struct client *client, uint64_t tag, uint32_t core, int64_t deadline_ns)
{
	struct job job;

	put_jump(client, 0, 0);
	job_init(&job, client, tag, 0, 1);
	job.submit.core = core;
	job.submit.deadline_ns = deadline_ns;
	check_equal(job_submit(client, &job), 0);
}

static void copy_submit(struct client *client, uint64_t tag, uint32_t core)
{
	struct job job;

	put_copy(client, 1, 16384, 0, 64);
	job_init(&job, client, tag, 1, 1);
	job.submit.core = core;
	check_equal(job_submit(client, &job), 0);
}

static void say(const char *what, int64_t since_ns)
{
	printf("# %s after %lld ms\n", what, (long long)(monotonic_ns() - since_ns) / 1000000);
	fflush(stdout);
}

static void an_fc_ends_when_its_clock_runs_out(void)
{
	struct client hostile = client_open(0, 254);
	struct client neighbour = client_open(0, 254);
	struct overtake_result result;
	int64_t begin = monotonic_ns();

	hog(&hostile, 1, 1, 0);
	copy_submit(&neighbour, 1, 1);
	check_equal(job_wait(&hostile, 1, NEVER, &result), 0);
	say("the FC ended", begin);
	check_equal(result.status, -ETIMEDOUT);
	check_equal(result.fault, OVERTAKE_FAULT_CLOCK);
	check_equal(job_wait(&neighbour, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&hostile);
	client_close(&neighbour);
}

static void a_cancel_stops_an_fc_that_goes_on(void)
{
	struct client hostile = client_open(0, 254);
	struct overtake_result result;
	int64_t begin;

	hog(&hostile, 1, 1, 0);
	wait_until_busy(1);
	begin = monotonic_ns();
	check_equal(job_cancel(&hostile, 1), 0);
	check_equal(job_wait(&hostile, 1, begin + 120 * SECOND, &result), 0);
	say("the cancelled FC ended", begin);
	check_equal(result.status, -ECANCELED);
	check_equal(result.fault, OVERTAKE_FAULT_STOPPED);
	client_close(&hostile);
}

static void a_deadline_stops_an_fc_that_goes_on(void)
{
	struct client hostile = client_open(0, 254);
	struct overtake_result result;
	int64_t begin = monotonic_ns();

	hog(&hostile, 1, 1, begin + SECOND / 10);
	check_equal(job_wait(&hostile, 1, begin + 120 * SECOND, &result), 0);
	say("the FC whose deadline passed ended", begin);
	check_equal(result.status, -ETIME);
	check_equal(result.fault, OVERTAKE_FAULT_STOPPED);
	client_close(&hostile);
}

/* A cancelled FC that ends within the grace ends normally. */
static void a_cancel_lets_an_fc_end_that_ends_soon(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 300000000); /* 300 ms at 1 GHz: holds its core, executes nothing */
	put_delay(&client, 1, 300000000);
	job_init(&job, &client, 1, 0, 2);
	job.submit.core = 1;
	check_equal(job_submit(&client, &job), 0);
	wait_until_busy(1);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(result.fault, OVERTAKE_FAULT_NONE);
	check_equal(result.fcs_done, 1);
	/* The FC took its modelled time and the fixed costs: it was not stopped. */
	check(result.executed_ns >= 300000000 && result.executed_ns < 300100000);
	client_close(&client);
}

/* In the timed modes device time stands until the hog is priced: no other client waits for this. */
static void others_go_on_while_device_time_stands(void)
{
	struct client hostile = client_open(0, 254);
	struct client neighbour = client_open(0, 254);
	struct overtake_result result;
	uint64_t lagged;
	int64_t begin;

	hog(&hostile, 1, 1, 0);
	wait_until_busy(1);
	lagged = stat_of("lagged_commands");
	begin = monotonic_ns();
	/* The cancel of a job behind the hog does not wait. */
	copy_submit(&neighbour, 1, 1);
	check_equal(job_cancel(&neighbour, 1), 0);
	check_equal(job_wait(&neighbour, 1, begin + 120 * SECOND, &result), 0);
	say("a neighbour's cancel was answered", begin);
	check_equal(result.status, -ECANCELED);
	check(stat_of("lagged_commands") > lagged);
	/* A job runs beside the hog, on another core. */
	begin = monotonic_ns();
	copy_submit(&neighbour, 2, 2);
	check_equal(job_wait(&neighbour, 2, begin + 120 * SECOND, &result), 0);
	say("a neighbour's job on another core ended", begin);
	check_equal(result.status, 0);
	/* The end of its context stops the hog, which took longer than its modelled time. */
	begin = monotonic_ns();
	check_equal(context_destroy(hostile.fd, hostile.context), 0);
	say("the hog's context was destroyed", begin);
	client_close(&hostile);
	client_close(&neighbour);
}

/* After kill -9 of a process with jobs on all cores, its jobs are gone, and other jobs start. */
static void a_killed_hog_is_gone(void)
{
	struct client neighbour = client_open(0, 254);
	struct overtake_result result;
	int64_t begin;
	pid_t pid;
	int i;

	pid = fork();
	check(pid >= 0);
	if (!pid) {
		struct client hostile = client_open(0, 254);

		for (i = 0; i < 200; i++)
			hog(&hostile, (uint64_t)i + 1, (uint32_t)i % 2 + 1, NEVER);
		pause();
		_exit(0);
	}
	wait_until_busy(1);
	wait_until_busy(2);
	copy_submit(&neighbour, 1, 1);
	begin = monotonic_ns();
	check_equal(kill(pid, SIGKILL), 0);
	check_equal(waitpid(pid, NULL, 0), pid);
	say("kill -9 returned", begin);
	check_equal(job_wait(&neighbour, 1, begin + 120 * SECOND, &result), 0);
	say("who waited behind it ended", begin);
	check_equal(result.status, 0);
	client_close(&neighbour);
	wait_until_forgotten();
}

#define ENDED_JOBS	20000u
#define AT_ONCE		200u

/* Runs copies in the buffers of the hog, on the other core, and collects all of them. */
static void run_and_collect(struct client *client, uint64_t tag)
{
	struct overtake_result result;
	struct job job;
	uint32_t i;

	for (i = 0; i < AT_ONCE; i++) {
		job_init(&job, client, tag + i, 1, 1);
		job.submit.core = 2;
		check_equal(job_submit(client, &job), 0);
	}
	for (i = 0; i < AT_ONCE; i++) {
		check_equal(job_wait_any(client, NEVER, &result), 0);
		check_equal(result.status, 0);
	}
}

/* KASAN keeps freed memory for a while, up to a share of all memory. */
static bool kernel_keeps_freed_memory(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	bool found = false;
	char symbol[256];

	check(symbols);
	while (!found && fscanf(symbols, "%*s %*c %255s%*[^\n]", symbol) == 1)
		found = !strcmp(symbol, "kasan_quarantine_put");
	fclose(symbols);
	return found;
}

/* An ordinary client ends many uses of a buffer behind a use that has not ended. */
static void what_has_ended_does_not_accumulate(void)
{
	struct overtake_result result;
	uint64_t fences, bytes, slab, i;
	struct client client;

	be_nobody();
	client = client_open(0, 254);
	hog(&client, 1, 1, NEVER);
	be_root();
	wait_until_busy(1);
	put_copy(&client, 1, 16384, 0, 64);
	run_and_collect(&client, 2);
	fences = stat_of("fences");
	bytes = limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	slab = meminfo_kib("Slab");
	for (i = 0; i < ENDED_JOBS; i += AT_ONCE)
		run_and_collect(&client, 1000 + i);
	printf("# fences %llu, then %llu; slab %llu KiB, then %llu\n", (unsigned long long)fences,
	       (unsigned long long)stat_of("fences"), (unsigned long long)slab,
	       (unsigned long long)meminfo_kib("Slab"));
	fflush(stdout);
	check_message(stat_of("fences") < fences + AT_ONCE, "%llu fences, %llu before %u jobs",
		      (unsigned long long)stat_of("fences"), (unsigned long long)fences, ENDED_JOBS);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES), bytes);
	/* A use takes more than 100 bytes, and a fence too; the kernel has other allocations. */
	if (kernel_keeps_freed_memory())
		puts("# KASAN keeps what is freed: the slab is not compared");
	else
		check(meminfo_kib("Slab") < slab + ENDED_JOBS * 100 / 1024);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	client_close(&client);
	wait_until_forgotten();
	check_equal(stat_of("fences"), 0);
}

/* Returns the nice value of the thread of @core, from /proc. */
static long nice_of_core(unsigned int core)
{
	char path[64], text[1024], wanted[32];
	long nice = 100;
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	check(processes);
	snprintf(wanted, sizeof(wanted), "(overtake0/%u)", core);
	while ((entry = readdir(processes))) {
		snprintf(path, sizeof(path), "/proc/%.20s/stat", entry->d_name);
		if (!read_file(path, text, sizeof(text)) && strstr(text, wanted))
			check_equal(sscanf(strchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u "
					   "%*u %*u %*u %*u %*d %*d %*d %ld", &nice), 1);
	}
	closedir(processes);
	return nice;
}

static void wait_for_nice(unsigned int core, long nice)
{
	int attempt;

	for (attempt = 0; attempt < 1000 && nice_of_core(core) != nice; attempt++)
		usleep(10000);
	check_equal(nice_of_core(core), nice);
}

/* An FC for which HIGH waits gets the CPU like HIGH; an FC for which only NORMAL waits does not. */
static void a_core_is_as_urgent_as_who_waits(void)
{
	struct client hostile = client_open(0, 254);
	struct client urgent = client_open(0, 255);
	struct job job;

	hog(&hostile, 1, 1, NEVER);
	wait_until_busy(1);
	copy_submit(&urgent, 1, 1);
	check_equal(nice_of_core(1), 0);
	job_init(&job, &urgent, 2, 1, 1);
	job.submit.core = 1;
	job.submit.priority = 255;
	check_equal(job_submit(&urgent, &job), 0);
	wait_for_nice(1, -10);
	check_equal(job_cancel(&urgent, 2), 0);
	wait_for_nice(1, 0);
	client_close(&hostile);
	client_close(&urgent);
}

static void *submit_to_ring(void *argument)
{
	struct io_uring *ring = argument;

	io_uring_submit(ring);
	return NULL;
}

/* An unbind, of this device or another one of DRM, does not wait for a page of a client. */
static void memory_that_does_not_come_holds_up_no_unbind(void)
{
	struct client client = client_open(0, 254);
	struct completion completion;
	struct stalled_page page;
	struct io_uring ring;
	pthread_t thread;
	struct job job;
	int64_t begin;

	stalled_page_make(&page);
	ring_open(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	put_copy(&client, 0, 16384, 0, 64);
	job_init(&job, &client, 1, 0, 1);
	job.submit.fcs = (unsigned long)page.data;
	ring_prepare(&ring, client.fd, OVERTAKE_URING_SUBMIT, &job.submit, sizeof(job.submit), 1);
	check_equal(pthread_create(&thread, NULL, submit_to_ring, &ring), 0);
	stalled_page_wait(&page);
	begin = monotonic_ns();
	device_bind(0, "unbind");
	say("the unbind returned", begin);
	stalled_page_give(&page, &job.fcs[0], sizeof(job.fcs[0]));
	pthread_join(thread, NULL);
	completion = ring_reap(&ring);
	check_equal(completion.status, -ENODEV);
	io_uring_queue_exit(&ring);
	client_close(&client);
	device_bind(0, "bind");
}

const struct test_case clock_cases[] = {
	{ "clock-ends-an-fc-functional", CLOCK("functional"), an_fc_ends_when_its_clock_runs_out },
	{ "clock-ends-an-fc-timed", CLOCK("timed"), an_fc_ends_when_its_clock_runs_out },
	{ "clock-ends-an-fc-both", CLOCK("both"), an_fc_ends_when_its_clock_runs_out },
	{ "clock-cancel-stops-an-fc-functional", LONG_CLOCK("functional"),
	  a_cancel_stops_an_fc_that_goes_on },
	{ "clock-deadline-stops-an-fc-functional", LONG_CLOCK("functional"),
	  a_deadline_stops_an_fc_that_goes_on },
	{ "clock-what-has-ended-does-not-accumulate", LONG_CLOCK("functional"),
	  what_has_ended_does_not_accumulate },
	{ "clock-cancel-stops-an-fc-timed", LONG_CLOCK("timed"),
	  a_cancel_stops_an_fc_that_goes_on },
	{ "clock-deadline-stops-an-fc-timed", LONG_CLOCK("timed"),
	  a_deadline_stops_an_fc_that_goes_on },
	{ "clock-cancel-lets-an-fc-end-that-ends-soon", LONG_CLOCK("timed"),
	  a_cancel_lets_an_fc_end_that_ends_soon },
	{ "clock-others-go-on-while-device-time-stands", LONG_CLOCK("timed"),
	  others_go_on_while_device_time_stands },
	{ "clock-a-killed-hog-is-gone-timed", LONG_CLOCK("timed"), a_killed_hog_is_gone },
	{ "clock-a-killed-hog-is-gone-both", LONG_CLOCK("both"), a_killed_hog_is_gone },
	{ "clock-a-core-is-as-urgent-as-who-waits", LONG_CLOCK("functional"),
	  a_core_is_as_urgent_as_who_waits },
	{ "clock-memory-that-does-not-come-holds-up-no-unbind", LONG_CLOCK("timed"),
	  memory_that_does_not_come_holds_up_no_unbind },
	{ 0 },
};
