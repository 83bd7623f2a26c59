// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host of firmware-sim: everything that the firmware decides goes through here.
 *
 * DOC: how the device runs
 *
 * The firmware decides everything inside run_locked(), under the device lock.  run_locked() passes
 * device time in, carries the events out, and sets the timer to the next instant that the
 * firmware knows.  It is called whenever something may have changed: after a
 * command was queued (overtake_host_kick()), after a core has executed an FC (by its thread), and
 * when the timer fires.
 *
 * A core's thread (overtake_core.c) sleeps until a STARTED event wakes it, executes the FC outside
 * all locks, and reports.
 *
 * Clients are notified by work items of their own (overtake_deliver.c).
 *
 * A batch of events has at most OVERTAKE_EVENTS entries, so the lock is held for a bounded time.
 * Where one batch is not enough, callers in process context do another round, a bounded number of
 * times.  Then they hand over to a work item; the timer does so after one round.
 *
 * DOC: why not drm_sched
 *
 * drm_sched orders whole jobs before they reach the hardware, and calls run_job() when it is a
 * job's turn.  This device's work comes after that: jobs of several clients are on a core, and
 * between any two FCs the firmware decides whose FC is next.  So drm_sched would be a second queue
 * in front of the one that matters:
 *
 *	order		Its credit limit is the number of jobs in the hardware.  If it is small, a
 *			HIGH job waits for the end of a whole NORMAL job, where the core limit
 *			promises a few FCs.  If it is never reached, drm_sched orders nothing.
 *	priorities	It has four.  This device has 256, turns of contexts weighted by them,
 *			and quotas.
 *	place		An entity changes cores only when all of its jobs have ended.  Here each
 *			job goes to the core with the fewest unfinished FCs.
 *	time		Its timeout runs from the moment at which a job is the oldest that the
 *			hardware has, whether it executes or is overtaken.  Here the watchdog counts
 *			executed cycles, so a job that is overtaken never looks hung, and a deadline
 *			bounds the whole.
 *	end		Jobs leave its list in the order in which they came.  Here a HIGH job ends
 *			before the NORMAL jobs that were there first, and its memory goes then.
 *
 * firmware-sim decides, and the simulator and processes compile it as well.  So the driver does
 * what they predict.  A scheduler that only the kernel has could not offer that.
 *
 * The driver keeps the rules of drm_sched for fences: others see a job's fence only when nothing
 * can fail any more, nothing is allocated on the way to its signal, and each job ends in bounded
 * time (overtake_job.c, overtake_sync.c).
 */
#include <linux/dma-fence.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "overtake_client.h"
#include "overtake_clock.h"
#include "overtake_core.h"
#include "overtake_core_limits.h"
#include "overtake_coredump.h"
#include "overtake_counters.h"
#include "overtake_ctx.h"
#include "overtake_deliver.h"
#include "overtake_faults.h"
#include "overtake_history.h"
#include "overtake_host.h"
#include "overtake_inject.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_job_tree.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_slices.h"
#include "overtake_trace.h"
#include "overtake_user.h"
#include "overtake_workqueues.h"
#include "host/limits.h"

/* Entries of the event queue, a power of two. */
#define OVERTAKE_EVENTS		256u

/* Rounds that a system call carries out on behalf of others. */
#define KICK_ROUNDS		8u

/* Greatest number of expired deadlines that one round handles. */
#define EXPIRE_AT_ONCE		64u

/* Greatest number of jobs whose fences were signalled that one round lets arrive. */
#define UNBLOCK_AT_ONCE		64u

/* Cancels jobs whose deadlines have expired.  Returns true if there may be more. */
static bool expire_deadlines_locked(struct overtake_device *device)
{
	u64 now_ns = overtake_clock_now(device);
	struct overtake_job *job;
	u32 i;

	for (i = 0; i < EXPIRE_AT_ONCE; i++) {
		job = overtake_job_next_deadline(device);
		if (!job || job->deadline_ns > now_ns)
			return false;
		overtake_job_cancel_locked(job, -ETIME, now_ns);
	}
	return true;
}

static void context_killed_locked(struct overtake_context *context)
{
	context->killed = true;
	if (!(context->tasks && context->tasks->is_open))
		trace_ctx_destroy(context);
	context->client->device->live_contexts--;
	overtake_user_remove_context_locked(context->client, overtake_context_slots(context));
	overtake_deliver_wake_locked(context);
	overtake_context_put(context);
}

/* An FC has ended: counts its time for its client. */
static void count_busy_locked(struct overtake_job *job, const struct ovt_event *event)
{
	struct overtake_usage *usage = &job->context->client->usage[event->core - 1];

	usage->fcs[event->ring]++;
	usage->busy_ns[event->ring] += event->duration_ns;
	overtake_coarse_count_locked(job->context->client, event);
}

static void start_core_locked(struct overtake_device *device, u32 number)
{
	struct overtake_core *core = &device->cores[number - 1];

	overtake_inject_start_locked(device, number);
	if (device->gone)
		overtake_core_abort_locked(device, number);
	if (!overtake_is_injected(core, OVERTAKE_INJECT_LOST_WAKEUP))
		wake_up_process(core->thread);
}

/* An FC has ended by a fault of some kind. */
static void count_fault_locked(struct overtake_device *device, const struct ovt_event *event)
{
	struct overtake_core *core = &device->cores[event->core - 1];

	if (event->type == OVT_EVENT_HUNG)
		core->hangs++;
	overtake_offence_locked(to_overtake_job(event->job), event->fault,
				max(event->duration_ns, core->fc_cpu_ns), event->time_ns);
}

static void trace_submit(const struct overtake_job *job, u64 time_ns)
{
	const struct ovt_fw_group *group = job->fw.group;
	u32 i;

	if (!group) {
		trace_fc_submit(job, &job->fw.part, time_ns);
		return;
	}
	for (i = 0; trace_fc_submit_enabled() && i < group->part_count; i++)
		trace_fc_submit(job, &group->parts[i], time_ns);
}

static void handle_event_locked(struct overtake_device *device, const struct ovt_event *event)
{
	struct overtake_job *job = event->job ? to_overtake_job(event->job) : NULL;

	overtake_history_note_locked(device, event);
	overtake_slices_note_locked(device, event);
	switch (event->type) {
	case OVT_EVENT_ARRIVED:
		trace_submit(job, event->time_ns);
		break;
	case OVT_EVENT_STARTED:
		if (event->resumes)
			trace_fc_resume(device->index, job, event);
		trace_fc_start(device->index, job, event);
		start_core_locked(device, event->core);
		break;
	case OVT_EVENT_PREEMPTED:
		trace_fc_preempt(device->index, job, to_overtake_job(event->by), event);
		break;
	case OVT_EVENT_DONE:
		count_busy_locked(job, event);
		trace_fc_done(device->index, job, event, OVERTAKE_FAULT_NONE);
		break;
	case OVT_EVENT_FAULT:
	case OVT_EVENT_HUNG:
		count_busy_locked(job, event);
		count_fault_locked(device, event);
		if (event->type == OVT_EVENT_HUNG)
			trace_fc_timeout(device->index, job, event, event->fault);
		trace_fc_done(device->index, job, event, event->fault);
		break;
	case OVT_EVENT_ENDED:
		if (event->core)
			job->context->client->usage[event->core - 1].jobs++;
		overtake_job_ended_locked(job);
		break;
	case OVT_EVENT_CANCELLED:
		device->cancels--;
		overtake_job_put(job);
		break;
	case OVT_EVENT_KILLED:
		context_killed_locked(container_of(event->context, struct overtake_context, fw));
		break;
	}
}

/*
 * Lets the firmware advance up to the present time.
 *
 * A device that goes away waits for no modelled time, but only once all work has been asked to end:
 * before that, an FC whose end is known already would end normally.
 */
static enum ovt_advance run_firmware_locked(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	if (device->untimed)
		return ovt_fw_advance(&device->fw, OVT_TIME_NEVER - 1);
	if (device->manual && device->choosing)
		return ovt_fw_advance(&device->fw, device->manual_ns);
	if (device->manual)
		return ovt_fw_prepare(&device->fw, device->manual_ns);
	return ovt_fw_advance(&device->fw, overtake_clock_now(device));
}

/* Returns when there is something to do next, OVT_TIME_NEVER if nothing is known. */
u64 overtake_host_next_locked(struct overtake_device *device)
{
	struct overtake_job *job = overtake_job_next_deadline(device);
	u64 next_ns = min(ovt_fw_next(&device->fw), overtake_service_next_locked(device));

	return job ? min(job->deadline_ns, next_ns) : next_ns;
}

static void set_timer_locked(struct overtake_device *device)
{
	if (!device->manual && !device->stopped && !device->suspended)
		overtake_clock_set_timer_locked(device, overtake_host_next_locked(device));
}

/* Runs one bounded round.  Returns true if there is more to do at once.  go_on() follows. */
static bool run_locked(struct overtake_device *device)
{
	struct ovt_event event;
	bool more;

	lockdep_assert_held(&device->lock);
	overtake_coarse_roll_locked(device);
	more = expire_deadlines_locked(device);
	more |= overtake_jobs_unblock_locked(device, UNBLOCK_AT_ONCE);
	more |= run_firmware_locked(device) == OVT_ADVANCE_EVENTS;
	while (ovt_fw_pop_event(&device->fw, &event))
		handle_event_locked(device, &event);
	more |= overtake_service_run_locked(device);
	if (!more)
		set_timer_locked(device);
	return more;
}

static void note_idle(struct overtake_device *device)
{
	if (wq_has_sleeper(&device->idle))
		wake_up_all(&device->idle);
}

/* Any context. */
static bool run_once(struct overtake_device *device)
{
	unsigned long flags = overtake_lock_irqsave(device);
	bool more = run_locked(device);

	overtake_unlock_irqrestore(device, flags);
	return more;
}

/*
 * Called after a round; @more: there is more to do.
 *
 * Work that does not fit into a bounded number of rounds is left to a work item.  The number is one
 * in interrupts, and a few in process context, since the work may be other clients'.
 */
static void go_on(struct overtake_device *device, bool more)
{
	u32 rounds = in_task() ? KICK_ROUNDS : 1;

	note_idle(device);
	while (more) {
		if (!--rounds) {
			queue_work(overtake_high_workqueue, &device->continue_work);
			return;
		}
		more = run_once(device);
		note_idle(device);
	}
}

/* overtake_host_kick(): lets the device handle what was queued.  Any context. */
static void kick(struct overtake_device *device)
{
	bool signalling = dma_fence_begin_signalling();

	go_on(device, run_once(device));
	dma_fence_end_signalling(signalling);
}

static void continue_work(struct work_struct *work)
{
	kick(container_of(work, struct overtake_device, continue_work));
}

static const struct overtake_host_operations operations = {
	.kick = kick,
	.run_locked = run_locked,
	.go_on = go_on,
};

/* Restarts the device, with counters and time at zero.  Only while no client is known. */
void overtake_host_boot_locked(struct overtake_device *device)
{
	struct ovt_fw_config config = {
		.profile = device->settings.profiles,
		.mode = device->settings.mode,
		.core_count = device->settings.cores,
		.fair = device->settings.fair,
		.quota_ns = (u64)device->settings.quota_ms * NSEC_PER_MSEC,
		.watchdog_cycles = overtake_watchdog_cycles(&device->settings, 1),
		.clock = ovt_fc_clock(device->settings.fc_clock_ns),
		/* The manual clock waits for FCs that execute. */
		.lag_max_ns = device->manual ? 0 : OVT_LAG_MAX_NS,
		.stretch_max_ns = device->manual ? 0 : OVT_STRETCH_MAX_NS,
		.cores = device->hw,
		.core_states = device->fw_cores,
		.commands = device->commands,
		.command_count = OVERTAKE_COMMANDS,
		.events = device->events,
		.event_count = OVERTAKE_EVENTS,
	};
	u32 i;

	lockdep_assert_held(&device->lock);
	ovt_fw_init(&device->fw, &config);
	device->manual_ns = 0;
	device->looked_ns = 0;
	overtake_history_clear_locked(device);
	overtake_coarse_clear_locked(device);
	overtake_service_boot_locked(device);
	for (i = 0; i < device->settings.cores; i++) {
		device->cores[i].limit_pushed = 0;
		ovt_core_set_profile(&device->hw[i], &device->settings.profiles[i],
				     overtake_watchdog_cycles(&device->settings, i + 1));
		ovt_core_write(&device->hw[i], OVT_REG_NORMAL_FLOOR, device->cores[i].normal_floor);
		if (device->simd)
			ovt_core_use_simd(&device->hw[i], &device->simd[i],
					  device->settings.simd_level);
	}
	if (ovt_fw_reserve(&device->fw, device->settings.cores))
		overtake_core_limits_update_locked(device, device->settings.cores, 0);
}

/* Whether no job is in flight, the firmware knows no context or CANCEL, and all is delivered. */
bool overtake_host_is_idle_locked(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return !device->jobs_in_flight && !device->live_contexts && !device->cancels &&
	       overtake_service_is_idle_locked(device) &&
	       !overtake_unblocked_any(device) && overtake_delivered_locked(device);
}

bool overtake_host_is_idle(struct overtake_device *device)
{
	bool idle;

	overtake_lock(device);
	idle = overtake_host_is_idle_locked(device);
	overtake_unlock(device);
	return idle;
}

static void free_queues(struct drm_device *drm, void *data)
{
	struct overtake_device *device = data;

	kvfree(device->simd);
	kvfree(device->events);
	kvfree(device->commands);
	mutex_destroy(&device->clock_mutex);
}

/*
 * Creates all that lives as long as the drm_device.  After this the device's lock and queues can be
 * used.
 */
int overtake_host_init(struct overtake_device *device)
{
	u32 cores = device->settings.cores;
	int ret;
	u32 i;

	device->host = &operations;
	spin_lock_init(&device->lock);
	init_waitqueue_head(&device->idle);
	INIT_WORK(&device->continue_work, continue_work);
	INIT_LIST_HEAD(&device->limiting);
	overtake_unblocked_init(device);
	device->deadlines = RB_ROOT_CACHED;
	device->contexts = RB_ROOT_CACHED;
	device->users = RB_ROOT;
	mutex_init(&device->clock_mutex);
	overtake_clock_init(device);

	device->cores = drmm_kcalloc(&device->drm, cores, sizeof(*device->cores), GFP_KERNEL);
	device->hw = drmm_kcalloc(&device->drm, cores, sizeof(*device->hw), GFP_KERNEL);
	device->fw_cores = drmm_kcalloc(&device->drm, cores, sizeof(*device->fw_cores),
					GFP_KERNEL);
	device->commands = kvcalloc(OVERTAKE_COMMANDS, sizeof(*device->commands), GFP_KERNEL);
	device->events = kvcalloc(OVERTAKE_EVENTS, sizeof(*device->events), GFP_KERNEL);
	if (drmm_add_action_or_reset(&device->drm, free_queues, device) || !device->cores ||
	    !device->hw || !device->fw_cores || !device->commands || !device->events)
		return -ENOMEM;
	if (device->settings.simd) {
		device->simd = kvcalloc(cores, sizeof(*device->simd), GFP_KERNEL);
		if (!device->simd)
			return -ENOMEM;
	}
	for (i = 0; i < cores; i++) {
		device->cores[i].device = device;
		device->cores[i].number = i + 1;
	}
	ret = overtake_history_init(device);
	if (!ret)
		ret = overtake_service_init(device);
	if (!ret)
		ret = overtake_coarse_init(device);
	if (!ret)
		ret = overtake_inject_init(device);
	if (!ret)
		ret = overtake_coredump_init(device);
	if (ret)
		return ret;
	device->manual = device->settings.manual_clock;
	overtake_lock(device);
	overtake_host_boot_locked(device);
	overtake_unlock(device);
	return 0;
}

/* Powers the cores on. */
int overtake_host_start(struct overtake_device *device)
{
	return overtake_cores_start(device);
}

/* From here on nothing is admitted; ends all that is in flight, with -ENODEV, and waits for it. */
void overtake_host_go(struct overtake_device *device)
{
	u32 core;

	overtake_lock(device);
	device->gone = true;
	for (core = 1; core <= device->settings.cores; core++)
		if (ovt_fw_runnable(&device->fw, core))
			overtake_core_abort_locked(device, core);
	overtake_unlock(device);
	wake_up_all(&device->idle);
	overtake_deliver_removal(device);
	overtake_contexts_kill_all(device);
	overtake_lock(device);
	device->untimed = true;
	overtake_unlock(device);
	overtake_host_kick(device);
	/* All work ends by itself: nothing waits to start, and cores stop at their next step. */
	wait_event(device->idle, overtake_host_is_idle(device));
}

/* Powers the cores off; nothing is in flight. */
void overtake_host_stop(struct overtake_device *device)
{
	overtake_lock(device);
	device->stopped = true;
	overtake_unlock(device);
	hrtimer_cancel(&device->timer);
	cancel_work_sync(&device->continue_work);
	overtake_service_stop(device);
	overtake_cores_stop(device);
	overtake_coredump_stop(device);
}
