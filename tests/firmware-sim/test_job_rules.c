// SPDX-License-Identifier: MIT
/* Jobs that a client may submit: each reason to refuse, at its boundary, with index and errno. */
#include "cmocka_all.h"
#include "host/job_rules.h"
#include "host/record_rules.h"

#define CORES	4u

#define assert_verdict(verdict_, reason_, index_) \
	do { \
		struct ovt_verdict got_ = (verdict_); \
		assert_int_equal(got_.reason, reason_); \
		assert_int_equal(got_.index, index_); \
	} while (0)

static struct drm_overtake_submit good_job(void)
{
	return (struct drm_overtake_submit){ .fc_count = 1, .binding_count = 1 };
}

static struct overtake_binding good_binding(u32 region)
{
	return (struct overtake_binding){
		.address = 4096, .length = 64, .region = region, .flags = OVERTAKE_MAP_READ,
	};
}

/* One field of a good job: the greatest value that is allowed and the least that is not. */
struct boundary {
	const char *what;
	enum ovt_refusal reason;
	void (*set)(struct drm_overtake_submit *job, u64 value);
	u64 allowed;
	u64 refused;
};

#define SETTER(field) \
	static void set_##field(struct drm_overtake_submit *job, u64 value) \
	{ \
		job->field = (__typeof__(job->field))value; \
	}

SETTER(flags)
SETTER(deadline_ns)
SETTER(fc_count)
SETTER(binding_count)
SETTER(core)
SETTER(priority)
SETTER(result)
SETTER(scratch_bytes)

static const struct boundary boundaries[] = {
	{ "no flag is defined", OVT_REFUSED_FLAGS, set_flags, 0, 1 },
	{ "the last flag neither", OVT_REFUSED_FLAGS, set_flags, 0, 0x8000 },
	{ "deadlines from 0", OVT_REFUSED_DEADLINE, set_deadline_ns, 0, ~0ull },
	{ "to never", OVT_REFUSED_DEADLINE, set_deadline_ns, OVERTAKE_DEADLINE_NEVER, 1ull << 63 },
	{ "an FC at least", OVT_REFUSED_NO_FC, set_fc_count, 1, 0 },
	{ "a binding at least", OVT_REFUSED_NO_BINDING, set_binding_count, 1, 0 },
	{ "the last core", OVT_REFUSED_CORE, set_core, CORES, CORES + 1 },
	{ "no absurd core", OVT_REFUSED_CORE, set_core, OVERTAKE_CORE_ANY, ~0u },
	{ "priority 255", OVT_REFUSED_PRIORITY, set_priority, 255, 256 },
	{ "no absurd priority", OVT_REFUSED_PRIORITY, set_priority, 0, 0xffff },
	{ "an aligned record", OVT_REFUSED_RESULT_ALIGNMENT, set_result, 4096, 4100 },
	{ "65536 FCs", OVT_REFUSED_FCS, set_fc_count, 65536, 65537 },
	{ "no absurd number of them", OVT_REFUSED_FCS, set_fc_count, 2, ~0u },
	{ "15 bindings", OVT_REFUSED_BINDINGS, set_binding_count, 15, 16 },
	{ "no absurd number of them", OVT_REFUSED_BINDINGS, set_binding_count, 2, ~0u },
	{ "256 MiB of scratch", OVT_REFUSED_SCRATCH, set_scratch_bytes, 256u << 20,
	  (256u << 20) + 1 },
};

static void fields_are_checked_at_their_boundaries(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(boundaries); i++) {
		const struct boundary *row = &boundaries[i];
		struct drm_overtake_submit job = good_job();

		print_message("  %s\n", row->what);
		row->set(&job, row->allowed);
		assert_verdict(ovt_check_submit(&job, CORES), OVT_ACCEPTED, 0);
		row->set(&job, row->refused);
		assert_verdict(ovt_check_submit(&job, CORES), row->reason, 0);
	}
}

/* 65,537 FCs on a core that does not exist: every host reports the core. */
static void a_field_that_is_wrong_comes_before_one_that_is_too_great(void **state)
{
	struct drm_overtake_submit job = good_job();

	(void)state;
	job.fc_count = OVERTAKE_MAX_FCS + 1;
	job.core = CORES + 1;
	assert_verdict(ovt_check_submit(&job, CORES), OVT_REFUSED_CORE, 0);
	job.core = CORES;
	job.binding_count = 0;
	assert_verdict(ovt_check_submit(&job, CORES), OVT_REFUSED_NO_BINDING, 0);
	job.binding_count = 16;
	assert_verdict(ovt_check_submit(&job, CORES), OVT_REFUSED_FCS, 0);
	job.flags = 1;
	job.deadline_ns = -1;
	assert_verdict(ovt_check_submit(&job, CORES), OVT_REFUSED_FLAGS, 0);
}

static void a_priority_needs_its_queues_right(void **state)
{
	struct drm_overtake_submit job = good_job();

	(void)state;
	job.priority = 7;
	assert_verdict(ovt_check_right(&job, 7), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_right(&job, 6), OVT_REFUSED_RIGHT, 0);
	job.priority = 255;
	assert_verdict(ovt_check_right(&job, 255), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_right(&job, 254), OVT_REFUSED_RIGHT, 0);
}

static void the_first_empty_fc_is_named(void **state)
{
	struct overtake_fc fcs[4] = { { 0, 1 }, { 0, 0 }, { 9, 1 }, { 5, 0 } };

	(void)state;
	assert_verdict(ovt_check_fcs(fcs, 1), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_fcs(fcs, 4), OVT_REFUSED_EMPTY_FC, 1);
	fcs[1].insn_count = ~0u;
	assert_verdict(ovt_check_fcs(fcs, 3), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_fcs(fcs, 4), OVT_REFUSED_EMPTY_FC, 3);
	fcs[0].insn_count = 0;
	assert_verdict(ovt_check_fcs(fcs, 4), OVT_REFUSED_EMPTY_FC, 0);
}

struct binding_row {
	const char *what;
	enum ovt_refusal reason;
	struct overtake_binding binding;
};

#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)

static const struct binding_row binding_rows[] = {
	{ "the first region", OVT_ACCEPTED, { 8, 1, 0, OVERTAKE_MAP_READ } },
	{ "the last region", OVT_ACCEPTED, { 8, ~0ull, OVERTAKE_MAX_REGIONS - 1, READ_WRITE } },
	{ "one behind it", OVT_REFUSED_REGION, { 8, 1, OVERTAKE_MAX_REGIONS, OVERTAKE_MAP_READ } },
	{ "an absurd one", OVT_REFUSED_REGION, { 8, 1, ~0u, OVERTAKE_MAP_READ } },
	{ "scratch", OVT_REFUSED_BOUND_SCRATCH, { 8, 1, OVERTAKE_REGION_SCRATCH, OVERTAKE_MAP_READ } },
	{ "no byte", OVT_REFUSED_LENGTH, { 8, 0, 4, OVERTAKE_MAP_READ } },
	{ "no access", OVT_REFUSED_ACCESS, { 8, 1, 4, 0 } },
	{ "write alone", OVT_REFUSED_ACCESS, { 8, 1, 4, OVERTAKE_MAP_WRITE } },
	{ "a flag of the future", OVT_REFUSED_ACCESS, { 8, 1, 4, READ_WRITE | 4 } },
	{ "region 5 again", OVT_REFUSED_BOUND_TWICE, { 8, 1, 5, OVERTAKE_MAP_READ } },
};

static void a_binding_is_checked_beside_those_before_it(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(binding_rows); i++) {
		const struct binding_row *row = &binding_rows[i];
		bool accepted = row->reason == OVT_ACCEPTED;
		const u32 before = 1u << 5;
		u32 bound = before;

		print_message("  %s\n", row->what);
		assert_verdict(ovt_check_binding(&row->binding, 11, &bound), row->reason,
			       accepted ? 0 : 11);
		/* A refused binding takes no region. */
		assert_int_equal(bound, accepted ? before | 1u << row->binding.region : before);
	}
}

static void every_region_but_scratch_can_be_bound_once(void **state)
{
	u32 region, bound = 0, count = 0;

	(void)state;
	for (region = 0; region < OVERTAKE_MAX_REGIONS; region++) {
		const struct overtake_binding binding = good_binding(region);

		count += ovt_check_binding(&binding, count, &bound).reason == OVT_ACCEPTED;
	}
	assert_int_equal(count, OVERTAKE_MAX_BINDINGS);
	for (region = 0; region < OVERTAKE_MAX_REGIONS; region++) {
		const struct overtake_binding binding = good_binding(region);

		assert_verdict(ovt_check_binding(&binding, region, &bound),
			       region == OVERTAKE_REGION_SCRATCH ? OVT_REFUSED_BOUND_SCRATCH :
								   OVT_REFUSED_BOUND_TWICE, region);
	}
}

static void memory_has_to_be_there_and_to_allow_what_is_asked(void **state)
{
	struct overtake_binding binding = good_binding(4);

	(void)state;
	assert_verdict(ovt_check_memory(&binding, 2, OVERTAKE_MAP_READ), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_memory(&binding, 2, 0), OVT_REFUSED_MEMORY, 2);
	binding.flags = READ_WRITE;
	assert_verdict(ovt_check_memory(&binding, 2, READ_WRITE), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_memory(&binding, 2, OVERTAKE_MAP_READ), OVT_REFUSED_READ_ONLY, 2);
	assert_verdict(ovt_check_memory(&binding, 2, 0), OVT_REFUSED_MEMORY, 2);
	assert_verdict(ovt_check_result(READ_WRITE), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_result(OVERTAKE_MAP_READ), OVT_REFUSED_RESULT_READ_ONLY, 0);
	assert_verdict(ovt_check_result(0), OVT_REFUSED_RESULT_MEMORY, 0);
}

static void a_range_lies_inside_to_its_last_byte_and_no_sum_overflows(void **state)
{
	const u64 begin = 4096, size = 100;

	(void)state;
	assert_true(ovt_range_is_inside(begin, size, begin, size));
	assert_true(ovt_range_is_inside(begin + 99, 1, begin, size));
	assert_false(ovt_range_is_inside(begin + 99, 2, begin, size));
	assert_false(ovt_range_is_inside(begin + 100, 1, begin, size));
	assert_false(ovt_range_is_inside(begin, 101, begin, size));
	assert_false(ovt_range_is_inside(begin - 1, 1, begin, size));
	assert_false(ovt_range_is_inside(begin + 1, ~0ull, begin, size));
	assert_false(ovt_range_is_inside(~0ull, 1, begin, size));
	assert_false(ovt_range_is_inside(0, ~0ull, begin, size));
}

static void room_is_what_the_limits_leave(void **state)
{
	(void)state;
	assert_verdict(ovt_check_room(false, 0, 0), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_room(false, 1023, 8191), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_room(false, 1024, 8191), OVT_REFUSED_QUEUE_FULL, 0);
	assert_verdict(ovt_check_room(false, 1023, 8192), OVT_REFUSED_CLIENT_FULL, 0);
	assert_verdict(ovt_check_room(false, 1024, 8192), OVT_REFUSED_QUEUE_FULL, 0);
	assert_verdict(ovt_check_room(true, 1024, 8192), OVT_REFUSED_TAG, 0);
}

static void queues_and_buffers_have_bounds(void **state)
{
	(void)state;
	assert_verdict(ovt_check_queue(255, ~0u), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_queue(254, 0), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_queue(254, 1), OVT_REFUSED_QUEUE_LIMIT, 0);
	assert_verdict(ovt_check_queue(256, 0), OVT_REFUSED_QUEUE_PRIORITY, 0);
	assert_verdict(ovt_check_queue(256, 1), OVT_REFUSED_QUEUE_PRIORITY, 0);
	assert_verdict(ovt_check_buffer(1), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_buffer(1ull << 30), OVT_ACCEPTED, 0);
	assert_verdict(ovt_check_buffer((1ull << 30) + 1), OVT_REFUSED_BUFFER_BYTES, 0);
	assert_verdict(ovt_check_buffer(0), OVT_REFUSED_NO_BYTES, 0);
}

/* The errno of each reason, which is part of the interface. */
static const struct {
	s32 error;
	u32 limit;
} answers[OVT_REFUSAL_COUNT] = {
	[OVT_ACCEPTED] = { 0, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_FLAGS] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_DEADLINE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_NO_FC] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_NO_BINDING] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_CORE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PRIORITY] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_RESULT_ALIGNMENT] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_FCS] = { -E2BIG, OVERTAKE_LIMIT_FCS },
	[OVT_REFUSED_BINDINGS] = { -E2BIG, OVERTAKE_LIMIT_BINDINGS },
	[OVT_REFUSED_SCRATCH] = { -E2BIG, OVERTAKE_LIMIT_SCRATCH_BYTES },
	[OVT_REFUSED_RIGHT] = { -EPERM, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_EMPTY_FC] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_REGION] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_BOUND_SCRATCH] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_BOUND_TWICE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_LENGTH] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_ACCESS] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_MEMORY] = { -ENOENT, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_READ_ONLY] = { -EACCES, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_RESULT_MEMORY] = { -ENOENT, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_RESULT_READ_ONLY] = { -EACCES, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PLACEMENT] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_OPEN_CORES] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_GROUP_CORE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PARTS] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_NO_STAGE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_STAGES] = { -E2BIG, OVERTAKE_LIMIT_STAGES },
	[OVT_REFUSED_RECORD_ALIGNMENT] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PART_FCS] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PART_SUM] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PART_CORE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PART_CORES] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PART_TWICE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PART_OF_TASK] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_FC_STAGE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_EMPTY_STAGE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_NO_INSTANCE] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_INSTANCES] = { -E2BIG, OVERTAKE_LIMIT_INSTANCES },
	[OVT_REFUSED_RECORDINGS] = { -ENOSPC, OVERTAKE_LIMIT_RECORDINGS },
	[OVT_REFUSED_NO_RECORDING] = { -ENOENT, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_PARTS_OF_RECORD] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_BUSY] = { -EBUSY, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_TAG] = { -EEXIST, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_QUEUE_FULL] = { -ENOSPC, OVERTAKE_LIMIT_CONTEXT_JOBS },
	[OVT_REFUSED_CLIENT_FULL] = { -ENOSPC, OVERTAKE_LIMIT_CLIENT_JOBS },
	[OVT_REFUSED_DEVICE_FULL] = { -ENOSPC, OVERTAKE_LIMIT_COMMANDS },
	[OVT_REFUSED_QUEUE_PRIORITY] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_QUEUE_LIMIT] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_QUEUES] = { -ENOSPC, OVERTAKE_LIMIT_CONTEXTS },
	[OVT_REFUSED_NO_BYTES] = { -EINVAL, OVERTAKE_LIMIT_COUNT },
	[OVT_REFUSED_BUFFER_BYTES] = { -E2BIG, OVERTAKE_LIMIT_BUFFER_BYTES },
};

static void a_choice_of_cores_names_those_that_the_device_has(void **state)
{
	static const struct {
		u32 core;
		u64 open_cores;
		u32 cores;
		enum ovt_refusal reason;
	} rows[] = {
		{ 0, 0x1, 1, OVT_ACCEPTED },
		{ 0, 0x2, 2, OVT_ACCEPTED },
		{ 0, 0x3, 2, OVT_ACCEPTED },
		{ 0, 1ull << 63, 64, OVT_ACCEPTED },
		{ 0, ~0ull, 64, OVT_ACCEPTED },
		{ 1, 0x3, 2, OVT_REFUSED_PLACEMENT },
		{ 1, 0, 2, OVT_REFUSED_PLACEMENT },
		{ 0, 0, 2, OVT_REFUSED_OPEN_CORES },
		{ 0, 0x4, 2, OVT_REFUSED_OPEN_CORES },
		{ 0, 0x7, 2, OVT_REFUSED_OPEN_CORES },
		{ 0, 1ull << 63, 63, OVT_REFUSED_OPEN_CORES },
	};
	size_t row;

	(void)state;
	for (row = 0; row < COUNT(rows); row++) {
		struct drm_overtake_submit job = { .core = rows[row].core };
		struct ovt_verdict verdict =
			ovt_check_placement(&job, rows[row].open_cores, rows[row].cores);

		assert_int_equal(verdict.reason, rows[row].reason);
		assert_int_equal(verdict.index, 0);
	}
}

static void a_recording_is_a_submission_with_instances(void **state)
{
	const struct drm_overtake_record right = {
		.fc_count = 1, .binding_count = 1, .instances = OVERTAKE_MAX_INSTANCES,
	};
	struct drm_overtake_record record = right;

	(void)state;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_ACCEPTED);
	record.instances++;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_INSTANCES);
	record.instances = 0;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_NO_INSTANCE);
	record = right;
	record.fc_count = 0;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_NO_FC);
	record = right;
	record.scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_SCRATCH);
	record = right;
	record.flags = 1;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_FLAGS);
	record = right;
	record.pad = 1;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_FLAGS);
	record = right;
	record.record_id = 1;
	assert_int_equal(ovt_check_record(&record, 2).reason, OVT_REFUSED_FLAGS);
}

static void a_replay_is_a_submission_of_what_was_recorded(void **state)
{
	const struct drm_overtake_replay right = { .core = 2, .priority = 255 };
	struct drm_overtake_replay replay = right;
	struct drm_overtake_submit submit = ovt_submit_of_replay(&replay);

	(void)state;
	assert_int_equal(ovt_check_replay(&replay, 2).reason, OVT_ACCEPTED);
	assert_int_equal(ovt_check_right(&submit, 254).reason, OVT_REFUSED_RIGHT);
	assert_int_equal(ovt_check_replay(&replay, 1).reason, OVT_REFUSED_CORE);
	replay.binding_count = OVERTAKE_MAX_BINDINGS;
	assert_int_equal(ovt_check_replay(&replay, 2).reason, OVT_ACCEPTED);
	replay.binding_count++;
	assert_int_equal(ovt_check_replay(&replay, 2).reason, OVT_REFUSED_BINDINGS);
	replay = right;
	replay.flags = 1;
	assert_int_equal(ovt_check_replay(&replay, 2).reason, OVT_REFUSED_FLAGS);
	replay = right;
	replay.pad = 1;
	assert_int_equal(ovt_check_replay(&replay, 2).reason, OVT_REFUSED_FLAGS);
	replay = right;
	replay.result = 4;
	assert_int_equal(ovt_check_replay(&replay, 2).reason, OVT_REFUSED_RESULT_ALIGNMENT);
	replay = right;
	assert_int_equal(ovt_check_replay_cores(&replay, 0, 0).reason, OVT_ACCEPTED);
	assert_int_equal(ovt_check_replay_cores(&replay, 2, 0).reason, OVT_REFUSED_GROUP_CORE);
	replay.core = 0;
	assert_int_equal(ovt_check_replay_cores(&replay, 2, 0).reason, OVT_ACCEPTED);
	assert_int_equal(ovt_check_replay_cores(&replay, 2, 1).reason, OVT_REFUSED_GROUP_CORE);
}

static void a_replay_has_the_parts_that_were_recorded(void **state)
{
	struct overtake_extension_replay_parts parts = { .part_count = 2, .record = 8 };

	(void)state;
	assert_int_equal(ovt_check_replay_parts(&parts, 2).reason, OVT_ACCEPTED);
	assert_int_equal(ovt_check_replay_parts(&parts, 3).reason, OVT_REFUSED_PARTS_OF_RECORD);
	assert_int_equal(ovt_check_replay_parts(&parts, 0).reason, OVT_REFUSED_PARTS_OF_RECORD);
	parts.record = 4;
	assert_int_equal(ovt_check_replay_parts(&parts, 2).reason, OVT_REFUSED_RECORD_ALIGNMENT);
	parts.record = 0;
	parts.pad = 1;
	assert_int_equal(ovt_check_replay_parts(&parts, 2).reason, OVT_REFUSED_FLAGS);
	parts.part_count = 0;
	assert_int_equal(ovt_check_replay_parts(&parts, 0).reason, OVT_REFUSED_PARTS_OF_RECORD);
}

static void each_reason_has_its_errno_and_its_limit(void **state)
{
	u32 reason;

	(void)state;
	for (reason = 0; reason < OVT_REFUSAL_COUNT; reason++) {
		assert_int_equal(ovt_refusal_error(reason), answers[reason].error);
		assert_int_equal(ovt_refusal_limit(reason), answers[reason].limit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_checked_at_their_boundaries),
		cmocka_unit_test(a_field_that_is_wrong_comes_before_one_that_is_too_great),
		cmocka_unit_test(a_priority_needs_its_queues_right),
		cmocka_unit_test(the_first_empty_fc_is_named),
		cmocka_unit_test(a_binding_is_checked_beside_those_before_it),
		cmocka_unit_test(every_region_but_scratch_can_be_bound_once),
		cmocka_unit_test(memory_has_to_be_there_and_to_allow_what_is_asked),
		cmocka_unit_test(a_range_lies_inside_to_its_last_byte_and_no_sum_overflows),
		cmocka_unit_test(room_is_what_the_limits_leave),
		cmocka_unit_test(queues_and_buffers_have_bounds),
		cmocka_unit_test(a_choice_of_cores_names_those_that_the_device_has),
		cmocka_unit_test(a_recording_is_a_submission_with_instances),
		cmocka_unit_test(a_replay_is_a_submission_of_what_was_recorded),
		cmocka_unit_test(a_replay_has_the_parts_that_were_recorded),
		cmocka_unit_test(each_reason_has_its_errno_and_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
