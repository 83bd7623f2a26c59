// SPDX-License-Identifier: MIT
/*
 * Injected faults of the device: the job whose FC a fault hits gets its error, other jobs go on
 * with right results, and the fault is counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "load.h"
#include "ring.h"

#define FUNCTIONAL	"cores=1 mode=functional"
#define TIMED		"cores=1 mode=timed"
#define BOTH		"cores=1 mode=both"
#define TWO		"cores=2 mode=functional"
#define STORM		"cores=2 mode=functional watchdog_ms=2 ban_offences=0"
#define STORM_BOTH	"cores=2 mode=both watchdog_ms=5 ban_offences=0"
#define AT_LOAD		"devices=2 cores=1 inject=descriptor:1+instruction:3,reset:2"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define BYTES		4096u

static int try_plan(unsigned int index, const char *text)
{
	char path[128];

	debugfs_path(path, sizeof(path), index, "inject");
	return write_file(path, text);
}

static void plan(const char *text)
{
	check_equal(try_plan(0, text), 0);
}

/* Returns the number behind @words in a file. */
static uint64_t read_counter_after(const char *path, const char *words)
{
	char text[2048];
	const char *at;

	check_equal(read_file(path, text, sizeof(text)), 0);
	at = strstr(text, words);
	check_message(at, "%s not in:\n%s", words, text);
	return strtoull(at + strlen(words), NULL, 10);
}

static uint64_t injected(unsigned int index, const char *kind)
{
	char path[128], words[64];

	debugfs_path(path, sizeof(path), index, "inject");
	snprintf(words, sizeof(words), "injected %s ", kind);
	return read_counter_after(path, words);
}

static uint64_t counter(const char *name)
{
	char path[128];

	debugfs_path(path, sizeof(path), 0, name);
	return read_counter(path);
}

static int reset_core(unsigned int core)
{
	char path[128], text[16];

	debugfs_path(path, sizeof(path), 0, "reset");
	snprintf(text, sizeof(text), "%u", core);
	return write_file(path, text);
}

static bool computes(const struct client *client)
{
	struct drm_overtake_device_info info;

	device_query(client->fd, &info);
	return info.mode != OVERTAKE_MODE_TIMED;
}

/* Prepares job @tag of @client: one FC, which copies one page to page @tag + 1. */
static void prepare_copy(struct client *client, struct job *job, uint32_t tag)
{
	memset(client->data.data + (tag + 1) * BYTES, 0, BYTES);
	put_copy(client, tag, (tag + 1) * BYTES, 0, BYTES);
	job_init(job, client, tag, tag, 1);
	job->submit.core = 1;
}

static void check_good(struct client *client, uint32_t tag)
{
	struct overtake_result result;
	unsigned int i;

	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.fault, OVERTAKE_FAULT_NONE);
	for (i = 0; i < BYTES && computes(client); i += 512)
		check_equal(client->data.data[(tag + 1) * BYTES + i], 0x33);
}

/**
 * struct expectation - what a fault does to the job that it hits
 * @kind: its name
 * @status: status of the job
 * @fault: fault of the job
 * @counter: the counter in debugfs that goes up by one
 */
struct expectation {
	const char *kind;
	int status;
	unsigned int fault;
	const char *counter;
};

static void check_counted(const struct expectation *expected, uint64_t before)
{
	unsigned int attempt;

	/* A core that was woken without work counts the fault when it runs. */
	for (attempt = 0; attempt < 1000 && counter(expected->counter) == before; attempt++)
		usleep(1000);
	check_message(counter(expected->counter) == before + 1, "%s: %s was %llu, is %llu",
		      expected->kind, expected->counter, (unsigned long long)before,
		      (unsigned long long)counter(expected->counter));
}

static void wait_for_stuck_core(uint64_t injected_before)
{
	while (injected(0, "stuck") == injected_before)
		usleep(1000);
	check_equal(reset_core(1), 0);
}

/*
 * Three jobs of two clients in a row; the fault hits the job from io_uring.  If an interrupt is
 * lost, this job is the last one, since any further call would make up for the interrupt.
 */
static void expect(const struct expectation *expected)
{
	struct client good = client_open(0, 254), guilty = client_open(0, 254);
	uint64_t before = counter(expected->counter);
	uint64_t injected_before = injected(0, expected->kind);
	struct overtake_result result;
	struct completion completion;
	struct io_uring ring;
	struct job jobs[3];
	bool last = !strcmp(expected->kind, "lost-interrupt");
	char text[64];

	ring_open_default(&ring);
	memset(good.data.data, 0x33, BYTES);
	memset(guilty.data.data, 0x33, BYTES);
	prepare_copy(&good, &jobs[0], 1);
	prepare_copy(&guilty, &jobs[1], 2);
	prepare_copy(&good, &jobs[2], 3);
	jobs[1].submit.result = guilty.data.address + RESULT_OFFSET;
	snprintf(text, sizeof(text), "%s:%d\n", expected->kind, last ? 3 : 2);
	plan(text);
	check_equal(job_submit(&good, &jobs[0]), 0);
	if (!last)
		ring_submit_job(&ring, &guilty, &jobs[1]);
	check_equal(job_submit(&good, &jobs[2]), 0);
	if (last)
		ring_submit_job(&ring, &guilty, &jobs[1]);
	if (!strcmp(expected->kind, "stuck"))
		wait_for_stuck_core(injected_before);
	completion = ring_reap(&ring);
	check_equal(completion.status, expected->status);
	memcpy(&result, guilty.data.data + RESULT_OFFSET, sizeof(result));
	check_equal(result.status, expected->status);
	check_equal(result.fault, expected->fault);
	check_good(&good, 1);
	check_good(&good, 3);
	if (!expected->status)
		check(!computes(&guilty) || guilty.data.data[3 * BYTES] == 0x33);
	check_equal(injected(0, expected->kind), injected_before + 1);
	check_counted(expected, before);
	prepare_copy(&guilty, &jobs[1], 4);
	check_equal(job_submit(&guilty, &jobs[1]), 0);
	check_good(&guilty, 4);
	io_uring_queue_exit(&ring);
	client_close(&good);
	client_close(&guilty);
	wait_until_forgotten();
}

static void bad_descriptor_faults(void)
{
	expect(&(struct expectation){ "descriptor", -ENOEXEC, OVERTAKE_FAULT_PROGRAM,
				      "core1/faults" });
}

static void bad_instruction_faults(void)
{
	expect(&(struct expectation){ "instruction", -ENOEXEC, OVERTAKE_FAULT_OPCODE,
				      "core1/faults" });
}

static void endless_fc_hangs(void)
{
	expect(&(struct expectation){ "endless", -ETIMEDOUT, OVERTAKE_FAULT_WATCHDOG,
				      "core1/hangs" });
}

static void stuck_core_is_reset(void)
{
	expect(&(struct expectation){ "stuck", -EIO, OVERTAKE_FAULT_RESET, "core1/resets" });
}

static void reset_in_the_middle(void)
{
	expect(&(struct expectation){ "reset", -EIO, OVERTAKE_FAULT_RESET, "core1/resets" });
}

static void lost_wakeup_is_made_up_for(void)
{
	expect(&(struct expectation){ "lost-wakeup", 0, OVERTAKE_FAULT_NONE, "lost_interrupts" });
}

static void lost_interrupt_is_made_up_for(void)
{
	expect(&(struct expectation){ "lost-interrupt", 0, OVERTAKE_FAULT_NONE,
				      "lost_interrupts" });
}

/* The interrupt is on the other core, which has nothing to do. */
static void spurious_interrupt_does_nothing(void)
{
	expect(&(struct expectation){ "spurious", 0, OVERTAKE_FAULT_NONE,
				      "spurious_interrupts" });
}

/* The backstop resets the core, after twenty looks that saw no step. */
static void stuck_core_is_found(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	check_equal(write_file("/dev/kmsg",
			       "overtake-test: expect core 1 makes no progress: reset\n"), 0);
	memset(client.data.data, 0x33, BYTES);
	plan("stuck:1");
	prepare_copy(&client, &job, 1);
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	prepare_copy(&client, &job, 2);
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, -EIO);
	check_good(&client, 2);
	/* The core was not asleep: no wake-up was lost. */
	check_equal(counter("lost_interrupts"), 0);
	client_close(&client);
}

/* A client that is killed, or a device that goes, does not wait for a stuck core. */
static void stuck_core_does_not_hold_up(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		plan("stuck:1");
		prepare_copy(&client, &job, 1);
		check_equal(job_submit(&client, &job), 0);
		while (injected(0, "stuck") != i + 1)
			usleep(1000);
		if (i)
			break;
		check_equal(context_destroy(client.fd, client.context), 0);
		check_equal(context_create(client.fd, 254, 0, &client.context), 0);
	}
	device_bind(0, "unbind");
	check_equal(job_wait(&client, 1, NEVER, &result), -ENODEV);
	client_close(&client);
	device_bind(0, "bind");
	wait_until_forgotten();
}

static void plans_are_checked(void)
{
	static const char *const bad[] = {
		"stuck", "stuck:", "stuck:0", "stuck:x", "nothing:1", ":1", "+", "stuck:1+",
		"stuck=", "stuck=1", "nothing=1/100/0/1",
		"reset:1+reset:2+reset:3+reset:4+reset:5+reset:6+reset:7+reset:8+reset:9+"
		"reset:10+reset:11+reset:12+reset:13+reset:14+reset:15+reset:16+reset:17",
	};
	char path[128], text[2048];
	size_t i;

	plan("reset:1000000+stuck:7");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_message(try_plan(0, bad[i]) < 0, "\"%s\" is accepted", bad[i]);
	debugfs_path(path, sizeof(path), 0, "inject");
	check_equal(read_file(path, text, sizeof(text)), 0);
	check(strstr(text, "planned reset:1000000\nplanned stuck:7\n") == text);
	plan("\n");
	check_equal(read_file(path, text, sizeof(text)), 0);
	check(!strstr(text, "planned"));
}

/* The module parameter injects faults into each device, each fault in its FC. */
static void parameter_injects(void)
{
	static const int expected[2][3] = { { -ENOEXEC, 0, -ENOEXEC }, { 0, -EIO, 0 } };
	struct overtake_result result;
	unsigned int index;
	uint32_t tag;

	for (index = 0; index < 2; index++) {
		struct client client = client_open(index, 254);

		for (tag = 1; tag <= 3; tag++) {
			struct job job;

			prepare_copy(&client, &job, tag);
			check_equal(job_submit(&client, &job), 0);
			check_equal(job_wait(&client, tag, NEVER, &result), 0);
			check_equal(result.status, expected[index][tag - 1]);
		}
		client_close(&client);
	}
	check_equal(injected(0, "descriptor"), 1);
	check_equal(injected(0, "instruction"), 1);
	check_equal(injected(1, "reset"), 1);
}

/* Runs one more job; returns its status. */
static int status_of_next(struct client *client)
{
	static uint32_t tag;
	struct overtake_result result;
	struct job job;

	prepare_copy(client, &job, ++tag);
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	return result.status;
}

/* INTERVAL/PROBABILITY/SPACE/TIMES: every second FC, two of them. */
static void the_kernels_rules_inject(void)
{
	static const int expected[] = { 0, -ENOEXEC, 0, -ENOEXEC, 0, 0 };
	struct client client = client_open(0, 254);
	char path[128];
	size_t i;
	int ret;

	plan("reset:1000000");
	ret = try_plan(0, "descriptor=2/100/0/2");
	debugfs_path(path, sizeof(path), 0, "fail_descriptor/probability");
	if (access(path, F_OK)) {
		/* Without the kernel's fault injection a rule is refused, and changes nothing. */
		check_equal(ret, -EOPNOTSUPP);
		debugfs_path(path, sizeof(path), 0, "inject");
		check_equal(read_counter_after(path, "planned reset:"), 1000000);
		plan("");
		client_close(&client);
		return;
	}
	check_equal(ret, 0);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		check_equal(status_of_next(&client), expected[i]);
	check_equal(injected(0, "descriptor"), 2);
	/* The files of the kernel set it, too; an empty line stops the faults. */
	debugfs_path(path, sizeof(path), 0, "fail_descriptor/times");
	check_equal(write_file(path, "-1"), 0);
	check_equal(status_of_next(&client), 0);
	check_equal(status_of_next(&client), -ENOEXEC);
	plan("");
	check_equal(status_of_next(&client), 0);
	check_equal(status_of_next(&client), 0);
	client_close(&client);
}

static unsigned int rounds(unsigned int usual)
{
	const char *factor = getenv("KMOD_ROUNDS");

	return usual * (factor ? (unsigned int)strtoul(factor, NULL, 10) : 1);
}

/* All kinds of faults under load, and their remedies; then everything is as before. */
static void faults_under_load(void)
{
	static const char *const kinds[] = {
		"stuck", "endless", "descriptor", "instruction", "lost-wakeup", "lost-interrupt",
		"spurious", "reset",
	};
	struct client client;
	pid_t loads[3];
	unsigned int seed = 5, i;
	struct job job;

	for (i = 0; i < 3; i++)
		loads[i] = load_start(200 + i);
	for (i = 0; i < rounds(200); i++) {
		char text[128];

		snprintf(text, sizeof(text), "%s:%d+%s:%d", kinds[i % 8], 1 + rand_r(&seed) % 3,
			 kinds[rand_r(&seed) % 8], 1 + rand_r(&seed) % 3);
		plan(text);
		usleep((unsigned int)rand_r(&seed) % 5000);
		if (i % 8 == 7) {
			check_equal(reset_core(1), 0);
			check_equal(reset_core(2), 0);
		}
	}
	plan("");
	for (i = 0; i < 3; i++)
		load_kill(loads[i]);
	wait_until_forgotten();
	client = client_open(0, 254);
	memset(client.data.data, 0x33, BYTES);
	prepare_copy(&client, &job, 1);
	check_equal(job_submit(&client, &job), 0);
	check_good(&client, 1);
	client_close(&client);
	wait_until_forgotten();
}

#define IN_ALL_MODES(name, function) \
	{ "inject-" name "-functional", FUNCTIONAL, function }, \
	{ "inject-" name "-timed", TIMED, function }, \
	{ "inject-" name "-both", BOTH, function }

const struct test_case injected_cases[] = {
	IN_ALL_MODES("bad-descriptor-faults", bad_descriptor_faults),
	IN_ALL_MODES("bad-instruction-faults", bad_instruction_faults),
	IN_ALL_MODES("endless-fc-hangs", endless_fc_hangs),
	IN_ALL_MODES("stuck-core-is-reset", stuck_core_is_reset),
	IN_ALL_MODES("reset-in-the-middle", reset_in_the_middle),
	IN_ALL_MODES("lost-wakeup-is-made-up-for", lost_wakeup_is_made_up_for),
	IN_ALL_MODES("lost-interrupt-is-made-up-for", lost_interrupt_is_made_up_for),
	{ "inject-spurious-interrupt-does-nothing", TWO, spurious_interrupt_does_nothing },
	{ "inject-stuck-core-is-found", FUNCTIONAL, stuck_core_is_found },
	{ "inject-stuck-core-does-not-hold-up", TIMED, stuck_core_does_not_hold_up },
	{ "inject-plans-are-checked", FUNCTIONAL, plans_are_checked },
	{ "inject-parameter", AT_LOAD, parameter_injects },
	{ "inject-by-the-kernels-rules", FUNCTIONAL, the_kernels_rules_inject },
	{ "inject-faults-under-load", STORM, faults_under_load },
	{ "inject-faults-under-load-both", STORM_BOTH, faults_under_load },
	{ 0 },
};
