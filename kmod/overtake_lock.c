// SPDX-License-Identifier: GPL-2.0-only
/*
 * The longest hold of the device lock: debugfs measure_lock and longest_hold, root only.
 *
 * Interrupts are off while the lock is held, so the time that passes is the time of the CPU; in a
 * virtual machine it includes the time that its host takes away.  A write to measure_lock begins
 * anew.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "overtake_lock.h"

/* Under the device lock. */
void overtake_lock_note(struct overtake_device *device, unsigned long holder)
{
	u64 held_ns = ktime_get_mono_fast_ns() - device->lock_taken_ns;

	device->lock_taken_ns = 0;
	if (held_ns <= device->longest_hold_ns)
		return;
	device->longest_hold_ns = held_ns;
	device->longest_holder = holder;
}

static int measure_lock_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct overtake_device *)data)->lock_is_measured);
	return 0;
}

static int measure_lock_set(void *data, u64 value)
{
	struct overtake_device *device = data;

	if (value > 1)
		return -EINVAL;
	spin_lock_irq(&device->lock);
	WRITE_ONCE(device->lock_is_measured, value);
	device->longest_hold_ns = 0;
	device->longest_holder = 0;
	spin_unlock_irq(&device->lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(measure_lock_fops, measure_lock_get, measure_lock_set, "%llu\n");

static int longest_hold_show(struct seq_file *file, void *unused)
{
	struct overtake_device *device = file->private;
	unsigned long holder;
	u64 held_ns;

	spin_lock_irq(&device->lock);
	held_ns = device->longest_hold_ns;
	holder = device->longest_holder;
	spin_unlock_irq(&device->lock);
	seq_printf(file, "%llu", held_ns);
	if (holder)
		seq_printf(file, " %pS", (void *)holder);
	seq_puts(file, "\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(longest_hold);

/* DRM removes them with the device. */
void overtake_lock_add(struct overtake_device *device, struct dentry *root)
{
	debugfs_create_file("measure_lock", 0600, root, device, &measure_lock_fops);
	debugfs_create_file("longest_hold", 0400, root, device, &longest_hold_fops);
}
