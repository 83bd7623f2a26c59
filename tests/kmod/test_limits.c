// SPDX-License-Identifier: MIT
/*
 * Limits of a client: each is reached, the next call fails with the documented error,
 * OVERTAKE_QUERY_LIMITS names the limit, and a client can use again what it has given back.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "ring.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull
#define MIB		(1ull << 20)

/* Returns the limit that refused last, as a client finds it, or OVERTAKE_LIMIT_COUNT. */
static uint32_t limit_exceeded(int fd)
{
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];
	uint32_t i, latest = OVERTAKE_LIMIT_COUNT;

	query_limits(fd, limits);
	for (i = 0; i < OVERTAKE_LIMIT_COUNT; i++)
		if (limits[i].refused_ns && (latest == OVERTAKE_LIMIT_COUNT ||
					     limits[i].refused_ns > limits[latest].refused_ns))
			latest = i;
	return latest;
}

static uint64_t refused(int fd, uint32_t limit)
{
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];

	query_limits(fd, limits);
	return limits[limit].refused;
}

static void limits_are_told(void)
{
	static const uint64_t values[OVERTAKE_LIMIT_COUNT] = {
		[OVERTAKE_LIMIT_CONTEXTS] = OVERTAKE_MAX_CONTEXTS,
		[OVERTAKE_LIMIT_CONTEXT_JOBS] = OVERTAKE_MAX_JOBS,
		[OVERTAKE_LIMIT_CLIENT_JOBS] = OVERTAKE_MAX_CLIENT_JOBS,
		[OVERTAKE_LIMIT_BUFFERS] = OVERTAKE_MAX_BUFFERS,
		[OVERTAKE_LIMIT_CLIENT_BYTES] = OVERTAKE_MAX_CLIENT_BYTES,
		[OVERTAKE_LIMIT_BUFFER_BYTES] = OVERTAKE_MAX_BUFFER_BYTES,
		[OVERTAKE_LIMIT_FCS] = OVERTAKE_MAX_FCS,
		[OVERTAKE_LIMIT_BINDINGS] = OVERTAKE_MAX_BINDINGS,
		[OVERTAKE_LIMIT_SCRATCH_BYTES] = OVERTAKE_MAX_SCRATCH_BYTES,
		[OVERTAKE_LIMIT_SYNCS] = OVERTAKE_MAX_SYNCS,
		[OVERTAKE_LIMIT_TASKS] = OVERTAKE_MAX_TASKS,
		[OVERTAKE_LIMIT_SEGMENTS] = OVERTAKE_MAX_SEGMENTS,
		[OVERTAKE_LIMIT_USER_TASKS] = OVERTAKE_MAX_USER_TASKS,
		[OVERTAKE_LIMIT_WAITERS] = OVERTAKE_MAX_WAITERS,
		[OVERTAKE_LIMIT_STAGES] = OVERTAKE_MAX_STAGES,
		[OVERTAKE_LIMIT_RECORDINGS] = OVERTAKE_MAX_RECORDINGS,
		[OVERTAKE_LIMIT_INSTANCES] = OVERTAKE_MAX_INSTANCES,
	};
	struct client client = client_open(0, 254);
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT], part[2];
	struct drm_overtake_query query = { .topic = OVERTAKE_QUERY_LIMITS };
	uint32_t i;

	query_limits(client.fd, limits);
	for (i = 0; i < OVERTAKE_LIMIT_COUNT; i++) {
		if (i != OVERTAKE_LIMIT_COMMANDS && i != OVERTAKE_LIMIT_USER_COMMANDS)
			check_equal(limits[i].value, values[i]);
		check_equal(limits[i].refused, 0);
		check_equal(limits[i].refused_ns, 0);
	}
	check_equal(limits[OVERTAKE_LIMIT_CONTEXTS].used, 1);
	check_equal(limits[OVERTAKE_LIMIT_BUFFERS].used, 2);
	check_equal(limits[OVERTAKE_LIMIT_CLIENT_BYTES].used, 2 * 65536);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_COUNT);
	/* The size is negotiated as for all topics. */
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(query.size, sizeof(limits));
	memset(part, 0xee, sizeof(part));
	query.size = sizeof(part[0]);
	query.data = (uintptr_t)part;
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(part[0].value, OVERTAKE_MAX_CONTEXTS);
	check_equal(part[1].value, 0xeeeeeeeeeeeeeeeeull);
	client_close(&client);
}

static void limit_of_contexts(void)
{
	struct client client = client_open(0, 254);
	uint32_t id, i;

	for (i = 1; i < OVERTAKE_MAX_CONTEXTS; i++)
		check_equal(context_create(client.fd, 254, 0, &id), 0);
	check_equal(context_create(client.fd, 254, 0, &id), -ENOSPC);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_CONTEXTS);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_CONTEXTS), OVERTAKE_MAX_CONTEXTS);
	check_equal(context_destroy(client.fd, 7), 0);
	check_equal(context_create(client.fd, 254, 0, &id), 0);
	check_equal(id, 7);
	client_close(&client);
}

/* Submits jobs until the driver refuses one; returns the number of accepted jobs. */
static uint32_t submit_until_refused(const struct client *client, uint64_t tag)
{
	uint32_t count = 0;
	struct job job;
	int ret;

	job_init(&job, client, tag, 0, 1);
	job.submit.deadline_ns = NEVER;
	while (!(ret = device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_SUBMIT, &job.submit))) {
		job.submit.tag++;
		count++;
	}
	check_equal(ret, -ENOSPC);
	return count;
}

static void limits_of_jobs(void)
{
	struct overtake_result result;
	uint32_t first, contexts;
	struct client client;

	client = client_open_at_zero();
	first = client.context;
	put_delay(&client, 0, 1);
	check_equal(submit_until_refused(&client, 1), OVERTAKE_MAX_JOBS);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_CONTEXT_JOBS);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_CONTEXT_JOBS), OVERTAKE_MAX_JOBS);
	for (contexts = 1; contexts < OVERTAKE_MAX_CLIENT_JOBS / OVERTAKE_MAX_JOBS; contexts++) {
		check_equal(context_create(client.fd, 254, 0, &client.context), 0);
		check_equal(submit_until_refused(&client, 1), OVERTAKE_MAX_JOBS);
	}
	check_equal(context_create(client.fd, 254, 0, &client.context), 0);
	check_equal(submit_until_refused(&client, 1), 0);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_CLIENT_JOBS);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_JOBS), OVERTAKE_MAX_CLIENT_JOBS);
	/* A job that has ended still counts until it is collected. */
	check_equal(job_cancel(&(struct client){ .fd = client.fd, .context = first }, 5), 0);
	check_equal(advance_clock(0, MS), 0);
	check_equal(submit_until_refused(&client, 1), 0);
	client.context = first;
	check_equal(job_wait(&client, 5, 0, &result), 0);
	check_equal(submit_until_refused(&client, 100000), 1);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_CONTEXT_JOBS);
	client_close(&client);
	restart_clock(0); /* returns when all of them have gone */
}

/* Opens a client of user @uid; 0 is root. */
static struct client client_open_as(uid_t uid)
{
	struct client client;

	check_equal(seteuid(uid), 0);
	client = client_open(0, 254);
	check_equal(seteuid(0), 0);
	put_delay(&client, 0, 1);
	return client;
}

/* Submits jobs until the driver refuses one; returns the number in flight. */
static uint32_t fill_client(struct client *client)
{
	uint32_t i, id, total = 0;

	for (i = 0; i < OVERTAKE_MAX_CLIENT_JOBS / OVERTAKE_MAX_JOBS; i++) {
		if (i && context_create(client->fd, 254, 0, &id))
			break;
		client->context = i ? id : client->context;
		total += submit_until_refused(client, 1);
	}
	return total;
}

static void let_others_open(void)
{
	check_equal(chmod("/dev/accel/accel0", 0666), 0);
}

/* A user can open many files; the limit counts for the user who opened them. */
static void limit_of_a_users_commands(void)
{
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];
	struct client clients[3], other;
	uint32_t i, total = 0;
	struct job job;

	restart_clock(0);
	let_others_open();
	for (i = 0; i < 3; i++)
		clients[i] = client_open_as(1001);
	for (i = 0; i < 3; i++)
		total += fill_client(&clients[i]);
	query_limits(clients[2].fd, limits);
	check(2 * total <= limits[OVERTAKE_LIMIT_USER_COMMANDS].value);
	check(2 * total > limits[OVERTAKE_LIMIT_USER_COMMANDS].value - 256);
	check(limits[OVERTAKE_LIMIT_USER_COMMANDS].used + 2 >
	      limits[OVERTAKE_LIMIT_USER_COMMANDS].value);
	check_equal(limit_exceeded(clients[2].fd), OVERTAKE_LIMIT_USER_COMMANDS);
	/* Other users are not affected. */
	other = client_open_as(1002);
	check_equal(limit_used(other.fd, OVERTAKE_LIMIT_USER_COMMANDS), 1);
	job_init(&job, &other, 1, 0, 1);
	check_equal(job_submit(&other, &job), 0);
	check_equal(limit_used(other.fd, OVERTAKE_LIMIT_USER_COMMANDS), 3);
	/* Slots of jobs that end are given back. */
	client_close(&clients[0]);
	check_equal(advance_clock(0, MS), 0);
	job_init(&job, &clients[2], 77777, 0, 1);
	check_equal(job_submit(&clients[2], &job), 0);
	for (i = 1; i < 3; i++)
		client_close(&clients[i]);
	client_close(&other);
	restart_clock(0);
}

/*
 * Jobs of ordinary clients leave room for clients with the right to HIGH, and for a first job of a
 * user who has none.  A job that has arrived takes one slot, for its CANCEL; so the test takes more
 * users than the two whose limits would make up the limit of the device.
 */
static void limit_of_the_devices_commands(void)
{
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];
	struct client high, clients[8], late;
	uint32_t i, total = 0;
	struct job job;

	restart_clock(0);
	let_others_open();
	high = client_open(0, 255);
	put_delay(&high, 0, 1);
	query_limits(high.fd, limits);
	for (i = 0; i < 8; i++)
		clients[i] = client_open_as(1001 + i / 2);
	for (i = 0; i < 8; i++)
		total += fill_client(&clients[i]);
	check(total + 4096 <= limits[OVERTAKE_LIMIT_COMMANDS].value);
	check(total + 4096 > limits[OVERTAKE_LIMIT_COMMANDS].value - 256);
	check_equal(limit_exceeded(clients[7].fd), OVERTAKE_LIMIT_COMMANDS);
	late = client_open_as(1009);
	job_init(&job, &late, 1, 0, 1);
	check_equal(job_submit(&late, &job), 0);
	job_init(&job, &late, 2, 0, 1);
	check_equal(job_submit(&late, &job), -ENOSPC);
	check_equal(limit_exceeded(late.fd), OVERTAKE_LIMIT_COMMANDS);
	job_init(&job, &high, 1, 0, 1);
	job.submit.priority = 255;
	check_equal(job_submit(&high, &job), 0);
	/* A client that closes its file returns its slots. */
	client_close(&clients[0]);
	check_equal(advance_clock(0, MS), 0);
	job_init(&job, &clients[7], 77777, 0, 1);
	query_limits(clients[7].fd, limits);
	check_message(!job_submit(&clients[7], &job), "refused by limit %u; %llu commands in use",
		      limit_exceeded(clients[7].fd),
		      (unsigned long long)limits[OVERTAKE_LIMIT_COMMANDS].used);
	for (i = 1; i < 8; i++)
		client_close(&clients[i]);
	client_close(&late);
	client_close(&high);
	restart_clock(0);
}

static int create(const struct client *client, uint64_t size, uint32_t *handle)
{
	struct drm_overtake_bo_create args = { .size = size };
	int ret = device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &args);

	*handle = args.handle;
	return ret;
}

static void limits_of_memory(void)
{
	struct client client = client_open(0, 254);
	uint32_t handle, last = 0, i;
	struct job job;

	check_equal(create(&client, OVERTAKE_MAX_BUFFER_BYTES + 1, &handle), -E2BIG);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_BUFFER_BYTES);
	for (i = 0; i < 3; i++)
		check_equal(create(&client, OVERTAKE_MAX_BUFFER_BYTES, &last), 0);
	check_equal(create(&client, OVERTAKE_MAX_BUFFER_BYTES, &handle), -ENOSPC);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_CLIENT_BYTES);
	check_equal(create(&client, OVERTAKE_MAX_BUFFER_BYTES - 64 * MIB, &handle), 0);
	/* Scratch is charged to the same account. */
	put_delay(&client, 0, 1);
	job_init(&job, &client, 1, 0, 1);
	job.submit.scratch_bytes = 64 * MIB;
	check_equal(job_submit(&client, &job), -ENOSPC);
	check_equal(refused(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES), 2);
	job.submit.scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1;
	check_equal(job_submit(&client, &job), -E2BIG);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_SCRATCH_BYTES);
	check_equal(close_handle(client.fd, last), 0);
	job.submit.scratch_bytes = MIB;
	check_equal(job_submit(&client, &job), 0);
	check(limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES) > 3 * OVERTAKE_MAX_BUFFER_BYTES - 64 * MIB);
	client_close(&client);
}

static void limit_of_buffers(void)
{
	struct client client = client_open(0, 254);
	uint32_t handle, i;

	for (i = 2; i < OVERTAKE_MAX_BUFFERS; i++)
		check_equal(create(&client, 1, &handle), 0);
	check_equal(create(&client, 1, &handle), -ENOSPC);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_BUFFERS);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_BUFFERS), OVERTAKE_MAX_BUFFERS);
	check_equal(close_handle(client.fd, client.data.handle + 1), 0);
	check_equal(create(&client, 1, &handle), 0);
	client_close(&client);
}

static void limits_of_one_job(void)
{
	struct client client = client_open(0, 254);
	uint32_t sync = syncobj_create(client.fd);
	struct sync_chain chain;
	struct job job;

	put_delay(&client, 0, 1);
	job_init(&job, &client, 1, 0, 1);
	job.submit.fc_count = OVERTAKE_MAX_FCS + 1;
	check_equal(job_submit(&client, &job), -E2BIG);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_FCS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.binding_count = OVERTAKE_MAX_BINDINGS + 1;
	check_equal(job_submit(&client, &job), -E2BIG);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_BINDINGS);
	job_init(&job, &client, 1, 0, 1);
	sync_chain_init(&chain, &job);
	chain.sync.in_count = OVERTAKE_MAX_SYNCS + 1;
	check_equal(job_submit(&client, &job), -E2BIG);
	check_equal(limit_exceeded(client.fd), OVERTAKE_LIMIT_SYNCS);
	chain.sync.in_count = 0;
	while (chain.sync.out_count < OVERTAKE_MAX_SYNCS)
		sync_chain_out(&chain, sync, 1 + chain.sync.out_count);
	check_equal(job_submit(&client, &job), 0);
	client_close(&client);
}

#define CGROUPS	"/tmp/cgroups"

/* Returns the bytes that are charged to the memory cgroup of this process. */
static uint64_t charged_to_group(void)
{
	return read_counter(CGROUPS "/clients/memory.current");
}

static void memory_is_charged_to_the_caller(void)
{
	const uint32_t scratch = 64u << 20;
	struct overtake_result result;
	struct client client;
	unsigned int tries = 0;
	uint64_t before;
	char text[32];
	struct job job;

	mkdir(CGROUPS, 0700);
	if (mount("cgroup", CGROUPS, "cgroup2", 0, NULL) && errno != EBUSY)
		check_skip("this kernel has no control groups");
	if (write_file(CGROUPS "/cgroup.subtree_control", "+memory"))
		check_skip("this kernel has no memory controller");
	mkdir(CGROUPS "/clients", 0700);
	snprintf(text, sizeof(text), "%d", getpid());
	check_equal(write_file(CGROUPS "/clients/cgroup.procs", text), 0);
	client = client_open_at_zero();
	put_delay(&client, 0, MS);
	before = charged_to_group();
	job_init(&job, &client, 1, 0, 1);
	job.submit.scratch_bytes = scratch;
	check_equal(job_submit(&client, &job), 0);
	check(charged_to_group() >= before + scratch);
	check_equal(advance_clock(0, 2 * MS), 0);
	check_equal(job_wait(&client, 1, 0, &result), 0);
	/* The thread that delivers results may have the last reference: then a work item frees the job. */
	while (charged_to_group() >= before + scratch / 2)
		check(tries++ < 10000 && !usleep(MS / 1000));
	client_close(&client);
	check_equal(write_file(CGROUPS "/cgroup.procs", text), 0);
	umount2(CGROUPS, MNT_DETACH);
}

/* Returns the events of poll(), without waiting. */
static short polled(int fd)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	check(poll(&file, 1, 0) >= 0);
	return file.revents;
}

static void poll_tells_what_can_be_collected(void)
{
	struct overtake_result result;
	struct client client;
	struct job job;

	client = client_open_at_zero();
	put_delay(&client, 0, MS);
	check_equal(polled(client.fd), 0);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(polled(client.fd), 0);
	check_equal(advance_clock(0, 3 * MS), 0);
	check_equal(polled(client.fd), POLLIN);
	check_equal(job_wait(&client, 2, 0, &result), 0);
	check_equal(polled(client.fd), POLLIN);
	check_equal(job_wait(&client, 1, 0, &result), 0);
	check_equal(polled(client.fd), 0);
	/* A context that is destroyed takes its uncollected jobs along. */
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(polled(client.fd), POLLIN);
	check_equal(context_destroy(client.fd, client.context), 0);
	check_equal(polled(client.fd), 0);
	client_close(&client);
}

static void poll_wakes_up(void)
{
	struct client client = client_open(0, 254);
	struct pollfd file = { .fd = client.fd, .events = POLLIN };
	struct overtake_result result;
	struct completion completion;
	struct io_uring ring;
	struct job job;

	put_delay(&client, 0, 100 * MS);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(poll(&file, 1, -1), 1);
	check_equal(job_wait(&client, 1, 0, &result), 0);
	/* A job that came by io_uring is not collected. */
	ring_open_default(&ring);
	job_init(&job, &client, 2, 0, 1);
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.status, 0);
	check_equal(polled(client.fd), 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void poll_tells_that_the_device_has_gone(void)
{
	struct client client = client_open(0, 254);
	struct pollfd file = { .fd = client.fd, .events = POLLIN };
	pid_t child = fork();

	if (!child) {
		device_bind(0, "unbind");
		_exit(0);
	}
	/* Nothing is in flight: only the removal itself can wake it. */
	check_equal(poll(&file, 1, -1), 1);
	check(file.revents & POLLHUP && file.revents & POLLERR);
	client_close(&client);
	device_bind(0, "bind");
}

/* A file is closed and the clock is switched before the firmware has answered a CANCEL. */
static void clock_switch_loses_no_cancel(void)
{
	char path[128];
	uint32_t i;

	debugfs_path(path, sizeof(path), 0, "manual_clock");
	for (i = 0; i < 200; i++) {
		struct client client = client_open(0, 254);
		struct job job;

		put_delay(&client, 0, 1 + i % 50 * 1000);
		job_init(&job, &client, 1, 0, 1);
		check_equal(job_submit(&client, &job), 0);
		(void)job_cancel(&client, 1); /* in time or not */
		client_close(&client);
		check_equal(write_file(path, i % 2 ? "0" : "1"), 0);
	}
	/* A lost CANCEL would keep a job, its client, the device and so the module. */
	module_use(NULL);
	module_use("cores=2 mode=timed profile=ideal");
}

const struct test_case limit_cases[] = {
	{ "limits-are-told", FUNCTIONAL, limits_are_told },
	{ "limits-contexts", FUNCTIONAL, limit_of_contexts },
	{ "limits-memory", FUNCTIONAL, limits_of_memory },
	{ "limits-buffers", FUNCTIONAL, limit_of_buffers },
	{ "limits-one-job", FUNCTIONAL, limits_of_one_job },
	{ "limits-jobs", MANUAL, limits_of_jobs },
	{ "limits-commands-of-a-user", MANUAL, limit_of_a_users_commands },
	{ "limits-commands-of-the-device", MANUAL, limit_of_the_devices_commands },
	{ "limits-memory-is-charged-to-the-caller", MANUAL, memory_is_charged_to_the_caller },
	{ "poll-tells-what-can-be-collected", MANUAL, poll_tells_what_can_be_collected },
	{ "poll-wakes-up", "cores=2 mode=timed profile=ideal", poll_wakes_up },
	{ "clock-switch-loses-no-cancel", "cores=2 mode=timed profile=ideal",
	  clock_switch_loses_no_cancel },
	{ "poll-tells-that-the-device-has-gone", FUNCTIONAL,
	  poll_tells_that_the_device_has_gone },
	{ 0 },
};
