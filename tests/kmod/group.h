/* SPDX-License-Identifier: MIT */
/* Groups: jobs with a part for each of several cores. */
#ifndef KMOD_GROUP_H
#define KMOD_GROUP_H

#include "device.h"

#define GROUP_FCS	4u

/* A job with the extension that makes it a group; it holds pointers into itself. */
struct group {
	struct job job;
	struct overtake_extension_parts extension;
	struct overtake_part parts[OVERTAKE_MAX_CORES + 1];
	uint32_t stages[GROUP_FCS];
};

/*
 * Makes two parts of two FCs each, from instruction @first on, for cores 1 and 2.  The first part
 * has stages 0 and 2, the second 0 and 1.
 */
void group_init(struct group *group, const struct client *client, uint64_t tag, uint32_t first);
/* Asks for the group's record, with two parts, in the page before the client's result records. */
void group_wants_record(struct group *group, const struct client *client);

struct group_record {
	struct overtake_group_record head;
	struct overtake_part_record parts[2];
};

struct group_record group_record_of(const struct client *client);

#endif
