// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Jobs: arrival, cancel, end, and the death of a context. */
#include "fw/internal.h"

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

/* FCs that may be before a job of @context.  What rests is not, unless the job rests as well. */
static u64 load(const struct ovt_fw *fw, u32 core, const struct ovt_fw_context *context)
{
	const struct ovt_fw_core *state = ovt_fw_state_of(fw, core);

	return context->quota.resting ? state->unfinished : state->unfinished - state->resting;
}

/* The core with the fewest unfinished FCs, the lowest number on a tie. */
static u32 least_loaded_core(struct ovt_fw *fw, const struct ovt_fw_context *context)
{
	u32 best = 1;
	u32 core;

	for (core = 2; core <= fw->config.core_count; core++)
		if (load(fw, core, context) < load(fw, best, context))
			best = core;
	return best;
}

u32 ovt_fw_place(const struct ovt_fw *fw, const struct ovt_fw_context *context, u64 cores)
{
	u64 least = OVT_TIME_NEVER;
	u32 best = 0;
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++) {
		u64 fcs;

		if (!(cores & (1ull << (core - 1))))
			continue;
		fcs = load(fw, core, context) + ovt_fw_state_of(fw, core)->submitted;
		if (!best || fcs < least) {
			best = core;
			least = fcs;
		}
	}
	return best;
}

/* Its FCs take the next positions. */
static void enter_ring(struct ovt_fw_core *state, struct ovt_fw_part *part,
		       enum ovt_ring_index ring)
{
	part->first_position = state->next_position[ring];
	state->next_position[ring] += part->fc_count;
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
	if (fw->config.fair && ring == OVT_RING_NORMAL)
		ovt_fair_arrive(fw, part);
	else
		enter_ring(state, part, ring);
}

static void place(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	struct ovt_fw_part *part = &job->part;

	*part = (struct ovt_fw_part){
		.job = job,
		.fcs = job->fcs,
		.fc_count = job->fc_count,
		.core = job->core,
		.placed_core = job->core,
	};
	if (job->core == OVT_CORE_ANY)
		part->placed_core = least_loaded_core(fw, job->context);
	else
		ovt_fw_state(fw, job->core)->submitted -= job->fc_count;
	job->placed_core = part->placed_core;
}

void ovt_job_arrive(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	place(fw, job);
	job->state = OVT_JOB_QUEUED;
	job->arrival_ns = fw->now_ns;
	job->sequence = ++fw->next_sequence;
	ovt_list_append(&job->context->jobs, &job->context_link);
	enter_core(fw, &job->part, ovt_job_ring(job));
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
	if (state->last_normal == part)
		state->last_normal = NULL;
	ovt_ring_forget(fw, part);
}

/* The FCs of @job that have not started never will. */
void ovt_job_drop_waiting(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	drop_waiting_of(fw, &job->part);
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
	ovt_list_remove(&job->context_link);
	job_event(fw, job, OVT_EVENT_ENDED);
	if (context->killed && ovt_list_empty(&context->jobs))
		finish_kill(fw, context);
}

void ovt_job_fc_ended(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	if (job->fault)
		end_job(fw, job, job->status);
	else if (job->cancelled)
		end_job(fw, job, OVT_JOB_CANCELLED);
	else if (job->done == job->fc_count)
		end_job(fw, job, OVT_JOB_OK);
}

/* A running FC ends normally and the job with it; otherwise the job ends at once. */
void ovt_job_cancel(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	if (job->state != OVT_JOB_QUEUED || job->cancelled)
		return;
	job->cancelled = 1;
	ovt_job_drop_waiting(fw, job);
	if (!job->running)
		end_job(fw, job, OVT_JOB_CANCELLED);
}

/* Jobs end as for a cancel, but a running FC is stopped. */
bool ovt_context_kill(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	struct ovt_list *link = context->jobs.next;

	while (link != &context->jobs) {
		struct ovt_fw_job *job = ovt_container_of(link, struct ovt_fw_job, context_link);

		link = link->next;
		if (ovt_fw_event_room(fw) < OVT_EVENTS_PER_ACTION)
			return false;
		if (job->running)
			ovt_fw_abort(fw, job->placed_core, OVERTAKE_FAULT_KILLED);
		ovt_job_cancel(fw, job);
	}
	if (!context->killed)
		context->killed = OVT_CONTEXT_KILLED;
	if (ovt_list_empty(&context->jobs))
		finish_kill(fw, context);
	return true;
}
