/* SPDX-License-Identifier: MIT */
/* The properties of groups that must hold; end_job() and others check more where they act. */

/* With -DONLY_DEADLOCKS=1, a wrong order or an idle core is an error only if it leads to a deadlock. */
#ifndef ONLY_DEADLOCKS
#define ONLY_DEADLOCKS	0
#endif

/* No FC or part of @job is in a ring, a list or a tree, and @job is not among the openings. */
inline check_gone(job)
{
	assert(!(openings??[eval(job)]));
	here = 0;
	do
	:: here < CORES ->
		current = PART(job, here);
		assert(!ready[current] && !deferred[current]);
		find_in_list(QUEUE(here, ring_of[job]), current);
		assert(place == listed[QUEUE(here, ring_of[job])]);
		place = 0;
		do
		:: place < used[QUEUE(here, ring_of[job])] ->
			assert(slot_part[SLOT(QUEUE(here, ring_of[job]), place)] != current ||
			       !fcs[current] ||
			       slot_cancelled[SLOT(QUEUE(here, ring_of[job]), place)]);
			place++
		:: else -> break
		od;
		here++
	:: else -> break
	od
}

#define IS_QUEUED(job)	(state[job] == QUEUED)
#if JOBS == 2
#define SOME_QUEUED	(IS_QUEUED(0) || IS_QUEUED(1))
#elif JOBS == 3
#define SOME_QUEUED	(IS_QUEUED(0) || IS_QUEUED(1) || IS_QUEUED(2))
#else
#define SOME_QUEUED	(IS_QUEUED(0) || IS_QUEUED(1) || IS_QUEUED(2) || IS_QUEUED(3))
#endif
#define GOES_ON		(choose || !IDLE(0) || !IDLE(1) || nempty(openings) || !SOME_QUEUED)
#define FIRST_HIGH(core) list[QUEUE(core, HIGH) * JOBS]

/* A core that can start an FC does not idle. */
inline check_idle(core)
{
	first_ready(core, current);
	assert(!listed[QUEUE(core, HIGH)] || HOLDS(FIRST_HIGH(core), started[FIRST_HIGH(core)]));
	assert((listed[QUEUE(core, HIGH)] && limit[core]) ||
	       (!listed[QUEUE(core, NORMAL)] && current == NONE))
}

/* Holds after every action of the firmware. */
inline check()
{
	/* no deadlock: while a job is unfinished, an FC runs, a stage opens, or a core chooses */
	assert(GOES_ON);
	here = 0;
	do
	:: here < CORES && !choose && !ONLY_DEADLOCKS ->
		if
		:: IDLE(here) -> check_idle(here)
		:: else
		fi;
		here++
	:: else -> break
	od
}

/* If two groups are in HIGH of both cores, the same one is first in both. */
inline check_orders()
{
	here = 0;
	do
	:: here < CORES ->
		find_in_list(QUEUE(here, HIGH), PART(0, here));
		meets[here] = place < listed[QUEUE(here, HIGH)];
		where_is[here] = place;
		find_in_list(QUEUE(here, HIGH), PART(1, here));
		meets[here] = meets[here] && place < listed[QUEUE(here, HIGH)];
		comes_first[here] = where_is[here] < place;
		here++
	:: else -> break
	od;
	assert(!meets[0] || !meets[1] || comes_first[0] == comes_first[1] || ONLY_DEADLOCKS)
}

#define ALL_OVER	(submitted == JOBS && !SOME_QUEUED && !choose && empty(openings))

/* When all jobs are over, the cores have nothing left of them. */
inline check_empty()
{
	here = 0;
	do
	:: here < CORES ->
		assert(IDLE(here) && !held[here] && !deferrals[here] && !normal_next[here]);
		assert(!unfinished[here]);
		assert(!high_held[here] && !waiting[QUEUE(here, HIGH)] && !waiting[QUEUE(here, NORMAL)]);
		assert(!listed[QUEUE(here, HIGH)] && refill[QUEUE(here, HIGH)] == NONE);
		assert(!listed[QUEUE(here, NORMAL)] && refill[QUEUE(here, NORMAL)] == NONE);
		assert(!used[QUEUE(here, HIGH)] && !used[QUEUE(here, NORMAL)]);
		here++
	:: else -> break
	od;
	each = 0;
	do
	:: each < JOBS -> assert(state[each] == OVER); each++
	:: else -> break
	od
}

/* Must hold when the first FC of @ring starts. */
inline check_start(core, ring, part)
{
	/* no FC after the end, a cancel or a fault of its job */
	assert(state[JOB(part)] == QUEUED && !cancelled[JOB(part)] && !fault_of[JOB(part)]);
	/* the FCs of a part start in their order, one at a time */
	assert(its_fc == started[part] && IDLE(core));
	/* no FC before the earlier stages have ended in all parts */
	each = 0;
	do
	:: each < CORES ->
		if
		:: is_group[JOB(part)] ->
			count_before(PART(JOB(part), each), STAGE(part, its_fc));
			assert(ENDED_FCS(PART(JOB(part), each)) >= counted)
		:: else
		fi;
		each++
	:: else -> break
	od;
	/* no HIGH FC before an earlier HIGH FC of its core, held or not */
	each = 0;
	do
	:: each < JOBS && ring == HIGH ->
		assert(ring_of[each] != HIGH || state[each] != QUEUED || cancelled[each] ||
		       sequence[each] >= sequence[JOB(part)] ||
		       started[PART(each, core)] == fcs[PART(each, core)] || ONLY_DEADLOCKS);
		each++
	:: else -> break
	od
}
