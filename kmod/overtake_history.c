// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last FCs and events of a device, for debugfs and for a dump after a reset.
 *
 * There is no timer: a record is written when the firmware reports an event.  A core's window is
 * advanced when an FC ends or a reader reads the ratio and the window is old enough.
 */
#include <linux/math64.h>

#include <drm/drm_managed.h>

#include "overtake_clock.h"
#include "overtake_group.h"
#include "overtake_history.h"
#include "overtake_job.h"

int overtake_history_init(struct overtake_device *device)
{
	struct overtake_history *history;

	history = drmm_kzalloc(&device->drm,
			       struct_size(history, cores, device->settings.cores), GFP_KERNEL);
	device->history = history;
	return history ? 0 : -ENOMEM;
}

/* The device was restarted with time 0. */
void overtake_history_clear_locked(struct overtake_device *device)
{
	struct overtake_history *history = device->history;
	u64 now_ns = overtake_clock_now(device);
	u32 i;

	memset(history, 0, struct_size(history, cores, device->settings.cores));
	for (i = 0; i < device->settings.cores; i++)
		history->cores[i].window_start_ns = now_ns;
}

/* Returns the device time that @core has spent on FCs up to now, the running FC included. */
static u64 busy_ns(struct overtake_device *device, u32 core, u64 now_ns)
{
	const struct ovt_fw_core *fw = &device->fw_cores[core - 1];
	u64 busy = device->hw[core - 1].busy_ns;

	if (fw->running && now_ns > fw->start_ns)
		busy += now_ns - fw->start_ns;
	return busy;
}

static void roll_window(struct overtake_device *device, u32 core)
{
	struct overtake_core_history *history = &device->history->cores[core - 1];
	u64 now_ns = overtake_clock_now(device);
	u64 busy, span;

	if (now_ns < history->window_start_ns + OVERTAKE_RATIO_WINDOW_NS)
		return;
	span = now_ns - history->window_start_ns;
	busy = busy_ns(device, core, now_ns);
	/* An FC that was cut short may have been counted for longer than it took. */
	busy = clamp_t(u64, busy, history->window_busy_ns, history->window_busy_ns + span);
	history->ratio = div64_u64((busy - history->window_busy_ns) * 100 + span / 2, span);
	history->window_start_ns = now_ns;
	history->window_busy_ns = busy;
}

/* Returns the percentage of the last whole window for which @core (from 1) was busy. */
u32 overtake_history_ratio_locked(struct overtake_device *device, u32 core)
{
	lockdep_assert_held(&device->lock);
	roll_window(device, core);
	return device->history->cores[core - 1].ratio;
}

static void note_fc(struct overtake_device *device, const struct ovt_event *event, u32 fault)
{
	struct overtake_core_history *history = &device->history->cores[event->core - 1];
	const struct overtake_job *job = to_overtake_job(event->job);

	history->fcs[history->fc_count % OVERTAKE_FCS_KEPT] = (struct overtake_fc_record){
		.index = history->fc_count + 1,
		.tag = job->tag,
		.context = job->context->id,
		.pid = job->context->client->tgid,
		.fc_index = event->fc_index,
		.priority = job->fw.priority,
		.ring = event->ring,
		.fault = fault,
		.part = overtake_part_index(event->part),
		.start_ns = event->time_ns - event->duration_ns,
		.end_ns = event->time_ns,
	};
	history->fc_count++;
	roll_window(device, event->core);
}

void overtake_history_note_locked(struct overtake_device *device, const struct ovt_event *event)
{
	struct overtake_history *history = device->history;
	struct overtake_event_record *record;
	const struct overtake_context *context;

	lockdep_assert_held(&device->lock);
	context = event->job ? to_overtake_job(event->job)->context :
		  container_of(event->context, struct overtake_context, fw);
	record = &history->events[history->event_count++ % OVERTAKE_EVENTS_KEPT];
	*record = (struct overtake_event_record){
		.type = event->type,
		.core = event->core,
		.ring = event->ring,
		.fc_index = event->fc_index,
		.time_ns = event->time_ns,
		.tag = event->job ? to_overtake_job(event->job)->tag : 0,
		.client = context->client->id,
		.context = context->id,
		.part = event->part ? overtake_part_index(event->part) : 0,
	};
	if (event->type == OVT_EVENT_DONE)
		note_fc(device, event, OVERTAKE_FAULT_NONE);
	else if (event->type == OVT_EVENT_FAULT || event->type == OVT_EVENT_HUNG)
		note_fc(device, event, event->fault);
}
