// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core limit and the NORMAL floor of each core, which determine when HIGH FCs overtake NORMAL
 * ones.  The rule itself is in firmware-sim/hw/arbiter.c; this file lets users set its numbers.
 *
 * The administrator sets both.  Contexts with a right to priority 255 may ask for a tighter limit
 * while they live.  Commands bring both to the cores; room for the commands is reserved first.
 */
#include "overtake_clock.h"
#include "overtake_core_limits.h"
#include "overtake_host.h"
#include "overtake_lock.h"
#include "overtake_trace.h"
#include "host/limits.h"

/*
 * overtake_core_limits_update_locked - give the cores the core limit that is in force
 * @slots: command slots that the caller reserved for it; all are used or given back
 * @by_pid: process whose context came or went, 0 = the administrator; in trace events
 *
 * The limit in force is the lowest positive one of those that the administrator set and that live
 * contexts ask for.  Called under the device lock.
 */
void overtake_core_limits_update_locked(struct overtake_device *device, u32 slots, u32 by_pid)
{
	struct overtake_context *context;
	u32 asked = 0;
	u32 i;

	lockdep_assert_held(&device->lock);
	if (!slots)
		return;
	list_for_each_entry(context, &device->limiting, limiting_link)
		asked = ovt_tightest_limit(asked, context->core_limit);
	for (i = 0; i < device->settings.cores; i++) {
		struct overtake_core *core = &device->cores[i];
		u32 limit = ovt_tightest_limit(asked, core->limit);

		if (limit == core->limit_pushed)
			continue;
		trace_core_limit(core, core->limit_pushed, limit, by_pid);
		core->limit_pushed = limit;
		ovt_fw_limit(&device->fw, core->number, limit, overtake_clock_now(device));
		slots--;
	}
	ovt_fw_unreserve(&device->fw, slots);
}

static int set_limit(struct overtake_device *device, u32 core, u32 limit)
{
	u32 cores = device->settings.cores;
	u32 i;

	guard(overtake_lock)(device);
	if (!ovt_fw_reserve(&device->fw, cores))
		return -EBUSY;
	for (i = 0; i < cores; i++)
		if (!core || core == i + 1)
			device->cores[i].limit = limit;
	overtake_core_limits_update_locked(device, cores, 0);
	return 0;
}

/* @core from 1, or 0 for all; -EBUSY without room for the commands. */
int overtake_core_limits_set(struct overtake_device *device, u32 core, u32 limit)
{
	int ret = set_limit(device, core, limit);

	overtake_host_kick(device);
	return ret;
}

static int set_floor(struct overtake_device *device, u32 core, u32 floor)
{
	u32 cores = device->settings.cores;
	u32 i;

	guard(overtake_lock)(device);
	if (!ovt_fw_reserve(&device->fw, core ? 1 : cores))
		return -EBUSY;
	for (i = 0; i < cores; i++) {
		if (core && core != i + 1)
			continue;
		device->cores[i].normal_floor = floor;
		ovt_fw_normal_floor(&device->fw, i + 1, floor, overtake_clock_now(device));
	}
	return 0;
}

/* @core from 1, or 0 for all; -EBUSY without room for the commands. */
int overtake_normal_floor_set(struct overtake_device *device, u32 core, u32 floor)
{
	int ret = set_floor(device, core, floor);

	overtake_host_kick(device);
	return ret;
}
