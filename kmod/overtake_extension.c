// SPDX-License-Identifier: GPL-2.0-only
/* The chain of extensions of a submission: each is read once, and passed to its source file. */
#include <linux/uaccess.h>

#include "overtake_extension.h"
#include "overtake_group.h"
#include "overtake_job.h"
#include "overtake_limits.h"

static int parse_placement(struct overtake_job *job, const struct drm_overtake_submit *args,
			   struct overtake_extension_placement __user *user)
{
	struct overtake_client *client = job->context->client;
	struct overtake_extension_placement placement;
	int ret;

	if (copy_from_user(&placement, user, sizeof(placement)))
		return -EFAULT;
	/* The parts of a group name their cores themselves. */
	if (placement.core || placement.pad || job->group)
		return -EINVAL;
	ret = overtake_judge(client, ovt_check_placement(args, placement.cores,
							 client->device->settings.cores));
	if (ret)
		return ret;
	/* A job whose answer cannot be stored is refused now: later it could not be. */
	if (put_user(0, &user->core))
		return -EFAULT;
	job->open_cores = placement.cores;
	job->core_answer = &user->core;
	return 0;
}

static int parse_sync(struct overtake_job *job, struct drm_file *file,
		      const struct overtake_extension_sync __user *user)
{
	struct overtake_extension_sync sync;

	if (copy_from_user(&sync, user, sizeof(sync)))
		return -EFAULT;
	return overtake_syncs_parse(job, file, &sync);
}

static int parse_model(u64 *model, const struct overtake_extension_model __user *user)
{
	return get_user(*model, &user->model) ? -EFAULT : 0;
}

/*
 * overtake_extensions_parse - read the chain of @args
 * @types: types that may be in the chain, a bit for each
 *
 * Objects that were found stay with the job, also after an error; freeing the job releases them.
 * May sleep.
 */
int overtake_extensions_parse(struct overtake_job *job, struct drm_file *file,
			      const struct drm_overtake_submit *args, unsigned long types)
{
	u64 address = args->extensions;
	struct overtake_extension base;
	int ret;

	while (address) {
		void __user *user = u64_to_user_ptr(address);

		if (copy_from_user(&base, user, sizeof(base)))
			return -EFAULT;
		/* Each type is allowed once, so a circular chain comes to an end. */
		if (base.pad || base.type >= BITS_PER_LONG || !(types & BIT(base.type)))
			return -EINVAL;
		types &= ~BIT(base.type);
		switch (base.type) {
		case OVERTAKE_EXTENSION_SYNC:
			ret = parse_sync(job, file, user);
			break;
		case OVERTAKE_EXTENSION_PLACEMENT:
			ret = parse_placement(job, args, user);
			break;
		case OVERTAKE_EXTENSION_MODEL:
			ret = parse_model(&job->model, user);
			break;
		case OVERTAKE_EXTENSION_PARTS:
			ret = overtake_group_parse(job, args, user);
			break;
		case OVERTAKE_EXTENSION_REPLAY_PARTS:
			ret = overtake_group_parse_replay(job, user);
			break;
		default:
			ret = -EINVAL;
		}
		if (ret)
			return ret;
		address = base.next;
	}
	return 0;
}

static int parse_task_parts(struct overtake_task_extensions *found, const void __user *user)
{
	if (found->has_parts)
		return -EINVAL;
	if (copy_from_user(&found->parts, user, sizeof(found->parts)))
		return -EFAULT;
	found->has_parts = true;
	return found->parts.pad ? -EINVAL : 0;
}

/* Reads the chain of a task into @found, which is all zero before.  May sleep. */
int overtake_extensions_of_task(u64 address, struct overtake_task_extensions *found)
{
	struct overtake_extension base;
	bool has_model = false;
	int ret;

	/* Each type is allowed once, as above. */
	while (address) {
		void __user *user = u64_to_user_ptr(address);

		if (copy_from_user(&base, user, sizeof(base)))
			return -EFAULT;
		if (base.pad)
			return -EINVAL;
		if (base.type == OVERTAKE_EXTENSION_TASK_PARTS)
			ret = parse_task_parts(found, user);
		else if (base.type == OVERTAKE_EXTENSION_MODEL && !has_model)
			ret = parse_model(&found->model, user);
		else
			ret = -EINVAL;
		if (ret)
			return ret;
		has_model |= base.type == OVERTAKE_EXTENSION_MODEL;
		address = base.next;
	}
	return 0;
}

/* Stores the core of @job, which is in flight, for its submitter.  May sleep. */
void overtake_extensions_answer(const struct overtake_job *job)
{
	/* If the store fails, the core is still in the job's result. */
	if (job->core_answer && put_user(job->fw.core, job->core_answer))
		return;
}
