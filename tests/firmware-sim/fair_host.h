/* SPDX-License-Identifier: MIT */
/* A fair device in a host that steps time by hand (fw_host.h), and contexts that take turns. */
#ifndef TESTS_FAIR_HOST_H
#define TESTS_FAIR_HOST_H

#include "fw_host.h"

#define CONTEXTS	3

/* The mock's own context has no turns and must not be used. */
struct fair {
	struct mock *mock;
	struct ovt_fw_context contexts[CONTEXTS];
	struct ovt_fw_turn turns[CONTEXTS][MAX_CORES];
};

/* @limit: of all cores; @quota_ns: see struct ovt_fw_config. */
struct fair *fair_new_with_quota(u32 cores, u32 limit, u64 quota_ns);
struct fair *fair_new(u32 cores, u32 limit);
/* Checks that nothing waits any more. */
void fair_free(struct fair *fair);

/* FCs of 10 on core 1, submitted at @at. */
struct mock_job *submit_of(struct fair *fair, u32 context, char name, u32 priority, u32 fc_count,
			   u64 at);
/* The same on any core, of any length; @core may be OVT_CORE_ANY. */
struct mock_job *submit_to_core(struct fair *fair, u32 context, char name, u32 core, u32 priority,
				u32 fc_count, u64 duration, u64 at);

#endif
