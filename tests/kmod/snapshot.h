/* SPDX-License-Identifier: MIT */
/*
 * All state that the driver reports: contexts, jobs, charged memory, command slots, ring positions,
 * counters, handles.  A call that is refused must leave it unchanged.
 */
#ifndef KMOD_SNAPSHOT_H
#define KMOD_SNAPSHOT_H

#include "device.h"

struct snapshot {
	char state[8192];
	char fdinfo[2048];
	struct drm_overtake_core_info cores[2];
	uint32_t next_handle;
};

/* Takes a snapshot of device 0, which has two cores and whose clock stands still. */
void take_snapshot(const struct client *client, struct snapshot *snapshot);
/* Ends the test case if they differ. */
void compare_snapshots(const struct snapshot *before, const struct snapshot *after);

#endif
