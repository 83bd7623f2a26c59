/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of cores: exact for callers with CAP_PERFMON, coarse for all others. */
#ifndef OVERTAKE_COUNTERS_H
#define OVERTAKE_COUNTERS_H

#include <linux/sizes.h>

#include "overtake_drv.h"

/* Steps of the coarse counters, beside those of host/coarse.h. */
#define OVERTAKE_COARSE_BYTES		((u64)SZ_1M) /* each open file, rounded up: 0 is none */
#define OVERTAKE_COARSE_COMMANDS	1024u /* the device, rounded down */

/**
 * struct overtake_counters - counters of a core since the device was bound
 * @busy_ns: device time spent on FCs that have ended
 * @fcs: FCs that have ended, by ring
 * @preemptions: times that a HIGH FC went ahead of a NORMAL job that had begun
 * @faults: FCs that ended by a fault of any kind
 * @resets: resets of this core
 * @hangs: FCs ended by the watchdog or their clock
 * @queue: FCs that run, are committed or wait at the moment
 * @ratio: percent of the last whole window for which the core was busy
 */
struct overtake_counters {
	u64 busy_ns;
	u64 fcs[OVT_RING_COUNT];
	u64 preemptions;
	u64 faults;
	u64 resets;
	u64 hangs;
	u64 queue;
	u64 ratio;
};

/**
 * struct overtake_device_counters - counters of a device since it was bound
 * @bans: contexts that were banned
 * @lost_interrupts: wake-ups and interrupts that the backstop made up for
 * @spurious_interrupts: wake-ups of cores that had nothing to execute
 * @commands: command slots in use at the moment
 * @busy_us: device time for which its cores were busy, on average; coarse only
 * @bytes: memory charged to open files at the moment; coarse only
 */
struct overtake_device_counters {
	u64 bans;
	u64 lost_interrupts;
	u64 spurious_interrupts;
	u64 commands;
	u64 busy_us;
	u64 bytes;
};

int overtake_coarse_init(struct overtake_device *device);

/* Under the device lock. */
void overtake_coarse_clear_locked(struct overtake_device *device);
void overtake_coarse_roll_locked(struct overtake_device *device);
void overtake_coarse_count_locked(struct overtake_client *client, const struct ovt_event *event);

/* The bytes charged to @client change from @before to @after.  Takes the device lock. */
void overtake_coarse_charge(struct overtake_client *client, u64 before, u64 after);

/*
 * @core is from 1.  Coarse counters are for sysfs and for callers without CAP_PERFMON; exact ones
 * are for callers with it, and for root in debugfs.
 */
void overtake_counters_coarse(struct overtake_device *device, u32 core,
			      struct overtake_counters *counters);
void overtake_counters_exact(struct overtake_device *device, u32 core,
			     struct overtake_counters *counters);
void overtake_device_counters_coarse(struct overtake_device *device,
				     struct overtake_device_counters *counters);
void overtake_device_counters_exact(struct overtake_device *device,
				    struct overtake_device_counters *counters);

#endif
