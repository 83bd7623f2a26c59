/* SPDX-License-Identifier: GPL-2.0-only */
/* The slices that Perfetto draws.  See overtake_slices.c. */
#ifndef OVERTAKE_SLICES_H
#define OVERTAKE_SLICES_H

#include "overtake_trace.h"

void __overtake_slices_fc_locked(struct overtake_device *device, const struct ovt_event *event);
void __overtake_slices_job_locked(struct overtake_device *device, const struct ovt_event *event);
void __overtake_slices_job_done_locked(const struct overtake_job *job);

/*
 * Traces an event that the firmware has reported.  Called under the device lock.  Each tracepoint
 * that is off costs a static branch.
 */
static inline void overtake_slices_note_locked(struct overtake_device *device,
					       const struct ovt_event *event)
{
	if (trace_fc_slice_enabled())
		__overtake_slices_fc_locked(device, event);
	if (trace_job_slice_enabled())
		__overtake_slices_job_locked(device, event);
}

static inline void overtake_slices_job_done_locked(const struct overtake_job *job)
{
	if (trace_job_slice_enabled())
		__overtake_slices_job_done_locked(job);
}

#endif
