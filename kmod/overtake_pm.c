// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and resume of the whole system.
 *
 * User space is frozen already, so nobody asks for anything new, but jobs may be in flight, and
 * they stay in flight: nothing is saved, since all state is in memory between FCs.
 *
 *	suspend		the FCs that run end and are told of; the cores choose no further one;
 *			threads and timers stop.  If an FC does not end in time, the suspend is
 *			refused (-EBUSY) and the device goes on
 *	resume		threads and timers start, and what waited is chosen from then on
 *
 * Device time is CLOCK_MONOTONIC, which does not count the time asleep: no job's deadline
 * passes while the system sleeps, no FC seems to have taken the whole night, and the watchdog
 * counts executed cycles only.  With the manual clock device time stands still as ever; an FC that
 * is in its middle is so after the resume.
 *
 * There is no runtime suspend: an idle core costs nothing.
 */
#include <linux/device.h>
#include <linux/pm.h>

#include "overtake_drv.h"
#include "overtake_host.h"
#include "overtake_pm.h"

static int overtake_suspend(struct device *dev)
{
	return overtake_host_suspend(dev_get_drvdata(dev));
}

static int overtake_resume(struct device *dev)
{
	overtake_host_resume(dev_get_drvdata(dev));
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(overtake_pm_ops, overtake_suspend, overtake_resume);
