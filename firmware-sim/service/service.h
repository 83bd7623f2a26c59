/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Service mode: the tasks of all processes in one queue of the task scheduler, where no process can
 * corrupt or stall it.
 *
 * This part is the same for every host that has clients: it knows the live tasks, how their
 * segments ended, and the events that their processes have not fetched yet.  The host has the
 * memory, the lock under which everything here is called, the jobs, and the time.
 *
 * Life of a task in a host:
 *
 *	check it, and make all its jobs		nothing can be refused from here on
 *	lock
 *	ovt_service_submit(service, process, task, now)
 *	ovt_service_settle(service, now)	host->submit_job(), host->wake()
 *	...
 *	ovt_service_job_ended(task, &result, took)	its job has ended
 *	ovt_service_settle(service, now)	host->wake(): an event can be fetched
 *	task = ovt_service_next_event(process)	fetch: run this CPU segment, or: it ended
 *	ovt_service_cpu_done(...)		the process reports the segment
 *	...
 *	ovt_service_collect(task)		its end has been fetched; free it
 *	unlock
 *
 * Events wait in lists of their tasks.  Nothing is allocated, no event is lost, and the device does
 * not wait for a process to fetch them.
 */
#ifndef OVT_SERVICE_SERVICE_H
#define OVT_SERVICE_SERVICE_H

#include <ovt_port.h>
#include "ovt_list.h"
#include "overtake_accel.h"
#include "sched/sched.h"
#include "service/records.h"

#define OVT_SERVICE_MAX_TASKS		OVERTAKE_MAX_TASKS
#define OVT_SERVICE_MAX_SEGMENTS	OVERTAKE_MAX_SEGMENTS
#define OVT_SERVICE_MAX_WORKERS		OVERTAKE_MAX_WORKERS
#define OVT_SERVICE_MAX_CPU_NS		1000000000u	/* most expected of a task's CPU segments */
#define OVT_SERVICE_MAX_ERRNO		4095
/* Actions of one call, since hosts hold a lock; a client may prepare a thousand times as much. */
#define OVT_SERVICE_STEPS_AT_ONCE	64u
/* Tasks of a process that has gone, ended in one call: many such calls may follow each other. */
#define OVT_SERVICE_ABANDONED_AT_ONCE	16u

struct ovt_service_task;
struct ovt_service_process;

enum ovt_service_step {
	OVT_SERVICE_ARRIVED,
	OVT_SERVICE_DISPATCHED,
	OVT_SERVICE_OVERDUE,
	OVT_SERVICE_ENDED,
	OVT_SERVICE_READY,	/* it waits for a slot, before its current segment */
	OVT_SERVICE_CPU_STARTED,
	OVT_SERVICE_CPU_DONE,	/* as its process reports */
};

/**
 * struct ovt_service_host - calls of the service to its host; none of them can fail
 * @submit_job: hands the job of BPU segment @segment to the device: to core @core, or if @core is 0
 *	to one of @cores.  Returns the core.  If the task has a list @cores, part i goes to entry i
 *	of it, and @core is the first entry
 * @place: returns the core of @cores that has the least to do, for a task with a list @cores
 * @cancel_job: cancels the job that @task has on the device; does nothing if that has just ended
 * @wake: @process has an event to fetch
 * @release: @task is over, and its process is gone: free it.  The last call about it
 * @note: @task has taken step @step, for traces
 */
struct ovt_service_host {
	u32 (*submit_job)(struct ovt_service_task *task, u32 segment, u32 core, u64 cores);
	u32 (*place)(struct ovt_service_task *task, u64 cores);
	void (*cancel_job)(struct ovt_service_task *task);
	void (*wake)(struct ovt_service_process *process);
	void (*release)(struct ovt_service_task *task);
	void (*note)(const struct ovt_service_task *task, enum ovt_service_step step);
};

/* Embedded in the host's own struct, one for each device; all fields are the service's. */
struct ovt_service {
	struct ovt_sched sched;
	struct ovt_sched_queue queue;
	const struct ovt_service_host *host;
	struct ovt_tree ends;		/* segments that are over, in the order of dispatch */
};

/* A client, embedded in the host's own; all fields are the service's. */
struct ovt_service_process {
	struct ovt_sched_process sched;
	struct ovt_service *service;
	struct ovt_tree tasks;		/* by tag, until their ends are collected */
	struct ovt_list events;		/* tasks with an event to fetch */
	struct ovt_records records;
	u64 ended;			/* tasks, ever */
	u64 waited_ns;			/* sum of the times from arrival to dispatch of all tasks */
	u64 overdue;			/* CPU segments, ever */
	bool gone;
};

/**
 * struct ovt_service_task - a task, embedded in the host's own
 * @tag: the process's name for it; the host sets it, and the fields up to @cores
 * @segments: storage, one for each segment; @fc_count and, as a guess, @time are set
 * @keys: key of the record of each segment
 * @results: storage, one for each segment, zero
 * @cores: for a task with groups: storage, one for each core that it takes at once; else NULL
 *
 * The host also sets @segments, @segment_count, @priority, @core, @custom_id and @deadline of
 * @sched, and @span of a task that takes several cores.  The rest is the service's.
 */
struct ovt_service_task {
	struct ovt_sched_task sched;
	u64 tag;
	struct ovt_sched_segment *segments;
	const u64 *keys;
	struct overtake_result *results;
	u32 *cores;

	s32 status;			/* set when it has ended: 0 or a negative errno */
	u64 end_time;
	bool segment_ok;		/* its segment in the tree of ends has ended well */
	bool is_dispatch_noted;
	struct ovt_tree_node of_tasks;
	struct ovt_tree_node of_ends;
	struct ovt_list of_events;
};

static inline struct ovt_service_task *ovt_service_task_of(struct ovt_sched_task *task)
{
	return ovt_container_of(task, struct ovt_service_task, sched);
}

static inline struct ovt_service_process *
ovt_service_process_of(const struct ovt_service_task *task)
{
	return ovt_container_of(task->sched.process, struct ovt_service_process, sched);
}

/* @cores: storage, one for each core. */
void ovt_service_init(struct ovt_service *service, u32 core_count,
		      const struct ovt_sched_settings *settings,
		      const struct ovt_service_host *host, struct ovt_sched_queue_core *cores);

/*
 * @workers: CPU segments that it runs at a time, 1..OVT_SERVICE_MAX_WORKERS.  @lines: storage, one
 * for each core.
 * @keeps_place: where the task limit is shared, a place of it is kept for the process.
 */
void ovt_service_open(struct ovt_service *service, struct ovt_service_process *process,
		      u32 workers, bool keeps_place, struct ovt_sched_line *lines);

/*
 * Returns the number of processes of an untrusted user for which a place is kept: a quarter of the
 * limit, at least 1.  So from a limit of 4 on, it takes at least four such users to have all.
 */
u32 ovt_service_places_of_a_user(u32 task_limit);

/*
 * @process has gone, orderly or not: its tasks end; a task with a job on the device ends when the
 * job has ended.  Tasks that had ended are released.  A call ends some of the tasks only, so the
 * host calls this again as long as it returns true.  The host calls nothing else for @process any
 * more but ovt_service_job_ended().  Other calls may come between two of these: no task of @process
 * goes on from the first call on.
 */
bool ovt_service_abandon(struct ovt_service_process *process, u64 now);

/* Whether @process has no task left, so that it may be closed. */
bool ovt_service_is_idle(const struct ovt_service_process *process);
void ovt_service_close(struct ovt_service_process *process);

/*
 * Checks a task without its segments: returns 0, -EINVAL (no segment, no such priority or core),
 * -E2BIG for too many segments, -EPERM for a priority above @max_priority.
 */
s32 ovt_service_check_task(u32 segment_count, u32 priority, u32 core, u32 cores, u32 max_priority);

/*
 * Checks the @width of a task with groups, the cores that it takes at once: it must be from 1 to
 * @cores and equal to @most, the parts of its widest segment.  Returns 0, or -EINVAL, also if the
 * task names a @core.
 */
s32 ovt_service_check_width(u32 width, u32 most, u32 core, u32 cores);

/* Returns 0, -EEXIST for a tag in use, -ENOSPC for one task too many. */
s32 ovt_service_check_room(struct ovt_service_process *process, u64 tag);

/* Submits @task of a process with room for it.  Its expected time is known from now on. */
void ovt_service_submit(struct ovt_service_process *process, struct ovt_service_task *task,
			u64 now);

/* Returns the task of @process with @tag, or NULL. */
struct ovt_service_task *ovt_service_find(struct ovt_service_process *process, u64 tag);

/*
 * The process reports that CPU segment @segment of @task is over, with @status 0 or a negative
 * errno.  Returns 0; or -EINVAL if @status is no errno, or if the process was not to run that
 * segment, has not fetched its event, or has reported it before.
 */
s32 ovt_service_cpu_done(struct ovt_service_task *task, u32 segment, s32 status, u64 now);

/*
 * The job of the current segment of @task is over.  @took: device time that its FCs take on cores
 * without other work.
 */
void ovt_service_job_ended(struct ovt_service_task *task, const struct overtake_result *result,
			   u64 took);

/* Cancels @task: work that has not started never runs.  Returns -ENOENT if @task has ended. */
s32 ovt_service_cancel(struct ovt_service_task *task, u64 now);

/*
 * Cancels the tasks of @process, OVT_SERVICE_STEPS_AT_ONCE in a call.  *@left is the number of
 * tasks to be looked at, at first ovt_service_live(); no task arrives meanwhile.  Returns true if
 * it is to be called again.  Between two calls tasks may change places, so a round may miss a task:
 * the host starts another round until one leaves *@found false.
 */
bool ovt_service_cancel_all(struct ovt_service_process *process, u32 *left, bool *found, u64 now);

/* Handles the segments that are over, in order; nothing else goes on. */
void ovt_service_handle_ends(struct ovt_service *service, u64 now);

/*
 * Does what is to happen at @now: first all ends in order, then actions of tasks that may go on.
 * Returns true if there was anything: then it is to be called again, since one call carries out no
 * more than OVT_SERVICE_STEPS_AT_ONCE actions.
 */
bool ovt_service_settle(struct ovt_service *service, u64 now);

/* Returns when ovt_service_settle() is to be called though nothing happens; ~0: never. */
u64 ovt_service_next_time(const struct ovt_service *service);

/*
 * Returns the next task with an event for the process, or NULL.  If the task has ended, the host
 * reports its end and calls ovt_service_collect().  Otherwise the process is to run CPU segment
 * @sched.segment, and the host calls ovt_service_told().
 */
struct ovt_service_task *ovt_service_next_event(struct ovt_service_process *process);

/* Returns the event of @task, which ovt_service_next_event() returned. */
struct overtake_task_event ovt_service_event_of(const struct ovt_service_task *task);
void ovt_service_told(struct ovt_service_task *task);

static inline bool ovt_service_has_ended(const struct ovt_service_task *task)
{
	return task->sched.state == OVT_SCHED_ENDED;
}

void ovt_service_collect(struct ovt_service_task *task);

/**
 * struct ovt_service_counts - present numbers of a process, for people
 * @waiting: tasks that were not dispatched
 * @ready: tasks that were dispatched and wait for a slot
 * @dispatched: tasks that were dispatched and are not over
 * @overdue: dispatched tasks in a CPU segment that is overdue
 * @slots: slots that its tasks hold
 * @uncollected: tasks that ended and whose ends were not fetched
 */
struct ovt_service_counts {
	u32 waiting;
	u32 ready;
	u32 dispatched;
	u32 overdue;
	u32 slots;
	u32 uncollected;
};

/* Counts in constant time, however many tasks there are. */
struct ovt_service_counts ovt_service_count(const struct ovt_service_process *process);

/* Returns the number of tasks that have arrived and are not over. */
static inline u32 ovt_service_live(const struct ovt_service_process *process)
{
	struct ovt_service_counts counts = ovt_service_count(process);

	return counts.waiting + counts.dispatched;
}

#endif
