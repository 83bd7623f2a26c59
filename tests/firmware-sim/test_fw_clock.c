// SPDX-License-Identifier: MIT
/* Bounds in host time: on the execution of an FC, and on commands while device time lags. */
#include "cmocka_all.h"
#include "fw_host.h"

/* Submits an FC that jumps to itself: the watchdog ends it after a million cycles. */
static struct mock_job *endless(struct mock *mock, u64 at)
{
	struct mock_job *job = job_new(mock, 'A', 1, 0, 2, 100);

	job->program[0].opcode = OVERTAKE_OP_JUMP;
	job->program[0].delay_cycles = 0;
	submit(mock, job, at);
	return job;
}

static void set_clock(struct mock *mock, u64 cpu_ns, u64 wall_ns)
{
	mock->cores[0].clock = (struct ovt_clock){ cpu_ns, wall_ns };
}

static void an_fc_ends_when_its_clock_runs_out(void **state)
{
	static const enum ovt_mode modes[] = {
		OVT_MODE_FUNCTIONAL, OVT_MODE_TIMED, OVT_MODE_BOTH,
	};
	/* The clock allows 100 ns of CPU time and 1000 ns of wall time.  Rows: time taken, fault. */
	static const struct {
		u64 cpu_ns, wall_ns;
		u32 fault;
	} taken[] = {
		{ 100, 1000, 0 },
		{ 101, 101, OVERTAKE_FAULT_CLOCK },
		{ 0, 1001, OVERTAKE_FAULT_CLOCK },
	};
	size_t mode, index;

	for (mode = 0; mode < COUNT(modes); mode++) {
		for (index = 0; index < COUNT(taken); index++) {
			struct mock *mock = mock_new(state, 1, modes[mode], 64);
			struct mock_job *job = endless(mock, 10);
			struct mock_job *next = submitted(mock, 'B', 1, 0, 1, 7, 10);

			set_clock(mock, 100, 1000);
			drain(mock, 10);
			assert_int_equal(ovt_core_step(&mock->cores[0], 5), OVT_STEP_MORE);
			ovt_core_watch(&mock->cores[0], taken[index].cpu_ns, taken[index].wall_ns, 50);
			assert_int_equal(ovt_core_step(&mock->cores[0], 5),
					 taken[index].fault ? OVT_STEP_FINISHED : OVT_STEP_MORE);
			if (taken[index].fault) {
				ovt_fw_executed(&mock->fw, 1, 50);
				drain(mock, 50);
				assert_int_equal(job->fw.status, OVT_JOB_HUNG);
				assert_int_equal(job->fw.fault, OVERTAKE_FAULT_CLOCK);
				assert_int_equal(job->fw.started, 1);
				assert_int_equal(mock->hung, 1);
				assert_int_equal(next->fw.started, 1);
			} else {
				assert_int_equal(job->fw.state, OVT_JOB_QUEUED);
			}
		}
	}
}

static void without_a_clock_any_time_will_do(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);

	endless(mock, 0);
	drain(mock, 0);
	ovt_core_watch(&mock->cores[0], ~0ull, ~0ull, ~0ull);
	assert_int_equal(ovt_core_step(&mock->cores[0], 5), OVT_STEP_MORE);
}

static void each_core_gets_the_configured_clock(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_FUNCTIONAL, 64);
	struct ovt_fw_config config = mock->fw.config;

	config.clock = (struct ovt_clock){ 12, 34 };
	ovt_fw_init(&mock->fw, &config);
	assert_int_equal(mock->cores[1].clock.cpu_ns, 12);
	assert_int_equal(mock->cores[1].clock.wall_ns, 34);
}

/* Each FC has its own clock: time that an FC took does not count for the next one. */
static void what_one_fc_took_is_not_held_against_the_next(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *next;

	endless(mock, 0);
	next = submitted(mock, 'B', 1, 0, 1, 7, 0);
	set_clock(mock, 100, 1000);
	drain(mock, 0);
	ovt_core_watch(&mock->cores[0], 101, 101, 50);
	execute(mock, 1, 50);
	drain(mock, 50);
	execute(mock, 1, 60);
	drain(mock, 60);
	assert_int_equal(next->fw.status, OVT_JOB_OK);
}

/*
 * The end of a stopped FC is the time of the stop, or its modelled end if that is earlier, but is
 * never before the present device time.
 */
static void a_stopped_fc_ends_in_device_time_as_early_as_it_can(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_BOTH, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 1, 100, 10);

	set_clock(mock, 100, 1000);
	drain(mock, 10);
	execute(mock, 1, 10); /* priced: ends at 110 */
	drain(mock, 40);
	ovt_core_watch(&mock->cores[0], 101, 101, 60);
	execute(mock, 1, 60);
	drain(mock, 1000);
	assert_int_equal(job->fw.end_ns, 60);

	job = submitted(mock, 'B', 1, 0, 1, 100, 1000);
	drain(mock, 1000);
	execute(mock, 1, 1000); /* ends at 1100 */
	drain(mock, 2000);
	ovt_core_watch(&mock->cores[0], 101, 101, 2000);
	execute(mock, 1, 2000);
	drain(mock, 2000);
	assert_int_equal(job->fw.end_ns, 1100);
}

static void a_cancelled_fc_executes_until_its_grace_is_over(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *job = endless(mock, 0);

	drain(mock, 0);
	cancel(mock, job, 10);
	ovt_fw_stop(&mock->fw, &job->fw, 30);
	ovt_fw_stop(&mock->fw, &job->fw, 40);	/* does not delay the first stop */
	drain(mock, 10);
	ovt_core_watch(&mock->cores[0], 0, 29, 29);
	assert_int_equal(ovt_core_step(&mock->cores[0], 5), OVT_STEP_MORE);
	assert_int_equal(job->fw.state, OVT_JOB_QUEUED);
	ovt_core_watch(&mock->cores[0], 0, 30, 30);
	execute(mock, 1, 31);
	drain(mock, 31);
	assert_int_equal(job->fw.status, OVT_JOB_STOPPED);
	assert_int_equal(job->fw.fault, OVERTAKE_FAULT_STOPPED);
	assert_int_equal(job->fw.end_ns, 31);
	assert_int_equal(mock->faults, 1);
	assert_int_equal(mock->hung, 0);
}

/* The host stops the job before its FC has started: the FC is stopped, too. */
static void a_stop_holds_for_an_fc_that_starts_after_it(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *job;

	submitted(mock, 'A', 1, 0, 1, 10, 0);
	job = endless(mock, 0);
	drain(mock, 0);
	ovt_fw_stop(&mock->fw, &job->fw, 30);
	assert_int_equal(mock->cores[0].exec.stop_ns, 0);	/* A does not belong to the job */
	execute(mock, 1, 20);
	drain(mock, 20);
	ovt_core_watch(&mock->cores[0], 0, 10, 30);
	execute(mock, 1, 31);
	drain(mock, 31);
	assert_int_equal(job->fw.status, OVT_JOB_STOPPED);
}

static void a_stop_for_a_job_that_has_ended_stops_no_other(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_FUNCTIONAL, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 1, 10, 0);

	submitted(mock, 'B', 1, 0, 1, 10, 0);
	drain(mock, 0);
	execute(mock, 1, 5);
	drain(mock, 5);
	assert_int_equal(job->ended, 1);
	ovt_fw_stop(&mock->fw, &job->fw, 6);
	assert_int_equal(mock->cores[0].exec.stop_ns, 0);
}

/* The FC has no more to execute: it holds its core to its modelled end, as after any cancel. */
static void an_fc_that_only_holds_its_core_is_not_stopped(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 2, 100, 0);

	drain(mock, 0);
	execute(mock, 1, 0);
	cancel(mock, job, 10);
	ovt_fw_stop(&mock->fw, &job->fw, 10);
	drain(mock, 1000);
	assert_int_equal(job->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(job->fw.end_ns, 100);
}

/*
 * Makes a device whose lag may be 50.  Core 1 executes A since 0; the end of A is not known, or in
 * mode both it is 100.
 */
static struct mock *lagging(void **state, enum ovt_mode mode, struct mock_job **executing)
{
	struct mock *mock = mock_new(state, 2, mode, 64);

	mock->fw.config.lag_max_ns = 50;
	*executing = submitted(mock, 'A', 1, 0, 2, 100, 0);
	drain(mock, 0);
	if (mode == OVT_MODE_BOTH)
		execute(mock, 1, 0);
	drain(mock, 0);
	return mock;
}

static void a_command_waits_for_device_time_only_so_long(void **state)
{
	struct mock_job *executing, *other;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	other = submitted(mock, 'B', 2, 0, 1, 10, 20);
	drain(mock, 50);
	assert_int_equal(other->fw.state, OVT_JOB_NEW);
	assert_int_equal(ovt_fw_next(&mock->fw), 51);
	drain(mock, 51);
	assert_int_equal(other->fw.state, OVT_JOB_QUEUED);
	assert_int_equal(other->fw.arrival_ns, 0);
	expect_trace(mock, "A0@0 B0@0");
	assert_int_equal(mock->fw.lagged_commands, 1);
	assert_int_equal(mock->fw.lag_ns, 51);
	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);
}

static void without_a_bound_commands_wait_for_device_time(void **state)
{
	struct mock_job *executing, *other;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	mock->fw.config.lag_max_ns = 0;
	other = submitted(mock, 'B', 2, 0, 1, 10, 20);
	drain(mock, 1000000);
	assert_int_equal(other->fw.state, OVT_JOB_NEW);
	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);
}

static void a_late_command_is_stamped_before_the_end_of_a_running_fc(void **state)
{
	struct mock_job *executing, *other;
	struct mock *mock = lagging(state, OVT_MODE_BOTH, &executing);

	other = submitted(mock, 'B', 2, 0, 1, 10, 500);
	drain(mock, 1000);
	assert_int_equal(other->fw.arrival_ns, 99);	/* A ends at 100 */
	assert_int_equal(executing->fw.done, 0);
}

static void cancels_kills_and_holds_act_while_device_time_stands(void **state)
{
	struct mock_job *executing, *waiting, *late;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	waiting = submitted(mock, 'B', 1, 0, 1, 10, 0);
	drain(mock, 0);
	hold(mock, 100);
	cancel(mock, waiting, 100);
	late = submitted(mock, 'C', 2, 0, 1, 10, 100);
	drain(mock, 100);
	assert_int_equal(waiting->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(waiting->ended, 1);
	assert_int_equal(late->fw.state, OVT_JOB_QUEUED);
	assert_int_equal(late->fw.started, 0);		/* held */
	kill_context(mock, &mock->context, 200);
	drain(mock, 200);
	assert_int_equal(late->ended, 1);
	assert_int_equal(mock->killed, 0);
	execute(mock, 1, 201);				/* A's next step sees the kill */
	drain(mock, 201);
	assert_int_equal(executing->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(executing->fw.fault, OVERTAKE_FAULT_KILLED);
	assert_int_equal(mock->killed, 1);
}

/*
 * Core 1 has a request to abort its FC, but has not seen it.  Until it does, device time cannot
 * pass the abort, so no timer is wanted.
 */
static void no_timer_is_wanted_while_an_abort_is_to_be_executed(void **state)
{
	struct mock_job *executing, *other;
	struct mock *mock = lagging(state, OVT_MODE_BOTH, &executing);

	other = submitted(mock, 'B', 1, 0, 1, 1000, 60);
	drain(mock, 60);
	reset(mock, 1, 70);
	drain(mock, 70);
	assert_int_equal(mock->cores[0].exec.abort, OVERTAKE_FAULT_RESET);
	cancel(mock, other, 80);
	drain(mock, 1000);
	assert_int_equal(mock->cancels, 0);
	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);
	execute(mock, 1, 1000);
	drain(mock, 1000);
	assert_int_equal(executing->fw.end_ns, 70);
}

/* Device time does not run backwards, and a late command is not lost. */
static void the_timeline_goes_on_from_where_it_stood(void **state)
{
	struct mock_job *executing, *last;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	set_limit(mock, 1, 1, 0);
	submitted(mock, 'B', 1, 255, 1, 10, 300);
	drain(mock, 300);
	execute(mock, 1, 400);	/* A0 took until 100 */
	drain(mock, 400);
	expect_trace(mock, "A0@0 B0@100");
	execute(mock, 1, 410);
	last = submitted(mock, 'C', 2, 0, 1, 10, 410);
	drain(mock, 410);
	expect_trace(mock, "A0@0 B0@100 A1@110 C0@110");
	assert_int_equal(last->fw.arrival_ns, 110);
}

/*
 * stretch_max_ns counts from the time of the event that waits, which is 30 here, not from the time
 * at which device time stopped.
 */
static void the_stretch_counts_from_what_waits(void **state)
{
	struct mock_job *executing, *other;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	mock->fw.config.stretch_max_ns = 20;
	other = submitted(mock, 'B', 2, 0, 1, 30, 0);
	drain(mock, 0);
	execute(mock, 2, 1);
	drain(mock, 49);
	assert_int_equal(other->fw.done, 0);
	assert_int_equal(ovt_fw_next(&mock->fw), 50);
	drain(mock, 50);
	assert_int_equal(other->fw.done, 1);
}

/*
 * stretch_max_ns is 200: the end of B's first FC, on another core, waits that long for A, whose end
 * is not known.
 */
static void other_cores_wait_for_what_executes_only_so_long(void **state)
{
	struct mock_job *executing, *other, *last;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	mock->fw.config.stretch_max_ns = 200;
	other = submitted(mock, 'B', 2, 0, 2, 10, 0);
	drain(mock, 0);
	execute(mock, 2, 1);
	drain(mock, 209);
	assert_int_equal(other->fw.done, 0);
	assert_int_equal(ovt_fw_next(&mock->fw), 210);
	drain(mock, 210);
	assert_int_equal(other->fw.done, 1);
	execute(mock, 2, 220);
	drain(mock, 300);
	assert_int_equal(other->fw.end_ns, 20);
	assert_true(ovt_fw_next(&mock->fw) == OVT_TIME_NEVER);
	assert_int_equal(mock->fw.stretched_fcs, 0);

	last = submitted(mock, 'C', 2, 0, 1, 10, 1000);
	drain(mock, 1000);
	assert_int_equal(last->fw.arrival_ns, 800);
	execute(mock, 1, 1000);		/* A would have ended at 100, which is past */
	drain(mock, 1000);
	assert_int_equal(executing->fw.done, 1);
	assert_int_equal(executing->fw.executed_ns, 800);
	assert_int_equal(mock->fw.stretched_fcs, 1);
	assert_int_equal(mock->fw.stretched_ns, 700);
}

static void without_a_bound_other_cores_wait(void **state)
{
	struct mock_job *executing, *other;
	struct mock *mock = lagging(state, OVT_MODE_TIMED, &executing);

	other = submitted(mock, 'B', 2, 0, 1, 10, 0);
	drain(mock, 0);
	execute(mock, 2, 1);
	drain(mock, 1000000);
	assert_int_equal(other->fw.done, 0);
	execute(mock, 1, 1000000);
	drain(mock, 1000000);
	assert_int_equal(executing->fw.executed_ns, 100);
	assert_int_equal(mock->fw.stretched_fcs, 0);
}

static void a_step_budget_follows_the_time_of_the_last_step(void **state)
{
	(void)state;
	assert_int_equal(ovt_step_budget(1000, 100000, 4096), 1000);
	assert_int_equal(ovt_step_budget(1000, 100001, 4096), 500);
	assert_int_equal(ovt_step_budget(1, 100001, 4096), 1);
	assert_int_equal(ovt_step_budget(1000, 25000, 4096), 1000);
	assert_int_equal(ovt_step_budget(1000, 24999, 4096), 2000);
	assert_int_equal(ovt_step_budget(3000, 0, 4096), 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_fc_ends_when_its_clock_runs_out),
		CASE(without_a_clock_any_time_will_do),
		CASE(each_core_gets_the_configured_clock),
		CASE(what_one_fc_took_is_not_held_against_the_next),
		CASE(a_stopped_fc_ends_in_device_time_as_early_as_it_can),
		CASE(a_cancelled_fc_executes_until_its_grace_is_over),
		CASE(a_stop_holds_for_an_fc_that_starts_after_it),
		CASE(a_stop_for_a_job_that_has_ended_stops_no_other),
		CASE(an_fc_that_only_holds_its_core_is_not_stopped),
		CASE(a_command_waits_for_device_time_only_so_long),
		CASE(without_a_bound_commands_wait_for_device_time),
		CASE(a_late_command_is_stamped_before_the_end_of_a_running_fc),
		CASE(cancels_kills_and_holds_act_while_device_time_stands),
		CASE(no_timer_is_wanted_while_an_abort_is_to_be_executed),
		CASE(the_timeline_goes_on_from_where_it_stood),
		CASE(other_cores_wait_for_what_executes_only_so_long),
		CASE(the_stretch_counts_from_what_waits),
		CASE(without_a_bound_other_cores_wait),
		CASE(a_step_budget_follows_the_time_of_the_last_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
