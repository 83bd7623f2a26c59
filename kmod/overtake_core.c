// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads that execute FCs, one per core.
 *
 * A thread sleeps until a STARTED event wakes it, executes the FC in bounded steps outside all
 * locks, and reports its end.  Between steps it yields the CPU if another task wants it.  It sees
 * an abort (reset, killed context) at the next instruction or unit of work.
 */
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/sched.h>

#include <drm/drm_print.h>

#include "overtake_clock.h"
#include "overtake_core.h"
#include "overtake_coredump.h"
#include "overtake_host.h"
#include "overtake_inject.h"
#include "overtake_lock.h"
#include "overtake_trace.h"
#include "overtake_workqueues.h"

/*
 * Greatest number of multiply-accumulates of a step: tens of microseconds of scalar code in a dense
 * convolution.  ovt_step_budget() finds the number for other instructions.  A step exceeds it by at
 * most one unit of work, OVT_UNIT_WORK_MAX, which reads at most 4096 elements, or 512 that are far
 * apart.  So the longest step is the first of a window whose taps are each on a page of their own:
 * 512 of them in that unit, some tenths of a millisecond.
 */
#define STEP_MACS		65536u

/*
 * A core's thread is an ordinary task, so that FCs have no precedence over other programs' work,
 * unless a HIGH FC runs or waits: its context was created with CAP_SYS_NICE.  While it waits, the
 * NORMAL FC that runs has this precedence, too.
 */
#define NICE_NORMAL		0
#define NICE_HIGH		-10

/*
 * Stops the FC that @core executes, through its register.  A command would wait for its turn in
 * device time, which may stand still until the FC that is to be stopped has been priced.
 */
void overtake_core_abort_locked(struct overtake_device *device, u32 core)
{
	ovt_core_write(&device->hw[core - 1], OVT_REG_CONTROL, OVT_CONTROL_ABORT);
}

static void note_step(struct overtake_core *core, u64 ns)
{
	u32 bucket = ns ? ilog2(ns) + 1 : 0;

	WRITE_ONCE(core->steps, core->steps + 1);
	if (ns > core->max_step_ns)
		WRITE_ONCE(core->max_step_ns, ns);
	core->step_histogram[min(bucket, OVERTAKE_STEP_BUCKETS - 1)]++;
}

/* Returns the CPU time of the calling thread, as of the last tick or switch of tasks. */
static u64 runtime_ns(void)
{
	return READ_ONCE(current->se.sum_exec_runtime);
}

static u64 most_cycles(const struct ovt_core *hw)
{
	return max(STEP_MACS / hw->profile->macs_per_cycle, 1u);
}

static enum ovt_step timed_step(struct overtake_core *core)
{
	struct ovt_core *hw = &core->device->hw[core->number - 1];
	u64 start_ns = ktime_get_ns();
	u64 cycles = core->budget;
	enum ovt_step step;
	u64 end_ns;

	/* An FC that is to be reset in its middle must not end in its first step. */
	if (overtake_is_injected(core, OVERTAKE_INJECT_RESET))
		cycles = 1;
	step = ovt_core_step(hw, cycles);

	end_ns = ktime_get_ns();
	note_step(core, end_ns - start_ns);
	core->budget = ovt_step_budget(core->budget, end_ns - start_ns, most_cycles(hw));
	if (step != OVT_STEP_FINISHED)
		ovt_core_watch(hw, runtime_ns() - core->fc_runtime_ns,
			       end_ns - core->fc_started_ns, end_ns);
	return step;
}

/* Sets the thread's own priority by the jobs that wait for it; a HIGH job may come at any time. */
static void set_priority(const struct overtake_core *core)
{
	const struct overtake_device *device = core->device;
	bool high = device->hw[core->number - 1].active_ring == OVT_RING_HIGH ||
		    READ_ONCE(device->fw_cores[core->number - 1].waiting[OVT_RING_HIGH]);
	int nice = high ? NICE_HIGH : NICE_NORMAL;

	if (task_nice(current) != nice)
		set_user_nice(current, nice);
}

/* Takes the FC that @core runs.  Returns true if there is an FC to execute. */
static bool take_locked(struct overtake_core *core)
{
	struct overtake_device *device = core->device;

	lockdep_assert_held(&device->lock);
	core->executing = ovt_fw_runnable(&device->fw, core->number) &&
			  !overtake_is_injected(core, OVERTAKE_INJECT_LOST_WAKEUP);
	return core->executing;
}

/* Reports that the FC has been executed.  Returns true if another was taken in the same hold. */
static bool report_end(struct overtake_core *core)
{
	struct overtake_device *device = core->device;
	bool lost, more = false, taken = false;
	u32 fault;

	overtake_lock(device);
	fault = device->hw[core->number - 1].exec.fault;
	if (fault == OVERTAKE_FAULT_WATCHDOG || fault == OVERTAKE_FAULT_CLOCK)
		overtake_coredump_take_locked(device, core->number, "watchdog");
	core->executing = false;
	core->fc_cpu_ns = runtime_ns() - core->fc_runtime_ns;
	lost = overtake_is_injected(core, OVERTAKE_INJECT_LOST_INTERRUPT);
	ovt_fw_executed(&device->fw, core->number, overtake_clock_now(device));
	if (!lost) {
		more = overtake_host_run_locked(device);
		taken = take_locked(core);
	}
	overtake_unlock(device);
	if (!lost)
		overtake_host_go_on(device, more);
	return taken;
}

/* Mode both: the cost of the FC that runs is known. */
static void report_cost(struct overtake_core *core)
{
	struct overtake_device *device = core->device;
	bool more;

	overtake_lock(device);
	ovt_fw_priced(&device->fw, core->number);
	more = overtake_host_run_locked(device);
	overtake_unlock(device);
	overtake_host_go_on(device, more);
}

/* Executes the FC that @core has taken.  Returns true if the core has taken another one. */
static bool execute_fc(struct overtake_core *core)
{
	bool signalling = dma_fence_begin_signalling();
	bool reset = overtake_is_injected(core, OVERTAKE_INJECT_RESET);
	bool taken = false;
	enum ovt_step step;

	core->fc_started_ns = ktime_get_ns();
	core->fc_runtime_ns = runtime_ns();
	core->budget = most_cycles(&core->device->hw[core->number - 1]);
	if (overtake_is_injected(core, OVERTAKE_INJECT_STUCK))
		overtake_inject_stuck(core);
	do {
		set_priority(core);
		step = timed_step(core);
		if (step == OVT_STEP_FINISHED)
			taken = report_end(core);
		else if (step != OVT_STEP_MORE)
			report_cost(core);
		else if (reset)
			overtake_core_reset(core->device, core->number);
		reset = false;
		cond_resched();
	} while (step != OVT_STEP_FINISHED);
	dma_fence_end_signalling(signalling);
	return taken;
}

/* Returns true if there is an FC to execute.  @woken: the thread was woken for one. */
static bool take_fc(struct overtake_core *core, bool woken)
{
	struct overtake_device *device = core->device;
	bool taken;

	overtake_lock(device);
	taken = take_locked(core);
	if (woken && !taken)
		device->spurious_interrupts++;
	overtake_unlock(device);
	return taken;
}

static int core_thread(void *data)
{
	struct overtake_core *core = data;
	bool woken = false;

	for (;;) {
		/* Before the look: pairs with wake_up_process(), whose wake-up must not be lost. */
		set_current_state(TASK_IDLE);
		woken = woken && !kthread_should_stop() && !kthread_should_park();
		if (take_fc(core, woken)) {
			__set_current_state(TASK_RUNNING);
			while (execute_fc(core))
				;
			woken = false;
			continue;
		}
		if (kthread_should_stop())
			break;
		if (kthread_should_park()) {
			__set_current_state(TASK_RUNNING);
			kthread_parkme();
			woken = false;
			continue;
		}
		schedule();
		woken = true;
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Resets @core: the job whose FC runs on it ends with -EIO; all others go on. */
int overtake_core_reset(struct overtake_device *device, u32 core)
{
	int ret = 0;

	if (!core || core > device->settings.cores)
		return -EINVAL;
	overtake_lock(device);
	overtake_coredump_take_locked(device, core, "reset");
	if ((device->manual || device->settings.mode != OVT_MODE_FUNCTIONAL) &&
	    ovt_fw_runnable(&device->fw, core)) {
		device->cores[core - 1].aborts++;
		overtake_core_abort_locked(device, core);
	} else if (ovt_fw_reserve(&device->fw, 1)) {
		ovt_fw_reset(&device->fw, core, overtake_clock_now(device));
	} else {
		ret = -EBUSY;
	}
	if (!ret)
		trace_core_reset(&device->cores[core - 1]);
	overtake_unlock(device);
	overtake_host_kick(device);
	return ret;
}

void overtake_cores_stop(struct overtake_device *device)
{
	u32 i;

	for (i = 0; i < device->settings.cores; i++) {
		if (device->cores[i].thread)
			kthread_stop(device->cores[i].thread);
	}
}

/* Powers the cores on. */
int overtake_cores_start(struct overtake_device *device)
{
	u32 i;

	for (i = 0; i < device->settings.cores; i++) {
		struct overtake_core *core = &device->cores[i];
		struct task_struct *thread;

		thread = kthread_run(core_thread, core, "overtake%u/%u", device->index, i + 1);
		if (IS_ERR(thread)) {
			overtake_cores_stop(device);
			return PTR_ERR(thread);
		}
		core->thread = thread;
	}
	return 0;
}
