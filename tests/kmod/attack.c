// SPDX-License-Identifier: MIT
/*
 * Measures how far an ordinary client can delay others by cheap attacks, in the host's time.  Runs
 * in the VM, as root, with the default parameters of the module; the attacker is nobody.
 *
 *	kmod_attack ATTACK MEASURE
 *
 * Prints "ATTACK MEASURE MILLISECONDS" (or KiB for memory), or ">" and CAP_S for a longer time.
 * The exit status is 0 unless an attack or a measurement could not be made.  run-attacks makes a
 * table of them.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ll
#define SECOND		1000000000ll
#define CAP_S		30
#define NOBODY		65534
#define NEIGHBOUR	1002
#define TAG_RUNS	1
#define TAG_DEADLINE	1000000000

struct attacker {
	struct client client;
	uint32_t fence;
	int64_t deadline_ns;	/* deadline of job TAG_RUNS */
};

static int64_t deadline(struct attacker *attacker, bool expires)
{
	attacker->deadline_ns = expires ? monotonic_ns() + SECOND : NEVER;
	return attacker->deadline_ns;
}

static void submit(const struct client *client, uint64_t tag, uint32_t core, uint32_t fcs,
		   uint32_t insns, int64_t deadline_ns)
{
	struct job job;
	uint32_t i;

	job_init(&job, client, tag, 0, 1);
	job.submit.core = core;
	job.submit.deadline_ns = deadline_ns;
	job.submit.fc_count = fcs;
	for (i = 0; i < fcs; i++)
		job.fcs[i] = (struct overtake_fc){ .first_insn = 0, .insn_count = insns };
	check_equal(job_submit(client, &job), 0);
}

/* A window of 15 x 15 in one channel costs few cycles, but the host reads each element. */
static void put_worst(struct client *client)
{
	struct overtake_insn pool = {
		.opcode = OVERTAKE_OP_MAX_POOL,
		.out = { .region = OVERTAKE_REGION_IO, .offset = 28672, .height = 50, .width = 50,
			 .channels = 1, .row_stride = 400, .pixel_stride = 8 },
		.kernel_height = 15, .kernel_width = 15, .stride_height = 1, .stride_width = 1,
		.dilation_height = 1, .dilation_width = 1, .clamp_min = -128, .clamp_max = 127,
	};

	pool.in[0] = pool.out;
	pool.in[0].offset = 0;
	pool.in[0].height = pool.in[0].width = 64 - 8;
	pool.in[0].row_stride = 448;
	pool.pad_top = pool.pad_left = 4;
	put_insn(client, 0, &pool);
	put_jump(client, 1, 0);
}

static void worst(struct attacker *attacker, bool expires)
{
	struct client *client = &attacker->client;
	uint32_t i;

	*client = client_open(0, 254);
	put_worst(client);
	for (i = 0; i < 4; i++)
		submit(client, TAG_RUNS + i, 1 + i % 2, 1, 2, i ? NEVER : deadline(attacker, expires));
}

static void delays(struct attacker *attacker, bool expires)
{
	struct client *client = &attacker->client;
	struct buffer program;
	uint32_t i;

	*client = client_open(0, 254);
	/* The 16 pages of a client hold 256 instructions only: makes a larger program. */
	program = buffer_create(client->fd, 4096 * sizeof(struct overtake_insn), OVERTAKE_MAP_READ);
	munmap(client->program.data, client->program.size);
	client->program = program;
	for (i = 0; i < 4096; i++)
		put_delay(client, i, 1);
	for (i = 0; i < 1000; i++)
		submit(client, TAG_RUNS + i, 1 + i % 2, 64, 4096, i ? NEVER : deadline(attacker, expires));
}

/* Submits a job, within every limit, of a minute of device time: jobs behind it wait that long. */
static void hold_core(struct attacker *attacker, uint64_t tag, uint32_t core, bool expires)
{
	struct job job;
	uint32_t i;

	put_delay(&attacker->client, 2, 900000000);
	job_init(&job, &attacker->client, tag, 2, 1);
	job.submit.core = core;
	job.submit.fc_count = 64;
	for (i = 0; i < 64; i++)
		job.fcs[i] = (struct overtake_fc){ .first_insn = 2, .insn_count = 1 };
	job.submit.deadline_ns = deadline(attacker, expires);
	check_equal(job_submit(&attacker->client, &job), 0);
}

/* Piles up ended uses of a buffer behind one that has not ended. */
static void pile(struct attacker *attacker, bool expires)
{
	struct client *client = &attacker->client;
	int64_t until = monotonic_ns() + 5 * SECOND;
	struct overtake_result result;
	uint64_t tag = 1000;
	struct job job;

	*client = client_open(0, 254);
	hold_core(attacker, TAG_RUNS, 1, expires);
	put_delay(client, 1, 1);
	while (monotonic_ns() < until) {
		job_init(&job, client, ++tag, 1, 1);
		job.submit.core = 2;
		check_equal(job_submit(client, &job), 0);
		check_equal(job_wait(client, tag, NEVER, &result), 0);
	}
	fprintf(stderr, "pile: %llu jobs\n", (unsigned long long)(tag - 1000));
}

static void many_files(void)
{
	struct rlimit limit = { 4096, 4096 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Submits as many jobs as the driver admits, all behind the same fence of the attacker. */
static void herd(struct attacker *attacker, bool expires)
{
	struct client *client = &attacker->client, more;
	struct sync_chain chain;
	uint32_t total = 0, i, j;
	struct job job;

	*client = client_open(0, 254);
	attacker->fence = syncobj_create(client->fd);
	put_delay(client, 0, 900000000);
	put_delay(client, 1, 1);
	job_init(&job, client, TAG_RUNS, 0, 1);
	job.submit.core = 2;
	job.submit.fc_count = 64;
	for (i = 0; i < 64; i++)
		job.fcs[i] = job.fcs[0];
	job.submit.deadline_ns = deadline(attacker, expires);
	sync_chain_init(&chain, &job);
	sync_chain_out(&chain, attacker->fence, 0);
	check_equal(job_submit(client, &job), 0);
	for (i = 0; i < 7; i++) {
		more = *client;
		if (context_create(client->fd, 254, 0, &more.context))
			break;
		for (j = 0; j < 1000; j++) {
			job_init(&job, &more, j, 1, 1);
			job.submit.deadline_ns = NEVER;
			sync_chain_init(&chain, &job);
			sync_chain_in(&chain, attacker->fence, 0);
			if (job_submit(&more, &job))
				break;
			total++;
		}
	}
	fprintf(stderr, "herd: %u jobs\n", total);
}

static void slots(struct attacker *attacker, bool expires)
{
	uint32_t files, i, total = 0;
	struct job job;

	many_files();
	attacker->client = client_open(0, 254);
	hold_core(attacker, TAG_RUNS + 1, 2, false);
	hold_core(attacker, TAG_RUNS, 1, expires);
	for (files = 0; files < 1000; files++) {
		struct client client = { 0 };

		client.fd = device_try_open(0);
		if (client.fd < 0 || context_create(client.fd, 254, 0, &client.context))
			break;
		client.program = buffer_create(client.fd, 16 * 4096, OVERTAKE_MAP_READ);
		client.data = buffer_create(client.fd, 16 * 4096,
					    OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
		put_delay(&client, 0, 1);
		for (i = 0; i < 64; i++) {
			job_init(&job, &client, i + 1, 0, 1);
			job.submit.deadline_ns = NEVER;
			if (job_submit(&client, &job))
				break;
			total++;
		}
		munmap(client.program.data, client.program.size);
		munmap(client.data.data, client.data.size);
	}
	fprintf(stderr, "slots: %u files, %u jobs\n", files, total);
}

static const struct {
	const char *name;
	void (*run)(struct attacker *attacker, bool expires);
} attacks[] = {
	{ "worst", worst }, { "delays", delays }, { "pile", pile }, { "herd", herd },
	{ "slots", slots },
};

#define ATTACKS	(sizeof(attacks) / sizeof(attacks[0]))

/* Runs @measure in the attacker's process; returns how long it took since the parent asked. */
static int64_t own_part(struct attacker *attacker, const char *measure)
{
	struct client *client = &attacker->client;
	struct overtake_result result;
	int64_t begin = monotonic_ns();
	uint64_t tag = TAG_RUNS;

	if (!strcmp(measure, "cancel")) {
		check_equal(job_cancel(client, TAG_RUNS), 0);
		check_equal(job_wait(client, TAG_RUNS, NEVER, &result), 0);
	} else if (!strcmp(measure, "deadline")) {
		/* The deadline is the running job's, or a new job's if that one has passed. */
		begin = attacker->deadline_ns;
		if (begin < monotonic_ns()) {
			tag = TAG_DEADLINE;
			begin = monotonic_ns() + SECOND;
			submit(client, tag, 2, 1, 1, begin);
		}
		check_equal(job_wait(client, tag, NEVER, &result), 0);
		check_equal(result.status, -ETIME);
	} else {
		munmap(client->program.data, client->program.size);
		munmap(client->data.data, client->data.size);
		close(client->fd);
	}
	return monotonic_ns() - begin;
}

struct attack_process {
	pid_t pid;
	int asks;
	int answers;
};

static struct attack_process attack_start(const char *name, const char *measure)
{
	struct attack_process process;
	int asks[2], answers[2];
	char byte = 0;
	unsigned int i;

	check_equal(pipe(asks), 0);
	check_equal(pipe(answers), 0);
	process = (struct attack_process){ fork(), asks[1], answers[0] };
	check(process.pid >= 0);
	if (!process.pid) {
		struct attacker attacker = { 0 };
		bool expires = !strcmp(measure, "deadline");
		struct overtake_result result;
		int64_t took;

		close(asks[1]); /* this process ends with the parent */
		many_files();
		check_equal(setgid(NOBODY), 0);
		check_equal(setuid(NOBODY), 0);
		for (i = 0; i < ATTACKS && strcmp(attacks[i].name, name); i++)
			;
		check_message(i < ATTACKS, "no attack is called %s", name);
		attacks[i].run(&attacker, expires);
		/* The job that is to hold the device must still run. */
		if (!expires)
			check_equal(job_wait(&attacker.client, TAG_RUNS, monotonic_ns(), &result),
				    -ETIMEDOUT);
		check_equal(write(answers[1], &byte, 1), 1);
		if (read(asks[0], &byte, 1) == 1) {
			took = own_part(&attacker, measure);
			check_equal(write(answers[1], &took, sizeof(took)), sizeof(took));
		}
		pause();
		_exit(0);
	}
	check_message(read(process.answers, &byte, 1) == 1, "%s failed", name);
	return process;
}

static void report(const char *attack, const char *measure, int64_t ns)
{
	if (ns < 0)
		printf("%s %s >%d\n", attack, measure, CAP_S * 1000);
	else
		printf("%s %s %.1f\n", attack, measure, (double)ns / 1e6);
	fflush(stdout);
}

/* Returns the time that a child takes for @function; -1 if it takes longer than CAP_S. */
static int64_t timed(void (*function)(int argument), int argument)
{
	int64_t begin = monotonic_ns();
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid) {
		function(argument);
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (monotonic_ns() - begin > CAP_S * SECOND)
			return -1;
		usleep(500);
	}
	check_message(!status, "the measure failed");
	return monotonic_ns() - begin;
}

/* Copies 8 bytes as user @uid, with the default deadline; a refusal counts as not done. */
static void copy_of(int uid)
{
	struct overtake_result result;
	struct client client;
	struct job job;
	int64_t begin;

	if (uid)
		check_equal(setuid((uid_t)uid), 0);
	client = client_open(0, 254);
	if (!uid)
		check_equal(context_create(client.fd, 255, 1, &client.context), 0);
	put_copy(&client, 0, 16384, 0, 8);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 1;
	job.submit.priority = uid ? 0 : 255;
	job.submit.deadline_ns = uid ? 0 : NEVER;
	begin = monotonic_ns();
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	if (result.status)
		fprintf(stderr, "the neighbour's job ended with %d after %lld ms\n", result.status,
			(long long)(monotonic_ns() - begin) / MS);
	_exit(0);
}

static void unbind(int index)
{
	device_bind((unsigned int)index, "unbind");
}

static void suspend(int unused)
{
	(void)unused;
	check_equal(write_file("/sys/power/pm_test", "devices"), 0);
	check_equal(write_file("/sys/module/suspend/parameters/pm_test_delay", "0"), 0);
	if (write_file("/sys/power/state", "freeze"))
		fprintf(stderr, "the suspend was refused\n");
}

static volatile bool watching = true;

/* Finds the longest time for which a realtime thread, pinned to a CPU, could not run. */
static void *watch(void *argument)
{
	struct sched_param parameter = { .sched_priority = 90 };
	int64_t *longest = argument, before, now;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)longest[1], &set);
	check_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	check_equal(sched_setscheduler(0, SCHED_FIFO, &parameter), 0);
	before = monotonic_ns();
	while (watching) {
		usleep(200);
		now = monotonic_ns();
		if (now - before > longest[0])
			longest[0] = now - before;
		before = now;
	}
	return NULL;
}

/* Releases all jobs that wait behind the attack, and watches both CPUs meanwhile. */
static int64_t longest_gap(struct attack_process *process)
{
	int64_t longest[2][2] = { { 0, 0 }, { 0, 1 } };
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		check_equal(pthread_create(&threads[i], NULL, watch, longest[i]), 0);
	usleep(300000);
	check_equal(write(process->asks, "", 1), 1); /* cancels the job for which all others wait */
	sleep(3);
	watching = false;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return longest[0][0] > longest[1][0] ? longest[0][0] : longest[1][0];
}

static int64_t killed(struct attack_process *process)
{
	int64_t begin = monotonic_ns();

	check_equal(kill(process->pid, SIGKILL), 0);
	while (waitpid(process->pid, NULL, WNOHANG) != process->pid) {
		if (monotonic_ns() - begin > CAP_S * SECOND)
			return -1;
		usleep(500);
	}
	return monotonic_ns() - begin;
}

/* Returns the time that the attacker measures itself. */
static int64_t asked(struct attack_process *process)
{
	struct pollfd wait = { .fd = process->answers, .events = POLLIN };
	int64_t took;

	check_equal(write(process->asks, "", 1), 1);
	if (poll(&wait, 1, CAP_S * 1000) != 1)
		return -1;
	check_equal(read(process->answers, &took, sizeof(took)), sizeof(took));
	return took;
}

static int64_t take(struct attack_process *process, const char *measure)
{
	if (!strcmp(measure, "high"))
		return timed(copy_of, 0);
	if (!strcmp(measure, "normal"))
		return timed(copy_of, NEIGHBOUR);
	if (!strcmp(measure, "kill"))
		return killed(process);
	if (!strcmp(measure, "unbind"))
		return timed(unbind, 0);
	if (!strcmp(measure, "suspend"))
		return timed(suspend, 0);
	if (!strcmp(measure, "gap"))
		return longest_gap(process);
	return asked(process); /* cancel, deadline, close */
}

int main(int argc, char **argv)
{
	struct attack_process process;
	uint64_t before;

	if (argc != 3)
		check_failed(__FILE__, __LINE__, "usage: kmod_attack ATTACK MEASURE");
	check_equal(chmod("/dev/accel/accel0", 0666), 0);
	before = meminfo_kib("SUnreclaim");
	process = attack_start(argv[1], !strcmp(argv[2], "gap") ? "cancel" : argv[2]);
	if (!strcmp(argv[2], "memory"))
		printf("%s %s %lld\n", argv[1], argv[2], (long long)(meminfo_kib("SUnreclaim") - before));
	else
		report(argv[1], argv[2], take(&process, argv[2]));
	kill(process.pid, SIGKILL);
	return 0;
}
