// SPDX-License-Identifier: MIT
/*
 * The firmware call by call: the steps of an instant, commands of a host during an instant, a full
 * event queue, and FCs that are stopped at awkward moments.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "fw_host.h"

/* N0 ends at 100; then the host submits H at the same instant. */
static void prepared_instants_leave_the_choice_to_later_commands(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *normal = submitted(mock, 'N', 1, 0, 3, 100, 0);
	struct mock_job *high;

	set_limit(mock, 1, 1, 0);
	drain(mock, 0);
	execute(mock, 1, 0);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 100), OVT_ADVANCE_DONE);
	take_events(mock);
	assert_int_equal(normal->fw.done, 1);
	assert_int_equal(mock->trace_length, 1);
	high = submitted(mock, 'H', 1, 255, 1, 10, 100);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 100), OVT_ADVANCE_DONE);
	take_events(mock);
	assert_int_equal(high->fw.state, OVT_JOB_QUEUED);
	assert_int_equal(mock->trace_length, 1);
	run_until(mock, 1000);
	expect_trace(mock, "N0@0 H0@100 N1@110 N2@210");
}

static void prepared_instants_wait_for_what_cores_execute(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_job *first = submitted(mock, 'A', 1, 0, 1, 100, 10);
	struct mock_job *second;

	assert_int_equal(ovt_fw_prepare(&mock->fw, 0), OVT_ADVANCE_DONE);
	assert_int_equal(first->fw.state, OVT_JOB_NEW);
	drain(mock, 10);
	second = submitted(mock, 'B', 2, 0, 1, 100, 40);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 40), OVT_ADVANCE_DONE);
	assert_int_equal(second->fw.state, OVT_JOB_NEW);	/* A might end before 40 */
	assert_int_equal(mock->fw.now_ns, 10);
	execute(mock, 1, 40);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 40), OVT_ADVANCE_DONE);
	assert_int_equal(second->fw.state, OVT_JOB_QUEUED);
	assert_int_equal(mock->fw.now_ns, 40);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 20), OVT_ADVANCE_DONE);
	assert_int_equal(mock->fw.now_ns, 40);
	run_until(mock, 1000);
	expect_trace(mock, "A0@10 B0@40");
}

static void the_next_instant_is_the_earliest_that_can_be_processed(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_job *first, *second;

	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);
	first = submitted(mock, 'A', 1, 0, 1, 100, 10);
	assert_int_equal(ovt_fw_next(&mock->fw), 10);
	second = submitted(mock, 'B', 2, 0, 1, 50, 30);
	drain(mock, 10);
	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);	/* A executes */
	execute(mock, 1, 10);
	assert_int_equal(ovt_fw_next(&mock->fw), 30);
	drain(mock, 30);
	execute(mock, 2, 30);
	assert_int_equal(ovt_fw_next(&mock->fw), 80);
	drain(mock, 80);
	assert_int_equal(ovt_fw_next(&mock->fw), 110);
	drain(mock, 110);
	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);
	assert_true(first->ended && second->ended);
}

static void unfinished_fcs_are_those_running_committed_and_in_a_ring(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_job *normal;

	set_limit(mock, 1, 2, 0);
	normal = submitted(mock, 'N', 1, 0, 100, 10, 0);
	submitted(mock, 'H', 1, 255, 3, 10, 0);
	submitted(mock, 'O', 2, 0, 2, 10, 0);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 0);	/* not arrived */
	drain(mock, 0);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 103);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 2), 2);
	run_until(mock, 11);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 102);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 2), 1);
	cancel(mock, normal, 15);
	run_until(mock, 16);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 2);
	run_until(mock, 1000);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 0);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 2), 0);
	assert_int_equal(mock->cancels, 1);
}

static void executed_without_a_running_fc_or_said_twice_changes_nothing(void **state)
{
	static const enum ovt_mode modes[] = { OVT_MODE_TIMED, OVT_MODE_FUNCTIONAL, OVT_MODE_BOTH };
	size_t index;

	for (index = 0; index < COUNT(modes); index++) {
		struct mock *mock = mock_new(state, 1, modes[index], 64);
		struct mock *before = malloc(sizeof(*before));
		struct mock_job *job;

		memcpy(before, mock, sizeof(*mock));
		ovt_fw_executed(&mock->fw, 1, 5);
		assert_memory_equal(before, mock, sizeof(*mock));
		job = submitted(mock, 'A', 1, 0, 1, 100, 10);
		drain(mock, 10);
		while (ovt_fw_runnable(&mock->fw, 1))
			execute(mock, 1, 30);
		memcpy(before, mock, sizeof(*mock));
		ovt_fw_executed(&mock->fw, 1, 700);
		assert_memory_equal(before, mock, sizeof(*mock));
		drain(mock, 1000);
		assert_int_equal(job->fw.end_ns, modes[index] == OVT_MODE_FUNCTIONAL ? 30 : 110);
		free(before);
	}
}

static void functional_fcs_end_when_reported_and_never_in_the_past(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *early = submitted(mock, 'A', 1, 0, 1, 100, 10);
	struct mock_job *late = submitted(mock, 'B', 2, 0, 1, 100, 10);
	struct mock_job *third = submitted(mock, 'C', 1, 0, 1, 100, 60);

	drain(mock, 60);		/* does not wait for A and B */
	assert_int_equal(third->fw.state, OVT_JOB_QUEUED);
	execute(mock, 1, 40);		/* the host read its clock before it got the lock */
	drain(mock, 60);
	assert_int_equal(early->fw.end_ns, 60);
	assert_int_equal(third->fw.start_ns, 60);
	execute(mock, 2, 75);
	drain(mock, 80);
	assert_int_equal(late->fw.end_ns, 75);
	execute(mock, 1, 90);
	drain(mock, 90);
	assert_int_equal(third->fw.end_ns, 90);
}

/* Fills 13 of 16 events: fewer are free than one action may need. */
static void fill_events(struct mock *mock, struct mock_job **jobs, u64 at)
{
	u32 index;

	for (index = 0; index < 13; index++)
		jobs[index] = submitted(mock, (char)('a' + index), 1, 0, 1, 10, at);
}

static void expect_ended(struct mock_job **jobs, u32 count)
{
	u32 index;

	for (index = 0; index < count; index++)
		assert_true(jobs[index]->ended);
}

static void a_full_event_queue_holds_up_commands(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[14];

	fill_events(mock, jobs, 5);
	jobs[13] = submitted(mock, 'n', 1, 255, 1, 10, 5);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 5), OVT_ADVANCE_EVENTS);
	assert_int_equal(jobs[12]->fw.state, OVT_JOB_QUEUED);
	assert_int_equal(jobs[13]->fw.state, OVT_JOB_NEW);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 6), OVT_ADVANCE_EVENTS);
	assert_int_equal(ovt_fw_advance(&mock->fw, 5), OVT_ADVANCE_EVENTS);
	assert_int_equal(jobs[13]->fw.state, OVT_JOB_NEW);
	take_events(mock);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 5), OVT_ADVANCE_DONE);
	assert_int_equal(jobs[13]->fw.state, OVT_JOB_QUEUED);
	run_until(mock, 1000);
	assert_int_equal(mock->trace_length, 14);
	assert_int_equal(mock->trace[1].start, 15);
	expect_ended(jobs, 14);
}

static void a_full_event_queue_holds_up_choices(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[13];

	fill_events(mock, jobs, 5);
	assert_int_equal(ovt_fw_advance(&mock->fw, 9), OVT_ADVANCE_EVENTS);
	assert_int_equal(jobs[0]->fw.started, 0);
	take_events(mock);
	assert_int_equal(ovt_fw_advance(&mock->fw, 9), OVT_ADVANCE_DONE);
	assert_int_equal(jobs[0]->fw.started, 1);
	assert_int_equal(jobs[0]->fw.start_ns, 5);
	run_until(mock, 1000);
	expect_ended(jobs, 13);
}

/* The end of y leaves room for 2 events, so that a starts only when the host has taken some. */
static void a_choice_that_an_end_leaves_no_room_for_is_made_later(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[13];
	u32 index;

	jobs[12] = submitted(mock, 'y', 1, 0, 1, 100, 0);
	drain(mock, 0);
	execute(mock, 1, 0);
	for (index = 0; index < 12; index++)
		jobs[index] = submitted(mock, (char)('a' + index), 1, 0, 1, 10, 50);
	assert_int_equal(ovt_fw_advance(&mock->fw, 50), OVT_ADVANCE_DONE);
	assert_int_equal(ovt_fw_advance(&mock->fw, 100), OVT_ADVANCE_EVENTS);
	assert_int_equal(jobs[12]->fw.end_ns, 100);
	assert_int_equal(jobs[0]->fw.started, 0);
	take_events(mock);
	assert_int_equal(ovt_fw_advance(&mock->fw, 100), OVT_ADVANCE_DONE);
	assert_int_equal(jobs[0]->fw.start_ns, 100);
	run_until(mock, 1000);
	expect_ended(jobs, 13);
}

static void a_full_event_queue_holds_up_ends(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[15];

	jobs[13] = submitted(mock, 'y', 1, 0, 1, 100, 0);
	jobs[14] = submitted(mock, 'z', 2, 0, 1, 100, 0);
	drain(mock, 0);
	execute(mock, 1, 0);
	execute(mock, 2, 0);
	fill_events(mock, jobs, 50);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 100), OVT_ADVANCE_EVENTS);
	assert_int_equal(ovt_fw_advance(&mock->fw, 100), OVT_ADVANCE_EVENTS);
	assert_int_equal(jobs[13]->fw.state, OVT_JOB_QUEUED);
	take_events(mock);
	assert_int_equal(ovt_fw_advance(&mock->fw, 100), OVT_ADVANCE_DONE);
	assert_int_equal(jobs[13]->fw.end_ns, 100);
	assert_int_equal(jobs[14]->fw.end_ns, 100);
	assert_int_equal(jobs[0]->fw.start_ns, 100);
	run_until(mock, 1000);
	expect_ended(jobs, 15);
}

static void a_full_event_queue_holds_up_the_rest_of_a_kill(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *jobs[26];

	fill_events(mock, jobs, 5);
	drain(mock, 5);
	execute(mock, 1, 5);
	fill_events(mock, jobs + 13, 6);
	drain(mock, 6);
	kill_context(mock, &mock->context, 8);
	assert_int_equal(ovt_fw_advance(&mock->fw, 8), OVT_ADVANCE_EVENTS);
	assert_int_equal(mock->killed, 0);
	run_until(mock, 1000);
	assert_int_equal(mock->killed, 1);
	expect_trace(mock, "a0@5");
	expect_ended(jobs, 26);
}

static void resetting_an_idle_core_is_counted_and_changes_nothing_else(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job;

	reset(mock, 1, 5);
	job = submitted(mock, 'A', 1, 0, 1, 100, 10);
	run_until(mock, 1000);
	expect_trace(mock, "A0@10");
	assert_int_equal(mock->states[0].resets, 1);
	assert_int_equal(job->fw.status, OVT_JOB_OK);
	assert_int_equal(mock->faults, 0);
}

static void an_fc_waiting_for_its_modelled_end_is_reset_once(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 2, 100, 0);

	drain(mock, 0);
	execute(mock, 1, 0);
	reset(mock, 1, 40);
	reset(mock, 1, 40);
	run_until(mock, 1000);
	expect_trace(mock, "A0@0");
	assert_int_equal(job->fw.status, OVT_JOB_RESET);
	assert_int_equal(job->fw.fault, OVERTAKE_FAULT_RESET);
	assert_int_equal(job->fw.end_ns, 40);
	assert_int_equal(job->fw.executed_ns, 40);
	assert_int_equal(mock->states[0].resets, 2);
	assert_int_equal(mock->states[0].faults, 1);
}

/* The FC's last step is over, but its report comes after the reset. */
static void a_reset_between_the_last_step_and_its_report_counts(void **state)
{
	static const enum ovt_mode modes[] = { OVT_MODE_TIMED, OVT_MODE_FUNCTIONAL };
	size_t index;

	for (index = 0; index < COUNT(modes); index++) {
		struct mock *mock = mock_new(state, 1, modes[index], 64);
		struct mock_job *job = submitted(mock, 'A', 1, 0, 1, 100, 20);

		drain(mock, 20);
		assert_int_equal(ovt_core_step(&mock->cores[0], 100), OVT_STEP_FINISHED);
		reset(mock, 1, 20);
		drain(mock, 20);
		assert_true(ovt_fw_runnable(&mock->fw, 1));
		ovt_fw_executed(&mock->fw, 1, 25);
		drain(mock, 30);
		assert_int_equal(job->fw.status, OVT_JOB_RESET);
		assert_int_equal(job->fw.end_ns, modes[index] == OVT_MODE_FUNCTIONAL ? 25 : 20);
	}
}

/* The FC's end is known, but its arithmetic is not done: the firmware processes nothing later. */
static void an_fc_reset_at_its_start_ends_then_and_holds_up_time(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 3, 100, 2000);
	struct mock_job *next;

	drain(mock, 2000);
	reset(mock, 1, 2000);
	drain(mock, 2000);
	next = submitted(mock, 'B', 1, 0, 1, 100, 2001);
	drain(mock, 3000);
	assert_int_equal(job->fw.state, OVT_JOB_QUEUED);
	assert_int_equal(next->fw.state, OVT_JOB_NEW);
	execute(mock, 1, 3000);
	run_until(mock, 4000);
	assert_int_equal(job->fw.status, OVT_JOB_RESET);
	assert_int_equal(job->fw.end_ns, 2000);
	assert_int_equal(job->fw.executed_ns, 0);
	assert_int_equal(next->fw.start_ns, 2001);
}

/* An FC that the thread is executing sees the abort itself, in its next step. */
static void a_reset_is_seen_by_the_next_step(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *job = job_new(mock, 'A', 1, 0, 1, 100);

	job->program[0].opcode = OVERTAKE_OP_JUMP;
	job->program[0].delay_cycles = 0;
	submit(mock, job, 0);
	drain(mock, 0);
	assert_int_equal(ovt_core_step(&mock->cores[0], 5), OVT_STEP_MORE);
	reset(mock, 1, 7);
	drain(mock, 7);
	assert_int_equal(job->fw.state, OVT_JOB_QUEUED);
	execute(mock, 1, 9);
	drain(mock, 9);
	assert_int_equal(job->fw.status, OVT_JOB_RESET);
	assert_int_equal(job->fw.end_ns, 9);
}

/* The kill comes before the core has seen the reset. */
static void an_fc_that_is_reset_and_killed_reports_what_came_first(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 1, 100, 0);

	drain(mock, 0);
	reset(mock, 1, 7);
	drain(mock, 7);
	kill_context(mock, &mock->context, 8);
	drain(mock, 8);
	assert_int_equal(mock->cores[0].exec.abort, OVERTAKE_FAULT_RESET);
	execute(mock, 1, 9);
	drain(mock, 9);
	assert_int_equal(job->fw.status, OVT_JOB_RESET);
	assert_int_equal(mock->killed, 1);
}

static void a_reset_of_a_cancelled_jobs_last_fc_reports_the_reset(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 5, 100, 0);

	cancel(mock, job, 20);
	reset(mock, 1, 30);
	run_until(mock, 1000);
	expect_trace(mock, "A0@0");
	assert_int_equal(job->fw.status, OVT_JOB_RESET);
	assert_int_equal(job->fw.end_ns, 30);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 0);
}

static void killing_stops_the_running_fc_and_is_finished_with_its_end(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_job *running = submitted(mock, 'A', 1, 0, 3, 100, 0);
	struct mock_job *cancelled = submitted(mock, 'B', 2, 0, 3, 100, 0);

	cancel(mock, cancelled, 10);
	kill_context(mock, &mock->context, 20);
	drain(mock, 0);
	execute(mock, 1, 0);
	execute(mock, 2, 0);
	assert_int_equal(ovt_fw_prepare(&mock->fw, 20), OVT_ADVANCE_DONE);
	take_events(mock);
	assert_int_equal(mock->killed, 1);
	run_until(mock, 21);
	assert_int_equal(mock->killed, 1);
	assert_int_equal(running->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(cancelled->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(running->fw.end_ns, 20);
	assert_int_equal(cancelled->fw.end_ns, 20);
	expect_trace(mock, "A0@0 B0@0");
}

static void killing_an_empty_context_is_finished_at_once(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);

	kill_context(mock, &mock->context, 20);
	drain(mock, 19);
	assert_int_equal(mock->killed, 0);
	drain(mock, 20);
	assert_int_equal(mock->killed, 1);
}

static void a_job_of_a_killed_context_never_starts(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job;

	kill_context(mock, &mock->context, 20);
	job = submitted(mock, 'A', 1, 255, 3, 100, 30);
	run_until(mock, 1000);
	expect_trace(mock, "");
	assert_int_equal(job->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(job->fw.end_ns, 30);
	assert_true(job->ended);
	assert_int_equal(mock->killed, 1);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 0);
}

/* The firmware takes commands in queue order; a late one counts from when it is taken. */
static void a_command_stamped_before_what_was_processed_is_taken_then(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *late;

	submitted(mock, 'A', 1, 0, 1, 10, 50);
	run_until(mock, 100);
	late = submitted(mock, 'B', 1, 0, 1, 10, 30);
	run_until(mock, 100);
	expect_trace(mock, "A0@50 B0@60");
	assert_int_equal(late->fw.arrival_ns, 60);
}

static void an_fc_that_costs_nothing_takes_one_nanosecond(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 3, 100, 0);
	u32 index;

	drain(mock, 0);
	for (index = 0; index < 3; index++) {
		ovt_core_charge(&mock->cores[0], 0);
		ovt_fw_executed(&mock->fw, 1, 0);
		drain(mock, 1 + index);
	}
	expect_trace(mock, "A0@0 A1@1 A2@2");
	assert_int_equal(job->fw.end_ns, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(prepared_instants_leave_the_choice_to_later_commands),
		CASE(prepared_instants_wait_for_what_cores_execute),
		CASE(the_next_instant_is_the_earliest_that_can_be_processed),
		CASE(unfinished_fcs_are_those_running_committed_and_in_a_ring),
		CASE(executed_without_a_running_fc_or_said_twice_changes_nothing),
		CASE(functional_fcs_end_when_reported_and_never_in_the_past),
		CASE(a_full_event_queue_holds_up_commands),
		CASE(a_full_event_queue_holds_up_choices),
		CASE(a_choice_that_an_end_leaves_no_room_for_is_made_later),
		CASE(a_full_event_queue_holds_up_ends),
		CASE(a_full_event_queue_holds_up_the_rest_of_a_kill),
		CASE(resetting_an_idle_core_is_counted_and_changes_nothing_else),
		CASE(an_fc_waiting_for_its_modelled_end_is_reset_once),
		CASE(a_reset_between_the_last_step_and_its_report_counts),
		CASE(an_fc_reset_at_its_start_ends_then_and_holds_up_time),
		CASE(a_reset_is_seen_by_the_next_step),
		CASE(an_fc_that_is_reset_and_killed_reports_what_came_first),
		CASE(a_reset_of_a_cancelled_jobs_last_fc_reports_the_reset),
		CASE(killing_stops_the_running_fc_and_is_finished_with_its_end),
		CASE(killing_an_empty_context_is_finished_at_once),
		CASE(a_job_of_a_killed_context_never_starts),
		CASE(a_command_stamped_before_what_was_processed_is_taken_then),
		CASE(an_fc_that_costs_nothing_takes_one_nanosecond),
	};

	return cmocka_run_group_tests_name("fw: instants", tests, NULL, NULL);
}
