// SPDX-License-Identifier: MIT
/*
 * Tasks of service mode whose segments are groups, by ioctl and by ring.  Suites of the library
 * test the order of tasks.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "check.h"
#include "group.h"
#include "load.h"
#include "ring.h"
#include "snapshot.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define TIMED		"cores=2 mode=timed profile=ideal manual_clock=1"
#define TAG		77
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull

/* A group of two parts, a CPU segment, and a job of one FC. */
struct wide_task {
	struct client client;
	uint32_t queue;
	struct group group;
	struct overtake_task_segment segments[3];
	struct overtake_segment_parts parts[3];
	struct overtake_extension_task_parts extension;
	struct drm_overtake_task_submit submit;
	struct overtake_task_event events[2];
	struct overtake_result results[OVERTAKE_MAX_SEGMENTS];
};

/* Data of the only case that runs: too large for a stack. */
static struct wide_task wide;

static void set_job(uint32_t index, uint32_t fc_count)
{
	wide.segments[index] = (struct overtake_task_segment){
		.fcs = wide.group.job.submit.fcs,
		.bindings = wide.group.job.submit.bindings,
		.fc_count = fc_count,
		.binding_count = wide.group.job.submit.binding_count,
	};
}

/* Prepares a valid task. */
static void prepare(uint64_t tag)
{
	group_init(&wide.group, &wide.client, 0, 0);
	wide.group.parts[0].core = OVERTAKE_CORE_ANY;
	wide.group.parts[1].core = OVERTAKE_CORE_ANY;
	set_job(0, GROUP_FCS);
	wide.segments[1] = (struct overtake_task_segment){ .cpu_key = 1, .expected_ns = 1000 };
	set_job(2, 1);
	memset(wide.parts, 0, sizeof(wide.parts));
	wide.parts[0] = (struct overtake_segment_parts){
		.parts = (uintptr_t)wide.group.parts, .stages = (uintptr_t)wide.group.stages,
		.part_count = 2, .stage_count = 3,
	};
	wide.extension = (struct overtake_extension_task_parts){
		.base = { .type = OVERTAKE_EXTENSION_TASK_PARTS },
		.segments = (uintptr_t)wide.parts, .width = 2,
	};
	wide.submit = (struct drm_overtake_task_submit){
		.segments = (uintptr_t)wide.segments, .tag = tag, .deadline_ns = ~0ull,
		.extensions = (uintptr_t)&wide.extension, .context_id = wide.queue,
		.segment_count = 3, .priority = 10,
	};
}

/* Opens a client with FCs of 1, 1, 2 and 1 ms; instruction 5 never ends. */
static void wide_open(void)
{
	struct drm_overtake_context_create create = { .max_priority = 254, .flags = 2 };
	uint32_t i;

	memset(&wide, 0, sizeof(wide));
	wide.client = client_open(0, 254);
	check_equal(device_ioctl(wide.client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	wide.queue = create.context_id;
	for (i = 0; i < 5; i++)
		put_delay(&wide.client, i, i == 2 ? 2 * MS : MS);
	put_jump(&wide.client, 5, 5);
	prepare(TAG);
}

static int submit(void)
{
	return device_ioctl(wide.client.fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &wide.submit);
}

/* Returns the next event, for which it waits until @deadline_ns. */
static struct overtake_task_event *next_event(int64_t deadline_ns)
{
	struct drm_overtake_task_events args = {
		.events = (uintptr_t)wide.events, .results = (uintptr_t)wide.results,
		.deadline_ns = deadline_ns, .context_id = wide.queue, .event_count = 1,
		.result_count = OVERTAKE_MAX_SEGMENTS,
	};

	check_equal(device_ioctl(wide.client.fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &args), 0);
	check_equal(args.event_count, 1);
	return &wide.events[0];
}

static void report_cpu(void)
{
	struct drm_overtake_task_cpu_done done = {
		.tag = TAG, .context_id = wide.queue, .segment = 1,
	};

	check_equal(device_ioctl(wide.client.fd, DRM_IOCTL_OVERTAKE_TASK_CPU_DONE, &done), 0);
}

static void check_ended(const struct overtake_task_event *event, int32_t status)
{
	check_equal(event->type, OVERTAKE_TASK_ENDED);
	check_equal(event->tag, TAG);
	check_equal(event->status, status);
	check_equal(event->result_count, 3);
}

static void check_whole_run(void)
{
	struct overtake_task_event *event = next_event(NEVER);

	check_equal(event->type, OVERTAKE_TASK_RUN_CPU);
	report_cpu();
	event = next_event(NEVER);
	check_ended(event, 0);
	check_equal(wide.results[0].fcs_done, GROUP_FCS);
	check_equal(wide.results[2].fcs_done, 1);
	check_equal(wide.results[0].core, event->core);
	check_equal(wide.results[2].core, event->core);
}

static void a_segment_runs_as_a_group(void)
{
	wide_open();
	check_equal(submit(), 0);
	check_whole_run();
	client_close(&wide.client);
}

static void a_segment_runs_as_a_group_by_ring(void)
{
	struct io_uring ring;

	wide_open();
	ring_open_default(&ring);
	ring_prepare(&ring, wide.client.fd, OVERTAKE_URING_TASK_SUBMIT, &wide.submit,
		     sizeof(wide.submit), TAG);
	check_equal(io_uring_submit(&ring), 1);
	check_equal(ring_reap(&ring).status, 0);
	check_whole_run();
	io_uring_queue_exit(&ring);
	client_close(&wide.client);
}

/*
 * Part 0 runs from 0 to 1 and 3 to 4, part 1 from 0 to 2 and 2 to 3; then the CPU segment, then the
 * job on the first core.  The scheduler chooses when the clock goes past an instant.
 */
static void its_parts_go_through_stages(void)
{
	struct overtake_task_event *event;

	wide_open();
	check_equal(submit(), 0);
	check_equal(advance_clock(0, 4 * MS + 1), 0);
	event = next_event(0);
	check_equal(event->type, OVERTAKE_TASK_RUN_CPU);
	check_equal(event->start_ns, 4 * MS);
	report_cpu();
	check_equal(advance_clock(0, 10 * MS), 0);
	event = next_event(0);
	check_ended(event, 0);
	check_equal(event->core, 1);
	check_equal(event->ended_ns, 5 * MS + 1);
	check_equal(wide.results[0].executed_ns, 5 * MS);
	check_equal(wide.results[0].start_ns, 0);
	check_equal(wide.results[0].end_ns, 4 * MS);
	check_equal(wide.results[2].start_ns, 4 * MS + 1);
	client_close(&wide.client);
}

#define SPOIL(name, statement) static void name(void) { statement; }

SPOIL(pad, wide.extension.pad = 1)
SPOIL(base_pad, wide.extension.base.pad = 1)
SPOIL(twice, wide.extension.base.next = (uintptr_t)&wide.extension)
SPOIL(of_a_job, wide.extension.base.type = OVERTAKE_EXTENSION_PARTS)
SPOIL(type_unknown, wide.extension.base.type = OVERTAKE_EXTENSION_TASK_PARTS + 1)
SPOIL(type_absurd, wide.extension.base.type = ~0u)
SPOIL(next_in_kernel, wide.extension.base.next = 0xffff888000000000ull)
SPOIL(segments_at_null, wide.extension.segments = 0)
SPOIL(segments_in_kernel, wide.extension.segments = 0xffff888000000000ull)
SPOIL(width_0, wide.extension.width = 0)
SPOIL(width_less, wide.extension.width = 1)
SPOIL(width_3, wide.extension.width = 3)
SPOIL(width_65, wide.extension.width = OVERTAKE_MAX_CORES + 1)
SPOIL(width_absurd, wide.extension.width = ~0u)
SPOIL(no_parts, memset(wide.parts, 0, sizeof(wide.parts)))
SPOIL(task_core, wide.submit.core = 1)
SPOIL(parts_of_cpu, wide.parts[1] = wide.parts[0])
SPOIL(parts_without_count, wide.parts[2].parts = (uintptr_t)wide.group.parts)
SPOIL(stages_without_count, wide.parts[2].stages = (uintptr_t)wide.group.stages)
SPOIL(stage_count_alone, wide.parts[1].stage_count = 1)
SPOIL(parts_3, wide.parts[0].part_count = 3)
SPOIL(parts_absurd, wide.parts[0].part_count = ~0u)
SPOIL(parts_at_null, wide.parts[0].parts = 0)
SPOIL(stages_in_kernel, wide.parts[0].stages = 0xffff888000000000ull)
SPOIL(no_stage, wide.parts[0].stage_count = 0)
SPOIL(stages_too_many, wide.parts[0].stage_count = OVERTAKE_MAX_STAGES + 1)
SPOIL(part_core, wide.group.parts[0].core = 1)
SPOIL(part_cores, wide.group.parts[0].core = 1; wide.group.parts[1].core = 2)
SPOIL(part_empty, wide.group.parts[1].fc_count = 0)
SPOIL(sum_less, wide.group.parts[1].fc_count = 1)
SPOIL(stage_falls, wide.group.stages[0] = 2; wide.group.stages[1] = 0)
SPOIL(stage_absurd, wide.group.stages[1] = ~0u)
SPOIL(stage_empty, wide.group.stages[3] = 0)
SPOIL(sum_of_other, wide.parts[2] = wide.parts[0])

static const struct {
	const char *what;
	int error;
	void (*spoil)(void);
} rows[] = {
	{ "padding", EINVAL, pad },
	{ "padding of the header", EINVAL, base_pad },
	{ "the extension twice", EINVAL, twice },
	{ "the extension of jobs", EINVAL, of_a_job },
	{ "an unknown type", EINVAL, type_unknown },
	{ "the greatest type", EINVAL, type_absurd },
	{ "a next extension in the kernel", EFAULT, next_in_kernel },
	{ "segments at address 0", EFAULT, segments_at_null },
	{ "segments at a kernel address", EFAULT, segments_in_kernel },
	{ "no width", EINVAL, width_0 },
	{ "a width below the parts", EINVAL, width_less },
	{ "more than the device has", EINVAL, width_3 },
	{ "65 cores", EINVAL, width_65 },
	{ "as many cores as the field holds", EINVAL, width_absurd },
	{ "no segment with parts", EINVAL, no_parts },
	{ "a core of the task", EINVAL, task_core },
	{ "parts of a CPU segment", EINVAL, parts_of_cpu },
	{ "parts without their number", EINVAL, parts_without_count },
	{ "stages without parts", EINVAL, stages_without_count },
	{ "a number of stages alone", EINVAL, stage_count_alone },
	{ "more parts than cores", EINVAL, parts_3 },
	{ "as many parts as the field holds", EINVAL, parts_absurd },
	{ "parts at address 0", EFAULT, parts_at_null },
	{ "stages at a kernel address", EFAULT, stages_in_kernel },
	{ "no stage", EINVAL, no_stage },
	{ "a stage too many", E2BIG, stages_too_many },
	{ "a core of one part", EINVAL, part_core },
	{ "cores of all parts", EINVAL, part_cores },
	{ "a part without FCs", EINVAL, part_empty },
	{ "parts with fewer FCs than the segment", EINVAL, sum_less },
	{ "a stage less than the one before", EINVAL, stage_falls },
	{ "the greatest stage", EINVAL, stage_absurd },
	{ "a stage without FCs", EINVAL, stage_empty },
	{ "parts of a segment with fewer FCs", EINVAL, sum_of_other },
};

static void what_is_malformed_is_refused(void)
{
	struct io_uring ring;
	uint32_t i;

	wide_open();
	ring_open_default(&ring);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		prepare(TAG);
		rows[i].spoil();
		check_message(submit() == -rows[i].error, "%s", rows[i].what);
		ring_prepare(&ring, wide.client.fd, OVERTAKE_URING_TASK_SUBMIT, &wide.submit,
			     sizeof(wide.submit), TAG);
		check_equal(io_uring_submit(&ring), 1);
		check_message(ring_reap(&ring).status == -rows[i].error, "%s, by ring",
			      rows[i].what);
	}
	prepare(TAG);
	check_equal(submit(), 0);
	check_whole_run();
	io_uring_queue_exit(&ring);
	client_close(&wide.client);
}

/* A model may be chained before or behind the extension of a group. */
static void a_model_goes_with_it(void)
{
	struct overtake_extension_model model = {
		.base = { .type = OVERTAKE_EXTENSION_MODEL }, .model = 1,
	};

	wide_open();
	wide.extension.base.next = (uintptr_t)&model;
	check_equal(submit(), 0);
	check_whole_run();
	prepare(TAG);
	model.base.next = (uintptr_t)&wide.extension;
	wide.submit.extensions = (uintptr_t)&model;
	check_equal(submit(), 0);
	check_whole_run();
	client_close(&wide.client);
}

/* Part 1 never ends: its task is cancelled, and then a task behind it gets the cores. */
static void a_cancel_ends_all_parts(void)
{
	struct drm_overtake_task_cancel cancel = { .tag = TAG };
	uint32_t i;

	wide_open();
	for (i = 0; i < 20; i++) {
		prepare(TAG);
		wide.group.job.fcs[2].first_insn = 5;
		cancel.context_id = wide.queue;
		check_equal(submit(), 0);
		check_equal(device_ioctl(wide.client.fd, DRM_IOCTL_OVERTAKE_TASK_CANCEL, &cancel),
			    0);
		check_ended(next_event(NEVER), -ECANCELED);
	}
	prepare(TAG);
	check_equal(submit(), 0);
	check_whole_run();
	client_close(&wide.client);
}

/* A process goes while all parts run, wait for stages, or wait for slots. */
static void a_process_that_goes_leaves_the_cores(void)
{
	struct client other;
	struct overtake_result result;
	struct job job;
	uint32_t i;

	other = client_open(0, 254);
	put_delay(&other, 0, 1000);
	for (i = 0; i < 20; i++) {
		wide_open();
		wide.group.job.fcs[0].first_insn = 5;
		wide.group.job.fcs[2].first_insn = i % 2 ? 5 : 2;
		check_equal(submit(), 0);
		prepare(TAG + 1);
		check_equal(submit(), 0);
		client_close(&wide.client);
		job_init(&job, &other, i, 0, 1);
		job.submit.core = 1 + i % 2;
		check_equal(job_submit(&other, &job), 0);
		check_equal(job_wait(&other, i, NEVER, &result), 0);
		check_equal(result.status, 0);
	}
	client_close(&other);
}

const struct test_case task_group_cases[] = {
	{ "task-groups-a-segment-runs-as-a-group", FUNCTIONAL, a_segment_runs_as_a_group },
	{ "task-groups-a-segment-runs-as-a-group-by-ring", FUNCTIONAL,
	  a_segment_runs_as_a_group_by_ring },
	{ "task-groups-parts-go-through-stages", TIMED, its_parts_go_through_stages },
	{ "task-groups-what-is-malformed-is-refused", FUNCTIONAL, what_is_malformed_is_refused },
	{ "task-groups-a-model-goes-with-it", FUNCTIONAL, a_model_goes_with_it },
	{ "task-groups-a-cancel-ends-all-parts", FUNCTIONAL, a_cancel_ends_all_parts },
	{ "task-groups-a-process-that-goes-leaves-the-cores", FUNCTIONAL,
	  a_process_that_goes_leaves_the_cores },
	{ 0 },
};
