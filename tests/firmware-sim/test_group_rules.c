// SPDX-License-Identifier: MIT
/* Which groups a client may submit: each reason to refuse, at its boundary, with its index. */
#include "cmocka_all.h"
#include "host/group_rules.h"
#include "host/limits.h"

#define CORES	4u

#define assert_verdict(verdict_, reason_, index_) \
	do { \
		struct ovt_verdict got_ = (verdict_); \
		assert_int_equal(got_.reason, reason_); \
		assert_int_equal(got_.index, index_); \
	} while (0)

static struct drm_overtake_submit good_job(void)
{
	return (struct drm_overtake_submit){ .fc_count = 3, .binding_count = 1 };
}

static struct overtake_extension_parts good_group(void)
{
	return (struct overtake_extension_parts){ .part_count = 2, .stage_count = 2 };
}

static void a_group_is_checked_at_its_boundaries(void **state)
{
	struct drm_overtake_submit job = good_job();
	struct overtake_extension_parts group = good_group();

	(void)state;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_group(&job, &group, 1, CORES), OVT_REFUSED_GROUP_CORE, 0);
	job.core = 1;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_REFUSED_GROUP_CORE, 0);
	job.core = OVERTAKE_CORE_ANY;
	group.part_count = CORES;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_ACCEPTED, 0);
	group.part_count = CORES + 1;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_REFUSED_PARTS, 0);
	group.part_count = 0;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_REFUSED_PARTS, 0);
	group = good_group();
	group.stage_count = 0;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_REFUSED_NO_STAGE, 0);
	group.stage_count = OVERTAKE_MAX_STAGES;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_ACCEPTED, 0);
	group.stage_count++;
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_REFUSED_STAGES, 0);
	group.record = 4100; /* before what is too great */
	assert_verdict(ovt_check_group(&job, &group, 0, CORES), OVT_REFUSED_RECORD_ALIGNMENT, 0);
}

static void limits_of_stages_can_be_queried(void **state)
{
	(void)state;
	assert_int_equal(ovt_refusal_error(OVT_REFUSED_STAGES), -E2BIG);
	assert_int_equal(ovt_refusal_limit(OVT_REFUSED_STAGES), OVERTAKE_LIMIT_STAGES);
	assert_int_equal(ovt_limit_value(OVERTAKE_LIMIT_STAGES), 4096);
}

struct parts_row {
	const char *what;
	enum ovt_refusal reason;
	u32 index;
	u32 fc_count;
	struct overtake_part parts[3];
};

static const struct parts_row parts_rows[] = {
	{ "no cores named", OVT_ACCEPTED, 0, 6, { { 1, 0 }, { 2, 0 }, { 3, 0 } } },
	{ "all cores named", OVT_ACCEPTED, 0, 6, { { 1, 4 }, { 2, 1 }, { 3, 2 } } },
	{ "a part without FCs", OVT_REFUSED_PART_FCS, 1, 4, { { 1, 0 }, { 0, 0 }, { 3, 0 } } },
	{ "one FC too few", OVT_REFUSED_PART_SUM, 0, 7, { { 1, 0 }, { 2, 0 }, { 3, 0 } } },
	{ "one FC too many", OVT_REFUSED_PART_SUM, 0, 5, { { 1, 0 }, { 2, 0 }, { 3, 0 } } },
	{ "a sum that wraps around", OVT_REFUSED_PART_SUM, 0, 1, { { ~0u, 0 }, { 1, 0 }, { 1, 0 } } },
	{ "a core behind the last", OVT_REFUSED_PART_CORE, 2, 6, { { 1, 4 }, { 2, 1 }, { 3, 5 } } },
	{ "an absurd core", OVT_REFUSED_PART_CORE, 0, 6, { { 1, ~0u }, { 2, 1 }, { 3, 2 } } },
	{ "one core not named", OVT_REFUSED_PART_CORES, 1, 6, { { 1, 4 }, { 2, 0 }, { 3, 2 } } },
	{ "one core named", OVT_REFUSED_PART_CORES, 2, 6, { { 1, 0 }, { 2, 0 }, { 3, 2 } } },
	{ "a core twice", OVT_REFUSED_PART_TWICE, 2, 6, { { 1, 4 }, { 2, 1 }, { 3, 4 } } },
};

static void parts_have_fcs_and_cores_of_their_own(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(parts_rows); i++) {
		const struct parts_row *row = &parts_rows[i];

		print_message("  %s\n", row->what);
		assert_verdict(ovt_check_parts(row->parts, 3, row->fc_count, CORES), row->reason,
			       row->index);
	}
}

static void a_part_for_each_of_as_many_cores_as_there_may_be(void **state)
{
	struct overtake_part parts[OVERTAKE_MAX_CORES];
	u32 i;

	(void)state;
	for (i = 0; i < OVERTAKE_MAX_CORES; i++)
		parts[i] = (struct overtake_part){ 1, OVERTAKE_MAX_CORES - i };
	assert_verdict(ovt_check_parts(parts, OVERTAKE_MAX_CORES, OVERTAKE_MAX_CORES,
				       OVERTAKE_MAX_CORES), OVT_ACCEPTED, 0);
	parts[63].core = 64;
	assert_verdict(ovt_check_parts(parts, OVERTAKE_MAX_CORES, OVERTAKE_MAX_CORES,
				       OVERTAKE_MAX_CORES), OVT_REFUSED_PART_TWICE, 63);
}

struct stages_row {
	const char *what;
	enum ovt_refusal reason;
	u32 index;
	u32 stage_count;
	u32 stages[5]; /* of a part of three FCs and one of two */
};

static const struct stages_row stages_rows[] = {
	{ "one stage", OVT_ACCEPTED, 0, 1, { 0, 0, 0, 0, 0 } },
	{ "an own stage for each FC", OVT_ACCEPTED, 0, 5, { 0, 2, 4, 1, 3 } },
	{ "a part that begins late", OVT_ACCEPTED, 0, 3, { 0, 1, 1, 2, 2 } },
	{ "a stage before that of the FC before", OVT_REFUSED_FC_STAGE, 2, 3, { 0, 2, 1, 0, 1 } },
	{ "one behind the last", OVT_REFUSED_FC_STAGE, 4, 2, { 0, 0, 1, 1, 2 } },
	{ "an absurd one", OVT_REFUSED_FC_STAGE, 0, 2, { ~0u, 0, 1, 1, 1 } },
	{ "a stage without FCs", OVT_REFUSED_EMPTY_STAGE, 1, 3, { 0, 0, 2, 0, 2 } },
	{ "no FC in the first", OVT_REFUSED_EMPTY_STAGE, 0, 2, { 1, 1, 1, 1, 1 } },
	{ "none in the last", OVT_REFUSED_EMPTY_STAGE, 2, 3, { 0, 1, 1, 0, 1 } },
};

static void stages_ascend_and_are_not_empty(void **state)
{
	static const struct overtake_part parts[2] = { { 3, 0 }, { 2, 0 } };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(stages_rows); i++) {
		const struct stages_row *row = &stages_rows[i];
		u32 fcs[6] = { 9, 9, 9, 9, 9, 9 }; /* the array may hold anything before */
		u32 stage, sum = 0;

		print_message("  %s\n", row->what);
		assert_verdict(ovt_check_stages(parts, 2, row->stages, fcs, row->stage_count),
			       row->reason, row->index);
		if (row->reason != OVT_ACCEPTED)
			continue;
		for (stage = 0; stage < row->stage_count; stage++)
			sum += fcs[stage];
		assert_int_equal(sum, 5);
		assert_int_equal(fcs[row->stage_count], 9); /* stays as it was */
	}
}

static void parts_of_a_task_name_no_core(void **state)
{
	struct overtake_part parts[3] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };

	(void)state;
	assert_verdict(ovt_check_parts_of_task(parts, 3), OVT_ACCEPTED, 0);
	parts[2].core = 1;
	assert_verdict(ovt_check_parts_of_task(parts, 2), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_parts_of_task(parts, 3), OVT_REFUSED_PART_OF_TASK, 2);
	assert_int_equal(ovt_refusal_error(OVT_REFUSED_PART_OF_TASK), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_is_checked_at_its_boundaries),
		cmocka_unit_test(limits_of_stages_can_be_queried),
		cmocka_unit_test(parts_have_fcs_and_cores_of_their_own),
		cmocka_unit_test(a_part_for_each_of_as_many_cores_as_there_may_be),
		cmocka_unit_test(stages_ascend_and_are_not_empty),
		cmocka_unit_test(parts_of_a_task_name_no_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
