// SPDX-License-Identifier: MIT
/*
 * Order and times of FCs, exactly, on the manual clock: 1000 cycles of the ideal profile are 1 us.
 * Scenarios of FCs alone run elsewhere; these tests are for the driver's additions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define MANUAL		"cores=1 mode=timed profile=ideal manual_clock=1"
#define MANUAL_TWO	"cores=2 mode=timed profile=ideal manual_clock=1"
#define US		1000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER

/* Device time 0 means "never" in results; tests begin later. */
#define START_NS	(100 * US)

static uint64_t start_clock(const struct client *client)
{
	struct drm_overtake_device_info info;
	uint64_t now_ns;

	device_query(client->fd, &info);
	check_equal(info.manual_clock, 1);
	now_ns = info.device_time_ns + START_NS;
	check_equal(advance_clock(0, now_ns), 0);
	return now_ns;
}

static void submit(const struct client *client, uint64_t tag, uint32_t first, uint32_t count,
		   unsigned int priority)
{
	struct job job;

	job_init(&job, client, tag, first, count);
	job.submit.priority = (uint16_t)priority;
	job.submit.core = 1;
	check_equal(job_submit(client, &job), 0);
}

static struct overtake_result collect(const struct client *client, uint64_t tag)
{
	struct overtake_result result;

	check_equal(job_wait(client, tag, 0, &result), 0);
	return result;
}

static void set_limit(const char *name, const char *limit)
{
	char path[128];

	sysfs_path(path, sizeof(path), 0, name);
	check_equal(write_file(path, limit), 0);
}

/* NORMAL: 3 FCs of 1000 us; HIGH: 1 of 200 us, arriving 400 us later. */
static struct overtake_result overtake(const struct client *client, uint64_t *start_ns)
{
	*start_ns = start_clock(client);
	put_delay((struct client *)client, 0, 1000 * US);
	put_delay((struct client *)client, 1, 1000 * US);
	put_delay((struct client *)client, 2, 1000 * US);
	put_delay((struct client *)client, 3, 200 * US);
	submit(client, 1, 0, 3, 10);
	check_equal(advance_clock(0, *start_ns + 400 * US), 0);
	submit(client, 2, 3, 1, 255);
	check_equal(advance_clock(0, *start_ns + 10000 * US), 0);
	return collect(client, 2);
}

static void limit_1_lets_high_overtake(void)
{
	struct client client = client_open(0, 255);
	struct drm_overtake_core_info before, after;
	struct overtake_result result;
	uint64_t start_ns;

	set_limit("core_limit", "1");
	device_query_core(client.fd, 1, &before);
	check_equal(before.core_limit, 1);
	result = overtake(&client, &start_ns);
	check_equal(result.queued_ns, start_ns + 400 * US);
	check_equal(result.start_ns, start_ns + 1000 * US);
	check_equal(result.end_ns, start_ns + 1200 * US);
	result = collect(&client, 1);
	check_equal(result.start_ns, start_ns);
	check_equal(result.end_ns, start_ns + 3200 * US);
	check_equal(result.executed_ns, 3000 * US);
	check_equal(result.preemptions, 1);
	device_query_core(client.fd, 1, &after);
	check_equal(after.preemptions - before.preemptions, 1);
	check_equal(after.fcs_high - before.fcs_high, 1);
	check_equal(after.fcs_normal - before.fcs_normal, 3);
	check_equal(after.busy_ns - before.busy_ns, 3200 * US);
	set_limit("core_limit", "0");
	client_close(&client);
}

static void limit_0_lets_nothing_overtake(void)
{
	struct client client = client_open(0, 255);
	struct overtake_result result;
	uint64_t start_ns;

	result = overtake(&client, &start_ns);
	check_equal(result.start_ns, start_ns + 3000 * US);
	result = collect(&client, 1);
	check_equal(result.preemptions, 0);
	client_close(&client);
}

/* HIGH: 6 FCs of 10 us, NORMAL: 2 of 100 us, both from the start: HHN HHN HH. */
static void normal_floor_ends_starvation(void)
{
	struct client client = client_open(0, 255);
	struct overtake_result high, normal;
	uint64_t start_ns = start_clock(&client);
	uint32_t fc;

	set_limit("core_limit", "1");
	set_limit("core1/normal_floor", "2");
	for (fc = 0; fc < 6; fc++)
		put_delay(&client, fc, 10 * US);
	put_delay(&client, 6, 100 * US);
	put_delay(&client, 7, 100 * US);
	submit(&client, 1, 0, 6, 255);
	submit(&client, 2, 6, 2, 10);
	check_equal(advance_clock(0, start_ns + 10000 * US), 0);
	high = collect(&client, 1);
	normal = collect(&client, 2);
	check_equal(normal.start_ns, start_ns + 20 * US);
	check_equal(normal.end_ns, start_ns + 240 * US);
	check_equal(normal.preemptions, 1);
	check_equal(high.end_ns, start_ns + 260 * US);
	set_limit("normal_floor", "0");
	set_limit("core_limit", "0");
	client_close(&client);
}

static void context_request_limits_while_it_lives(void)
{
	struct client client = client_open(0, 255);
	struct drm_overtake_core_info info;
	struct overtake_result result;
	uint32_t loose, tight;
	uint64_t start_ns;

	set_limit("core_limit", "5");
	check_equal(context_create(client.fd, 255, 3, &loose), 0);
	check_equal(context_create(client.fd, 255, 1, &tight), 0);
	device_query_core(client.fd, 1, &info);
	check_equal(info.core_limit, 1);
	result = overtake(&client, &start_ns);
	check_equal(result.start_ns, start_ns + 1000 * US);
	check_equal(context_destroy(client.fd, tight), 0);
	device_query_core(client.fd, 1, &info);
	check_equal(info.core_limit, 3);
	check_equal(context_destroy(client.fd, loose), 0);
	device_query_core(client.fd, 1, &info);
	check_equal(info.core_limit, 5);
	set_limit("core_limit", "0");
	device_query_core(client.fd, 1, &info);
	check_equal(info.core_limit, 0);
	client_close(&client);
}

static void sysfs_limits_are_per_core(void)
{
	struct client client = client_open(0, 255);
	struct drm_overtake_core_info info;
	char path[128];

	set_limit("core_limit", "7");
	set_limit("core2/core_limit", "2");
	sysfs_path(path, sizeof(path), 0, "core1/core_limit");
	check_equal(read_counter(path), 7);
	sysfs_path(path, sizeof(path), 0, "core2/core_limit");
	check_equal(read_counter(path), 2);
	device_query_core(client.fd, 1, &info);
	check_equal(info.core_limit, 7);
	device_query_core(client.fd, 2, &info);
	check_equal(info.core_limit, 2);
	sysfs_path(path, sizeof(path), 0, "core2/core_limit_active");
	check_equal(read_counter(path), 2);
	sysfs_path(path, sizeof(path), 0, "core_limit");
	check_equal(write_file(path, "-1"), -EINVAL);
	check_equal(write_file(path, "many"), -EINVAL);
	set_limit("core_limit", "0");
	client_close(&client);
}

static void cancel_spares_the_running_fc(void)
{
	struct client client = client_open(0, 254);
	uint64_t start_ns = start_clock(&client);
	struct overtake_result result;

	put_delay(&client, 0, 1000 * US);
	put_delay(&client, 1, 1000 * US);
	submit(&client, 1, 0, 2, 0);
	submit(&client, 2, 0, 2, 0);
	check_equal(advance_clock(0, start_ns + 500 * US), 0);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(job_cancel(&client, 1), 0); /* a second cancel does no harm */
	check_equal(advance_clock(0, start_ns + 600 * US), 0);
	check_equal(job_wait(&client, 1, 0, &result), -ETIMEDOUT); /* an FC of the job still runs */
	check_equal(advance_clock(0, start_ns + 5000 * US), 0);
	result = collect(&client, 1);
	check_equal(result.status, -ECANCELED);
	check_equal(result.fcs_done, 1);
	check_equal(result.end_ns, start_ns + 1000 * US);
	result = collect(&client, 2);
	check_equal(result.status, 0);
	check_equal(result.start_ns, start_ns + 1000 * US);
	check_equal(result.end_ns, start_ns + 3000 * US);
	check_equal(job_cancel(&client, 1), -ENOENT);
	client_close(&client);
}

static void cancel_of_a_waiting_job_ends_it_at_once(void)
{
	struct client client = client_open(0, 254);
	uint64_t start_ns = start_clock(&client);
	struct overtake_result result;

	put_delay(&client, 0, 1000 * US);
	submit(&client, 1, 0, 1, 0);
	submit(&client, 2, 0, 1, 0);
	submit(&client, 3, 0, 1, 0);
	check_equal(advance_clock(0, start_ns + 10 * US), 0);
	check_equal(job_cancel(&client, 2), 0);
	check_equal(advance_clock(0, start_ns + 11 * US), 0);
	result = collect(&client, 2);
	check_equal(result.status, -ECANCELED);
	check_equal(result.start_ns, 0);
	check_equal(result.end_ns, start_ns + 10 * US);
	check_equal(advance_clock(0, start_ns + 5000 * US), 0);
	check_equal(collect(&client, 3).end_ns, start_ns + 2000 * US);
	client_close(&client);
}

/* While the clock is manual, deadlines of jobs are device time, and met to the nanosecond. */
static void deadline_is_device_time(void)
{
	struct client client = client_open(0, 254);
	uint64_t start_ns = start_clock(&client);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 1000 * US);
	submit(&client, 1, 0, 1, 0);
	job_init(&job, &client, 2, 0, 1);
	job.submit.core = 1;
	job.submit.deadline_ns = (int64_t)(start_ns + 700 * US);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, start_ns + 5000 * US), 0);
	result = collect(&client, 2);
	check_equal(result.status, -ETIME);
	check_equal(result.end_ns, start_ns + 700 * US);
	check_equal(collect(&client, 1).status, 0);
	client_close(&client);
}

static void one_instant_is_seen_whole(void)
{
	struct client client = client_open(0, 255);
	uint64_t start_ns;

	set_limit("core_limit", "1");
	start_ns = start_clock(&client);
	put_delay(&client, 0, 1000 * US);
	/* NORMAL first, HIGH second, at one instant: HIGH runs first. */
	submit(&client, 1, 0, 1, 0);
	submit(&client, 2, 0, 1, 255);
	check_equal(advance_clock(0, start_ns + 5000 * US), 0);
	check_equal(collect(&client, 2).start_ns, start_ns);
	check_equal(collect(&client, 1).start_ns, start_ns + 1000 * US);
	set_limit("core_limit", "0");
	client_close(&client);
}

static void clock_does_not_run_back(void)
{
	struct client client = client_open(0, 254);
	uint64_t start_ns = start_clock(&client);

	check_equal(advance_clock(0, start_ns - 1), -EINVAL);
	check_equal(advance_clock(0, start_ns), 0);
	client_close(&client);
}

static void clock_switches_while_no_file_is_open(void)
{
	char path[128];
	struct client client;
	struct drm_overtake_device_info info;

	debugfs_path(path, sizeof(path), 0, "manual_clock");
	client = client_open(0, 254);
	check_equal(write_file(path, "0"), -EBUSY);
	client_close(&client);
	check_equal(write_file(path, "0"), 0);
	check_equal(advance_clock(0, 1000), -EPERM);
	client = client_open(0, 254);
	device_query(client.fd, &info);
	check_equal(info.manual_clock, 0);
	client_close(&client);
	check_equal(write_file(path, "1"), 0);
	client = client_open(0, 254);
	device_query(client.fd, &info);
	check_equal(info.manual_clock, 1);
	check_equal(info.device_time_ns, 0);
	client_close(&client);
}

/* The clock is not stepped any more: contexts must die all the same. */
static void destroy_does_not_wait_for_the_clock(void)
{
	struct client client = client_open(0, 254);
	uint64_t start_ns = start_clock(&client);

	put_delay(&client, 0, 1000 * US);
	submit(&client, 1, 0, 1, 0);
	submit(&client, 2, 0, 1, 0);
	check_equal(advance_clock(0, start_ns + 100 * US), 0);
	check_equal(context_destroy(client.fd, client.context), 0);
	client_close(&client);
	client = client_open(0, 254);
	put_delay(&client, 0, 1000 * US);
	submit(&client, 1, 0, 1, 0);
	client_close(&client); /* with a job in flight */
}

static void reset_ends_only_what_runs(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_core_info before, after;
	uint64_t start_ns = start_clock(&client);
	struct overtake_result result;
	struct job job;
	char path[128];

	debugfs_path(path, sizeof(path), 0, "reset");
	device_query_core(client.fd, 1, &before);
	put_delay(&client, 0, 1000 * US);
	submit(&client, 1, 0, 1, 0);
	submit(&client, 2, 0, 1, 0);
	job_init(&job, &client, 3, 0, 1);
	job.submit.core = 2;
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, start_ns + 500 * US), 0);
	check_equal(write_file(path, "1"), 0);
	check_equal(write_file(path, "3"), -EINVAL);
	check_equal(write_file(path, "0"), -EINVAL);
	check_equal(advance_clock(0, start_ns + 5000 * US), 0);
	result = collect(&client, 1);
	check_equal(result.status, -EIO);
	check_equal(result.fault, OVERTAKE_FAULT_RESET);
	check_equal(result.end_ns, start_ns + 500 * US);
	result = collect(&client, 2);
	check_equal(result.status, 0);
	check_equal(result.start_ns, start_ns + 500 * US);
	result = collect(&client, 3);
	check_equal(result.status, 0);
	check_equal(result.end_ns, start_ns + 1000 * US);
	device_query_core(client.fd, 1, &after);
	check_equal(after.resets - before.resets, 1);
	client_close(&client);
}

const struct test_case schedule_cases[] = {
	{ "schedule-limit-1-lets-high-overtake", MANUAL, limit_1_lets_high_overtake },
	{ "schedule-limit-0-lets-nothing-overtake", MANUAL, limit_0_lets_nothing_overtake },
	{ "schedule-normal-floor-ends-starvation", MANUAL, normal_floor_ends_starvation },
	{ "schedule-context-request-limits-while-it-lives", MANUAL,
	  context_request_limits_while_it_lives },
	{ "schedule-cancel-spares-the-running-fc", MANUAL, cancel_spares_the_running_fc },
	{ "schedule-cancel-of-a-waiting-job-ends-it-at-once", MANUAL,
	  cancel_of_a_waiting_job_ends_it_at_once },
	{ "schedule-deadline-is-device-time", MANUAL, deadline_is_device_time },
	{ "schedule-one-instant-is-seen-whole", MANUAL, one_instant_is_seen_whole },
	{ "schedule-clock-does-not-run-back", MANUAL, clock_does_not_run_back },
	{ "schedule-clock-switches-while-no-file-is-open", MANUAL,
	  clock_switches_while_no_file_is_open },
	{ "schedule-destroy-does-not-wait-for-the-clock", MANUAL,
	  destroy_does_not_wait_for_the_clock },
	{ "schedule-sysfs-limits-are-per-core", MANUAL_TWO, sysfs_limits_are_per_core },
	{ "schedule-reset-ends-only-what-runs", MANUAL_TWO, reset_ends_only_what_runs },
	{ 0 },
};
