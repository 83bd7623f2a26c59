/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The task scheduler: which task may put its next segment on a core or on a CPU worker, and when.
 *
 * A pure state machine like the firmware (fw/fw.h): it reads no clock, allocates nothing and never
 * blocks.  Its host holds one lock around each call, brings time, and carries the actions
 * out.  The host may be the simulator, a process's engine, or the driver when all processes
 * share one queue; nothing here can tell.  Time is in any unit that the host uses throughout.
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
 * If a process is gone, its host says ovt_sched_abandon() until that has nothing more to do.
 *
 * An action is carried out before the next call: the next decision counts on it.  Of several
 * ends of one instant the host reports first that of the task dispatched first.
 *
 * Which core.  A task that takes any core may find several open.  Which of them has the least to do
 * the device knows, not this: the action names them all, the device chooses (ovt_fw_place()) and
 * the host says which it was (ovt_sched_placed()).
 *
 * Several cores.  A task may take several at once (struct ovt_sched_span), and names none of them.
 * It needs a free slot on each, and keeps them all until it gives its slot up; while it waits it
 * bars every core, like any task that names none.  One that was overdue bars its own.
 *
 * With n tasks a call takes O(cores x log n) steps, which ovt_sched.steps counts; where gaps close,
 * on average over the calls.  ovt_sched_next() takes as many for each task that it puts into the
 * queue for CPU workers before it returns.  How many processes there are makes no difference.
 *
 * Words.  A task is *waiting* until it is dispatched; it is *ready* when it was dispatched, has
 * run its leading CPU segments and needs a slot for its first BPU segment.  It holds the slot
 * until its last BPU segment has ended.  A holder is in a *gap* while its current segment is a CPU
 * segment between BPU segments.
 *
 * Overdue.  A host that shares the scheduler between processes cannot trust them to end their CPU
 * segments.  One that waits for a worker, or runs, for longer than its settings allow makes its
 * task *overdue*: it gives its slot up and no longer counts for the task limit.  When the
 * segment ends after all, the task goes on; with BPU segments before it, it is ready like one that
 * has none before, but for its own core.
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
/* CPU segments of @overdue_min_time that a task may have, whatever is expected of them. */
#define OVT_SCHED_SHORT_SEGMENTS	4u

struct ovt_sched;
struct ovt_sched_task;

enum ovt_sched_state {
	OVT_SCHED_NEW,
	OVT_SCHED_WAITING,
	OVT_SCHED_READY,
	OVT_SCHED_CPU_WAITING,
	OVT_SCHED_CPU_RUNNING,
	OVT_SCHED_BPU,		/* a job of it is on the device */
	OVT_SCHED_ENDED,
};

#define OVT_SCHED_STATE_COUNT	(OVT_SCHED_ENDED + 1u)

/*
 * What may be inserted into a gap: tasks with less BPU time than @floor, and those with less than
 * what is left of the gap's CPU segment plus @slack.
 */
struct ovt_sched_insertion {
	struct ovt_wide floor;
	struct ovt_wide slack;		/* below 2^127 */
};

/**
 * struct ovt_sched_policy - what differs between policies
 * @name: stable, as users give it
 * @compare: < 0 if @a goes before @b, > 0 if after it, 0 if arrival (or, for CPU workers, dispatch)
 *	decides; constant while a task waits
 * @insertion: tasks that may use the slot that @holder, whose gap begins, keeps.  NULL: none
 */
struct ovt_sched_policy {
	const char *name;
	int (*compare)(const struct ovt_sched_task *a, const struct ovt_sched_task *b);
	void (*insertion)(const struct ovt_sched *sched, const struct ovt_sched_task *holder,
			  struct ovt_sched_insertion *insertion);
};

/* NULL past the last.  The first is the default: priority, custom_id, and the insertion rules. */
const struct ovt_sched_policy *ovt_sched_policy_at(u32 index);
const struct ovt_sched_policy *ovt_sched_policy_find(const char *name);

/*
 * What its rules say beyond sched/settings.inc:
 *
 * @slots: of each queue on each core
 * @task_limit: of a queue
 * @workers: of a process, unless it has a number of its own
 * @threshold_percent: of the next BPU segment's time, by which an inserted task may be late
 * @overdue_min_time: a CPU segment may wait for a worker, and then run, for so long or for
 *	@overdue_factor times its estimate, whichever is longer.  0: however long it takes.  All of
 *	a task together may take twice such a limit for their sum, see ovt_sched_cpu_allowance()
 * @share: of the task limit's places keep one for each process that waits and holds none, unless
 *	the host says otherwise of it (@no_kept_place)
 */
struct ovt_sched {
	struct ovt_sched_settings settings;
	u32 core_count;
	struct ovt_tree queues;		/* to be looked at, in order */
	struct ovt_tree processes;	/* with a CPU segment for an idle worker, in order */
	struct ovt_tree overdue_next;	/* tasks with a CPU segment, by when that is overdue */
	u64 steps;			/* tree nodes and tasks looked at so far, by all calls */
	u64 next_place;
	u64 next_arrival;
	u64 next_dispatch;
	/* The host may set these after ovt_sched_init(): called for each task dispatched. */
	void (*dispatched)(void *host, struct ovt_sched_task *task);
	void *host;
	/* And this, where cores are unlike: those of a task that names none, bit core - 1. */
	u64 (*cores_of)(const struct ovt_sched_task *task);
};

/*
 * Tasks of one process below 255 that are not dispatched and want the same, best placed first.  All
 * fields are the scheduler's.
 */
struct ovt_sched_line {
	struct ovt_tree tasks;
	struct ovt_tree_node link;	/* in a tree of the queue if there are any */
};

/* What the lines of a queue's processes are sorted in, each by its first task. */
struct ovt_sched_lines {
	struct ovt_tree first_place;	/* of processes for which a place of the limit is kept */
	struct ovt_tree more;		/* of the others */
};

/* Tasks below 255 that want a slot on the same core, or on any. */
struct ovt_sched_wanting {
	struct ovt_sched_lines waiting;
	struct ovt_tree ready;		/* best placed first */
};

/* The gaps of a core's holders that the policy opens to all tasks, by limit: see sched/gap.c. */
struct ovt_sched_gaps {
	struct ovt_tree steady;
	struct ovt_tree falling;
	struct ovt_tree turns;		/* the falling ones, by when they reach their floor */
};

/* A task's gap; all fields are the scheduler's. */
struct ovt_sched_gap {
	struct ovt_tree_node link;	/* in steady or falling; in spanning without a slot */
	struct ovt_tree_node turn;	/* in turns */
	struct ovt_wide limit;		/* while it falls: plus the present time */
	struct ovt_wide floor;
	struct ovt_sched_task *holder;	/* in spanning: whose it is */
};

/* What a queue keeps of one core; all fields are the scheduler's. */
struct ovt_sched_queue_core {
	struct ovt_sched_wanting wanting;	/* this core and no other */
	struct ovt_tree spanning;	/* ready: want this core and others, which they have had */
	struct ovt_sched_gaps gaps;
	u32 holders;
};

/*
 * A library queue, embedded in the host's own; all fields are the scheduler's.  Tasks that only
 * differ in their place wait together: of such, only the first can be the next to go.
 */
struct ovt_sched_queue {
	struct ovt_sched *sched;
	struct ovt_tree_node link;	/* in a tree if something changed since none might go */
	u64 place;
	struct ovt_tree high;		/* of priority 255 */
	struct ovt_sched_lines cpu_first;	/* below: begin with a CPU segment */
	struct ovt_sched_wanting any;	/* below: want a slot on any core */
	struct ovt_sched_queue_core *cores;
	u64 cores_waiting;		/* bit k - 1: of core k @wanting.waiting is not empty */
	u64 cores_ready;		/* the same of @wanting.ready and @spanning */
	u32 dispatched;			/* tasks that count for the task limit */
	u32 places_kept;		/* processes for which a place of the task limit is kept */
};

/* What shares CPU workers, embedded in the host's own; all fields but two are the scheduler's. */
struct ovt_sched_process {
	struct ovt_tree_node link;	/* in a tree if a CPU segment may be run */
	u64 place;
	struct ovt_sched_queue *queue;
	struct ovt_tree cpu_waiting;	/* tasks, best placed first */
	u32 worker_count;		/* the host may change it before the first task arrives */
	u32 workers_busy;
	bool no_kept_place;		/* the host may set it before the first task arrives */
	struct ovt_list tasks;		/* that have arrived and are not over, holders first */
	struct ovt_sched_line cpu_first;
	struct ovt_sched_line any;
	struct ovt_sched_line *cores;
	u64 cores_waiting;		/* bit k - 1: tasks wait in the line of core k */
	u32 waiting;			/* tasks in all lines */
	u32 dispatched;			/* tasks that count for the task limit */
	bool gone;			/* being abandoned: none of its tasks goes on */
	/* For the host to read: its tasks that are not over. */
	u32 in_state[OVT_SCHED_STATE_COUNT];
	u32 overdue;			/* of these, in a CPU segment that is */
	u32 slots;			/* that they hold */
};

/*
 * What a task has that takes several cores at once: a slot on each, and a gap there.  The first
 * lines are the host's, as those of the task are.
 */
struct ovt_sched_span {
	u32 width;			/* cores, from 2 */
	struct ovt_sched_gap *gaps;	/* storage for so many */

	u64 cores;			/* bit k - 1: it has core k, once it is placed */
};

/* One segment of a task: what kind, and how long it is thought to take. */
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
	const struct ovt_sched_segment *segments;	/* of all its models, in order */
	u32 segment_count;				/* at least 1 */
	u32 priority;
	u32 core;					/* 1..core_count; 0: any */
	struct ovt_sched_span *span;			/* @core is 0; NULL: it takes one */
	s64 custom_id;
	u64 deadline;					/* for policies that look at it */

	enum ovt_sched_state state;
	u32 segment;			/* the current one */
	u32 placed_core;		/* the first; 0 until a BPU segment is submitted */
	u32 bpu_left;			/* BPU segments not over */
	bool cancelled;
	bool holds_slot;
	bool counted;			/* for the task limit */
	bool overdue;			/* its current CPU segment */
	u64 bpu_time;			/* of all its BPU segments */
	u64 arrival_sequence;
	u64 dispatch_sequence;		/* from 1; 0: not dispatched */
	u64 arrival_time;
	u64 dispatch_time;
	u64 segment_start;		/* the current CPU segment, once it runs */
	u64 overdue_time;		/* when the current CPU segment will be */
	u64 watched_since;		/* since when it waits, or runs */
	u64 cpu_allowance;		/* left for CPU segments; ~0: without end */
	struct ovt_tree_node link;	/* in the tree in which it waits */
	struct ovt_tree_node overdue_link;
	struct ovt_list of_process;
	struct ovt_sched_gap gap;
};

enum ovt_sched_action_type {
	OVT_SCHED_SUBMIT,	/* BPU segment @segment of @task as one job */
	OVT_SCHED_RUN_CPU,	/* CPU segment @segment of @task on a worker of its process */
	OVT_SCHED_CANCEL_JOB,	/* cancel the job that @task has on the device */
	OVT_SCHED_OVERDUE,	/* nothing: CPU segment @segment of @task has become overdue */
	OVT_SCHED_END,		/* @task is over; the scheduler has let go of it */
};

/**
 * struct ovt_sched_action - what the host is to do
 * @core: of SUBMIT, where to; 0: to one of @cores, which the host tells by ovt_sched_placed(), or
 *	to as many as the task takes, which it tells by ovt_sched_placed_on()
 * @cores: of SUBMIT, bit k - 1: core k may take it; at least as many as the task takes
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
 * belongs to one queue; processes that share one are in service mode.  @cores: storage, one for
 * each of the scheduler's cores, the queue's until it is removed; and @lines, the process's.
 */
void ovt_sched_add_queue(struct ovt_sched *sched, struct ovt_sched_queue *queue,
			 struct ovt_sched_queue_core *cores);
void ovt_sched_add_process(struct ovt_sched *sched, struct ovt_sched_process *process,
			   struct ovt_sched_queue *queue, struct ovt_sched_line *lines);
/* All tasks of @process are over.  A queue is removed after its processes. */
void ovt_sched_remove_process(struct ovt_sched_process *process);
void ovt_sched_remove_queue(struct ovt_sched_queue *queue);

/* Arrivals of one instant in their order. */
void ovt_sched_arrive(struct ovt_sched *sched, struct ovt_sched_task *task, u64 now);

/*
 * The job or CPU segment that runs for @task is over; @ok: as it should be, not by a fault or a
 * cancel, either of which ends the task.  True: carry out @action.
 */
bool ovt_sched_segment_ended(struct ovt_sched *sched, struct ovt_sched_task *task, bool ok,
			     u64 now, struct ovt_sched_action *action);

/*
 * A task that runs ends with the FC or CPU segment that runs, any other at once.  True: carry
 * out @action.  Cancelling twice, or a task that is over, does nothing.
 */
bool ovt_sched_cancel(struct ovt_sched *sched, struct ovt_sched_task *task,
		      struct ovt_sched_action *action);

/*
 * @process is gone, with its CPU workers: its tasks end, those that have a job on the device when
 * that has ended.  To be called until it returns false; until then nothing arrives of @process.
 * True: carry out @action.
 *
 * From the first call on none of its tasks goes on, and none that waits holds up another process;
 * tasks that hold slots end first.  So other calls may come between two of these.
 */
bool ovt_sched_abandon(struct ovt_sched *sched, struct ovt_sched_process *process,
		       struct ovt_sched_action *action);

/* What becomes overdue, then the next task that may go on now, dispatches before CPU workers. */
bool ovt_sched_next(struct ovt_sched *sched, u64 now, struct ovt_sched_action *action);

/* When ovt_sched_next() is to be called though nothing happens; ~0: never. */
u64 ovt_sched_next_time(const struct ovt_sched *sched);

/* Before any other call after a SUBMIT whose @core was 0: it went to @core, one of its cores. */
void ovt_sched_placed(struct ovt_sched *sched, struct ovt_sched_task *task, u32 core);

/* The same of a task that takes several: it went to @cores, @first of which has its first part. */
void ovt_sched_placed_on(struct ovt_sched *sched, struct ovt_sched_task *task, u32 first,
			 u64 cores);

static inline bool ovt_sched_is_high(const struct ovt_sched_task *task)
{
	return task->priority == OVT_SCHED_PRIORITY_HIGH;
}

/* A CPU segment between BPU segments. */
static inline bool ovt_sched_in_gap(const struct ovt_sched_task *task)
{
	return task->placed_core && task->bpu_left &&
	       (task->state == OVT_SCHED_CPU_WAITING || task->state == OVT_SCHED_CPU_RUNNING);
}

#endif
