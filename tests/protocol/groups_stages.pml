/* SPDX-License-Identifier: MIT */
/* The stages of groups: firmware-sim/fw/group.c. Times of stages are left out. */

/* Sets counted to the number of FCs of @part in stages before @its_stage. */
inline count_before(part, its_stage)
{
	counted = 0;
	do
	:: counted < fcs[part] && STAGE(part, counted) < its_stage -> counted++
	:: else -> break
	od
}

/* group->stage_fcs[] of the group's stage */
inline set_left(job)
{
	count_before(PART(job, 0), stage[job] + 1);
	left[job] = counted;
	count_before(PART(job, 1), stage[job] + 1);
	left[job] = left[job] + counted;
	count_before(PART(job, 0), stage[job]);
	left[job] = left[job] - counted;
	count_before(PART(job, 1), stage[job]);
	left[job] = left[job] - counted
}

/* The last FC's stage is the last. */
#define LAST_STAGE(part) STAGE(part, fcs[part] - 1)
#define STAGES(job)	(1 + (LAST_STAGE(PART(job, 0)) > LAST_STAGE(PART(job, 1)) -> \
			      LAST_STAGE(PART(job, 0)) : LAST_STAGE(PART(job, 1))))

/* open_for() */
inline open_for(part)
{
	if
	:: ring_of[JOB(part)] == NORMAL ->
		if
		:: LAST_STAGE(part) == stage[JOB(part)] ->
			assert(held[CORE(part)] > 0);
			held[CORE(part)]--
		:: else
		fi;
		if
		:: queued[part] < fcs[part] && STAGE(part, queued[part]) == stage[JOB(part)] ->
			ready[part] = 1
		:: else
		fi
	:: else
	fi
}

#ifdef OPENS_FOR_AHEAD_AGAIN
#define IS_AHEAD(part)	false
#else
#define IS_AHEAD(part)	(ahead[JOB(part)] == (part))
#endif

/* open_for_others() */
inline open_for_others(job)
{
	open[job] = stage[job];
	if
	:: !IS_AHEAD(PART(job, 0)) -> open_for(PART(job, 0))
	:: else
	fi;
	if
	:: !IS_AHEAD(PART(job, 1)) -> open_for(PART(job, 1))
	:: else
	fi;
#ifndef OPENS_WITHOUT_CHOICE
	choose = 1
#endif
}

/* ovt_group_stop() */
inline stop_openings(job)
{
	if
	:: openings??[eval(job)] -> openings??eval(job)
	:: else
	fi
}

/* end_stage() */
inline end_stage(job)
{
#ifndef OPENING_STAYS_WHEN_STAGE_ENDS
	stop_openings(job);
#endif
	stage[job]++;
	if
	:: stage[job] < STAGES(job) ->
		set_left(job);
		ahead[job] = (shared[job] -> NONE : worker[job]);
		worker[job] = NONE;
		shared[job] = 0;
		if
		:: ahead[job] != NONE -> current = ahead[job]; open_for(current)
		:: else
		fi;
		if
		/* a group has one opening at most */
		:: has_sync -> assert(!(openings??[eval(job)])); openings!job
		:: else -> open_for_others(job)
		fi
	:: else
	fi
}

#ifdef STAGE_ENDS_WITH_ONE_PART
/* No FC of the part that had the last one is left in the stage. */
#define STAGE_ENDS(job, part) \
	(started[part] == fcs[part] || STAGE(part, started[part]) > stage[job])
#else
#define STAGE_ENDS(job, part) (left[job] == 0)
#endif

/* ovt_group_fc_ended() */
inline group_fc_ended(job, part)
{
	if
	:: worker[job] == NONE -> worker[job] = part
	:: worker[job] != NONE && worker[job] != part -> shared[job] = 1
	:: else
	fi;
	left[job]--;
	if
	:: STAGE_ENDS(job, part) -> end_stage(job)
	:: else
	fi
}
