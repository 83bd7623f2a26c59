// SPDX-License-Identifier: GPL-2.0-only
/*
 * For developers and tests, root only: /sys/kernel/debug/accel/DEVICE/
 *
 *	state		rings, cores and jobs in flight, for a look at a stuck device
 *	stats		longest step and lateness of the timer, which writing anything clears; how
 *			far device time fell behind (fw/fw.h); fences that there are, of all devices
 *	clock		device time; with the manual clock, writing an absolute time in ns steps it
 *	manual_clock	1 = manual clock; writable while no file is open
 *	reset		write a core's number to reset it
 *	inject		faults to come and faults that were; write KIND:FC joined by '+' to inject
 *			KIND into the FCth FC from now (overtake_inject.c), nothing to inject none
 *	fail_KIND/	the same by the rules of the kernel's fault injection, if it has that
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "overtake_core.h"
#include "overtake_drv.h"
#include "overtake_fence.h"
#include "overtake_host.h"
#include "overtake_inject.h"
#include "overtake_job.h"

static u64 device_time(struct overtake_device *device)
{
	u64 now_ns;

	spin_lock_irq(&device->lock);
	now_ns = overtake_host_now(device);
	spin_unlock_irq(&device->lock);
	return now_ns;
}

static int clock_get(void *data, u64 *value)
{
	*value = device_time(data);
	return 0;
}

static int clock_set(void *data, u64 value)
{
	return overtake_host_advance_clock(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(clock_fops, clock_get, clock_set, "%llu\n");

static int manual_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct overtake_device *)data)->manual);
	return 0;
}

static int manual_set(void *data, u64 value)
{
	return value > 1 ? -EINVAL : overtake_host_set_manual(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(manual_fops, manual_get, manual_set, "%llu\n");

static int reset_set(void *data, u64 value)
{
	return value > OVERTAKE_MAX_CORES ? -EINVAL : overtake_core_reset(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static void show_core_locked(struct seq_file *file, struct overtake_device *device, u32 i)
{
	const struct ovt_fw_core *fw = &device->fw_cores[i];
	struct ovt_core *hw = &device->hw[i];

	seq_printf(file, "core %u: limit %u, active %u, unfinished FCs %u, retired cycles %llu\n",
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
}

/* Of a context: interrupts are off meanwhile. */
#define JOBS_SHOWN	32u

static void show_jobs_locked(struct seq_file *file, struct overtake_context *context)
{
	u32 shown = JOBS_SHOWN;
	struct rb_node *node;

	seq_printf(file, "client %llu context %u: jobs %u, charged %lld bytes, %d buffers\n",
		   context->client->id, context->id, context->job_count,
		   atomic64_read(&context->client->bytes),
		   atomic_read(&context->client->buffers));
	if (context->harm.open)
		seq_printf(file, "  offences %u, first at %llu, %llu ns lost%s\n",
			   context->harm.offences, context->harm.first_ns, context->harm.lost_ns,
			   context->banned ? ", banned" : "");
	for (node = rb_first(&context->jobs); node; node = rb_next(node)) {
		const struct overtake_job *job = rb_entry(node, struct overtake_job, tag_node);

		if (!shown--) {
			seq_puts(file, "  ...\n");
			return;
		}
		seq_printf(file, "  job %llu: priority %u, FCs %u of %u started, %u ended%s\n",
			   job->tag, job->fw.priority, job->fw.started, job->fw.fc_count,
			   job->fw.done, job->state == OVERTAKE_JOB_ENDED ? ", ended" : "");
	}
}

static int state_show(struct seq_file *file, void *unused)
{
	struct overtake_device *device = file->private;
	struct overtake_context *context;
	u32 i;

	spin_lock_irq(&device->lock);
	seq_printf(file, "time %llu %s, files %u, contexts %u, jobs in flight %u\n",
		   overtake_host_now(device), device->manual ? "manual" : "monotonic",
		   device->files, device->live_contexts, device->jobs_in_flight);
	seq_printf(file, "command slots reserved %u of %u\n", device->fw.commands_reserved,
		   device->fw.config.command_count);
	for (i = 0; i < device->settings.cores; i++)
		show_core_locked(file, device, i);
	list_for_each_entry(context, &device->contexts, link)
		show_jobs_locked(file, context);
	spin_unlock_irq(&device->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static int stats_show(struct seq_file *file, void *unused)
{
	struct overtake_device *device = file->private;
	u64 lag_ns, lagged, stretched_fcs, stretched_ns;
	u32 i, bucket;

	spin_lock_irq(&device->lock);
	lag_ns = device->fw.lag_ns;
	lagged = device->fw.lagged_commands;
	stretched_fcs = device->fw.stretched_fcs;
	stretched_ns = device->fw.stretched_ns;
	spin_unlock_irq(&device->lock);
	seq_printf(file, "timer_lateness_max_ns %llu\n", READ_ONCE(device->timer_lateness_ns));
	seq_printf(file, "lag_max_ns %llu\n", lag_ns);
	seq_printf(file, "lagged_commands %llu\n", lagged);
	seq_printf(file, "stretched_fcs %llu\n", stretched_fcs);
	seq_printf(file, "stretched_ns %llu\n", stretched_ns);
	seq_printf(file, "fences %ld\n", overtake_fence_count());
	for (i = 0; i < device->settings.cores; i++) {
		const struct overtake_core *core = &device->cores[i];

		seq_printf(file, "core%u_steps %llu\n", i + 1, READ_ONCE(core->steps));
		seq_printf(file, "core%u_max_step_ns %llu\n", i + 1,
			   READ_ONCE(core->max_step_ns));
		for (bucket = 0; bucket < OVERTAKE_STEP_BUCKETS; bucket++)
			if (core->step_histogram[bucket])
				seq_printf(file, "core%u_steps_below_%llu_ns %llu\n", i + 1,
					   1ull << bucket, core->step_histogram[bucket]);
	}
	return 0;
}

static int stats_open(struct inode *inode, struct file *file)
{
	return single_open(file, stats_show, inode->i_private);
}

static ssize_t stats_write(struct file *file, const char __user *text, size_t length,
			   loff_t *offset)
{
	struct overtake_device *device = ((struct seq_file *)file->private_data)->private;
	u32 i;

	WRITE_ONCE(device->timer_lateness_ns, 0);
	for (i = 0; i < device->settings.cores; i++) {
		WRITE_ONCE(device->cores[i].max_step_ns, 0);
		memset(device->cores[i].step_histogram, 0,
		       sizeof(device->cores[i].step_histogram));
	}
	return length;
}

static const struct file_operations stats_fops = {
	.owner = THIS_MODULE,
	.open = stats_open,
	.read = seq_read,
	.write = stats_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int inject_show(struct seq_file *file, void *unused)
{
	overtake_inject_show(file->private, file);
	return 0;
}

static int inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, inject_show, inode->i_private);
}

static ssize_t inject_write(struct file *file, const char __user *user, size_t length,
			    loff_t *offset)
{
	struct overtake_device *device = ((struct seq_file *)file->private_data)->private;
	char *text;
	int ret;

	if (length > PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(user, length);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = overtake_inject_plan(device, text);
	kfree(text);
	return ret ? ret : length;
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = inject_open,
	.read = seq_read,
	.write = inject_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* DRM removes the directory with the device. */
void overtake_debugfs_add(struct overtake_device *device)
{
	struct dentry *root = device->drm.debugfs_root;

	debugfs_create_file("state", 0400, root, device, &state_fops);
	debugfs_create_file("stats", 0600, root, device, &stats_fops);
	debugfs_create_file("clock", 0600, root, device, &clock_fops);
	debugfs_create_file("manual_clock", 0600, root, device, &manual_fops);
	debugfs_create_file("reset", 0200, root, device, &reset_fops);
	debugfs_create_file("inject", 0600, root, device, &inject_fops);
	overtake_inject_debugfs(device, root);
}
