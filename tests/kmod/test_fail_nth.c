// SPDX-License-Identifier: MIT
/*
 * The first, second, third ... attempt of an operation to get memory or to copy to or from user
 * memory fails, until the operation succeeds without a failure.  Each error is a documented one,
 * the client goes on working, and after its end the device has nothing of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "fail_nth.h"
#include "fail_nth_operations.h"
#include "load.h"

/* Jobs compute, and take as long as their delays say. */
#define BOTH		"cores=2 mode=both profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define ATTEMPTS	3000

static void subject_open(struct subject *subject, const struct operation *operation)
{
	memset(subject, 0, sizeof(*subject));
	subject->other = -1;
	subject->variant = operation->variant;
	subject->client = client_open(0, 255);
	if (operation->prepare)
		operation->prepare(subject);
}

/* Checks that the client, after a call failed, can run a job. */
static void check_usable(struct subject *subject)
{
	struct client *client = &subject->client;
	struct overtake_result result;
	uint32_t context = client->context;
	struct job job;

	if (client->fd < 0)
		return;
	check_equal(context_create(client->fd, 254, 0, &client->context), 0);
	memset(client->data.data, 0x5a, 4096);
	memset(client->data.data + 16384, 0, 4096);
	put_copy(client, 100, 16384, 0, 4096);
	job_init(&job, client, 1, 100, 1);
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(client->data.data, client->data.data + 16384, 4096));
	client->context = context;
}

static void subject_close(struct subject *subject)
{
	if (subject->has_ring)
		io_uring_queue_exit(&subject->ring);
	if (subject->other >= 0)
		close(subject->other);
	free(subject->fcs);
	client_close(&subject->client);
	wait_until_forgotten();
}

/* Without memory for an inode shmem returns ENOSPC, and a ring without memory EAGAIN. */
static bool is_documented(const struct operation *operation, int ret)
{
	return !ret || ret == -ENOMEM || ret == -EFAULT || ret == -ENOSPC || ret == -EAGAIN ||
	       (ret == -EINVAL && operation->variant & LINUX_SAYS_EINVAL);
}

/* Returns true if there was no failure left to inject. */
static bool attempt(const struct operation *operation, int fail_nth, int nth)
{
	struct subject subject;
	bool left;
	int ret;

	subject_open(&subject, operation);
	fail_nth_set(fail_nth, nth);
	ret = operation->run(&subject);
	left = fail_nth_is_left(fail_nth);
	fail_nth_set(fail_nth, 0);
	check_message(!ret || !left, "%s: %s, although nothing was made to fail", operation->name,
		      strerror(-ret));
	check_message(is_documented(operation, ret), "%s, failure %d: %s", operation->name, nth,
		      strerror(-ret));
	check_usable(&subject);
	subject_close(&subject);
	return left;
}

/* @spared: a function of the kernel in which nothing fails, or NULL. */
static void sweep(const struct operation *operation, const char *spared)
{
	int fail_nth, total = 0;

	fail_nth_need();
	fail_nth_spare(spared);
	fail_nth = fail_nth_open();
	for (; operation->name; operation++) {
		int nth = 1;

		while (!attempt(operation, fail_nth, nth))
			check_message(++nth < ATTEMPTS, "%s never succeeds", operation->name);
		printf("# %s: %d failures\n", operation->name, nth - 1);
		fflush(stdout);
		total += nth - 1;
	}
	printf("# injected: %d\n", total);
	close(fail_nth);
}

static void files(void)
{
	sweep(file_operations, NULL);
}

static void buffers(void)
{
	sweep(buffer_operations, NULL);
}

static void jobs(void)
{
	sweep(job_operations, NULL);
}

static void rings(void)
{
	sweep(ring_operations, NULL);
}

static void tasks(void)
{
	sweep(task_operations, NULL);
}

static void groups(void)
{
	sweep(group_operations, NULL);
}

static void records(void)
{
	sweep(record_operations, NULL);
}

static void sharing(void)
{
	/* Linux 6.12 warns when an exporter has no memory to map with. */
	sweep(share_operations, "dma_buf_vmap");
}

static void whole_lives(void)
{
	sweep(whole_operations, NULL);
}

static int driver_write(const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/overtake/%s", what);
	return write_file(path, "overtake.0");
}

/*
 * Checks a device with or without its files in debugfs.  If the kernel has no memory for a node,
 * Linux does not count that as a failure of the probe; a second probe makes the node.
 */
static void check_device_works(void)
{
	struct subject subject = { 0 };
	int fd = device_try_open(0);

	if (fd < 0) {
		check_equal(driver_write("unbind"), 0);
		check_equal(driver_write("bind"), 0);
	} else {
		close(fd);
	}
	subject.client = client_open(0, 255);
	check_usable(&subject);
	client_close(&subject.client);
}

/* A probe that fails leaves nothing, and the next one succeeds; removal cannot fail. */
static void probing(void)
{
	int fail_nth, nth = 0, removals = 0, ret;
	bool left = false;

	fail_nth_need();
	/* Linux 6.12 does not survive this failure: it puts a device that is an error pointer. */
	fail_nth_spare("drm_sysfs_minor_alloc");
	fail_nth = fail_nth_open();
	/* Readers of the kernel log must not count these messages of Linux as complaints. */
	check_equal(write_file("/dev/kmsg", "overtake-test: expect "
			       "probe with driver overtake failed with error -12"
			       "|overtake\\.0: really_probe: driver_sysfs_add failed"
			       "|drm_gem_init\\] \\*ERROR\\* out of memory"
			       "|drm_dev_init\\] \\*ERROR\\* Cannot initialize graphics execution"
			       "|drm_dev_init\\] \\*ERROR\\* Cannot allocate anonymous inode"
			       "|debugfs: out of free dentries, can not create"
			       "|kobject_add_internal failed for accel0? \\(error: -12"), 0);
	while (!left) {
		check_message(++nth < ATTEMPTS, "probe never succeeds");
		fail_nth_set(fail_nth, nth);
		ret = driver_write("unbind");
		left = fail_nth_is_left(fail_nth);
		fail_nth_set(fail_nth, 0);
		removals += !left;
		check_message(!ret || (!left && (ret == -ENOMEM || ret == -EFAULT)), "unbind: %s",
			      strerror(-ret));
		if (ret)
			check_equal(driver_write("unbind"), 0);

		fail_nth_set(fail_nth, nth);
		ret = driver_write("bind");
		left &= fail_nth_is_left(fail_nth);
		fail_nth_set(fail_nth, 0);
		check_message(!ret || !left, "bind: %s, although nothing was made to fail",
			      strerror(-ret));
		if (ret) {
			check_message(ret == -ENOMEM || ret == -EFAULT, "bind, failure %d: %s", nth,
				      strerror(-ret));
			check_equal(driver_write("bind"), 0);
		}
		check_device_works();
	}
	printf("# injected: %d\n", nth - 1 + removals);
	fflush(stdout);
	close(fail_nth);
}

const struct test_case fail_nth_cases[] = {
	{ "fail-nth-files", BOTH, files },
	{ "fail-nth-buffers", BOTH, buffers },
	{ "fail-nth-contexts-and-jobs", BOTH, jobs },
	{ "fail-nth-io-uring", BOTH, rings },
	{ "fail-nth-tasks", BOTH, tasks },
	{ "fail-nth-groups", BOTH, groups },
	{ "fail-nth-records", BOTH, records },
	{ "fail-nth-sharing", BOTH, sharing },
	{ "fail-nth-whole-lives", BOTH, whole_lives },
	{ "fail-nth-probe-and-remove", BOTH, probing },
	{ 0 },
};
