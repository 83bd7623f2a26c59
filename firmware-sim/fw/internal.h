/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Declarations that the files of the firmware share; hosts include fw/fw.h only. */
#ifndef OVT_FW_INTERNAL_H
#define OVT_FW_INTERNAL_H

#include "fw/fw.h"

static inline struct ovt_core *ovt_fw_hw(struct ovt_fw *fw, u32 core)
{
	return &fw->config.cores[core - 1];
}

static inline struct ovt_fw_core *ovt_fw_state(struct ovt_fw *fw, u32 core)
{
	return &fw->config.core_states[core - 1];
}

static inline const struct ovt_fw_core *ovt_fw_state_of(const struct ovt_fw *fw, u32 core)
{
	return &fw->config.core_states[core - 1];
}

static inline enum ovt_ring_index ovt_job_ring(const struct ovt_fw_job *job)
{
	return job->priority == OVT_PRIORITY_HIGH ? OVT_RING_HIGH : OVT_RING_NORMAL;
}

static inline u32 ovt_job_part_count(const struct ovt_fw_job *job)
{
	return job->group ? job->group->part_count : 1;
}

static inline struct ovt_fw_part *ovt_job_part(struct ovt_fw_job *job, u32 index)
{
	return job->group ? &job->group->parts[index] : &job->part;
}

/* queue.c */
u32 ovt_fw_event_room(const struct ovt_fw *fw);
void ovt_fw_push_event(struct ovt_fw *fw, const struct ovt_event *event);
void ovt_fw_push_command(struct ovt_fw *fw, const struct ovt_command *command);
const struct ovt_command *ovt_fw_peek_command(const struct ovt_fw *fw);
void ovt_fw_consume_command(struct ovt_fw *fw);

/* commands.c.  Returns false if the command is not finished and stays at the head of its queue. */
bool ovt_fw_run_command(struct ovt_fw *fw, const struct ovt_command *command);

/* job.c: effects of the commands.  Each needs room for OVT_EVENTS_PER_ACTION events. */
#define OVT_EVENTS_PER_ACTION	4u
void ovt_job_arrive(struct ovt_fw *fw, struct ovt_fw_job *job);
void ovt_job_cancel(struct ovt_fw *fw, struct ovt_fw_job *job);
void ovt_job_drop_waiting(struct ovt_fw *fw, struct ovt_fw_job *job);
/* An FC of @job that ran has ended: the job ends, if no other runs and none is to start. */
void ovt_job_fc_ended(struct ovt_fw *fw, struct ovt_fw_job *job);
/* Returns false if jobs are left: the event queue is full, or the call did enough.  Call again. */
bool ovt_context_kill(struct ovt_fw *fw, struct ovt_fw_context *context);

/* ring.c */
void ovt_ring_refill(struct ovt_fw *fw, u32 core);
void ovt_ring_forget(struct ovt_fw *fw, struct ovt_fw_part *part);
void ovt_ring_commit(struct ovt_fw *fw, u32 core);

void ovt_ring_push(struct ovt_core *core, enum ovt_ring_index index, struct ovt_fw_part *part,
		   u64 position);

/* Puts the next NORMAL FC, which was not taken yet, into the NORMAL ring, which is empty. */
void ovt_ring_take(struct ovt_fw *fw, u32 core);

/* group.c: the stages of groups. */
void ovt_group_arrive(struct ovt_fw_group *group);
/* Whether FC @index of @part waits for its stage. */
bool ovt_group_holds(const struct ovt_fw_part *part, u32 index);
/* Whether @part has a next FC that is in no ring, and does not wait for its stage. */
bool ovt_group_is_ready(const struct ovt_fw_part *part);
/* Whether the last FC of @part waits for its stage. */
bool ovt_group_holds_some(const struct ovt_fw_part *part);
/* An FC of @part has ended well, and the group goes on. */
void ovt_group_fc_ended(struct ovt_fw *fw, struct ovt_fw_part *part);
/* No stage opens any more. */
void ovt_group_stop(struct ovt_fw_group *group);
/* An FC of @part has run for @duration_ns, however it ended. */
void ovt_group_charge(struct ovt_fw *fw, struct ovt_fw_part *part, u64 duration_ns);
/* The group has ended. */
void ovt_group_end(struct ovt_fw *fw, struct ovt_fw_group *group);
/* Returns the time at which the next stage opens, or OVT_TIME_NEVER. */
u64 ovt_group_next(const struct ovt_fw *fw);
/* Opens the stages that open now, and returns their number. */
u32 ovt_group_open_stages(struct ovt_fw *fw);

/* ready.c: parts of NORMAL whose FCs are taken in order of arrival, if they are ready. */
void ovt_ready_insert(struct ovt_tree *tree, struct ovt_fw_part *part);
void ovt_ready_remove(struct ovt_tree *tree, struct ovt_fw_part *part);
/* Of the parts at @link (unless that is @head) and at @node, returns the one that arrived first. */
struct ovt_fw_part *ovt_ready_first(struct ovt_list *link, const struct ovt_list *head,
				    struct ovt_tree_node *node);
void ovt_ready_forget(struct ovt_fw *fw, struct ovt_fw_part *part);
/* Puts committed FCs into the ring, and tells the arbiter which arrival is next. */
void ovt_ready_refill(struct ovt_fw *fw, u32 core);
void ovt_ready_take(struct ovt_fw *fw, u32 core);
void ovt_ready_commit(struct ovt_fw *fw, u32 core, u32 count);

/* fair.c: NORMAL of a fair device. */
void ovt_fair_arrive(struct ovt_fw *fw, struct ovt_fw_part *part);
void ovt_fair_forget(struct ovt_fw *fw, struct ovt_fw_part *part);
/* The stage of the next FC of @part, which is in a group, has opened. */
void ovt_fair_open(struct ovt_fw *fw, struct ovt_fw_part *part);
void ovt_fair_announce(struct ovt_fw *fw, u32 core);
void ovt_fair_take(struct ovt_fw *fw, u32 core, u32 most);
/* The turns of @context leave the circles of all cores until they return to the ends of them. */
void ovt_fair_leave(struct ovt_fw *fw, struct ovt_fw_context *context);
void ovt_fair_return(struct ovt_fw *fw, struct ovt_fw_context *context);

/* quota.c: an FC of NORMAL starts; an FC of NORMAL ends, after @duration_ns. */
void ovt_quota_start(struct ovt_fw *fw, struct ovt_fw_context *context);
void ovt_quota_charge(struct ovt_fw *fw, struct ovt_fw_context *context, u64 duration_ns);
/* Ends the windows that end now, and returns their number. */
u32 ovt_quota_end_windows(struct ovt_fw *fw);
/* Returns the time at which the next window ends, or OVT_TIME_NEVER. */
u64 ovt_quota_next(const struct ovt_fw *fw);
/* Nothing refers to @context any more. */
void ovt_quota_forget(struct ovt_fw_context *context);

/* Stops the FC that @core runs with @fault, as of the firmware's now_ns. */
void ovt_fw_abort(struct ovt_fw *fw, u32 core, u32 fault);

#endif
