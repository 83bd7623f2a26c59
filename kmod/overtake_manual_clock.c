// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock that is stepped by hand, through debugfs.
 *
 * DOC: the manual clock
 *
 * Device time stands still until it is advanced.  Work that ends at the present instant has ended,
 * and arrivals at it are seen together: the cores choose only when time moves on.
 */
#include <linux/mutex.h>
#include <linux/wait.h>

#include "overtake_deliver.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_job_tree.h"
#include "overtake_lock.h"
#include "overtake_manual_clock.h"
#include "overtake_service.h"
#include "overtake_sync.h"

/*
 * overtake_manual_clock_set - switch between the ordinary and the manual clock
 *
 * Restarts the device with time 0.  -EBUSY while a file is open.
 */
int overtake_manual_clock_set(struct overtake_device *device, bool manual)
{
	int ret;

	ret = mutex_lock_interruptible(&device->clock_mutex);
	if (ret)
		return ret;
	/* Work of files that are closed already ends by itself. */
	ret = wait_event_interruptible(device->idle,
				       READ_ONCE(device->files) || overtake_host_is_idle(device));
	overtake_lock(device);
	if (!ret && device->gone)
		ret = -ENODEV;
	if (!ret && (device->files || !overtake_host_is_idle_locked(device)))
		ret = -EBUSY;
	if (!ret && device->manual != manual) {
		device->manual = manual;
		overtake_host_boot_locked(device);
	}
	overtake_unlock(device);
	mutex_unlock(&device->clock_mutex);
	overtake_host_kick(device);
	return ret;
}

/* Whether all but the choices of manual_ns has happened, and all waiters have been notified. */
static bool clock_is_settled(struct overtake_device *device)
{
	bool settled;

	overtake_lock(device);
	settled = device->gone || !device->manual ||
		  (overtake_delivered_locked(device) && !overtake_unblocked_any(device) &&
		   overtake_service_is_settled_locked(device) &&
		   ovt_fw_prepared(&device->fw, device->manual_ns));
	overtake_unlock(device);
	return settled;
}

/* Greatest time: it leaves room for all that is added to a time, 146 years. */
#define OVERTAKE_CLOCK_MAX_NS	((u64)KTIME_MAX / 2)

/* Moves the manual clock towards @target_ns, no further than the next deadline. */
static int hop(struct overtake_device *device, u64 target_ns, bool *there)
{
	struct overtake_job *job;

	guard(overtake_lock)(device);
	if (device->gone)
		return -ENODEV;
	if (!device->manual)
		return -EPERM;
	if (target_ns < device->manual_ns || target_ns > OVERTAKE_CLOCK_MAX_NS)
		return -EINVAL;
	job = overtake_job_next_deadline(device);
	if (!overtake_unblocked_any(device)) /* unblocked jobs arrive first, as of now */
		device->manual_ns = job && job->deadline_ns < target_ns ?
				    max(job->deadline_ns, device->manual_ns) : target_ns;
	*there = device->manual_ns == target_ns;
	return 0;
}

/* Runs the device until all has happened but the choices of this instant. */
static int settle(struct overtake_device *device)
{
	overtake_host_kick(device);
	return wait_event_interruptible(device->idle, clock_is_settled(device));
}

/* Carries out choices of tasks at this instant.  Returns true if there were any. */
static bool let_tasks_choose(struct overtake_device *device)
{
	bool chose;

	overtake_lock(device);
	chose = overtake_service_settle_locked(device);
	overtake_unlock(device);
	return chose;
}

/* Carries out the choices of cores at this instant, and the work that begins with them. */
static int let_cores_choose(struct overtake_device *device)
{
	int ret;

	overtake_lock(device);
	device->choosing = true;
	overtake_unlock(device);
	ret = settle(device);
	overtake_lock(device);
	device->choosing = false;
	overtake_unlock(device);
	return ret;
}

/* Moves to the next instant before @target_ns at which anything happens; false: there is none. */
static bool hop_to_next(struct overtake_device *device, u64 target_ns)
{
	u64 next_ns;

	guard(overtake_lock)(device);
	next_ns = overtake_host_next_locked(device);
	if (!device->manual || device->gone || next_ns >= target_ns)
		return false;
	device->manual_ns = max(next_ns, device->manual_ns);
	return true;
}

static bool tasks_may_choose(struct overtake_device *device, u64 target_ns)
{
	bool may;

	overtake_lock(device);
	may = device->manual && !device->gone && device->service->open &&
	      device->manual_ns < target_ns;
	overtake_unlock(device);
	return may;
}

/*
 * If there are tasks: does all that happens before @target_ns, instant by instant, since tasks
 * react to each.  If @target_ns is the present time, does what tasks choose now.
 */
static int step_tasks(struct overtake_device *device, u64 target_ns)
{
	int ret;

	do {
		do {
			ret = settle(device);
		} while (!ret && let_tasks_choose(device));
		if (ret || !tasks_may_choose(device, target_ns))
			return ret;
		ret = let_cores_choose(device);
	} while (!ret && hop_to_next(device, target_ns));
	return ret;
}

/*
 * overtake_manual_clock_advance - step the manual clock to @target_ns
 *
 * Returns when all that happens until then has happened and was reported, except the choices of
 * @target_ns itself: calls of clients within that instant precede these.  May be called again
 * with the same time after -ERESTARTSYS.  -EINVAL for a time before now or beyond
 * OVERTAKE_CLOCK_MAX_NS, -EPERM with the ordinary clock.
 */
int overtake_manual_clock_advance(struct overtake_device *device, u64 target_ns)
{
	bool there = false;
	int ret;

	ret = mutex_lock_interruptible(&device->clock_mutex);
	if (ret)
		return ret;
	ret = step_tasks(device, target_ns);
	while (!ret && !there) {
		ret = hop(device, target_ns, &there);
		if (!ret)
			ret = settle(device);
	}
	mutex_unlock(&device->clock_mutex);
	return ret;
}
