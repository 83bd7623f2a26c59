// SPDX-License-Identifier: MIT
/* Clients that die and devices that go leave nothing stuck and nothing behind. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "load.h"
#include "ring.h"

#define LOADED		"cores=2 mode=functional profile=default watchdog_ms=2 ban_offences=0"
#define LOADED_BOTH	"cores=2 mode=both profile=default watchdog_ms=5 ban_offences=0"
#define TIMED		"cores=2 mode=timed profile=ideal"
#define FOR_FENCES	"cores=1 mode=functional"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER

/* A step of the manual clock, further than an endless loop permits while it is priced. */
#define STEP_NS		1000000000000ull

/* Returns the number of rounds, which KMOD_ROUNDS multiplies for a soak. */
static unsigned int rounds(unsigned int usual)
{
	const char *factor = getenv("KMOD_ROUNDS");

	return usual * (factor ? (unsigned int)strtoul(factor, NULL, 10) : 1);
}

static void closing_with_jobs_in_flight(void)
{
	struct client client;
	struct io_uring ring;
	struct job job;
	int i;

	client = client_open(0, 254);
	ring_open_to_abandon(&ring);
	put_delay(&client, 0, 900 * MS);
	for (i = 0; i < 20; i++) {
		job_init(&job, &client, i, 0, 1);
		check_equal(job_submit(&client, &job), 0);
		job_init(&job, &client, 100 + i, 0, 1);
		ring_submit_job(&ring, &client, &job);
	}
	client_close(&client);
	/* Commands in flight keep the file open until the ring is closed. */
	io_uring_queue_exit(&ring);
	wait_until_forgotten();
}

static void killed_clients_leave_nothing(void)
{
	pid_t neighbour = neighbour_start();
	pid_t companion = load_start(4711);
	unsigned int seed = 1;
	unsigned int i;

	for (i = 0; i < rounds(50); i++) {
		pid_t victim = load_start(i);

		usleep((unsigned int)rand_r(&seed) % 60000);
		load_kill(victim);
	}
	load_kill(companion);
	neighbour_stop(neighbour);
	wait_until_forgotten();
}

static void unbind_under_load(void)
{
	pid_t loads[3];
	unsigned int seed = 2;
	unsigned int i;

	for (i = 0; i < 3; i++)
		loads[i] = load_start(100 + i);
	for (i = 0; i < rounds(20); i++) {
		usleep((unsigned int)rand_r(&seed) % 60000);
		device_bind(0, "unbind");
		usleep((unsigned int)rand_r(&seed) % 10000);
		device_bind(0, "bind");
	}
	for (i = 0; i < 3; i++)
		load_kill(loads[i]);
	wait_until_forgotten();
}

static void *collect_one(void *argument)
{
	static struct overtake_result result;
	struct client *client = argument;

	/* The call returns the result, or fails if the device had gone before. */
	if (job_wait(client, 1, NEVER, &result))
		return NULL;
	return &result;
}

static void unbind_ends_jobs_with_enodev(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result *collected, recorded;
	struct completion completion;
	struct io_uring ring;
	pthread_t thread;
	struct job job;
	uint32_t id;

	ring_open_default(&ring);
	put_delay(&client, 0, 900 * MS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.result = client.data.address + RESULT_OFFSET;
	job.submit.core = 1;
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, 0, 1);
	job.submit.core = 1;
	ring_submit_job(&ring, &client, &job);
	check_equal(pthread_create(&thread, NULL, collect_one, &client), 0);
	device_bind(0, "unbind");
	pthread_join(thread, (void **)&collected);
	if (collected)
		check_equal(collected->status, -ENODEV);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 2);
	check_equal(completion.status, -ENODEV);
	/* The file is still open, but every call fails. */
	check_equal(context_create(client.fd, 254, 0, &id), -ENODEV);
	check_equal(job_submit(&client, &job), -ENODEV);
	job_init(&job, &client, 3, 0, 1);
	ring_submit_job(&ring, &client, &job);
	check_equal(ring_reap(&ring).status, -ENODEV);
	memcpy(&recorded, client.data.data + RESULT_OFFSET, sizeof(recorded));
	check_equal(recorded.status, -ENODEV);
	device_bind(0, "bind");
	io_uring_queue_exit(&ring);
	client_close(&client);
	client = client_open(0, 254);
	put_delay(&client, 0, 1000);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &recorded), 0);
	check_equal(recorded.status, 0);
	client_close(&client);
}

/* The write that steps the clock waits for an endless loop; removal must not wait for it. */
static void *step_clock(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)advance_clock(0, STEP_NS);
}

static void unbind_frees_a_waiting_clock(void)
{
	struct client client = client_open(0, 254);
	pthread_t thread;
	struct job job;
	char path[128];
	void *ret;

	check_equal(advance_clock(0, 1000), 0);
	put_jump(&client, 0, 0);
	job_init(&job, &client, 1, 0, 1);
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	check_equal(pthread_create(&thread, NULL, step_clock, NULL), 0);
	debugfs_path(path, sizeof(path), 0, "clock");
	while (read_counter(path) != STEP_NS)
		usleep(1000);
	device_bind(0, "unbind");
	pthread_join(thread, &ret);
	check_equal((intptr_t)ret, 0);
	device_bind(0, "bind");
	client_close(&client);
}

static void bad_parameters_are_refused(void)
{
	static const char *const bad[] = {
		"cores=0", "cores=65", "mode=quick", "profile=none", "devices=0", "devices=9",
		"watchdog_ms=0", "queue_timeout_ms=0", "devices=2 cores=2,0", "clock_khz=999",
	};
	size_t i;

	/* Readers of the kernel log must not count these messages as complaints. */
	check_equal(write_file("/dev/kmsg", "overtake-test: expect error -(EINVAL|22): .*: not \n"), 0);
	check_equal(write_file("/dev/kmsg", "overtake-test: expect failed with error -22\n"), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		module_is_refused(bad[i]);
}

static void expect_no_unload(const char *why)
{
	check_message(syscall(SYS_delete_module, "overtake", O_NONBLOCK) &&
		      (errno == EAGAIN || errno == EBUSY), "rmmod beside %s: %s", why,
		      strerror(errno));
}

/*
 * The kernel calls a fence's functions for as long as it is referenced, signalled or not.
 * So the module stays while a sync_file, or a buffer of another driver, still has a fence of it.
 */
static void fences_of_ended_jobs_keep_the_module(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = vgem_create(65536);
	uint32_t done = syncobj_create(client.fd);
	struct overtake_result result;
	struct sync_chain chain;
	struct job job;
	uint64_t address;
	int sync_file;

	address = map_buffer(client.fd, prime_import(client.fd, foreign.fd),
			     OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	put_copy(&client, 0, 4096, 0, 64);
	job_init_on(&job, &client, 1, address, 65536, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	sync_chain_init(&chain, &job);
	sync_chain_out(&chain, done, 0);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	sync_file = syncobj_to_sync_file(client.fd, done);
	check_equal(sync_file_status(sync_file), 1);
	client_close(&client);
	wait_until_forgotten();

	expect_no_unload("a sync_file and a buffer");
	foreign_destroy(&foreign);
	expect_no_unload("a sync_file");
	check_equal(sync_file_status(sync_file), 1);
	close(sync_file);
	module_use(NULL);
	module_use(FOR_FENCES);

	client = client_open(0, 254);
	foreign = vgem_create(65536);
	address = map_buffer(client.fd, prime_import(client.fd, foreign.fd),
			     OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	put_copy(&client, 0, 4096, 0, 64);
	job_init_on(&job, &client, 1, address, 65536, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	client_close(&client);
	wait_until_forgotten();
	expect_no_unload("a buffer");
	foreign_destroy(&foreign);
	module_use(NULL);
	module_use(FOR_FENCES);
}

const struct test_case lifetime_cases[] = {
	{ "lifetime-fences-of-ended-jobs-keep-the-module", FOR_FENCES,
	  fences_of_ended_jobs_keep_the_module },
	{ "lifetime-closing-with-jobs-in-flight", TIMED, closing_with_jobs_in_flight },
	{ "lifetime-unbind-ends-jobs-with-enodev", TIMED, unbind_ends_jobs_with_enodev },
	{ "lifetime-unbind-frees-a-waiting-clock",
	  "cores=1 mode=timed profile=ideal manual_clock=1 watchdog_ms=4000000",
	  unbind_frees_a_waiting_clock },
	{ "lifetime-killed-clients-leave-nothing", LOADED, killed_clients_leave_nothing },
	{ "lifetime-unbind-under-load", LOADED, unbind_under_load },
	{ "lifetime-killed-clients-leave-nothing-both", LOADED_BOTH,
	  killed_clients_leave_nothing },
	{ "lifetime-unbind-under-load-both", LOADED_BOTH, unbind_under_load },
	{ "lifetime-bad-parameters-are-refused", NULL, bad_parameters_are_refused },
	{ 0 },
};
