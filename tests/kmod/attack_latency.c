// SPDX-License-Identifier: MIT
/*
 * Measures how late a HIGH job is beside an ordinary client that makes work for the driver, and
 * beside a control that does as much without the driver.  Runs in the VM, as root, with the default
 * parameters of the module; the attacker is nobody.
 *
 *	kmod_attack_latency ATTACK COUNT ROUNDS
 *
 * Attack and control alternate, ROUNDS times each, with JOBS HIGH jobs each time.  Prints for each
 * round "attack P50 P99 MAX" and "control P50 P99 MAX" in microseconds, then "median ATTACK CONTROL":
 * the medians of the p99.  run-attacks-latency judges the medians.
 *
 *	polls		COUNT multishot polls of the attacker's file, for which bursts of short jobs end;
 *			control: the same jobs, and as many polls of an eventfd that each burst signals
 *	waits		COUNT threads in WAIT of one context, whose jobs end one after the other; control:
 *			as many threads that read an eventfd
 *	fences		COUNT multishot polls of a sync file, whose fence is signalled again and again;
 *			control: as many polls of an eventfd
 *	death		COUNT tasks of service mode, whose process is killed, and HIGH tasks instead of
 *			jobs; control: a process with as much memory is killed
 *	fdinfo		COUNT tasks wait, and fdinfo of their file is read; control: fdinfo of an eventfd
 *	prices		a task of COUNT segments of 65,536 FCs each is submitted again and again; control:
 *			as many bytes are copied
 *	replays		COUNT replays of 65,536 FCs each in one io_uring call are cancelled in the next, again
 *			and again; control: as many io_uring commands of /dev/null
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack_latency.h"
#include "check.h"
#include "dma_buf.h"
#include "ring.h"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define NOBODY		65534
#define JOBS		300
#define WORKERS		4
#define SLEEP_US	1000
#define BURST		256

void say_ready(const struct arguments *arguments)
{
	check_equal(write(arguments->ready, "", 1), 1);
}

static void raise_limits(void)
{
	struct rlimit files = { 4096, 4096 };

	setrlimit(RLIMIT_NOFILE, &files);
}

/* Adds @count multishot polls of @fd; completions pile up in the ring's overflow until dropped. */
static void add_polls(struct io_uring *ring, int fd, uint32_t count)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_CQSIZE,
		.cq_entries = 65536,
	};
	uint32_t i;

	check_equal(io_uring_queue_init_params(1024, ring, &params), 0);
	for (i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		check(sqe);
		io_uring_prep_poll_multishot(sqe, fd, POLLIN);
		if (i % 1024 == 1023 || i == count - 1)
			check(io_uring_submit(ring) > 0);
	}
}

/* Drops the completions so far, for at most 2 ms. */
static void drop_completions(struct io_uring *ring)
{
	struct __kernel_timespec timeout = { .tv_nsec = 2000000 };
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	io_uring_wait_cqe_timeout(ring, &cqe, &timeout);
	io_uring_for_each_cqe(ring, head, cqe)
		count++;
	io_uring_cq_advance(ring, count);
}

static void submit_short(const struct client *client, uint64_t tag)
{
	struct job job;

	job_init(&job, client, tag, 0, 1);
	job.submit.core = 2;
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(client, &job), 0);
}

static void collect_all(const struct client *client)
{
	struct overtake_result result;

	while (!job_wait_any(client, NEVER, &result))
		;
}

/* Submits bursts of jobs: each job makes the file readable while the others are collected. */
static void polls(const struct arguments *arguments)
{
	struct client client = client_open(0, 254);
	int event = eventfd(0, EFD_NONBLOCK);
	struct io_uring ring;
	uint64_t value;
	uint32_t i;

	put_delay(&client, 0, 1000);
	add_polls(&ring, arguments->is_control ? event : client.fd, arguments->count);
	say_ready(arguments);
	for (;;) {
		for (i = 0; i < BURST; i++)
			submit_short(&client, i);
		value = 1;
		check_equal(write(event, &value, 8), 8);
		collect_all(&client);
		drop_completions(&ring);
		check_equal(read(event, &value, 8), 8);
	}
}

struct waiter {
	struct client client;
	int event;
	bool is_control;
};

/* Waiters of one context, which has a job that never runs; more waiters take more contexts. */
#define WAITERS_OF_ONE	250

static void *wait_for_ever(void *data)
{
	struct waiter *waiter = data;
	struct overtake_result result;
	uint64_t value;

	for (;;) {
		if (waiter->is_control)
			(void)!read(waiter->event, &value, 8);
		else if (job_wait(&waiter->client, 1, NEVER, &result))
			usleep(100000); /* the job is over, or there are too many waiters */
	}
	return NULL;
}

/* The threads wait for a job that ends late, while other jobs end. */
static void waits(const struct arguments *arguments)
{
	struct waiter *waiters = calloc(arguments->count + 1, sizeof(*waiters));
	struct waiter waiter = { .is_control = arguments->is_control };
	struct overtake_result result;
	pthread_attr_t attributes;
	pthread_t thread;
	uint64_t value = 1;
	struct job job;
	uint32_t i;

	waiter.client = client_open(0, 254);
	waiter.event = eventfd(0, EFD_SEMAPHORE);
	put_delay(&waiter.client, 0, 1000);
	put_delay(&waiter.client, 1, 900000000);
	job_init(&job, &waiter.client, 1, 1, 1);
	job.submit.core = 1;
	job.submit.fc_count = 64;
	for (i = 0; i < 64; i++)
		job.fcs[i] = job.fcs[0];
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&waiter.client, &job), 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	for (i = 0; i < arguments->count; i++) {
		if (i % WAITERS_OF_ONE == WAITERS_OF_ONE - 1) {
			check_equal(context_create(waiter.client.fd, 254, 0, &waiter.client.context), 0);
			job.submit.context_id = waiter.client.context;
			check_equal(job_submit(&waiter.client, &job), 0);
		}
		waiters[i] = waiter;
		if (pthread_create(&thread, &attributes, wait_for_ever, &waiters[i]))
			break;
	}
	fprintf(stderr, "waits: %u threads\n", i);
	say_ready(arguments);
	for (;;) {
		if (arguments->is_control) {
			check_equal(write(waiter.event, &value, 8), 8);
			usleep(1000);
		} else {
			submit_short(&waiter.client, ++value);
			check_equal(job_wait(&waiter.client, value, NEVER, &result), 0);
			usleep(1000);
		}
		value = arguments->is_control ? 1 : value;
	}
}

/* Does as polls(), but with sync files of jobs. */
static void fences(const struct arguments *arguments)
{
	struct client client = client_open(0, 254);
	int event = eventfd(0, EFD_NONBLOCK);
	struct overtake_result result;
	uint64_t value = 1;

	put_delay(&client, 0, 100000000);
	for (;;) {
		struct drm_syncobj_handle handle = { .fd = -1 };
		struct io_uring ring;
		struct job job;

		if (!arguments->is_control) {
			uint32_t syncobj = syncobj_create(client.fd);
			struct sync_chain chain;

			job_init(&job, &client, value, 0, 1);
			job.submit.core = 2;
			job.submit.deadline_ns = NEVER;
			sync_chain_init(&chain, &job);
			sync_chain_out(&chain, syncobj, 0);
			check_equal(job_submit(&client, &job), 0);
			handle.handle = syncobj;
			handle.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE;
			check_equal(device_ioctl(client.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle), 0);
		}
		add_polls(&ring, arguments->is_control ? event : handle.fd, arguments->count);
		if (value == 1)
			say_ready(arguments);
		if (arguments->is_control) {
			uint64_t one = 1;

			usleep(100000);
			check_equal(write(event, &one, 8), 8);
			drop_completions(&ring);
			check_equal(read(event, &one, 8), 8);
		} else {
			check_equal(job_wait(&client, value, NEVER, &result), 0);
			drop_completions(&ring);
			close(handle.fd);
		}
		value++;
		io_uring_queue_exit(&ring);
	}
}

/* Submits tasks of one CPU segment that no worker ever runs, on as many files as needed. */
static uint32_t submit_tasks(uint32_t count, int *last_fd)
{
	struct overtake_task_segment segment = { .cpu_key = 1, .expected_ns = 1000 };
	uint32_t done = 0, i, queues = 0;
	int fd = -1;

	while (done < count) {
		struct drm_overtake_context_create create = { .max_priority = 254, .flags = WORKERS };

		if (queues++ % OVERTAKE_MAX_CONTEXTS == 0)
			fd = device_try_open(0);
		if (fd < 0 || device_ioctl(fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create))
			break;
		for (i = 0; i < OVERTAKE_MAX_TASKS && done < count; i++, done++) {
			struct drm_overtake_task_submit submit = {
				.segments = (uintptr_t)&segment, .tag = i, .deadline_ns = ~0ull,
				.context_id = create.context_id, .segment_count = 1, .priority = 254,
			};

			if (device_ioctl(fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &submit))
				goto out;
		}
	}
out:
	*last_fd = fd;
	fprintf(stderr, "%u tasks\n", done);
	return done;
}

static void take_memory(uint32_t tasks)
{
	size_t bytes = (size_t)tasks * 1024 + 4096;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED);
	memset(memory, 1, bytes);
}

/* A child takes tasks or memory and is killed, again and again. */
static void death(const struct arguments *arguments)
{
	bool is_first = true;

	for (;;) {
		int pipes[2], fd;
		char byte;
		pid_t pid;

		check_equal(pipe(pipes), 0);
		pid = fork();
		check(pid >= 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (arguments->is_control)
				take_memory(arguments->count);
			else
				submit_tasks(arguments->count, &fd);
			check_equal(write(pipes[1], "", 1), 1);
			pause();
		}
		close(pipes[1]);
		check_equal(read(pipes[0], &byte, 1), 1);
		close(pipes[0]);
		if (is_first)
			say_ready(arguments);
		is_first = false;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* Children of two processes die, each with half of the tasks; one process reports to the parent. */
static void deaths(const struct arguments *arguments)
{
	struct arguments half = *arguments;
	pid_t pid = fork();

	check(pid >= 0);
	half.count /= 2;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		half.ready = open("/dev/null", O_WRONLY);
	}
	death(&half);
}

static void fdinfo(const struct arguments *arguments)
{
	char path[64], text[16384];
	int fd = eventfd(0, 0);

	if (!arguments->is_control)
		submit_tasks(arguments->count, &fd);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	say_ready(arguments);
	for (;;)
		check_equal(read_file(path, text, sizeof(text)), 0);
}

static void prices(const struct arguments *arguments)
{
	static struct overtake_task_segment segments[OVERTAKE_MAX_SEGMENTS];
	struct drm_overtake_context_create create = { .max_priority = 254, .flags = WORKERS };
	struct client client = client_open(0, 254);
	size_t bytes = OVERTAKE_MAX_FCS * sizeof(struct overtake_fc);
	struct overtake_fc *fcs = malloc(bytes), *copy = malloc(bytes);
	struct job job;
	uint32_t i;

	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	for (i = 0; i < 256; i++)
		put_delay(&client, i, 1);
	job_init(&job, &client, 0, 0, 1);
	for (i = 0; i < arguments->count; i++)
		segments[i] = (struct overtake_task_segment){
			.fcs = (uintptr_t)fcs, .bindings = job.submit.bindings,
			.fc_count = OVERTAKE_MAX_FCS, .binding_count = job.submit.binding_count,
		};
	say_ready(arguments);
	for (uint64_t tag = 0;; tag++) {
		struct drm_overtake_task_submit submit = {
			.segments = (uintptr_t)segments, .tag = tag, .deadline_ns = ~0ull,
			.context_id = create.context_id, .segment_count = arguments->count,
		};
		struct drm_overtake_task_cancel cancel = { .tag = tag, .context_id = create.context_id };

		/* The FCs differ each time, so that the driver has no record of them. */
		for (i = 0; i < OVERTAKE_MAX_FCS; i++)
			fcs[i] = (struct overtake_fc){ .first_insn = (uint32_t)(i + tag) % 256, .insn_count = 1 };
		for (i = 0; arguments->is_control && i < arguments->count; i++)
			memcpy(copy, fcs, bytes);
		if (arguments->is_control)
			continue;
		if (!device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &submit))
			device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_TASK_CANCEL, &cancel);
	}
}

static const struct {
	const char *name;
	void (*run)(const struct arguments *arguments);
} attacks[] = {
	{ "polls", polls }, { "waits", waits }, { "fences", fences }, { "death", death },
	{ "deaths", deaths }, { "fdinfo", fdinfo }, { "prices", prices },
	{ "replays", replays },
};

static pid_t start(const char *name, struct arguments arguments)
{
	int pipes[2];
	unsigned int i;
	char byte;
	pid_t pid;

	for (i = 0; i < sizeof(attacks) / sizeof(attacks[0]) && strcmp(attacks[i].name, name); i++)
		;
	check_message(i < sizeof(attacks) / sizeof(attacks[0]), "no attack is called %s", name);
	check_equal(pipe(pipes), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		raise_limits();
		check_equal(setgid(NOBODY), 0);
		check_equal(setuid(NOBODY), 0);
		arguments.ready = pipes[1];
		attacks[i].run(&arguments);
		_exit(1);
	}
	close(pipes[1]);
	check_message(read(pipes[0], &byte, 1) == 1, "%s cannot begin", name);
	close(pipes[0]);
	return pid;
}

static int compare(const void *one, const void *other)
{
	double first = *(const double *)one, second = *(const double *)other;

	return first < second ? -1 : first > second;
}

struct victim {
	struct client client;	/* its context takes jobs */
	uint32_t queue;		/* context that takes tasks */
};

static void run_job(const struct victim *victim, const struct job *job)
{
	struct overtake_result result;

	check_equal(device_ioctl(victim->client.fd, DRM_IOCTL_OVERTAKE_SUBMIT, (void *)&job->submit), 0);
	check_equal(job_wait(&victim->client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
}

/* Runs the job as the only segment of a task of service mode. */
static void run_task(const struct victim *victim, const struct job *job)
{
	static struct overtake_result results[OVERTAKE_MAX_SEGMENTS];
	struct overtake_task_event event;
	struct overtake_task_segment segment = {
		.fcs = job->submit.fcs, .bindings = job->submit.bindings,
		.fc_count = job->submit.fc_count, .binding_count = job->submit.binding_count,
	};
	struct drm_overtake_task_submit submit = {
		.segments = (uintptr_t)&segment, .tag = 1, .deadline_ns = ~0ull,
		.context_id = victim->queue, .segment_count = 1, .priority = 255, .core = 1,
	};
	struct drm_overtake_task_events events = {
		.events = (uintptr_t)&event, .results = (uintptr_t)results, .deadline_ns = NEVER,
		.context_id = victim->queue, .event_count = 1, .result_count = OVERTAKE_MAX_SEGMENTS,
	};

	check_equal(device_ioctl(victim->client.fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &submit), 0);
	check_equal(device_ioctl(victim->client.fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &events), 0);
	check_equal(event.status, 0);
}

/* Measures HIGH jobs, one after the other, with pauses: sorted latencies in microseconds. */
static void measure(const struct victim *victim, bool by_tasks, double *latencies)
{
	struct job job;
	uint32_t i;

	job_init(&job, &victim->client, 1, 0, 1);
	job.submit.core = 1;
	job.submit.priority = 255;
	job.submit.deadline_ns = NEVER;
	for (i = 0; i < JOBS; i++) {
		int64_t begin = monotonic_ns();

		if (by_tasks)
			run_task(victim, &job);
		else
			run_job(victim, &job);
		latencies[i] = (double)(monotonic_ns() - begin) / 1e3;
		usleep(SLEEP_US);
	}
	qsort(latencies, JOBS, sizeof(*latencies), compare);
}

static double round_of(const struct victim *victim, const char *name, uint32_t count, bool is_control)
{
	static double latencies[JOBS];
	pid_t pid = start(name, (struct arguments){ .count = count, .is_control = is_control });

	measure(victim, !strncmp(name, "death", 5), latencies);
	kill(-pid, SIGKILL); /* its children, too */
	waitpid(pid, NULL, 0);
	printf("%s %.0f %.0f %.0f\n", is_control ? "control" : "attack", latencies[JOBS / 2],
	       latencies[JOBS * 99 / 100], latencies[JOBS - 1]);
	fflush(stdout);
	return latencies[JOBS * 99 / 100];
}

int main(int argc, char **argv)
{
	static double attack[100], control[100];
	struct drm_overtake_context_create create = { .max_priority = 255, .flags = 1 };
	struct victim victim;
	char path[128], text[256];
	uint32_t rounds, count, i;

	if (argc != 4)
		check_failed(__FILE__, __LINE__, "usage: kmod_attack_latency ATTACK COUNT ROUNDS");
	count = (uint32_t)atoi(argv[2]);
	rounds = (uint32_t)atoi(argv[3]);
	check(rounds && rounds <= 100);
	check_equal(chmod("/dev/accel/accel0", 0666), 0);
	victim.client = client_open(0, 254);
	check_equal(context_create(victim.client.fd, 255, 1, &victim.client.context), 0);
	check_equal(device_ioctl(victim.client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	victim.queue = create.context_id;
	put_copy(&victim.client, 0, 16384, 0, 8);
	debugfs_path(path, sizeof(path), 0, "measure_lock");
	write_file(path, "1"); /* an older module has none */
	for (i = 0; i < rounds; i++) {
		control[i] = round_of(&victim, argv[1], count, true);
		attack[i] = round_of(&victim, argv[1], count, false);
	}
	debugfs_path(path, sizeof(path), 0, "longest_hold");
	if (!read_file(path, text, sizeof(text)))
		printf("longest hold %s", text);
	qsort(attack, rounds, sizeof(double), compare);
	qsort(control, rounds, sizeof(double), compare);
	printf("median %.0f %.0f\n", attack[rounds / 2], control[rounds / 2]);
	client_close(&victim.client);
	return 0;
}
