// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables for sysfs, under the names that users of such boards know: what a core does, and for whom.
 *
 *	ratio		percent that the core was busy in the last whole window of a second
 *	queue		FCs that run, are committed or wait in a ring
 *	fc_time		the last FCs that ended, oldest first
 *	users		who had FCs on the core: processes that opened the files that are open
 *
 * The last two tell of other clients what is theirs: tags, which may be addresses, and how long
 * each of their FCs took.  They are root's to read.
 */
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "overtake_history.h"
#include "overtake_usage.h"

/* So that a table of them fits a page. */
#define USERS_SHOWN	40u

ssize_t overtake_usage_ratio(struct overtake_device *device, u32 core, char *text)
{
	u32 ratio;

	spin_lock_irq(&device->lock);
	ratio = overtake_history_ratio_locked(device, core);
	spin_unlock_irq(&device->lock);
	return sysfs_emit(text, "%u\n", ratio);
}

ssize_t overtake_usage_queue(struct overtake_device *device, u32 core, char *text)
{
	u32 unfinished;

	spin_lock_irq(&device->lock);
	unfinished = ovt_fw_unfinished(&device->fw, core);
	spin_unlock_irq(&device->lock);
	return sysfs_emit(text, "%u\n", unfinished);
}

static ssize_t print_fcs(const struct overtake_core_history *history, char *text)
{
	u64 first = history->fc_count > OVERTAKE_FCS_KEPT ?
		    history->fc_count - OVERTAKE_FCS_KEPT : 0;
	ssize_t length;
	u64 i;

	length = sysfs_emit(text, "index id fc group prio start_ns end_ns run_ns fault\n");
	for (i = first; i < history->fc_count; i++) {
		const struct overtake_fc_record *fc = &history->fcs[i % OVERTAKE_FCS_KEPT];

		length += sysfs_emit_at(text, length, "%llu %llu %u %u %u %llu %llu %llu %u\n",
					fc->index, fc->tag, fc->fc_index, fc->pid, fc->priority,
					fc->start_ns, fc->end_ns, fc->end_ns - fc->start_ns,
					fc->fault);
	}
	return length;
}

ssize_t overtake_usage_fc_time(struct overtake_device *device, u32 core, char *text)
{
	struct overtake_core_history *copy = kmalloc(sizeof(*copy), GFP_KERNEL);
	ssize_t length;

	if (!copy)
		return -ENOMEM;
	spin_lock_irq(&device->lock);
	*copy = device->history->cores[core - 1];
	spin_unlock_irq(&device->lock);
	length = print_fcs(copy, text);
	kfree(copy);
	return length;
}

struct user_row {
	u32 pid;
	char comm[TASK_COMM_LEN];
	u64 jobs;
	u64 fcs;
	u64 busy_ns;
};

/* The row of @client's process, a new one if need be; NULL if there is no room. */
static struct user_row *find_row(struct user_row *users, u32 *count,
				 const struct overtake_client *client)
{
	u32 i;

	for (i = 0; i < *count; i++)
		if (users[i].pid == client->tgid)
			return &users[i];
	if (*count == USERS_SHOWN)
		return NULL;
	users[i].pid = client->tgid;
	strscpy(users[i].comm, client->comm, sizeof(users[i].comm));
	(*count)++;
	return &users[i];
}

static void add_client(struct user_row *users, u32 *count, struct overtake_client *client, u32 core)
{
	struct overtake_device *device = client->device;
	struct overtake_usage usage;
	struct user_row *user;
	u32 ring;

	spin_lock_irq(&device->lock);
	usage = client->usage[core - 1];
	spin_unlock_irq(&device->lock);
	user = find_row(users, count, client);
	if (!user)
		return;
	user->jobs += usage.jobs;
	for (ring = 0; ring < OVT_RING_COUNT; ring++) {
		user->fcs += usage.fcs[ring];
		user->busy_ns += usage.busy_ns[ring];
	}
}

static u32 collect_users(struct overtake_device *device, u32 core, struct user_row *users)
{
	struct drm_file *file;
	u32 count = 0;

	/* A file leaves the list before its client goes. */
	mutex_lock(&device->drm.filelist_mutex);
	list_for_each_entry(file, &device->drm.filelist, lhead)
		add_client(users, &count, file->driver_priv, core);
	mutex_unlock(&device->drm.filelist_mutex);
	return count;
}

ssize_t overtake_usage_users(struct overtake_device *device, u32 core, char *text)
{
	struct user_row *users = kcalloc(USERS_SHOWN, sizeof(*users), GFP_KERNEL);
	ssize_t length;
	u32 count, i;

	if (!users)
		return -ENOMEM;
	count = collect_users(device, core, users);
	length = sysfs_emit(text, "pid jobs fcs time_ns name\n");
	/* A process chooses its name: what would begin another line is shown as an escape. */
	for (i = 0; i < count; i++)
		length += sysfs_emit_at(text, length, "%u %llu %llu %llu %*pE\n", users[i].pid,
					users[i].jobs, users[i].fcs, users[i].busy_ns,
					(int)strlen(users[i].comm), users[i].comm);
	kfree(users);
	return length;
}
