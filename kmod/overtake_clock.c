// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device time, the timer that follows it, and the clock that is stepped by hand.
 *
 * DOC: device time
 *
 * CLOCK_MONOTONIC, read under the device lock, so commands are stamped in order.  With the manual
 * clock, device time stands still until it is advanced.  What ends at that instant has ended, and
 * what arrives at it is seen together: the cores choose only once time moves on.
 */
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "compat.h"
#include "overtake_clock.h"
#include "overtake_deliver.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_sync.h"

/* Caller holds the device lock. */
u64 overtake_clock_now(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return device->manual ? device->manual_ns : ktime_get_ns();
}

/*
 * overtake_clock_run_locked - let the firmware go as far as time has come
 *
 * A device that goes away waits for no modelled time at all, but only once everything has been told
 * to end: before that, an FC whose end is known already would come to it.
 */
enum ovt_advance overtake_clock_run_locked(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	if (device->untimed)
		return ovt_fw_advance(&device->fw, OVT_TIME_NEVER - 1);
	if (device->manual && device->choosing)
		return ovt_fw_advance(&device->fw, device->manual_ns);
	if (device->manual)
		return ovt_fw_prepare(&device->fw, device->manual_ns);
	return ovt_fw_advance(&device->fw, overtake_clock_now(device));
}

/* When there is something to do next, OVT_TIME_NEVER if nothing is known. */
u64 overtake_clock_next_locked(struct overtake_device *device)
{
	struct overtake_job *job = overtake_job_next_deadline(device);
	u64 next_ns = min(ovt_fw_next(&device->fw), overtake_service_next_locked(device));

	return job ? min(job->deadline_ns, next_ns) : next_ns;
}

/* The timer fires when there is something to do next, as far as is known now. */
void overtake_clock_set_timer_locked(struct overtake_device *device)
{
	u64 next_ns;

	lockdep_assert_held(&device->lock);
	if (device->manual || device->stopped || device->suspended)
		return;
	next_ns = overtake_clock_next_locked(device);
	/* An early or needless call does no harm, so a timer is never taken back. */
	if (next_ns == OVT_TIME_NEVER || next_ns >= KTIME_MAX)
		return;
	device->timer_ns = next_ns;
	hrtimer_start(&device->timer, ns_to_ktime(next_ns), HRTIMER_MODE_ABS);
}

/*
 * overtake_clock_kick_soon_locked - overtake_host_kick() from under a fence's lock
 *
 * There nothing may be delivered: the timer does it as soon as interrupts are on again, or the
 * resume after a suspend.  Under the device lock.
 */
void overtake_clock_kick_soon_locked(struct overtake_device *device)
{
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&device->lock);
	if (device->stopped || device->suspended)
		return;
	device->timer_ns = now_ns;
	hrtimer_start(&device->timer, ns_to_ktime(now_ns), HRTIMER_MODE_ABS);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct overtake_device *device = container_of(timer, struct overtake_device, timer);
	u64 now_ns = ktime_get_ns();
	u64 due_ns = READ_ONCE(device->timer_ns);

	if (now_ns > due_ns && now_ns - due_ns > device->timer_lateness_ns)
		WRITE_ONCE(device->timer_lateness_ns, now_ns - due_ns);
	overtake_host_kick(device);
	return HRTIMER_NORESTART;
}

/*
 * overtake_clock_set_manual - switch between the ordinary and the manual clock
 *
 * Restarts the device with time 0.  -EBUSY while a file is open.
 */
int overtake_clock_set_manual(struct overtake_device *device, bool manual)
{
	int ret;

	ret = mutex_lock_interruptible(&device->clock_mutex);
	if (ret)
		return ret;
	/* What closed files left behind ends by itself. */
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

/* All but the choices of manual_ns has happened, and everybody concerned has been told. */
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

/* Leaves room for everything that is added to a time: 146 years. */
#define OVERTAKE_CLOCK_MAX_NS	((u64)KTIME_MAX / 2)

/* Moves the manual clock towards @target_ns, no further than the next deadline. */
static int hop(struct overtake_device *device, u64 target_ns, bool *there)
{
	struct overtake_job *job;
	int ret = 0;

	overtake_lock(device);
	job = overtake_job_next_deadline(device);
	if (device->gone)
		ret = -ENODEV;
	else if (!device->manual)
		ret = -EPERM;
	else if (target_ns < device->manual_ns || target_ns > OVERTAKE_CLOCK_MAX_NS)
		ret = -EINVAL;
	else if (!overtake_unblocked_any(device)) /* these arrive first, as of now */
		device->manual_ns = job && job->deadline_ns < target_ns ?
				    max(job->deadline_ns, device->manual_ns) : target_ns;
	*there = device->manual_ns == target_ns;
	overtake_unlock(device);
	return ret;
}

/* Lets the device take notice, until all has happened but the choices of this instant. */
static int settle(struct overtake_device *device)
{
	overtake_host_kick(device);
	return wait_event_interruptible(device->idle, clock_is_settled(device));
}

/* What tasks do at this instant.  True if they did. */
static bool let_tasks_choose(struct overtake_device *device)
{
	bool chose;

	overtake_lock(device);
	chose = overtake_service_settle_locked(device);
	overtake_unlock(device);
	return chose;
}

/* And what cores do, with what begins thereby. */
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

/* To the next instant before @target_ns at which anything happens; false if there is none. */
static bool hop_to_next(struct overtake_device *device, u64 target_ns)
{
	bool hopped = false;
	u64 next_ns;

	overtake_lock(device);
	next_ns = overtake_clock_next_locked(device);
	if (device->manual && !device->gone && next_ns < target_ns) {
		device->manual_ns = max(next_ns, device->manual_ns);
		hopped = true;
	}
	overtake_unlock(device);
	return hopped;
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
 * Where there are tasks: all that happens before @target_ns, instant by instant, since tasks answer
 * to each.  If that is now, what they do now.
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
 * overtake_clock_advance - step the manual clock to @target_ns
 *
 * Returns when all that happens until then has happened and been told, but for the choices of
 * @target_ns itself: what clients answer within that instant precedes them.  May be called again
 * with the same time after -ERESTARTSYS.  -EINVAL for a time before now or beyond
 * OVERTAKE_CLOCK_MAX_NS, -EPERM with the ordinary clock.
 */
int overtake_clock_advance(struct overtake_device *device, u64 target_ns)
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

void overtake_clock_init(struct overtake_device *device)
{
	mutex_init(&device->clock_mutex);
	overtake_timer_setup(&device->timer, timer_fired);
}
