// SPDX-License-Identifier: MIT
/* After a fault: a dump that names it, and a ban of contexts with too many faults. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"
#include "group.h"
#include "load.h"
#include "ring.h"

#define TWO		"cores=2 mode=functional watchdog_ms=2"
#define TWO_HANGS	"cores=2 mode=timed profile=ideal manual_clock=1 watchdog_ms=5"
#define TWO_MANUAL	"cores=2 mode=timed manual_clock=1"
#define MANUAL		"cores=1 mode=timed profile=ideal manual_clock=1 ban_offences=3 " \
			"ban_window_ms=1000 watchdog_ms=5"
#define DEFAULTS	"cores=1 mode=functional"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define DUMPS		"/sys/class/devcoredump"

/* Finds the directory of a dump of device overtake.0; returns false if there is none. */
static bool find_dump(char *path, size_t size)
{
	struct dirent *entry;
	bool found = false;
	DIR *directory = opendir(DUMPS);

	if (!directory)
		check_skip("this kernel keeps no device dumps");
	while (!found && (entry = readdir(directory))) {
		char link[320], target[320];
		ssize_t length;

		if (strncmp(entry->d_name, "devcd", 5))
			continue;
		snprintf(link, sizeof(link), DUMPS "/%s/failing_device", entry->d_name);
		length = readlink(link, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = 0;
		found = strstr(target, "overtake.0") != NULL;
		snprintf(path, size, DUMPS "/%s/data", entry->d_name);
	}
	closedir(directory);
	return found;
}

static void clear_dump(void)
{
	char path[320];

	while (find_dump(path, sizeof(path)))
		if (write_file(path, "1"))
			usleep(1000); /* the dump is being removed */
}

/* Waits for the dump, which is written after the job has ended. */
static char *read_dump(void)
{
	static char text[65536];
	char path[320] = "";
	unsigned int attempt;
	ssize_t got = 0, length = 0;
	int fd;

	for (attempt = 0; attempt < 5000 && !find_dump(path, sizeof(path)); attempt++)
		usleep(1000);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check_message(fd >= 0, "no dump of overtake.0");
	while (length < (ssize_t)sizeof(text) - 1 &&
	       (got = read(fd, text + length, sizeof(text) - 1 - (size_t)length)) > 0)
		length += got;
	check_equal(got, 0);
	text[length] = 0;
	close(fd);
	return text;
}

/* Checks that @line is a whole line of section @section. */
static void check_line(const char *text, const char *section, const char *line)
{
	char header[64], wanted[256];
	const char *start, *end, *at;

	snprintf(header, sizeof(header), "== %s ==\n", section);
	start = strstr(text, header);
	check_message(start, "no section %s in\n%.300s", section, text);
	start += strlen(header) - 1;
	end = strstr(start, "\n== ");
	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	at = strstr(start, wanted);
	check_message(at && (!end || at < end), "no \"%s\" in section %s:\n%.800s", line, section,
		      start);
}

static void check_dump(struct client *client, const char *reason, uint64_t tag, unsigned int pc,
		       const struct overtake_insn *insn)
{
	char *text = read_dump(), line[256];
	uint32_t words[8];

	check(!strncmp(text, "== device ==\ndriver: overtake\ndevice: overtake.0\n", 48));
	snprintf(line, sizeof(line), "reason: %s", reason);
	check_line(text, "device", line);
	check_line(text, "device", "cores: 2");
	snprintf(line, sizeof(line), "tag: %llu", (unsigned long long)tag);
	check_line(text, "guilty", line);
	snprintf(line, sizeof(line), "context: %u", client->context);
	check_line(text, "guilty", line);
	snprintf(line, sizeof(line), "pid: %d", getpid());
	check_line(text, "guilty", line);
	check_line(text, "guilty", "comm: a culprit");
	check_line(text, "guilty", "core: 2");
	check_line(text, "guilty", "ring: normal");
	check_line(text, "guilty", "priority: 7");
	check_line(text, "guilty", "fc_index: 1");
	check_line(text, "guilty", "fc_count: 3");
	snprintf(line, sizeof(line), "pc: %u", pc);
	check_line(text, "guilty", line);
	memcpy(words, insn, sizeof(words));
	snprintf(line, sizeof(line), "%08x %08x %08x %08x %08x %08x %08x %08x", words[0], words[1],
		 words[2], words[3], words[4], words[5], words[6], words[7]);
	check_line(text, "instruction", line);
	check_line(text, "registers", "ID: 0x2");
	check_line(text, "registers", "BAD_ACCESS: 0x0");
}

/* Checks client, context, tag and FC of the rows in the table of ring @name. */
static void check_ring(const char *text, const char *name, const struct client *client,
		       const uint64_t (*expected)[2], unsigned int count)
{
	char header[160];
	unsigned int i;
	const char *at;

	snprintf(header, sizeof(header), "== ring %s ==\nposition sequence client context tag "
		 "fc_index first_insn insn_count cancelled part\n", name);
	at = strstr(text, header);
	check_message(at, "no table of ring %s in\n%s", name, text);
	at += strlen(header);
	for (i = 0; *at && *at != '='; i++, at = strchr(at, '\n') + 1) {
		unsigned long long position, sequence, owner, tag;
		unsigned int context, fc;

		check_equal(sscanf(at, "%llu %llu %llu %u %llu %u", &position, &sequence, &owner,
				   &context, &tag, &fc), 6);
		check_message(i < count, "ring %s has more:\n%.300s", name, at);
		check_equal(context, client->context);
		check_equal(tag, expected[i][0]);
		check_equal(fc, expected[i][1]);
	}
	check_equal(i, count);
}

/* The dump has the FCs that wait in the rings, and the last events. */
static void check_dump_surroundings(const struct client *client)
{
	static const uint64_t normal[][2] = { { 55, 2 }, { 56, 0 }, { 56, 1 }, { 56, 2 } };
	static const uint64_t high[][2] = { { 900, 0 } };
	static const char *const events[] = {
		"arrived", "arrived", "arrived", "started", "done", "started",
	};
	char *text = read_dump(), *at;
	unsigned int i;

	check_ring(text, "normal", client, normal, 4);
	check_ring(text, "high", client, high, 1);
	at = strstr(text, "== events ==\ntime_ns event core ring client context tag fc_index part\n");
	check(at);
	at = strchr(strchr(at, '\n') + 1, '\n') + 1;
	for (i = 0; i < 6; i++, at = strchr(at, '\n') + 1) {
		char event[16];

		check_equal(sscanf(at, "%*u %15s 2", event), 1);
		check_message(!strcmp(event, events[i]), "event %u is %s, not %s", i, event,
			      events[i]);
	}
	check_equal(*at, 0);
}

/* Submits job @tag, whose FC 1 of 3 jumps to itself, a job behind it, and one to HIGH. */
static void submit_culprit(struct client *client, uint64_t tag)
{
	struct job job;

	put_copy(client, 0, 8192, 0, 4096);
	put_jump(client, 1, 1);
	put_copy(client, 2, 8192, 0, 4096);
	put_copy(client, 3, 8192, 0, 4096);
	put_copy(client, 4, 8192, 0, 4096);
	job_init(&job, client, tag, 0, 3);
	job.submit.priority = 7;
	job.submit.core = 2;
	check_equal(job_submit(client, &job), 0);
	job_init(&job, client, tag + 1, 2, 3);
	job.submit.priority = 7;
	job.submit.core = 2;
	check_equal(job_submit(client, &job), 0);
}

static void collect_culprit(struct client *client, uint64_t tag, int status)
{
	struct overtake_result result;

	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, status);
	check_equal(job_wait(client, tag + 1, NEVER, &result), 0);
	check_equal(result.status, 0);
}

static void hang_is_dumped(void)
{
	struct overtake_insn jump = { .opcode = OVERTAKE_OP_JUMP, .jump_target = 1 };
	struct client client;

	clear_dump();
	check_equal(prctl(PR_SET_NAME, "a culprit"), 0);
	client = client_open(0, 254);
	submit_culprit(&client, 77);
	collect_culprit(&client, 77, -ETIMEDOUT);
	check_dump(&client, "watchdog", 77, 1, &jump);
	/* The kernel keeps the first dump until a process clears it. */
	submit_culprit(&client, 99);
	collect_culprit(&client, 99, -ETIMEDOUT);
	check_dump(&client, "watchdog", 77, 1, &jump);
	clear_dump();
	client_close(&client);
}

/* Steps the clock, which waits for everything that this sets off. */
static void *step_clock(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)advance_clock(0, 1 * MS);
}

static void reset_is_dumped(void)
{
	struct overtake_insn jump = { .opcode = OVERTAKE_OP_JUMP, .jump_target = 1 };
	char path[128], text[4096];
	struct client client;
	pthread_t thread;
	struct job job;
	void *ret;

	clear_dump();
	check_equal(prctl(PR_SET_NAME, "a culprit"), 0);
	client = client_open(0, 255);
	debugfs_path(path, sizeof(path), 0, "inject");
	check_equal(write_file(path, "stuck:2"), 0);
	submit_culprit(&client, 55);
	job_init(&job, &client, 900, 0, 1);
	job.submit.priority = 255;
	job.submit.core = 2;
	check_equal(job_submit(&client, &job), 0);
	/* All commands of instant 0 are processed now, in their order. */
	check_equal(pthread_create(&thread, NULL, step_clock, NULL), 0);
	do {
		check_equal(read_file(path, text, sizeof(text)), 0);
	} while (!strstr(text, "injected stuck 1"));
	debugfs_path(path, sizeof(path), 0, "reset");
	check_equal(write_file(path, "2"), 0);
	pthread_join(thread, &ret);
	check_equal((intptr_t)ret, 0);
	check_equal(advance_clock(0, 2 * MS), 0);
	collect_culprit(&client, 55, -EIO);
	check_dump(&client, "reset", 55, 1, &jump);
	check_dump_surroundings(&client);
	clear_dump();
	client_close(&client);
}

/*
 * Core 2 hangs in a NORMAL FC.  It began this FC since its first HIGH FC waits for the end of stage
 * 0 on core 1.
 */
static void a_held_high_is_in_the_dump(void)
{
	static const uint32_t stages[GROUP_FCS] = { 0, 0, 1, 2 };
	struct client client;
	struct group group;
	struct job job;
	char *text;
	uint32_t i;

	clear_dump();
	client = client_open(0, 255);
	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&client, i, 4 * MS);
	put_jump(&client, 4, 4);
	group_init(&group, &client, 2, 0);
	group.job.submit.priority = 255;
	memcpy(group.stages, stages, sizeof(stages));
	check_equal(job_submit(&client, &group.job), 0);
	job_init(&job, &client, 1, 4, 1);
	job.submit.core = 2;
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 50 * MS), 0);
	text = read_dump();
	check_line(text, "guilty", "tag: 1");
	check_line(text, "guilty", "core: 2");
	check_line(text, "registers", "HIGH_HELD: 0x1");
	clear_dump();
	client_close(&client);
}

static uint64_t bans(void)
{
	char path[128];

	debugfs_path(path, sizeof(path), 0, "bans");
	return read_counter(path);
}

/* The driver counts a ban once it has asked all jobs of the context in flight to end. */
static void wait_for_ban(void)
{
	unsigned int attempt;

	for (attempt = 0; attempt < 5000 && !bans(); attempt++)
		usleep(1000);
	check_equal(bans(), 1);
}

/* Writes three FCs: good, faulty, endless; each takes at most 5 ms. */
static void put_programs(struct client *client)
{
	struct overtake_insn bad = { .opcode = 0xffff };

	put_delay(client, 0, 1000);
	put_insn(client, 1, &bad);
	put_jump(client, 2, 2);
}

static int submit_one(struct client *client, uint64_t tag, uint32_t which)
{
	struct job job;

	job_init(&job, client, tag, which, 1);
	return job_submit(client, &job);
}

/* Runs a job, which is over when the clock has gone on by 10 ms; returns its result. */
static struct overtake_result run_one(struct client *client, uint64_t tag, uint32_t which)
{
	static uint64_t now_ns;
	struct overtake_result result;

	check_equal(submit_one(client, tag, which), 0);
	now_ns += 10 * MS;
	check_equal(advance_clock(0, now_ns), 0);
	check_equal(job_wait(client, tag, 0, &result), 0);
	if (!tag) /* the caller wants a second to pass */
		check_equal(advance_clock(0, now_ns += 1000 * MS), 0);
	return result;
}

static void check_banned(struct client *client)
{
	struct overtake_result result;
	struct completion completion;
	struct io_uring ring;
	struct job job;

	check_equal(submit_one(client, 500, 0), -ESHUTDOWN);
	ring_open_default(&ring);
	job_init(&job, client, 501, 0, 1);
	ring_submit_job(&ring, client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.status, -ESHUTDOWN);
	io_uring_queue_exit(&ring);
	check_equal(job_wait(client, 500, 0, &result), -ENOENT);
}

/* Checks the text of debugfs about a banned context. */
static void check_account(unsigned int offences, uint64_t first_ns, uint64_t least_lost_ns)
{
	char path[128], text[8192], line[96];
	unsigned long long lost_ns;
	const char *at;
	int length = 0;

	debugfs_path(path, sizeof(path), 0, "state");
	check_equal(read_file(path, text, sizeof(text)), 0);
	snprintf(line, sizeof(line), "  offences %u, first at %llu, ", offences,
		 (unsigned long long)first_ns);
	at = strstr(text, line);
	check_message(at, "no \"%s\" in\n%s", line, text);
	check_equal(sscanf(at + strlen(line), "%llu ns lost, banned\n%n", &lost_ns, &length), 1);
	check_message(length, "not banned: %.100s", at);
	check_message(lost_ns >= least_lost_ns, "%llu ns lost", lost_ns);
}

/* Faults and hangs count alike; neighbours are not concerned. */
static void offenders_are_banned(void)
{
	struct client client = client_open(0, 254), other = client_open(0, 254);
	struct overtake_result first;
	uint32_t banned = client.context;

	put_programs(&client);
	put_programs(&other);
	first = run_one(&client, 1, 1);
	check_equal(first.status, -ENOEXEC);
	check_equal(run_one(&client, 2, 2).status, -ETIMEDOUT);
	check_equal(run_one(&client, 3, 0).status, 0);
	check_equal(bans(), 0);
	check_equal(run_one(&client, 4, 1).status, -ENOEXEC);
	wait_for_ban();
	check_banned(&client);
	check_equal(run_one(&other, 1, 0).status, 0);
	check_equal(context_create(client.fd, 254, 0, &client.context), 0);
	check_equal(run_one(&client, 1, 0).status, 0);
	/* The hang held its core for all of the watchdog's 5 ms. */
	check_account(3, first.end_ns, 5 * MS);
	check_equal(context_destroy(client.fd, banned), 0);
	check_equal(bans(), 1);
	client_close(&client);
	client_close(&other);
}

/* Jobs in flight at the ban end with its error; at most one FC had started by then. */
static void banned_jobs_end(void)
{
	struct client client = client_open(0, 255);
	struct overtake_result result;
	unsigned int started = 0;
	uint64_t tag;

	put_programs(&client);
	for (tag = 1; tag <= 3; tag++)
		check_equal(submit_one(&client, tag, 1), 0);
	for (; tag <= 300; tag++)
		check_equal(submit_one(&client, tag, 0), 0);
	check_equal(advance_clock(0, 10), 0); /* a fault takes 1 ns */
	check_equal(submit_one(&client, 301, 0), -ESHUTDOWN);
	wait_for_ban(); /* device time stands still meanwhile */
	check_equal(advance_clock(0, 100 * MS), 0);
	for (tag = 1; tag <= 300; tag++) {
		check_equal(job_wait(&client, tag, 0, &result), 0);
		check_equal(result.status, tag <= 3 ? -ENOEXEC : -ESHUTDOWN);
		started += tag > 3 && result.start_ns;
	}
	check_message(started <= 1, "%u jobs of a banned context started", started);
	client_close(&client);
	wait_until_forgotten();
}

/* Offences further apart than the window do not add up; resets and kills are no offences. */
static void others_are_not_banned(void)
{
	struct client client = client_open(0, 255);
	struct overtake_result result;
	char path[128];
	unsigned int i;

	put_programs(&client);
	check_equal(run_one(&client, 1, 1).status, -ENOEXEC);
	check_equal(run_one(&client, 2, 1).status, -ENOEXEC);
	check_equal(run_one(&client, 0, 0).status, 0); /* and a second */
	check_equal(run_one(&client, 1, 1).status, -ENOEXEC);
	check_equal(run_one(&client, 2, 1).status, -ENOEXEC);
	check_equal(run_one(&client, 0, 0).status, 0);
	debugfs_path(path, sizeof(path), 0, "inject");
	for (i = 0; i < 5; i++) {
		check_equal(write_file(path, "reset:1"), 0);
		result = run_one(&client, 10 + i, 0);
		check_equal(result.status, -EIO);
		check_equal(result.fault, OVERTAKE_FAULT_RESET);
	}
	check_equal(run_one(&client, 1, 0).status, 0);
	check_equal(bans(), 0);
	client_close(&client);
}

/* As the manual says, the 64th fault within 10 s bans. */
static void default_is_as_documented(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	uint64_t tag;

	put_programs(&client);
	for (tag = 1; tag <= 64; tag++) {
		check_equal(bans(), 0);
		check_equal(submit_one(&client, tag, 1), 0);
		check_equal(job_wait(&client, tag, NEVER, &result), 0);
		check_equal(result.status, -ENOEXEC);
	}
	wait_for_ban();
	check_banned(&client);
	client_close(&client);
}

/*
 * The manual promises a ban after 5 s of device time.  Here each FC holds a core for the watchdog's
 * second, so the ban comes after the fifth.
 */
static void hangs_are_banned_by_default(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	uint64_t tag;

	put_delay(&client, 0, 2000 * MS); /* twice the watchdog: hung at once, for a second */
	for (tag = 1; tag <= 5; tag++) {
		check_equal(bans(), 0);
		check_equal(submit_one(&client, tag, 0), 0);
		check_equal(advance_clock(0, tag * 1001 * MS), 0);
		check_equal(job_wait(&client, tag, 0, &result), 0);
		check_equal(result.status, -ETIMEDOUT);
		check_equal(result.fault, OVERTAKE_FAULT_WATCHDOG);
	}
	wait_for_ban();
	check_banned(&client);
	client_close(&client);
}

/* Runs a job until its clock ends it; returns false if the context is banned. */
static bool run_until_the_clock(struct client *client, uint64_t tag)
{
	struct overtake_result result;

	if (submit_one(client, tag, 2))
		return false;
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, -ETIMEDOUT);
	check_equal(result.fault, OVERTAKE_FAULT_CLOCK);
	return true;
}

/* Each FC takes two seconds of the host: three within ten seconds ban, one does not. */
static void clocks_that_run_out_are_banned_by_default(void)
{
	struct client hostile = client_open(0, 254), honest = client_open(0, 254);
	struct overtake_result result;
	uint64_t tag;

	put_programs(&hostile);
	put_programs(&honest);
	check(run_until_the_clock(&honest, 1));
	for (tag = 1; tag <= 3; tag++) {
		check_message(run_until_the_clock(&hostile, tag), "banned after %llu",
			      (unsigned long long)tag - 1);
		if (tag == 1)
			check_equal(bans(), 0);
		if (bans())
			break;
	}
	wait_for_ban();
	check_banned(&hostile);
	check_equal(submit_one(&honest, 2, 0), 0);
	check_equal(job_wait(&honest, 2, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&hostile);
	client_close(&honest);
}

const struct test_case reported_cases[] = {
	{ "dump-hang-is-dumped", TWO, hang_is_dumped },
	{ "dump-reset-is-dumped", TWO_MANUAL, reset_is_dumped },
	{ "dump-says-that-high-is-held", TWO_HANGS, a_held_high_is_in_the_dump },
	{ "ban-offenders-are-banned", MANUAL, offenders_are_banned },
	{ "ban-jobs-in-flight-end", MANUAL " ", banned_jobs_end },
	{ "ban-others-are-not-banned", MANUAL "  ", others_are_not_banned },
	{ "ban-default-is-as-documented", DEFAULTS, default_is_as_documented },
	{ "ban-hangs-by-default", "cores=1 mode=timed profile=ideal manual_clock=1",
	  hangs_are_banned_by_default },
	/* The clock has to act, on any machine. */
	{ "ban-clocks-by-default", "cores=1 mode=functional watchdog_ms=600000",
	  clocks_that_run_out_are_banned_by_default },
	{ 0 },
};
