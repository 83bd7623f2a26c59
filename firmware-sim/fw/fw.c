// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The firmware's clockwork: processes instants in order of device time, and each in its steps.
 *
 * No instant after the horizon is processed, since commands stamped until then may still come.  Nor
 * is an instant that depends on an FC whose end is not known yet or whose arithmetic is not done
 * yet: an FC that began at s may end at s + 1, and its end precedes everything else in its instant.
 * last_settled() below finds the last instant that depends on no such FC.  In functional mode an FC
 * ends when its execution is over, which is never before an instant that was processed already.
 *
 * With this alone, a host that is slower than its model would keep its clients waiting: lags()
 * bounds the wait of commands, stretch_max_ns the wait of other cores.
 */
#include "fw/internal.h"

/*
 * Windows of quotas that end, and stages that open, in one call: they make no events that would end
 * the call.  If they come in one instant, a call handles a few more.
 */
#define WINDOWS_PER_CALL	64u
/* Parts of groups that arrive or are cancelled in one call: each looks at all cores, or a ring. */
#define PARTS_PER_CALL		128u

void ovt_fw_init(struct ovt_fw *fw, const struct ovt_fw_config *config)
{
	u32 core, ring;

	memset(fw, 0, sizeof(*fw));
	fw->config = *config;
	ovt_list_init(&fw->windows);
	ovt_list_init(&fw->openings);
	for (core = 1; core <= config->core_count; core++) {
		struct ovt_fw_core *state = ovt_fw_state(fw, core);

		ovt_core_init(ovt_fw_hw(fw, core), core, config->profile, config->mode);
		ovt_fw_hw(fw, core)->watchdog_cycles = config->watchdog_cycles;
		ovt_fw_hw(fw, core)->clock = config->clock;
		memset(state, 0, sizeof(*state));
		ovt_list_init(&state->circle);
		for (ring = 0; ring < OVT_RING_COUNT; ring++) {
			ovt_list_init(&state->parts[ring]);
			state->refill[ring] = &state->parts[ring];
		}
	}
}

void ovt_fw_context_init(struct ovt_fw_context *context)
{
	memset(context, 0, sizeof(*context));
	ovt_list_init(&context->jobs);
	ovt_list_init(&context->quota.window);
}

void ovt_fw_context_take_turns(struct ovt_fw_context *context, struct ovt_fw_turn *turns,
			       u32 core_count)
{
	u32 core;

	for (core = 0; core < core_count; core++) {
		ovt_list_init(&turns[core].circle_link);
		ovt_list_init(&turns[core].parts);
		turns[core].ready = (struct ovt_tree){ NULL, NULL };
		turns[core].waiting = 0;
		turns[core].allowance = 0;
	}
	context->turns = turns;
}

void ovt_fw_abort(struct ovt_fw *fw, u32 number, u32 fault)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);
	struct ovt_exec *exec = &ovt_fw_hw(fw, number)->exec;

	if (!state->running || exec->abort)
		return;
	if (state->executed)
		exec->fault = fault;
	ovt_store_release(&exec->abort, fault);
	state->end_ns = fw->now_ns;
}

void ovt_fw_stop(struct ovt_fw *fw, struct ovt_fw_job *job, u64 stop_ns)
{
	u32 i;

	if (job->stop_ns && job->stop_ns <= stop_ns)
		return;
	job->stop_ns = stop_ns;
	if (job->state != OVT_JOB_QUEUED)
		return;
	for (i = 0; i < ovt_job_part_count(job); i++) {
		const struct ovt_fw_part *part = ovt_job_part(job, i);

		if (ovt_fw_state(fw, part->placed_core)->running == part)
			ovt_write_once(ovt_fw_hw(fw, part->placed_core)->exec.stop_ns, stop_ns);
	}
}

/* Modes timed and both: sets the FC's end once its cost is known. */
static void settle_end(struct ovt_fw *fw, u32 number)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);

	if (state->end_ns == OVT_TIME_NEVER)
		state->end_ns = state->start_ns + ovt_core_time_ns(ovt_fw_hw(fw, number));
}

void ovt_fw_priced(struct ovt_fw *fw, u32 core)
{
	settle_end(fw, core);
}

/*
 * Returns the last instant on which no FC that still executes can have an effect.  Later instants
 * wait for the FC, unless they are stretch_max_ns or more before the horizon: then the FC takes
 * longer than its model says.
 */
static u64 last_settled(const struct ovt_fw *fw, u64 horizon_ns)
{
	u64 stretch_ns = fw->config.stretch_max_ns;
	u64 last = OVT_TIME_NEVER;
	u32 core;

	if (fw->config.mode == OVT_MODE_FUNCTIONAL)
		return last;
	for (core = 0; core < fw->config.core_count; core++) {
		const struct ovt_fw_core *state = &fw->config.core_states[core];
		u64 until;

		if (!state->running || state->executed)
			continue;
		until = state->end_ns == OVT_TIME_NEVER || state->end_ns <= state->start_ns ?
			state->start_ns : state->end_ns - 1;
		if (stretch_ns && horizon_ns > stretch_ns && until < horizon_ns - stretch_ns)
			until = horizon_ns - stretch_ns;
		if (until < last)
			last = until;
	}
	return last;
}

/* Returns when a stopped FC ends: now, its modelled end or the last settled instant, the first. */
static u64 stopped_end(const struct ovt_fw *fw, const struct ovt_fw_core *state, u64 now_ns)
{
	u64 end = now_ns < state->end_ns ? now_ns : state->end_ns;
	u64 settled = last_settled(fw, now_ns);

	if (end > settled)
		end = settled;
	return end > fw->now_ns ? end : fw->now_ns;
}

void ovt_fw_executed(struct ovt_fw *fw, u32 core, u64 now_ns)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);
	struct ovt_exec *exec = &ovt_fw_hw(fw, core)->exec;

	if (!state->running || state->executed)
		return;
	state->executed = 1;
	/* The abort came after the last step. */
	if (exec->abort && !exec->fault)
		exec->fault = exec->abort;
	if (fw->config.mode != OVT_MODE_FUNCTIONAL) {
		settle_end(fw, core);
		/* An aborted FC holds its core no longer. */
		if (exec->abort && state->end_ns > fw->now_ns)
			state->end_ns = fw->now_ns;
		else if (exec->expired)
			state->end_ns = stopped_end(fw, state, now_ns);
	} else {
		state->end_ns = now_ns > fw->now_ns ? now_ns : fw->now_ns;
	}
}

bool ovt_fw_runnable(const struct ovt_fw *fw, u32 core)
{
	const struct ovt_fw_core *state = &fw->config.core_states[core - 1];

	return state->running && !state->executed;
}

/* Returns true if the timeline, at most @settled, lags so far that commands do not wait for it. */
static bool lags(const struct ovt_fw *fw, u64 settled, u64 horizon_ns)
{
	return fw->config.lag_max_ns && settled < horizon_ns &&
	       horizon_ns - settled > fw->config.lag_max_ns;
}

/* Returns the instant as of which the command is taken: its stamp, or earlier because of a lag. */
static u64 command_instant(const struct ovt_fw *fw, const struct ovt_command *command,
			   u64 horizon_ns)
{
	u64 settled = last_settled(fw, horizon_ns);

	return command->time_ns > settled && lags(fw, settled, horizon_ns) ? settled :
									     command->time_ns;
}

static u64 next_instant(const struct ovt_fw *fw, u64 horizon_ns)
{
	const struct ovt_command *command = ovt_fw_peek_command(fw);
	u64 next = fw->choose ? fw->now_ns : OVT_TIME_NEVER;
	u32 core;

	if (command && command_instant(fw, command, horizon_ns) < next)
		next = command_instant(fw, command, horizon_ns);
	if (ovt_quota_next(fw) < next)
		next = ovt_quota_next(fw);
	if (ovt_group_next(fw) < next)
		next = ovt_group_next(fw);
	for (core = 0; core < fw->config.core_count; core++) {
		const struct ovt_fw_core *state = &fw->config.core_states[core];

		if (state->running && state->executed && state->end_ns < next)
			next = state->end_ns;
	}
	return next > fw->now_ns ? next : fw->now_ns;
}

static void fc_event(struct ovt_fw *fw, u32 core, enum ovt_event_type type, u64 duration_ns,
		     bool resumes)
{
	const struct ovt_descriptor *descriptor = &ovt_fw_hw(fw, core)->exec.descriptor;
	const struct ovt_fw_part *part = descriptor->part;
	struct ovt_event event = {
		.type = type,
		.core = core,
		.ring = ovt_fw_hw(fw, core)->active_ring,
		.fc_index = descriptor->fc_index,
		.time_ns = fw->now_ns,
		.duration_ns = duration_ns,
		.fault = ovt_fw_hw(fw, core)->exec.fault,
		.job = part->job,
		.part = part,
		.resumes = resumes,
	};

	ovt_fw_push_event(fw, &event);
}

static enum ovt_job_status fault_status(u32 fault)
{
	switch (fault) {
	case OVERTAKE_FAULT_WATCHDOG:
	case OVERTAKE_FAULT_CLOCK:
		return OVT_JOB_HUNG;
	case OVERTAKE_FAULT_STOPPED:
		return OVT_JOB_STOPPED;
	case OVERTAKE_FAULT_RESET:
		return OVT_JOB_RESET;
	case OVERTAKE_FAULT_KILLED:
		return OVT_JOB_CANCELLED;
	default:
		return OVT_JOB_FAULTED;
	}
}

static void note_fault(struct ovt_fw *fw, u32 core, struct ovt_fw_job *job)
{
	const struct ovt_exec *exec = &ovt_fw_hw(fw, core)->exec;

	ovt_fw_state(fw, core)->faults++;
	if (!job->fault) { /* only the first fault of several parts counts */
		job->fault = exec->fault;
		job->fault_insn = exec->fault_insn;
		job->status = fault_status(exec->fault);
	}
	if (!job->cancelled && job->started < job->fc_count)
		ovt_job_drop_waiting(fw, job);
	if (job->group) /* it ends with the last of its FCs that run */
		job->cancelled = 1;
}

/* Ends the running FC. */
static void retire(struct ovt_fw *fw, u32 core)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);
	struct ovt_core *hw = ovt_fw_hw(fw, core);
	struct ovt_fw_part *part = state->running;
	struct ovt_fw_job *job = part->job;
	u64 duration = fw->now_ns - state->start_ns;
	u32 fault = hw->exec.fault;

	if (fw->config.mode != OVT_MODE_FUNCTIONAL && fw->now_ns > state->end_ns) {
		fw->stretched_fcs++;
		fw->stretched_ns += fw->now_ns - state->end_ns;
	}
	hw->active = 0;
	hw->busy_ns += duration;
	hw->done[hw->active_ring]++;
	hw->irq_status |= fault ? OVT_IRQ_FAULT : OVT_IRQ_DONE;
	state->running = NULL;
	state->unfinished--;
	job->executed_ns += duration;
	job->done++;
	job->running--;
	if (job->group)
		ovt_group_charge(fw, part, duration);
	if (hw->active_ring == OVT_RING_NORMAL)
		ovt_quota_charge(fw, job->context, duration);
	if (fault) {
		fc_event(fw, core, fault_status(fault) == OVT_JOB_HUNG ? OVT_EVENT_HUNG :
			 OVT_EVENT_FAULT, duration, false);
		note_fault(fw, core, job);
	} else {
		fc_event(fw, core, OVT_EVENT_DONE, duration, false);
		if (job->group && !job->cancelled)
			ovt_group_fc_ended(fw, part);
	}
	ovt_job_fc_ended(fw, job);
}

/*
 * Reports a NORMAL job that has begun, is not finished, and sees a HIGH FC go first.  It reports
 * one job at a time: on a fair device, where jobs of several contexts may have begun, the job whose
 * NORMAL FC was the last.
 */
static void note_overtaking(struct ovt_fw *fw, u32 core, struct ovt_fw_job *by)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);
	struct ovt_fw_part *part = state->last_normal;
	struct ovt_event event = {
		.type = OVT_EVENT_PREEMPTED,
		.core = core,
		.ring = OVT_RING_NORMAL,
		.time_ns = fw->now_ns,
		.by = by,
	};

	if (!part || part->overtaken)
		return;
	part->overtaken = 1;
	state->preemptions++;
	event.job = part->job;
	event.part = part;
	event.fc_index = part->started;
	ovt_fw_push_event(fw, &event);
}

/* Notes that an FC of NORMAL @part starts.  @high_done: HIGH FCs that the core has run. */
static void note_normal_start(struct ovt_fw_core *state, struct ovt_fw_part *part, u64 high_done)
{
	if (part->started > 1 && part->high_before != high_done) {
		part->preemptions++;
		part->job->preemptions++;
	}
	part->high_before = high_done;
	part->overtaken = 0;
	state->last_normal = part->started < part->fc_count ? part : NULL;
}

static void start_fc(struct ovt_fw *fw, u32 core, enum ovt_ring_index ring)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);
	struct ovt_core *hw = ovt_fw_hw(fw, core);
	struct ovt_fw_part *part;
	struct ovt_fw_job *job;
	bool resumes;

	ovt_core_start(hw, ring, hw->watchdog_cycles);
	part = hw->exec.descriptor.part;
	job = part->job;
	resumes = part->overtaken;
	state->waiting[ring]--;
	if (!job->started++)
		job->start_ns = fw->now_ns;
	job->running++;
	if (!part->started)
		part->start_ns = fw->now_ns;
	if (++part->started == part->fc_count)
		ovt_list_remove(&part->ring_link);
	if (ring == OVT_RING_HIGH) {
		note_overtaking(fw, core, job);
	} else {
		note_normal_start(state, part, hw->done[OVT_RING_HIGH]);
		ovt_quota_start(fw, job->context);
	}
	hw->exec.stop_ns = job->stop_ns;
	state->running = part;
	state->executed = 0;
	state->start_ns = fw->now_ns;
	state->end_ns = OVT_TIME_NEVER;
	fc_event(fw, core, OVT_EVENT_STARTED, 0, resumes);
}

static void choose(struct ovt_fw *fw, u32 core)
{
	struct ovt_core *hw = ovt_fw_hw(fw, core);

	ovt_ring_refill(fw, core);
	switch (ovt_arbiter_choose(hw)) {
	case OVT_CHOOSE_NOTHING:
		return;
	case OVT_CHOOSE_HIGH:
		start_fc(fw, core, OVT_RING_HIGH);
		return;
	case OVT_CHOOSE_COMMIT:
		ovt_ring_commit(fw, core);
		start_fc(fw, core, OVT_RING_NORMAL);
		return;
	case OVT_CHOOSE_NORMAL:
		if (!ovt_ring_used(&hw->rings[OVT_RING_NORMAL]))
			ovt_ring_take(fw, core);
		start_fc(fw, core, OVT_RING_NORMAL);
		return;
	}
}

static bool room(const struct ovt_fw *fw)
{
	return ovt_fw_event_room(fw) >= OVT_EVENTS_PER_ACTION;
}

static bool retire_ended(struct ovt_fw *fw)
{
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++) {
		const struct ovt_fw_core *state = ovt_fw_state(fw, core);

		if (!state->running || !state->executed || state->end_ns > fw->now_ns)
			continue;
		if (!room(fw))
			return false;
		retire(fw, core);
		fw->choose = true;
	}
	return true;
}

static void note_lag(struct ovt_fw *fw, u64 horizon_ns)
{
	fw->lagged_commands++;
	if (horizon_ns - fw->now_ns > fw->lag_ns)
		fw->lag_ns = horizon_ns - fw->now_ns;
}

/* Returns the number of parts of the group that @command is about. */
static u32 parts_of(const struct ovt_command *command)
{
	const struct ovt_fw_job *job = command->object;

	if (command->type != OVT_COMMAND_SUBMIT && command->type != OVT_COMMAND_CANCEL)
		return 0;
	return job->group ? job->group->part_count : 0;
}

static bool run_commands(struct ovt_fw *fw, u64 horizon_ns)
{
	const struct ovt_command *command;
	u32 parts = 0;

	while ((command = ovt_fw_peek_command(fw)) &&
	       command_instant(fw, command, horizon_ns) <= fw->now_ns) {
		bool lagged = command->time_ns > fw->now_ns;

		if (!room(fw) || parts >= PARTS_PER_CALL)
			return false;
		parts += parts_of(command);
		if (!ovt_fw_run_command(fw, command))
			return false;
		if (lagged)
			note_lag(fw, horizon_ns);
		fw->choose = true;
	}
	return true;
}

static bool choose_idle(struct ovt_fw *fw)
{
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++) {
		if (ovt_fw_state(fw, core)->running || fw->held)
			continue;
		if (!room(fw))
			return false;
		choose(fw, core);
	}
	fw->choose = false;
	return true;
}

/*
 * Ends windows and opens stages, and returns their number.  A context that has rested may be served
 * again, and a held FC may be ready.
 */
static u32 end_windows(struct ovt_fw *fw)
{
	u32 count = ovt_group_open_stages(fw) + ovt_quota_end_windows(fw);

	if (count)
		fw->choose = true;
	return count;
}

enum ovt_advance ovt_fw_advance(struct ovt_fw *fw, u64 horizon_ns)
{
	u32 windows = 0;

	while (windows < WINDOWS_PER_CALL) {
		u64 instant = next_instant(fw, horizon_ns);

		if (instant == OVT_TIME_NEVER || instant > horizon_ns ||
		    instant > last_settled(fw, horizon_ns))
			return OVT_ADVANCE_DONE;
		fw->now_ns = instant;
		if (!retire_ended(fw))
			return OVT_ADVANCE_EVENTS;
		windows += end_windows(fw);
		if (!run_commands(fw, horizon_ns) || !choose_idle(fw))
			return OVT_ADVANCE_EVENTS;
	}
	return OVT_ADVANCE_EVENTS;
}

enum ovt_advance ovt_fw_prepare(struct ovt_fw *fw, u64 now_ns)
{
	if (now_ns && ovt_fw_advance(fw, now_ns - 1) == OVT_ADVANCE_EVENTS)
		return OVT_ADVANCE_EVENTS;
	if (now_ns > last_settled(fw, now_ns))
		return OVT_ADVANCE_DONE;
	if (now_ns > fw->now_ns)
		fw->now_ns = now_ns;
	if (!retire_ended(fw))
		return OVT_ADVANCE_EVENTS;
	end_windows(fw);
	/* A command may have stopped the FC that a core runs. */
	return run_commands(fw, now_ns) && retire_ended(fw) ? OVT_ADVANCE_DONE :
							      OVT_ADVANCE_EVENTS;
}

bool ovt_fw_prepared(const struct ovt_fw *fw, u64 now_ns)
{
	const struct ovt_command *command = ovt_fw_peek_command(fw);
	u32 core;

	if (fw->choose && fw->now_ns < now_ns)
		return false;
	if ((command && command->time_ns <= now_ns) || ovt_quota_next(fw) <= now_ns ||
	    ovt_group_next(fw) <= now_ns)
		return false;
	for (core = 1; core <= fw->config.core_count; core++) {
		const struct ovt_fw_core *state = ovt_fw_state_of(fw, core);

		if (ovt_fw_runnable(fw, core) || (state->running && state->end_ns <= now_ns))
			return false;
	}
	return true;
}

u64 ovt_fw_unfinished(const struct ovt_fw *fw, u32 core)
{
	return fw->config.core_states[core - 1].unfinished;
}

u64 ovt_fw_next(const struct ovt_fw *fw)
{
	u64 settled = last_settled(fw, 0);
	u64 next = next_instant(fw, 0);
	u64 horizon = OVT_TIME_NEVER;

	if (next <= settled)
		return next;
	/* The next instant waits for FCs that execute, but not for ever. */
	if (fw->config.stretch_max_ns && next < OVT_TIME_NEVER - fw->config.stretch_max_ns)
		horizon = next + fw->config.stretch_max_ns;
	/* A command does not wait that long, unless the FC that executes is being aborted. */
	if (fw->config.lag_max_ns && ovt_fw_peek_command(fw) && settled >= fw->now_ns &&
	    settled + fw->config.lag_max_ns < horizon)
		horizon = settled + fw->config.lag_max_ns + 1;
	return horizon;
}

bool ovt_fw_settled(const struct ovt_fw *fw, u64 horizon_ns)
{
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++)
		if (ovt_fw_runnable(fw, core))
			return false;
	return next_instant(fw, 0) > horizon_ns;
}
