// SPDX-License-Identifier: MIT
/* When a client's queue is banned: which faults count, how many, and within which time. */
#include "cmocka_all.h"
#include "fw/ban.h"
#include "overtake_isa.h"

#define MS	1000000ull
#define SECOND	(1000 * MS)

/* The module's parameters when none are given. */
static const struct ovt_ban_rule defaults = { 64, 5 * SECOND, 10 * SECOND };

/* Returns how many FCs cause a ban if one ends each @period_ns and costs @lost_ns; 0: over 1000. */
static unsigned int ends_until_banned(const struct ovt_ban_rule *rule, u32 fault, u64 lost_ns,
				      u64 period_ns)
{
	struct ovt_ban_account account = { 0 };
	unsigned int count;

	for (count = 1; count <= 1000; count++)
		if (ovt_ban_note(&account, rule, fault, lost_ns, count * period_ns))
			return count;
	return 0;
}

static void bad_instructions_count_by_their_number(void **state)
{
	(void)state;
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_OPCODE, 1, MS), 64);
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_PROGRAM, 1, MS), 64);
}

/* In mode timed each hanging FC holds its core for the watchdog's second of device time. */
static void hangs_of_a_second_of_device_time_are_banned_after_five(void **state)
{
	(void)state;
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_WATCHDOG, SECOND, SECOND), 5);
	/* A neighbour has the core every other time. */
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_WATCHDOG, SECOND, 2 * SECOND), 5);
}

static void clocks_that_run_out_are_banned_after_three(void **state)
{
	(void)state;
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_CLOCK, 2 * SECOND, 2 * SECOND), 3);
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_CLOCK, 2 * SECOND, 4 * SECOND), 3);
}

/* Each FC is cancelled after a second.  A cancel is no offence, but the core's time is lost. */
static void stopping_ones_own_fcs_all_the_time_is_banned(void **state)
{
	struct ovt_ban_account account = { 0 };

	(void)state;
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_STOPPED, SECOND, SECOND), 5);
	assert_false(ovt_ban_note(&account, &defaults, OVERTAKE_FAULT_STOPPED, SECOND, SECOND));
	assert_int_equal(account.offences, 0);
	assert_int_equal(account.lost_ns, SECOND);
}

/* No ban for a clock fault in 11 s, a hang in 6 s, two stops of 100 ms or a bad opcode in 1 s. */
static void a_rare_fault_of_an_honest_client_is_never_banned(void **state)
{
	(void)state;
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_CLOCK, 2 * SECOND, 11 * SECOND), 0);
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_WATCHDOG, SECOND, 6 * SECOND), 0);
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_STOPPED, 100 * MS, SECOND / 2), 0);
	assert_int_equal(ends_until_banned(&defaults, OVERTAKE_FAULT_OPCODE, 1, SECOND), 0);
}

static void what_is_no_fault_of_a_job_does_not_count(void **state)
{
	static const u32 faults[] = { OVERTAKE_FAULT_NONE, OVERTAKE_FAULT_RESET,
				      OVERTAKE_FAULT_KILLED };
	const struct ovt_ban_rule strict = { 1, 1, 10 * SECOND };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(faults); i++)
		assert_int_equal(ends_until_banned(&strict, faults[i], SECOND, 1), 0);
	assert_int_equal(ends_until_banned(&strict, OVERTAKE_FAULT_OPCODE, 0, 1), 1);
}

static void the_window_begins_with_the_first_fault_and_ends_by_itself(void **state)
{
	const struct ovt_ban_rule rule = { 3, 0, 100 };
	struct ovt_ban_account account = { 0 };

	(void)state;
	/* A window may begin at device time 0, too. */
	assert_false(ovt_ban_note(&account, &rule, OVERTAKE_FAULT_OPCODE, 1, 0));
	assert_false(ovt_ban_note(&account, &rule, OVERTAKE_FAULT_OPCODE, 1, 100));
	assert_int_equal(account.offences, 2);
	assert_false(ovt_ban_note(&account, &rule, OVERTAKE_FAULT_OPCODE, 1, 101));
	assert_int_equal(account.offences, 1);
	assert_int_equal(account.first_ns, 101);
	assert_int_equal(account.lost_ns, 1);
	assert_false(ovt_ban_note(&account, &rule, OVERTAKE_FAULT_OPCODE, 1, 150));
	assert_true(ovt_ban_note(&account, &rule, OVERTAKE_FAULT_OPCODE, 1, 201));
}

static void each_limit_can_be_turned_off(void **state)
{
	const struct ovt_ban_rule none = { 0, 1, SECOND }, number = { 64, 0, SECOND };

	(void)state;
	assert_int_equal(ends_until_banned(&none, OVERTAKE_FAULT_CLOCK, SECOND, 1), 0);
	assert_int_equal(ends_until_banned(&number, OVERTAKE_FAULT_CLOCK, SECOND, 1), 64);
	assert_int_equal(ends_until_banned(&number, OVERTAKE_FAULT_STOPPED, SECOND, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_instructions_count_by_their_number),
		cmocka_unit_test(hangs_of_a_second_of_device_time_are_banned_after_five),
		cmocka_unit_test(clocks_that_run_out_are_banned_after_three),
		cmocka_unit_test(stopping_ones_own_fcs_all_the_time_is_banned),
		cmocka_unit_test(a_rare_fault_of_an_honest_client_is_never_banned),
		cmocka_unit_test(what_is_no_fault_of_a_job_does_not_count),
		cmocka_unit_test(the_window_begins_with_the_first_fault_and_ends_by_itself),
		cmocka_unit_test(each_limit_can_be_turned_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
