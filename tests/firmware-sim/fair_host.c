// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "cmocka_all.h"
#include "fair_host.h"

struct fair *fair_new_with_quota(u32 cores, u32 limit, u64 quota_ns)
{
	struct fair *fair = calloc(1, sizeof(*fair));
	u32 index;

	memset(fair->contexts, USED, sizeof(fair->contexts));
	memset(fair->turns, USED, sizeof(fair->turns));
	fair->mock = mock_new_fair(cores, quota_ns);
	for (index = 0; index < CONTEXTS; index++) {
		ovt_fw_context_init(&fair->contexts[index]);
		ovt_fw_context_take_turns(&fair->contexts[index], fair->turns[index], cores);
	}
	for (index = 1; index <= cores; index++)
		set_limit(fair->mock, index, limit, 0);
	return fair;
}

struct fair *fair_new(u32 cores, u32 limit)
{
	return fair_new_with_quota(cores, limit, 0);
}

void fair_free(struct fair *fair)
{
	u32 core, context;

	for (core = 0; core < fair->mock->fw.config.core_count; core++) {
		const struct ovt_fw_core *state = &fair->mock->states[core];

		assert_int_equal(state->unfinished, 0);
		assert_int_equal(state->resting, 0);
		assert_int_equal(state->waiting[OVT_RING_NORMAL], 0);
		assert_true(ovt_list_empty(&state->circle));
		for (context = 0; context < CONTEXTS; context++) {
			assert_int_equal(fair->turns[context][core].waiting, 0);
			assert_int_equal(fair->turns[context][core].allowance, 0);
		}
	}
	free(fair->mock);
	free(fair);
}

struct mock_job *submit_to_core(struct fair *fair, u32 context, char name, u32 core, u32 priority,
				u32 fc_count, u64 duration, u64 at)
{
	struct mock_job *job = job_new(fair->mock, name, core, priority, fc_count, duration);

	job->fw.context = &fair->contexts[context];
	submit(fair->mock, job, at);
	return job;
}

struct mock_job *submit_of(struct fair *fair, u32 context, char name, u32 priority, u32 fc_count,
			   u64 at)
{
	return submit_to_core(fair, context, name, 1, priority, fc_count, 10, at);
}
