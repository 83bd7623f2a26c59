// SPDX-License-Identifier: MIT
/* Use of the device: fdinfo of each file, in the format of the kernel's drm-usage-stats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "device.h"

#define MANUAL_TWO	"cores=2 mode=timed profile=ideal manual_clock=1"
#define US		1000ull
#define CORES		2u

/* Returns the number behind @key in the fdinfo of @fd. */
static uint64_t usage(int fd, const char *key)
{
	char path[64], text[8192], line[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	check_equal(read_file(path, text, sizeof(text)), 0);
	snprintf(line, sizeof(line), "\n%s:\t", key);
	at = strstr(text, line);
	check_message(at, "fdinfo has no %s:\n%s", key, text);
	return strtoull(at + strlen(line), NULL, 10);
}

static uint64_t engine(int fd, unsigned int core, const char *ring)
{
	char key[64];

	snprintf(key, sizeof(key), "drm-engine-core%u-%s", core, ring);
	return usage(fd, key);
}

static void submit(struct client *client, uint64_t tag, uint32_t first, uint32_t count,
		   unsigned int priority, unsigned int core)
{
	struct job job;

	job_init(&job, client, tag, first, count);
	job.submit.priority = (uint16_t)priority;
	job.submit.core = (uint16_t)core;
	check_equal(job_submit(client, &job), 0);
}

static void write_programs(struct client *client)
{
	struct overtake_insn bad = { .opcode = 0xffff };

	put_delay(client, 0, 300 * US);
	put_delay(client, 1, 500 * US);
	put_delay(client, 2, 70 * US);
	put_insn(client, 3, &bad);
}

/*
 * Two files use two cores and both rings, with a fault, a cancel and a job that still runs.  Each
 * FC that has ended counts for the file that submitted it; the sum is the busy time of the core.
 */
static void engine_times_add_up_to_busy_time(void)
{
	struct client first = client_open(0, 255);
	struct client second = client_open(0, 255);
	struct drm_overtake_core_info before[CORES], after[CORES];
	struct drm_overtake_device_info info;
	uint64_t start_ns;
	unsigned int core;

	device_query(first.fd, &info);
	start_ns = info.device_time_ns + 100 * US;
	for (core = 0; core < CORES; core++)
		device_query_core(first.fd, core + 1, &before[core]);
	write_programs(&first);
	write_programs(&second);
	check_equal(advance_clock(0, start_ns), 0);
	submit(&first, 1, 0, 2, 10, 1);		/* 800 us of NORMAL */
	submit(&first, 2, 2, 1, 255, 2);	/* 70 us of HIGH */
	submit(&second, 1, 3, 1, 10, 2);	/* a fault, of 1 cycle: 1 ns */
	submit(&second, 2, 0, 1, 10, 1);	/* cancelled before its turn */
	submit(&second, 3, 0, 2, 255, 2);	/* 300 us, and is in its second FC */
	check_equal(job_cancel(&second, 2), 0);
	check_equal(advance_clock(0, start_ns + 600 * US), 0);
	check_equal(engine(first.fd, 1, "normal"), 300 * US);
	check_equal(advance_clock(0, start_ns + 850 * US), 0);

	check_equal(engine(first.fd, 1, "normal"), 800 * US);
	check_equal(engine(first.fd, 1, "high"), 0);
	check_equal(engine(first.fd, 2, "normal"), 0);
	check_equal(engine(first.fd, 2, "high"), 70 * US);
	check_equal(engine(second.fd, 1, "normal"), 0);
	check_equal(engine(second.fd, 1, "high"), 0);
	check_equal(engine(second.fd, 2, "high"), 300 * US);
	for (core = 0; core < CORES; core++) {
		uint64_t sum = engine(first.fd, core + 1, "high") +
			       engine(first.fd, core + 1, "normal") +
			       engine(second.fd, core + 1, "high") +
			       engine(second.fd, core + 1, "normal");

		device_query_core(first.fd, core + 1, &after[core]);
		check_equal(sum, after[core].busy_ns - before[core].busy_ns);
	}
	check_equal(advance_clock(0, start_ns + 2000 * US), 0);
	client_close(&first);
	client_close(&second);
}

static void memory_is_reported(void)
{
	struct client client = client_open(0, 254);
	struct buffer buffer;
	uint64_t before, after;

	before = usage(client.fd, "drm-total-memory");
	buffer = buffer_create(client.fd, 1 << 20, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	after = usage(client.fd, "drm-total-memory");
	check_equal(after - before, 1024);
	buffer_destroy(client.fd, &buffer);
	check_equal(usage(client.fd, "drm-total-memory"), before);
	client_close(&client);
}

const struct test_case usage_cases[] = {
	{ "usage-engine-times-add-up-to-busy-time", MANUAL_TWO, engine_times_add_up_to_busy_time },
	{ "usage-memory-is-reported", MANUAL_TWO, memory_is_reported },
	{ 0 },
};
