// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work of a core and its clients: debugfs coreN/, root only.
 *
 *	busy_ns, fcs_high, ... ratio
 *			the counters of sysfs, exact
 *	fc_time		the last FCs that ended, oldest first
 *	users		processes that had FCs on the core: those that opened files still open
 *
 * and beside them the device's counters of sysfs, exact.  The tables contain private data of
 * clients: tags, which may be addresses, and the time of each of their FCs.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "overtake_counters.h"
#include "overtake_history.h"
#include "overtake_lock.h"
#include "overtake_state.h"
#include "overtake_usage.h"

#define CORE_COUNTER(name, field)						\
static int name##_get(void *data, u64 *value)					\
{										\
	const struct overtake_core *core = data;				\
	struct overtake_counters counters;					\
										\
	overtake_counters_exact(core->device, core->number, &counters);		\
	*value = counters.field;						\
	return 0;								\
}										\
DEFINE_DEBUGFS_ATTRIBUTE(name##_fops, name##_get, NULL, "%llu\n")

CORE_COUNTER(busy_ns, busy_ns);
CORE_COUNTER(fcs_high, fcs[OVT_RING_HIGH]);
CORE_COUNTER(fcs_normal, fcs[OVT_RING_NORMAL]);
CORE_COUNTER(preemptions, preemptions);
CORE_COUNTER(faults, faults);
CORE_COUNTER(resets, resets);
CORE_COUNTER(hangs, hangs);
CORE_COUNTER(queue, queue);
CORE_COUNTER(ratio, ratio);

#define DEVICE_COUNTER(name)							\
static int name##_get(void *data, u64 *value)					\
{										\
	struct overtake_device_counters counters;				\
										\
	overtake_device_counters_exact(data, &counters);			\
	*value = counters.name;							\
	return 0;								\
}										\
DEFINE_DEBUGFS_ATTRIBUTE(name##_fops, name##_get, NULL, "%llu\n")

DEVICE_COUNTER(bans);
DEVICE_COUNTER(lost_interrupts);
DEVICE_COUNTER(spurious_interrupts);

static void show_fcs(struct seq_file *file, const struct overtake_core_history *history)
{
	u64 first = history->fc_count > OVERTAKE_FCS_KEPT ?
		    history->fc_count - OVERTAKE_FCS_KEPT : 0;
	u64 i;

	seq_puts(file, "index id fc group prio start_ns end_ns run_ns fault part\n");
	for (i = first; i < history->fc_count; i++) {
		const struct overtake_fc_record *fc = &history->fcs[i % OVERTAKE_FCS_KEPT];

		seq_printf(file, "%llu %llu %u %u %u %llu %llu %llu %u %u\n", fc->index, fc->tag,
			   fc->fc_index, fc->pid, fc->priority, fc->start_ns, fc->end_ns,
			   fc->end_ns - fc->start_ns, fc->fault, fc->part);
	}
}

static int fc_time_show(struct seq_file *file, void *unused)
{
	const struct overtake_core *core = file->private;
	struct overtake_device *device = core->device;
	struct overtake_core_history *copy = kmalloc(sizeof(*copy), GFP_KERNEL);

	if (!copy)
		return -ENOMEM;
	overtake_lock(device);
	*copy = device->history->cores[core->number - 1];
	overtake_note_read_locked(device, OVERTAKE_FCS_KEPT);
	overtake_unlock(device);
	show_fcs(file, copy);
	kfree(copy);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fc_time);

struct user_row {
	u32 pid;
	char comm[TASK_COMM_LEN];
	u64 jobs;
	u64 fcs;
	u64 busy_ns;
};

static void fill_row(struct user_row *row, struct overtake_client *client, u32 core)
{
	struct overtake_device *device = client->device;
	struct overtake_usage usage;
	u32 ring;

	overtake_lock(device);
	usage = client->usage[core - 1];
	overtake_note_read_locked(device, 1);
	overtake_unlock(device);
	*row = (struct user_row){ .pid = client->tgid, .jobs = usage.jobs };
	strscpy(row->comm, client->comm, sizeof(row->comm));
	for (ring = 0; ring < OVT_RING_COUNT; ring++) {
		row->fcs += usage.fcs[ring];
		row->busy_ns += usage.busy_ns[ring];
	}
}

/*
 * Makes a row for each open file, at most @room; returns the number of files.  A file leaves the
 * list before it is freed.
 */
static u32 collect_files(struct overtake_device *device, u32 core, struct user_row *rows, u32 room)
{
	struct drm_file *file;
	u32 count = 0;

	mutex_lock(&device->drm.filelist_mutex);
	list_for_each_entry(file, &device->drm.filelist, lhead) {
		if (count < room)
			fill_row(&rows[count], file->driver_priv, core);
		count++;
	}
	mutex_unlock(&device->drm.filelist_mutex);
	return count;
}

static int compare_rows(const void *one, const void *other)
{
	u32 first = ((const struct user_row *)one)->pid;
	u32 second = ((const struct user_row *)other)->pid;

	return first < second ? -1 : first > second;
}

/* Adds up the rows of each process; returns the number of processes. */
static u32 merge_rows(struct user_row *rows, u32 count)
{
	u32 merged = 0;
	u32 i;

	sort(rows, count, sizeof(*rows), compare_rows, NULL);
	for (i = 1; i < count; i++) {
		if (rows[i].pid != rows[merged].pid) {
			rows[++merged] = rows[i];
			continue;
		}
		rows[merged].jobs += rows[i].jobs;
		rows[merged].fcs += rows[i].fcs;
		rows[merged].busy_ns += rows[i].busy_ns;
	}
	return count ? merged + 1 : 0;
}

/* Shows a row.  A process chooses its name: a character that would break the line is escaped. */
static void show_row(struct seq_file *file, const struct user_row *row)
{
	seq_printf(file, "%u %llu %llu %llu %*pE\n", row->pid, row->jobs, row->fcs, row->busy_ns,
		   (int)strlen(row->comm), row->comm);
}

/* Room for files that are opened while the memory for the rows is allocated. */
#define FILES_MORE	16u

static int users_show(struct seq_file *file, void *unused)
{
	const struct overtake_core *core = file->private;
	u32 room = collect_files(core->device, core->number, NULL, 0) + FILES_MORE;
	struct user_row *rows = kvcalloc(room, sizeof(*rows), GFP_KERNEL);
	u32 count, i;

	if (!rows)
		return -ENOMEM;
	count = merge_rows(rows, min(collect_files(core->device, core->number, rows, room), room));
	seq_puts(file, "pid jobs fcs time_ns name\n");
	for (i = 0; i < count; i++)
		show_row(file, &rows[i]);
	kvfree(rows);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(users);

static const struct {
	const char *name;
	const struct file_operations *fops;
} core_files[] = {
	{ "busy_ns", &busy_ns_fops },
	{ "fcs_high", &fcs_high_fops },
	{ "fcs_normal", &fcs_normal_fops },
	{ "preemptions", &preemptions_fops },
	{ "faults", &faults_fops },
	{ "resets", &resets_fops },
	{ "hangs", &hangs_fops },
	{ "queue", &queue_fops },
	{ "ratio", &ratio_fops },
	{ "fc_time", &fc_time_fops },
	{ "users", &users_fops },
};

static void add_core(struct dentry *root, struct overtake_core *core)
{
	struct dentry *directory;
	char name[16];
	u32 i;

	snprintf(name, sizeof(name), "core%u", core->number);
	directory = debugfs_create_dir(name, root);
	for (i = 0; i < ARRAY_SIZE(core_files); i++)
		debugfs_create_file(core_files[i].name, 0400, directory, core, core_files[i].fops);
}

/* DRM removes them with the device. */
void overtake_usage_add(struct overtake_device *device)
{
	struct dentry *root = device->drm.debugfs_root;
	u32 i;

	for (i = 0; i < device->settings.cores; i++)
		add_core(root, &device->cores[i]);
	debugfs_create_file("bans", 0400, root, device, &bans_fops);
	debugfs_create_file("lost_interrupts", 0400, root, device, &lost_interrupts_fops);
	debugfs_create_file("spurious_interrupts", 0400, root, device, &spurious_interrupts_fops);
}
