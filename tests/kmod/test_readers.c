// SPDX-License-Identifier: MIT
/* Readers do not delay the device: files of debugfs are read in bounded pieces. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "load.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define SECOND		1000000000ull

/* Most objects that a reader handles under the device lock: docs/design/driver-sources.md. */
#define MOST		64u

#define FILES		8u
#define CONTEXTS	OVERTAKE_MAX_CONTEXTS
#define CROWDED		4u	/* contexts with many jobs */
#define JOBS		300u

static uint64_t longest_read(void)
{
	char path[128], text[16384];
	const char *at;

	debugfs_path(path, sizeof(path), 0, "stats");
	check_equal(read_file(path, text, sizeof(text)), 0);
	at = strstr(text, "\nlongest_read ");
	check(at);
	return strtoull(at + strlen("\nlongest_read "), NULL, 10);
}

static void submit_many(struct client *client, uint32_t context)
{
	struct job job;
	uint32_t tag;

	for (tag = 0; tag < JOBS; tag++) {
		job_init(&job, client, tag, 0, 1);
		job.submit.context_id = context;
		job.submit.deadline_ns = OVERTAKE_DEADLINE_NEVER;
		check_equal(job_submit(client, &job), 0);
	}
}

/* Opens FILES files with CONTEXTS contexts each; the first contexts have JOBS jobs. */
static void crowd_open(struct client *clients)
{
	uint32_t id, i, context;

	for (i = 0; i < FILES; i++) {
		clients[i] = client_open(0, 254);
		put_delay(&clients[i], 0, SECOND);
		for (context = 1; context < CONTEXTS; context++)
			check_equal(context_create(clients[i].fd, 254, 0, &id), 0);
	}
	for (i = 0; i < CROWDED; i++)
		submit_many(&clients[i], clients[i].context);
}

/* Reads to the end of the file, or @pieces pieces; returns the end of @text. */
static char *read_pieces(int fd, char *text, const char *end, unsigned int pieces)
{
	ssize_t length;

	while (pieces-- && (length = read(fd, text, 4096)) > 0) {
		text += length;
		check(end - text > 4096);
	}
	*text = 0;
	return text;
}

static unsigned int count_text(const char *text, const char *wanted)
{
	unsigned int count = 0;

	for (; (text = strstr(text, wanted)); count++)
		text += strlen(wanted);
	return count;
}

static char all[1 << 20];

/* Each context is there once, with some of its jobs; one hold of the lock handles at most MOST. */
static void state_is_read_in_bounded_pieces(void)
{
	struct client clients[FILES];
	char path[128];
	uint32_t i;
	int fd;

	crowd_open(clients);
	debugfs_path(path, sizeof(path), 0, "state");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	read_pieces(fd, all, all + sizeof(all), ~0u);
	close(fd);
	check_equal(count_text(all, "\nclient "), FILES * CONTEXTS);
	check_equal(count_text(all, "\ncore "), 2);
	check_equal(count_text(all, "time "), 1);
	check_equal(count_text(all, "  job "), CROWDED * 32);
	check_equal(count_text(all, "  ...\n"), CROWDED);
	printf("# %llu things in one hold\n", (unsigned long long)longest_read());
	check(longest_read() >= 33);
	check(longest_read() <= MOST);
	for (i = 0; i < FILES; i++)
		client_close(&clients[i]);
}

/* Returns how many lines there are of @client's context @id. */
static unsigned int count_context(const char *text, unsigned long long client, uint32_t id)
{
	char line[64];

	snprintf(line, sizeof(line), "\nclient %llu context %u:", client, id);
	return count_text(text, line);
}

/* Returns DRM's number of the client whose line is the first in @text. */
static unsigned long long first_client(const char *text)
{
	const char *at = strstr(text, "\nclient ");

	check(at);
	return strtoull(at + strlen("\nclient "), NULL, 10);
}

/* Contexts go and come during a read: each that stays is in the text once. */
static void state_is_whole_although_contexts_go(void)
{
	struct client client = client_open(0, 254), other = client_open(0, 254);
	unsigned long long number;
	char path[128], *end;
	uint32_t id, context;
	int fd;

	for (context = 2; context <= CONTEXTS; context++) {
		check_equal(context_create(client.fd, 254, 0, &id), 0);
		check_equal(id, context);
	}
	put_delay(&client, 0, SECOND);
	submit_many(&client, 10);
	debugfs_path(path, sizeof(path), 0, "state");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	/* The first piece ends in the middle of the contexts. */
	end = read_pieces(fd, all, all + sizeof(all), 1);
	number = first_client(all);
	check(count_text(all, "\nclient ") < CONTEXTS);
	for (context = 1; context <= CONTEXTS; context += 2)
		check_equal(context_destroy(client.fd, context), 0);
	for (context = 1; context <= 20; context++)
		check_equal(context_create(other.fd, 254, 0, &id), 0);
	read_pieces(fd, end, all + sizeof(all), ~0u);
	close(fd);
	for (context = 2; context <= CONTEXTS; context += 2)
		check_equal(count_context(all, number, context), 1);
	for (context = 1; context <= CONTEXTS; context += 2)
		check(count_context(all, number, context) <= 1);
	client.context = 2;
	client_close(&client);
	client_close(&other);
}

/* The 60 files of one user are one row, and a read holds the lock for at most MOST objects. */
static void users_are_read_in_bounded_pieces(void)
{
	struct client clients[60];
	char path[128], expected[64];
	uint32_t i;

	for (i = 0; i < 60; i++) {
		clients[i] = client_open(0, 254);
		put_delay(&clients[i], 0, 100);
	}
	for (i = 0; i < 60; i++) {
		struct job job;

		job_init(&job, &clients[i], 1, 0, 1);
		job.submit.core = 1;
		check_equal(job_submit(&clients[i], &job), 0);
	}
	check_equal(advance_clock(0, SECOND), 0);
	debugfs_path(path, sizeof(path), 0, "core1/users");
	check_equal(read_file(path, all, sizeof(all)), 0);
	snprintf(expected, sizeof(expected), "\n%d 60 60 6000 kmod_tests\n", getpid());
	check_message(strstr(all, expected), "users:\n%s", all);
	check_equal(count_text(all, "\n"), 2);
	check(longest_read() <= MOST);
	for (i = 0; i < 60; i++)
		client_close(&clients[i]);
}

/* While an FC hangs, the file shows which jobs run, which wait, and since when. */
static void state_of_a_device_that_hangs(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	unsigned long long number;
	struct job job;
	char path[128];
	uint32_t tag;

	put_jump(&client, 0, 0);
	for (tag = 11; tag <= 13; tag++) {
		job_init(&job, &client, tag, 0, 1);
		job.submit.priority = 10;
		job.submit.deadline_ns = OVERTAKE_DEADLINE_NEVER;
		check_equal(job_submit(&client, &job), 0);
	}
	wait_until_busy(1);
	debugfs_path(path, sizeof(path), 0, "state");
	check_equal(read_file(path, all, sizeof(all)), 0);
	number = first_client(all);
	check_state_says("  runs FC 0 of job 11, client %llu context 1, since ", number);
	check_state_says("core 1: limit 0, active 0, unfinished FCs 3,");
	check_state_says("  registers: status 0x1, ");
	check_state_says("  NORMAL head 1 tail 1, done 0, committed to 0, FCs waiting 2, "
			 "next FC 0 of job 12, client %llu context 1, here since ", number);
	check_state_says("  HIGH   head 0 tail 0, done 0, FCs waiting 0\n");
	check_state_says("\nclient %llu context 1: jobs 3, ", number);
	check_state_says(" buffers, pid %d, kmod_tests\n  oldest: job 11, here since ", getpid());
	check_state_says("  job 11: priority 10, FCs 1 of 1 started, 0 ended\n"
			 "  job 12: priority 10, FCs 0 of 1 started, 0 ended\n");
	check_equal(context_destroy(client.fd, client.context), 0);
	client_close(&client);
	client = client_open(0, 254);
	put_delay(&client, 0, 1000);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, OVERTAKE_DEADLINE_NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

const struct test_case reader_cases[] = {
	{ "readers-state-in-bounded-pieces", MANUAL, state_is_read_in_bounded_pieces },
	{ "readers-state-is-whole-although-contexts-go", MANUAL,
	  state_is_whole_although_contexts_go },
	{ "readers-state-of-a-device-that-hangs", "cores=1 watchdog_ms=600000 fc_clock_ms=600000",
	  state_of_a_device_that_hangs },
	{ "readers-users-in-bounded-pieces", MANUAL " ", users_are_read_in_bounded_pieces },
	{ 0 },
};
