/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Bugs that a test can switch on, to prove that the fuzzers find them. planted.patch puts them into
 * a copy of firmware-sim.
 */
#ifndef OVT_PLANTED_H
#define OVT_PLANTED_H

enum ovt_planted_bug {
	OVT_BUG_NONE,
	OVT_BUG_EARLY_BATCH,		/* batch refilled before it is empty */
	OVT_BUG_CUSTOM_ID_REVERSED,	/* larger custom_id first */
	OVT_BUG_THRESHOLD_INCLUSIVE,	/* <= instead of < in the insertion rules */
	OVT_BUG_CORE_TOO_EARLY,		/* core of a core-0 task settled when it is dispatched */
	OVT_BUG_CANCELLED_COUNTED,	/* FCs of a cancelled job still count as unfinished */
	OVT_BUG_REFILL_LOST,		/* no refill after a fault */
	OVT_BUG_HIGH_PREEMPTS_HIGH,	/* the youngest HIGH job goes first */
	OVT_BUG_SLOT_KEPT,		/* a cancelled task keeps its slot */
	OVT_BUG_WATCHDOG_WAITING,	/* the watchdog counts from the job's arrival */
	OVT_BUG_TASK_LIMIT_BARS,	/* a task that waits for the task limit holds others up */
	OVT_BUG_FAIR_WEIGHT,		/* a turn's length changes one priority too early */
	OVT_BUG_FAIR_TURN_KEPT,		/* a context that leaves keeps the rest of its turn */
	OVT_BUG_FAIR_JOINS_FIRST,	/* a context that comes is next */
	OVT_BUG_FAIR_HIGH_MOVES_TURN,	/* a HIGH FC ends the turn */
	OVT_BUG_OVERDUE_LATE,		/* overdue one tick too late */
	OVT_BUG_OVERDUE_KEEPS_SLOT,	/* an overdue task keeps its slot */
	OVT_BUG_OVERDUE_COUNTED,	/* an overdue task counts for the task limit */
	OVT_BUG_OVERDUE_RETURNS,	/* goes on without the slot that it gave up */
	OVT_BUG_SHARE_IGNORED,		/* no place is kept for any process */
	OVT_BUG_SHARE_ONE_SHORT,	/* one place too few is kept */
	OVT_BUG_DEATH_KEEPS_WORKER,	/* a CPU worker of a dead process stays busy */
	/* Bugs of groups: */
	OVT_BUG_GROUP_FIRST,
	OVT_BUG_GROUP_NO_SYNC = OVT_BUG_GROUP_FIRST,	/* a stage opens at once for all parts */
	OVT_BUG_GROUP_ALONE_WAITS,	/* a part that was alone waits for the sync, too */
	OVT_BUG_GROUP_HIGH_NOT_HELD,	/* the arbiter does not learn that HIGH is held */
	OVT_BUG_GROUP_WHOLE_BATCH,	/* a batch is committed while an FC of NORMAL is held */
	OVT_BUG_GROUP_ENDS_EARLY,	/* a cancelled group ends with the first of its FCs that run */
	OVT_BUG_GROUP_HELD_KEPT,	/* held FCs stay held when their group is cancelled */
	OVT_BUG_GROUP_LAST_FAULT,	/* of several faults, the last one counts */
	OVT_BUG_GROUP_NO_TURN,		/* a context does not join the circle when a stage opens */
	OVT_BUG_GROUP_SAME_CORE,	/* parts that name no core all take the emptiest one */
	/* Bugs of the coordinator: */
	OVT_BUG_COORD_FIRST,
	OVT_BUG_COORD_DEPTH = OVT_BUG_COORD_FIRST,	/* a core takes one run too many */
	OVT_BUG_COORD_RETRIES,		/* one retry too many */
	OVT_BUG_COORD_PROGRESS,		/* a failed run finishes its units */
	OVT_BUG_COORD_LOST,		/* a task without a plan never comes back */
	OVT_BUG_COORD_FAILED_USED,	/* plans count on a processor that has failed */
	OVT_BUG_COORD_HIGH_WAITS,	/* a run of 255 waits behind others on a pool */
	OVT_BUG_COORD_ON_IGNORED,	/* a pool takes what `on` gives to a core */
	OVT_BUG_COORD_DROPS_RUNNING,	/* a task that runs is dropped */
	OVT_BUG_COORD_CLOSED_GOES_ON,	/* waiting runs of a cancelled task go on */
	OVT_BUG_COORD_NO_LOOK,		/* no look when a processor comes back */
	OVT_BUG_COORD_WINDOW,		/* one task too many is planned */
	OVT_BUG_COORD_READY_EARLY,	/* a unit is ready while a predecessor runs */
	OVT_BUG_COUNT,
};

extern enum ovt_planted_bug ovt_planted_bug;
#define OVT_PLANTED(name)	(ovt_planted_bug == OVT_BUG_##name)

#endif
