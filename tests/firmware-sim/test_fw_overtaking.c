// SPDX-License-Identifier: MIT
/* Events of overtaking: which FC is overtaken, by which job, and when the job goes on. */
#include "cmocka_all.h"
#include "fw_host.h"

static void expect_overtaking(const struct mock *mock, u32 index, struct overtaking expected)
{
	const struct overtaking *seen = &mock->overtakings[index];

	assert_int_equal(seen->job, expected.job);
	assert_int_equal(seen->by, expected.by);
	assert_int_equal(seen->index, expected.index);
	assert_int_equal(seen->at, expected.at);
}

/* H and I overtake N together: N does not go on between them.  After J it never goes on. */
static void an_overtaking_names_who_and_ends_when_the_job_goes_on(void **state)
{
	struct mock *mock = mock_new(state, 1, OVT_MODE_TIMED, 16);
	struct mock_job *normal = job_new(mock, 'N', 1, 10, 4, 100);
	struct mock_job *behind = job_new(mock, 'M', 1, 10, 1, 100);
	struct mock_job *high[] = {
		job_new(mock, 'H', 1, 255, 2, 10),
		job_new(mock, 'I', 1, 255, 1, 10),
		job_new(mock, 'J', 1, 255, 1, 10),
	};

	set_limit(mock, 1, 1, 0);
	submit(mock, normal, 0);
	submit(mock, behind, 0);
	submit(mock, high[0], 40);
	submit(mock, high[1], 50);
	submit(mock, high[2], 200);
	run_until(mock, 225);
	assert_int_equal(mock->preempted, 1);
	assert_int_equal(mock->resumed, 1);
	cancel(mock, normal, 235);
	run_until(mock, 10000);
	expect_trace(mock, "N0@0 H0@100 H1@110 I0@120 N1@130 J0@230 M0@240");
	assert_int_equal(mock->preempted, 2);
	expect_overtaking(mock, 0, (struct overtaking){ 'N', 'H', 1, 100 });
	expect_overtaking(mock, 1, (struct overtaking){ 'N', 'J', 2, 230 });
	assert_int_equal(mock->resumed, 1); /* M has not been overtaken */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_overtaking_names_who_and_ends_when_the_job_goes_on),
	};

	return cmocka_run_group_tests_name("fw: overtaking", tests, NULL, NULL);
}
