// SPDX-License-Identifier: MIT
/* Cores of one device with different profiles: their times, and what the driver reports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define UNLIKE	"devices=2 cores=3,2 mode=timed profile=default+ideal+rk3588-core,ideal watchdog_ms=7"
#define MS	1000000ull

/* Runs one DELAY of @cycles on @core; returns its result. */
static struct overtake_result run_delay(struct client *client, uint32_t core, uint64_t cycles)
{
	struct overtake_result result;
	struct job job;

	put_delay(client, 0, cycles);
	job_init(&job, client, core, 0, 1);
	job.submit.core = core;
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, core, OVERTAKE_DEADLINE_NEVER, &result), 0);
	check_equal(result.core, core);
	return result;
}

static void each_core_takes_its_own_time(void)
{
	struct client client = client_open(0, 254);

	/* A DELAY has no overhead; an FC has 1000 cycles, except on "ideal". */
	check_equal(run_delay(&client, 1, 500).executed_ns, 1500);
	check_equal(run_delay(&client, 2, 500).executed_ns, 500);
	check_equal(run_delay(&client, 3, 500).executed_ns, 1500);
	client_close(&client);
}

static void each_core_says_its_profile(void)
{
	static const struct {
		const char *name;
		uint32_t macs_per_cycle, insn_overhead_cycles, fc_overhead_cycles;
	} expected[] = {
		{ "default", 256, 200, 1000 },
		{ "ideal", 256, 0, 0 },
		{ "rk3588-core", 1024, 200, 1000 },
	};
	struct drm_overtake_core_profile profile;
	struct drm_overtake_device_info info;
	int fd = device_open(0);
	int alike = device_open(1);
	uint32_t core;

	for (core = 1; core <= 3; core++) {
		profile = device_query_profile(fd, core);
		check_message(!strcmp(profile.name, expected[core - 1].name), "core %u is %s", core,
			      profile.name);
		check_equal(profile.clock_khz, 1000000);
		check_equal(profile.macs_per_cycle, expected[core - 1].macs_per_cycle);
		check_equal(profile.vector_per_cycle, 64);
		check_equal(profile.bytes_per_cycle, 32);
		check_equal(profile.insn_overhead_cycles, expected[core - 1].insn_overhead_cycles);
		check_equal(profile.fc_overhead_cycles, expected[core - 1].fc_overhead_cycles);
		check_equal(profile.watchdog_cycles, 7 * MS);
		check_equal(profile.without, 0);
	}
	device_query(fd, &info);
	check_equal(info.insn_overhead_cycles, 200); /* of core 1 */
	check_equal(info.watchdog_cycles, 7 * MS);
	for (core = 1; core <= 2; core++)
		check(!strcmp(device_query_profile(alike, core).name, "ideal"));
	close(fd);
	close(alike);
}

/* The rules for extensions hold: a query with size 0, known fields, nothing written behind them. */
static void the_query_gives_as_much_as_is_asked_for(void)
{
	unsigned char whole[8 + 3 * 72], part[sizeof(whole) + 1];
	struct drm_overtake_query query = { .topic = OVERTAKE_QUERY_CORE_PROFILES };
	int fd = device_open(0);
	size_t size, i;

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(query.size, sizeof(whole));
	query.data = (uintptr_t)whole;
	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	for (size = 1; size <= sizeof(part); size += 5) {
		memset(part, 0xa5, sizeof(part));
		query.size = size;
		query.data = (uintptr_t)part;
		check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
		check_equal(query.size, sizeof(whole));
		for (i = 0; i < sizeof(part); i++)
			check_equal(part[i], i < size && i < sizeof(whole) ? whole[i] : 0xa5);
	}
	close(fd);
}

static void each_core_has_its_own_watchdog(void)
{
	struct client client = client_open(0, 254);

	check_equal(run_delay(&client, 2, 7 * MS).status, 0);
	check_equal(run_delay(&client, 1, 7 * MS).status, -ETIMEDOUT); /* with the FC's overhead */
	client_close(&client);
}

static void service_mode_wants_like_cores(void)
{
	struct drm_overtake_context_create args = { .max_priority = 254, .flags = 1 };
	int fd = device_open(0);
	int alike = device_open(1);

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &args), -EOPNOTSUPP);
	check_equal(device_ioctl(alike, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &args), 0);
	args = (struct drm_overtake_context_create){ .max_priority = 254 };
	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &args), 0);
	close(fd);
	close(alike);
}

/* clock_khz applies to each core. */
static void another_clock_leaves_like_cores_alike(void)
{
	struct drm_overtake_context_create args = { .max_priority = 254, .flags = 1 };
	struct client client = client_open(0, 254);
	uint32_t core;

	for (core = 1; core <= 2; core++) {
		check_equal(device_query_profile(client.fd, core).clock_khz, 500000);
		check_equal(run_delay(&client, core, 500).executed_ns, 1000);
	}
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &args), 0);
	client_close(&client);
}

static void wrong_names_are_refused(void)
{
	check_equal(write_file("/dev/kmsg", "overtake-test: expect profile: 3 names for 2 cores; "
					    "name one for each, or one for all$\n"), 0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect profile: core 2: not built in$\n"),
		    0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect profile: not built in$\n"), 0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect failed with error -22\n"), 0);
	module_is_refused("cores=2 profile=default+ideal+ideal");
	module_is_refused("cores=2 profile=default+fast");
	module_is_refused("cores=2 profile=default+");
	module_is_refused("cores=2 profile=fast");
}

const struct test_case core_profile_cases[] = {
	{ "core-profiles-each-takes-its-own-time", UNLIKE, each_core_takes_its_own_time },
	{ "core-profiles-each-is-told", UNLIKE, each_core_says_its_profile },
	{ "core-profiles-query-of-any-size", UNLIKE, the_query_gives_as_much_as_is_asked_for },
	{ "core-profiles-each-has-its-watchdog", UNLIKE, each_core_has_its_own_watchdog },
	{ "core-profiles-service-mode-wants-like-cores", UNLIKE, service_mode_wants_like_cores },
	{ "core-profiles-another-clock", "cores=2 mode=timed profile=ideal+ideal clock_khz=500000",
	  another_clock_leaves_like_cores_alike },
	{ "core-profiles-wrong-names-are-refused", NULL, wrong_names_are_refused },
	{ 0 },
};
