/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The coordinator: which part of which task runs next on which of several processors.
 *
 * A task is one inference of a model, a graph of units.  A run is a piece of it, neighbouring units
 * of a chain, on one processor: a core, on which it is one job, or a pool of workers, of which one
 * executes it.  A task waits while it has a unit whose predecessors are finished.  A policy decides
 * from expected times, which are smoothed records of what runs took, which waiting task has its
 * next run dispatched, and a plan of the whole task decides where that goes.
 *
 * A pure state machine, like the task scheduler (sched/sched.h): it reads no clock, allocates
 * nothing and never blocks.  All memory is the host's.  A host's instant, in this order:
 *
 *	ovt_coord_run_ended()		what is over, the one dispatched first before the others
 *	ovt_coord_fail()		a processor stopped; then its runs ended, each
 *	ovt_coord_trial_due(), ovt_coord_trial_ended()
 *	ovt_coord_arrive()
 *	ovt_coord_cancel()
 *	ovt_coord_next() until it returns false
 *
 * The host carries each action out before its next call.  The actions that ends, failures and
 * cancels leave to do it also gets from ovt_coord_left_to_do(), between two steps of this list.
 *
 * Steps.  A call to ovt_coord_next() takes O(window x (p n^2 + p^2 n) + log tasks) steps, with p
 * processors and n units of a task, and ovt_coord.steps counts them; where deadlines come, on
 * average over the calls.  Tasks without a plan stand apart until a processor goes out of use or
 * comes back, when each is looked at.
 */
#ifndef OVT_COORD_H
#define OVT_COORD_H

#include <ovt_port.h>
#include "ovt_list.h"
#include "ovt_tree.h"

#define OVT_COORD_MAX_UNITS		64u
#define OVT_COORD_MAX_PROCESSORS	64u
#define OVT_COORD_MAX_WORKERS		64u	/* of all pools together */
#define OVT_COORD_MAX_CLASSES		64u
#define OVT_COORD_MAX_WINDOW		64u
#define OVT_COORD_MAX_RETRIES		3u
#define OVT_COORD_PRIORITY_HIGH		255u
#define OVT_COORD_NEVER			(~0ull)

struct ovt_coord;
struct ovt_coord_task;

/* Records of @units units for each class: one of each piece, and one of all units. */
static inline u32 ovt_coord_record_count(u32 units)
{
	return units * (units + 1u) / 2u + 1u;
}

/**
 * struct ovt_coord_unit - a part of a model
 * @after: bit k: unit k, a lower one, is a predecessor
 * @bytes: of its output
 * @ops: operations, which scale a measured time
 */
struct ovt_coord_unit {
	u64 after;
	u64 bytes;
	u64 ops;
};

/* What a piece takes on processors of one class. */
struct ovt_coord_record {
	u64 time;
	bool recorded;		/* a run's; else modelled or scaled */
};

/**
 * struct ovt_coord_model - a graph of units
 *
 * The first group is the host's, set before ovt_coord_add_model() and constant from then on.
 * @times: of unit u on processors of class c, [u * class_count + c]; 0: the class lacks it
 * @longest: the longest FC of the same, for classes of cores
 * @measured: by class, one run of the largest piece; 0: none.  NULL: none at all
 * @records: class_count * ovt_coord_record_count(unit_count)
 */
struct ovt_coord_model {
	const struct ovt_coord_unit *units;
	u32 unit_count;
	u64 input_bytes;
	const u64 *times;
	const u64 *longest;
	const u64 *measured;
	struct ovt_coord_record *records;

	/* The coordinator's. */
	u64 supporting[OVT_COORD_MAX_UNITS];	/* classes of each unit */
	u64 processors[OVT_COORD_MAX_UNITS];	/* of these classes */
	u64 successors[OVT_COORD_MAX_UNITS];
	u32 chain_count;
	u8 chain_of[OVT_COORD_MAX_UNITS];	/* by unit */
	u8 place_of[OVT_COORD_MAX_UNITS];	/* in @chain_units, by unit */
	u8 chain_units[OVT_COORD_MAX_UNITS];	/* chain by chain, in their order */
	u8 chain_begin[OVT_COORD_MAX_UNITS + 1];	/* in @chain_units */
	u16 chain_records[OVT_COORD_MAX_UNITS];	/* its first one */
};

enum ovt_coord_drop {
	OVT_COORD_DROP_NEVER,
	OVT_COORD_DROP_LATE,		/* at the deadline */
	OVT_COORD_DROP_PREDICTED,	/* or once the plan ends behind it */
};

enum ovt_coord_status {
	OVT_COORD_UNFINISHED,
	OVT_COORD_DONE,
	OVT_COORD_FAILED,
	OVT_COORD_CANCELLED,
	OVT_COORD_DROPPED,	/* of tasks alone */
};

/**
 * struct ovt_coord_run - a piece of a task on one processor
 *
 * All fields are the coordinator's, for the host to read, but @host.
 */
struct ovt_coord_run {
	struct ovt_coord_task *task;
	u32 number;		/* of the task's runs, from 0 */
	u32 processor;
	u32 chain;		/* OVT_COORD_MAX_UNITS: all units of the task */
	u32 first;		/* of its places in the chain */
	u32 last;
	u64 units;		/* one bit each */
	u64 lead;		/* overhead and moves, in front of its units */
	u64 expected;		/* lead and units, when it was dispatched */
	u64 due;
	u64 longest_fc;
	u64 dispatch_time;
	u64 dispatch_sequence;	/* of all runs, from 1 */
	u64 start_time;		/* on a pool, once a worker has it */
	bool started;		/* on a pool: a worker has it */
	bool unfinished;
	bool cancel_wanted;	/* the host has yet to hear of it */
	struct ovt_list of_processor;	/* in its order: running, then waiting */
	struct ovt_list of_task;
	void *host;
};

/* A task's place in the queue of one processor. */
struct ovt_coord_link {
	struct ovt_tree_node node;
	struct ovt_coord_task *task;
};

/**
 * struct ovt_coord_task - an inference
 *
 * The first group is the host's: set before ovt_coord_arrive(), constant until the task has ended.
 * @priority: 255 overtakes all others.  Those below matter to some policies alone
 * @on: bit q: processor q may run it.  0: each may
 * @on_class: the class that @on names: pools run the units that it lacks
 * @barred: bit q: processor q may not run it, whatever @on says
 * @deadline: absolute; OVT_COORD_NEVER: none
 * @runs: unit_count of them
 * @links: processor_count of them under a policy that takes tasks whole, else NULL
 */
struct ovt_coord_task {
	struct ovt_coord_model *model;
	u32 priority;
	s64 custom_id;
	u64 on;
	u32 on_class;
	u64 barred;
	u64 deadline;
	struct ovt_coord_run *runs;
	struct ovt_coord_link *links;

	/* The coordinator's, for the host to read. */
	enum ovt_coord_status status;
	u64 arrival_time;
	u64 dispatch_time;	/* of its first run */
	bool dispatched;
	u32 retries;
	u32 run_count;
	u64 finished;		/* units */
	u64 running;		/* units in unfinished runs */
	u32 unfinished_runs;

	u64 arrival_sequence;
	u8 place[OVT_COORD_MAX_UNITS];	/* the processor of a finished or running unit */
	u8 run_of[OVT_COORD_MAX_UNITS];	/* of a running unit, in @runs */
	bool waiting;
	bool apart;		/* it waits, and has no plan */
	bool late;		/* it waits, its deadline has come, and it may be dropped */
	bool ending;		/* it waits no more, and ends with its last run, as @end_status */
	enum ovt_coord_status end_status;
	u64 whole;		/* processors that can run all of it, while it is in their trees */
	u32 reserved_on;
	u64 reserved;		/* on that one; 0: nothing */
	struct ovt_list unfinished;	/* runs, in order of dispatch */
	struct ovt_list in_list;	/* apart, or ending */
	struct ovt_list in_giving_up;
	struct ovt_tree_node in_queue;
	struct ovt_tree_node in_deadlines;
};

/**
 * struct ovt_coord_processor - a core or a pool
 *
 * The first group is the host's, set before ovt_coord_init().
 * @class: processors of one class take the same time for a unit, and are all cores or all pools
 * @entry: moves between processors of one entry cost nothing
 * @workers: 0: a core
 * @core_limit: of a core, as the device has it
 * @depth: below so many unfinished runs below 255 a core is idle
 * @overhead: in front of each run
 */
struct ovt_coord_processor {
	u32 class_index;
	u32 entry;
	u32 workers;
	u64 core_limit;
	u32 depth;
	u64 overhead;

	/* The coordinator's, for the host to read. */
	bool in_use;
	u32 unfinished;
	u32 unfinished_below;	/* of these, of tasks below 255 */
	u32 running;		/* on a pool, those that workers have */
	u64 ratio;		/* thousandths: how long runs take by their records */
	u64 trial_time;		/* while it is not in use */

	u64 trial_interval;
	u64 busy_since;
	u64 idle_since;
	u64 ended_executed;	/* by runs that have ended since @busy_since */
	u64 expected;		/* sum of the unfinished runs' */
	u64 expected_high;	/* of those of 255 */
	u64 waiting_expected;	/* on a pool, sum of the waiting runs' */
	u64 waiting_expected_high;
	u64 reserved;		/* by all tasks */
	struct ovt_list executing;	/* on a pool; in order of dispatch */
	struct ovt_list queued_high;	/* on a core: all unfinished ones; in order of dispatch */
	struct ovt_list queued_below;
	struct ovt_tree whole_tasks;	/* that may go to it whole */
	u32 first_worker;	/* in the arrays of free times */
};

/* A piece of a chain where a plan has it. */
struct ovt_coord_piece {
	u32 chain;		/* OVT_COORD_MAX_UNITS: all units */
	u32 first;		/* of its places in the chain */
	u32 last;
	u32 processor;
	u64 lead;
	u64 time;
};

/* What a plan says of a task. */
struct ovt_coord_plan {
	u64 latency;
	bool has_next;
	struct ovt_coord_piece next;	/* the run to dispatch */
	bool has_following;
	struct ovt_coord_piece following;	/* behind it in its chain */
};

struct ovt_coord_settings {
	const struct ovt_coord_policy *policy;
	u32 window;		/* tasks that a look plans, 1..OVT_COORD_MAX_WINDOW */
	enum ovt_coord_drop drop;
	u32 smoothing;		/* percent of a new record, 1..100 */
	u64 retry_after;	/* between a failure and the first trial */
};

/* What a look decides: a run, or a task to drop. */
struct ovt_coord_choice {
	struct ovt_coord_task *task;
	bool drop;
	struct ovt_coord_piece piece;
	struct ovt_coord_piece following;
	bool has_following;
};

/**
 * struct ovt_coord_policy - what differs between policies
 * @name: stable, as users give it
 * @compare: < 0 if @a stands before @b in the queue, > 0 behind, 0 if arrival decides; constant
 *	while a task waits
 * @key: of tasks of the window the one with the smallest goes first, by the latency of a plan.
 *	NULL: as in the queue
 * @pick: what to do next with tasks below 255.  False: nothing
 * @to_busy: dispatches to processors that are busy, too
 * @reserves: keeps the processor of the piece behind the one that is dispatched
 * @whole: dispatches all units of a task as one run
 */
struct ovt_coord_policy {
	const char *name;
	int (*compare)(const struct ovt_coord_task *a, const struct ovt_coord_task *b);
	s64 (*key)(const struct ovt_coord_task *task, u64 latency, u64 now);
	bool (*pick)(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice);
	bool to_busy;
	bool reserves;
	bool whole;
};

/* NULL past the last.  The first is the default. */
const struct ovt_coord_policy *ovt_coord_policy_at(u32 index);
const struct ovt_coord_policy *ovt_coord_policy_find(const char *name);

/* Times by processor, and those of a pool by worker. */
struct ovt_coord_free_times {
	u64 times[OVT_COORD_MAX_PROCESSORS + OVT_COORD_MAX_WORKERS];
};

/* What plan.c needs of memory; too much for a kernel's stack. */
struct ovt_coord_scratch {
	struct ovt_coord_free_times base;	/* of the look, with what is counted */
	struct ovt_coord_free_times planned;	/* with the chains planned so far */
	u64 soonest[OVT_COORD_MAX_PROCESSORS];	/* smallest of each in @planned */
	u64 moves[OVT_COORD_MAX_PROCESSORS];	/* to one entry, by that from which */
	u64 usable[OVT_COORD_MAX_UNITS];	/* processors, by unit */
	u64 unit_end[OVT_COORD_MAX_UNITS];	/* planned */
	u8 unit_place[OVT_COORD_MAX_UNITS];
	u64 ends[OVT_COORD_MAX_UNITS][OVT_COORD_MAX_PROCESSORS];	/* f(j, q) */
	u64 begins[OVT_COORD_MAX_UNITS][OVT_COORD_MAX_PROCESSORS];	/* g(i, q) */
	u8 first_of[OVT_COORD_MAX_UNITS][OVT_COORD_MAX_PROCESSORS];	/* i of f(j, q) */
	u8 before_of[OVT_COORD_MAX_UNITS][OVT_COORD_MAX_PROCESSORS];	/* p of g(i, q) */
	struct ovt_coord_task *window[OVT_COORD_MAX_WINDOW];
	s64 keys[OVT_COORD_MAX_WINDOW];
};

/**
 * struct ovt_coord - several processors and the tasks for them
 *
 * @rates: bytes per unit of time between two entries, [a * entry_count + b]; 0: a move costs
 *	nothing
 */
struct ovt_coord {
	struct ovt_coord_settings settings;
	struct ovt_coord_processor *processors;
	u32 processor_count;
	u32 class_count;
	u32 entry_count;
	const u64 *rates;
	u64 in_use;		/* processors */
	u64 pools;
	bool look_wanted;	/* something happened that may let a task go on */
	struct ovt_tree queue_high;
	struct ovt_tree queue_below;
	struct ovt_list apart;		/* tasks that wait without a plan */
	struct ovt_list ending;		/* tasks with runs to cancel, or that are over */
	struct ovt_list giving_up;	/* tasks with too many retries */
	struct ovt_tree deadlines;	/* of tasks that may be dropped */
	struct ovt_tree late;		/* of these, those whose deadline has come, by arrival */
	u64 next_arrival;
	u64 next_dispatch;
	u64 steps;
	struct ovt_coord_scratch scratch;
};

enum ovt_coord_action_type {
	OVT_COORD_DISPATCH,	/* @run to its processor: to a core as a job, to a pool to wait */
	OVT_COORD_START,	/* a worker of its pool takes @run */
	OVT_COORD_CANCEL,	/* what has not started of @run ends */
	OVT_COORD_END,		/* @task is over; the coordinator has let go of it */
};

struct ovt_coord_action {
	enum ovt_coord_action_type type;
	struct ovt_coord_run *run;
	struct ovt_coord_task *task;
};

/**
 * struct ovt_coord_end - how a run ended
 * @status: DONE, FAILED (of its processor), or CANCELLED
 * @fault: of the program: the task ends, failed.  With FAILED
 * @started: some of it was executed
 * @executed: for so long, its lead included
 */
struct ovt_coord_end {
	enum ovt_coord_status status;
	bool fault;
	bool started;
	u64 executed;
};

/* @processors in the order in which they count, and @rates, stay the host's memory. */
void ovt_coord_init(struct ovt_coord *coord, const struct ovt_coord_settings *settings,
		    struct ovt_coord_processor *processors, u32 processor_count, u32 entry_count,
		    u32 class_count, const u64 *rates);

/* Its chains, and its expected times as modelled. */
void ovt_coord_add_model(struct ovt_coord *coord, struct ovt_coord_model *model);

/*
 * The piece of a class with the most units, the lowest of several, and what an operation-and-byte
 * count says of it.  False: the class supports no unit.
 */
bool ovt_coord_largest_piece(const struct ovt_coord *coord, const struct ovt_coord_model *model,
			     u32 class_index, u64 *units, u64 *cost);

/*
 * What runs of the piece of @units took on processors of the class before @model was added: it is
 * a record from now on.  After ovt_coord_add_model().  False: the class has no such piece.
 */
bool ovt_coord_set_record(struct ovt_coord_model *model, u32 class_index, u64 units, u64 time);

/*
 * What a task takes at most, each unit by itself on the slowest class that supports it, by the
 * records.
 */
u64 ovt_coord_worst_expected(const struct ovt_coord *coord, const struct ovt_coord_model *model);

/* Arrivals of one instant in their order. */
void ovt_coord_arrive(struct ovt_coord *coord, struct ovt_coord_task *task, u64 now);

/* Returns what the run is counted as: of a task that ends, CANCELLED, unless it failed. */
enum ovt_coord_status ovt_coord_run_ended(struct ovt_coord *coord, struct ovt_coord_run *run,
					  const struct ovt_coord_end *end, u64 now);

/* Cancelling twice, or a task that is over, does nothing. */
void ovt_coord_cancel(struct ovt_coord *coord, struct ovt_coord_task *task);

/*
 * @processor has stopped: it is not in use from now on.  True: it was, and the host reports each of
 * ovt_coord_first_run() as FAILED until there is none.
 */
bool ovt_coord_fail(struct ovt_coord *coord, u32 processor, u64 now);
/* The unfinished run of a processor that was dispatched first; NULL: none. */
struct ovt_coord_run *ovt_coord_first_run(const struct ovt_coord *coord, u32 processor);

/* Whether a trial of a processor is due, and of which: the lowest. */
bool ovt_coord_trial_due(const struct ovt_coord *coord, u64 now, u32 *processor);
/* When the next of one of @processors is, one bit each; OVT_COORD_NEVER: none is out of use. */
u64 ovt_coord_next_trial(const struct ovt_coord *coord, u64 processors);
/* @works: it is in use again. */
void ovt_coord_trial_ended(struct ovt_coord *coord, u32 processor, bool works, u64 now);

/* What tasks that end leave to do: CANCEL and END alone. */
bool ovt_coord_left_to_do(struct ovt_coord *coord, struct ovt_coord_action *action);
/* That, then deadlines, then what may go on now, then what idle workers take. */
bool ovt_coord_next(struct ovt_coord *coord, u64 now, struct ovt_coord_action *action);
/* When ovt_coord_next() is to be called though nothing happens; OVT_COORD_NEVER: never. */
u64 ovt_coord_next_deadline(const struct ovt_coord *coord);

static inline bool ovt_coord_is_high(const struct ovt_coord_task *task)
{
	return task->priority == OVT_COORD_PRIORITY_HIGH;
}

static inline bool ovt_coord_is_pool(const struct ovt_coord_processor *processor)
{
	return processor->workers != 0;
}

#endif
