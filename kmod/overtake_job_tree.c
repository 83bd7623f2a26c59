// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees in which jobs are found: by tag in their context, by deadline in their device.
 *
 * The caller that puts a job into the tree of tags gives the tree a reference, which passes to the
 * caller that takes the job out.  A job leaves the tree of deadlines before it ends, so that tree
 * needs no reference.
 */
#include <linux/rbtree.h>

#include "overtake_job_tree.h"

static int compare_tag(const struct rb_node *node, u64 tag)
{
	u64 other = rb_entry(node, struct overtake_job, tag_node)->tag;

	return tag < other ? -1 : tag > other;
}

static int compare_tag_key(const void *key, const struct rb_node *node)
{
	return compare_tag(node, *(const u64 *)key);
}

static int compare_tag_node(struct rb_node *node, const struct rb_node *other)
{
	return compare_tag(other, rb_entry(node, struct overtake_job, tag_node)->tag);
}

struct overtake_job *overtake_job_find_tag_locked(struct overtake_context *context, u64 tag)
{
	struct rb_node *node;

	lockdep_assert_held(&context->client->device->lock);
	node = rb_find(&tag, &context->jobs, compare_tag_key);
	return node ? rb_entry(node, struct overtake_job, tag_node) : NULL;
}

/* Returns the first job whose tag is at least @tag, or NULL. */
struct overtake_job *overtake_job_find_from_locked(struct overtake_context *context, u64 tag)
{
	struct rb_node *node = context->jobs.rb_node;
	struct overtake_job *found = NULL;

	lockdep_assert_held(&context->client->device->lock);
	while (node) {
		struct overtake_job *job = rb_entry(node, struct overtake_job, tag_node);

		if (job->tag >= tag)
			found = job;
		node = job->tag >= tag ? node->rb_left : node->rb_right;
	}
	return found;
}

/* Adds @job, with a reference that the caller took for the tree; no other job there has its tag. */
void overtake_job_enter_tree_locked(struct overtake_job *job)
{
	struct overtake_context *context = job->context;

	lockdep_assert_held(&overtake_job_device(job)->lock);
	rb_find_add(&job->tag_node, &context->jobs, compare_tag_node);
	job->in_tree = true;
	context->job_count++;
	context->client->job_count++;
	if (job->collectable)
		context->collectable_count++;
}

/* Removes @job; the tree's reference passes to the caller. */
void overtake_job_leave_tree_locked(struct overtake_job *job)
{
	lockdep_assert_held(&overtake_job_device(job)->lock);
	rb_erase(&job->tag_node, &job->context->jobs);
	job->in_tree = false;
	job->context->job_count--;
	job->context->client->job_count--;
	if (job->collectable)
		job->context->collectable_count--;
}

static bool deadline_less(struct rb_node *node, const struct rb_node *other)
{
	return rb_entry(node, struct overtake_job, deadline_node)->deadline_ns <
	       rb_entry(other, struct overtake_job, deadline_node)->deadline_ns;
}

void overtake_job_add_deadline_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);

	lockdep_assert_held(&device->lock);
	if (job->deadline_ns != OVT_TIME_NEVER)
		rb_add_cached(&job->deadline_node, &device->deadlines, deadline_less);
}

/* May be called any number of times. */
void overtake_job_forget_deadline_locked(struct overtake_job *job)
{
	lockdep_assert_held(&overtake_job_device(job)->lock);
	if (RB_EMPTY_NODE(&job->deadline_node))
		return;
	rb_erase_cached(&job->deadline_node, &overtake_job_device(job)->deadlines);
	RB_CLEAR_NODE(&job->deadline_node);
}

/* Returns the job with the earliest deadline; NULL if no job has a deadline. */
struct overtake_job *overtake_job_next_deadline(struct overtake_device *device)
{
	struct rb_node *first = rb_first_cached(&device->deadlines);

	lockdep_assert_held(&device->lock);
	return first ? rb_entry(first, struct overtake_job, deadline_node) : NULL;
}
