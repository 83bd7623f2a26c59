/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The coordinator decides which part of which task runs next on which of several processors.
 *
 * A task is one inference of a model, a graph of units.  A run is a piece of it, neighbouring units
 * of a chain, on one processor.  A processor is a core, on which the run is one job, or a pool of
 * workers, of which one executes the run.  A task waits while it has a unit whose predecessors are
 * finished.  Expected times are smoothed records of the times of runs.  From these a policy decides
 * which waiting task has its next run dispatched, and a plan of the whole task decides to which
 * processor.
 *
 * A pure state machine, like the task scheduler (sched/sched.h): it reads no clock, allocates
 * nothing and never blocks.  All memory is the host's.  In an instant a host calls, in this order:
 *
 *	ovt_coord_run_ended()		for runs that are over, in order of dispatch
 *	ovt_coord_fail()		a processor stopped; then each of its runs ended
 *	ovt_coord_trial_due(), ovt_coord_trial_ended()
 *	ovt_coord_arrive()
 *	ovt_coord_cancel()
 *	ovt_coord_next() until it returns false
 *
 * The host carries each action out before its next call.  Between two steps of this list it can
 * also call ovt_coord_left_to_do() for the actions that ends, failures and cancels have left.
 *
 * Steps.  A call to ovt_coord_next() takes O(window x (p n^2 + p^2 n) + log tasks) steps, with p
 * processors and n units of a task, and ovt_coord.steps counts them; where deadlines come, this is
 * an average over the calls.  Tasks without a plan are kept apart until a processor goes out of use
 * or comes back; then each is looked at.
 */
#ifndef OVT_COORD_H
#define OVT_COORD_H

#include <ovt_port.h>
#include "ovt_list.h"
#include "ovt_tree.h"

#define OVT_COORD_MAX_UNITS		64u
#define OVT_COORD_MAX_PROCESSORS	64u
#define OVT_COORD_MAX_WORKERS		64u	/* workers of all pools together */
#define OVT_COORD_MAX_CLASSES		64u
#define OVT_COORD_MAX_WINDOW		64u
#define OVT_COORD_MAX_RETRIES		3u
#define OVT_COORD_PRIORITY_HIGH		255u
#define OVT_COORD_NEVER			(~0ull)

struct ovt_coord;
struct ovt_coord_task;

/* Returns the number of records of a class: room for each piece of @units units, and for all. */
static inline u32 ovt_coord_record_count(u32 units)
{
	return units * (units + 1u) / 2u + 1u;
}

/**
 * struct ovt_coord_unit - a part of a model
 * @after: bit k: unit k, which has a lower number, is a predecessor
 * @bytes: bytes of its output
 * @ops: operations, which scale a measured time
 */
struct ovt_coord_unit {
	u64 after;
	u64 bytes;
	u64 ops;
};

/* The time that a piece takes on processors of one class. */
struct ovt_coord_record {
	u64 time;
	bool recorded;		/* a run took it; else it is modelled or scaled */
};

/**
 * struct ovt_coord_model - a graph of units
 *
 * The first group is the host's, set before ovt_coord_add_model() and constant from then on.
 * @times: time of unit u on processors of class c, [u * class_count + c]; 0: the class lacks it
 * @longest: time of the longest FC of that unit, for classes of cores
 * @measured: by class, time of one run of the largest piece; 0: none.  NULL: none at all
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
	u64 supporting[OVT_COORD_MAX_UNITS];	/* classes that support each unit */
	u64 processors[OVT_COORD_MAX_UNITS];	/* processors of these classes */
	u64 successors[OVT_COORD_MAX_UNITS];
	u32 chain_count;
	u8 chain_of[OVT_COORD_MAX_UNITS];	/* by unit */
	u8 place_of[OVT_COORD_MAX_UNITS];	/* in @chain_units, by unit */
	u8 chain_units[OVT_COORD_MAX_UNITS];	/* chain by chain, in their order */
	u8 chain_begin[OVT_COORD_MAX_UNITS + 1];	/* in @chain_units */
	u16 chain_records[OVT_COORD_MAX_UNITS];	/* first record of a chain */
};

enum ovt_coord_drop {
	OVT_COORD_DROP_NEVER,
	OVT_COORD_DROP_LATE,		/* at the deadline */
	OVT_COORD_DROP_PREDICTED,	/* at the deadline, or once the plan ends behind it */
};

enum ovt_coord_status {
	OVT_COORD_UNFINISHED,
	OVT_COORD_DONE,
	OVT_COORD_FAILED,
	OVT_COORD_CANCELLED,
	OVT_COORD_DROPPED,	/* only tasks are dropped */
};

/**
 * struct ovt_coord_run - a piece of a task on one processor
 *
 * All fields except @host are the coordinator's, for the host to read.
 */
struct ovt_coord_run {
	struct ovt_coord_task *task;
	u32 number;		/* number among the task's runs, from 0 */
	u32 processor;
	u32 chain;		/* OVT_COORD_MAX_UNITS: all units of the task */
	u32 first;		/* first of its places in the chain */
	u32 last;
	u64 units;		/* a bit for each of its units */
	u64 lead;		/* time of overhead and moves, in front of its units */
	u64 expected;		/* time of lead and units, as expected at its dispatch */
	u64 due;
	u64 longest_fc;
	u64 dispatch_time;
	u64 dispatch_sequence;	/* number among the runs of all tasks, from 1 */
	u64 start_time;		/* on a pool, once a worker has it */
	bool started;		/* on a pool: a worker has it */
	bool unfinished;
	bool cancel_wanted;	/* the host has yet to get its CANCEL */
	struct ovt_list of_processor;	/* in the processor's order: running, then waiting */
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
 * @priority: 255 overtakes all others.  Only some policies use those below
 * @on: bit q: processor q may run it.  0: each processor may
 * @on_class: the class of the processors in @on: pools run the units that it lacks
 * @barred: bit q: processor q may not run it, whatever @on says
 * @deadline: absolute; OVT_COORD_NEVER: none
 * @runs: storage for unit_count runs
 * @links: storage for processor_count links under a policy that takes tasks whole, else NULL
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
	u64 dispatch_time;	/* when its first run was dispatched */
	bool dispatched;
	u32 retries;
	u32 run_count;
	u64 finished;		/* a bit for each finished unit */
	u64 running;		/* a bit for each unit in unfinished runs */
	u32 unfinished_runs;

	u64 arrival_sequence;
	u8 place[OVT_COORD_MAX_UNITS];	/* the processor of a finished or running unit */
	u8 run_of[OVT_COORD_MAX_UNITS];	/* the run of a running unit, in @runs */
	bool waiting;
	bool apart;		/* it waits, and has no plan */
	bool late;		/* it waits, its deadline has come, and it may be dropped */
	bool ending;		/* it waits no more, and ends with its last run, as @end_status */
	enum ovt_coord_status end_status;
	u64 whole;		/* processors that can run all of it, while it is in their trees */
	u32 reserved_on;
	u64 reserved;		/* time reserved on processor @reserved_on; 0: none */
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
 * @core_limit: core limit of a core, as the device has it
 * @depth: a core with fewer unfinished runs below 255 than this is idle
 * @overhead: time in front of each run
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
	u32 unfinished_below;	/* unfinished runs of tasks below 255 */
	u32 running;		/* on a pool, runs that workers have */
	u64 ratio;		/* time of runs by that of their records, in thousandths */
	u64 trial_time;		/* time of the next trial, while it is not in use */

	u64 trial_interval;
	u64 busy_since;
	u64 idle_since;
	u64 ended_executed;	/* time executed by runs that ended since @busy_since */
	u64 expected;		/* sum of the expected times of unfinished runs */
	u64 expected_high;	/* the part of it of tasks of 255 */
	u64 waiting_expected;	/* on a pool, sum of the expected times of waiting runs */
	u64 waiting_expected_high;
	u64 reserved;		/* time reserved by all tasks */
	struct ovt_list executing;	/* on a pool; in order of dispatch */
	struct ovt_list queued_high;	/* on a core: all unfinished ones; in order of dispatch */
	struct ovt_list queued_below;
	struct ovt_tree whole_tasks;	/* tasks that may go to it whole */
	u32 first_worker;	/* in the arrays of free times */
};

/* A piece of a chain on the processor on which a plan puts it. */
struct ovt_coord_piece {
	u32 chain;		/* OVT_COORD_MAX_UNITS: all units */
	u32 first;		/* first of its places in the chain */
	u32 last;
	u32 processor;
	u64 lead;
	u64 time;
};

/* A plan of a task. */
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
	u32 smoothing;		/* weight of a new record, percent, 1..100 */
	u64 retry_after;	/* time between a failure and the first trial */
};

/* The decision of a look: a run to dispatch, or a task to drop. */
struct ovt_coord_choice {
	struct ovt_coord_task *task;
	bool drop;
	struct ovt_coord_piece piece;
	struct ovt_coord_piece following;
	bool has_following;
};

/**
 * struct ovt_coord_policy - functions and properties that differ between policies
 * @name: the stable name by which users choose it
 * @compare: < 0 if @a is before @b in the queue, > 0 if behind, 0 if arrival decides; constant
 *	while a task waits
 * @key: the task of the window with the smallest key goes first; the key may depend on the latency
 *	of its plan.  NULL: the order of the queue
 * @pick: chooses what to do next with tasks below 255.  Returns false for nothing
 * @to_busy: it dispatches to busy processors, too
 * @reserves: it reserves the processor of the piece behind the one that is dispatched
 * @whole: it dispatches all units of a task as one run
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

/* The policies by index and by name; NULL past the last index.  The first is the default. */
const struct ovt_coord_policy *ovt_coord_policy_at(u32 index);
const struct ovt_coord_policy *ovt_coord_policy_find(const char *name);

/* Times by processor; those of a pool by worker. */
struct ovt_coord_free_times {
	u64 times[OVT_COORD_MAX_PROCESSORS + OVT_COORD_MAX_WORKERS];
};

/* Memory that plan.c needs, which is too large for a kernel's stack. */
struct ovt_coord_scratch {
	struct ovt_coord_free_times base;	/* times of the look, with what is counted */
	struct ovt_coord_free_times planned;	/* times with the chains planned so far */
	u64 soonest[OVT_COORD_MAX_PROCESSORS];	/* smallest time of each in @planned */
	u64 moves[OVT_COORD_MAX_PROCESSORS];	/* moves to one entry, by the entry from which */
	u64 usable[OVT_COORD_MAX_UNITS];	/* usable processors, by unit */
	u64 unit_end[OVT_COORD_MAX_UNITS];	/* planned end of each unit */
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
 * @rates: bytes per unit of time between entries a and b, [a * entry_count + b]; 0: a move costs
 *	nothing
 */
struct ovt_coord {
	struct ovt_coord_settings settings;
	struct ovt_coord_processor *processors;
	u32 processor_count;
	u32 class_count;
	u32 entry_count;
	const u64 *rates;
	u64 in_use;		/* a bit for each processor in use */
	u64 pools;		/* a bit for each pool */
	bool look_wanted;	/* something happened that may let a task go on */
	struct ovt_tree queue_high;
	struct ovt_tree queue_below;
	struct ovt_list apart;		/* tasks that wait without a plan */
	struct ovt_list ending;		/* tasks with runs to cancel, or that are over */
	struct ovt_list giving_up;	/* tasks with too many retries */
	struct ovt_tree deadlines;	/* deadlines of tasks that may be dropped */
	struct ovt_tree late;		/* such tasks whose deadline has come, by arrival */
	u64 next_arrival;
	u64 next_dispatch;
	u64 steps;
	struct ovt_coord_scratch scratch;
};

enum ovt_coord_action_type {
	OVT_COORD_DISPATCH,	/* @run goes to its processor: as a job, or to wait in a pool */
	OVT_COORD_START,	/* a worker of its pool takes @run */
	OVT_COORD_CANCEL,	/* cancel the part of @run that has not started */
	OVT_COORD_END,		/* @task is over; the coordinator refers to it no more */
};

struct ovt_coord_action {
	enum ovt_coord_action_type type;
	struct ovt_coord_run *run;
	struct ovt_coord_task *task;
};

/**
 * struct ovt_coord_end - how a run ended
 * @status: DONE, FAILED (its processor did), or CANCELLED
 * @fault: with FAILED: the program had a fault, and the task ends as failed
 * @started: a part of it was executed
 * @executed: time for which it was executed, its lead included
 */
struct ovt_coord_end {
	enum ovt_coord_status status;
	bool fault;
	bool started;
	u64 executed;
};

/* @processors, in the order of their numbers, and @rates stay the host's memory. */
void ovt_coord_init(struct ovt_coord *coord, const struct ovt_coord_settings *settings,
		    struct ovt_coord_processor *processors, u32 processor_count, u32 entry_count,
		    u32 class_count, const u64 *rates);

/* Finds the chains of @model, and sets its expected times as modelled or measured. */
void ovt_coord_add_model(struct ovt_coord *coord, struct ovt_coord_model *model);

/*
 * Finds the piece of a class with the most units, the lowest of several, and its cost by a count of
 * operations and bytes.  Returns false if the class supports no unit.
 */
bool ovt_coord_largest_piece(const struct ovt_coord *coord, const struct ovt_coord_model *model,
			     u32 class_index, u64 *units, u64 *cost);

/*
 * Sets the time that runs of the piece of @units took on processors of the class before @model was
 * added: it is a record from now on.  Called after ovt_coord_add_model().  Returns false if the
 * class has no such piece.
 */
bool ovt_coord_set_record(struct ovt_coord_model *model, u32 class_index, u64 units, u64 time);

/*
 * Returns the time that a task takes, by the records, with each unit by itself on the slowest class
 * that supports it.
 */
u64 ovt_coord_worst_expected(const struct ovt_coord *coord, const struct ovt_coord_model *model);

/* @task arrives.  Tasks that arrive in one instant are passed in their order. */
void ovt_coord_arrive(struct ovt_coord *coord, struct ovt_coord_task *task, u64 now);

/* Returns the status as which the run counts: CANCELLED if its task ends, unless it failed. */
enum ovt_coord_status ovt_coord_run_ended(struct ovt_coord *coord, struct ovt_coord_run *run,
					  const struct ovt_coord_end *end, u64 now);

/* A second cancel, or that of a task that is over, does nothing. */
void ovt_coord_cancel(struct ovt_coord *coord, struct ovt_coord_task *task);

/*
 * @processor has stopped: it is not in use from now on.  Returns true if it was in use: the host
 * then reports each run of ovt_coord_first_run() as FAILED until there is none.
 */
bool ovt_coord_fail(struct ovt_coord *coord, u32 processor, u64 now);
/* Returns the unfinished run of @processor that was dispatched first, or NULL. */
struct ovt_coord_run *ovt_coord_first_run(const struct ovt_coord *coord, u32 processor);

/* Returns whether a trial is due, and the lowest processor that has one. */
bool ovt_coord_trial_due(const struct ovt_coord *coord, u64 now, u32 *processor);
/* Returns the time of the next trial of @processors, a bit for each, or OVT_COORD_NEVER. */
u64 ovt_coord_next_trial(const struct ovt_coord *coord, u64 processors);
/* @works: @processor is in use again. */
void ovt_coord_trial_ended(struct ovt_coord *coord, u32 processor, bool works, u64 now);

/* Finds an action that is left from tasks that end: CANCEL or END. */
bool ovt_coord_left_to_do(struct ovt_coord *coord, struct ovt_coord_action *action);
/* Finds such an action, else one for a deadline, a task that may go on now, or an idle worker. */
bool ovt_coord_next(struct ovt_coord *coord, u64 now, struct ovt_coord_action *action);
/* Returns when ovt_coord_next() is to be called though nothing happens; OVT_COORD_NEVER: never. */
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
