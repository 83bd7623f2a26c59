// SPDX-License-Identifier: MIT
/* Jobs with a part for each of several cores: stages, fences, ends of all kinds, memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "group.h"
#include "load.h"
#include "ring.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define HANGS		"cores=2 mode=timed profile=ideal manual_clock=1 watchdog_ms=5"
#define FAIR		"cores=2 mode=timed profile=ideal manual_clock=1 fair=1"
#define TIMED		"cores=2 mode=timed profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull

/*
 * Opens a client and writes instructions 0 to 3, of 1, 1, 2 and 1 ms, for the FCs of a group.  If
 * the group starts at time 0, part 0 runs from 0 to 1 ms and from 3 to 4 ms, and part 1 from 0 to
 * 2 ms and from 2 to 3 ms.  Instruction 4 takes 1 ms, 5 never ends.
 */
static struct client open_with_program(void)
{
	struct client client = client_open_at_zero();
	uint32_t i;

	for (i = 0; i < 5; i++)
		put_delay(&client, i, i == 2 ? 2 * MS : MS);
	put_jump(&client, 5, 5);
	return client;
}

static struct overtake_result collect(const struct client *client, uint64_t tag, int status)
{
	struct overtake_result result;

	check_equal(job_wait(client, tag, 0, &result), 0);
	check_equal(result.status, status);
	return result;
}

/* Makes a job of one FC of 1 ms on @core. */
static void submit_plain(const struct client *client, uint64_t tag, uint32_t core)
{
	struct job job;

	job_init(&job, client, tag, 4, 1);
	job.submit.core = core;
	check_equal(job_submit(client, &job), 0);
}

static void submit_group(const struct client *client, uint64_t tag)
{
	struct group group;

	group_init(&group, client, tag, 0);
	group_wants_record(&group, client);
	check_equal(job_submit(client, &group.job), 0);
}

static void check_part(const struct overtake_part_record *part, uint64_t start_ns, uint64_t end_ns,
		       uint64_t executed_ns, uint32_t core, uint32_t fcs_done)
{
	check_equal(part->start_ns, start_ns);
	check_equal(part->end_ns, end_ns);
	check_equal(part->executed_ns, executed_ns);
	check_equal(part->core, core);
	check_equal(part->fcs_done, fcs_done);
	check_equal(part->preemptions, 0);
	check_equal(part->pad, 0);
}

static void parts_go_through_stages_together(void)
{
	struct client client = open_with_program();
	struct overtake_result result;
	struct group_record record;

	submit_group(&client, 1);
	submit_plain(&client, 2, 1);	/* passes the held FC */
	check_equal(advance_clock(0, 10 * MS), 0);
	result = collect(&client, 1, 0);
	check_equal(result.start_ns, 0);
	check_equal(result.end_ns, 4 * MS);
	check_equal(result.executed_ns, 5 * MS);
	check_equal(result.fcs_done, 4);
	check_equal(result.core, 1);
	record = group_record_of(&client);
	check_equal(record.head.alone_ns, 4 * MS);
	check_equal(record.head.part_count, 2);
	check_equal(record.head.part_bytes, sizeof(record.parts[0]));
	check_part(&record.parts[0], 0, 4 * MS, 2 * MS, 1, 2);
	check_part(&record.parts[1], 0, 3 * MS, 3 * MS, 2, 2);
	check_equal(collect(&client, 2, 0).start_ns, MS);
	client_close(&client);
}

/* A job may follow a group, and a group may follow a job. */
static void waits_for_a_fence_and_has_one(void)
{
	struct client client = open_with_program();
	uint32_t before = syncobj_create(client.fd), after = syncobj_create(client.fd);
	struct sync_chain first, in_and_out, last;
	struct group group;
	struct job job;

	job_init(&job, &client, 1, 4, 1);
	sync_chain_init(&first, &job);
	sync_chain_out(&first, before, 3);
	check_equal(job_submit(&client, &job), 0);
	group_init(&group, &client, 2, 0);
	sync_chain_init(&in_and_out, &group.job);
	sync_chain_in(&in_and_out, before, 3);
	sync_chain_out(&in_and_out, after, 0);
	group.extension.base.next = group.job.submit.extensions;
	group.job.submit.extensions = (uintptr_t)&group.extension;
	check_equal(job_submit(&client, &group.job), 0);
	job_init(&job, &client, 3, 4, 1);
	sync_chain_init(&last, &job);
	sync_chain_in(&last, after, 0);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 2 * MS), 0);	/* the group arrives */
	check(syncobj_is_signalled(client.fd, before, 3));
	check_equal(advance_clock(0, 5 * MS), 0);
	check(!syncobj_is_signalled(client.fd, after, 0));
	check_equal(advance_clock(0, 7 * MS), 0);	/* the last job arrives */
	check(syncobj_is_signalled(client.fd, after, 0));
	check_equal(advance_clock(0, 9 * MS), 0);
	collect(&client, 1, 0);
	check_equal(collect(&client, 2, 0).end_ns, 6 * MS);
	check_equal(collect(&client, 3, 0).start_ns, 7 * MS);
	client_close(&client);
}

/* The record of a group that never arrived has no core and no time. */
static void fails_with_the_fence_that_it_waits_for(void)
{
	struct client client = open_with_program();
	uint32_t before = syncobj_create(client.fd);
	struct group_record record;
	struct sync_chain out, in;
	struct group group;
	struct job job;

	job_init(&job, &client, 1, 4, 1);
	sync_chain_init(&out, &job);
	sync_chain_out(&out, before, 0);
	check_equal(job_submit(&client, &job), 0);
	group_init(&group, &client, 2, 0);
	group_wants_record(&group, &client);
	sync_chain_init(&in, &group.job);
	sync_chain_in(&in, before, 0);
	in.sync.base.next = (uintptr_t)&group.extension;	/* the fence comes first */
	check_equal(job_submit(&client, &group.job), 0);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(advance_clock(0, 2 * MS), 0);
	collect(&client, 1, -ECANCELED);
	check_equal(collect(&client, 2, -ECANCELED).fcs_done, 0);
	record = group_record_of(&client);
	check_equal(record.head.alone_ns, 0);
	check_equal(record.head.part_count, 2);
	check_part(&record.parts[0], 0, 0, 0, 0, 0);
	check_part(&record.parts[1], 0, 0, 0, 0, 0);
	client_close(&client);
}

/* Times of the cancel and of the end, and the number of FCs that have ended. */
static const struct {
	uint64_t at_ns, end_ns;
	uint32_t fcs_done;
} cancels[] = {
	{ MS / 2, 2 * MS, 2 },		/* both parts run */
	{ MS + MS / 2, 2 * MS, 2 },	/* one waits for the other */
	{ 2 * MS + MS / 2, 3 * MS, 3 },
	{ 3 * MS + MS / 2, 4 * MS, 4 },
};

static void cancelled_by_ioctl(void)
{
	size_t row;

	for (row = 0; row < sizeof(cancels) / sizeof(cancels[0]); row++) {
		struct client client = open_with_program();
		struct overtake_result result;

		submit_group(&client, 1);
		submit_group(&client, 2);
		check_equal(advance_clock(0, cancels[row].at_ns), 0);
		check_equal(job_cancel(&client, 2), 0);	/* it has begun no FCs, or some */
		check_equal(job_cancel(&client, 1), 0);
		check_equal(advance_clock(0, 20 * MS), 0);
		result = collect(&client, 1, -ECANCELED);
		check_equal(result.end_ns, cancels[row].end_ns);
		check_equal(result.fcs_done, cancels[row].fcs_done);
		collect(&client, 2, -ECANCELED);
		check_equal(job_wait(&client, 1, 0, &result), -ENOENT);
		client_close(&client);
	}
}

static void cancelled_by_ring(void)
{
	struct io_uring ring;
	size_t row;

	ring_open_default(&ring);
	for (row = 0; row < sizeof(cancels) / sizeof(cancels[0]); row++) {
		struct client client = open_with_program();
		struct completion completion;
		struct group group;

		group_init(&group, &client, 1, 0);
		group_wants_record(&group, &client);
		ring_submit_job(&ring, &client, &group.job);
		check_equal(advance_clock(0, cancels[row].at_ns), 0);
		ring_cancel_job(&ring, &client, 1, 99);
		completion = ring_reap(&ring);
		check_equal(completion.user_data, 99);
		check_equal(completion.status, 0);
		check_equal(advance_clock(0, 20 * MS), 0);
		completion = ring_reap(&ring);
		check_equal(completion.user_data, 1);
		check_equal(completion.status, -ECANCELED);
		check_equal(group_record_of(&client).parts[0].fcs_done +
			    group_record_of(&client).parts[1].fcs_done, cancels[row].fcs_done);
		check(ring_is_empty(&ring));
		client_close(&client);
	}
	io_uring_queue_exit(&ring);
}

/* Core 1 is reset in the middle of the group, which ends when its FC on core 2 has ended. */
static void a_reset_of_one_core_ends_it(void)
{
	struct client client = open_with_program();
	struct overtake_result result;
	char path[128];

	submit_group(&client, 1);
	submit_plain(&client, 2, 1);
	submit_plain(&client, 3, 2);
	check_equal(advance_clock(0, MS / 2), 0);
	debugfs_path(path, sizeof(path), 0, "reset");
	check_equal(write_file(path, "1"), 0);
	check_equal(advance_clock(0, 10 * MS), 0);
	result = collect(&client, 1, -EIO);
	check_equal(result.fault, OVERTAKE_FAULT_RESET);
	check_equal(result.end_ns, 2 * MS);
	check_equal(collect(&client, 2, 0).start_ns, MS / 2);
	check_equal(collect(&client, 3, 0).start_ns, 2 * MS);
	client_close(&client);
}

/*
 * Part 1 never ends.  A job on core 1 passes the group if the group is NORMAL.  If it is HIGH, the
 * job waits until the watchdog ends the group.
 */
static void a_hang_of_one_part_ends_it(uint32_t priority, uint64_t neighbour_starts_ns)
{
	struct client client = open_with_program();
	struct overtake_result result;
	struct group group;
	uint32_t context;
	char path[128];

	sysfs_path(path, sizeof(path), 0, "core_limit");
	check_equal(write_file(path, "1"), 0);
	check_equal(context_create(client.fd, 255, 0, &context), 0);
	group_init(&group, &client, 1, 0);
	group.job.fcs[2].first_insn = 5;
	group.job.submit.priority = (uint16_t)priority;
	group.job.submit.context_id = context;
	check_equal(job_submit(&client, &group.job), 0);
	submit_plain(&client, 2, 1);
	check_equal(advance_clock(0, 20 * MS), 0);
	client.context = context;
	result = collect(&client, 1, -ETIMEDOUT);
	check_equal(result.fault, OVERTAKE_FAULT_WATCHDOG);
	check_equal(result.fcs_done, 2);
	check_equal(result.end_ns, 5 * MS);
	client.context = 1;
	check_equal(collect(&client, 2, 0).start_ns, neighbour_starts_ns);
	check_equal(write_file(path, "0"), 0);
	client_close(&client);
}

static void a_hang_of_a_normal_one(void)
{
	a_hang_of_one_part_ends_it(10, MS);
}

static void a_hang_of_a_high_one(void)
{
	a_hang_of_one_part_ends_it(255, 5 * MS);
}

/* One FC runs, the others are held: the group ends when this FC ends. */
static void a_deadline_ends_it(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct group group;
	uint32_t i;

	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&client, i, 400 * MS);
	group_init(&group, &client, 1, 0);
	group.stages[2] = 1;
	group.job.submit.deadline_ns = monotonic_ns() + 50 * (int64_t)MS;
	check_equal(job_submit(&client, &group.job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, -ETIME);
	check(result.fcs_done <= 1);
	client_close(&client);
}

/* Waits until a work item has freed the memory, a moment after the end. */
static void wait_for_memory(const struct client *client, uint64_t wanted)
{
	int attempt;

	for (attempt = 0; attempt < 1000; attempt++) {
		if (limit_used(client->fd, OVERTAKE_LIMIT_CLIENT_BYTES) == wanted)
			return;
		usleep(10000);
	}
	check_equal(limit_used(client->fd, OVERTAKE_LIMIT_CLIENT_BYTES), wanted);
}

#define LARGEST_BYTES	(OVERTAKE_MAX_FCS * (sizeof(struct overtake_fc) + sizeof(uint32_t)) + \
			 OVERTAKE_MAX_STAGES * sizeof(uint32_t))

/* The largest group: its memory is charged, and given back however the group ends. */
static void memory_is_charged_and_given_back(void)
{
	struct client client = open_with_program();
	uint64_t before = limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	struct overtake_fc *fcs = calloc(OVERTAKE_MAX_FCS, sizeof(*fcs));
	uint32_t *stages = calloc(OVERTAKE_MAX_FCS, sizeof(*stages));
	struct group group;
	uint32_t i, half = OVERTAKE_MAX_FCS / 2;

	check(fcs && stages);
	put_delay(&client, 0, 10);
	for (i = 0; i < OVERTAKE_MAX_FCS; i++) {
		fcs[i].insn_count = 1;
		stages[i] = i % half / (half / OVERTAKE_MAX_STAGES);
	}
	group_init(&group, &client, 1, 0);
	group.job.submit.fcs = (uintptr_t)fcs;
	group.job.submit.fc_count = OVERTAKE_MAX_FCS;
	group.parts[0].fc_count = group.parts[1].fc_count = half;
	group.extension.stages = (uintptr_t)stages;
	group.extension.stage_count = OVERTAKE_MAX_STAGES;
	for (i = 0; i < 2; i++) {
		check_equal(job_submit(&client, &group.job), 0);
		check(limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES) >= before + LARGEST_BYTES);
		if (i) {
			check_equal(advance_clock(0, 1000 * MS + 5), 0);
			check_equal(job_cancel(&client, 1), 0);
		}
		check_equal(advance_clock(0, (i + 1) * 1000 * MS), 0);
		check_equal(collect(&client, 1, i ? -ECANCELED : 0).fcs_done,
			    i ? 2 : OVERTAKE_MAX_FCS);
		wait_for_memory(&client, before);
	}
	stages[1] = OVERTAKE_MAX_STAGES;	/* refused after all allocations */
	check_equal(job_submit(&client, &group.job), -EINVAL);
	wait_for_memory(&client, before);
	client_close(&client);
}

/* The debugfs file `state` shows which parts run and wait, even if only groups wait. */
static void state_shows_parts(void)
{
	struct client client = open_with_program();
	struct group group;
	uint64_t tag;

	for (tag = 1; tag <= 3; tag++) {
		group_init(&group, &client, tag, 0);
		check_equal(job_submit(&client, &group.job), 0);
	}
	check_equal(advance_clock(0, MS / 2), 0);
	check_state_says("next FC 0 of part 1 of job 2,");
	check_state_says("runs FC 0 of part 1 of job 1,");
	check_equal(advance_clock(0, 2 * MS + MS / 2), 0);
	check_state_says("FC 0 of part 0 of job 3,");
	check_equal(advance_clock(0, 100 * MS), 0);
	for (tag = 1; tag <= 3; tag++)
		collect(&client, tag, 0);
	client_close(&client);
}

const struct test_case group_cases[] = {
	{ "group-stages", MANUAL, parts_go_through_stages_together },
	{ "group-fence-in-and-out", MANUAL, waits_for_a_fence_and_has_one },
	{ "group-fence-fails", MANUAL, fails_with_the_fence_that_it_waits_for },
	{ "group-cancel-ioctl", MANUAL, cancelled_by_ioctl },
	{ "group-cancel-ring", MANUAL, cancelled_by_ring },
	{ "group-reset-of-a-core", MANUAL, a_reset_of_one_core_ends_it },
	{ "group-memory", MANUAL, memory_is_charged_and_given_back },
	{ "group-state", MANUAL, state_shows_parts },
	{ "group-state-fair", FAIR, state_shows_parts },
	{ "group-hang-normal", HANGS, a_hang_of_a_normal_one },
	{ "group-hang-high", HANGS, a_hang_of_a_high_one },
	{ "group-deadline", TIMED, a_deadline_ends_it },
	{ 0 },
};
