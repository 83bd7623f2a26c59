// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Jobs: arrival, cancel, end, and the death of a context. */
#include "fw/internal.h"

#define PARTS_PER_KILL	128u

static void job_event(struct ovt_fw *fw, struct ovt_fw_job *job, enum ovt_event_type type)
{
	struct ovt_event event = {
		.type = type,
		.core = job->placed_core,
		.ring = ovt_job_ring(job),
		.fc_index = job->fc_count,
		.time_ns = fw->now_ns,
		.job = job,
		.context = job->context,
	};

	ovt_fw_push_event(fw, &event);
}

/*
 * Returns the number of FCs that may go before a job of @context.  FCs of resting contexts do not,
 * unless @context rests as well.
 */
static u64 load(const struct ovt_fw *fw, u32 core, const struct ovt_fw_context *context)
{
	const struct ovt_fw_core *state = ovt_fw_state_of(fw, core);

	return context->quota.resting ? state->unfinished : state->unfinished - state->resting;
}

/* Returns the core with the least load(), the lowest number on a tie. */
static u32 least_loaded_core(struct ovt_fw *fw, const struct ovt_fw_context *context)
{
	u32 best = 1;
	u32 core;

	for (core = 2; core <= fw->config.core_count; core++)
		if (load(fw, core, context) < load(fw, best, context))
			best = core;
	return best;
}

/* The same among @cores.  @coming: counts also FCs that were submitted and have not arrived. */
static u32 emptiest(const struct ovt_fw *fw, const struct ovt_fw_context *context, u64 cores,
		    bool coming)
{
	u64 least = OVT_TIME_NEVER;
	u32 best = 0;
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++) {
		u64 fcs;

		if (!(cores & (1ull << (core - 1))))
			continue;
		fcs = load(fw, core, context);
		if (coming)
			fcs += ovt_fw_state_of(fw, core)->submitted;
		if (!best || fcs < least) {
			best = core;
			least = fcs;
		}
	}
	return best;
}

u32 ovt_fw_place(const struct ovt_fw *fw, const struct ovt_fw_context *context, u64 cores)
{
	return emptiest(fw, context, cores, true);
}

/*
 * Gives the FCs of @part the next positions.  In a group, or behind a deferred part, they wait to
 * be taken.
 */
static void enter_ring(struct ovt_fw_core *state, struct ovt_fw_part *part,
		       enum ovt_ring_index ring)
{
	part->first_position = state->next_position[ring];
	part->deferred = ring == OVT_RING_NORMAL && (part->job->group || state->deferred);
	if (part->deferred)
		state->deferred++;
	else
		state->next_position[ring] += part->fc_count;
	if (part->deferred && part->job->group) {
		if (ovt_group_is_ready(part))
			ovt_ready_insert(&state->ready, part);
		return;
	}
	ovt_list_append(&state->parts[ring], &part->ring_link);
	if (state->refill[ring] == &state->parts[ring])
		state->refill[ring] = &part->ring_link;
}

/* All of @part's FCs arrive on its core. */
static void enter_core(struct ovt_fw *fw, struct ovt_fw_part *part, enum ovt_ring_index ring)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, part->placed_core);

	state->waiting[ring] += part->fc_count;
	state->unfinished += part->fc_count;
	if (ring == OVT_RING_NORMAL)
		state->held += ovt_group_holds_some(part);
	if (fw->config.fair && ring == OVT_RING_NORMAL)
		ovt_fair_arrive(fw, part);
	else
		enter_ring(state, part, ring);
}

static void init_part(struct ovt_fw_job *job, struct ovt_fw_part *part)
{
	part->job = job;
	part->placed_core = part->core;
	part->queued = 0;
	part->started = 0;
	part->preemptions = 0;
	part->overtaken = 0;
	part->deferred = false;
	part->done = 0;
	part->start_ns = 0;
	part->end_ns = 0;
	part->executed_ns = 0;
	part->stage_ns = 0;
	memset(&part->ready, 0, sizeof(part->ready));
	ovt_list_init(&part->ring_link);
}

/* Places the parts of a group: each part that names no core takes the emptiest core left. */
static void place_group(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	u64 cores = ~0ull;
	u32 i;

	for (i = 0; i < job->group->part_count; i++) {
		struct ovt_fw_part *part = &job->group->parts[i];

		init_part(job, part);
		if (part->core == OVT_CORE_ANY)
			part->placed_core = emptiest(fw, job->context, cores, false);
		else
			ovt_fw_state(fw, part->core)->submitted -= part->fc_count;
		cores &= ~(1ull << (part->placed_core - 1));
	}
}

static void place(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	struct ovt_fw_part *part = &job->part;

	if (job->group) {
		place_group(fw, job);
		return;
	}
	part->fcs = job->fcs;
	part->stages = NULL;
	part->fc_count = job->fc_count;
	part->core = job->core;
	init_part(job, part);
	if (job->core == OVT_CORE_ANY)
		part->placed_core = least_loaded_core(fw, job->context);
	else
		ovt_fw_state(fw, job->core)->submitted -= job->fc_count;
}

void ovt_job_arrive(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	u32 i;

	place(fw, job);
	job->placed_core = ovt_job_part(job, 0)->placed_core;
	job->state = OVT_JOB_QUEUED;
	job->arrival_ns = fw->now_ns;
	job->sequence = ++fw->next_sequence;
	ovt_list_append(&job->context->jobs, &job->context_link);
	if (job->group)
		ovt_group_arrive(job->group);
	for (i = 0; i < ovt_job_part_count(job); i++)
		enter_core(fw, ovt_job_part(job, i), ovt_job_ring(job));
	job_event(fw, job, OVT_EVENT_ARRIVED);
	if (job->context->killed)
		ovt_job_cancel(fw, job);
}

static void drop_waiting_of(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, part->placed_core);
	u32 waiting = part->fc_count - part->started;

	state->waiting[ovt_job_ring(part->job)] -= waiting;
	state->unfinished -= waiting;
	if (ovt_job_ring(part->job) == OVT_RING_NORMAL)
		state->held -= ovt_group_holds_some(part);
	if (state->last_normal == part)
		state->last_normal = NULL;
	ovt_ring_forget(fw, part);
}

/* Drops the FCs of @job that have not started: they never start. */
void ovt_job_drop_waiting(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	u32 i;

	for (i = 0; i < ovt_job_part_count(job); i++)
		drop_waiting_of(fw, ovt_job_part(job, i));
	if (job->group)
		ovt_group_stop(job->group);
}

static void finish_kill(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	struct ovt_event event = {
		.type = OVT_EVENT_KILLED,
		.time_ns = fw->now_ns,
		.context = context,
	};

	if (context->killed == OVT_CONTEXT_GONE)
		return;
	context->killed = OVT_CONTEXT_GONE;
	ovt_quota_forget(context);
	ovt_fw_push_event(fw, &event);
}

static void end_job(struct ovt_fw *fw, struct ovt_fw_job *job, enum ovt_job_status status)
{
	struct ovt_fw_context *context = job->context;

	job->state = OVT_JOB_ENDED;
	job->status = status;
	job->end_ns = fw->now_ns;
	if (job->group)
		ovt_group_end(fw, job->group);
	ovt_list_remove(&job->context_link);
	job_event(fw, job, OVT_EVENT_ENDED);
	if (context->killed && ovt_list_empty(&context->jobs))
		finish_kill(fw, context);
}

void ovt_job_fc_ended(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	if (job->running)
		return;
	if (job->fault)
		end_job(fw, job, job->status);
	else if (job->cancelled)
		end_job(fw, job, OVT_JOB_CANCELLED);
	else if (job->done == job->fc_count)
		end_job(fw, job, OVT_JOB_OK);
}

/* Cancels @job.  The job ends with its running FCs, which end normally; without any, at once. */
void ovt_job_cancel(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	if (job->state != OVT_JOB_QUEUED || job->cancelled)
		return;
	job->cancelled = 1;
	ovt_job_drop_waiting(fw, job);
	if (!job->running)
		end_job(fw, job, OVT_JOB_CANCELLED);
}

static void abort_parts(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	u32 i;

	for (i = 0; i < ovt_job_part_count(job) && job->running; i++) {
		const struct ovt_fw_part *part = ovt_job_part(job, i);

		if (ovt_fw_state(fw, part->placed_core)->running == part)
			ovt_fw_abort(fw, part->placed_core, OVERTAKE_FAULT_KILLED);
	}
}

/*
 * Jobs end as by a cancel, but a running FC is stopped.  A call handles about PARTS_PER_KILL parts.
 * Jobs that were cancelled before do not count, so each call makes progress; there are no more of
 * them than cores.
 */
bool ovt_context_kill(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	struct ovt_list *link = context->jobs.next;
	u32 parts = 0;

	while (link != &context->jobs) {
		struct ovt_fw_job *job = ovt_container_of(link, struct ovt_fw_job, context_link);

		link = link->next;
		if (ovt_fw_event_room(fw) < OVT_EVENTS_PER_ACTION)
			return false;
		if (!job->cancelled) {
			if (parts >= PARTS_PER_KILL)
				return false;
			parts += ovt_job_part_count(job);
		}
		abort_parts(fw, job);
		ovt_job_cancel(fw, job);
	}
	if (!context->killed)
		context->killed = OVT_CONTEXT_KILLED;
	if (ovt_list_empty(&context->jobs))
		finish_kill(fw, context);
	return true;
}
