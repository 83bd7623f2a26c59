/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The task scheduler decides which task may put its next segment on a core or on a CPU worker, and
 * when.
 *
 * A pure state machine like the firmware (fw/fw.h): it reads no clock, allocates nothing and never
 * blocks.  Its host holds one lock around each call, brings time, and carries the actions
 * out.  The host may be the simulator, a process's engine, or the driver when all processes
 * share one queue.  Time is in any unit that the host uses throughout.
 *
 * A host's loop:
 *
 *	ovt_sched_arrive(sched, task, now)
 *	if (ovt_sched_segment_ended(sched, task, true, now, &action))	a job or CPU segment is over
 *		carry out(action)
 *	if (ovt_sched_cancel(sched, task, &action))
 *		carry out(action)
 *	while (ovt_sched_next(sched, now, &action))			after any of them, and at
 *		carry out(action)					ovt_sched_next_time()
 *
 * If a process is gone, its host calls ovt_sched_abandon() until that has nothing more to do.
 *
 * The host carries each action out before its next call: the next decision counts on it.  If
 * several tasks end in one instant, the host reports the end of the task dispatched first before
 * the others.
 *
 * Which core.  A task that takes any core may find several open.  The device knows which of them
 * has the least to do, the scheduler does not: the action names them all, the device chooses
 * (ovt_fw_place()) and the host reports the choice (ovt_sched_placed()).
 *
 * Several cores.  A task may take several cores at once (struct ovt_sched_span), and names none of
 * them.  It needs a free slot on each, and keeps all slots until it releases them together.  While
 * it waits it bars every core, like any task that names none.  A task that was overdue bars only
 * its own cores.
 *
 * With n tasks a call takes O(cores x log n) steps, which ovt_sched.steps counts; where gaps close,
 * this is an average over the calls.  ovt_sched_next() takes as many steps for each task that it
 * puts into the queue for CPU workers before it returns.  The number of processes makes no
 * difference.
 *
 * Words.  A task is *waiting* until it is dispatched; it is *ready* when it was dispatched, has
 * run its leading CPU segments and needs a slot for its first BPU segment.  It holds the slot
 * until its last BPU segment has ended.  A holder is in a *gap* while its current segment is a CPU
 * segment between BPU segments.
 *
 * Overdue.  A host that shares the scheduler between processes cannot trust them to end their CPU
 * segments.  A CPU segment that waits for a worker, or runs, for longer than its settings allow
 * makes its task *overdue*: the task releases its slot and no longer counts for the task limit.
 * When the segment ends after all, the task goes on.  If it has BPU segments before it and after
 * it, it is ready like a task before its first BPU segment, but only for its own core.
 */
#ifndef OVT_SCHED_H
#define OVT_SCHED_H

#include <ovt_port.h>
#include "ovt_list.h"
#include "sched/settings.h"
#include "ovt_tree.h"
#include "sched/wide.h"

#define OVT_SCHED_MAX_CORES	64u
#define OVT_SCHED_PRIORITY_HIGH	255u
/* CPU segments of @overdue_min_time each that a task may have, whatever times are expected. */
#define OVT_SCHED_SHORT_SEGMENTS	4u

struct ovt_sched;
struct ovt_sched_task;

enum ovt_sched_state {
	OVT_SCHED_NEW,
	OVT_SCHED_WAITING,
	OVT_SCHED_READY,
	OVT_SCHED_CPU_WAITING,
	OVT_SCHED_CPU_RUNNING,
	OVT_SCHED_BPU,		/* its job is on the device */
	OVT_SCHED_ENDED,
};

#define OVT_SCHED_STATE_COUNT	(OVT_SCHED_ENDED + 1u)

/*
 * Tasks that may be inserted into a gap: those with less BPU time than @floor, and those with less
 * than the rest of the gap's CPU segment plus @slack.
 */
struct ovt_sched_insertion {
	struct ovt_wide floor;
	struct ovt_wide slack;		/* below 2^127 */
};

/**
 * struct ovt_sched_policy - functions that differ between policies
 * @name: the stable name by which users choose it
 * @compare: < 0 if @a goes before @b, > 0 if after it, 0 if arrival (or, for CPU workers, dispatch)
 *	decides; constant while a task waits
 * @insertion: finds the tasks that may use the slot of @holder, whose gap begins.  NULL: no task
 */
struct ovt_sched_policy {
	const char *name;
	int (*compare)(const struct ovt_sched_task *a, const struct ovt_sched_task *b);
	void (*insertion)(const struct ovt_sched *sched, const struct ovt_sched_task *holder,
			  struct ovt_sched_insertion *insertion);
};

/*
 * The policies by index and by name.  ovt_sched_policy_at() returns NULL past the last.  The first
 * is the default: priority, custom_id, and the insertion rules.
 */
const struct ovt_sched_policy *ovt_sched_policy_at(u32 index);
const struct ovt_sched_policy *ovt_sched_policy_find(const char *name);

/*
 * Facts about @settings beyond sched/settings.inc:
 *
 * @slots: slots of each queue on each core
 * @task_limit: greatest number of dispatched tasks of a queue
 * @workers: CPU workers of a process that has no number of its own
 * @threshold_percent: an inserted task may be late by less than this percentage of the time of the
 *	next BPU segment
 * @overdue_min_time: time that a CPU segment may wait for a worker, and then run; it may take
 *	@overdue_factor times its estimate if that is longer.  0: any time.  All CPU segments of a
 *	task together may take twice such a limit for their sum, see ovt_sched_cpu_allowance()
 * @share: the scheduler keeps a place of the task limit for each process that waits and holds
 *	none, unless the host has set its @no_kept_place
 */
struct ovt_sched {
	struct ovt_sched_settings settings;
	u32 core_count;
	struct ovt_tree queues;		/* queues to be looked at, in order */
	struct ovt_tree processes;	/* with a CPU segment for an idle worker, in order */
	struct ovt_tree overdue_next;	/* tasks in a CPU segment, by when that is overdue */
	u64 steps;			/* tree nodes and tasks looked at so far, by all calls */
	u64 next_place;
	u64 next_arrival;
	u64 next_dispatch;
	/* Called for each task that is dispatched; the host may set it after ovt_sched_init(). */
	void (*dispatched)(void *host, struct ovt_sched_task *task);
	void *host;
	/* Returns the cores of a task that names none, bit core - 1; set where cores differ. */
	u64 (*cores_of)(const struct ovt_sched_task *task);
};

/*
 * Tasks of one process below priority 255 that are not dispatched and want the same core (or any,
 * or a worker), best placed first.  All fields are the scheduler's.
 */
struct ovt_sched_line {
	struct ovt_tree tasks;
	struct ovt_tree_node link;	/* in a tree of the queue if there are tasks */
};

/* The lines of a queue's processes, sorted by the first task of each. */
struct ovt_sched_lines {
	struct ovt_tree first_place;	/* processes for which a place of the limit is kept */
	struct ovt_tree more;		/* other processes */
};

/* Tasks below 255 that want a slot on the same core, or on any. */
struct ovt_sched_wanting {
	struct ovt_sched_lines waiting;
	struct ovt_tree ready;		/* best placed first */
};

/* The gaps of a core's holders into which tasks may be inserted, by limit: see sched/gap.c. */
struct ovt_sched_gaps {
	struct ovt_tree steady;
	struct ovt_tree falling;
	struct ovt_tree turns;		/* the falling gaps, by when they reach their floor */
};

/* A task's gap; all fields are the scheduler's. */
struct ovt_sched_gap {
	struct ovt_tree_node link;	/* in steady or falling; in spanning without a slot */
	struct ovt_tree_node turn;	/* in turns */
	struct ovt_wide limit;		/* while it falls: the limit plus the present time */
	struct ovt_wide floor;
	struct ovt_sched_task *holder;	/* in spanning: the task that has the gap */
};

/* A queue's data of one core; all fields are the scheduler's. */
struct ovt_sched_queue_core {
	struct ovt_sched_wanting wanting;	/* tasks that want this core and no other */
	struct ovt_tree spanning;	/* ready tasks that want this core and others they had */
	struct ovt_sched_gaps gaps;
	u32 holders;
};

/*
 * A library queue, embedded in the host's own; all fields are the scheduler's.  Tasks that differ
 * only in their place wait together: only the first of them can be the next to go.
 */
struct ovt_sched_queue {
	struct ovt_sched *sched;
	struct ovt_tree_node link;	/* in a tree while one of its tasks may go */
	u64 place;
	struct ovt_tree high;		/* tasks of priority 255 */
	struct ovt_sched_lines cpu_first;	/* tasks below 255 that begin with a CPU segment */
	struct ovt_sched_wanting any;	/* tasks below 255 that want a slot on any core */
	struct ovt_sched_queue_core *cores;
	u64 cores_waiting;		/* bit k - 1: @wanting.waiting of core k is not empty */
	u64 cores_ready;		/* bit k - 1: @wanting.ready or @spanning is not empty */
	u32 dispatched;			/* tasks that count for the task limit */
	u32 places_kept;		/* processes for which a place of the task limit is kept */
};

/*
 * A process: tasks that share CPU workers.  Embedded in the host's own; all fields but
 * @worker_count and @no_kept_place are the scheduler's.
 */
struct ovt_sched_process {
	struct ovt_tree_node link;	/* in a tree if a CPU segment may be run */
	u64 place;
	struct ovt_sched_queue *queue;
	struct ovt_tree cpu_waiting;	/* tasks, best placed first */
	u32 worker_count;		/* the host may change it before the first task arrives */
	u32 workers_busy;
	bool no_kept_place;		/* the host may set it before the first task arrives */
	struct ovt_list tasks;		/* tasks that arrived and are not over, holders first */
	struct ovt_sched_line cpu_first;
	struct ovt_sched_line any;
	struct ovt_sched_line *cores;
	u64 cores_waiting;		/* bit k - 1: tasks wait in the line of core k */
	u32 waiting;			/* tasks in all lines */
	u32 dispatched;			/* tasks that count for the task limit */
	bool gone;			/* being abandoned: none of its tasks goes on */
	/* For the host to read: numbers of its tasks that are not over. */
	u32 in_state[OVT_SCHED_STATE_COUNT];
	u32 overdue;			/* tasks in a CPU segment that is overdue */
	u32 slots;			/* slots that its tasks hold */
};

/*
 * The part of a task that takes several cores at once: it has a slot, and a gap, on each.  The
 * first lines are the host's, like those of the task.
 */
struct ovt_sched_span {
	u32 width;			/* number of cores, from 2 */
	struct ovt_sched_gap *gaps;	/* storage for @width gaps */

	u64 cores;			/* bit k - 1: it has core k; set once it is placed */
};

/* One segment of a task: its kind, and the time that it is expected to take. */
struct ovt_sched_segment {
	u64 time;
	u32 fc_count;		/* 0: a CPU segment */
};

/**
 * struct ovt_sched_task - a task, embedded in the host's own
 *
 * The first group is the host's: set before ovt_sched_arrive(), constant until the task has ended.
 * The second is the scheduler's, for the host to read.
 */
struct ovt_sched_task {
	struct ovt_sched_process *process;
	const struct ovt_sched_segment *segments;	/* segments of all its models, in order */
	u32 segment_count;				/* at least 1 */
	u32 priority;
	u32 core;					/* 1..core_count; 0: any */
	struct ovt_sched_span *span;	/* then @core is 0; NULL: it takes one core */
	s64 custom_id;
	u64 deadline;					/* for policies that look at it */

	enum ovt_sched_state state;
	u32 segment;			/* the current one */
	u32 placed_core;		/* its first core; 0 until a BPU segment is submitted */
	u32 bpu_left;			/* BPU segments not over */
	bool cancelled;
	bool holds_slot;
	bool counted;			/* it counts for the task limit */
	bool overdue;			/* its current CPU segment is overdue */
	u64 bpu_time;			/* sum of the times of all its BPU segments */
	u64 arrival_sequence;
	u64 dispatch_sequence;		/* from 1; 0: not dispatched */
	u64 arrival_time;
	u64 dispatch_time;
	u64 segment_start;		/* start of the current CPU segment, once it runs */
	u64 overdue_time;		/* when the current CPU segment will be overdue */
	u64 watched_since;		/* since when the CPU segment waits, or runs */
	u64 cpu_allowance;		/* time left for CPU segments; ~0: any */
	struct ovt_tree_node link;	/* in the tree in which it waits */
	struct ovt_tree_node overdue_link;
	struct ovt_list of_process;
	struct ovt_sched_gap gap;
};

enum ovt_sched_action_type {
	OVT_SCHED_SUBMIT,	/* BPU segment @segment of @task as one job */
	OVT_SCHED_RUN_CPU,	/* CPU segment @segment of @task on a worker of its process */
	OVT_SCHED_CANCEL_JOB,	/* cancel the job that @task has on the device */
	OVT_SCHED_OVERDUE,	/* only a report: CPU segment @segment became overdue */
	OVT_SCHED_END,		/* @task is over; the scheduler refers to it no more */
};

/**
 * struct ovt_sched_action - an action that the host is to carry out
 * @core: for SUBMIT, the core; 0: one of @cores, which the host reports by ovt_sched_placed(), or
 *	as many as the task takes, which it reports by ovt_sched_placed_on()
 * @cores: for SUBMIT, bit k - 1: core k may take it; at least as many as the task takes
 */
struct ovt_sched_action {
	enum ovt_sched_action_type type;
	u32 segment;
	u32 core;
	u64 cores;
	struct ovt_sched_task *task;
};

/* @core_count: 1..OVT_SCHED_MAX_CORES */
void ovt_sched_init(struct ovt_sched *sched, u32 core_count,
		    const struct ovt_sched_settings *settings);

/*
 * Queues are served in the order in which they were added, and so are processes.  A process
 * belongs to one queue; processes that share one are in service mode.  @cores and @lines are
 * storage, one for each of the scheduler's cores, until the queue or the process is removed.
 */
void ovt_sched_add_queue(struct ovt_sched *sched, struct ovt_sched_queue *queue,
			 struct ovt_sched_queue_core *cores);
void ovt_sched_add_process(struct ovt_sched *sched, struct ovt_sched_process *process,
			   struct ovt_sched_queue *queue, struct ovt_sched_line *lines);
/* Called when all tasks of @process are over.  A queue is removed after its processes. */
void ovt_sched_remove_process(struct ovt_sched_process *process);
void ovt_sched_remove_queue(struct ovt_sched_queue *queue);

/* @task arrives.  Tasks that arrive in one instant are passed in their order. */
void ovt_sched_arrive(struct ovt_sched *sched, struct ovt_sched_task *task, u64 now);

/*
 * The job or CPU segment that runs for @task is over.  @ok: it ended well; a fault or a cancel ends
 * the task.  Returns true if the host is to carry out @action.
 */
bool ovt_sched_segment_ended(struct ovt_sched *sched, struct ovt_sched_task *task, bool ok,
			     u64 now, struct ovt_sched_action *action);

/*
 * Cancels @task.  It ends with its FC or CPU segment that runs, else at once.  Returns true if the
 * host is to carry out @action.  A second cancel, or that of a task that is over, does nothing.
 */
bool ovt_sched_cancel(struct ovt_sched *sched, struct ovt_sched_task *task,
		      struct ovt_sched_action *action);

/*
 * @process is gone, with its CPU workers: its tasks end; a task that has a job on the device ends
 * when the job has ended.  The host calls this until it returns false; until then no task of
 * @process arrives.  True: the host is to carry out @action.
 *
 * From the first call on none of its tasks goes on, and none that waits holds up another process;
 * tasks that hold slots end first.  So other calls may come between two of these.
 */
bool ovt_sched_abandon(struct ovt_sched *sched, struct ovt_sched_process *process,
		       struct ovt_sched_action *action);

/*
 * Finds the next action: first tasks that become overdue, then the next task that may go on now,
 * dispatches before CPU workers.  Returns false if there is none.
 */
bool ovt_sched_next(struct ovt_sched *sched, u64 now, struct ovt_sched_action *action);

/* Returns when ovt_sched_next() is to be called though nothing happens; ~0: never. */
u64 ovt_sched_next_time(const struct ovt_sched *sched);

/*
 * Called after a SUBMIT whose @core was 0, before any other call: the job went to @core, one of the
 * action's cores.
 */
void ovt_sched_placed(struct ovt_sched *sched, struct ovt_sched_task *task, u32 core);

/* The same for a task that takes several: it went to @cores; core @first has its first part. */
void ovt_sched_placed_on(struct ovt_sched *sched, struct ovt_sched_task *task, u32 first,
			 u64 cores);

static inline bool ovt_sched_is_high(const struct ovt_sched_task *task)
{
	return task->priority == OVT_SCHED_PRIORITY_HIGH;
}

/* Whether @task is in a CPU segment between BPU segments. */
static inline bool ovt_sched_in_gap(const struct ovt_sched_task *task)
{
	return task->placed_core && task->bpu_left &&
	       (task->state == OVT_SCHED_CPU_WAITING || task->state == OVT_SCHED_CPU_RUNNING);
}

#endif
