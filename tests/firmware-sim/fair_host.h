/* SPDX-License-Identifier: MIT */
/* A fair device in a host that steps time by hand (fw_host.h), and contexts that take turns. */
#ifndef TESTS_FAIR_HOST_H
#define TESTS_FAIR_HOST_H

#include "fw_host.h"

/*
 * @limit: core limit of all cores.  @quota_ns: see struct ovt_fw_config.  Each job belongs to one
 * of the mock's @contexts: the mock's own @context has no turns and must not be used.
 */
struct mock *fair_new_with_quota(void **state, u32 cores, u32 limit, u64 quota_ns);
struct mock *fair_new(void **state, u32 cores, u32 limit);

/* Submits a job at @at, with FCs of 10 on core 1. */
struct mock_job *submit_of(struct mock *mock, u32 context, char name, u32 priority, u32 fc_count,
			   u64 at);
/* Submits a job with FCs of any length to any core; @core may be OVT_CORE_ANY. */
struct mock_job *submit_to_core(struct mock *mock, u32 context, char name, u32 core, u32 priority,
				u32 fc_count, u64 duration, u64 at);

#endif
