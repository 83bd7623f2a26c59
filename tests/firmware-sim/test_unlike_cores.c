// SPDX-License-Identifier: MIT
/* Cores of different kinds in one device: prices, clocks, watchdogs, opcodes, throttling. */
#include "cmocka_all.h"
#include "fw_host.h"

/* A DELAY costs its cycles, an FC 100 more, and a cycle takes 2 ns. */
static const struct ovt_profile slow = {
	.name = "slow",
	.clock_khz = 500000,
	.macs_per_cycle = 64,
	.vector_per_cycle = 64,
	.bytes_per_cycle = 32,
	.fc_overhead_cycles = 100,
};

/* Its cores can neither copy nor wait. */
static const struct ovt_profile lacking = {
	.name = "lacking",
	.clock_khz = 1000000,
	.macs_per_cycle = 64,
	.vector_per_cycle = 64,
	.bytes_per_cycle = 32,
	.without = 1ull << OVERTAKE_OP_COPY | 1ull << OVERTAKE_OP_DELAY,
};

/* Makes two cores; core 1 is "ideal", with a watchdog of 1000000 cycles. */
static struct mock *unlike(void **state, enum ovt_mode mode, const struct ovt_profile *second,
			   u64 watchdog_cycles)
{
	struct mock *mock = mock_new(state, 2, mode, 64);

	ovt_core_set_profile(&mock->cores[1], second, watchdog_cycles);
	return mock;
}

static void each_core_takes_its_own_time(void **state)
{
	static const enum ovt_mode modes[] = { OVT_MODE_TIMED, OVT_MODE_BOTH };
	size_t mode;

	for (mode = 0; mode < COUNT(modes); mode++) {
		struct mock *mock = unlike(state, modes[mode], &slow, 1000000);
		struct mock_job *first = submitted(mock, 'A', 1, 0, 3, 50, 0);
		struct mock_job *second = submitted(mock, 'B', 2, 0, 3, 50, 0);

		run_until(mock, 10000);
		assert_int_equal(first->fw.end_ns, 3 * 50);
		assert_int_equal(second->fw.end_ns, 3 * (100 + 50) * 2);
		assert_int_equal(second->fw.executed_ns, 3 * (100 + 50) * 2);
		assert_int_equal(ovt_core_read(&mock->cores[0], OVT_REG_CLOCK), 1000000);
		assert_int_equal(ovt_core_read(&mock->cores[1], OVT_REG_CLOCK), 500000);
	}
}

static void each_core_has_its_own_watchdog(void **state)
{
	/* Watchdog of core 2, and status of an FC of 1000 cycles, which costs 100 more there. */
	static const struct {
		u64 watchdog_cycles;
		enum ovt_job_status status;
	} rows[] = { { 1100, OVT_JOB_OK }, { 1099, OVT_JOB_HUNG } };
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct mock *mock = unlike(state, OVT_MODE_TIMED, &slow, rows[row].watchdog_cycles);
		struct mock_job *first = submitted(mock, 'A', 1, 0, 1, 1000, 0);
		struct mock_job *second = submitted(mock, 'B', 2, 0, 1, 1000, 0);

		run_until(mock, 10000);
		assert_int_equal(first->fw.status, OVT_JOB_OK);
		assert_int_equal(second->fw.status, rows[row].status);
	}
}

/* A core does not check an opcode that it lacks: the operands of this COPY are impossible. */
static void an_opcode_that_a_core_lacks_is_a_fault_there(void **state)
{
	static const enum ovt_mode modes[] = {
		OVT_MODE_FUNCTIONAL, OVT_MODE_TIMED, OVT_MODE_BOTH,
	};
	size_t mode;

	for (mode = 0; mode < COUNT(modes); mode++) {
		struct mock *mock = unlike(state, modes[mode], &lacking, 1000000);
		struct mock_job *able = job_new(mock, 'A', 1, 0, 1, 7);
		struct mock_job *unable = job_new(mock, 'B', 2, 0, 1, 7);
		struct mock_job *bad = job_new(mock, 'C', 1, 0, 1, 7);
		struct mock_job *worse = job_new(mock, 'D', 2, 0, 1, 7);

		bad->program[0].opcode = OVERTAKE_OP_COPY;
		worse->program[0].opcode = OVERTAKE_OP_COPY;
		submit(mock, able, 0);
		submit(mock, unable, 0);
		submit(mock, bad, 0);
		submit(mock, worse, 0);
		run_until(mock, 10000);
		assert_int_equal(able->fw.status, OVT_JOB_OK);
		assert_int_equal(unable->fw.status, OVT_JOB_FAULTED);
		assert_int_equal(unable->fw.fault, OVERTAKE_FAULT_UNSUPPORTED);
		assert_int_equal(unable->fw.fault_insn, 0);
		assert_int_equal(bad->fw.fault, OVERTAKE_FAULT_RESERVED);
		assert_int_equal(worse->fw.fault, OVERTAKE_FAULT_UNSUPPORTED);
	}
}

static void an_unknown_opcode_is_no_lack(void **state)
{
	u32 opcode;

	(void)state;
	for (opcode = 0; opcode < 70; opcode++)
		assert_int_equal(ovt_profile_lacks(&lacking, opcode),
				 opcode == OVERTAKE_OP_COPY || opcode == OVERTAKE_OP_DELAY);
	assert_false(ovt_profile_lacks(&slow, OVERTAKE_OP_COPY));
	assert_in_range(OVERTAKE_OP_COUNT, 1, 64); /* each has a bit in @without */
}

/* The host changes the factor under its lock, whatever the core does. */
static void a_throttled_core_takes_so_much_longer_from_its_next_fc_on(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_job *job = submitted(mock, 'A', 1, 0, 4, 101, 0);
	struct mock_job *other = submitted(mock, 'B', 2, 0, 4, 101, 0);

	run_until(mock, 50);
	ovt_core_set_time_factor(&mock->cores[0], 300);
	run_until(mock, 102);
	ovt_core_set_time_factor(&mock->cores[0], 150);
	run_until(mock, 101 + 303 + 1);
	ovt_core_set_time_factor(&mock->cores[0], 100);
	run_until(mock, 10000);
	/* The first FC had begun, the second took 300 %; 151.5 of the third are rounded up. */
	assert_int_equal(job->fw.end_ns, 101 + 303 + 152 + 101);
	assert_int_equal(other->fw.end_ns, 4 * 101);
	assert_int_equal(job->fw.executed_ns, job->fw.end_ns);
}

static void the_watchdog_counts_cycles_however_long_they_take(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *job;

	ovt_core_set_time_factor(&mock->cores[0], 1000);
	job = submitted(mock, 'A', 1, 0, 1, 1000000, 0);
	run_until(mock, 20000000);
	assert_int_equal(job->fw.status, OVT_JOB_OK);
	assert_int_equal(job->fw.end_ns, 10000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_core_takes_its_own_time),
		CASE(each_core_has_its_own_watchdog),
		CASE(an_opcode_that_a_core_lacks_is_a_fault_there),
		cmocka_unit_test(an_unknown_opcode_is_no_lack),
		CASE(a_throttled_core_takes_so_much_longer_from_its_next_fc_on),
		CASE(the_watchdog_counts_cycles_however_long_they_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
