/* SPDX-License-Identifier: MIT */
/* Groups in a host that steps time by hand (fw_host.h). */
#ifndef TESTS_GROUP_HOST_H
#define TESTS_GROUP_HOST_H

#include "fair_host.h"

#define GROUP_FCS	256
#define GROUP_STAGES	8

/* A group; the firmware's fields are filled with USED before the firmware gets it. */
struct mock_group {
	struct mock_job job;	/* first, so that a group can be freed as a job */
	struct ovt_fw_group fw;
	struct ovt_fw_part parts[MAX_CORES];
	struct ovt_fc fcs[MAX_CORES][GROUP_FCS];
	u32 stages[MAX_CORES][GROUP_FCS];
	u32 stage_fcs[GROUP_STAGES];
};

/*
 * @text: parts separated by ";", each "CORE: 10 20 | 30 |": durations stage by stage, CORE is 0 or
 * the core that the part names.
 */
struct mock_group *group_new(struct mock *mock, char name, u32 priority, const char *text);
/* Calls group_new() and submit(). */
struct mock_group *group_submitted(struct mock *mock, char name, u32 priority, const char *text,
				   u64 at);

/* Sets the cycles from the end of a stage to the start of the next one on another core. */
void set_sync(struct mock *mock, u64 cycles);

/* Checks which FCs started, as "1:G0@0 2:G0@0 ...": core, job letter, index in the part, start. */
void expect_starts(const struct mock *mock, const char *expected);

/* Checks that nothing is left in @mock. */
void expect_nothing_left(const struct mock *mock);

#endif
