/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The firmware: it places jobs on cores, keeps the rings filled, starts FCs at the right
 * instant and reports events to the host.
 *
 * A pure state machine.  It reads no clock, allocates nothing and never blocks; the host
 * holds one lock around every call except ovt_core_step(), passes time in, and carries
 * the events out.  Device time is in nanoseconds.
 *
 * Life of an FC in a host:
 *
 *	lock
 *	ovt_fw_submit(fw, job, now)		command queue, stamped
 *	ovt_fw_advance(fw, now)			placement, ring, choice; events
 *	while (ovt_fw_pop_event(fw, &event))	STARTED: wake the core's thread
 *	unlock
 *	... the core's thread: while (ovt_core_step(core, budget) == OVT_STEP_MORE) resched
 *	lock
 *	ovt_fw_executed(fw, core, now)		nothing left to execute
 *	ovt_fw_advance(fw, now)			retires it now (functional) or at its modelled end
 *	timer = ovt_fw_next(fw)			call ovt_fw_advance() again then
 *	unlock
 *
 * Time.  An instant is processed in the order: FCs end; stages of groups open and windows of quotas
 * end; commands in queue order; idle cores choose, lowest first.  Instants are processed in order
 * of device time, never one later than the horizon passed in, and never one that depends on what a
 * core has not yet executed.  So the timeline of the timed modes does not depend on the times of
 * the host's calls.  With an ordinary clock the horizon is now; a host whose clock is stepped by
 * hand passes the last instant before now, so that several arrivals of one instant are all seen
 * before a choice.
 *
 * Host time.  A host that needs longer for an FC than the model says falls behind: device time
 * stops before the end of the FC that still executes, while clients go on.  Their commands
 * must not wait for that.  So once the timeline is more than lag_max_ns behind the horizon,
 * a command is taken at once, as of the last instant that is settled, whatever its stamp: cancels,
 * kills, resets and holds act in host time, and a job arrives at that settled instant.  Commands
 * keep their order, and each instant keeps the order above.  The result is exactly what the rules
 * give for the instants as of which the commands were taken.  Once the timeline is stretch_max_ns
 * behind, it no longer waits for an FC that executes: the FC ends when it has been executed, later
 * than its model says, which is counted.  Other cores go on.  A host that keeps up reaches neither
 * bound.
 */
#ifndef OVT_FW_H
#define OVT_FW_H

#include <ovt_port.h>
#include "hw/core.h"
#include "ovt_list.h"
#include "ovt_tree.h"

#define OVT_MAX_CORES		64u
#define OVT_CORE_ANY		0u
#define OVT_PRIORITY_HIGH	255u
#define OVT_QUOTA_WINDOW_NS	1000000000ull

/* A range of a program; the layout of struct overtake_fc. */
struct ovt_fc {
	u32 first_insn;
	u32 insn_count;
};

/* A context's turn on a core of a fair device: see fw/fair.c. */
struct ovt_fw_turn {
	struct ovt_list circle_link;	/* in the core's circle while it has a ready FC */
	struct ovt_list parts;		/* NORMAL parts, not of groups, with FCs not taken */
	struct ovt_tree ready;		/* NORMAL parts of groups whose next FC is ready */
	u64 waiting;			/* NORMAL FCs that were not taken, held ones included */
	u32 allowance;			/* FCs left of the turn; 0: the turn has not begun */
};

/* How much of its quota a context has used: see fw/quota.c.  The host may read it. */
struct ovt_fw_quota {
	struct ovt_list window;		/* in the firmware's windows while its window is open */
	u64 end_ns;			/* end of the window */
	u64 used_ns;			/* time that counts in the window, or will in the next */
	u64 rests;			/* how often a rest of the context began */
	bool resting;			/* its turns are in no circle */
};

/* A client's queue, embedded in the host's own struct; all fields are the firmware's. */
struct ovt_fw_context {
	struct ovt_list jobs;
	struct ovt_fw_turn *turns;	/* one for each core; NULL if the device is not fair */
	struct ovt_fw_quota quota;
	u32 killed;			/* enum ovt_context_killed; 0: it lives */
};

enum ovt_context_killed {
	OVT_CONTEXT_KILLED = 1,		/* it has jobs left */
	OVT_CONTEXT_GONE,		/* the KILLED event was reported, once */
};

enum ovt_job_state { OVT_JOB_NEW, OVT_JOB_QUEUED, OVT_JOB_ENDED };

/* How a job ended. */
enum ovt_job_status {
	OVT_JOB_OK,
	OVT_JOB_CANCELLED,	/* by CANCEL or KILL_CONTEXT */
	OVT_JOB_FAULTED,	/* by the fault in @fault of the job */
	OVT_JOB_HUNG,		/* watchdog, or the clock of an FC */
	OVT_JOB_RESET,		/* its FC was running when the core was reset */
	OVT_JOB_STOPPED,	/* cancelled, and its FC stopped in the middle: ovt_fw_stop() */
};

/**
 * struct ovt_fw_part - the part of a job that one core executes
 *
 * The first lines of a part of a group are the host's, like those of the job.  The rest is the
 * firmware's; the host may read it when it may read the job.
 */
struct ovt_fw_part {
	const struct ovt_fc *fcs;
	const u32 *stages;		/* stage of each FC, ascending; NULL: in no group */
	u32 fc_count;
	u32 core;			/* the core asked for: OVT_CORE_ANY or 1..cores */

	struct ovt_fw_job *job;
	u32 placed_core;
	u32 queued;			/* FCs that entered the ring */
	u32 started;			/* FCs started */
	u32 preemptions;
	u32 overtaken;			/* PREEMPTED was reported since its last FC */
	bool deferred;			/* its FCs get their positions when they are taken */
	u64 first_position;		/* unused if deferred, or NORMAL on a fair device */
	u64 high_before;		/* HIGH FCs its core had run when its last FC began */
	u32 done;			/* FCs ended; for groups only, as @end_ns to @stage_ns */
	u64 start_ns;			/* start of its first FC */
	u64 end_ns;			/* end of the last FC that ran */
	u64 executed_ns;
	u64 stage_ns;			/* time that it took in the group's current stage */
	struct ovt_list ring_link;	/* parts in a core's ring with FCs to start, in order */
	struct ovt_tree_node ready;	/* NORMAL, in a group: while its next FC is ready */
};

/**
 * struct ovt_fw_group - a job with a part for each of several cores
 *
 * Its parts enter their rings together and go through numbered stages together: see fw/group.c.
 * The first lines are the host's, set before SUBMIT and constant until the ENDED event; so are the
 * arrays.
 */
struct ovt_fw_group {
	struct ovt_fw_part *parts;	/* on different cores: all name one, or none does */
	const u32 *stage_fcs;		/* FCs of each stage, of all parts together; at least 1 */
	u32 part_count;			/* 1..cores */
	u32 stage_count;

	u32 stage;			/* the first stage that has not ended */
	u32 left;			/* FCs of @stage that have not ended */
	u32 open;			/* the last stage that is open for all parts */
	struct ovt_fw_part *ahead;	/* part for which @stage opened before others; or NULL */
	struct ovt_fw_part *worker;	/* part of the first FC that ended in @stage; or NULL */
	bool shared;			/* FCs of other parts have ended in @stage, too */
	u64 opens_ns;			/* when @stage opens for the others */
	u64 alone_ns;			/* time without other work, up to the last ended stage */
	struct ovt_list opening;	/* in the firmware's openings until @opens_ns */
};

/**
 * struct ovt_fw_job - a job, embedded in the host's own
 *
 * The first group is the host's: set before SUBMIT, constant until the ENDED event.  The
 * second is the firmware's; the host may read it at the ENDED event and after, when the
 * firmware has let go of the job.
 */
struct ovt_fw_job {
	struct ovt_fw_context *context;
	const struct ovt_fc *fcs;
	u32 fc_count;			/* in a group: FCs of all parts together */
	u32 core;			/* the core asked for: OVT_CORE_ANY or 1..cores */
	struct ovt_fw_group *group;	/* in place of @fcs and @core; NULL: it is no group */
	u32 priority;
	bool keeps_slot;		/* the host keeps the slot of SUBMIT, for the next job */
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];

	enum ovt_job_state state;
	enum ovt_job_status status;
	u32 placed_core;		/* core of the first part; 0 until placed */
	u32 started;			/* FCs started */
	u32 done;			/* FCs ended */
	u32 running;			/* FCs that run */
	u32 preemptions;
	u32 cancelled;
	u32 fault;
	u32 fault_insn;
	u64 stop_ns;			/* see ovt_fw_stop(); 0 = never */
	u64 sequence;
	u64 arrival_ns;
	u64 start_ns;			/* start of its first FC */
	u64 end_ns;
	u64 executed_ns;
	struct ovt_list context_link;
	struct ovt_fw_part part;	/* unused in a group */
};

enum ovt_command_type {
	OVT_COMMAND_SUBMIT,
	OVT_COMMAND_CANCEL,
	OVT_COMMAND_KILL_CONTEXT,
	OVT_COMMAND_RESET,
	OVT_COMMAND_LIMIT,
	OVT_COMMAND_NORMAL_FLOOR,
	OVT_COMMAND_HOLD,
	OVT_COMMAND_RELEASE,
};

struct ovt_command {
	enum ovt_command_type type;
	u32 core;			/* RESET, LIMIT, NORMAL_FLOOR: from 1 */
	u32 limit;			/* LIMIT: the core limit; NORMAL_FLOOR: the floor */
	u64 time_ns;			/* no earlier than that of the command before it */
	void *object;			/* job or context */
};

enum ovt_event_type {
	OVT_EVENT_ARRIVED,		/* job placed on @core; @fc_index FCs entered @ring */
	OVT_EVENT_STARTED,		/* FC started: wake the core's thread */
	OVT_EVENT_PREEMPTED,		/* a HIGH FC starts between two FCs of NORMAL @job; fair: */
					/* @job is only the job whose NORMAL FC was the last */
	OVT_EVENT_DONE,			/* FC ended */
	OVT_EVENT_FAULT,		/* FC ended by a fault; @job ends */
	OVT_EVENT_HUNG,			/* FC ended by the watchdog or its clock; @job ends */
	OVT_EVENT_ENDED,		/* job over; only a CANCEL in the queue refers to it */
	OVT_EVENT_CANCELLED,		/* a CANCEL of @job was consumed, in time or not */
	OVT_EVENT_KILLED,		/* KILL_CONTEXT is finished: no job of @context is left */
};

struct ovt_event {
	enum ovt_event_type type;
	u32 core;			/* from 1; 0 if never placed */
	u32 ring;			/* enum ovt_ring_index */
	u32 fc_index;
	u64 time_ns;
	u64 duration_ns;		/* DONE, FAULT, HUNG: how long the FC took */
	u32 fault;			/* FAULT, HUNG: the FC's fault; the job keeps the first */
	struct ovt_fw_job *job;
	const struct ovt_fw_part *part;	/* part that has FC @fc_index; NULL: about no FC */
	struct ovt_fw_job *by;		/* PREEMPTED: the job whose HIGH FC starts */
	struct ovt_fw_context *context;	/* KILLED */
	bool resumes;			/* STARTED: @job goes on after PREEMPTED */
};

/**
 * struct ovt_fw_config - settings that the host chooses
 * @profile: profile of each core to which ovt_core_set_profile() gives no other; outlives the cores
 * @mode: how cores spend an FC's time
 * @core_count: 1..OVT_MAX_CORES
 * @fair: contexts take turns with NORMAL jobs; each then needs ovt_fw_context_take_turns()
 * @quota_ns: time of each second for which a context may hold cores with NORMAL jobs; 0: any.
 *	Less than OVT_QUOTA_WINDOW_NS; 0 if not @fair
 * @watchdog_cycles: cycles that one FC may execute on each core to which @profile applies
 * @clock: time of the host that one FC may take
 * @lag_max_ns: how far the timeline may fall behind the horizon before commands overtake it; 0 for
 *	a host whose clock waits for the device: commands never overtake
 * @stretch_max_ns: how far the timeline may fall behind before an FC that still executes is taken
 *	to last longer than its model says; 0: never
 * @cores: storage for @core_count cores
 * @core_states: storage for @core_count firmware cores
 * @commands: storage, @command_count entries, a power of two
 * @events: storage, @event_count entries, a power of two, at least 16
 */
struct ovt_fw_config {
	const struct ovt_profile *profile;
	enum ovt_mode mode;
	u32 core_count;
	bool fair;
	u64 quota_ns;
	u64 watchdog_cycles;
	struct ovt_clock clock;
	u64 lag_max_ns;
	u64 stretch_max_ns;
	struct ovt_core *cores;
	struct ovt_fw_core *core_states;
	struct ovt_command *commands;
	u32 command_count;
	struct ovt_event *events;
	u32 event_count;
};

/* The firmware's view of a core. */
struct ovt_fw_core {
	struct ovt_list parts[OVT_RING_COUNT];	/* parts with FCs that have not started */
	struct ovt_list *refill[OVT_RING_COUNT]; /* first of @parts with FCs not in the ring */
	struct ovt_list circle;			/* fair: turns of contexts with ready FCs */
	struct ovt_tree ready;			/* deferred parts of groups, next FC ready */
	u32 deferred;				/* deferred parts with FCs not taken yet */
	u32 held;				/* NORMAL parts with FCs whose stage is not open */
	u64 batch_sequence;			/* committed: all FCs of deferred parts before */
	u32 batch_index;			/* this arrival, and so many first ones of it */
	u64 next_position[OVT_RING_COUNT];
	u64 waiting[OVT_RING_COUNT];		/* FCs arrived, not started, not dropped */
	u64 unfinished;				/* FCs running, and all of @waiting */
	u64 submitted;				/* FCs of jobs for this core in the command queue */
	u64 resting;				/* FCs of @unfinished held back by quotas */
	u32 executed;				/* the running FC has nothing left to execute */
	u64 start_ns;
	u64 end_ns;				/* OVT_TIME_NEVER until known */
	u64 preemptions;			/* PREEMPTED events */
	u64 faults;
	u64 resets;
	struct ovt_fw_part *running;
	struct ovt_fw_part *last_normal;	/* last NORMAL part started; NULL: no FC left */
};

struct ovt_fw {
	struct ovt_fw_config config;
	u64 now_ns;				/* instant being, or last, processed */
	u64 next_sequence;
	u32 command_head, command_tail, commands_reserved;
	u32 event_head, event_tail;
	u64 lag_ns;				/* longest lag with a command taken early */
	u64 lagged_commands;			/* commands that were taken early */
	u64 stretched_fcs;			/* FCs that took longer than their model says */
	u64 stretched_ns;			/* sum of the times beyond their model */
	struct ovt_list windows;		/* contexts with an open quota window, by its end */
	struct ovt_list openings;		/* groups with a stage that opens, by that time */
	bool choose;				/* an idle core may have work at now_ns */
	bool held;				/* between HOLD and RELEASE */
};

void ovt_fw_init(struct ovt_fw *fw, const struct ovt_fw_config *config);
void ovt_fw_context_init(struct ovt_fw_context *context);

/*
 * Gives a context of a fair device its turns: @turns is storage for @core_count of them, which
 * belongs to the firmware until the KILLED event.
 */
void ovt_fw_context_take_turns(struct ovt_fw_context *context, struct ovt_fw_turn *turns,
			       u32 core_count);

/*
 * A host reserves slots of the command queue before it accepts a request: 2 for a job (SUBMIT
 * and one CANCEL), 1 for a context (KILL_CONTEXT), and 1 for each other command.
 * A command gives its slot back when it is consumed, unless its job keeps it.  For a job that ends
 * uncancelled, the host gives back the slot of CANCEL through ovt_fw_unreserve().  Returns false
 * if too few slots are free; then nothing has changed.
 */
bool ovt_fw_reserve(struct ovt_fw *fw, u32 slots);
void ovt_fw_unreserve(struct ovt_fw *fw, u32 slots);

/*
 * These queue a command for which a slot is reserved.  @now_ns is the host's clock and does not run
 * backwards.  A command whose stamp is earlier than the last processed instant is taken as of that
 * instant.  A host calls ovt_fw_cancel() at most once for each job: the command refers to the job
 * until its CANCELLED event, which may come after ENDED, so the host holds a reference for it.
 */
void ovt_fw_submit(struct ovt_fw *fw, struct ovt_fw_job *job, u64 now_ns);
void ovt_fw_cancel(struct ovt_fw *fw, struct ovt_fw_job *job, u64 now_ns);
void ovt_fw_kill_context(struct ovt_fw *fw, struct ovt_fw_context *context, u64 now_ns);
void ovt_fw_reset(struct ovt_fw *fw, u32 core, u64 now_ns);
void ovt_fw_limit(struct ovt_fw *fw, u32 core, u32 limit, u64 now_ns);
void ovt_fw_normal_floor(struct ovt_fw *fw, u32 core, u32 floor, u64 now_ns);

/*
 * ovt_fw_stop - an FC of @job that executes at @stop_ns, or starts later, is to be stopped
 *
 * A host adds this call to a CANCEL, which by itself lets the running FC of the job end normally:
 * the call bounds the time until then.  @stop_ns, not 0, is host time, as ovt_core_watch() gets it.
 * The job ends with OVT_JOB_STOPPED, unless its FC has nothing left to execute: then nothing
 * changes.  Allowed from SUBMIT to ENDED; a later @stop_ns than an earlier call's has no effect.
 */
void ovt_fw_stop(struct ovt_fw *fw, struct ovt_fw_job *job, u64 stop_ns);

/*
 * Between HOLD and RELEASE no FC starts.  Running FCs end, and jobs arrive and are cancelled.  The
 * first choices after the HOLD are made at RELEASE's instant.
 */
void ovt_fw_hold(struct ovt_fw *fw, u64 now_ns);
void ovt_fw_release(struct ovt_fw *fw, u64 now_ns);

enum ovt_advance {
	OVT_ADVANCE_DONE,	/* at the horizon, or waiting for an FC that executes */
	OVT_ADVANCE_EVENTS,	/* the event queue is full, or the call has done enough: pop */
				/* events and call again */
};

enum ovt_advance ovt_fw_advance(struct ovt_fw *fw, u64 horizon_ns);

/*
 * ovt_fw_prepare - process everything up to @now_ns except the choices of that instant
 *
 * For a host that answers to the end of an FC within the same instant (the simulator, or a test
 * with a stepped clock): its commands stamped @now_ns still precede the choices, which the next
 * ovt_fw_advance() makes.  The host may call it again after further commands.
 */
enum ovt_advance ovt_fw_prepare(struct ovt_fw *fw, u64 now_ns);

/*
 * Returns true if ovt_fw_prepare() for @now_ns has nothing left to do, and no core executes: only
 * the choices of the instant remain.
 */
bool ovt_fw_prepared(const struct ovt_fw *fw, u64 now_ns);

/* Returns the number of FCs of @core (from 1) that run or wait. */
u64 ovt_fw_unfinished(const struct ovt_fw *fw, u32 core);

/*
 * ovt_fw_place - choose the core that takes the next job of @context
 * @cores: bit k - 1: core k may take it; at least one core of the device
 *
 * Returns the core with the fewest unfinished FCs, including those of jobs that were submitted to
 * it and have not arrived yet; the lowest number on a tie.  FCs held back by quotas do not count,
 * unless @context rests as well.  A host that has to know the core before the job arrives sets
 * @core of the job, and submits it in the same hold of the lock.  Jobs for OVT_CORE_ANY that have
 * not arrived count for no core yet.
 */
u32 ovt_fw_place(const struct ovt_fw *fw, const struct ovt_fw_context *context, u64 cores);

/*
 * Returns the earliest horizon at which ovt_fw_advance() has something to do, or OVT_TIME_NEVER.
 * The horizon may be the instant from which on the timeline lags too far for a waiting command, or
 * for an FC that executes.
 */
u64 ovt_fw_next(const struct ovt_fw *fw);

/*
 * Called under the lock by the execution thread of @core (from 1) after ovt_core_step() returned
 * OVT_STEP_FINISHED.  In functional mode the FC ends at @now_ns.  Without a running FC, and when
 * called twice, it changes nothing.
 */
void ovt_fw_executed(struct ovt_fw *fw, u32 core, u64 now_ns);

/* Returns whether @core (from 1) has an FC that is yet to be executed.  Under the lock. */
bool ovt_fw_runnable(const struct ovt_fw *fw, u32 core);

/*
 * Called under the lock by the execution thread of @core after ovt_core_step() returned
 * OVT_STEP_PRICED (mode both): the modelled end is known, so other cores need not wait for the
 * arithmetic.  The thread then calls ovt_fw_advance(), and goes on with the steps.
 */
void ovt_fw_priced(struct ovt_fw *fw, u32 core);

/*
 * Returns true if nothing is left to do up to @horizon_ns: no core executes, no command or choice
 * waits, and no FC, quota window or opening of a stage is due.
 */
bool ovt_fw_settled(const struct ovt_fw *fw, u64 horizon_ns);

bool ovt_fw_pop_event(struct ovt_fw *fw, struct ovt_event *event);

#endif
