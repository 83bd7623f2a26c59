// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debugfs state: rings, cores and jobs in flight, for a look at a stuck device.
 *
 * There may be tens of thousands of contexts, so the device lock is held for one thing at a time: a
 * core, or a context and a few of its jobs.  Each line is true when it is written; the device
 * goes on between them.  A place in the file is a number: those of the cores, then those of the
 * contexts, which are never used twice.  So a context that dies meanwhile loses nobody his place.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "overtake_clock.h"
#include "overtake_drv.h"
#include "overtake_job.h"
#include "overtake_state.h"

/* Of a context. */
#define JOBS_SHOWN	32u

/* Place 0 is the device, N core N, and FIRST_CONTEXT + N the context with serial number N. */
#define FIRST_CONTEXT	((loff_t)OVERTAKE_MAX_CORES + 1)

/* A reader: where it is. */
struct reader {
	struct overtake_device *device;
	loff_t place;
};

/* What a reader has handled in one hold of the lock. */
void overtake_note_read_locked(struct overtake_device *device, u32 things)
{
	lockdep_assert_held(&device->lock);
	device->longest_read = max(device->longest_read, things);
}

/* The first context whose number is at least @serial, or NULL. */
static struct overtake_context *find_context_locked(struct overtake_device *device, u64 serial)
{
	struct rb_node *node = device->contexts.rb_root.rb_node;
	struct overtake_context *found = NULL;

	lockdep_assert_held(&device->lock);
	while (node) {
		struct overtake_context *context = rb_entry(node, struct overtake_context, node);

		if (context->serial >= serial) {
			found = context;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static void show_device_locked(struct seq_file *file, struct overtake_device *device)
{
	seq_printf(file, "time %llu %s, files %u, contexts %u, jobs in flight %u\n",
		   overtake_clock_now(device), device->manual ? "manual" : "monotonic",
		   device->files, device->live_contexts, device->jobs_in_flight);
	seq_printf(file, "command slots reserved %u of %u\n", device->fw.commands_reserved,
		   device->fw.config.command_count);
	overtake_note_read_locked(device, 1);
}

static void show_core_locked(struct seq_file *file, struct overtake_device *device, u32 i)
{
	const struct ovt_fw_core *fw = &device->fw_cores[i];
	struct ovt_core *hw = &device->hw[i];

	seq_printf(file, "core %u: limit %u, active %u, unfinished FCs %llu, retired cycles %llu\n",
		   i + 1, hw->limit, hw->limit_active, fw->unfinished,
		   (unsigned long long)ovt_core_read(hw, OVT_REG_RETIRED));
	seq_printf(file, "  HIGH   head %u tail %u, done %llu\n", hw->rings[OVT_RING_HIGH].head,
		   hw->rings[OVT_RING_HIGH].tail, hw->done[OVT_RING_HIGH]);
	seq_printf(file, "  NORMAL head %u tail %u, done %llu, committed to %llu\n",
		   hw->rings[OVT_RING_NORMAL].head, hw->rings[OVT_RING_NORMAL].tail,
		   hw->done[OVT_RING_NORMAL], hw->commit_end);
	if (fw->running) {
		const struct overtake_job *job = to_overtake_job(fw->running);

		seq_printf(file, "  runs FC %u of job %llu, client %llu context %u, since %llu, %s\n",
			   hw->exec.descriptor.fc_index, job->tag, job->context->client->id,
			   job->context->id, fw->start_ns,
			   fw->executed ? "executed" : "executing");
	}
	overtake_note_read_locked(device, 1);
}

/* What of a window that is over was too much shows until the next one begins. */
static void show_quota_locked(struct seq_file *file, const struct ovt_fw_quota *quota)
{
	seq_printf(file, "  quota: %llu ns used, rested %llu times", quota->used_ns, quota->rests);
	if (!ovt_list_empty(&quota->window))
		seq_printf(file, ", window ends at %llu%s", quota->end_ns,
			   quota->resting ? ", rests" : "");
	seq_puts(file, "\n");
}

static void show_context_locked(struct seq_file *file, struct overtake_context *context)
{
	struct rb_node *node;
	u32 shown = 0;

	seq_printf(file, "client %llu context %u: jobs %u, charged %lld bytes, %d buffers\n",
		   context->client->id, context->id, context->job_count,
		   atomic64_read(&context->client->bytes),
		   atomic_read(&context->client->buffers));
	if (context->harm.open)
		seq_printf(file, "  offences %u, first at %llu, %llu ns lost%s\n",
			   context->harm.offences, context->harm.first_ns, context->harm.lost_ns,
			   context->banned ? ", banned" : "");
	if (context->client->device->settings.quota_ms)
		show_quota_locked(file, &context->fw.quota);
	for (node = rb_first(&context->jobs); node && shown < JOBS_SHOWN; node = rb_next(node)) {
		const struct overtake_job *job = rb_entry(node, struct overtake_job, tag_node);

		seq_printf(file, "  job %llu: priority %u, FCs %u of %u started, %u ended%s\n",
			   job->tag, job->fw.priority, job->fw.started, job->fw.fc_count,
			   job->fw.done, job->state == OVERTAKE_JOB_ENDED ? ", ended" : "");
		shown++;
	}
	if (node)
		seq_puts(file, "  ...\n");
	overtake_note_read_locked(context->client->device, 1 + shown);
}

/* The place itself if there is something, or the next one where there is; NULL at the end. */
static void *find_place(struct reader *reader, loff_t *place)
{
	struct overtake_device *device = reader->device;
	struct overtake_context *context;
	bool found = true;

	if (*place > device->settings.cores) {
		*place = max(*place, FIRST_CONTEXT);
		spin_lock_irq(&device->lock);
		context = find_context_locked(device, *place - FIRST_CONTEXT);
		found = context;
		if (found)
			*place = FIRST_CONTEXT + context->serial;
		spin_unlock_irq(&device->lock);
	}
	reader->place = *place;
	return found ? reader : NULL;
}

static void *state_start(struct seq_file *file, loff_t *place)
{
	return find_place(file->private, place);
}

static void *state_next(struct seq_file *file, void *reader, loff_t *place)
{
	++*place;
	return find_place(reader, place);
}

static void state_stop(struct seq_file *file, void *reader)
{
}

static int state_show(struct seq_file *file, void *data)
{
	struct reader *reader = data;
	struct overtake_device *device = reader->device;
	struct overtake_context *context;

	spin_lock_irq(&device->lock);
	if (!reader->place) {
		show_device_locked(file, device);
	} else if (reader->place < FIRST_CONTEXT) {
		show_core_locked(file, device, reader->place - 1);
	} else {
		context = find_context_locked(device, reader->place - FIRST_CONTEXT);
		if (context && context->serial == reader->place - FIRST_CONTEXT)
			show_context_locked(file, context);
	}
	spin_unlock_irq(&device->lock);
	return 0;
}

static const struct seq_operations state_operations = {
	.start = state_start,
	.next = state_next,
	.stop = state_stop,
	.show = state_show,
};

static int state_open(struct inode *inode, struct file *file)
{
	struct reader *reader = __seq_open_private(file, &state_operations, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->device = inode->i_private;
	return 0;
}

static const struct file_operations state_fops = {
	.owner = THIS_MODULE,
	.open = state_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

/* DRM removes it with the device. */
void overtake_state_add(struct overtake_device *device)
{
	debugfs_create_file("state", 0400, device->drm.debugfs_root, device, &state_fops);
}
