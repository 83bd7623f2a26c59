// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backstop, which looks at the device once a second.
 *
 * It corrects mistakes of the driver, not of clients: a lost wake-up, a lost timer, a core that
 * does not execute.  The firmware's watchdog stops clients' FCs that execute for too long.
 */
#include <linux/sched.h>

#include <drm/drm_print.h>

#include "overtake_backstop.h"
#include "overtake_clock.h"
#include "overtake_core.h"
#include "overtake_host.h"
#include "overtake_inject.h"
#include "overtake_lock.h"
#include "overtake_workqueues.h"

#define BACKSTOP_PERIOD		HZ
/*
 * Looks in a row without a step after which a core is reset.  They are counted, not timed: a
 * machine that was suspended or starved must not look like a stuck core.
 */
#define BACKSTOP_LOOKS		20u
/* Looks in a row without a step after which the core's thread is woken once more. */
#define LOST_LOOKS		2u

static bool core_is_runnable(struct overtake_core *core)
{
	struct overtake_device *device = core->device;
	bool runnable;

	overtake_lock(device);
	runnable = ovt_fw_runnable(&device->fw, core->number);
	overtake_unlock(device);
	return runnable;
}

/* True if an FC should be executing and @core has taken no step since the last look. */
static bool core_is_stuck(struct overtake_core *core)
{
	u64 steps = READ_ONCE(core->steps);
	bool stuck = core_is_runnable(core) && steps == core->seen_steps;

	core->seen_steps = steps;
	core->stuck = stuck ? core->stuck + 1 : 0;
	return core->stuck >= BACKSTOP_LOOKS;
}

/* Wakes the core's thread if its wake-up was lost: the thread has work and sleeps. */
static void recover_wakeup(struct overtake_core *core)
{
	struct overtake_device *device = core->device;

	overtake_lock(device);
	core->injected &= ~BIT(OVERTAKE_INJECT_LOST_WAKEUP);
	if (!core->executing && ovt_fw_runnable(&device->fw, core->number) &&
	    wake_up_process(core->thread))
		device->lost_interrupts++;
	overtake_unlock(device);
}

/*
 * Does work that was due at the last look already: its interrupt was lost.  The manual clock has no
 * interrupts: the process that steps the clock does the work that is due, or this function.
 */
static void recover_interrupt(struct overtake_device *device)
{
	bool due;

	overtake_lock(device);
	due = device->manual || overtake_host_next_locked(device) <= device->looked_ns;
	if (due && !device->manual)
		device->lost_interrupts++;
	device->looked_ns = overtake_clock_now(device);
	overtake_unlock(device);
	if (due)
		overtake_host_kick(device);
}

static void backstop_work(struct work_struct *work)
{
	struct overtake_device *device =
		container_of(to_delayed_work(work), struct overtake_device, backstop);
	u32 i;

	for (i = 0; i < device->settings.cores; i++) {
		struct overtake_core *core = &device->cores[i];

		if (!core_is_stuck(core)) {
			if (core->stuck == LOST_LOOKS)
				recover_wakeup(core);
			continue;
		}
		drm_err(&device->drm, "core %u makes no progress: reset\n", core->number);
		core->stuck = 0;
		wake_up_process(core->thread);
		overtake_core_reset(device, core->number);
	}
	recover_interrupt(device);
	queue_delayed_work(overtake_workqueue, &device->backstop, BACKSTOP_PERIOD);
}

void overtake_backstop_init(struct overtake_device *device)
{
	INIT_DELAYED_WORK(&device->backstop, backstop_work);
}

void overtake_backstop_start(struct overtake_device *device)
{
	queue_delayed_work(overtake_workqueue, &device->backstop, BACKSTOP_PERIOD);
}

void overtake_backstop_stop(struct overtake_device *device)
{
	cancel_delayed_work_sync(&device->backstop);
}
