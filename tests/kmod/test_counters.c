// SPDX-License-Identifier: MIT
/*
 * Counters for clients without CAP_PERFMON: such a client, which reads them as often as it likes,
 * does not learn how long each FC of another client takes.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "load.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define US		1000ull
#define MS		1000000ull
#define SECOND		1000000000ull
#define NOBODY		65534

#define FCS		24u
/* Numbers that docs/design/security.md promises. */
#define PERIOD_NS	(100 * MS)
#define BUSY_STEP_NS	(10 * MS)
#define FC_STEP		16u
#define COMMAND_STEP	1024u

/* Becomes user nobody without the capabilities of root, until become_root(). */
static void become_nobody(void)
{
	check_equal(seteuid(NOBODY), 0);
}

static void become_root(void)
{
	check_equal(seteuid(0), 0);
}

/* Returns the duration of an FC: all differ, and none is a round number. */
static uint64_t duration_ns(unsigned int fc)
{
	return 11 * MS + fc * 777 * US + fc * fc * 13;
}

static void submit(struct client *client, uint64_t tag, uint32_t first, uint32_t count,
		   unsigned int priority)
{
	struct job job;

	job_init(&job, client, tag, first, count);
	job.submit.core = 1;
	job.submit.priority = (uint16_t)priority;
	job.submit.deadline_ns = OVERTAKE_DEADLINE_NEVER;
	check_equal(job_submit(client, &job), 0);
}

/* A process that reads the counters. */
struct observer {
	int fd;
	struct drm_overtake_core_info last;
	unsigned int changes;
	unsigned int recovered;	/* durations of the victim's FCs that it has seen */
};

static void look(struct observer *observer)
{
	struct drm_overtake_core_info now;
	unsigned int fc;

	device_query_core(observer->fd, 1, &now);
	if (!memcmp(&now, &observer->last, sizeof(now)))
		return;
	observer->changes++;
	for (fc = 0; fc < FCS; fc++)
		observer->recovered += now.busy_ns - observer->last.busy_ns == duration_ns(fc);
	observer->last = now;
}

/* The FCs of the victim end one after the other, while the observer reads all the time. */
static void watch(struct observer *observer, bool privileged)
{
	struct client victim = client_open(0, 254);
	uint64_t now_ns = 1000;
	unsigned int fc, looks;

	for (fc = 0; fc < FCS; fc++)
		put_delay(&victim, fc, duration_ns(fc));
	check_equal(advance_clock(0, now_ns), 0);
	submit(&victim, 1, 0, FCS, 0);
	device_query_core(observer->fd, 1, &observer->last);
	for (fc = 0; fc < FCS; fc++) {
		now_ns += duration_ns(fc);
		check_equal(advance_clock(0, now_ns + 1), 0);
		if (!privileged)
			become_nobody();
		for (looks = 0; looks < 40; looks++) {
			usleep(500);
			look(observer);
			check(privileged || !(observer->last.busy_ns % BUSY_STEP_NS));
			check(privileged || !(observer->last.fcs_normal % FC_STEP));
		}
		become_root();
	}
	client_close(&victim);
}

/* Exact counters, with the right to see them, reveal everything: the attack works. */
static void exact_counters_tell_all(void)
{
	struct observer observer = { .fd = device_open(0) };

	watch(&observer, true);
	printf("# recovered %u of %u\n", observer.recovered, FCS);
	check_equal(observer.recovered, FCS);
	close(observer.fd);
}

static uint64_t total_ns(void)
{
	uint64_t total = 0;
	unsigned int fc;

	for (fc = 0; fc < FCS; fc++)
		total += duration_ns(fc);
	return total;
}

static void strangers_learn_no_duration(void)
{
	struct observer observer = { .fd = device_open(0) };
	int64_t begin = monotonic_ns();
	uint64_t periods;

	watch(&observer, false);
	periods = (uint64_t)(monotonic_ns() - begin) / PERIOD_NS + 2;
	printf("# recovered %u of %u in %u changes\n", observer.recovered, FCS, observer.changes);
	check_equal(observer.recovered, 0);
	check_message(observer.changes <= periods, "%u changes in %llu periods", observer.changes,
		      (unsigned long long)periods);
	/* The counters are coarse, but not wrong. */
	usleep(2 * PERIOD_NS / US);
	become_nobody();
	look(&observer);
	become_root();
	check(observer.changes > 1);
	check_equal(observer.last.busy_ns, total_ns() / BUSY_STEP_NS * BUSY_STEP_NS);
	check_equal(observer.last.fcs_normal, FCS / FC_STEP * FC_STEP);
	close(observer.fd);
}

/* Returns the coarse counters, after two periods in which they could change. */
static struct drm_overtake_core_info coarse(int fd)
{
	struct drm_overtake_core_info info;

	usleep(2 * PERIOD_NS / US);
	become_nobody();
	device_query_core(fd, 1, &info);
	become_root();
	return info;
}

/* A client whose own work completes a step does not learn how much of the step was missing. */
static void own_work_does_not_dither(void)
{
	struct client victim = client_open(0, 254), attacker = client_open(0, 254);
	struct drm_overtake_core_info info;
	unsigned int fc;

	put_delay(&victim, 0, 7 * MS);
	for (fc = 0; fc < FC_STEP - 1; fc++)
		put_delay(&attacker, fc, 600 * US);
	check_equal(advance_clock(0, 1000), 0);
	submit(&victim, 1, 0, 1, 0);
	submit(&attacker, 1, 0, FC_STEP - 1, 0);
	check_equal(advance_clock(0, SECOND), 0);
	info = coarse(attacker.fd);
	check_equal(info.busy_ns, 0); /* 7 ms of the victim, 9 ms of the attacker */
	check_equal(info.fcs_normal, 0); /* 1 of the victim, 15 of the attacker */
	submit(&attacker, 2, 0, 2, 0);
	check_equal(advance_clock(0, 2 * SECOND), 0);
	info = coarse(attacker.fd);
	check_equal(info.busy_ns, BUSY_STEP_NS); /* 7 ms and 10.2 ms */
	check_equal(info.fcs_normal, FC_STEP);
	client_close(&victim);
	client_close(&attacker);
}

/* Exact numbers of slots would show the begin and the end of a job. */
static void slots_of_the_device_are_coarse(void)
{
	struct client victim = client_open(0, 254), other = client_open(0, 254);
	struct client stranger = client_open(0, 254);
	uint64_t exact, seen;
	unsigned int tag;

	put_delay(&victim, 0, SECOND);
	put_delay(&other, 0, SECOND);
	exact = limit_used(stranger.fd, OVERTAKE_LIMIT_COMMANDS);
	for (tag = 0; tag < 600; tag++) {
		submit(&victim, tag, 0, 1, 0);
		submit(&other, tag, 0, 1, 0);
	}
	check_equal(limit_used(stranger.fd, OVERTAKE_LIMIT_COMMANDS), exact + 1200);
	usleep(2 * PERIOD_NS / US);
	become_nobody();
	seen = limit_used(stranger.fd, OVERTAKE_LIMIT_COMMANDS);
	become_root();
	check_equal(seen, (exact + 1200) / COMMAND_STEP * COMMAND_STEP);
	client_close(&victim);
	client_close(&other);
	client_close(&stranger);
}

static uint64_t shown(const char *name)
{
	char path[128];

	sysfs_path(path, sizeof(path), 0, name);
	return read_counter(path);
}

/* Sysfs shows all users the numbers that the query shows clients without CAP_PERFMON. */
static void sysfs_is_coarse_for_all(void)
{
	struct client client = client_open(0, 255);
	struct drm_overtake_core_info info;
	unsigned int fc;

	for (fc = 0; fc < FCS; fc++)
		put_delay(&client, fc, duration_ns(fc));
	put_delay(&client, FCS, 500 * MS);
	check_equal(advance_clock(0, 1000), 0);
	submit(&client, 1, 0, FCS, 255);
	check_equal(advance_clock(0, SECOND), 0);
	submit(&client, 2, FCS, 1, 0);
	submit(&client, 3, FCS, 1, 0);
	submit(&client, 4, FCS, 1, 0);
	check_equal(advance_clock(0, SECOND + 1000), 0);
	info = coarse(client.fd);
	check_equal(info.busy_ns, total_ns() / BUSY_STEP_NS * BUSY_STEP_NS);
	check_equal(info.fcs_high, FC_STEP);
	check_equal(shown("core1/busy_ns"), info.busy_ns);
	check_equal(shown("core1/fcs_high"), info.fcs_high);
	check_equal(shown("core1/fcs_normal"), 0);
	check_equal(shown("core1/preemptions"), 0);
	check_equal(shown("core1/faults"), 0);
	check_equal(shown("core1/resets"), 0);
	check_equal(shown("core1/queue"), 4); /* 3, as a power of two */
	become_nobody();
	check_equal(shown("core1/busy_ns"), info.busy_ns);
	become_root();
	client_close(&client);
}

#define MIB		(1ull << 20)

/* Returns the number when it has had time to change. */
static uint64_t shown_later(const char *name)
{
	usleep(2 * PERIOD_NS / US);
	return shown(name);
}

/* The mean of the numbers that are shown of two cores, in whole steps. */
static void npu_busy_time_is_the_mean_of_the_cores(void)
{
	struct client first = client_open(0, 254), second = client_open(0, 254);
	struct job job;

	put_delay(&first, 0, 128 * MS);
	put_delay(&second, 0, 59 * MS);
	check_equal(advance_clock(0, 1000), 0);
	submit(&first, 1, 0, 1, 0);
	job_init(&job, &second, 1, 0, 1);
	job.submit.core = 2;
	check_equal(job_submit(&second, &job), 0);
	check_equal(advance_clock(0, SECOND), 0);
	check_equal(shown_later("core1/busy_ns"), 120 * MS);
	check_equal(shown("core2/busy_ns"), 50 * MS);
	check_equal(shown("npu_busy_time_us"), 80000); /* not 85000, nor 93500 */
	become_nobody();
	check_equal(shown("npu_busy_time_us"), 80000);
	check_equal(shown("npu_current_frequency_mhz"), 1000);
	become_root();
	client_close(&first);
	client_close(&second);
}

/* The memory of each file is rounded up. */
static void npu_memory_is_coarse(void)
{
	struct client first = client_open(0, 254), second = client_open(0, 254);
	uint64_t used = limit_used(first.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	struct buffer buffer;

	check(used > 0 && used < MIB);
	check_equal(shown_later("npu_memory_utilization"), 2 * MIB);
	buffer = buffer_create(first.fd, 3 * MIB, 0); /* and the memory that was there before */
	check_equal(shown_later("npu_memory_utilization"), 5 * MIB);
	buffer_destroy(first.fd, &buffer);
	check_equal(shown_later("npu_memory_utilization"), 2 * MIB);
	client_close(&second);
	client_close(&first);
	wait_until_forgotten();
	check_equal(shown_later("npu_memory_utilization"), 0);
}

/* Memory that was refused does not count, even if some of it was added before the refusal. */
static void npu_memory_forgets_what_was_refused(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];
	struct drm_overtake_bo_create create;
	uint64_t used;
	int ret;

	query_limits(client.fd, limits);
	do {
		create = (struct drm_overtake_bo_create){
			.size = limits[OVERTAKE_LIMIT_BUFFER_BYTES].value,
		};
		ret = device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create);
	} while (!ret);
	check_equal(ret, -ENOSPC);
	used = limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	check(used > limits[OVERTAKE_LIMIT_BUFFER_BYTES].value);
	check_equal(shown_later("npu_memory_utilization"), (used + MIB - 1) / MIB * MIB);
	client_close(&client);
	wait_until_forgotten();
	check_equal(shown_later("npu_memory_utilization"), 0);
}

/* A process that reads all the time sees one change in a period, however many buffers are made. */
static void npu_memory_changes_once_a_period(void)
{
	struct client client = client_open(0, 254);
	int64_t begin = monotonic_ns();
	uint64_t seen = 0, now, periods;
	struct buffer buffers[40];
	unsigned int changes = 0, i;

	for (i = 0; i < 40; i++) {
		buffers[i] = buffer_create(client.fd, MIB, 0);
		usleep(10000);
		now = shown("npu_memory_utilization");
		changes += now != seen;
		seen = now;
	}
	periods = (uint64_t)(monotonic_ns() - begin) / PERIOD_NS + 2;
	for (i = 0; i < 40; i++)
		buffer_destroy(client.fd, &buffers[i]);
	check_message(changes > 1 && changes <= periods, "%u changes in %llu periods", changes,
		      (unsigned long long)periods);
	client_close(&client);
}

#define ABI_FILE	"docs/ABI/sysfs-platform-overtake"

/* Returns whether the kernel itself puts @name into the directory of a device. */
static bool is_the_kernels(const char *name)
{
	static const char *const names[] = {
		".", "..", "accel", "driver", "driver_override", "modalias", "power", "subsystem",
		"uevent", "devcoredump", "waiting_for_supplier", "msi_irqs", "iommu", "iommu_group",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Returns whether the ABI file has a "What:" for @name, a file of a device or of core N. */
static bool is_documented(const char *abi, const char *name)
{
	char line[1024];

	snprintf(line, sizeof(line), "\nWhat:\t\t/sys/bus/platform/devices/overtake.N/%s\n", name);
	return strstr(abi, line);
}

static unsigned int check_directory(const char *abi, const char *directory, const char *prefix)
{
	DIR *open_directory = opendir(directory);
	struct dirent *entry;
	unsigned int count = 0;

	check_message(open_directory, "%s: %s", directory, strerror(errno));
	while ((entry = readdir(open_directory))) {
		char name[512], path[1024];
		struct stat status;

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (is_the_kernels(entry->d_name) || stat(path, &status) || S_ISDIR(status.st_mode))
			continue;
		snprintf(name, sizeof(name), "%s%s", prefix, entry->d_name);
		check_message(is_documented(abi, name), "%s is not in " ABI_FILE, name);
		count++;
	}
	closedir(open_directory);
	return count;
}

static unsigned int count_text(const char *text, const char *wanted)
{
	unsigned int count = 0;

	while ((text = strstr(text, wanted))) {
		text += strlen(wanted);
		count++;
	}
	return count;
}

/* All attributes are documented, and no others, since none is documented twice. */
static void every_attribute_is_documented(void)
{
	static char abi[65536];
	unsigned int there;
	char path[128];

	check_message(!read_file(ABI_FILE, abi, sizeof(abi)), ABI_FILE " cannot be read");
	sysfs_path(path, sizeof(path), 0, "");
	there = check_directory(abi, path, "");
	sysfs_path(path, sizeof(path), 0, "core1");
	there += check_directory(abi, path, "coreN/");
	sysfs_path(path, sizeof(path), 0, "service");
	there += check_directory(abi, path, "service/");
	check_equal(count_text(abi, "\nWhat:\t\t"), there);
	check_equal(count_text(abi, "\nDate:\t\t"), there);
	check_equal(count_text(abi, "\nKernelVersion:\t"), there);
	check_equal(count_text(abi, "\nContact:\t"), there);
	check_equal(count_text(abi, "\nDescription:\n"), there);
}

/* Checks that each attribute has one line and one word, and is no table. */
static void check_values(const char *directory)
{
	DIR *open_directory = opendir(directory);
	struct dirent *entry;

	check(open_directory);
	while ((entry = readdir(open_directory))) {
		char path[1024], text[4096];
		struct stat status;

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (is_the_kernels(entry->d_name) || stat(path, &status) ||
		    !S_ISREG(status.st_mode) || !(status.st_mode & 0400))
			continue;
		check_equal(read_file(path, text, sizeof(text)), 0);
		check_message(text[0] && strcspn(text, " \n") == strlen(text) - 1,
			      "%s is \"%s\"", path, text);
	}
	closedir(open_directory);
}

static void every_attribute_is_one_value(void)
{
	struct client client = client_open(0, 254);
	char path[128];

	sysfs_path(path, sizeof(path), 0, "");
	check_values(path);
	sysfs_path(path, sizeof(path), 0, "core2");
	check_values(path);
	client_close(&client);
}

const struct test_case counter_cases[] = {
	{ "counters-exact-ones-tell-all", MANUAL, exact_counters_tell_all },
	{ "counters-strangers-learn-no-duration", MANUAL " ", strangers_learn_no_duration },
	{ "counters-own-work-does-not-dither", MANUAL "  ", own_work_does_not_dither },
	{ "counters-slots-of-the-device-are-coarse", MANUAL " ", slots_of_the_device_are_coarse },
	{ "counters-sysfs-is-coarse-for-all", MANUAL "  ", sysfs_is_coarse_for_all },
	{ "counters-npu-busy-time-is-the-mean-of-the-cores", MANUAL " ",
	  npu_busy_time_is_the_mean_of_the_cores },
	{ "counters-npu-memory-is-coarse", MANUAL "  ", npu_memory_is_coarse },
	{ "counters-npu-memory-forgets-what-was-refused", MANUAL " ",
	  npu_memory_forgets_what_was_refused },
	{ "counters-npu-memory-changes-once-a-period", MANUAL "  ",
	  npu_memory_changes_once_a_period },
	{ "counters-every-attribute-is-documented", MANUAL " ", every_attribute_is_documented },
	{ "counters-every-attribute-is-one-value", MANUAL " ", every_attribute_is_one_value },
	{ 0 },
};
