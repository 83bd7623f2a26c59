/* SPDX-License-Identifier: MIT */
/*
 * Groups on two cores, for SPIN; tests/protocol/run checks it.
 *
 *	groups.pml		jobs, the cores, the host, and the order of the firmware's actions
 *	groups_jobs.pml		the groups and plain jobs of a configuration
 *	groups_rings.pml	rings, lists of parts, and the arbiter: hw/core.c, hw/arbiter.c, fw/ring.c
 *	groups_stages.pml	stages and openings: fw/group.c
 *	groups_ready.pml	NORMAL FCs that pass held FCs, and batches: fw/ready.c, fw/ring.c
 *	groups_firmware.pml	arrival, cancel, end and choice: fw/job.c, fw/fw.c
 *	groups_checks.pml	the properties that must hold
 *	groups_tidy.pml		merges states whose differences do not matter
 *
 * An action of the firmware or the host is one step, since both hold the device lock for it.
 * protocol.pml checks the queues of commands and events. Here each command takes effect at any moment,
 * in any order, and a full event queue ends a call of the firmware between two cores. The model has no
 * time: an FC ends at any moment, and a stage opens at any moment after the stages whose syncs began
 * earlier. These orders include every order that the modes of the device allow.
 *
 * Counters and reports are left out, because no FC waits for them. Fair devices, quotas, HOLD and parts
 * that name no core are left to tests/scenarios and tests/fuzz.
 *
 * SPIN lists no unvisited statement inside a d_step. The broken variants in tests/protocol/run show
 * that the checks there work: each variant must be found.
 */

/* Sizes of a configuration. */
#define CORES		2
#ifndef JOBS
#define JOBS		3
#endif
#ifndef ENTRIES
#define ENTRIES		2	/* OVT_RING_ENTRIES: the other FCs wait outside the ring */
#endif
#ifndef HARMS
#define HARMS		0	/* number of cancels, kills, resets and faults */
#endif
#ifndef CUTS
#define CUTS		0	/* number of calls that a full event queue ends between two cores */
#endif
#ifndef LIMITS
#define LIMITS		0	/* number of changes of core limits */
#endif
#ifndef FLOOR
#define FLOOR		0	/* normal_floor of both cores */
#endif

#define HIGH		0
#define NORMAL		1
#define NONE		255

/* The part of @job on @core. A plain job has FCs on one core only. */
#define PART(job, core)	(CORES * (job) + (core))
#define JOB(part)	((part) / CORES)
#define CORE(part)	((part) % CORES)
#define QUEUE(core, ring) (2 * (core) + (ring))
#define PARTS		(CORES * JOBS)

/* The jobs that the host submits; constant. */
bit is_group[JOBS];
bit ring_of[JOBS];
byte fcs[PARTS];
byte stages[PARTS];		/* two bits for each FC of the part */
byte limit[CORES];		/* OVT_REG_LIMIT */
bit has_sync;
#define STAGE(part, fc)	((stages[part] >> (2 * (fc))) & 3)
#define FCS(job)	(fcs[PART(job, 0)] + fcs[PART(job, 1)])

/* struct ovt_fw_job */
#define NEW		0
#define QUEUED		1
#define OVER		2	/* OVT_JOB_ENDED */
byte state[JOBS];
byte sequence[JOBS];
bit cancelled[JOBS];
bit fault_of[JOBS];
byte running_fcs[JOBS];
byte done[JOBS];

/* struct ovt_fw_part */
byte queued[PARTS];
byte started[PARTS];
bit deferred[PARTS];
byte first_position[PARTS];
bit ready[PARTS];		/* in the tree of its core */

/* struct ovt_fw_group, and the openings, first in first out */
byte stage[JOBS];
byte left[JOBS];
byte open[JOBS];
byte ahead[JOBS];
byte worker[JOBS];
bit shared[JOBS];
chan openings = [JOBS] of { byte };

/* struct ovt_fw_core, and the part of struct ovt_exec that core and firmware use */
byte running[CORES];
bit executed[CORES];
bit abort[CORES];
bit fault[CORES];
byte deferrals[CORES];		/* .deferred */
byte held[CORES];
byte batch_sequence[CORES];
byte batch_index[CORES];
byte next_position[CORES];
byte waiting[2 * CORES];
byte unfinished[CORES];

/* struct ovt_fw */
byte next_sequence;
bit choose;

/* The host's actions so far. Jobs 0 and 1 are of the context that it may kill. */
byte submitted, harms, cuts, changes;
bit killing, killed;

/* Only for checks: the job got a fault, a cancel, a kill or a reset. */
bit hit[JOBS];

#define ON(core, job)	(running[core] != NONE && JOB(running[core]) == (job))
#define IDLE(core)	(running[core] == NONE)
#define MAY_HARM	(harms < HARMS)

/* The number of FCs of a part that have ended. */
#define ENDED_FCS(part)	(started[part] - (running[CORE(part)] == (part)))

/* open_stage(), ovt_group_holds(), ovt_group_is_ready(), ovt_group_holds_some() */
#define OPEN_STAGE(part) (ahead[JOB(part)] == (part) -> stage[JOB(part)] : open[JOB(part)])
#define HOLDS(part, fc)	(is_group[JOB(part)] && STAGE(part, fc) > OPEN_STAGE(part))
#define IS_READY(part)	(queued[part] < fcs[part] && !HOLDS(part, queued[part]))
#define HOLDS_SOME(part) HOLDS(part, fcs[part] - 1)

#include "groups_rings.pml"
#include "groups_stages.pml"
#include "groups_tidy.pml"
#include "groups_ready.pml"
#include "groups_checks.pml"
#include "groups_firmware.pml"

/* A core's thread: it executes the FC that the firmware has started, and reports its end. */
proctype core_thread(byte me)
{
end_idle:
	do
	:: atomic { !IDLE(me) && !executed[me] ->
		/* An abort in the FC's last step counts, too. */
		fault[me] = abort[me];
		executed[me] = 1
	   }
#if HARMS
	:: atomic { !IDLE(me) && !executed[me] && !abort[me] && MAY_HARM ->
		harms++;
		hit[JOB(running[me])] = 1;
		fault[me] = 1;
		executed[me] = 1
	   }
#endif
	od
}

#define KILL_IS_CUT	(killing && !killed)
#define CAN_CANCEL(job)	(MAY_HARM && !KILL_IS_CUT && state[job] != NEW && !hit[job])
#define CAN_RESET(core)	(MAY_HARM && !IDLE(core) && !abort[core])

/* The host submits each job once, in any order, and cancels a job at most once. */
proctype host()
{
	byte which;		/* job, or core */
	bit kills;

	do
	:: atomic {
		submitted < JOBS && !KILL_IS_CUT ->
		if
		:: state[0] == NEW -> which = 0
		:: state[1] == NEW -> which = 1
#if JOBS > 2
		:: state[2] == NEW -> which = 2
#endif
#if JOBS > 3
		:: state[3] == NEW -> which = 3
#endif
		fi;
		d_step { arrive(which); choose = 1; check_orders(); tidy_cores(); which = 0 }
	   }
#if HARMS
	:: atomic {
		if
		:: CAN_CANCEL(0) -> which = 0; harms++
		:: CAN_CANCEL(1) -> which = 1; harms++
#if JOBS > 2
		:: CAN_CANCEL(2) -> which = 2; harms++
#endif
		/* A kill may be cut between two jobs, when the event queue is full. */
		:: KILL_IS_CUT && MAY_BE_KILLED(0) -> which = 0; kills = 1
		:: KILL_IS_CUT && MAY_BE_KILLED(1) -> which = 1; kills = 1
		fi;
		d_step {
			hit[which] = hit[which] || state[which] == QUEUED;
			if
			:: kills -> stop_fcs(which)
			:: else
			fi;
			cancel_job(which);
			choose = 1;
			tidy_cores();
			which = 0;
			kills = 0
		}
	   }
	:: d_step { MAY_HARM && !killing -> harms++; killing = 1 }
	:: d_step { KILL_IS_CUT && !MAY_BE_KILLED(0) && !MAY_BE_KILLED(1) -> killed = 1 }
	:: atomic {
		if
		:: CAN_RESET(0) -> which = 0
		:: CAN_RESET(1) -> which = 1
		fi;
		d_step {
			harms++;
			hit[JOB(running[which])] = 1;
			stop_fc(which);
			choose = 1;
			which = 0
		}
	   }
#endif
#if LIMITS
	:: atomic {
		changes < LIMITS -> changes++;
		if
		:: which = 0
		:: which = 1
		fi;
		if
		:: limit[which] != 0 -> limit[which] = 0
		:: limit[which] != 1 -> limit[which] = 1
		:: limit[which] != 2 -> limit[which] = 2
		fi;
		choose = 1;
		which = 0
	   }
#endif
	:: d_step { ALL_OVER -> check_empty(); which = 0 }; break
	od
}

/* ovt_fw_advance(), one action at a time. */
proctype firmware()
{
	byte most;

end_idle:
	do
	/* retire_ended() */
	:: atomic {
		if
		:: executed[0] -> most = 0
		:: executed[1] -> most = 1
		fi;
		d_step { retire(most); choose = 1; tidy_cores(); most = 0 }
	   }
	/* ovt_group_open_stages() */
	:: d_step {
		nempty(openings) ->
		openings?there;
		/* nothing opens for a group that is over or cancelled */
		assert(state[there] == QUEUED && !cancelled[there]);
		open_for_others(there);
		check();
		there = 0
	   }
	/* choose_idle(): the firmware does not reach it while a kill is not finished */
	:: atomic {
		choose && !KILL_IS_CUT ->
		if
		:: most = CORES
#if CUTS
		:: cuts < CUTS -> cuts++; most = 1
#endif
		fi;
		d_step { choose_idle(most); check(); tidy_cores(); most = 0 }
	   }
	od
}

/* A group's parts: the stages of the FCs on core 0, those on core 1. */
#define FC1(a)		1, (a)
#define FC2(a, b)	2, (a) + 4 * (b)
#define FC3(a, b, c)	3, (a) + 4 * (b) + 16 * (c)

inline set_part(which, count, their_stages)
{
	fcs[which] = count;
	stages[which] = their_stages
}

inline group_of(job, count0, stages0, count1, stages1)
{
	is_group[job] = 1;
	set_part(PART(job, 0), count0, stages0);
	set_part(PART(job, 1), count1, stages1)
}

#include "groups_jobs.pml"

init
{
	atomic {
		running[0] = NONE;
		running[1] = NONE;
		refill[0] = NONE;
		refill[1] = NONE;
		refill[2] = NONE;
		refill[3] = NONE;
		settle_jobs();
#ifdef SYNC
		has_sync = SYNC;
#else
		if
		:: has_sync = 1
		:: has_sync = 0
		fi;
#endif
		settle_limit(0);
		settle_limit(1);
		run core_thread(0);
		run core_thread(1);
		run firmware();
		run host()
	}
}
