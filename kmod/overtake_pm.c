// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and resume of the whole system.
 *
 * User space is frozen already, so no new requests arrive.  Jobs may be in flight, and they stay in
 * flight: nothing is saved, since all state is in memory between FCs.
 *
 *	suspend		the FCs that run end and are reported; the cores start no further FC;
 *			threads and timers stop.  If an FC does not end in time, the suspend is
 *			refused (-EBUSY) and the device goes on
 *	resume		threads and timers start, and cores choose among waiting FCs from then on
 *
 * Device time is CLOCK_MONOTONIC, which does not count the time asleep: no job's deadline
 * passes while the system sleeps, no FC seems to have taken the whole night, and the watchdog
 * counts executed cycles only.  With the manual clock device time stands still: an FC that has been
 * executed, but whose modelled end has not come, still runs after the resume.
 *
 * Fences of jobs that stay in flight are not signalled before the resume.  If another driver waits
 * for such a fence in its own suspend, it waits in vain: its suspend may fail, or it may reset its
 * hardware.  This is accepted, so that jobs survive a suspend.
 *
 * There is no runtime suspend: an idle core costs nothing.
 */
#include <linux/device.h>
#include <linux/kthread.h>
#include <linux/pm.h>

#include "overtake_backstop.h"
#include "overtake_clock.h"
#include "overtake_host.h"
#include "overtake_lock.h"
#include "overtake_pm.h"

/* Greatest time that a suspend waits for FCs that run. */
#define SUSPEND_TIMEOUT		(5 * HZ)

/* Asks the firmware to start no FC; -EBUSY without room for the commands. */
static int hold(struct overtake_device *device)
{
	int ret = 0;

	overtake_lock(device);
	/* The manual clock stands still anyway: nothing starts that has not started. */
	if (!device->manual) {
		/* HOLD, and RELEASE, which must not fail. */
		if (ovt_fw_reserve(&device->fw, 2)) {
			ovt_fw_hold(&device->fw, overtake_clock_now(device));
			device->held = true;
		} else {
			ret = -EBUSY;
		}
	}
	overtake_unlock(device);
	overtake_host_kick(device);
	return ret;
}

static void release(struct overtake_device *device)
{
	overtake_lock(device);
	if (device->held)
		ovt_fw_release(&device->fw, overtake_clock_now(device));
	device->held = false;
	overtake_unlock(device);
	overtake_host_kick(device);
}

/* Whether no core runs an FC; with the manual clock, whether no core has an FC left to execute. */
static bool cores_are_quiet(struct overtake_device *device)
{
	bool quiet = true;
	u32 core;

	overtake_lock(device);
	for (core = 1; core <= device->settings.cores && quiet; core++)
		quiet = device->held ? !device->fw_cores[core - 1].running :
			!ovt_fw_runnable(&device->fw, core);
	overtake_unlock(device);
	return quiet;
}

static void unpark_threads(struct overtake_device *device, u32 count)
{
	while (count--)
		kthread_unpark(device->cores[count].thread);
}

static int park_threads(struct overtake_device *device)
{
	u32 i;

	for (i = 0; i < device->settings.cores; i++) {
		int ret = kthread_park(device->cores[i].thread);

		if (ret) {
			unpark_threads(device, i);
			return ret;
		}
	}
	return 0;
}

static void stop_timers(struct overtake_device *device)
{
	overtake_lock(device);
	device->suspended = true;
	overtake_unlock(device);
	hrtimer_cancel(&device->timer);
	overtake_backstop_stop(device);
	cancel_work_sync(&device->continue_work);
}

static void start_timers(struct overtake_device *device)
{
	overtake_lock(device);
	device->suspended = false;
	overtake_unlock(device);
	overtake_backstop_start(device);
}

/*
 * Lets running FCs end, starts no more, and stops threads and timers.  -EBUSY if an FC takes too
 * long; the device then goes on.  overtake_host_stop() does not run at the same time: the driver
 * core holds the device's lock for both.
 */
static int suspend(struct overtake_device *device)
{
	int ret = hold(device);

	if (ret)
		return ret;
	if (!wait_event_timeout(device->idle, cores_are_quiet(device), SUSPEND_TIMEOUT)) {
		ret = -EBUSY;
		goto release;
	}
	ret = park_threads(device);
	if (ret)
		goto release;
	stop_timers(device);
	return 0;

release:
	release(device);
	return ret;
}

/* Cores choose among waiting FCs from now on, and device time goes on. */
static void resume(struct overtake_device *device)
{
	start_timers(device);
	unpark_threads(device, device->settings.cores);
	release(device);
}

static int overtake_suspend(struct device *dev)
{
	return suspend(dev_get_drvdata(dev));
}

static int overtake_resume(struct device *dev)
{
	resume(dev_get_drvdata(dev));
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(overtake_pm_ops, overtake_suspend, overtake_resume);
