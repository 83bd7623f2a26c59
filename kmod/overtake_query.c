// SPDX-License-Identifier: GPL-2.0-only
/* Queries of clients: numbers of the device, its cores, limits, service mode. */
#include <linux/capability.h>
#include <linux/uaccess.h>

#include "overtake_clock.h"
#include "overtake_counters.h"
#include "overtake_limits.h"
#include "overtake_lock.h"
#include "overtake_query.h"
#include "overtake_service.h"
#include "host/core_profile.h"

/*
 * Counters are exact for callers that may look at the whole system, coarse for others.  All
 * callers get the core limit: they have to know it to overtake.
 */
static void core_info(struct overtake_device *device, u32 core,
		      struct drm_overtake_core_info *info)
{
	struct overtake_counters counters;

	if (perfmon_capable())
		overtake_counters_exact(device, core, &counters);
	else
		overtake_counters_coarse(device, core, &counters);
	*info = (struct drm_overtake_core_info){
		.core = core,
		.core_limit = READ_ONCE(device->cores[core - 1].limit_pushed),
		.busy_ns = counters.busy_ns,
		.fcs_high = counters.fcs[OVT_RING_HIGH],
		.fcs_normal = counters.fcs[OVT_RING_NORMAL],
		.preemptions = counters.preemptions,
		.faults = counters.faults,
		.resets = counters.resets,
	};
}

static void device_info(struct overtake_device *device, struct drm_overtake_device_info *info)
{
	const struct overtake_settings *settings = &device->settings;
	const struct ovt_profile *profile = settings->profiles; /* of core 1 */

	*info = (struct drm_overtake_device_info){
		.isa_version = OVERTAKE_ISA_VERSION,
		.core_count = settings->cores,
		.mode = settings->mode,
		.clock_khz = profile->clock_khz,
		.macs_per_cycle = profile->macs_per_cycle,
		.bytes_per_cycle = profile->bytes_per_cycle,
		.insn_overhead_cycles = profile->insn_overhead_cycles,
		.fc_overhead_cycles = profile->fc_overhead_cycles,
		.ring_entries = OVT_RING_ENTRIES,
		.watchdog_cycles = overtake_watchdog_cycles(settings, 1),
		.queue_timeout_ns = settings->queue_timeout_ns,
	};
	overtake_lock(device);
	info->manual_clock = device->manual;
	info->device_time_ns = overtake_clock_now(device);
	overtake_unlock(device);
}

static int query_device(struct overtake_device *device, struct drm_overtake_query *args)
{
	struct drm_overtake_device_info info;
	u64 size = args->size;

	args->size = sizeof(info);
	if (!size)
		return 0;
	device_info(device, &info);
	return copy_to_user(u64_to_user_ptr(args->data), &info, min(size, sizeof(info))) ?
	       -EFAULT : 0;
}

static int query_cores(struct overtake_device *device, struct drm_overtake_query *args)
{
	u64 left = args->size;
	u32 core;

	args->size = device->settings.cores * sizeof(struct drm_overtake_core_info);
	for (core = 1; core <= device->settings.cores && left; core++) {
		struct drm_overtake_core_info info;
		u64 length = min(left, sizeof(info));

		core_info(device, core, &info);
		if (copy_to_user(u64_to_user_ptr(args->data) + (core - 1) * sizeof(info), &info,
				 length))
			return -EFAULT;
		left -= length;
	}
	return 0;
}

/* Copies to the buffer of @args as much as fits of @length bytes at @offset of the topic. */
static int copy_part(const struct drm_overtake_query *args, u64 offset, const void *part,
		     u64 length)
{
	if (offset >= args->size)
		return 0;
	return copy_to_user(u64_to_user_ptr(args->data) + offset, part,
			    min(length, args->size - offset)) ? -EFAULT : 0;
}

static int query_core_profiles(struct overtake_device *device, struct drm_overtake_query *args)
{
	const struct overtake_settings *settings = &device->settings;
	struct drm_overtake_core_profiles head = {
		.core_count = settings->cores,
		.profile_bytes = sizeof(struct drm_overtake_core_profile),
	};
	int ret = copy_part(args, 0, &head, sizeof(head));
	u32 i;

	for (i = 0; i < settings->cores && !ret; i++) {
		struct drm_overtake_core_profile profile =
			ovt_core_profile(&settings->profiles[i],
					 overtake_watchdog_cycles(settings, i + 1));

		ret = copy_part(args, sizeof(head) + i * sizeof(profile), &profile,
				sizeof(profile));
	}
	args->size = sizeof(head) + settings->cores * sizeof(struct drm_overtake_core_profile);
	return ret;
}

int overtake_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_device *device = to_overtake_device(drm);
	struct drm_overtake_query *args = data;

	if (args->pad)
		return -EINVAL;
	switch (args->topic) {
	case OVERTAKE_QUERY_DEVICE:
		return query_device(device, args);
	case OVERTAKE_QUERY_CORES:
		return query_cores(device, args);
	case OVERTAKE_QUERY_LIMITS:
		return overtake_query_limits(file->driver_priv, args);
	case OVERTAKE_QUERY_SERVICE:
		return overtake_query_service(device, args);
	case OVERTAKE_QUERY_CORE_PROFILES:
		return query_core_profiles(device, args);
	default:
		return -EINVAL;
	}
}
