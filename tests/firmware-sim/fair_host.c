// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "fair_host.h"

struct mock *fair_new_with_quota(void **state, u32 cores, u32 limit, u64 quota_ns)
{
	struct mock *mock = mock_new_fair(state, cores, quota_ns);
	u32 index;

	for (index = 0; index < CONTEXTS; index++) {
		ovt_fw_context_init(&mock->contexts[index]);
		ovt_fw_context_take_turns(&mock->contexts[index], mock->turns[index], cores);
	}
	for (index = 1; index <= cores; index++)
		set_limit(mock, index, limit, 0);
	return mock;
}

struct mock *fair_new(void **state, u32 cores, u32 limit)
{
	return fair_new_with_quota(state, cores, limit, 0);
}

struct mock_job *submit_to_core(struct mock *mock, u32 context, char name, u32 core, u32 priority,
				u32 fc_count, u64 duration, u64 at)
{
	struct mock_job *job = job_new(mock, name, core, priority, fc_count, duration);

	job->fw.context = &mock->contexts[context];
	submit(mock, job, at);
	return job;
}

struct mock_job *submit_of(struct mock *mock, u32 context, char name, u32 priority, u32 fc_count,
			   u64 at)
{
	return submit_to_core(mock, context, name, 1, priority, fc_count, 10, at);
}
