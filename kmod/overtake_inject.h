/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults on demand.  See overtake_inject.c. */
#ifndef OVERTAKE_INJECT_H
#define OVERTAKE_INJECT_H

#include <linux/fault-inject.h>

#include "overtake_drv.h"

struct dentry;
struct seq_file;

enum overtake_injection {
	OVERTAKE_INJECT_STUCK,
	OVERTAKE_INJECT_ENDLESS,
	OVERTAKE_INJECT_DESCRIPTOR,
	OVERTAKE_INJECT_INSTRUCTION,
	OVERTAKE_INJECT_LOST_WAKEUP,
	OVERTAKE_INJECT_LOST_INTERRUPT,
	OVERTAKE_INJECT_SPURIOUS,
	OVERTAKE_INJECT_RESET,
	OVERTAKE_INJECTIONS,
};

/* Greatest number of faults that wait for their FCs at a time. */
#define OVERTAKE_INJECT_PLANNED	16u

/**
 * struct overtake_inject - the faults that a device injects; device lock
 * @planned: faults to come: the kind of each, and its FC counted from now, 1 = the next
 * @planned_count: entries of @planned
 * @rules: attributes of the kernel's fault injection, for each kind
 * @injected: number of faults of each kind that were injected
 * @regions: regions that a core gets instead of the job's, for each core
 */
struct overtake_inject {
	struct {
		enum overtake_injection kind;
		u64 fcs_left;
	} planned[OVERTAKE_INJECT_PLANNED];
	u32 planned_count;
	struct fault_attr rules[OVERTAKE_INJECTIONS];
	u64 injected[OVERTAKE_INJECTIONS];
	struct ovt_region regions[][OVERTAKE_MAX_REGIONS];
};

int overtake_inject_init(struct overtake_device *device);
int overtake_inject_plan(struct overtake_device *device, char *text);
void overtake_inject_debugfs(struct overtake_device *device, struct dentry *root);
void overtake_inject_show(struct overtake_device *device, struct seq_file *file);
void overtake_inject_start_locked(struct overtake_device *device, u32 core);
void overtake_inject_stuck(struct overtake_core *core);

/*
 * Whether @kind was injected into the FC that @core runs.  Called under the device lock, or by the
 * core's thread while it executes that FC.
 */
static inline bool overtake_is_injected(const struct overtake_core *core,
					enum overtake_injection kind)
{
	return unlikely(core->injected & BIT(kind));
}

#endif
