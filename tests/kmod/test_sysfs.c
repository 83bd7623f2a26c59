// SPDX-License-Identifier: MIT
/*
 * Files of each core in sysfs and debugfs, under the names that users of boards know, after a known
 * run.  Exact counters and tables are in debugfs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "group.h"
#include "load.h"
#include "sched/settings.h"

#define MANUAL	"cores=2 mode=timed profile=ideal manual_clock=1"
#define MS	1000000ull
#define SECOND	1000000000ull

static void read_core(unsigned int core, const char *name, char *text, size_t size)
{
	char path[128], file[64];

	snprintf(file, sizeof(file), "core%u/%s", core, name);
	debugfs_path(path, sizeof(path), 0, file);
	check_message(!read_file(path, text, size), "%s cannot be read", path);
}

static uint64_t core_number(unsigned int core, const char *name)
{
	char text[4096], *end;
	uint64_t value;

	read_core(core, name, text, sizeof(text));
	value = strtoull(text, &end, 10);
	check_message(end != text && !strcmp(end, "\n"), "core%u/%s is \"%s\"", core, name, text);
	return value;
}

static void submit(struct client *client, uint64_t tag, uint32_t first, uint32_t count,
		   unsigned int priority, unsigned int core)
{
	struct job job;

	job_init(&job, client, tag, first, count);
	job.submit.priority = (uint16_t)priority;
	job.submit.core = (uint16_t)core;
	job.submit.deadline_ns = OVERTAKE_DEADLINE_NEVER;
	check_equal(job_submit(client, &job), 0);
}

/* The core is busy for 250 ms of a second, then for 2 s, then idle. */
static void ratio_is_of_the_last_window(void)
{
	struct client client = client_open(0, 254);

	put_delay(&client, 0, 250 * MS);
	put_delay(&client, 1, 800 * MS);
	check_equal(advance_clock(0, 5 * SECOND), 0);
	core_number(1, "ratio"); /* a window begins */
	submit(&client, 1, 0, 1, 0, 1);
	check_equal(advance_clock(0, 5 * SECOND + 100 * MS), 0);
	check_equal(core_number(1, "ratio"), 0); /* ratio of the window before */
	check_equal(advance_clock(0, 6 * SECOND), 0);
	check_equal(core_number(1, "ratio"), 25);
	check_equal(core_number(2, "ratio"), 0);
	/* In the middle of an FC the time since its start counts. */
	submit(&client, 2, 1, 1, 0, 1);
	submit(&client, 3, 1, 1, 0, 1);
	check_equal(advance_clock(0, 7 * SECOND), 0);
	check_equal(core_number(1, "ratio"), 100);
	check_equal(advance_clock(0, 8 * SECOND), 0);
	check_equal(core_number(1, "ratio"), 60);
	check_equal(advance_clock(0, 20 * SECOND), 0);
	check_equal(core_number(1, "ratio"), 0);
	client_close(&client);
}

static void queue_is_what_is_unfinished(void)
{
	struct client client = client_open(0, 255);

	put_delay(&client, 0, 10);
	put_delay(&client, 1, 10);
	put_delay(&client, 2, 10);
	check_equal(core_number(1, "queue"), 0);
	submit(&client, 1, 0, 3, 0, 1);
	submit(&client, 2, 0, 2, 255, 1);
	submit(&client, 3, 0, 1, 0, 2);
	check_equal(advance_clock(0, 5), 0);
	check_equal(core_number(1, "queue"), 5); /* one of them runs */
	check_equal(core_number(2, "queue"), 1);
	check_equal(advance_clock(0, 25), 0);
	check_equal(core_number(1, "queue"), 3);
	check_equal(core_number(2, "queue"), 0);
	check_equal(job_cancel(&client, 2), 0);
	check_equal(advance_clock(0, 100), 0);
	check_equal(core_number(1, "queue"), 0);
	client_close(&client);
}

static void fc_time_lists_the_last_fcs(void)
{
	struct overtake_insn bad = { .opcode = 0xffff };
	char text[4096], expected[4096];
	struct client client = client_open(0, 255);
	unsigned int length, i;
	uint64_t start;

	put_delay(&client, 0, 30);
	put_delay(&client, 1, 40);
	put_insn(&client, 2, &bad);
	check_equal(advance_clock(0, 1000), 0);
	submit(&client, 11, 0, 2, 7, 1);
	submit(&client, 12, 0, 1, 255, 1);
	submit(&client, 13, 2, 1, 9, 1);
	check_equal(advance_clock(0, 2000), 0);
	read_core(1, "fc_time", text, sizeof(text));
	snprintf(expected, sizeof(expected),
		 "index id fc group prio start_ns end_ns run_ns fault part\n"
		 "1 11 0 %d 7 1000 1030 30 0 0\n"
		 "2 11 1 %d 7 1030 1070 40 0 0\n"
		 "3 12 0 %d 255 1070 1100 30 0 0\n"
		 "4 13 0 %d 9 1100 1101 1 %u 0\n",
		 getpid(), getpid(), getpid(), getpid(), OVERTAKE_FAULT_OPCODE);
	check_message(!strcmp(text, expected), "fc_time is\n%snot\n%s", text, expected);
	read_core(2, "fc_time", text, sizeof(text));
	check(!strcmp(text, "index id fc group prio start_ns end_ns run_ns fault part\n"));
	/* After a hundred more FCs the last 24 are listed. */
	for (i = 0; i < 50; i++)
		submit(&client, 100 + i, 0, 2, 0, 1);
	check_equal(advance_clock(0, 1000000), 0);
	length = (unsigned int)snprintf(expected, sizeof(expected),
					"index id fc group prio start_ns end_ns run_ns fault part\n");
	for (i = 80; i < 104; i++) {
		unsigned int since = i - 4;	/* FCs of the hundred before it */

		start = 2000 + since / 2 * 70 + since % 2 * 30;
		length += (unsigned int)snprintf(expected + length, sizeof(expected) - length,
						 "%u %u %u %d 0 %llu %llu %u 0 0\n", i + 1,
						 100 + since / 2, since % 2, getpid(),
						 (unsigned long long)start,
						 (unsigned long long)start + (since % 2 ? 40 : 30),
						 since % 2 ? 40 : 30);
	}
	read_core(1, "fc_time", text, sizeof(text));
	check_message(!strcmp(text, expected), "fc_time is\n%snot\n%s", text, expected);
	client_close(&client);
}

/* FCs take 30 and 40 ns on core 1 in stages 0 and 2, 50 and 60 on core 2 in stages 0 and 1. */
static void fc_time_names_the_part_of_a_group(void)
{
	struct client client = client_open(0, 254);
	char text[4096], expected[1024];
	struct group group;
	uint32_t i;

	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&client, i, 30 + 10 * i);
	check_equal(advance_clock(0, 1000), 0);
	group_init(&group, &client, 21, 0);
	check_equal(job_submit(&client, &group.job), 0);
	check_equal(advance_clock(0, 2000), 0);
	snprintf(expected, sizeof(expected),
		 "index id fc group prio start_ns end_ns run_ns fault part\n"
		 "1 21 0 %d 0 1000 1050 50 0 1\n"
		 "2 21 1 %d 0 1050 1110 60 0 1\n", getpid(), getpid());
	read_core(2, "fc_time", text, sizeof(text));
	check_message(!strcmp(text, expected), "fc_time is\n%snot\n%s", text, expected);
	client_close(&client);
}

static uint64_t setting(const char *name)
{
	char path[128];

	sysfs_path(path, sizeof(path), 0, name);
	return read_counter(path);
}

static void limit_is_core_limit(void)
{
	char path[128];

	sysfs_path(path, sizeof(path), 0, "core1/limit");
	check_equal(write_file(path, "3"), 0);
	check_equal(setting("core1/limit"), 3);
	check_equal(setting("core1/core_limit"), 3);
	check_equal(setting("core2/limit"), 0);
	sysfs_path(path, sizeof(path), 0, "core_limit");
	check_equal(write_file(path, "0"), 0);
	check_equal(setting("core1/limit"), 0);
	sysfs_path(path, sizeof(path), 0, "core1/limit");
	check_equal(write_file(path, "many"), -EINVAL);
}

static int set_setting(const char *name, unsigned long long value)
{
	char path[128], text[32];

	sysfs_path(path, sizeof(path), 0, name);
	snprintf(text, sizeof(text), "%llu", value);
	return write_file(path, text);
}

/* Each row has a file, except those of processes, with its default and its range. */
static void settings_are_those_of_the_table(void)
{
	const struct ovt_setting *row;
	struct stat status;
	char name[64], path[128];
	unsigned int i;

	for (i = 0; (row = ovt_setting_at(i)); i++) {
		snprintf(name, sizeof(name), "service/%s", row->public_name);
		sysfs_path(path, sizeof(path), 0, name);
		if (row->owner == OVT_OWNER_PROCESS) {
			check_message(stat(path, &status), "%s is a process's", name);
			continue;
		}
		check_message(!stat(path, &status), "there is no %s", name);
		check_equal(status.st_mode & 07777, 0644);
		check_equal(setting(name), row->usual);
		check_equal(set_setting(name, row->most), 0);
		check_equal(setting(name), row->most);
		if (row->most < ~0ull)
			check_equal(set_setting(name, row->most + 1), -EINVAL);
		check_equal(set_setting(name, row->least), 0);
		if (row->least)
			check_equal(set_setting(name, row->least - 1), -EINVAL);
		check_equal(setting(name), row->least);
		check_equal(set_setting(name, row->usual), 0);
	}
}

/* Returns the line of process @pid, or NULL. */
static const char *user_line(const char *text, int pid)
{
	char start[16];
	const char *at;

	snprintf(start, sizeof(start), "\n%d ", pid);
	at = strstr(text, start);
	return at ? at + 1 : NULL;
}

static void check_user(unsigned int core, int pid, uint64_t jobs, uint64_t fcs, uint64_t time_ns)
{
	char text[4096], expected[128];
	const char *line;

	read_core(core, "users", text, sizeof(text));
	line = user_line(text, pid);
	check_message(line, "no process %d in\n%s", pid, text);
	snprintf(expected, sizeof(expected), "%d %llu %llu %llu kmod_tests\n", pid,
		 (unsigned long long)jobs, (unsigned long long)fcs, (unsigned long long)time_ns);
	check_message(!strncmp(line, expected, strlen(expected)), "\"%.40s\" is not \"%s\"", line,
		      expected);
}

/* Two files of one process are one user; a process without an open file is no user. */
static void users_are_processes(void)
{
	struct client first = client_open(0, 255), second = client_open(0, 255);
	int started[2], end[2], status;
	char text[4096], byte;
	pid_t child;

	check(!pipe(started) && !pipe(end));
	put_delay(&first, 0, 100);
	put_delay(&first, 1, 50);
	put_delay(&second, 0, 7);
	child = fork();
	if (!child) {
		struct client client = client_open(0, 254);

		put_delay(&client, 0, 1000);
		submit(&client, 1, 0, 1, 0, 2);
		check_equal(write(started[1], "", 1), 1);
		check_equal(read(end[0], &byte, 1), 1);
		_exit(0);
	}
	check_equal(read(started[0], &byte, 1), 1);
	submit(&first, 1, 0, 2, 0, 1);
	submit(&second, 1, 0, 1, 255, 1);
	submit(&second, 2, 0, 1, 255, 2);
	check_equal(advance_clock(0, 100000), 0);
	check_user(1, getpid(), 2, 3, 157);
	check_user(2, getpid(), 1, 1, 7);
	check_user(1, child, 0, 0, 0);
	check_user(2, child, 1, 1, 1000);
	check_equal(write(end[1], "", 1), 1);
	check_equal(waitpid(child, &status, 0), child);
	check_equal(status, 0);
	read_core(2, "users", text, sizeof(text));
	check(!user_line(text, child));
	check(!strncmp(text, "pid jobs fcs time_ns name\n", 26));
	client_close(&second);
	client_close(&first);
	wait_until_forgotten();
	read_core(1, "users", text, sizeof(text));
	check(!strcmp(text, "pid jobs fcs time_ns name\n"));
}

/* A process chooses its name: it makes one row, whatever the name. */
static void a_name_forges_no_row(void)
{
	char text[4096], expected[128];
	struct client client;

	check_equal(prctl(PR_SET_NAME, "x\n1 9 9 9 sshd"), 0);
	client = client_open(0, 254);
	read_core(1, "users", text, sizeof(text));
	snprintf(expected, sizeof(expected), "pid jobs fcs time_ns name\n%d 0 0 0 x\\n1 9 9 9 sshd\n",
		 getpid());
	check_message(!strcmp(text, expected), "users is\n%snot\n%s", text, expected);
	client_close(&client);
}

/* Only root sees what each client does: tags may be addresses, times tell of computations. */
static void clients_are_shown_to_root_only(void)
{
	static const char *const names[] = { "core1/fc_time", "core2/users", "core1/busy_ns" };
	struct client client = client_open(0, 254);
	char path[128], text[4096];
	struct stat status;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		debugfs_path(path, sizeof(path), 0, names[i]);
		check(!stat(path, &status));
		check_equal(status.st_mode & 07777, 0400);
		check_equal(status.st_uid, 0);
		check_equal(seteuid(65534), 0);
		check_equal(read_file(path, text, sizeof(text)), -EACCES);
		check_equal(seteuid(0), 0);
	}
	client_close(&client);
}

/* The counters agree with the query; sysfs has them under the class of the device, too. */
static void counters_agree(void)
{
	struct drm_overtake_core_info info;
	struct client client = client_open(0, 255);
	struct stat by_class, by_bus;
	char path[128], text[64];
	unsigned int core;

	put_delay(&client, 0, 10);
	put_jump(&client, 1, 1);
	submit(&client, 1, 0, 1, 255, 1);
	submit(&client, 2, 0, 1, 0, 1);
	submit(&client, 3, 1, 1, 0, 2); /* hangs */
	check_equal(advance_clock(0, 100 * SECOND), 0);
	for (core = 1; core <= 2; core++) {
		device_query_core(client.fd, core, &info);
		check_equal(core_number(core, "busy_ns"), info.busy_ns);
		check_equal(core_number(core, "fcs_high"), info.fcs_high);
		check_equal(core_number(core, "fcs_normal"), info.fcs_normal);
		check_equal(core_number(core, "preemptions"), info.preemptions);
		check_equal(core_number(core, "faults"), info.faults);
		check_equal(core_number(core, "resets"), info.resets);
		check_equal(core_number(core, "hangs"), core - 1);
	}
	sysfs_path(path, sizeof(path), 0, "core1/busy_ns");
	check(!stat(path, &by_bus));
	snprintf(text, sizeof(text), "/sys/class/accel");
	check(!access(text, F_OK));
	for (core = 0; core < 64; core++) {
		snprintf(path, sizeof(path), "/sys/class/accel/accel%u/device/core1/busy_ns", core);
		if (!stat(path, &by_class))
			break;
	}
	check_message(core < 64, "/sys/class/accel/accelN/device has no core1");
	check_equal(by_class.st_ino, by_bus.st_ino);
	client_close(&client);
}

const struct test_case sysfs_cases[] = {
	{ "sysfs-ratio-is-of-the-last-window", MANUAL, ratio_is_of_the_last_window },
	{ "sysfs-queue-is-what-is-unfinished", MANUAL " ", queue_is_what_is_unfinished },
	{ "sysfs-fc-time-lists-the-last-fcs", MANUAL "  ", fc_time_lists_the_last_fcs },
	{ "sysfs-fc-time-names-the-part-of-a-group", MANUAL "   ",
	  fc_time_names_the_part_of_a_group },
	{ "sysfs-limit-is-core-limit", MANUAL, limit_is_core_limit },
	{ "sysfs-settings-are-those-of-the-table", MANUAL, settings_are_those_of_the_table },
	{ "sysfs-users-are-processes", MANUAL " ", users_are_processes },
	{ "sysfs-a-name-forges-no-row", MANUAL "  ", a_name_forges_no_row },
	{ "sysfs-clients-are-shown-to-root-only", MANUAL "  ", clients_are_shown_to_root_only },
	{ "sysfs-counters-agree", MANUAL "  ", counters_agree },
	{ 0 },
};
