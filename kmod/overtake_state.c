// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debugfs state: registers, rings, jobs in flight and tasks, for a look at a stuck device: which
 * jobs run, which wait, and since when.
 *
 * There may be tens of thousands of contexts, so the device lock is held for one thing at a time: a
 * core, or a context and a few of its jobs.  Each line is true when it is written; the device
 * goes on between lines.  A place in the file is a number: first the numbers of cores, then those
 * of contexts, which are never used twice.  So the end of a context moves no reader's place.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "overtake_clock.h"
#include "overtake_drv.h"
#include "overtake_group.h"
#include "overtake_job.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_state.h"
#include "overtake_task.h"

/* Greatest numbers of jobs and of tasks of a context that are shown. */
#define JOBS_SHOWN	32u
#define TASKS_SHOWN	24u

/* Place 0 is the device, N core N, and FIRST_CONTEXT + N the context with serial number N. */
#define FIRST_CONTEXT	((loff_t)OVERTAKE_MAX_CORES + 1)

/* A reader of the file, and its place. */
struct reader {
	struct overtake_device *device;
	loff_t place;
};

/* Notes the number of things that a reader has handled in one hold of the lock. */
void overtake_note_read_locked(struct overtake_device *device, u32 things)
{
	lockdep_assert_held(&device->lock);
	device->longest_read = max(device->longest_read, things);
}

/* Returns the first context whose number is at least @serial, or NULL. */
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

static void show_registers_locked(struct seq_file *file, struct ovt_core *hw)
{
	seq_printf(file, "  registers: status %#llx, IRQ status %#llx mask %#llx, current %llu",
		   (unsigned long long)ovt_core_read(hw, OVT_REG_STATUS),
		   (unsigned long long)ovt_core_read(hw, OVT_REG_IRQ_STATUS),
		   (unsigned long long)ovt_core_read(hw, OVT_REG_IRQ_MASK),
		   (unsigned long long)ovt_core_read(hw, OVT_REG_CURRENT));
	seq_printf(file, ", busy %llu ns, NORMAL floor %llu, NORMAL next %llu, bad accesses %llu\n",
		   (unsigned long long)ovt_core_read(hw, OVT_REG_BUSY_NS),
		   (unsigned long long)ovt_core_read(hw, OVT_REG_NORMAL_FLOOR),
		   (unsigned long long)ovt_core_read(hw, OVT_REG_NORMAL_NEXT),
		   (unsigned long long)ovt_core_read(hw, OVT_REG_BAD_ACCESS));
}

/* Returns the next part of @ring, or NULL; for NORMAL on a fair device, that of the next turn. */
static const struct ovt_fw_part *first_waiting(const struct ovt_fw_core *fw, u32 ring)
{
	const struct ovt_list *parts = &fw->parts[ring];
	const struct ovt_tree *ready = &fw->ready;
	const struct ovt_fw_part *in_list = NULL;
	const struct ovt_fw_part *in_tree = NULL;

	if (ring == OVT_RING_NORMAL && !ovt_list_empty(&fw->circle)) {
		const struct ovt_fw_turn *turn =
			ovt_container_of(fw->circle.next, struct ovt_fw_turn, circle_link);

		parts = &turn->parts;
		ready = &turn->ready;
	}
	if (!ovt_list_empty(parts))
		in_list = ovt_container_of(parts->next, struct ovt_fw_part, ring_link);
	if (ring == OVT_RING_NORMAL && ready->first)
		in_tree = ovt_container_of(ready->first, struct ovt_fw_part, ready);
	if (!in_list || (in_tree && in_tree->job->sequence < in_list->job->sequence))
		return in_tree;
	return in_list;
}

/* Shows FC @index of @part, as a line names it. */
static void show_fc(struct seq_file *file, const struct ovt_fw_part *part, u32 index)
{
	const struct overtake_job *job = to_overtake_job(part->job);

	seq_printf(file, "FC %u of ", index);
	if (job->group)
		seq_printf(file, "part %u of ", overtake_part_index(part));
	seq_printf(file, "job %llu, client %llu context %u", job->tag, job->context->client->id,
		   job->context->id);
}

static void show_ring_locked(struct seq_file *file, struct overtake_device *device, u32 i,
			     u32 ring)
{
	const struct ovt_fw_core *fw = &device->fw_cores[i];
	const struct ovt_core *hw = &device->hw[i];
	const struct ovt_fw_part *part = first_waiting(fw, ring);

	seq_printf(file, "  %s head %u tail %u, done %llu",
		   ring == OVT_RING_HIGH ? "HIGH  " : "NORMAL", hw->rings[ring].head,
		   hw->rings[ring].tail, hw->done[ring]);
	if (ring == OVT_RING_NORMAL)
		seq_printf(file, ", committed to %llu", hw->commit_end);
	seq_printf(file, ", FCs waiting %llu", fw->waiting[ring]);
	if (ring == OVT_RING_NORMAL && fw->held)
		seq_printf(file, ", parts that wait for a stage %u", fw->held);
	if (ring == OVT_RING_HIGH && hw->high_held)
		seq_puts(file, ", held for a stage");
	if (part) {
		seq_puts(file, ", next ");
		show_fc(file, part, part->started);
		seq_printf(file, ", here since %llu", part->job->arrival_ns);
	}
	seq_puts(file, "\n");
}

static void show_core_locked(struct seq_file *file, struct overtake_device *device, u32 i)
{
	const struct ovt_fw_core *fw = &device->fw_cores[i];
	struct ovt_core *hw = &device->hw[i];

	seq_printf(file, "core %u: limit %u, active %u, unfinished FCs %llu, retired cycles %llu\n",
		   i + 1, hw->limit, hw->limit_active, fw->unfinished,
		   (unsigned long long)ovt_core_read(hw, OVT_REG_RETIRED));
	show_registers_locked(file, hw);
	show_ring_locked(file, device, i, OVT_RING_HIGH);
	show_ring_locked(file, device, i, OVT_RING_NORMAL);
	if (fw->running) {
		seq_puts(file, "  runs ");
		show_fc(file, fw->running, hw->exec.descriptor.fc_index);
		seq_printf(file, ", since %llu, %s\n", fw->start_ns,
			   fw->executed ? "executed" : "executing");
	}
	overtake_note_read_locked(device, 1);
}

/* Shows the quota of a context; after a window, its excess, which counts in the next one. */
static void show_quota_locked(struct seq_file *file, const struct ovt_fw_quota *quota)
{
	seq_printf(file, "  quota: %llu ns used, rested %llu times", quota->used_ns, quota->rests);
	if (!ovt_list_empty(&quota->window))
		seq_printf(file, ", window ends at %llu%s", quota->end_ns,
			   quota->resting ? ", rests" : "");
	seq_puts(file, "\n");
}

static const char *task_state(const struct ovt_sched_task *task)
{
	if (task->overdue)
		return "CPU segment overdue";
	switch (task->state) {
	case OVT_SCHED_WAITING:
		return "waiting to be dispatched";
	case OVT_SCHED_READY:
		return "ready, waiting for a slot";
	case OVT_SCHED_CPU_WAITING:
		return "waiting for a worker";
	case OVT_SCHED_CPU_RUNNING:
		return "CPU segment";
	case OVT_SCHED_BPU:
		return "on the device";
	default:
		return "ending";
	}
}

/* Shows tasks that arrived and are not over, dispatched ones first.  Returns their number. */
static u32 show_tasks_locked(struct seq_file *file, const struct overtake_task_queue *queue)
{
	const struct ovt_service_process *process = &queue->process;
	const struct ovt_list *tasks = &process->sched.tasks, *link;
	u32 shown = 0;

	if (!queue->is_open)
		return 0;
	seq_printf(file, "  tasks: %u, of them %u waiting; ended %llu, waited %llu ns, CPU segments overdue %llu, workers busy %u of %u\n",
		   ovt_tree_size(&process->tasks), process->sched.waiting, process->ended,
		   process->waited_ns, process->overdue, process->sched.workers_busy,
		   queue->workers);
	for (link = tasks->next; link != tasks && shown < TASKS_SHOWN; link = link->next) {
		const struct ovt_sched_task *task =
			ovt_container_of(link, struct ovt_sched_task, of_process);

		seq_printf(file, "  task %llu: priority %u, segment %u of %u, arrived at %llu, %s",
			   container_of(task, struct ovt_service_task, sched)->tag, task->priority,
			   task->segment, task->segment_count, task->arrival_time,
			   task_state(task));
		if (task->holds_slot)
			seq_printf(file, ", holds a slot of core %u", task->placed_core);
		seq_puts(file, "\n");
		shown++;
	}
	if (link != tasks)
		seq_puts(file, "  ...\n");
	return shown;
}

static u32 show_jobs_locked(struct seq_file *file, const struct overtake_context *context)
{
	struct rb_node *node;
	u32 shown = 0;

	for (node = rb_first(&context->jobs); node && shown < JOBS_SHOWN; node = rb_next(node)) {
		const struct overtake_job *job = rb_entry(node, struct overtake_job, tag_node);

		seq_printf(file, "  job %llu: priority %u, FCs %u of %u started, %u ended%s\n",
			   job->tag, job->fw.priority, job->fw.started, job->fw.fc_count,
			   job->fw.done,
			   job->state == OVERTAKE_JOB_ENDED ? ", ended" :
			   job->state == OVERTAKE_JOB_BLOCKED ? ", waits for fences" : "");
		shown++;
	}
	if (node)
		seq_puts(file, "  ...\n");
	return shown;
}

static void show_context_locked(struct seq_file *file, struct overtake_context *context)
{
	const struct overtake_client *client = context->client;
	const struct ovt_list *in_device = &context->fw.jobs;
	u32 shown;

	seq_printf(file, "client %llu context %u: jobs %u, charged %lld bytes, %d buffers, pid %u, %*pE\n",
		   client->id, context->id, context->job_count, atomic64_read(&client->bytes),
		   atomic_read(&client->buffers), client->tgid, (int)strlen(client->comm),
		   client->comm);
	if (!ovt_list_empty(in_device)) {
		const struct ovt_fw_job *oldest =
			ovt_container_of(in_device->next, struct ovt_fw_job, context_link);

		seq_printf(file, "  oldest: job %llu, here since %llu\n",
			   to_overtake_job(oldest)->tag, oldest->arrival_ns);
	}
	if (context->harm.open)
		seq_printf(file, "  offences %u, first at %llu, %llu ns lost%s\n",
			   context->harm.offences, context->harm.first_ns, context->harm.lost_ns,
			   context->banned ? ", banned" : "");
	if (client->device->settings.quota_ms)
		show_quota_locked(file, &context->fw.quota);
	shown = show_jobs_locked(file, context);
	if (context->tasks)
		shown += show_tasks_locked(file, context->tasks);
	overtake_note_read_locked(client->device, 1 + shown);
}

/* Moves *@place on to the next place that has text, unless it has.  Returns NULL at the end. */
static void *find_place(struct reader *reader, loff_t *place)
{
	struct overtake_device *device = reader->device;
	struct overtake_context *context;
	bool found = true;

	if (*place > device->settings.cores) {
		*place = max(*place, FIRST_CONTEXT);
		overtake_lock(device);
		context = find_context_locked(device, *place - FIRST_CONTEXT);
		found = context;
		if (found)
			*place = FIRST_CONTEXT + context->serial;
		overtake_unlock(device);
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

	overtake_lock(device);
	if (!reader->place) {
		show_device_locked(file, device);
	} else if (reader->place < FIRST_CONTEXT) {
		show_core_locked(file, device, reader->place - 1);
	} else {
		context = find_context_locked(device, reader->place - FIRST_CONTEXT);
		if (context && context->serial == reader->place - FIRST_CONTEXT)
			show_context_locked(file, context);
	}
	overtake_unlock(device);
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
