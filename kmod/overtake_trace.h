/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints.  They are stable: names, fields, their types and meanings stay; new fields are added
 * at the end.  All fields are plain integers, u32 or u64, except those of the last two events:
 * Perfetto defines their form.  Times are device time in nanoseconds, the clock of struct
 * overtake_result.  docs/reference/tracepoints.md has the table of events, and
 * libruntime/include/overtake/event.hpp has the same events from other sources.
 *
 *	ctx_create	a context was created; priority is the highest that its jobs may have
 *	ctx_destroy	the context is over: no event of it follows
 *	job_queue	a job was accepted; it may still wait for its fences.  The job of a task
 *			is accepted when its segment begins
 *	fc_submit	a job was handed to the device, with all its FCs; time_ns is its arrival
 *			there.  A group has one event for each part
 *	fc_start	an FC started on a core
 *	fc_preempt	a HIGH FC goes in front of the rest of a NORMAL job that has begun
 *	fc_resume	the NORMAL job goes on: fc_start of its next FC follows
 *	fc_done		an FC ended, with its duration, and how (fault 0 = well)
 *	fc_timeout	an FC was stopped since it took too long; its fc_done follows
 *	job_done	a job is over
 *	core_limit	a core gets another limit
 *	core_reset	a core is reset
 *	task_arrive	a task of service mode was submitted; tag is that of the task
 *	task_dispatch	the first segment of a task begins
 *	task_ready	a task waits for a slot, before its current segment
 *	task_cpu_start	the process of a task is to run a CPU segment
 *	task_cpu_done	the process has run the CPU segment, with the segment's status
 *	task_overdue	a CPU segment of a task takes too long
 *	task_end	a task is over, with its status
 *	fc_slice	for Perfetto: the FCs of a core, one after the other
 *	job_slice	for Perfetto: the jobs of a process, from the first FC to the end, and in
 *			them the times for which they were overtaken
 *
 * Common fields
 *	device		number of the device among the module's, from 0
 *	core		from 1; in job_queue and fc_submit the core asked for, 0 = any; in
 *			job_done 0 = never placed
 *	ring		0 = HIGH, 1 = NORMAL
 *	client		DRM client id of the open file
 *	context		context id in that file
 *	tag		the client's name of the job
 *	fc_index	index of the FC in its job, or in its part of a group; in fc_preempt, index
 *			of the next FC
 *	part		the part of a group that the FC is in, from 0
 *	stage		the stage of a group that the FC is in, from 0
 *	fc_count	FCs of the job; in fc_submit, FCs of its part
 *	time_ns		device time of the event
 *	pid		process that opened the file
 *	by_...		in fc_preempt: client, context, tag and pid of the job that goes ahead; in
 *			core_limit: the process whose context came or went, 0 = the administrator
 *	error		-status: 0 or a positive errno
 *	task, segment	in job_queue: the task of service mode that the job belongs to, and the
 *			segment; segment_count is 0 if the job belongs to no task
 *	model		what the client calls the model (OVERTAKE_EXTENSION_MODEL), 0 = nothing
 *	cores		in job_queue: the cores of a task that takes several at once, a bit for
 *			each; else 0
 *	recorded	in job_queue: 1 if the job is a replay of a recording
 *	width		in task_...: number of cores that the task takes at once
 *	slots, task_limit, share
 *			in task_...: the settings of service mode, which are the same for all
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM overtake

#if !defined(OVERTAKE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define OVERTAKE_TRACE_H

#include <linux/tracepoint.h>

#include "overtake_clock.h"
#include "overtake_group.h"
#include "overtake_job.h"
#include "overtake_task.h"
#include "service/service.h"

#ifndef OVERTAKE_TRACE_RULES
#define OVERTAKE_TRACE_RULES
static inline const struct ovt_sched_settings *
overtake_trace_rules(const struct ovt_service_task *task)
{
	return &ovt_service_process_of(task)->service->sched.settings;
}
#endif

#ifndef OVERTAKE_TRACE_PART
#define OVERTAKE_TRACE_PART
static inline u32 overtake_trace_part(const struct ovt_event *event)
{
	return overtake_part_index(event->part);
}

static inline u32 overtake_trace_stage(const struct ovt_event *event)
{
	return event->part->stages ? event->part->stages[event->fc_index] : 0;
}

/* Returns a bit for each core of @task if it takes several; else, or if @task is NULL, 0. */
static inline u64 overtake_trace_cores(const struct ovt_service_task *task)
{
	u64 cores = 0;
	u32 i;

	for (i = 0; task && task->sched.span && i < task->sched.span->width; i++)
		cores |= BIT_ULL(task->cores[i] - 1);
	return cores;
}
#endif

#define OVERTAKE_TRACE_RING(priority)	((priority) == OVT_PRIORITY_HIGH ? OVT_RING_HIGH : \
					 OVT_RING_NORMAL)

/* The fields of an event of a job or an FC: all of them begin with these, in this order. */
#define OVERTAKE_JOB_STRUCT__entry(others)				\
	TP_STRUCT__entry(__field(u32, device)				\
			 __field(u32, core)				\
			 __field(u32, ring)				\
			 __field(u32, context)				\
			 __field(u64, client)				\
			 __field(u64, tag)				\
			 __field(u64, time_ns)				\
			 __field(u32, pid)				\
			 others)

/* Assigns these fields in TP_fast_assign(); the argument job of the event is the job. */
#define OVERTAKE_JOB_ASSIGN(its_core, its_ring, when_ns)			\
	do {									\
		__entry->device = overtake_job_device(job)->index;		\
		__entry->core = (its_core);					\
		__entry->ring = (its_ring);					\
		__entry->context = job->context->id;				\
		__entry->client = job->context->client->id;			\
		__entry->tag = job->tag;					\
		__entry->time_ns = (when_ns);					\
		__entry->pid = job->context->client->tgid;			\
	} while (0)

DECLARE_EVENT_CLASS(overtake_context,
		    TP_PROTO(const struct overtake_context *owner),
		    TP_ARGS(owner),
		    TP_STRUCT__entry(__field(u32, device)
				     __field(u32, context)
				     __field(u64, client)
				     __field(u64, time_ns)
				     __field(u32, pid)
				     __field(u32, priority)
				     ),
		    TP_fast_assign(__entry->device = owner->client->device->index;
				   __entry->context = owner->id;
				   __entry->client = owner->client->id;
				   __entry->time_ns = overtake_clock_now(owner->client->device);
				   __entry->pid = owner->client->tgid;
				   __entry->priority = owner->max_priority;
				   ),
		    TP_printk("device=%u client=%llu context=%u priority=%u time_ns=%llu pid=%u",
			      __entry->device, __entry->client, __entry->context,
			      __entry->priority, __entry->time_ns, __entry->pid)
);

DEFINE_EVENT(overtake_context, ctx_create,
	     TP_PROTO(const struct overtake_context *owner),
	     TP_ARGS(owner)
);

DEFINE_EVENT(overtake_context, ctx_destroy,
	     TP_PROTO(const struct overtake_context *owner),
	     TP_ARGS(owner)
);

TRACE_EVENT(job_queue,
	    TP_PROTO(const struct overtake_job *job),
	    TP_ARGS(job),
	    OVERTAKE_JOB_STRUCT__entry(__field(u32, fc_count)
				       __field(u32, priority)
				       __field(u64, custom_id)
				       __field(u64, task)
				       __field(u32, segment)
				       __field(u32, segment_count)
				       __field(u64, model)
				       __field(u64, cores)
				       __field(u32, recorded)
				       ),
	    TP_fast_assign(const struct ovt_service_task *task =
				   job->task ? &job->task->service : NULL;

			   OVERTAKE_JOB_ASSIGN(job->fw.core,
					       OVERTAKE_TRACE_RING(job->fw.priority),
					       overtake_clock_now(overtake_job_device(job)));
			   __entry->fc_count = job->fw.fc_count;
			   __entry->priority = job->fw.priority;
			   __entry->custom_id = (u64)job->custom_id;
			   __entry->task = task ? task->tag : 0;
			   __entry->segment = task ? task->sched.segment : 0;
			   __entry->segment_count = task ? task->sched.segment_count : 0;
			   __entry->model = job->task ? job->task->model : job->model;
			   __entry->cores = overtake_trace_cores(task);
			   __entry->recorded = job->recording ? 1 : 0;
			   ),
	    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_count=%u priority=%u custom_id=%lld task=%llu segment=%u segment_count=%u time_ns=%llu pid=%u model=%#llx cores=%#llx recorded=%u",
		      __entry->device, __entry->core, __entry->ring, __entry->client,
		      __entry->context, __entry->tag, __entry->fc_count, __entry->priority,
		      (long long)__entry->custom_id, __entry->task, __entry->segment,
		      __entry->segment_count, __entry->time_ns, __entry->pid,
		      __entry->model, __entry->cores, __entry->recorded)
);

TRACE_EVENT(fc_submit,
	    TP_PROTO(const struct overtake_job *job, const struct ovt_fw_part *part, u64 time_ns),
	    TP_ARGS(job, part, time_ns),
	    OVERTAKE_JOB_STRUCT__entry(__field(u32, fc_count)
				       __field(u32, priority)
				       __field(u64, custom_id)
				       __field(u32, placed_core)
				       __field(u32, part)
				       ),
	    TP_fast_assign(OVERTAKE_JOB_ASSIGN(part->core,
					       OVERTAKE_TRACE_RING(job->fw.priority),
					       time_ns);
			   __entry->fc_count = part->fc_count;
			   __entry->priority = job->fw.priority;
			   __entry->custom_id = (u64)job->custom_id;
			   __entry->placed_core = part->placed_core;
			   __entry->part = overtake_part_index(part);
			   ),
	    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_count=%u priority=%u custom_id=%lld time_ns=%llu pid=%u placed_core=%u part=%u",
		      __entry->device, __entry->core, __entry->ring, __entry->client,
		      __entry->context, __entry->tag, __entry->fc_count, __entry->priority,
		      (long long)__entry->custom_id, __entry->time_ns, __entry->pid,
		      __entry->placed_core, __entry->part)
);

DECLARE_EVENT_CLASS(overtake_fc,
		    TP_PROTO(u32 device, const struct overtake_job *job,
			     const struct ovt_event *event),
		    TP_ARGS(device, job, event),
		    OVERTAKE_JOB_STRUCT__entry(__field(u32, fc_index)
					       __field(u32, part)
					       __field(u32, stage)
					       ),
		    TP_fast_assign(OVERTAKE_JOB_ASSIGN(event->core, event->ring,
						       event->time_ns);
				   __entry->fc_index = event->fc_index;
				   __entry->part = overtake_trace_part(event);
				   __entry->stage = overtake_trace_stage(event);
				   ),
		    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_index=%u time_ns=%llu pid=%u part=%u stage=%u",
			      __entry->device, __entry->core, __entry->ring, __entry->client,
			      __entry->context, __entry->tag, __entry->fc_index, __entry->time_ns,
			      __entry->pid, __entry->part, __entry->stage)
);

DEFINE_EVENT(overtake_fc, fc_start,
	     TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event),
	     TP_ARGS(device, job, event)
);

DEFINE_EVENT(overtake_fc, fc_resume,
	     TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event),
	     TP_ARGS(device, job, event)
);

TRACE_EVENT(fc_preempt,
	    TP_PROTO(u32 device, const struct overtake_job *job, const struct overtake_job *by,
		     const struct ovt_event *event),
	    TP_ARGS(device, job, by, event),
	    OVERTAKE_JOB_STRUCT__entry(__field(u32, fc_index)
				       __field(u64, by_client)
				       __field(u64, by_tag)
				       __field(u32, by_context)
				       __field(u32, by_pid)
				       __field(u32, part)
				       ),
	    TP_fast_assign(OVERTAKE_JOB_ASSIGN(event->core, event->ring,
					       event->time_ns);
			   __entry->fc_index = event->fc_index;
			   __entry->by_client = by->context->client->id;
			   __entry->by_tag = by->tag;
			   __entry->by_context = by->context->id;
			   __entry->by_pid = by->context->client->tgid;
			   __entry->part = overtake_trace_part(event);
			   ),
	    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_index=%u by_client=%llu by_context=%u by_tag=%llu by_pid=%u time_ns=%llu pid=%u part=%u",
		      __entry->device, __entry->core, __entry->ring, __entry->client,
		      __entry->context, __entry->tag, __entry->fc_index, __entry->by_client,
		      __entry->by_context, __entry->by_tag, __entry->by_pid, __entry->time_ns,
		      __entry->pid, __entry->part)
);

DECLARE_EVENT_CLASS(overtake_fc_end,
		    TP_PROTO(u32 device, const struct overtake_job *job,
			     const struct ovt_event *event, u32 fault),
		    TP_ARGS(device, job, event, fault),
		    OVERTAKE_JOB_STRUCT__entry(__field(u32, fc_index)
					       __field(u64, duration_ns)
					       __field(u32, fault)
					       __field(u32, part)
					       __field(u32, stage)
					       ),
		    TP_fast_assign(OVERTAKE_JOB_ASSIGN(event->core, event->ring,
						       event->time_ns);
				   __entry->fc_index = event->fc_index;
				   __entry->duration_ns = event->duration_ns;
				   __entry->fault = fault;
				   __entry->part = overtake_trace_part(event);
				   __entry->stage = overtake_trace_stage(event);
				   ),
		    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_index=%u time_ns=%llu duration_ns=%llu fault=%u pid=%u part=%u stage=%u",
			      __entry->device, __entry->core, __entry->ring, __entry->client,
			      __entry->context, __entry->tag, __entry->fc_index, __entry->time_ns,
			      __entry->duration_ns, __entry->fault, __entry->pid, __entry->part,
			      __entry->stage)
);

DEFINE_EVENT(overtake_fc_end, fc_done,
	     TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event,
		      u32 fault),
	     TP_ARGS(device, job, event, fault)
);

DEFINE_EVENT(overtake_fc_end, fc_timeout,
	     TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event,
		      u32 fault),
	     TP_ARGS(device, job, event, fault)
);

TRACE_EVENT(job_done,
	    TP_PROTO(const struct overtake_job *job),
	    TP_ARGS(job),
	    OVERTAKE_JOB_STRUCT__entry(__field(u32, error)
				       __field(u32, executed)
				       __field(u32, preemptions)
				       __field(u64, duration_ns)
				       __field(u32, priority)
				       ),
	    TP_fast_assign(OVERTAKE_JOB_ASSIGN(job->result.core,
					       OVERTAKE_TRACE_RING(job->fw.priority),
					       job->result.end_ns);
			   __entry->error = -job->result.status;
			   __entry->executed = job->result.fcs_done;
			   __entry->preemptions = job->result.preemptions;
			   __entry->duration_ns = job->result.executed_ns;
			   __entry->priority = job->fw.priority;
			   ),
	    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu error=%u executed=%u preemptions=%u duration_ns=%llu priority=%u time_ns=%llu pid=%u",
		      __entry->device, __entry->core, __entry->ring, __entry->client,
		      __entry->context, __entry->tag, __entry->error, __entry->executed,
		      __entry->preemptions, __entry->duration_ns, __entry->priority,
		      __entry->time_ns, __entry->pid)
);

TRACE_EVENT(core_limit,
	    TP_PROTO(const struct overtake_core *which, u32 limit_before, u32 limit, u32 by_pid),
	    TP_ARGS(which, limit_before, limit, by_pid),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, core)
			     __field(u64, time_ns)
			     __field(u32, limit_before)
			     __field(u32, limit)
			     __field(u32, by_pid)
			     ),
	    TP_fast_assign(__entry->device = which->device->index;
			   __entry->core = which->number;
			   __entry->time_ns = overtake_clock_now(which->device);
			   __entry->limit_before = limit_before;
			   __entry->limit = limit;
			   __entry->by_pid = by_pid;
			   ),
	    TP_printk("device=%u core=%u limit_before=%u limit=%u by_pid=%u time_ns=%llu",
		      __entry->device, __entry->core, __entry->limit_before, __entry->limit,
		      __entry->by_pid, __entry->time_ns)
);

TRACE_EVENT(core_reset,
	    TP_PROTO(const struct overtake_core *which),
	    TP_ARGS(which),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, core)
			     __field(u64, time_ns)
			     ),
	    TP_fast_assign(__entry->device = which->device->index;
			   __entry->core = which->number;
			   __entry->time_ns = overtake_clock_now(which->device);
			   ),
	    TP_printk("device=%u core=%u time_ns=%llu",
		      __entry->device, __entry->core, __entry->time_ns)
);

DECLARE_EVENT_CLASS(overtake_task,
		    TP_PROTO(const struct overtake_context *owner,
			     const struct ovt_service_task *task),
		    TP_ARGS(owner, task),
		    TP_STRUCT__entry(__field(u32, device)
				     __field(u32, core)
				     __field(u32, priority)
				     __field(u32, context)
				     __field(u64, client)
				     __field(u64, tag)
				     __field(u64, time_ns)
				     __field(u32, pid)
				     __field(u32, segment)
				     __field(u64, custom_id)
				     __field(u32, segment_count)
				     __field(u32, error)
				     __field(u64, model)
				     __field(u32, slots)
				     __field(u32, task_limit)
				     __field(u32, share)
				     __field(u32, width)
				     ),
		    TP_fast_assign(__entry->device = owner->client->device->index;
				   __entry->core = task->sched.placed_core ?
						   task->sched.placed_core : task->sched.core;
				   __entry->priority = task->sched.priority;
				   __entry->context = owner->id;
				   __entry->client = owner->client->id;
				   __entry->tag = task->tag;
				   __entry->time_ns = overtake_clock_now(owner->client->device);
				   __entry->pid = owner->client->tgid;
				   __entry->segment = task->sched.segment;
				   __entry->custom_id = (u64)task->sched.custom_id;
				   __entry->segment_count = task->sched.segment_count;
				   __entry->error = -task->status;
				   __entry->model = container_of(task, struct overtake_task,
								 service)->model;
				   __entry->slots = overtake_trace_rules(task)->slots;
				   __entry->task_limit = overtake_trace_rules(task)->task_limit;
				   __entry->share = overtake_trace_rules(task)->share;
				   __entry->width = task->sched.span ? task->sched.span->width : 1;
				   ),
		    TP_printk("device=%u core=%u priority=%u client=%llu context=%u tag=%llu segment=%u segment_count=%u custom_id=%lld error=%u time_ns=%llu pid=%u model=%#llx slots=%u task_limit=%u share=%u width=%u",
			      __entry->device, __entry->core, __entry->priority, __entry->client,
			      __entry->context, __entry->tag, __entry->segment,
			      __entry->segment_count, (long long)__entry->custom_id,
			      __entry->error, __entry->time_ns, __entry->pid,
			      __entry->model, __entry->slots, __entry->task_limit, __entry->share,
			      __entry->width)
);

DEFINE_EVENT(overtake_task, task_arrive,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

DEFINE_EVENT(overtake_task, task_dispatch,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

DEFINE_EVENT(overtake_task, task_ready,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

DEFINE_EVENT(overtake_task, task_cpu_start,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

DEFINE_EVENT(overtake_task, task_cpu_done,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

DEFINE_EVENT(overtake_task, task_overdue,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

DEFINE_EVENT(overtake_task, task_end,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task),
	     TP_ARGS(owner, task)
);

/*
 * Kernel track events of Perfetto, which draws them without knowing this driver.  Events of one
 * kind with the same track_name and the same scope make one track, whose slices nest.  Perfetto
 * draws them, as all of ftrace, at host time: the time at which the driver learned of them.
 */
TRACE_EVENT(fc_slice,
	    TP_PROTO(char type, u32 device, const char *slice, const char *track),
	    TP_ARGS(type, device, slice, track),
	    TP_STRUCT__entry(__field(char, track_event_type)
			     __string(slice_name, slice)
			     __string(track_name, track)
			     __field(u32, scope_device)
			     ),
	    TP_fast_assign(__entry->track_event_type = type;
			   __assign_str(slice_name);
			   __assign_str(track_name);
			   __entry->scope_device = device;
			   ),
	    TP_printk("type=%c track=\"%s\" slice=\"%s\" device=%u", __entry->track_event_type,
		      __get_str(track_name), __get_str(slice_name), __entry->scope_device)
);

TRACE_EVENT(job_slice,
	    TP_PROTO(char type, u32 tgid, const char *slice, const char *track),
	    TP_ARGS(type, tgid, slice, track),
	    TP_STRUCT__entry(__field(char, track_event_type)
			     __string(slice_name, slice)
			     __string(track_name, track)
			     __field(u32, scope_tgid)
			     ),
	    TP_fast_assign(__entry->track_event_type = type;
			   __assign_str(slice_name);
			   __assign_str(track_name);
			   __entry->scope_tgid = tgid;
			   ),
	    TP_printk("type=%c track=\"%s\" slice=\"%s\" pid=%u", __entry->track_event_type,
		      __get_str(track_name), __get_str(slice_name), __entry->scope_tgid)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE overtake_trace
#include <trace/define_trace.h>
