// SPDX-License-Identifier: MIT
/* Recordings of many threads, and of processes that are killed. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "recorded.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)

static void *replay_until_killed(void *argument)
{
	struct client client = client_open(0, 254);
	atomic_uint *replays = argument; /* counts the replays of all processes */
	struct overtake_result result;
	struct replay replay;
	struct job job;
	uint64_t tag = 0;
	uint32_t recording;

	put_delay(&client, 0, 100);
	for (;;) {
		job_init(&job, &client, 0, 0, 1);
		job.submit.scratch_bytes = 65536;
		recording = recording_of(&client, &job, 4);
		for (; tag % 50 != 49; tag++) {
			replay_init(&replay, &client, recording, tag);
			if (replay_submit(&client, &replay))
				continue;
			(*replays)++;
			if (tag % 3 == 0)
				job_wait_any(&client, NEVER, &result);
		}
		recording_forget(&client, recording);
		while (!job_wait_any(&client, NEVER, &result))
			;
		tag++;
	}
	return argument;
}

static void killed_processes_leave_nothing(void)
{
	atomic_uint *replays = mmap(NULL, sizeof(*replays), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t i, k, before;
	pid_t child;

	check(replays != MAP_FAILED);
	for (i = 0; i < 20; i++) {
		child = fork();
		if (!child) {
			pthread_t thread;

			for (k = 0; k < 3; k++)
				pthread_create(&thread, NULL, replay_until_killed, replays);
			pause();
		}
		before = atomic_load(replays);
		while (atomic_load(replays) < before + 20 + i * 5)
			usleep(1000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	/* The module can be removed afterwards only if no object is left. */
}

#define ROUNDS	400u

/* State of all threads; ids are guessed. */
static struct client shared;
static atomic_uint replays_done;
static atomic_bool is_destroyed;

static void *record_and_forget(void *argument)
{
	struct drm_overtake_record recording;
	struct job job;
	uint32_t i;

	job_init(&job, &shared, 0, 0, 1);
	job.submit.scratch_bytes = 5000;
	for (i = 0; i < ROUNDS; i++) {
		recording = (struct drm_overtake_record){ .instances = 1 + i % 3 };
		check_equal(job_record(&shared, &job, &recording), 0);
		check(recording.record_id >= 1 && recording.record_id <= OVERTAKE_MAX_RECORDINGS);
		if (i % 4 == 3)
			recording_forget(&shared, recording.record_id);
	}
	return argument;
}

static void *forget_guessed(void *argument)
{
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		recording_forget(&shared, 1 + i % 8);
		usleep(100);
	}
	return argument;
}

static void *replay_guessed(void *argument)
{
	uint64_t tag = (uintptr_t)argument * 1000000;
	struct overtake_result result;
	struct replay replay;
	uint32_t i;
	int ret;

	for (i = 0; i < 4 * ROUNDS; i++) {
		replay_init(&replay, &shared, 1 + i % 8, ++tag);
		ret = replay_submit(&shared, &replay);
		check_message(!ret || ret == -ENOENT || ret == -EBUSY, "REPLAY: %d", ret);
		if (ret)
			continue;
		ret = job_wait(&shared, tag, NEVER, &result);
		if (ret == -ENOENT && atomic_load(&is_destroyed))
			continue;
		check_equal(ret, 0);
		check_equal(result.status, 0);
		atomic_fetch_add(&replays_done, 1);
	}
	return argument;
}

static void *export_and_wait(void *argument)
{
	uint32_t i;

	for (i = 0; i < ROUNDS / 4; i++) {
		struct drm_overtake_bo_wait wait = {
			.handle = shared.data.handle, .flags = READ_WRITE, .deadline_ns = NEVER,
		};
		int dmabuf;

		check_equal(device_ioctl(shared.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &wait), 0);
		if (i < ROUNDS / 8)
			continue;
		dmabuf = prime_export(shared.fd, shared.data.handle, DRM_RDWR | DRM_CLOEXEC);
		close(dmabuf_sync_file(dmabuf, true));
		close(dmabuf);
	}
	return argument;
}

static void threads_of_one_context(void)
{
	static void *(*const acts[])(void *) = {
		record_and_forget, forget_guessed, replay_guessed, replay_guessed, export_and_wait,
	};
	pthread_t threads[5];
	uintptr_t i;

	shared = client_open(0, 254);
	put_delay(&shared, 0, 100);
	for (i = 0; i < 5; i++)
		check_equal(pthread_create(&threads[i], NULL, acts[i], (void *)(i + 1)), 0);
	for (i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	printf("# %u replays\n", atomic_load(&replays_done));
	check(atomic_load(&replays_done) > 0);
	/* A context that goes while threads record and replay. */
	for (i = 0; i < 3; i++)
		check_equal(pthread_create(&threads[i], NULL, acts[i + 1], (void *)(i + 1)), 0);
	atomic_store(&is_destroyed, true);
	check_equal(context_destroy(shared.fd, shared.context), 0);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	client_close(&shared);
}

/* KMOD_COUNTED_REPLAYS in the environment asks for another number. */
#define COUNTED		10000u
#define KMEM		"/sys/kernel/tracing/events/kmem/"

static const char *const allocations[] = { "kmalloc", "kmem_cache_alloc" };

/* This file is open from the beginning, since an open() would allocate. */
static int tracing_on;

static void trace_is_on(bool on)
{
	check_equal(write(tracing_on, on ? "1" : "0", 1), 1);
}

/* Selects the allocations of this process for the trace, which is off yet. */
static void prepare_trace(bool wanted)
{
	char path[128], filter[64];
	unsigned int i;

	tracing_on = open("/sys/kernel/tracing/tracing_on", O_WRONLY | O_CLOEXEC);
	trace_is_on(false);
	for (i = 0; i < 2; i++) {
		snprintf(filter, sizeof(filter), "common_pid==%d", getpid());
		snprintf(path, sizeof(path), KMEM "%s/filter", allocations[i]);
		check_equal(write_file(path, wanted ? filter : "0"), 0);
		snprintf(path, sizeof(path), KMEM "%s/enable", allocations[i]);
		check_equal(write_file(path, wanted ? "1" : "0"), 0);
	}
	check_equal(write_file("/sys/kernel/tracing/trace", "\n"), 0);
}

/* Counts lines of the trace that are no comments, up to @most. */
static unsigned int traced(unsigned int most)
{
	FILE *trace = fopen("/sys/kernel/tracing/trace", "re");
	unsigned int count = 0;
	char line[512];

	check(trace != NULL);
	while (count < most && fgets(line, sizeof(line), trace))
		if (line[0] != '#') {
			count++;
			printf("# %s", line);
		}
	fclose(trace);
	return count;
}

static void replay_and_collect(const struct client *client, uint32_t recording, uint64_t tag)
{
	struct overtake_result result;
	struct replay replay;

	replay_init(&replay, client, recording, tag);
	check_equal(replay_submit(client, &replay), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
}

/* Replays with scratch, by ioctl, allocate nothing; the same trace shows that a submission does. */
static void replays_allocate_nothing(void)
{
	struct client client = client_open(0, 254);
	const char *asked = getenv("KMOD_COUNTED_REPLAYS");
	uint32_t recording, i, count = asked ? (uint32_t)strtoul(asked, NULL, 10) : COUNTED;
	struct job job;

	if (access(KMEM "kmalloc/enable", F_OK))
		check_skip("this kernel does not trace its allocations");
	put_delay(&client, 0, 100);
	job_init(&job, &client, 1, 0, 1);
	job.submit.scratch_bytes = 65536;
	recording = recording_of(&client, &job, 2);
	replay_and_collect(&client, recording, 7);
	prepare_trace(true);
	trace_is_on(true);
	for (i = 0; i < count; i++)
		replay_and_collect(&client, recording, i);
	trace_is_on(false);
	check_equal(traced(5), 0);
	trace_is_on(true);
	check_equal(job_submit(&client, &job), 0);
	trace_is_on(false);
	check_equal(traced(1), 1);
	prepare_trace(false);
	trace_is_on(true);
	client_close(&client);
}

const struct test_case record_thread_cases[] = {
	{ "record-allocates-nothing", FUNCTIONAL, replays_allocate_nothing },
	{ "record-killed-processes", FUNCTIONAL, killed_processes_leave_nothing },
	{ "record-threads-of-one-context", FUNCTIONAL, threads_of_one_context },
	{ 0 },
};
