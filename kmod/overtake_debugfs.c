// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files for developers and tests, root only: /sys/kernel/debug/accel/DEVICE/
 *
 *	state		rings, cores, jobs in flight, for a look at a stuck device: overtake_state.c
 *	coreN/, bans, ...
 *			counters and tables: overtake_usage.c
 *	stats		longest step and lateness of the timer, which any write clears; how far
 *			device time fell behind (fw/fw.h); number of fences of all devices; the
 *			most things that a reader handled in one hold of the device lock
 *	clock		device time; with the manual clock, writing an absolute time in ns steps it
 *	manual_clock	1 = manual clock; writable while no file is open
 *	reset		write a core's number to reset it
 *	inject		faults to come and past faults; write KIND:FC joined by '+' to inject KIND
 *			into the FCth FC from now (overtake_inject.c), an empty text to inject none
 *	fail_KIND/	injects faults by the rules of the kernel's fault injection, if it has that
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "overtake_clock.h"
#include "overtake_core.h"
#include "overtake_debugfs.h"
#include "overtake_drv.h"
#include "overtake_fence.h"
#include "overtake_inject.h"
#include "overtake_lock.h"
#include "overtake_manual_clock.h"
#include "overtake_state.h"
#include "overtake_usage.h"

static u64 device_time(struct overtake_device *device)
{
	u64 now_ns;

	overtake_lock(device);
	now_ns = overtake_clock_now(device);
	overtake_unlock(device);
	return now_ns;
}

static int clock_get(void *data, u64 *value)
{
	*value = device_time(data);
	return 0;
}

static int clock_set(void *data, u64 value)
{
	return overtake_manual_clock_advance(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(clock_fops, clock_get, clock_set, "%llu\n");

static int manual_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct overtake_device *)data)->manual);
	return 0;
}

static int manual_set(void *data, u64 value)
{
	return value > 1 ? -EINVAL : overtake_manual_clock_set(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(manual_fops, manual_get, manual_set, "%llu\n");

static int reset_set(void *data, u64 value)
{
	return value > OVERTAKE_MAX_CORES ? -EINVAL : overtake_core_reset(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static int stats_show(struct seq_file *file, void *unused)
{
	struct overtake_device *device = file->private;
	u64 lag_ns, lagged, stretched_fcs, stretched_ns;
	u32 i, bucket, longest_read;

	overtake_lock(device);
	lag_ns = device->fw.lag_ns;
	lagged = device->fw.lagged_commands;
	stretched_fcs = device->fw.stretched_fcs;
	stretched_ns = device->fw.stretched_ns;
	longest_read = device->longest_read;
	overtake_unlock(device);
	seq_printf(file, "timer_lateness_max_ns %llu\n", READ_ONCE(device->timer_lateness_ns));
	seq_printf(file, "lag_max_ns %llu\n", lag_ns);
	seq_printf(file, "lagged_commands %llu\n", lagged);
	seq_printf(file, "stretched_fcs %llu\n", stretched_fcs);
	seq_printf(file, "stretched_ns %llu\n", stretched_ns);
	seq_printf(file, "longest_read %u\n", longest_read);
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

	overtake_state_add(device);
	overtake_usage_add(device);
	overtake_lock_add(device, root);
	debugfs_create_file("stats", 0600, root, device, &stats_fops);
	debugfs_create_file("clock", 0600, root, device, &clock_fops);
	debugfs_create_file("manual_clock", 0600, root, device, &manual_fops);
	debugfs_create_file("reset", 0200, root, device, &reset_fops);
	debugfs_create_file("inject", 0600, root, device, &inject_fops);
	overtake_inject_debugfs(device, root);
}
