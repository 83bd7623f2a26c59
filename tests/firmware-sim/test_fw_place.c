// SPDX-License-Identifier: MIT
/* Questions of a host: on which core a job would be placed, and whether an instant is prepared. */
#include "cmocka_all.h"
#include "fw_host.h"

static void a_job_is_placed_where_the_fewest_fcs_are_or_are_on_their_way(void **state)
{
	struct mock *mock = mock_new(state, 4, OVT_MODE_TIMED, 64);
	struct mock_job *jobs[3];

	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0xf), 1);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0xc), 3);
	jobs[0] = submitted(mock, 'A', 1, 0, 2, 100, 10);
	jobs[1] = submitted(mock, 'B', 2, 255, 1, 100, 10);
	/* No job has arrived.  C names no core, and counts for none until it arrives. */
	jobs[2] = submitted(mock, 'C', 0, 0, 5, 100, 10);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0x3), 2);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0xf), 3);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0x1), 1);
	drain(mock, 10);
	assert_int_equal(jobs[2]->fw.placed_core, 3);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0x3), 2);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0x5), 1);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0xf), 4);
	run_until(mock, 10000);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0xf), 1);
}

static void an_instant_is_prepared_when_only_its_choices_are_left(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 64);
	struct mock_job *first;

	assert_true(ovt_fw_prepared(&mock->fw, 0));
	set_limit(mock, 1, 1, 0);
	drain(mock, 0);
	first = submitted(mock, 'A', 1, 0, 1, 30, 10);
	submitted(mock, 'B', 1, 0, 1, 30, 20);
	assert_true(ovt_fw_prepared(&mock->fw, 9));
	assert_false(ovt_fw_prepared(&mock->fw, 10));	/* A is in the command queue */
	ovt_fw_prepare(&mock->fw, 10);
	assert_true(ovt_fw_prepared(&mock->fw, 10));
	assert_false(ovt_fw_prepared(&mock->fw, 11));	/* the choice of 10 is left */
	ovt_fw_prepare(&mock->fw, 40);
	assert_false(ovt_fw_prepared(&mock->fw, 40));	/* A executes */
	execute(mock, 1, 40);
	assert_false(ovt_fw_prepared(&mock->fw, 40));	/* A has ended by then */
	ovt_fw_prepare(&mock->fw, 40);
	take_events(mock);
	assert_int_equal(first->ended, 1);
	assert_true(ovt_fw_prepared(&mock->fw, 40));
	/* A job that arrives at the instant takes part in the choice. */
	submitted(mock, 'C', 1, 255, 1, 5, 40);
	assert_false(ovt_fw_prepared(&mock->fw, 40));
	run_until(mock, 1000);
	expect_trace(mock, "A0@10 C0@40 B0@45");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_job_is_placed_where_the_fewest_fcs_are_or_are_on_their_way),
		CASE(an_instant_is_prepared_when_only_its_choices_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
