/* SPDX-License-Identifier: GPL-2.0-only */
/* The history of a device: the last FCs of each core, the last events, how busy a core is. */
#ifndef OVERTAKE_HISTORY_H
#define OVERTAKE_HISTORY_H

#include "overtake_drv.h"

/* FCs and events that are kept: a table of either fits a page of text. */
#define OVERTAKE_FCS_KEPT	24u
#define OVERTAKE_EVENTS_KEPT	64u

/* Shortest span of device time over which a core's busy percentage is taken. */
#define OVERTAKE_RATIO_WINDOW_NS	NSEC_PER_SEC

/**
 * struct overtake_fc_record - an FC that has ended
 * @index: number of the FC among those of its core, from 1
 * @tag: tag of its job
 * @context: id of the job's context
 * @pid: process that opened the file
 * @fc_index: index in the job, or in its part of a group
 * @priority: priority of the job
 * @ring: enum ovt_ring_index
 * @fault: OVERTAKE_FAULT_*
 * @part: the part of a group that the FC is in, from 0
 * @start_ns: device time
 * @end_ns: device time
 */
struct overtake_fc_record {
	u64 index;
	u64 tag;
	u32 context;
	u32 pid;
	u32 fc_index;
	u32 priority;
	u32 ring;
	u32 fault;
	u32 part;
	u64 start_ns;
	u64 end_ns;
};

/**
 * struct overtake_event_record - an event that the firmware reported
 * @type: enum ovt_event_type
 * @core: from 1, 0 = none
 * @ring: enum ovt_ring_index
 * @fc_index: as in struct ovt_event
 * @time_ns: device time
 * @tag: tag of the job, 0 without a job
 * @client: DRM's client id
 * @context: id in the client
 * @part: the part of a group that FC @fc_index is in, from 0
 */
struct overtake_event_record {
	enum ovt_event_type type;
	u32 core;
	u32 ring;
	u32 fc_index;
	u64 time_ns;
	u64 tag;
	u64 client;
	u32 context;
	u32 part;
};

/**
 * struct overtake_core_history - history of one core
 * @fcs: the FCs that ended last, number n (from 0) at n % OVERTAKE_FCS_KEPT
 * @fc_count: FCs that have ended
 * @window_start_ns: device time at which the current window began
 * @window_busy_ns: how long the core had been busy when the current window began
 * @ratio: percent of the previous window for which the core was busy
 */
struct overtake_core_history {
	struct overtake_fc_record fcs[OVERTAKE_FCS_KEPT];
	u64 fc_count;
	u64 window_start_ns;
	u64 window_busy_ns;
	u32 ratio;
};

/**
 * struct overtake_history - history of a device; device lock
 * @events: the last events, number n (from 0) at n % OVERTAKE_EVENTS_KEPT
 * @event_count: events seen
 * @cores: the history of each core
 */
struct overtake_history {
	struct overtake_event_record events[OVERTAKE_EVENTS_KEPT];
	u64 event_count;
	struct overtake_core_history cores[];
};

int overtake_history_init(struct overtake_device *device);
void overtake_history_clear_locked(struct overtake_device *device);
void overtake_history_note_locked(struct overtake_device *device, const struct ovt_event *event);
u32 overtake_history_ratio_locked(struct overtake_device *device, u32 core);

#endif
