/* SPDX-License-Identifier: MIT */
/*
 * NORMAL FCs in order of arrival, which pass held FCs, and batches: firmware-sim/fw/ready.c,
 * ovt_ring_commit(). The tree of ready parts is a bit of each part; its first part arrived first.
 */

/* The first part of the tree; first_deferred() also looks at the list, from refill on. */
inline first_ready(core, result)
{
	result = NONE;
	each = 0;
	do
	:: each < JOBS ->
		if
		:: ready[PART(each, core)] && (result == NONE || sequence[each] < sequence[JOB(result)]) ->
			result = PART(each, core)
		:: else
		fi;
		each++
	:: else -> break
	od
}

inline first_deferred(core, result)
{
	first_ready(core, result);
	if
	:: refill[QUEUE(core, NORMAL)] != NONE &&
	   (result == NONE || sequence[JOB(refill[QUEUE(core, NORMAL)])] < sequence[JOB(result)]) ->
		result = refill[QUEUE(core, NORMAL)]
	:: else
	fi
}

/* take() of fw/ready.c */
inline take(core, part)
{
	push(QUEUE(core, NORMAL), part, next_position[core]);
	next_position[core]++;
	commit_end[core] = next_position[core];
#ifndef TAKES_HELD
	if
	:: is_group[JOB(part)] && !IS_READY(part) -> ready[part] = 0
	:: else
	fi;
#else
	if
	:: queued[part] == fcs[part] -> ready[part] = 0
	:: else
	fi;
#endif
	if
	:: queued[part] == fcs[part] ->
		if
		:: !is_group[JOB(part)] ->
			list_next(QUEUE(core, NORMAL), part, refill[QUEUE(core, NORMAL)])
		:: else
		fi;
		end_deferral(core, part)
	:: else
	fi
}

/* ovt_ready_refill() */
inline ready_refill(core)
{
	current = NONE;
	do
	:: used[QUEUE(core, NORMAL)] < ENTRIES ->
		first_deferred(core, current);
		if
		:: current == NONE -> break
		:: else
		fi;
		if
		:: !IS_COMMITTED(core, current) -> break
		:: else -> take(core, current)
		fi
	:: else -> break
	od;
	normal_next[core] = (current == NONE -> 0 : sequence[JOB(current)])
}

#ifdef BATCH_WITH_HELD
#define HELD(core)	0
#else
#define HELD(core)	held[core]
#endif

/* ovt_ready_commit(): parts of the list and the tree, in order of arrival */
inline ready_commit(core)
{
	if
	:: HELD(core) -> first_deferred(core, current); take(core, current)
	:: else ->
		nth = 1;
		do
		:: left_to_take && nth <= next_sequence ->
			each = 0;
			do
			:: each < JOBS && !(sequence[each] == nth && deferred[PART(each, core)] &&
			   (ready[PART(each, core)] || !is_group[each])) -> each++
			:: else -> break
			od;
			if
			:: each < JOBS ->
				taken_fcs = fcs[PART(each, core)] - queued[PART(each, core)];
				taken_fcs = (taken_fcs < left_to_take -> taken_fcs : left_to_take);
				batch_sequence[core] = nth;
				batch_index[core] = queued[PART(each, core)] + taken_fcs;
				/* committed FCs are ready: the core never waits for one */
				assert(!HOLDS(PART(each, core), batch_index[core] - 1));
				left_to_take = left_to_take - taken_fcs
			:: else
			fi;
			nth++
		:: else -> break
		od;
		ready_refill(core)
	fi
}

/* ovt_ring_commit() */
inline commit(core)
{
	left_to_take = (HELD(core) -> 1 : limit_active[core]);
	if
	:: left_to_take >= waiting[QUEUE(core, NORMAL)] ->
		commit_end[core] = next_position[core]
	:: else ->
		position = commit_end[core];
		nth = 0;
		do
		:: left_to_take && nth < listed[QUEUE(core, NORMAL)] &&
		   !deferred[list[QUEUE(core, NORMAL) * JOBS + nth]] ->
			following = list[QUEUE(core, NORMAL) * JOBS + nth];
			taken_fcs = fcs[following] - started[following];
			taken_fcs = (taken_fcs < left_to_take -> taken_fcs : left_to_take);
			position = first_position[following] + started[following] + taken_fcs;
			left_to_take = left_to_take - taken_fcs;
			nth++
		:: else -> break
		od;
		commit_end[core] = position
	fi;
	if
	:: left_to_take && deferrals[core] -> ready_commit(core)
	:: else
	fi
}
