/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints.  Stable: names, fields, their types and meanings stay; fields are added at the
 * end.  All fields are plain integers.  Times are device time in nanoseconds, the clock of
 * struct overtake_result.
 *
 *	fc_submit	a job was handed to the device, with all its FCs
 *	fc_start	an FC started on a core
 *	fc_preempt	a HIGH FC goes in front of the rest of a NORMAL job that has begun
 *	fc_done		an FC ended, with its duration, and how (fault 0 = well)
 *	task_arrive	a task of service mode was submitted; tag is its own
 *	task_dispatch	its first segment begins
 *	task_overdue	one of its CPU segments takes too long
 *	task_end	it is over, with its status
 *
 * Common fields
 *	device		number of the device among the module's, from 0
 *	core		from 1; in fc_submit the core asked for, 0 = any
 *	ring		0 = HIGH, 1 = NORMAL
 *	client		DRM client id of the open file
 *	context		context id in that file
 *	tag		the client's name of the job
 *	fc_index	index of the FC in its job; in fc_preempt of the job's next FC
 *	time_ns		when
 *	pid		process that opened the file
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM overtake

#if !defined(OVERTAKE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define OVERTAKE_TRACE_H

#include <linux/tracepoint.h>

#include "overtake_job.h"
#include "service/service.h"

TRACE_EVENT(fc_submit,
	    TP_PROTO(const struct overtake_job *job, u64 time_ns),
	    TP_ARGS(job, time_ns),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, core)
			     __field(u32, ring)
			     __field(u32, context)
			     __field(u64, client)
			     __field(u64, tag)
			     __field(u64, time_ns)
			     __field(u32, pid)
			     __field(u32, fc_count)
			     __field(u32, priority)
			     __field(u64, custom_id)
			     ),
	    TP_fast_assign(__entry->device = overtake_job_device(job)->index;
			   __entry->core = job->fw.core;
			   __entry->ring = job->fw.priority == OVT_PRIORITY_HIGH ? OVT_RING_HIGH :
				   OVT_RING_NORMAL;
			   __entry->context = job->context->id;
			   __entry->client = job->context->client->id;
			   __entry->tag = job->tag;
			   __entry->time_ns = time_ns;
			   __entry->pid = job->context->client->tgid;
			   __entry->fc_count = job->fw.fc_count;
			   __entry->priority = job->fw.priority;
			   __entry->custom_id = (u64)job->custom_id;
			   ),
	    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_count=%u priority=%u custom_id=%lld time_ns=%llu pid=%u",
		      __entry->device, __entry->core, __entry->ring, __entry->client,
		      __entry->context, __entry->tag, __entry->fc_count, __entry->priority,
		      (long long)__entry->custom_id, __entry->time_ns, __entry->pid)
);

DECLARE_EVENT_CLASS(overtake_fc,
		    TP_PROTO(u32 device, const struct overtake_job *job,
			     const struct ovt_event *event),
		    TP_ARGS(device, job, event),
		    TP_STRUCT__entry(__field(u32, device)
				     __field(u32, core)
				     __field(u32, ring)
				     __field(u32, context)
				     __field(u64, client)
				     __field(u64, tag)
				     __field(u64, time_ns)
				     __field(u32, pid)
				     __field(u32, fc_index)
				     ),
		    TP_fast_assign(__entry->device = device;
				   __entry->core = event->core;
				   __entry->ring = event->ring;
				   __entry->context = job->context->id;
				   __entry->client = job->context->client->id;
				   __entry->tag = job->tag;
				   __entry->time_ns = event->time_ns;
				   __entry->pid = job->context->client->tgid;
				   __entry->fc_index = event->fc_index;
				   ),
		    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_index=%u time_ns=%llu pid=%u",
			      __entry->device, __entry->core, __entry->ring, __entry->client,
			      __entry->context, __entry->tag, __entry->fc_index, __entry->time_ns,
			      __entry->pid)
);

DEFINE_EVENT(overtake_fc, fc_start,
	     TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event),
	     TP_ARGS(device, job, event)
);

DEFINE_EVENT(overtake_fc, fc_preempt,
	     TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event),
	     TP_ARGS(device, job, event)
);

TRACE_EVENT(fc_done,
	    TP_PROTO(u32 device, const struct overtake_job *job, const struct ovt_event *event,
		     u32 fault),
	    TP_ARGS(device, job, event, fault),
	    TP_STRUCT__entry(__field(u32, device)
			     __field(u32, core)
			     __field(u32, ring)
			     __field(u32, context)
			     __field(u64, client)
			     __field(u64, tag)
			     __field(u64, time_ns)
			     __field(u32, pid)
			     __field(u32, fc_index)
			     __field(u64, duration_ns)
			     __field(u32, fault)
			     ),
	    TP_fast_assign(__entry->device = device;
			   __entry->core = event->core;
			   __entry->ring = event->ring;
			   __entry->context = job->context->id;
			   __entry->client = job->context->client->id;
			   __entry->tag = job->tag;
			   __entry->time_ns = event->time_ns;
			   __entry->pid = job->context->client->tgid;
			   __entry->fc_index = event->fc_index;
			   __entry->duration_ns = event->duration_ns;
			   __entry->fault = fault;
			   ),
	    TP_printk("device=%u core=%u ring=%u client=%llu context=%u tag=%llu fc_index=%u time_ns=%llu duration_ns=%llu fault=%u pid=%u",
		      __entry->device, __entry->core, __entry->ring, __entry->client,
		      __entry->context, __entry->tag, __entry->fc_index, __entry->time_ns,
		      __entry->duration_ns, __entry->fault, __entry->pid)
);

DECLARE_EVENT_CLASS(overtake_task,
		    TP_PROTO(const struct overtake_context *owner,
			     const struct ovt_service_task *task, u64 time_ns),
		    TP_ARGS(owner, task, time_ns),
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
				     ),
		    TP_fast_assign(__entry->device = owner->client->device->index;
				   __entry->core = task->sched.placed_core ?
						   task->sched.placed_core : task->sched.core;
				   __entry->priority = task->sched.priority;
				   __entry->context = owner->id;
				   __entry->client = owner->client->id;
				   __entry->tag = task->tag;
				   __entry->time_ns = time_ns;
				   __entry->pid = owner->client->tgid;
				   __entry->segment = task->sched.segment;
				   __entry->custom_id = (u64)task->sched.custom_id;
				   __entry->segment_count = task->sched.segment_count;
				   __entry->error = -task->status;
				   ),
		    TP_printk("device=%u core=%u priority=%u client=%llu context=%u tag=%llu segment=%u segment_count=%u custom_id=%lld error=%u time_ns=%llu pid=%u",
			      __entry->device, __entry->core, __entry->priority, __entry->client,
			      __entry->context, __entry->tag, __entry->segment,
			      __entry->segment_count, (long long)__entry->custom_id,
			      __entry->error, __entry->time_ns, __entry->pid)
);

DEFINE_EVENT(overtake_task, task_arrive,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task,
		      u64 time_ns),
	     TP_ARGS(owner, task, time_ns)
);

DEFINE_EVENT(overtake_task, task_dispatch,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task,
		      u64 time_ns),
	     TP_ARGS(owner, task, time_ns)
);

DEFINE_EVENT(overtake_task, task_overdue,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task,
		      u64 time_ns),
	     TP_ARGS(owner, task, time_ns)
);

DEFINE_EVENT(overtake_task, task_end,
	     TP_PROTO(const struct overtake_context *owner, const struct ovt_service_task *task,
		      u64 time_ns),
	     TP_ARGS(owner, task, time_ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE overtake_trace
#include <trace/define_trace.h>
