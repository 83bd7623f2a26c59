/* SPDX-License-Identifier: GPL-2.0-only */
/* What happened lately: the last FCs of each core, the last events, how busy a core is. */
#ifndef OVERTAKE_HISTORY_H
#define OVERTAKE_HISTORY_H

#include "overtake_drv.h"

/* So that a table of them fits a page of text. */
#define OVERTAKE_FCS_KEPT	24u
#define OVERTAKE_EVENTS_KEPT	64u

/* The span of device time over which a core's busy percentage is taken, at least. */
#define OVERTAKE_RATIO_WINDOW_NS	NSEC_PER_SEC

/**
 * struct overtake_fc_record - an FC that has ended
 * @index: which FC of its core it was, from 1
 * @tag: its job
 * @context: the job's context
 * @pid: process that opened the file
 * @fc_index: index in the job, or in its part of a group
 * @priority: of the job
 * @ring: enum ovt_ring_index
 * @fault: OVERTAKE_FAULT_*
 * @part: of a group, from 0
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
 * struct overtake_event_record - something that the firmware told
 * @type: enum ovt_event_type
 * @core: from 1, 0 = none
 * @ring: enum ovt_ring_index
 * @fc_index: as in struct ovt_event
 * @time_ns: device time
 * @tag: the job, 0 without one
 * @client: DRM's client id
 * @context: id in the client
 * @part: of a group, from 0: which one FC @fc_index is in
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
 * struct overtake_core_history - of one core
 * @fcs: the last ones, number n at n % OVERTAKE_FCS_KEPT
 * @fc_count: FCs ended
 * @window_start_ns: device time at which the current window began
 * @window_busy_ns: how long the core had been busy by then
 * @ratio: percent of the window before that it was busy
 */
struct overtake_core_history {
	struct overtake_fc_record fcs[OVERTAKE_FCS_KEPT];
	u64 fc_count;
	u64 window_start_ns;
	u64 window_busy_ns;
	u32 ratio;
};

/**
 * struct overtake_history - of a device; device lock
 * @events: the last ones, number n at n % OVERTAKE_EVENTS_KEPT
 * @event_count: events seen
 * @cores: one for each
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
