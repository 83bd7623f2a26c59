// SPDX-License-Identifier: MIT
#include "group.h"

#include <string.h>

#define RECORD_OFFSET	(RESULT_OFFSET - 4096u)

void group_init(struct group *group, const struct client *client, uint64_t tag, uint32_t first)
{
	static const uint32_t stages[GROUP_FCS] = { 0, 2, 0, 1 };

	memset(group, 0, sizeof(*group));
	job_init(&group->job, client, tag, first, GROUP_FCS);
	group->parts[0] = (struct overtake_part){ .fc_count = 2, .core = 1 };
	group->parts[1] = (struct overtake_part){ .fc_count = 2, .core = 2 };
	memcpy(group->stages, stages, sizeof(stages));
	group->extension = (struct overtake_extension_parts){
		.base = { .type = OVERTAKE_EXTENSION_PARTS },
		.parts = (uintptr_t)group->parts, .stages = (uintptr_t)group->stages,
		.part_count = 2, .stage_count = 3,
	};
	group->job.submit.extensions = (uintptr_t)&group->extension;
}

void group_wants_record(struct group *group, const struct client *client)
{
	memset(client->data.data + RECORD_OFFSET, 0xee, sizeof(struct group_record));
	group->extension.record = client->data.address + RECORD_OFFSET;
}

struct group_record group_record_of(const struct client *client)
{
	struct group_record record;

	memcpy(&record, client->data.data + RECORD_OFFSET, sizeof(record));
	return record;
}
