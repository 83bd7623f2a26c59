/* SPDX-License-Identifier: MIT */
/*
 * A value that no later step of the model reads becomes 0, so that states that differ only in such
 * values become one. Sequence numbers count anew without ended jobs, and positions of an empty NORMAL
 * restart at 0: only their order matters.
 */

/* is_committed() */
#define IS_COMMITTED(core, part) (sequence[JOB(part)] < batch_sequence[core] || \
	(sequence[JOB(part)] == batch_sequence[core] && queued[part] < batch_index[core]))

inline tidy_part(part)
{
	queued[part] = 0;
	started[part] = 0;
	first_position[part] = 0
}

/* @job is over. */
inline tidy_job(job)
{
	tidy_part(PART(job, 0));
	tidy_part(PART(job, 1));
	stage[job] = 0;
	left[job] = 0;
	open[job] = 0;
	ahead[job] = 0;
	worker[job] = 0;
	shared[job] = 0;
	done[job] = 0;
	cancelled[job] = 0;
	fault_of[job] = 0;
	hit[job] = 0;
	each = 0;
	do
	:: each < JOBS ->
		sequence[each] = sequence[each] - (sequence[each] > sequence[job] && each != job);
		each++
	:: else -> break
	od;
	here = 0;
	do
	:: here < CORES ->
		normal_next[here] = normal_next[here] - (normal_next[here] > sequence[job]);
		if
		:: batch_sequence[here] == sequence[job] -> batch_index[here] = 0
		:: else
		fi;
		batch_sequence[here] = batch_sequence[here] - (batch_sequence[here] > sequence[job]);
		here++
	:: else -> break
	od;
	next_sequence--;
	sequence[job] = 0
}

inline tidy_core(core)
{
	if
	:: !listed[QUEUE(core, NORMAL)] && !used[QUEUE(core, NORMAL)] ->
		next_position[core] = 0;
		commit_end[core] = 0;
		limit_active[core] = 0
	:: else
	fi;
	each = 0;
	do
	:: each < JOBS && !(deferred[PART(each, core)] && IS_COMMITTED(core, PART(each, core))) -> each++
	:: else -> break
	od;
	if
	:: each == JOBS -> batch_sequence[core] = 0; batch_index[core] = 0
	:: else
	fi
}

/* Runs at the end of every action. */
inline tidy_cores()
{
	here = 0;
	do
	:: here < CORES -> tidy_core(here); here++
	:: else -> break
	od
}
