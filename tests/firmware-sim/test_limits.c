// SPDX-License-Identifier: MIT
/* Limits that hosts give their devices, and how the limits of several users combine. */
#include "cmocka_all.h"
#include "host/limits.h"
#include "overtake_accel.h"

#define SECOND	1000000000ull

static void the_tightest_limit_is_the_least_that_is_one(void **state)
{
	(void)state;
	assert_int_equal(ovt_tightest_limit(0, 0), 0);
	assert_int_equal(ovt_tightest_limit(0, 3), 3);
	assert_int_equal(ovt_tightest_limit(3, 0), 3);
	assert_int_equal(ovt_tightest_limit(2, 3), 2);
	assert_int_equal(ovt_tightest_limit(3, 2), 2);
	assert_int_equal(ovt_tightest_limit(~0u, ~0u), ~0u);
}

static void the_watchdog_counts_a_second_of_its_devices_cycles(void **state)
{
	const struct ovt_profile slow = { .clock_khz = 800000 };

	(void)state;
	assert_int_equal(ovt_watchdog_cycles(&slow, OVT_WATCHDOG_MS), 800000000);
	assert_int_equal(ovt_watchdog_cycles(ovt_profile_find("default"), OVT_WATCHDOG_MS), SECOND);
	assert_int_equal(ovt_watchdog_cycles(&slow, ~0u), 0xffffffffull * 800000);
}

static void an_fc_may_take_five_times_its_cpu_time_on_a_busy_host(void **state)
{
	const u64 most = OVT_TIME_NEVER / 5;

	(void)state;
	assert_int_equal(ovt_fc_clock(2 * SECOND).cpu_ns, 2 * SECOND);
	assert_int_equal(ovt_fc_clock(2 * SECOND).wall_ns, 10 * SECOND);
	assert_int_equal(ovt_fc_clock(most).wall_ns, most * 5);
	assert_int_equal(ovt_fc_clock(most + 1).wall_ns, OVT_TIME_NEVER);
	assert_int_equal(ovt_fc_clock(0).wall_ns, 0); /* 0: no limit */
}

static void a_deadline_is_what_was_asked_for_or_the_default(void **state)
{
	const u64 never = OVT_TIME_NEVER;

	(void)state;
	assert_int_equal(ovt_job_deadline(0, 100, 10, never), 110);
	assert_int_equal(ovt_job_deadline(105, 100, 10, never), 105);
	assert_int_equal(ovt_job_deadline(99, 100, 10, never), 99); /* has passed */
	assert_int_equal(ovt_job_deadline(500, 100, 10, never), 500);
	assert_int_equal(ovt_job_deadline(OVERTAKE_DEADLINE_NEVER, 100, 10, never), never);
	assert_int_equal(ovt_job_deadline(OVERTAKE_DEADLINE_NEVER - 1, 100, 10, never),
			 OVERTAKE_DEADLINE_NEVER - 1);
}

static void no_deadline_is_later_than_the_devices_maximum(void **state)
{
	(void)state;
	assert_int_equal(ovt_job_deadline(0, 100, 10, 60), 110);
	assert_int_equal(ovt_job_deadline(0, 100, 61, 60), 160);
	assert_int_equal(ovt_job_deadline(160, 100, 10, 60), 160);
	assert_int_equal(ovt_job_deadline(161, 100, 10, 60), 160);
	assert_int_equal(ovt_job_deadline(OVERTAKE_DEADLINE_NEVER, 100, 10, 60), 160);
}

static void a_timeout_beyond_the_end_of_time_is_never(void **state)
{
	const u64 never = OVT_TIME_NEVER;

	(void)state;
	assert_int_equal(ovt_job_deadline(0, 100, never, never), never);
	assert_int_equal(ovt_job_deadline(0, 100, never - 100, never), never);
	assert_int_equal(ovt_job_deadline(0, 100, never - 101, never), never - 1);
}

static void each_limit_has_the_value_of_the_interface(void **state)
{
	static const u64 values[OVERTAKE_LIMIT_COUNT + 1] = {
		64, 1024, 8192, 4096, 4ull << 30, 0, 1ull << 30, 65536, 15, 256ull << 20, 32, 0,
		1024, 1024, 65536, 256, 4096, 1024, 64, 0,
	};
	u32 limit;

	(void)state;
	for (limit = 0; limit <= OVERTAKE_LIMIT_COUNT; limit++)
		assert_int_equal(ovt_limit_value(limit), values[limit]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tightest_limit_is_the_least_that_is_one),
		cmocka_unit_test(the_watchdog_counts_a_second_of_its_devices_cycles),
		cmocka_unit_test(an_fc_may_take_five_times_its_cpu_time_on_a_busy_host),
		cmocka_unit_test(a_deadline_is_what_was_asked_for_or_the_default),
		cmocka_unit_test(no_deadline_is_later_than_the_devices_maximum),
		cmocka_unit_test(a_timeout_beyond_the_end_of_time_is_never),
		cmocka_unit_test(each_limit_has_the_value_of_the_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
