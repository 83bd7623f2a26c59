// SPDX-License-Identifier: GPL-2.0-only
/*
 * The share of the device's command slots that one user gets, however many files they open.
 *
 * A user is the effective uid, as the kernel has it, of the process that opened the file, wherever
 * the file was passed since.  Root of a user namespace is the uid to which it is mapped.  A job in
 * flight counts two slots; a context counts one, and one more for each core if it asks for a core
 * limit.
 *
 *	share		no user gets more than half of the slots of ordinary clients, except
 *			through contexts with a right to 255
 *	first job	the last slots are for users who have nothing in flight, so that others
 *			who hold all the rest lock no user out
 *	reserve		only contexts with a right to 255 get the reserve
 *			(reserve_commands_locked())
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "overtake_limits.h"
#include "overtake_lock.h"
#include "overtake_user.h"

static struct overtake_user *find_locked(struct overtake_device *device, kuid_t uid,
					 struct rb_node ***place, struct rb_node **parent)
{
	*place = &device->users.rb_node;
	*parent = NULL;
	while (**place) {
		struct overtake_user *user = rb_entry(**place, struct overtake_user, node);

		if (uid_eq(user->uid, uid))
			return user;
		*parent = **place;
		*place = uid_lt(uid, user->uid) ? &(**place)->rb_left : &(**place)->rb_right;
	}
	return NULL;
}

/* Returns the calling task's user, with a reference; NULL without memory. */
struct overtake_user *overtake_user_get(struct overtake_device *device)
{
	struct overtake_user *made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
	struct rb_node **place, *parent;
	struct overtake_user *user;

	if (!made)
		return NULL;
	made->device = device;
	made->uid = current_euid();
	overtake_lock(device);
	user = find_locked(device, made->uid, &place, &parent);
	if (!user) {
		rb_link_node(&made->node, parent, place);
		rb_insert_color(&made->node, &device->users);
		swap(user, made);
	}
	user->files++;
	overtake_unlock(device);
	kfree(made);
	return user;
}

/* May sleep. */
void overtake_user_put(struct overtake_user *user)
{
	struct overtake_device *device = user->device;
	bool last;

	overtake_lock(device);
	last = !--user->files;
	if (last)
		rb_erase(&user->node, &device->users);
	overtake_unlock(device);
	if (!last)
		return;
	WARN_ON(user->slots || user->jobs || user->tasks);
	kfree(user);
}

/*
 * reserve_commands_locked - reserve slots for commands of a client
 * @kept: slots to be left free for other ordinary clients
 *
 * Some slots are kept for root's limits and resets and for contexts with a right to priority 255:
 * no other context may take the device away from them.  Called under the device lock.
 */
static bool reserve_commands_locked(struct overtake_device *device, u32 slots, u32 kept,
				    bool privileged)
{
	u32 room = privileged ? OVERTAKE_COMMANDS : OVERTAKE_CLIENT_COMMANDS - kept;

	lockdep_assert_held(&device->lock);
	if (device->fw.commands_reserved + slots > room)
		return false;
	return ovt_fw_reserve(&device->fw, slots);
}

/*
 * Reserves @slots, which the user keeps, and @passing more, which the device gets back at once.
 * @first: the user has no other of that kind, and may take slots that are kept for such users.
 */
static int reserve_locked(struct overtake_client *client, u32 slots, u32 passing, bool first,
			  bool privileged)
{
	struct overtake_device *device = client->device;
	struct overtake_user *user = client->user;
	u32 kept = first ? 0 : OVERTAKE_FIRST_COMMANDS;

	lockdep_assert_held(&device->lock);
	if (!privileged && user->slots + slots > OVERTAKE_USER_COMMANDS)
		return overtake_refuse(client, OVERTAKE_LIMIT_USER_COMMANDS, -ENOSPC);
	if (!reserve_commands_locked(device, slots + passing, kept, privileged))
		return overtake_refuse(client, OVERTAKE_LIMIT_COMMANDS, -ENOSPC);
	user->slots += slots;
	return 0;
}

/*
 * overtake_user_add_job_locked - reserve slots for a job of @client: SUBMIT and one CANCEL
 * @privileged: its context has a right to 255
 *
 * Returns 0, and the slots are the user's until overtake_user_remove_job_locked(); or -ENOSPC, and
 * the limit is noted.
 */
int overtake_user_add_job_locked(struct overtake_client *client, bool privileged)
{
	int ret = reserve_locked(client, 2, 0, !client->user->jobs, privileged);

	if (!ret)
		client->user->jobs++;
	return ret;
}

/* The job has ended.  The firmware has its slots back, or gets them when it handles the CANCEL. */
void overtake_user_remove_job_locked(struct overtake_client *client)
{
	lockdep_assert_held(&client->device->lock);
	client->user->slots -= 2;
	client->user->jobs--;
}

/* Reserves slots for a context, which keeps @slots and needs @passing now. */
int overtake_user_add_context_locked(struct overtake_client *client, u32 slots, u32 passing,
				     bool privileged)
{
	return reserve_locked(client, slots, passing, !client->user->slots, privileged);
}

void overtake_user_remove_context_locked(struct overtake_client *client, u32 slots)
{
	lockdep_assert_held(&client->device->lock);
	client->user->slots -= slots;
}
