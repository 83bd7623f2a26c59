// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of cores: exact for callers with CAP_PERFMON, coarse for all others.
 *
 * A process without the right to look at the whole system (CAP_PERFMON) sees coarse counters, by
 * the rule of firmware-sim/host/coarse.h.  All processes see these in sysfs, which does not know
 * which process opened an attribute.
 *
 * Memory is rounded up for each file, so that only a file without memory shows 0.
 *
 * Work that is not shown yet when a file is closed is never shown.  Faults, hangs and resets are
 * not rounded: they show how a job ended, not for how long it ran.
 */
#include <linux/log2.h>
#include <linux/math64.h>

#include <drm/drm_managed.h>

#include "overtake_counters.h"
#include "overtake_history.h"
#include "overtake_lock.h"

#define PERIODS_PER_WINDOW	(OVERTAKE_RATIO_WINDOW_NS / OVT_COARSE_PERIOD_NS)

/**
 * struct coarse_core - coarse counters of a core
 * @sum: sum of the work that is shown of each file
 * @shown: the counters that all users see
 * @window_busy_ns: @shown.busy_ns when the last whole window ended
 */
struct coarse_core {
	struct ovt_coarse_sum sum;
	struct overtake_counters shown;
	u64 window_busy_ns;
};

/**
 * struct overtake_coarse - coarse counters of a device; device lock
 * @period: number of the period in which the values were taken
 * @window: number of the window in which the ratios were taken
 * @bytes: bytes charged to the files, each rounded up
 * @shown: counters of the device that all users see
 * @cores: counters of its cores
 */
struct overtake_coarse {
	u64 period;
	u64 window;
	u64 bytes;
	struct overtake_device_counters shown;
	struct coarse_core cores[];
};

int overtake_coarse_init(struct overtake_device *device)
{
	struct overtake_coarse *coarse;

	coarse = drmm_kzalloc(&device->drm, struct_size(coarse, cores, device->settings.cores),
			      GFP_KERNEL);
	device->coarse = coarse;
	return coarse ? 0 : -ENOMEM;
}

/* The device restarts, and no client is known.  Clients that are still open keep their memory. */
void overtake_coarse_clear_locked(struct overtake_device *device)
{
	u64 bytes = device->coarse->bytes;

	lockdep_assert_held(&device->lock);
	memset(device->coarse, 0, struct_size(device->coarse, cores, device->settings.cores));
	device->coarse->bytes = bytes;
}

/* An FC of @client has ended. */
void overtake_coarse_count_locked(struct overtake_client *client, const struct ovt_event *event)
{
	struct coarse_core *core = &client->device->coarse->cores[event->core - 1];

	lockdep_assert_held(&client->device->lock);
	ovt_coarse_count(&core->sum, &client->usage[event->core - 1].unshown, event->ring,
			 event->duration_ns);
}

void overtake_coarse_charge(struct overtake_client *client, u64 before, u64 after)
{
	u64 shown_before = round_up(before, OVERTAKE_COARSE_BYTES);
	u64 shown_after = round_up(after, OVERTAKE_COARSE_BYTES);
	struct overtake_device *device = client->device;
	unsigned long flags;

	if (shown_before == shown_after)
		return;
	flags = overtake_lock_irqsave(device);
	overtake_coarse_roll_locked(device);
	device->coarse->bytes += shown_after - shown_before;
	overtake_unlock_irqrestore(device, flags);
}

static void count_exact_locked(struct overtake_device *device, u32 core,
			       struct overtake_counters *counters)
{
	const struct ovt_fw_core *fw = &device->fw_cores[core - 1];
	const struct ovt_core *hw = &device->hw[core - 1];

	lockdep_assert_held(&device->lock);
	*counters = (struct overtake_counters){
		.busy_ns = hw->busy_ns,
		.fcs[OVT_RING_HIGH] = hw->done[OVT_RING_HIGH],
		.fcs[OVT_RING_NORMAL] = hw->done[OVT_RING_NORMAL],
		.preemptions = fw->preemptions,
		.faults = fw->faults,
		.resets = fw->resets + device->cores[core - 1].aborts,
		.hangs = device->cores[core - 1].hangs,
		.queue = ovt_fw_unfinished(&device->fw, core),
	};
}

static void count_device_locked(struct overtake_device *device,
				struct overtake_device_counters *counters)
{
	lockdep_assert_held(&device->lock);
	*counters = (struct overtake_device_counters){
		.bans = device->bans,
		.lost_interrupts = device->lost_interrupts,
		.spurious_interrupts = device->spurious_interrupts,
		.commands = device->fw.commands_reserved,
	};
}

/* Returns a mean of the numbers shown for the cores, beyond which it reveals nothing. */
static u64 mean_busy_us(const struct overtake_coarse *coarse, u32 cores)
{
	u64 sum_ns = 0;
	u32 core;

	for (core = 0; core < cores; core++)
		sum_ns += coarse->cores[core].shown.busy_ns;
	return div_u64(sum_ns, cores * (u32)OVT_COARSE_BUSY_NS) *
	       (OVT_COARSE_BUSY_NS / NSEC_PER_USEC);
}

static void take_core(struct overtake_device *device, u32 number)
{
	struct coarse_core *core = &device->coarse->cores[number - 1];
	u64 ratio = core->shown.ratio;

	count_exact_locked(device, number, &core->shown);
	core->shown.busy_ns = core->sum.busy_ns;
	memcpy(core->shown.fcs, core->sum.fcs, sizeof(core->sum.fcs));
	core->shown.preemptions = ovt_coarse_preemptions(core->shown.preemptions);
	if (core->shown.queue)
		core->shown.queue = roundup_pow_of_two(core->shown.queue);
	core->shown.ratio = ratio;
}

/* Takes the ratio of @core; @windows windows have ended since the last one. */
static void take_ratio(struct coarse_core *core, u64 windows)
{
	u64 percent = div64_u64((core->shown.busy_ns - core->window_busy_ns) * 100,
				windows * OVERTAKE_RATIO_WINDOW_NS);

	core->shown.ratio = min(percent, 100ull);
	core->window_busy_ns = core->shown.busy_ns;
}

/*
 * overtake_coarse_roll_locked - take the coarse values, if a period has begun
 *
 * Called before anything changes the counters, so that the values are those of the instant at which
 * the period began.
 */
void overtake_coarse_roll_locked(struct overtake_device *device)
{
	struct overtake_coarse *coarse = device->coarse;
	u64 period = ovt_coarse_period(ktime_get_ns());
	u64 window = div_u64(period, PERIODS_PER_WINDOW);
	u32 core;

	lockdep_assert_held(&device->lock);
	if (period == coarse->period)
		return;
	coarse->period = period;
	count_device_locked(device, &coarse->shown);
	coarse->shown.commands = rounddown(coarse->shown.commands, OVERTAKE_COARSE_COMMANDS);
	for (core = 1; core <= device->settings.cores; core++)
		take_core(device, core);
	coarse->shown.busy_us = mean_busy_us(coarse, device->settings.cores);
	coarse->shown.bytes = coarse->bytes;
	if (window == coarse->window)
		return;
	for (core = 0; core < device->settings.cores; core++)
		take_ratio(&coarse->cores[core], coarse->window ? window - coarse->window : 1);
	coarse->window = window;
}

void overtake_counters_coarse(struct overtake_device *device, u32 core,
			      struct overtake_counters *counters)
{
	overtake_lock(device);
	overtake_coarse_roll_locked(device);
	*counters = device->coarse->cores[core - 1].shown;
	overtake_unlock(device);
}

void overtake_counters_exact(struct overtake_device *device, u32 core,
			     struct overtake_counters *counters)
{
	overtake_lock(device);
	count_exact_locked(device, core, counters);
	counters->ratio = overtake_history_ratio_locked(device, core);
	overtake_unlock(device);
}

void overtake_device_counters_coarse(struct overtake_device *device,
				     struct overtake_device_counters *counters)
{
	overtake_lock(device);
	overtake_coarse_roll_locked(device);
	*counters = device->coarse->shown;
	overtake_unlock(device);
}

void overtake_device_counters_exact(struct overtake_device *device,
				    struct overtake_device_counters *counters)
{
	overtake_lock(device);
	count_device_locked(device, counters);
	overtake_unlock(device);
}
