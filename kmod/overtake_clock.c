// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device time, and the timer that follows it.
 *
 * DOC: device time
 *
 * Device time is CLOCK_MONOTONIC, read under the device lock, so commands are stamped in order.
 * With the manual clock, device time stands still until it is advanced (overtake_manual_clock.c).
 */
#include <linux/hrtimer.h>

#include "compat.h"
#include "overtake_clock.h"
#include "overtake_host.h"

/* Caller holds the device lock. */
u64 overtake_clock_now(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return device->manual ? device->manual_ns : ktime_get_ns();
}

/* Makes the timer fire at @time_ns of the ordinary clock; OVT_TIME_NEVER changes nothing. */
void overtake_clock_set_timer_locked(struct overtake_device *device, u64 time_ns)
{
	lockdep_assert_held(&device->lock);
	/* A timer that fires early or in vain does no harm, so it is never cancelled here. */
	if (time_ns == OVT_TIME_NEVER || time_ns >= KTIME_MAX)
		return;
	/* The queued timer fires early enough, and run_locked() then sets the next time. */
	if (hrtimer_is_queued(&device->timer) && device->timer_ns <= time_ns)
		return;
	device->timer_ns = time_ns;
	hrtimer_start(&device->timer, ns_to_ktime(time_ns), HRTIMER_MODE_ABS);
}

/*
 * overtake_clock_kick_soon_locked - overtake_host_kick() from under a fence's lock
 *
 * Nothing may be delivered under a fence's lock: the timer delivers as soon as interrupts are on
 * again, or the resume does after a suspend.  Called under the device lock.
 */
void overtake_clock_kick_soon_locked(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	if (!device->stopped && !device->suspended)
		overtake_clock_set_timer_locked(device, ktime_get_ns());
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

void overtake_clock_init(struct overtake_device *device)
{
	overtake_timer_setup(&device->timer, timer_fired);
}
