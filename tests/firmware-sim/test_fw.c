// SPDX-License-Identifier: MIT
/* The firmware's scheduling, driven by a host that steps time by hand. */
#include "cmocka_all.h"
#include "fw_host.h"

static void high_waits_for_at_most_limit_normal_fcs(void **state)
{
	static const struct {
		u32 limit;
		const char *trace;
		u32 preemptions;
	} rows[] = {
		{ 0, "N0@0 N1@100 N2@200 N3@300 N4@400 H0@500", 0 },
		{ 1, "N0@0 H0@100 N1@110 N2@210 N3@310 N4@410", 1 },
		{ 2, "N0@0 N1@100 H0@200 N2@210 N3@310 N4@410", 1 },
		{ 4, "N0@0 N1@100 N2@200 N3@300 H0@400 N4@410", 1 },
		{ 4000000000u, "N0@0 N1@100 N2@200 N3@300 N4@400 H0@500", 0 },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
		struct mock_job *normal = job_new(mock, 'N', 1, 10, 5, 100);
		struct mock_job *high = job_new(mock, 'H', 1, 255, 1, 10);

		set_limit(mock, 1, rows[row].limit, 0);
		submit(mock, normal, 0);
		submit(mock, high, 40);
		run_until(mock, 10000);
		expect_trace(mock, rows[row].trace);
		assert_int_equal(normal->fw.preemptions, rows[row].preemptions);
		assert_int_equal(mock->preempted, rows[row].preemptions);
		assert_int_equal(normal->fw.executed_ns, 500);
		assert_true(normal->ended && high->ended);
		assert_int_equal(mock->states[0].unfinished, 0);
	}
}

/* Six HIGH FCs and four NORMAL FCs wait from the start. */
static void a_normal_floor_bounds_how_many_overtake(void **state)
{
	static const struct {
		u32 limit;
		u32 floor;
		const char *trace;
	} rows[] = {
		{ 1, 0, "H0@0 H1@1 H2@2 H3@3 H4@4 H5@5 N0@6 N1@16 N2@26 N3@36" },
		{ 1, 1, "H0@0 N0@1 H1@11 N1@12 H2@22 N2@23 H3@33 N3@34 H4@44 H5@45" },
		{ 1, 2, "H0@0 H1@1 N0@2 H2@12 H3@13 N1@14 H4@24 H5@25 N2@26 N3@36" },
		/* A single NORMAL FC runs, not a batch. */
		{ 4, 4, "H0@0 H1@1 H2@2 H3@3 N0@4 H4@14 H5@15 N1@16 N2@26 N3@36" },
		{ 1, 6, "H0@0 H1@1 H2@2 H3@3 H4@4 H5@5 N0@6 N1@16 N2@26 N3@36" },
		/* With core limit 0 the order is that of arrival, and no FC overtakes. */
		{ 0, 1, "H0@0 H1@1 H2@2 H3@3 H4@4 H5@5 N0@6 N1@16 N2@26 N3@36" },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
		struct mock_job *high = job_new(mock, 'H', 1, 255, 6, 1);
		struct mock_job *normal = job_new(mock, 'N', 1, 10, 4, 10);

		set_limit(mock, 1, rows[row].limit, 0);
		set_normal_floor(mock, 1, rows[row].floor, 0);
		submit(mock, high, 0);
		submit(mock, normal, 0);
		run_until(mock, 1000);
		expect_trace(mock, rows[row].trace);
	}
}

/* HIGH FCs that ran before a NORMAL FC arrived do not count for its floor. */
static void a_normal_floor_counts_from_arrival(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *high = job_new(mock, 'H', 1, 255, 8, 10);
	struct mock_job *normal = job_new(mock, 'N', 1, 10, 1, 10);

	set_limit(mock, 1, 1, 0);
	set_normal_floor(mock, 1, 2, 0);
	submit(mock, high, 0);
	submit(mock, normal, 35);
	run_until(mock, 1000);
	expect_trace(mock, "H0@0 H1@10 H2@20 H3@30 H4@40 H5@50 N0@60 H6@70 H7@80");
}

static void rings_behave_as_if_unbounded(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *first = job_new(mock, 'A', 1, 0, 150, 10);
	struct mock_job *second = job_new(mock, 'B', 1, 0, 100, 10);
	struct mock_job *high = job_new(mock, 'H', 1, 255, 100, 1);
	u32 index;

	set_limit(mock, 1, 200, 0);	/* one batch is longer than a ring and spans two jobs */
	submit(mock, first, 0);
	submit(mock, second, 0);
	submit(mock, high, 5);
	run_until(mock, 1000000);
	assert_int_equal(mock->trace_length, 350);
	for (index = 0; index < 200; index++)
		assert_int_equal(mock->trace[index].ring, OVT_RING_NORMAL);
	for (; index < 300; index++)
		assert_int_equal(mock->trace[index].ring, OVT_RING_HIGH);
	for (; index < 350; index++)
		assert_int_equal(mock->trace[index].job, 'B');
	assert_int_equal(second->fw.preemptions, 1);
}

static void cancel_leaves_batch_unfilled(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *first = job_new(mock, 'A', 1, 0, 3, 100);
	struct mock_job *second = job_new(mock, 'B', 1, 0, 2, 100);
	struct mock_job *high = job_new(mock, 'H', 1, 255, 1, 10);

	set_limit(mock, 1, 4, 0);
	submit(mock, first, 0);
	submit(mock, second, 0);
	submit(mock, high, 10);
	ovt_fw_cancel(&mock->fw, &first->fw, 50);
	run_until(mock, 10000);
	/* The batch A0 A1 A2 B0 shrinks to A0 B0; B1 does not move up into it. */
	expect_trace(mock, "A0@0 B0@100 H0@200 B1@210");
	assert_int_equal(first->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(first->fw.end_ns, 100);
	assert_int_equal(first->fw.done, 1);
	assert_int_equal(mock->states[0].unfinished, 0);
}

static void waiting_job_ends_at_its_cancel(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *first = job_new(mock, 'A', 1, 0, 1, 100);
	struct mock_job *second = job_new(mock, 'B', 1, 0, 2, 100);

	submit(mock, first, 0);
	submit(mock, second, 0);
	ovt_fw_cancel(&mock->fw, &second->fw, 30);
	ovt_fw_cancel(&mock->fw, &first->fw, 500);
	run_until(mock, 10000);
	expect_trace(mock, "A0@0");
	assert_int_equal(second->fw.end_ns, 30);
	assert_int_equal(second->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(first->fw.status, OVT_JOB_OK);
}

static void core_any_goes_where_fewest_fcs_are_unfinished(void **state)
{
	struct mock *mock = mock_new(state, 3, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[5];
	static const u32 fc_counts[5] = { 3, 2, 2, 1, 1 };
	static const u32 cores[5] = { 1, 2, 3, 2, 3 };
	u32 index;

	for (index = 0; index < 5; index++) {
		jobs[index] = job_new(mock, (char)('A' + index), 0, 0, fc_counts[index], 100);
		submit(mock, jobs[index], 0);
	}
	run_until(mock, 10000);
	for (index = 0; index < 5; index++)
		assert_int_equal(jobs[index]->fw.placed_core, cores[index]);
}

/* Two jobs of 2^31 FCs are 2^32 FCs on core 1, more than the one FC on core 2. */
static void unfinished_fcs_are_counted_beyond_2_to_the_32(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[4];
	static const u32 asked[4] = { 1, 1, 2, 0 };
	u32 index;

	for (index = 0; index < 4; index++) {
		jobs[index] = job_new(mock, (char)('A' + index), asked[index], 0, 100, 100);
		jobs[index]->fw.fc_count = index < 2 ? 1u << 31 : 1;
		submit(mock, jobs[index], 0);
	}
	drain(mock, 0);
	assert_int_equal(jobs[3]->fw.placed_core, 2);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 1ull << 32);
	cancel(mock, jobs[0], 0);
	cancel(mock, jobs[1], 0);
	run_until(mock, 1000);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 0);
}

static void changed_limit_waits_for_the_batch(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *normal = job_new(mock, 'N', 1, 0, 5, 100);
	struct mock_job *high = job_new(mock, 'H', 1, 255, 1, 10);

	set_limit(mock, 1, 3, 0);
	submit(mock, normal, 0);
	set_limit(mock, 1, 1, 20);
	submit(mock, high, 30);
	run_until(mock, 10000);
	expect_trace(mock, "N0@0 N1@100 N2@200 H0@300 N3@310 N4@410");
	assert_int_equal(ovt_core_read(&mock->cores[0], OVT_REG_LIMIT_ACTIVE), 1);
}

/*
 * A limit of at least the number of waiting FCs commits all of them and no FC that comes later,
 * also if cancelled jobs left holes.  A limit of one less commits one FC less.
 */
static void limit_that_covers_all_commits_what_is_there(void **state)
{
	static const u32 limits[] = { 4, 5, 6, 4000000000u };
	size_t row;

	for (row = 0; row < COUNT(limits); row++) {
		struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
		struct mock_job *blocker = job_new(mock, 'X', 1, 255, 1, 100);
		struct mock_job *first = job_new(mock, 'A', 1, 0, 3, 100);
		struct mock_job *hole = job_new(mock, 'C', 1, 0, 70, 100);
		struct mock_job *second = job_new(mock, 'B', 1, 0, 2, 100);
		struct mock_job *last = job_new(mock, 'D', 1, 0, 80, 100);
		struct mock_job *late = job_new(mock, 'L', 1, 0, 1, 100);
		struct mock_job *high = job_new(mock, 'H', 1, 255, 1, 10);

		set_limit(mock, 1, limits[row], 0);
		submit(mock, blocker, 0);
		submit(mock, first, 1);
		submit(mock, hole, 2);
		submit(mock, second, 3);
		submit(mock, last, 4);
		cancel(mock, hole, 5);
		cancel(mock, last, 6);
		submit(mock, late, 150);
		submit(mock, high, 160);
		run_until(mock, 10000);
		expect_trace(mock, limits[row] == 4 ?
			     "X0@0 A0@100 A1@200 A2@300 B0@400 H0@500 B1@510 L0@610" :
			     "X0@0 A0@100 A1@200 A2@300 B0@400 B1@500 H0@600 L0@610");
		assert_int_equal(mock->states[0].waiting[OVT_RING_NORMAL], 0);
		assert_int_equal(mock->states[0].waiting[OVT_RING_HIGH], 0);
		assert_int_equal(mock->states[0].unfinished, 0);
	}
}

/* While held, FCs end and jobs arrive or are cancelled; the next choice waits for the release. */
static void held_cores_start_nothing(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 16);
	struct mock_job *first = job_new(mock, 'A', 1, 0, 3, 100);
	struct mock_job *second = job_new(mock, 'B', 2, 0, 1, 100);
	struct mock_job *third = job_new(mock, 'C', 2, 0, 1, 100);
	struct mock_job *high = job_new(mock, 'H', 1, 255, 1, 10);

	set_limit(mock, 1, 1, 0);
	submit(mock, first, 0);
	hold(mock, 150);
	submit(mock, high, 160);
	submit(mock, second, 170);
	submit(mock, third, 180);
	cancel(mock, second, 190);
	run_until(mock, 1000);
	expect_trace(mock, "A0@0 A1@100");
	assert_int_equal(first->fw.done, 2);
	assert_int_equal(second->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(second->fw.end_ns, 190);
	assert_int_equal(ovt_fw_next(&mock->fw), OVT_TIME_NEVER);
	release(mock, 5000);
	run_until(mock, 10000);
	expect_trace(mock, "A0@0 A1@100 H0@5000 C0@5000 A2@5010");
	assert_int_equal(first->fw.preemptions, 1);
	assert_int_equal(first->fw.executed_ns, 300);
	assert_true(first->ended && third->ended && high->ended);
}

static void endless_program_ends_only_its_own_job(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *endless = job_new(mock, 'L', 1, 0, 3, 100);
	struct mock_job *good = job_new(mock, 'G', 1, 0, 2, 100);

	memset(&endless->program[1], 0, sizeof(endless->program[1]));
	endless->program[1].opcode = OVERTAKE_OP_JUMP;
	endless->program[1].jump_target = 1;
	submit(mock, endless, 0);
	submit(mock, good, 10);
	run_until(mock, 10000000);
	expect_trace(mock, "L0@0 L1@100 G0@1000100 G1@1000200");
	assert_int_equal(endless->fw.status, OVT_JOB_HUNG);
	assert_int_equal(endless->fw.fault, OVERTAKE_FAULT_WATCHDOG);
	assert_int_equal(endless->fw.fault_insn, 1);
	assert_int_equal(good->fw.status, OVT_JOB_OK);
	assert_int_equal(mock->hung, 1);
}

static void bad_instruction_faults_its_job(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_BOTH, 16);
	struct mock_job *bad = job_new(mock, 'B', 1, 255, 3, 100);
	struct mock_job *good = job_new(mock, 'G', 1, 255, 1, 100);

	bad->program[1].opcode = 0xffff;
	submit(mock, bad, 0);
	submit(mock, good, 10);
	run_until(mock, 10000);
	expect_trace(mock, "B0@0 B1@100 G0@101");
	assert_int_equal(bad->fw.status, OVT_JOB_FAULTED);
	assert_int_equal(bad->fw.fault, OVERTAKE_FAULT_OPCODE);
	assert_int_equal(bad->fw.fault_insn, 1);
	assert_int_equal(mock->faults, 1);
	assert_int_equal(good->fw.status, OVT_JOB_OK);
}

static void the_end_of_an_fc_raises_its_interrupt(void **state)
{
	static const struct {
		u32 opcode;
		u64 irq;
	} rows[] = {
		{ OVERTAKE_OP_DELAY, OVT_IRQ_DONE },
		{ 0xffff, OVT_IRQ_FAULT },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
		struct mock_job *job = job_new(mock, 'A', 1, 0, 2, 100);

		job->program[0].opcode = (u16)rows[row].opcode;
		submit(mock, job, 0);
		drain(mock, 0);
		assert_int_equal(ovt_core_read(&mock->cores[0], OVT_REG_IRQ_STATUS), 0);
		run_until(mock, 150);
		assert_int_equal(ovt_core_read(&mock->cores[0], OVT_REG_IRQ_STATUS), rows[row].irq);
		/* The interrupt is acknowledged; a second FC, if there is one, raises it again. */
		ovt_core_write(&mock->cores[0], OVT_REG_IRQ_STATUS, rows[row].irq);
		assert_int_equal(ovt_core_read(&mock->cores[0], OVT_REG_IRQ_STATUS), 0);
		run_until(mock, 1000);
		assert_int_equal(ovt_core_read(&mock->cores[0], OVT_REG_IRQ_STATUS),
				 rows[row].irq & OVT_IRQ_DONE);
	}
}

static void fc_outside_the_program_faults(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 16);
	struct mock_job *job = job_new(mock, 'A', 1, 0, 1, 100);

	job->fcs[0] = (struct ovt_fc){ 0xffffffffu, 0xffffffffu };
	submit(mock, job, 0);
	run_until(mock, 1000);
	assert_int_equal(job->fw.fault, OVERTAKE_FAULT_PROGRAM);
}

static void killed_context_ends_waiting_and_running_jobs(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 16);
	struct ovt_fw_context other;
	struct mock_job *jobs[20];
	struct mock_job *spared;
	u32 index;

	ovt_fw_context_init(&other);
	for (index = 0; index < 20; index++) {
		jobs[index] = job_new(mock, 'A', 1 + index % 2, index % 3 ? 0 : 255, 2, 100);
		submit(mock, jobs[index], 0);
	}
	spared = job_new(mock, 'S', 1, 0, 2, 50);
	spared->fw.context = &other;
	submit(mock, spared, 0);
	kill_context(mock, &mock->context, 130);
	run_until(mock, 100000);
	assert_int_equal(mock->killed, 1);
	for (index = 0; index < 20; index++) {
		assert_true(jobs[index]->ended);
		assert_int_equal(jobs[index]->fw.end_ns <= 130, 1);
	}
	assert_int_equal(spared->fw.status, OVT_JOB_OK);
	assert_int_equal(spared->fw.start_ns, 130);
	assert_int_equal(mock->states[0].unfinished + mock->states[1].unfinished, 0);
}

static void reset_spares_other_jobs_of_the_core(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *guilty = job_new(mock, 'A', 1, 0, 3, 100);
	struct mock_job *other = job_new(mock, 'B', 1, 0, 2, 100);

	submit(mock, guilty, 0);
	submit(mock, other, 0);
	reset(mock, 1, 150);
	run_until(mock, 100000);
	expect_trace(mock, "A0@0 A1@100 B0@150 B1@250");
	assert_int_equal(guilty->fw.status, OVT_JOB_RESET);
	assert_int_equal(other->fw.status, OVT_JOB_OK);
	assert_int_equal(mock->states[0].resets, 1);
}

/* The start of FCs must not depend on how late or how often the host calls. */
static void timeline_does_not_depend_on_the_host(void **state)
{
	static const u64 steps[] = { 1, 7, 50, 1000, 100000 };
	static struct started reference[MAX_TRACE];
	u32 reference_length = 0;
	size_t step;

	for (step = 0; step < COUNT(steps); step++) {
		u32 event_count = step % 2 ? 16 : 64;
		struct mock *mock = mock_new(state, 3, step % 2 ? OVT_MODE_BOTH : OVT_MODE_TIMED,
					     event_count);
		struct mock_job *jobs[60];
		u64 random = 12345;
		u64 now = 0;
		u32 index;

		for (index = 1; index <= 3; index++)
			set_limit(mock, index, index, 0);
		for (index = 0; index < 60; index++) {
			u64 at;

			random = random * 6364136223846793005ull + 1442695040888963407ull;
			at = index * 20;
			jobs[index] = job_new(mock, (char)('A' + index % 26), (random >> 33) % 4,
					      (random >> 40) % 4 ? 0 : 255,
					      1 + (random >> 45) % 5, 1 + (random >> 50) % 60);
			while (now + steps[step] <= at) {
				now += steps[step];
				run_until(mock, now);
			}
			submit(mock, jobs[index], at);
			if ((random >> 36) % 5 == 0)
				ovt_fw_cancel(&mock->fw, &jobs[index]->fw, at);
		}
		run_until(mock, 1000000);
		if (!step) {
			memcpy(reference, mock->trace, sizeof(reference));
			reference_length = mock->trace_length;
		}
		assert_int_equal(mock->trace_length, reference_length);
		assert_memory_equal(mock->trace, reference,
				    reference_length * sizeof(reference[0]));
		for (index = 0; index < 60; index++)
			assert_true(jobs[index]->ended);
	}
	assert_true(reference_length > 60);
}

static void reservation_is_bounded_and_given_back(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *job = job_new(mock, 'A', 1, 0, 1, 100);

	assert_true(ovt_fw_reserve(&mock->fw, MAX_COMMANDS));
	assert_false(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_unreserve(&mock->fw, MAX_COMMANDS - 1);
	ovt_fw_submit(&mock->fw, &job->fw, 0);
	run_until(mock, 1000);
	assert_true(ovt_fw_reserve(&mock->fw, MAX_COMMANDS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(high_waits_for_at_most_limit_normal_fcs),
		CASE(a_normal_floor_bounds_how_many_overtake),
		CASE(a_normal_floor_counts_from_arrival),
		CASE(rings_behave_as_if_unbounded),
		CASE(cancel_leaves_batch_unfilled),
		CASE(waiting_job_ends_at_its_cancel),
		CASE(core_any_goes_where_fewest_fcs_are_unfinished),
		CASE(unfinished_fcs_are_counted_beyond_2_to_the_32),
		CASE(changed_limit_waits_for_the_batch),
		CASE(limit_that_covers_all_commits_what_is_there),
		CASE(held_cores_start_nothing),
		CASE(endless_program_ends_only_its_own_job),
		CASE(bad_instruction_faults_its_job),
		CASE(the_end_of_an_fc_raises_its_interrupt),
		CASE(fc_outside_the_program_faults),
		CASE(killed_context_ends_waiting_and_running_jobs),
		CASE(reset_spares_other_jobs_of_the_core),
		CASE(timeline_does_not_depend_on_the_host),
		CASE(reservation_is_bounded_and_given_back),
	};

	return cmocka_run_group_tests_name("fw", tests, NULL, NULL);
}
