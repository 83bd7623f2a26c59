// SPDX-License-Identifier: MIT
/* Several independent devices; a device that goes away, and its open files. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "load.h"
#include "ring.h"

#define THREE	"devices=3 cores=1,2,4 mode=functional,timed,both profile=default,ideal,default " \
		"watchdog_ms=1000,2,50 queue_timeout_ms=10000,7000"
#define LOADED3	"devices=3 cores=2,1,3 mode=functional,both,functional watchdog_ms=2 ban_offences=0"
#define TIMED	"cores=2 mode=timed profile=ideal"
#define LASTING	" watchdog_ms=600000 queue_timeout_ms=600000"
#define PLAIN	"cores=2 mode=functional"
#define MS	1000000ull
#define NEVER	OVERTAKE_DEADLINE_NEVER
#define BYTES	4096u

static void devices_have_settings_of_their_own(void)
{
	static const struct {
		uint32_t cores, mode;
		uint64_t watchdog_ms, queue_timeout_ms;
	} expected[] = {
		{ 1, OVERTAKE_MODE_FUNCTIONAL, 1000, 10000 },
		{ 2, OVERTAKE_MODE_TIMED, 2, 7000 },
		{ 4, OVERTAKE_MODE_BOTH, 50, 7000 }, /* the last value given goes on */
	};
	struct drm_overtake_device_info info[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		int fd = device_open(i);

		device_query(fd, &info[i]);
		check_equal(info[i].core_count, expected[i].cores);
		check_equal(info[i].mode, expected[i].mode);
		check_equal(info[i].watchdog_cycles, expected[i].watchdog_ms * info[i].clock_khz);
		check_equal(info[i].queue_timeout_ns, expected[i].queue_timeout_ms * MS);
		close(fd);
	}
	check_equal(info[0].macs_per_cycle, info[2].macs_per_cycle);
	check(info[1].fc_overhead_cycles != info[0].fc_overhead_cycles);
	check_equal(device_try_open(3), -ENODEV);
}

/* Submits one copy and one delay on each core, all in flight together. */
static void submit_on_all_cores(struct client *client, unsigned int cores)
{
	unsigned int core;
	struct job job;

	memset(client->data.data, 0x5a, BYTES);
	put_delay(client, 0, 1 * MS);
	for (core = 1; core <= cores; core++) {
		put_copy(client, core, core * BYTES, 0, BYTES);
		job_init(&job, client, core, 0, 1);
		job.fcs[1] = (struct overtake_fc){ .first_insn = core, .insn_count = 1 };
		job.submit.fc_count = 2;
		job.submit.core = core;
		check_equal(job_submit(client, &job), 0);
	}
}

static void collect_from_all_cores(struct client *client, unsigned int cores, bool computes)
{
	struct overtake_result result;
	unsigned int core, i;

	for (core = 1; core <= cores; core++) {
		check_equal(job_wait(client, core, NEVER, &result), 0);
		check_equal(result.status, 0);
		check_equal(result.core, core);
		check_equal(result.fcs_done, 2);
		for (i = 0; i < BYTES; i++)
			check_equal(client->data.data[core * BYTES + i], computes ? 0x5a : 0);
	}
}

static void devices_work_side_by_side(void)
{
	static const unsigned int cores[3] = { 1, 2, 4 };
	struct drm_overtake_core_info info;
	struct client client[3];
	unsigned int i, core;

	for (i = 0; i < 3; i++)
		client[i] = client_open(i, 254);
	for (i = 0; i < 3; i++)
		submit_on_all_cores(&client[i], cores[i]);
	for (i = 0; i < 3; i++)
		collect_from_all_cores(&client[i], cores[i], i != 1);
	for (i = 0; i < 3; i++) {
		for (core = 1; core <= cores[i]; core++) {
			device_query_core(client[i].fd, core, &info);
			check_equal(info.fcs_normal, 2);
			check_equal(info.fcs_high, 0);
			check(i != 1 || info.busy_ns >= 1 * MS);
		}
	}
	for (i = 0; i < 3; i++)
		client_close(&client[i]);
}

/* A limit that root sets on one device, or a context asks for, does not affect other devices. */
static void limits_stay_on_their_device(void)
{
	struct drm_overtake_core_info info;
	struct client client[3];
	uint32_t context;
	char path[128];
	unsigned int i;

	for (i = 0; i < 3; i++)
		client[i] = client_open(i, 255);
	sysfs_path(path, sizeof(path), 1, "core_limit");
	check_equal(write_file(path, "5"), 0);
	check_equal(context_create(client[2].fd, 255, 3, &context), 0);
	for (i = 0; i < 3; i++) {
		static const unsigned int limits[3] = { 0, 5, 3 };

		device_query_core(client[i].fd, 1, &info);
		check_equal(info.core_limit, limits[i]);
	}
	check_equal(write_file(path, "0"), 0);
	for (i = 0; i < 3; i++)
		client_close(&client[i]);
}

/* Numbers of one file mean nothing in another file, of this device or another one. */
static void names_stay_in_their_file(void)
{
	struct client first = client_open(0, 254);
	struct client second = client_open(2, 254);
	struct overtake_result result;
	struct drm_overtake_bo_map map = { .flags = OVERTAKE_MAP_READ };
	struct buffer extra;
	struct job job;

	extra = buffer_create(first.fd, 4096, OVERTAKE_MAP_READ);
	map.handle = extra.handle;
	check_equal(device_ioctl(second.fd, DRM_IOCTL_OVERTAKE_BO_MAP, &map), -ENOENT);
	put_delay(&first, 0, 1000);
	put_delay(&second, 0, 1000);
	job_init(&job, &second, 7, 0, 1);
	job.bindings[0].address = extra.address;
	job.bindings[0].length = extra.size;
	check_equal(job_submit(&second, &job), -ENOENT);
	job_init(&job, &first, 7, 0, 1);
	check_equal(job_submit(&first, &job), 0);
	check_equal(job_wait(&second, 7, 0, &result), -ENOENT);
	check_equal(job_cancel(&second, 7), -ENOENT);
	check_equal(job_wait(&first, 7, NEVER, &result), 0);
	client_close(&first);
	client_close(&second);
}

static unsigned int rounds(unsigned int usual)
{
	const char *factor = getenv("KMOD_ROUNDS");

	return usual * (factor ? (unsigned int)strtoul(factor, NULL, 10) : 1);
}

/* The device in the middle comes and goes under load; its neighbours compute what they should. */
static void one_device_goes_the_others_stay(void)
{
	pid_t neighbours[2] = { neighbour_start_on(0), neighbour_start_on(2) };
	pid_t loads[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		loads[i] = load_start_on(i, 40 + i);
	for (i = 0; i < rounds(10); i++) {
		usleep(20000);
		device_bind(1, "unbind");
		device_bind(1, "bind");
	}
	for (i = 0; i < 3; i++)
		load_kill(loads[i]);
	for (i = 0; i < 2; i++)
		neighbour_stop(neighbours[i]);
	for (i = 0; i < 3; i++)
		wait_until_forgotten_on(i);
}

/* A thread in a system call that sleeps until a job ends, and the result of the call. */
struct waiter {
	struct client *client;
	pthread_t thread;
	int ret;
	struct overtake_result result;
};

static void *wait_for_job(void *argument)
{
	struct waiter *waiter = argument;

	waiter->ret = job_wait(waiter->client, 1, NEVER, &waiter->result);
	return NULL;
}

static void *wait_for_any(void *argument)
{
	struct waiter *waiter = argument;

	waiter->ret = job_wait_any(waiter->client, NEVER, &waiter->result);
	return NULL;
}

static void *wait_for_buffer(void *argument)
{
	struct waiter *waiter = argument;
	struct drm_overtake_bo_wait wait = {
		.handle = waiter->client->data.handle,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
		.deadline_ns = NEVER,
	};

	waiter->ret = device_ioctl(waiter->client->fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &wait);
	return NULL;
}

static void *destroy_context(void *argument)
{
	struct waiter *waiter = argument;

	waiter->ret = context_destroy(waiter->client->fd, waiter->client->context);
	return NULL;
}

/* Checks that the call's result has the status -ENODEV, or that the call returned 0 or -ENODEV. */
static void check_waiter(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	if (!waiter->ret && waiter->result.tag)
		check_equal(waiter->result.status, -ENODEV);
	else
		check_message(!waiter->ret || waiter->ret == -ENODEV, "a waiting call returned %s",
			      strerror(-waiter->ret));
}

/* Makes every call that a client can make; the arguments do not matter any more. */
static void check_file_is_dead(struct client *client)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_OVERTAKE_QUERY, DRM_IOCTL_OVERTAKE_BO_CREATE,
		DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, DRM_IOCTL_OVERTAKE_BO_MAP,
		DRM_IOCTL_OVERTAKE_BO_UNMAP, DRM_IOCTL_OVERTAKE_BO_WAIT,
		DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY,
		DRM_IOCTL_OVERTAKE_SUBMIT, DRM_IOCTL_OVERTAKE_CANCEL, DRM_IOCTL_OVERTAKE_WAIT,
		DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_VERSION,
	};
	struct drm_overtake_cancel cancel = { .tag = 1, .context_id = client->context };
	struct io_uring ring;
	char argument[512];
	struct job job;
	size_t i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		memset(argument, 0, sizeof(argument));
		check_equal(device_ioctl(client->fd, requests[i], argument), -ENODEV);
	}
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, client->fd, 0) == MAP_FAILED);
	check_equal(errno, ENODEV);
	ring_open_default(&ring);
	job_init(&job, client, 1, 0, 1);
	ring_submit_job(&ring, client, &job);
	check_equal(ring_reap(&ring).status, -ENODEV);
	ring_prepare(&ring, client->fd, OVERTAKE_URING_CANCEL, &cancel, sizeof(cancel), 2);
	check_equal(io_uring_submit(&ring), 1);
	check_equal(ring_reap(&ring).status, -ENODEV);
	io_uring_queue_exit(&ring);
}

static void submit_all_ways(struct client *client, struct io_uring *ring)
{
	struct job job;
	unsigned int i;

	put_delay(client, 0, 4000 * MS); /* so long that none ends by itself */
	for (i = 0; i < 8; i++) {
		job_init(&job, client, 1 + i, 0, 1);
		job.submit.core = 1 + i % 2;
		check_equal(job_submit(client, &job), 0);
		job_init(&job, client, 101 + i, 0, 1);
		job.submit.result = client->data.address + RESULT_OFFSET;
		job.submit.scratch_bytes = 8192;
		ring_submit_job(ring, client, &job);
	}
}

static void end_everything_in_flight(void)
{
	static void *(*const calls[])(void *) = { wait_for_job, wait_for_any, wait_for_buffer,
						  destroy_context };
	struct waiter waiters[4] = { 0 };
	struct client clients[2];
	struct io_uring rings[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		clients[i] = client_open(0, 254);
		ring_open_default(&rings[i]);
		submit_all_ways(&clients[i], &rings[i]);
	}
	for (i = 0; i < 4; i++) {
		waiters[i].client = &clients[i == 3];
		check_equal(pthread_create(&waiters[i].thread, NULL, calls[i], &waiters[i]), 0);
	}
	device_bind(0, "unbind");
	for (i = 0; i < 4; i++)
		check_waiter(&waiters[i]);
	for (i = 0; i < 16; i++) {
		struct completion completion = ring_reap(&rings[i / 8]);

		/* The second client's context was being destroyed meanwhile. */
		check_message(completion.status == -ENODEV ||
				      (i >= 8 && completion.status == -ECANCELED),
			      "completion %u of the rings has the status %d", i,
			      completion.status);
	}
	/* Memory stays memory until the file is closed. */
	memset(clients[0].data.data, 0x77, clients[0].data.size);
	check_equal(clients[0].data.data[BYTES], 0x77);
	for (i = 0; i < 2; i++) {
		check_file_is_dead(&clients[i]);
		io_uring_queue_exit(&rings[i]);
		client_close(&clients[i]);
	}
	device_bind(0, "bind");
	wait_until_forgotten();
}

/* Runs several times, since either a client or the removal comes first by chance. */
static void everything_in_flight_ends(void)
{
	unsigned int round;

	for (round = 0; round < 4; round++)
		end_everything_in_flight();
}

static void check_works(struct client *client, uint64_t tag)
{
	struct overtake_result result;
	struct job job;

	memset(client->data.data, (int)tag, BYTES);
	put_copy(client, 0, 2 * BYTES, 0, BYTES);
	job_init(&job, client, tag, 0, 1);
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(client->data.data, client->data.data + 2 * BYTES, BYTES));
}

/* Files of several lives of the device are open at once; each is dead but the last. */
static void rebind_gives_a_fresh_device(void)
{
	struct drm_overtake_core_info info;
	struct client clients[6];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		clients[i] = client_open(0, 254);
		device_query_core(clients[i].fd, 1, &info);
		check_equal(info.fcs_normal, 0);
		check_equal(info.busy_ns, 0);
		check_works(&clients[i], i + 1);
		if (i < 5) {
			device_bind(0, "unbind");
			check_equal(device_try_open(0), -ENODEV);
			device_bind(0, "bind");
		}
	}
	for (i = 0; i < 5; i++)
		check_file_is_dead(&clients[i]);
	/* Closes the files in another order than they were opened, while the device works. */
	for (i = 0; i < 5; i++) {
		client_close(&clients[(i * 3 + 2) % 5]);
		check_works(&clients[5], 100 + i);
	}
	client_close(&clients[5]);
	wait_until_forgotten();
}

/* A file that outlives its device keeps only the code of the module. */
static void module_stays_while_a_file_is_open(void)
{
	struct client client = client_open(0, 254);

	device_bind(0, "unbind");
	check(syscall(SYS_delete_module, "overtake", O_NONBLOCK));
	check_equal(errno, EAGAIN);
	check_file_is_dead(&client);
	client_close(&client);
	module_use(NULL);
	module_use(PLAIN);
}

/* An FC of 1000 ns on the profile takes four times as long with a quarter of its clock. */
static void a_device_may_have_another_clock(void)
{
	struct drm_overtake_device_info info;
	struct overtake_result result;
	struct client client = client_open(0, 254);
	struct job job;

	device_query(client.fd, &info);
	check_equal(info.clock_khz, 250000);
	put_delay(&client, 0, 1000);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, OVERTAKE_DEADLINE_NEVER, &result), 0);
	check_equal(result.executed_ns, 4000);
	client_close(&client);
}

const struct test_case device_cases[] = {
	{ "devices-may-have-another-clock", "cores=1 mode=timed profile=ideal clock_khz=250000",
	  a_device_may_have_another_clock },
	{ "devices-have-settings-of-their-own", THREE, devices_have_settings_of_their_own },
	{ "devices-work-side-by-side", THREE, devices_work_side_by_side },
	{ "devices-limits-stay-on-their-device", THREE, limits_stay_on_their_device },
	{ "devices-names-stay-in-their-file", THREE, names_stay_in_their_file },
	{ "devices-one-goes-the-others-stay", LOADED3, one_device_goes_the_others_stay },
	{ "devices-everything-in-flight-ends", TIMED LASTING, everything_in_flight_ends },
	{ "devices-rebind-gives-a-fresh-device", PLAIN, rebind_gives_a_fresh_device },
	{ "devices-module-stays-while-a-file-is-open", PLAIN, module_stays_while_a_file_is_open },
	{ 0 },
};
