// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: jobs with a part for each of several cores.
 *
 * A group is one job of the driver: one reference count, fence, deadline and completion.  Its parts
 * are memory beside the job, from its submission until it is freed.  The firmware leads them
 * through stages (firmware-sim/fw/group.c); firmware-sim/host/group_rules.h has the rules for
 * groups that may be submitted.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "host/group_rules.h"
#include "host/job_result.h"
#include "host/record_rules.h"
#include "overtake_client.h"
#include "overtake_gem.h"
#include "overtake_group.h"
#include "overtake_job_memory.h"
#include "overtake_limits.h"

/* Sets the FCs of each part, which are copies already, and the stage of each FC. */
static void set_parts(struct overtake_job *job, const struct overtake_part *parts)
{
	struct overtake_group *group = job->group;
	u32 fc = 0;
	u32 i;

	for (i = 0; i < group->fw.part_count; i++) {
		struct ovt_fw_part *part = &group->parts[i];

		part->fcs = &job->fcs[fc];
		part->stages = &group->stages[fc];
		part->fc_count = parts[i].fc_count;
		part->core = parts[i].core;
		fc += parts[i].fc_count;
	}
	group->fw.parts = group->parts;
	group->fw.stage_fcs = group->stage_fcs;
	job->fw.group = &group->fw;
}

static int copy_parts(struct overtake_job *job, const struct drm_overtake_submit *args,
		      const struct overtake_extension_parts *extension, bool of_task)
{
	struct overtake_client *client = job->context->client;
	struct overtake_part parts[OVERTAKE_MAX_CORES];
	u32 count = extension->part_count;
	int ret;

	if (copy_from_user(parts, u64_to_user_ptr(extension->parts), count * sizeof(parts[0])))
		return -EFAULT;
	ret = overtake_judge(client, ovt_check_parts(parts, count, args->fc_count,
						     client->device->settings.cores));
	if (!ret && of_task)
		ret = overtake_judge(client, ovt_check_parts_of_task(parts, count));
	if (ret)
		return ret;
	if (copy_from_user(job->group->stages, u64_to_user_ptr(extension->stages),
			   args->fc_count * sizeof(u32)))
		return -EFAULT;
	ret = overtake_judge(client, ovt_check_stages(parts, count, job->group->stages,
						      job->group->stage_fcs,
						      extension->stage_count));
	if (!ret)
		set_parts(job, parts);
	return ret;
}

static int alloc_group(struct overtake_job *job, u32 fc_count, u32 part_count, u32 stage_count)
{
	struct overtake_group *group;
	size_t bytes = struct_size(group, parts, part_count);
	size_t stages = ((size_t)fc_count + stage_count) * sizeof(u32);
	int ret = overtake_job_charge(job, bytes + stages);

	if (ret)
		return ret;
	group = kzalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	job->group = group; /* job_free() frees it */
	group->own_stages = kvmalloc(stages, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!group->own_stages)
		return -ENOMEM;
	group->stages = group->own_stages;
	group->stage_fcs = group->stages + fc_count;
	group->fw.part_count = part_count;
	group->fw.stage_count = stage_count;
	return 0;
}

static int make_group(struct overtake_job *job, const struct drm_overtake_submit *args,
		      const struct overtake_extension_parts *extension, bool of_task)
{
	int ret = overtake_judge(job->context->client,
				 ovt_check_group(args, extension, job->open_cores,
						 overtake_job_device(job)->settings.cores));

	if (!ret)
		ret = alloc_group(job, args->fc_count, extension->part_count,
				  extension->stage_count);
	if (!ret)
		ret = copy_parts(job, args, extension, of_task);
	if (!ret)
		job->group->record_address = extension->record;
	return ret;
}

/* overtake_group_parse - makes @job, whose FCs are copied, a group.  May sleep. */
int overtake_group_parse(struct overtake_job *job, const struct drm_overtake_submit *args,
			 const struct overtake_extension_parts __user *user)
{
	struct overtake_extension_parts extension;

	if (copy_from_user(&extension, user, sizeof(extension)))
		return -EFAULT;
	return make_group(job, args, &extension, false);
}

/* Makes the job of a segment a group, which has no record.  @parts: a copy. */
int overtake_group_parse_of_task(struct overtake_job *job, const struct drm_overtake_submit *args,
				 const struct overtake_segment_parts *parts)
{
	const struct overtake_extension_parts extension = {
		.parts = parts->parts,
		.stages = parts->stages,
		.part_count = parts->part_count,
		.stage_count = parts->stage_count,
	};

	return make_group(job, args, &extension, true);
}

/* Writes the record of a group that has ended, before its end is delivered.  Any context. */
void overtake_group_write_record(const struct overtake_group *group)
{
	struct overtake_group_record record = ovt_group_record(&group->fw);
	void *to = group->record;
	u32 i;

	if (!to)
		return;
	memcpy(to, &record, sizeof(record));
	to += sizeof(record);
	for (i = 0; i < record.part_count; i++, to += record.part_bytes) {
		struct overtake_part_record part = ovt_part_record(&group->parts[i]);

		memcpy(to, &part, sizeof(part));
	}
}

void overtake_group_free(struct overtake_group *group)
{
	if (!group)
		return;
	kvfree(group->own_stages);
	kfree(group);
}

/*
 * overtake_group_clone - create a group with the stages of @group, which outlives it
 *
 * Returns NULL without memory.  overtake_group_reset() sets its parts.  The caller has charged the
 * client.
 */
struct overtake_group *overtake_group_clone(const struct overtake_group *group)
{
	struct overtake_group *clone = kzalloc(struct_size(clone, parts, group->fw.part_count),
					       GFP_KERNEL_ACCOUNT);

	if (!clone)
		return NULL;
	clone->stages = group->stages;
	clone->stage_fcs = group->stage_fcs;
	return clone;
}

/* Makes the group of @job, an instance of a recording, as @group was recorded. */
void overtake_group_reset(struct overtake_job *job, const struct overtake_group *group)
{
	struct overtake_group *clone = job->group;

	clone->fw = group->fw;
	clone->fw.parts = clone->parts;
	memcpy(clone->parts, group->parts, group->fw.part_count * sizeof(*clone->parts));
	clone->record_address = 0;
	clone->record = NULL;
	job->fw.group = &clone->fw;
}

/* overtake_group_parse_replay - read the extension of a replay of a group.  May sleep. */
int overtake_group_parse_replay(struct overtake_job *job,
				const struct overtake_extension_replay_parts __user *user)
{
	struct overtake_client *client = job->context->client;
	struct overtake_extension_replay_parts extension;
	struct overtake_part parts[OVERTAKE_MAX_CORES];
	u32 cores[OVERTAKE_MAX_CORES];
	u32 count = job->group ? job->group->fw.part_count : 0;
	u32 i;
	int ret;

	if (copy_from_user(&extension, user, sizeof(extension)))
		return -EFAULT;
	ret = overtake_judge(client, ovt_check_replay_parts(&extension, count));
	if (ret)
		return ret;
	job->group->record_address = extension.record;
	if (!extension.cores)
		return 0;
	if (copy_from_user(cores, u64_to_user_ptr(extension.cores), count * sizeof(cores[0])))
		return -EFAULT;
	for (i = 0; i < count; i++)
		parts[i] = (struct overtake_part){
			.fc_count = job->group->parts[i].fc_count,
			.core = cores[i],
		};
	ret = overtake_judge(client, ovt_check_parts(parts, count, job->fw.fc_count,
						     client->device->settings.cores));
	for (i = 0; i < count && !ret; i++)
		job->group->parts[i].core = cores[i];
	return ret;
}
