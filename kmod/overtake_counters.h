/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of cores: exact, and coarse for those whom others' work does not concern. */
#ifndef OVERTAKE_COUNTERS_H
#define OVERTAKE_COUNTERS_H

#include <linux/sizes.h>

#include "overtake_drv.h"

/* Steps of what strangers see, beside those of host/coarse.h. */
#define OVERTAKE_COARSE_BYTES		((u64)SZ_1M) /* of an open file, rounded up: 0 is none */
#define OVERTAKE_COARSE_COMMANDS	1024u /* of the device */

/**
 * struct overtake_counters - of a core, since the device was bound
 * @busy_ns: device time spent on FCs that have ended
 * @fcs: of each ring, FCs that have ended
 * @preemptions: times a HIGH FC went ahead of a NORMAL job that had begun
 * @faults: jobs ended by a fault
 * @resets: of this core
 * @hangs: FCs ended by the watchdog or their clock
 * @queue: FCs that run, are committed or wait, now
 * @ratio: percent of the last whole window that it was busy
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
 * struct overtake_device_counters - of a device, since it was bound
 * @bans: contexts that were banned
 * @lost_interrupts: wake-ups and interrupts that the backstop made up for
 * @spurious_interrupts: wake-ups of cores that had nothing to execute
 * @commands: command slots in use, now
 * @busy_us: device time that its cores were busy, on average; coarse only
 * @bytes: memory charged to open files, now; coarse only
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

/* Takes @device->lock: what is charged to @client changes from @before to @after bytes. */
void overtake_coarse_charge(struct overtake_client *client, u64 before, u64 after);

/* @core from 1; coarse: for callers without the right to exact counters, and for root. */
void overtake_counters_coarse(struct overtake_device *device, u32 core,
			      struct overtake_counters *counters);
void overtake_counters_exact(struct overtake_device *device, u32 core,
			     struct overtake_counters *counters);
void overtake_device_counters_coarse(struct overtake_device *device,
				     struct overtake_device_counters *counters);
void overtake_device_counters_exact(struct overtake_device *device,
				    struct overtake_device_counters *counters);

#endif
