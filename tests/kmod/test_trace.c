// SPDX-License-Identifier: MIT
/* The driver's tracepoints: how often they fire, in which order, with which fields. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "group.h"
#include "trace.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1 watchdog_ms=5"
#define FUNCTIONAL	"cores=1 mode=functional profile=ideal"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
/* Events of jobs: handed over, run and ended. */
#define JOB_EVENTS	"job_queue,fc_submit,fc_start,fc_preempt,fc_resume,fc_done,fc_timeout," \
			"job_done,core_reset"

#define TASK_EVENTS	"task_arrive,task_dispatch,task_ready,task_cpu_start,task_cpu_done," \
			"task_overdue,task_end,ctx_create,ctx_destroy," JOB_EVENTS

static void set_limit(const char *limit)
{
	char path[128];

	sysfs_path(path, sizeof(path), 0, "core_limit");
	check_equal(write_file(path, limit), 0);
}

static void submit(const struct client *client, uint64_t tag, uint32_t first, uint32_t fc_count,
		   uint32_t priority)
{
	struct overtake_extension_model model = {
		.base = { .type = OVERTAKE_EXTENSION_MODEL }, .model = tag + 0xabc0000000000000,
	};
	struct job job;

	job_init(&job, client, tag, first, fc_count);
	job.submit.core = 1;
	job.submit.priority = priority;
	job.submit.custom_id = -(int64_t)tag;
	if (tag == 7)
		job.submit.extensions = (uintptr_t)&model;
	check_equal(job_submit(client, &job), 0);
}

static void collect(const struct client *client, uint64_t tag, int status)
{
	struct overtake_result result;

	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, status);
}

/* Another process, B, with a job of one FC of half a millisecond at priority 255. */
struct overtaker {
	pid_t pid;
	int told[2];
	int goes[2];
};

static void run_overtaker(struct overtaker *overtaker)
{
	struct client client;
	char byte = 0;

	check_equal(prctl(PR_SET_NAME, "overtaker"), 0);
	client = client_open(0, 255);
	put_delay(&client, 0, MS / 2);
	submit(&client, 900, 0, 1, 255);
	check_equal(write(overtaker->told[1], &client.fd, sizeof(client.fd)), sizeof(client.fd));
	check_equal(read(overtaker->goes[0], &byte, 1), 1);
	collect(&client, 900, 0);
	client_close(&client);
	_exit(0);
}

/* Starts the overtaker, and waits until it has submitted. */
static struct overtaker overtaker_start(void)
{
	struct overtaker overtaker;
	int fd;

	check_equal(pipe(overtaker.told) || pipe(overtaker.goes), 0);
	overtaker.pid = fork();
	check(overtaker.pid >= 0);
	if (!overtaker.pid)
		run_overtaker(&overtaker);
	check_equal(read(overtaker.told[0], &fd, sizeof(fd)), sizeof(fd));
	trace_name('B', fd, overtaker.pid);
	return overtaker;
}

static void overtaker_end(const struct overtaker *overtaker)
{
	int status;

	check_equal(write(overtaker->goes[1], "", 1), 1);
	check_equal(waitpid(overtaker->pid, &status, 0), overtaker->pid);
	check_equal(status, 0);
}

/* A's job has three FCs; B's job comes while the first runs, and goes ahead of the second. */
static void overtake_once(const char *events)
{
	struct overtaker overtaker;
	struct client client;

	check_equal(prctl(PR_SET_NAME, "overtaken"), 0);
	client = client_open_at_zero();
	set_limit("1");
	put_delay(&client, 0, MS);
	put_delay(&client, 1, MS);
	put_delay(&client, 2, MS);
	trace_begin(events);
	trace_name('A', client.fd, getpid());
	submit(&client, 7, 0, 3, 20);
	check_equal(advance_clock(0, MS / 4), 0);
	overtaker = overtaker_start();
	check_equal(advance_clock(0, 10 * MS), 0);
	collect(&client, 7, 0);
	overtaker_end(&overtaker);
	set_limit("0");
	client_close(&client);
}

static void every_fc_of_two_jobs_is_reported(void)
{
	static const char *const expected[] = {
		"job_queue: device=0 core=1 ring=1 client=A context=1 tag=7 fc_count=3 priority=20 custom_id=-7 task=0 segment=0 segment_count=0 time_ns=0 pid=A model=0xabc0000000000007 cores=0x0 recorded=0",
		"fc_submit: device=0 core=1 ring=1 client=A context=1 tag=7 fc_count=3 priority=20 custom_id=-7 time_ns=0 pid=A placed_core=1 part=0",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=0 time_ns=0 pid=A part=0 stage=0",
		"job_queue: device=0 core=1 ring=0 client=B context=1 tag=900 fc_count=1 priority=255 custom_id=-900 task=0 segment=0 segment_count=0 time_ns=250000 pid=B model=0x0 cores=0x0 recorded=0",
		"fc_submit: device=0 core=1 ring=0 client=B context=1 tag=900 fc_count=1 priority=255 custom_id=-900 time_ns=250000 pid=B placed_core=1 part=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=0 time_ns=1000000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"fc_preempt: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=1 by_client=B by_context=1 by_tag=900 by_pid=B time_ns=1000000 pid=A part=0",
		"fc_start: device=0 core=1 ring=0 client=B context=1 tag=900 fc_index=0 time_ns=1000000 pid=B part=0 stage=0",
		"fc_done: device=0 core=1 ring=0 client=B context=1 tag=900 fc_index=0 time_ns=1500000 duration_ns=500000 fault=0 pid=B part=0 stage=0",
		"job_done: device=0 core=1 ring=0 client=B context=1 tag=900 error=0 executed=1 preemptions=0 duration_ns=500000 priority=255 time_ns=1500000 pid=B",
		"fc_resume: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=1500000 pid=A part=0 stage=0",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=1500000 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=2500000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=2 time_ns=2500000 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=2 time_ns=3500000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"job_done: device=0 core=1 ring=1 client=A context=1 tag=7 error=0 executed=3 preemptions=1 duration_ns=3000000 priority=20 time_ns=3500000 pid=A",
		NULL
	};

	overtake_once(JOB_EVENTS);
	check_trace(expected);
}

/* Writes a jump to itself, which the watchdog ends after 5 ms, and NOT_AN_OPCODE. */
static void put_culprits(struct client *client)
{
	struct overtake_insn bad = { .opcode = 0xffff };

	put_delay(client, 0, MS);
	put_insn(client, 1, &bad);
	put_delay(client, 2, MS);
	put_delay(client, 3, MS);
	put_jump(client, 4, 4);
}

static void submit_ends(const struct client *client)
{
	char path[128];

	submit(client, 1, 2, 2, 20);
	submit(client, 2, 2, 2, 20);
	submit(client, 3, 0, 2, 20);
	submit(client, 4, 4, 1, 20);
	check_equal(advance_clock(0, MS / 2), 0);
	check_equal(job_cancel(client, 2), 0);
	debugfs_path(path, sizeof(path), 0, "reset");
	check_equal(write_file(path, "1"), 0);
	check_equal(advance_clock(0, 20 * MS), 0);
	collect(client, 1, -EIO);
	collect(client, 2, -ECANCELED);
	collect(client, 3, -ENOEXEC);
	collect(client, 4, -ETIMEDOUT);
}

static void what_ends_badly_says_how(void)
{
	static const char *const expected[] = {
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=1 fc_index=0 time_ns=0 pid=A part=0 stage=0",
		"job_done: device=0 core=1 ring=1 client=A context=1 tag=2 error=125 executed=0 preemptions=0 duration_ns=0 priority=20 time_ns=500000 pid=A",
		"core_reset: device=0 core=1 time_ns=500000",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=1 fc_index=0 time_ns=500000 duration_ns=500000 fault=10 pid=A part=0 stage=0",
		"job_done: device=0 core=1 ring=1 client=A context=1 tag=1 error=5 executed=1 preemptions=0 duration_ns=500000 priority=20 time_ns=500000 pid=A",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=3 fc_index=0 time_ns=500000 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=3 fc_index=0 time_ns=1500000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=3 fc_index=1 time_ns=1500000 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=3 fc_index=1 time_ns=1500001 duration_ns=1 fault=1 pid=A part=0 stage=0",
		"job_done: device=0 core=1 ring=1 client=A context=1 tag=3 error=8 executed=2 preemptions=0 duration_ns=1000001 priority=20 time_ns=1500001 pid=A",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=4 fc_index=0 time_ns=1500001 pid=A part=0 stage=0",
		"fc_timeout: device=0 core=1 ring=1 client=A context=1 tag=4 fc_index=0 time_ns=6500001 duration_ns=5000000 fault=9 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=4 fc_index=0 time_ns=6500001 duration_ns=5000000 fault=9 pid=A part=0 stage=0",
		"job_done: device=0 core=1 ring=1 client=A context=1 tag=4 error=110 executed=1 preemptions=0 duration_ns=5000000 priority=20 time_ns=6500001 pid=A",
		NULL
	};
	struct client client = client_open_at_zero();

	put_culprits(&client);
	trace_begin("fc_start,fc_done,fc_timeout,job_done,core_reset");
	trace_name('A', client.fd, getpid());
	submit_ends(&client);
	client_close(&client);
	check_trace(expected);
}

static void limits_say_who_asked(void)
{
	static const char *const expected[] = {
		"core_limit: device=0 core=1 limit_before=0 limit=3 by_pid=0 time_ns=0",
		"core_limit: device=0 core=2 limit_before=0 limit=3 by_pid=0 time_ns=0",
		"ctx_create: device=0 client=A context=2 priority=255 time_ns=1000000 pid=A",
		"core_limit: device=0 core=1 limit_before=3 limit=1 by_pid=A time_ns=1000000",
		"core_limit: device=0 core=2 limit_before=3 limit=1 by_pid=A time_ns=1000000",
		"ctx_create: device=0 client=A context=3 priority=255 time_ns=1000000 pid=A",
		"core_limit: device=0 core=1 limit_before=1 limit=4 by_pid=A time_ns=1000000",
		"core_limit: device=0 core=2 limit_before=1 limit=4 by_pid=A time_ns=1000000",
		"ctx_destroy: device=0 client=A context=2 priority=255 time_ns=1000000 pid=A",
		"core_limit: device=0 core=1 limit_before=4 limit=5 by_pid=0 time_ns=1000000",
		"core_limit: device=0 core=2 limit_before=4 limit=5 by_pid=0 time_ns=1000000",
		"core_limit: device=0 core=1 limit_before=5 limit=0 by_pid=A time_ns=1000000",
		"core_limit: device=0 core=2 limit_before=5 limit=0 by_pid=A time_ns=1000000",
		"ctx_destroy: device=0 client=A context=3 priority=255 time_ns=1000000 pid=A",
		"ctx_destroy: device=0 client=A context=1 priority=254 time_ns=1000000 pid=A",
		NULL
	};
	struct client client = client_open_at_zero();
	uint32_t strict, lax;

	set_limit("0");
	trace_begin("core_limit,ctx_create,ctx_destroy");
	trace_name('A', client.fd, getpid());
	set_limit("3");
	check_equal(advance_clock(0, MS), 0);
	check_equal(context_create(client.fd, 255, 1, &strict), 0);
	check_equal(context_create(client.fd, 255, 5, &lax), 0); /* changes nothing */
	set_limit("4");
	check_equal(context_destroy(client.fd, strict), 0);
	set_limit("0");
	check_equal(context_destroy(client.fd, lax), 0);
	client_close(&client);
	check_trace(expected);
}

/* Submits a task: a CPU segment, a job of two FCs, and a CPU segment, which fails. */
static void submit_task(const struct client *client, uint32_t queue, struct job *job)
{
	struct overtake_task_segment segments[3] = {
		{ .cpu_key = 1, .expected_ns = 1000 },
		{ .fcs = job->submit.fcs, .bindings = job->submit.bindings, .fc_count = 2,
		  .binding_count = 2 },
		{ .cpu_key = 2, .expected_ns = 1000 },
	};
	struct overtake_extension_model model = {
		.base = { .type = OVERTAKE_EXTENSION_MODEL }, .model = 0x1234,
	};
	struct drm_overtake_task_submit task = {
		.segments = (uintptr_t)segments, .tag = 77, .deadline_ns = ~0ull, .custom_id = -3,
		.extensions = (uintptr_t)&model,
		.context_id = queue, .segment_count = 3, .priority = 10,
	};

	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &task), 0);
}

/* Waits for one event of the tasks of @queue. */
static void hear(const struct client *client, uint32_t queue, uint32_t type)
{
	struct overtake_task_event event;
	struct overtake_result results[OVERTAKE_MAX_SEGMENTS];
	struct drm_overtake_task_events args = {
		.events = (uintptr_t)&event, .results = (uintptr_t)results, .deadline_ns = NEVER,
		.context_id = queue, .event_count = 1,
		.result_count = OVERTAKE_MAX_SEGMENTS,
	};

	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &args), 0);
	check_equal(args.event_count, 1);
	check_equal(event.type, type);
}

static void report(const struct client *client, uint32_t queue, uint32_t segment, int32_t status)
{
	struct drm_overtake_task_cpu_done args = {
		.tag = 77, .context_id = queue, .segment = segment, .status = status,
	};

	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_TASK_CPU_DONE, &args), 0);
}

static void a_task_is_reported_step_by_step(void)
{
	static const char *const expected[] = {
		"ctx_create: device=0 client=A context=2 priority=254 time_ns=0 pid=A",
		"task_arrive: device=0 core=0 priority=10 client=A context=2 tag=77 segment=0 segment_count=3 custom_id=-3 error=0 time_ns=0 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"task_dispatch: device=0 core=0 priority=10 client=A context=2 tag=77 segment=0 segment_count=3 custom_id=-3 error=0 time_ns=0 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"task_cpu_start: device=0 core=0 priority=10 client=A context=2 tag=77 segment=0 segment_count=3 custom_id=-3 error=0 time_ns=0 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"task_cpu_done: device=0 core=0 priority=10 client=A context=2 tag=77 segment=0 segment_count=3 custom_id=-3 error=0 time_ns=500000 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"task_ready: device=0 core=0 priority=10 client=A context=2 tag=77 segment=1 segment_count=3 custom_id=-3 error=0 time_ns=500000 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"job_queue: device=0 core=1 ring=1 client=A context=2 tag=1 fc_count=2 priority=10 custom_id=-3 task=77 segment=1 segment_count=3 time_ns=500000 pid=A model=0x1234 cores=0x0 recorded=0",
		"fc_submit: device=0 core=1 ring=1 client=A context=2 tag=1 fc_count=2 priority=10 custom_id=-3 time_ns=500000 pid=A placed_core=1 part=0",
		"fc_start: device=0 core=1 ring=1 client=A context=2 tag=1 fc_index=0 time_ns=500000 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=2 tag=1 fc_index=0 time_ns=1500000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"fc_start: device=0 core=1 ring=1 client=A context=2 tag=1 fc_index=1 time_ns=1500000 pid=A part=0 stage=0",
		"fc_done: device=0 core=1 ring=1 client=A context=2 tag=1 fc_index=1 time_ns=2500000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"job_done: device=0 core=1 ring=1 client=A context=2 tag=1 error=0 executed=2 preemptions=0 duration_ns=2000000 priority=10 time_ns=2500000 pid=A",
		"task_cpu_start: device=0 core=1 priority=10 client=A context=2 tag=77 segment=2 segment_count=3 custom_id=-3 error=0 time_ns=2500000 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"task_cpu_done: device=0 core=1 priority=10 client=A context=2 tag=77 segment=2 segment_count=3 custom_id=-3 error=5 time_ns=3000000 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"task_end: device=0 core=1 priority=10 client=A context=2 tag=77 segment=2 segment_count=3 custom_id=-3 error=5 time_ns=3000000 pid=A model=0x1234 slots=1 task_limit=8 share=1 width=1",
		"ctx_destroy: device=0 client=A context=2 priority=254 time_ns=4000000 pid=A",
		NULL
	};
	struct drm_overtake_context_create create = { .max_priority = 254, .flags = 1 };
	struct client client = client_open_at_zero();
	struct job job;

	put_delay(&client, 0, MS);
	put_delay(&client, 1, MS);
	job_init(&job, &client, 0, 0, 2);
	trace_begin(TASK_EVENTS);
	trace_name('A', client.fd, getpid());
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	submit_task(&client, create.context_id, &job);
	check_equal(advance_clock(0, MS / 2), 0);
	hear(&client, create.context_id, OVERTAKE_TASK_RUN_CPU);
	report(&client, create.context_id, 0, 0);
	check_equal(advance_clock(0, 3 * MS), 0);
	hear(&client, create.context_id, OVERTAKE_TASK_RUN_CPU);
	report(&client, create.context_id, 2, -EIO);
	check_equal(advance_clock(0, 4 * MS), 0);
	hear(&client, create.context_id, OVERTAKE_TASK_ENDED);
	check_equal(context_destroy(client.fd, create.context_id), 0);
	check_trace(expected);
	client_close(&client);
}

/* Part 1 of a group runs on core 2; it is overtaken before its second FC. */
static void parts_are_told(void)
{
	static const char *const expected[] = {
		"fc_submit: device=0 core=1 ring=1 client=A context=1 tag=7 fc_count=2 priority=0 custom_id=0 time_ns=0 pid=A placed_core=1 part=0",
		"fc_submit: device=0 core=2 ring=1 client=A context=1 tag=7 fc_count=2 priority=0 custom_id=0 time_ns=0 pid=A placed_core=2 part=1",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=0 time_ns=0 pid=A part=0 stage=0",
		"fc_start: device=0 core=2 ring=1 client=A context=1 tag=7 fc_index=0 time_ns=0 pid=A part=1 stage=0",
		"fc_submit: device=0 core=2 ring=0 client=A context=1 tag=9 fc_count=1 priority=255 custom_id=0 time_ns=500000 pid=A placed_core=2 part=0",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=0 time_ns=1000000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"fc_done: device=0 core=2 ring=1 client=A context=1 tag=7 fc_index=0 time_ns=1000000 duration_ns=1000000 fault=0 pid=A part=1 stage=0",
		"fc_preempt: device=0 core=2 ring=1 client=A context=1 tag=7 fc_index=1 by_client=A by_context=1 by_tag=9 by_pid=A time_ns=1000000 pid=A part=1",
		"fc_start: device=0 core=2 ring=0 client=A context=1 tag=9 fc_index=0 time_ns=1000000 pid=A part=0 stage=0",
		"fc_done: device=0 core=2 ring=0 client=A context=1 tag=9 fc_index=0 time_ns=2000000 duration_ns=1000000 fault=0 pid=A part=0 stage=0",
		"job_done: device=0 core=2 ring=0 client=A context=1 tag=9 error=0 executed=1 preemptions=0 duration_ns=1000000 priority=255 time_ns=2000000 pid=A",
		"fc_resume: device=0 core=2 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=2000000 pid=A part=1 stage=1",
		"fc_start: device=0 core=2 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=2000000 pid=A part=1 stage=1",
		"fc_done: device=0 core=2 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=3000000 duration_ns=1000000 fault=0 pid=A part=1 stage=1",
		"fc_start: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=3000000 pid=A part=0 stage=2",
		"fc_done: device=0 core=1 ring=1 client=A context=1 tag=7 fc_index=1 time_ns=4000000 duration_ns=1000000 fault=0 pid=A part=0 stage=2",
		"job_done: device=0 core=1 ring=1 client=A context=1 tag=7 error=0 executed=4 preemptions=1 duration_ns=4000000 priority=0 time_ns=4000000 pid=A",
		NULL
	};
	struct client client = client_open_at_zero();
	struct group group;
	struct job job;
	uint32_t i;

	set_limit("1");
	check_equal(context_destroy(client.fd, client.context), 0);
	check_equal(context_create(client.fd, 255, 0, &client.context), 0);
	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&client, i, MS);
	trace_begin("fc_submit,fc_start,fc_preempt,fc_resume,fc_done,job_done");
	trace_name('A', client.fd, getpid());
	group_init(&group, &client, 7, 0);
	check_equal(job_submit(&client, &group.job), 0);
	check_equal(advance_clock(0, MS / 2), 0);
	job_init(&job, &client, 9, 0, 1);
	job.submit.core = 2;
	job.submit.priority = 255;
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 10 * MS), 0);
	set_limit("0");
	check_trace(expected);
	client_close(&client);
}

/* Perfetto draws slices that nest in their track. */
static void slices_nest(void)
{
	static const char *const expected[] = {
		"fc_slice: type=B track=\"NPU 0 core 1\" slice=\"NORMAL overtaken A job 7 FC 0\" device=0",
		"job_slice: type=B track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"job 7, 3 FCs\" pid=A",
		"fc_slice: type=E track=\"NPU 0 core 1\" slice=\"NORMAL overtaken A job 7 FC 0\" device=0",
		"job_slice: type=B track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"overtaken by overtaker B\" pid=A",
		"fc_slice: type=B track=\"NPU 0 core 1\" slice=\"HIGH overtaker B job 900 FC 0\" device=0",
		"job_slice: type=B track=\"NPU 0 core 1 HIGH client B context 1\" slice=\"job 900, 1 FC\" pid=B",
		"fc_slice: type=E track=\"NPU 0 core 1\" slice=\"HIGH overtaker B job 900 FC 0\" device=0",
		"job_slice: type=E track=\"NPU 0 core 1 HIGH client B context 1\" slice=\"job\" pid=B",
		"fc_slice: type=B track=\"NPU 0 core 1\" slice=\"NORMAL overtaken A job 7 FC 1\" device=0",
		"job_slice: type=E track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"overtaken\" pid=A",
		"fc_slice: type=E track=\"NPU 0 core 1\" slice=\"NORMAL overtaken A job 7 FC 1\" device=0",
		"fc_slice: type=B track=\"NPU 0 core 1\" slice=\"NORMAL overtaken A job 7 FC 2\" device=0",
		"fc_slice: type=E track=\"NPU 0 core 1\" slice=\"NORMAL overtaken A job 7 FC 2\" device=0",
		"job_slice: type=E track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"job\" pid=A",
		NULL
	};

	overtake_once("fc_slice,job_slice");
	check_trace(expected);
}

/* A job that is overtaken and never goes on: both of its slices end. */
static void slices_end_with_the_job(void)
{
	static const char *const expected[] = {
		"job_slice: type=B track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"job 1, 2 FCs\" pid=A",
		"job_slice: type=B track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"overtaken by kmod_tests A\" pid=A",
		"job_slice: type=B track=\"NPU 0 core 1 HIGH client A context 2\" slice=\"job 3, 2 FCs\" pid=A",
		"job_slice: type=E track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"overtaken\" pid=A",
		"job_slice: type=E track=\"NPU 0 core 1 NORMAL client A context 1\" slice=\"job\" pid=A",
		"job_slice: type=E track=\"NPU 0 core 1 HIGH client A context 2\" slice=\"job\" pid=A",
		NULL
	};
	struct client client = client_open_at_zero();
	uint32_t high;
	struct job job;

	set_limit("1");
	put_delay(&client, 0, MS);
	put_delay(&client, 1, MS);
	check_equal(context_create(client.fd, 255, 0, &high), 0);
	trace_begin("job_slice");
	trace_name('A', client.fd, getpid());
	submit(&client, 1, 0, 2, 20);
	submit(&client, 2, 0, 2, 20); /* never starts */
	job_init(&job, &client, 3, 0, 2);
	job.submit.core = 1;
	job.submit.context_id = high;
	job.submit.priority = 255;
	check_equal(advance_clock(0, MS / 2), 0);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, MS + MS / 2), 0);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(job_cancel(&client, 2), 0);
	check_equal(advance_clock(0, 9 * MS), 0);
	set_limit("0");
	check_trace(expected);
	client_close(&client);
}

/* Returns an event's own fields from the file "format": "u32 device,u32 core,...". */
static void read_format(const char *event, char *fields, size_t size)
{
	char path[128], text[4096], *line, *end;

	snprintf(path, sizeof(path), TRACEFS "/events/overtake/%s/format", event);
	check_message(!read_file(path, text, sizeof(text)), "no event %s", event);
	line = strstr(text, "\n\n"); /* after the fields that all events have */
	check(line);
	for (*fields = 0; (line = strstr(line, "\tfield:")); line = end) {
		line += strlen("\tfield:");
		end = strchr(line, ';');
		check(end && strlen(fields) + (size_t)(end - line) + 2 < size);
		if (*fields)
			strcat(fields, ",");
		strncat(fields, line, (size_t)(end - line));
	}
}

static void fields_are_stable(void)
{
	static const struct {
		const char *event;
		const char *fields;
	} rows[] = {
#define CONTEXT	"u32 device,u32 context,u64 client,u64 time_ns,u32 pid,u32 priority"
#define JOB	"u32 device,u32 core,u32 ring,u32 context,u64 client,u64 tag,u64 time_ns,u32 pid,"
#define TASK	"u32 device,u32 core,u32 priority,u32 context,u64 client,u64 tag,u64 time_ns,u32 pid," \
		"u32 segment,u64 custom_id,u32 segment_count,u32 error,u64 model,u32 slots," \
		"u32 task_limit,u32 share,u32 width"
		{ "ctx_create", CONTEXT },
		{ "ctx_destroy", CONTEXT },
		{ "job_queue", JOB "u32 fc_count,u32 priority,u64 custom_id,u64 task,u32 segment,"
			       "u32 segment_count,u64 model,u64 cores,u32 recorded" },
		{ "fc_submit", JOB "u32 fc_count,u32 priority,u64 custom_id,u32 placed_core,"
			       "u32 part" },
		{ "fc_start", JOB "u32 fc_index,u32 part,u32 stage" },
		{ "fc_preempt", JOB "u32 fc_index,u64 by_client,u64 by_tag,u32 by_context,u32 by_pid,"
			       "u32 part" },
		{ "fc_resume", JOB "u32 fc_index,u32 part,u32 stage" },
		{ "fc_done", JOB "u32 fc_index,u64 duration_ns,u32 fault,u32 part,u32 stage" },
		{ "fc_timeout", JOB "u32 fc_index,u64 duration_ns,u32 fault,u32 part,u32 stage" },
		{ "job_done", JOB "u32 error,u32 executed,u32 preemptions,u64 duration_ns,"
			      "u32 priority" },
		{ "core_limit", "u32 device,u32 core,u64 time_ns,u32 limit_before,u32 limit,"
				"u32 by_pid" },
		{ "core_reset", "u32 device,u32 core,u64 time_ns" },
		{ "task_arrive", TASK },
		{ "task_dispatch", TASK },
		{ "task_ready", TASK },
		{ "task_cpu_start", TASK },
		{ "task_cpu_done", TASK },
		{ "task_overdue", TASK },
		{ "task_end", TASK },
		/* Perfetto finds its fields by these types and names. */
		{ "fc_slice", "char track_event_type,__data_loc char[] slice_name,"
			      "__data_loc char[] track_name,u32 scope_device" },
		{ "job_slice", "char track_event_type,__data_loc char[] slice_name,"
			       "__data_loc char[] track_name,u32 scope_tgid" },
	};
	char fields[512];
	size_t row;

	if (access(TRACEFS "/events", F_OK))
		check_skip("this kernel has no tracefs");
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		read_format(rows[row].event, fields, sizeof(fields));
		check_message(!strcmp(fields, rows[row].fields), "%s has: %s", rows[row].event,
			      fields);
	}
}

const struct test_case trace_cases[] = {
	{ "trace-every-fc", MANUAL, every_fc_of_two_jobs_is_reported },
	{ "trace-bad-ends", MANUAL, what_ends_badly_says_how },
	{ "trace-limits", MANUAL, limits_say_who_asked },
	{ "trace-parts", MANUAL, parts_are_told },
	{ "trace-slices", MANUAL, slices_nest },
	{ "trace-slices-end", MANUAL, slices_end_with_the_job },
	{ "trace-fields", FUNCTIONAL, fields_are_stable },
	{ "trace-tasks", MANUAL, a_task_is_reported_step_by_step },
	{ 0 },
};
