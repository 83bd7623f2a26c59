/* SPDX-License-Identifier: MIT */
/* Arrival, cancel, end and choice: firmware-sim/fw/{job,ring,fw}.c */

/* ovt_ready_forget() and take(): end_deferral() */
inline end_deferral(core, part)
{
	deferred[part] = 0;
	deferrals[core]--
}

/* enter_ring() */
inline enter_ring(core, part)
{
	first_position[part] = 0;
	deferred[part] = ring_of[JOB(part)] == NORMAL && (is_group[JOB(part)] || deferrals[core]);
	if
	:: deferred[part] -> deferrals[core]++
	:: !deferred[part] && ring_of[JOB(part)] == NORMAL ->
		first_position[part] = next_position[core];
		next_position[core] = next_position[core] + fcs[part]
	:: else
	fi;
	if
	:: deferred[part] && is_group[JOB(part)] -> ready[part] = IS_READY(part)
	:: else ->
		list_append(QUEUE(core, ring_of[JOB(part)]), part);
		if
		:: refill[QUEUE(core, ring_of[JOB(part)])] == NONE ->
			refill[QUEUE(core, ring_of[JOB(part)])] = part
		:: else
		fi
	fi
}

/* enter_core() */
inline enter_core(core, part)
{
	waiting[QUEUE(core, ring_of[JOB(part)])] =
		waiting[QUEUE(core, ring_of[JOB(part)])] + fcs[part];
	unfinished[core] = unfinished[core] + fcs[part];
	if
	:: ring_of[JOB(part)] == NORMAL && HOLDS_SOME(part) -> held[core]++
	:: else
	fi;
	enter_ring(core, part)
}

#ifdef HIGH_ENTERS_IN_TWO_ORDERS
/* On core 1, a HIGH part enters before the last part, if no FC of the last part is in the ring. */
hidden byte one, two;
inline enter_before_last(queue)
{
	if
	:: listed[queue] > 1 ->
		one = list[(queue) * JOBS + listed[queue] - 2];
		two = list[(queue) * JOBS + listed[queue] - 1];
		if
		:: queued[one] == 0 ->
			list[(queue) * JOBS + listed[queue] - 2] = two;
			list[(queue) * JOBS + listed[queue] - 1] = one;
			if
			:: refill[queue] == one -> refill[queue] = two
			:: else
			fi
		:: else
		fi
	:: else
	fi
}
#endif

/* ovt_job_arrive(), ovt_group_arrive() */
inline arrive(job)
{
	state[job] = QUEUED;
	submitted++;
	next_sequence++;
	sequence[job] = next_sequence;
	ahead[job] = NONE;
	worker[job] = NONE;
	if
	:: is_group[job] -> set_left(job)
	:: else
	fi;
	here = 0;
	do
	:: here < CORES ->
		current = PART(job, here);
		if
		:: fcs[current] -> enter_core(here, current)
		:: else
		fi;
		here++
	:: else -> break
	od;
#ifdef HIGH_ENTERS_IN_TWO_ORDERS
	if
	:: ring_of[job] == HIGH && fcs[PART(job, 1)] -> enter_before_last(QUEUE(1, HIGH))
	:: else
	fi;
#endif
	if
	:: killed && job < 2 -> hit[job] = 1; cancel_job(job)
	:: else
	fi
}

/* ovt_ring_forget() */
inline forget(core, queue, part)
{
	if
	:: refill[queue] == part -> list_next(queue, part, refill[queue])
	:: else
	fi;
	list_remove(queue, part);
	ready[part] = 0;
	if
	:: deferred[part] -> end_deferral(core, part)
	:: else
	fi;
	place = 0;
	do
	:: place < used[queue] ->
		if
		:: slot_part[SLOT(queue, place)] == part ->
			slot_cancelled[SLOT(queue, place)] = 1;
			slot_fc[SLOT(queue, place)] = 0
		:: else
		fi;
		place++
	:: else -> break
	od
}

#ifdef CANCEL_FORGETS_A_CORE
#define DROPPED_CORES	1
#else
#define DROPPED_CORES	CORES
#endif

/* ovt_job_drop_waiting(), drop_waiting_of() */
inline drop_waiting(job)
{
	here = 0;
	do
	:: here < DROPPED_CORES ->
		current = PART(job, here);
		if
		:: fcs[current] ->
			waiting[QUEUE(here, ring_of[job])] =
				waiting[QUEUE(here, ring_of[job])] - (fcs[current] - started[current]);
			unfinished[here] = unfinished[here] - (fcs[current] - started[current]);
#ifndef CANCEL_LEAVES_HOLD
			if
			:: ring_of[job] == NORMAL && HOLDS_SOME(current) ->
				assert(held[here] > 0);
				held[here]--
			:: else
			fi;
#endif
			forget(here, QUEUE(here, ring_of[job]), current)
		:: else
		fi;
		here++
	:: else -> break
	od;
#ifndef CANCEL_LEAVES_OPENING
	stop_openings(job)
#endif
}

/* end_job(): no queue may have anything of the job any more. */
inline end_job(job)
{
	/* each job ends once */
	assert(state[job] == QUEUED);
	/* after its last FC on every core */
	assert(!ON(0, job) && !ON(1, job));
	state[job] = OVER;
	stop_openings(job);
	/* a job without harm ends well: the fault or cancel of another job does not harm it */
	assert((done[job] == FCS(job) && !cancelled[job] && !fault_of[job]) || hit[job]);
	check_gone(job);
	tidy_job(job)
}

#ifdef ENDS_WITH_FIRST_FC
#define MAY_END(job)	true
#else
#define MAY_END(job)	(running_fcs[job] == 0)
#endif

/* ovt_job_fc_ended() */
inline job_fc_ended(job)
{
	if
	:: MAY_END(job) && (fault_of[job] || cancelled[job] || done[job] == FCS(job)) -> end_job(job)
	:: else
	fi
}

#ifdef CANCEL_ENDS_AGAIN
#define CAN_BE_CANCELLED(job) (state[job] != NEW)
#else
#define CAN_BE_CANCELLED(job) (state[job] == QUEUED && !cancelled[job])
#endif

/* ovt_job_cancel() */
inline cancel_job(job)
{
	if
	:: CAN_BE_CANCELLED(job) ->
		cancelled[job] = 1;
		drop_waiting(job);
		if
		:: MAY_END(job) -> end_job(job)
		:: else
		fi
	:: else
	fi
}

/* ovt_fw_abort() */
inline stop_fc(core)
{
	abort[core] = 1;
	fault[core] = fault[core] || executed[core]
}

/* ovt_context_kill(): the jobs that it still has to cancel or to stop; abort_parts() */
#define MAY_BE_KILLED(job) (state[job] == QUEUED && \
	(!cancelled[job] || (ON(0, job) && !abort[0]) || (ON(1, job) && !abort[1])))
inline stop_fcs(job)
{
	if
	:: ON(0, job) -> stop_fc(0)
	:: else
	fi;
	if
	:: ON(1, job) -> stop_fc(1)
	:: else
	fi
}

/* retire(), note_fault() */
inline retire(core)
{
	there = running[core];
	running[core] = NONE;
	executed[core] = 0;
	unfinished[core]--;
	done[JOB(there)]++;
	running_fcs[JOB(there)]--;
	if
	:: fault[core] ->
		fault_of[JOB(there)] = 1;
#ifndef FAULT_LEAVES_WAITING
		if
		:: !cancelled[JOB(there)] &&
		   started[PART(JOB(there), 0)] + started[PART(JOB(there), 1)] < FCS(JOB(there)) ->
			drop_waiting(JOB(there))
		:: else
		fi;
#endif
		cancelled[JOB(there)] = cancelled[JOB(there)] || is_group[JOB(there)]
	:: else ->
		if
		:: is_group[JOB(there)] && !cancelled[JOB(there)] -> group_fc_ended(JOB(there), there)
		:: else
		fi
	fi;
	fault[core] = 0;
	abort[core] = 0;
	job_fc_ended(JOB(there))
}

/* start_fc(), ovt_core_start() */
inline start_fc(core, ring)
{
	there = slot_part[HEAD(QUEUE(core, ring))];
	its_fc = slot_fc[HEAD(QUEUE(core, ring))];
#ifdef HELD_LETS_HIGH_PASS
	if
	:: ring == HIGH && high_held[core] ->
		there = slot_part[SLOT(QUEUE(core, HIGH), 1)];
		its_fc = slot_fc[SLOT(QUEUE(core, HIGH), 1)]
	:: else
	fi;
#endif
	check_start(core, ring, there);
	pop(QUEUE(core, ring));
	overtook[core] = (ring == HIGH && limit_active[core] && FLOOR &&
			  (used[QUEUE(core, NORMAL)] || normal_next[core]) ->
			  overtook[core] + (overtook[core] < FLOOR) : 0);
	waiting[QUEUE(core, ring)]--;
	running_fcs[JOB(there)]++;
	started[there]++;
	if
	:: started[there] == fcs[there] -> list_remove(QUEUE(core, ring), there)
	:: else
	fi;
	running[core] = there
}

/* choose(), ovt_ring_refill() */
inline choose_for(core)
{
	skip_cancelled(QUEUE(core, HIGH));
	skip_cancelled(QUEUE(core, NORMAL));
	refill_ring(QUEUE(core, HIGH));
	high_held[core] = used[QUEUE(core, HIGH)] &&
		HOLDS(slot_part[HEAD(QUEUE(core, HIGH))], slot_fc[HEAD(QUEUE(core, HIGH))]);
	refill_ring(QUEUE(core, NORMAL));
	if
	:: deferrals[core] || normal_next[core] -> ready_refill(core)
	:: else
	fi;
	arbiter(core);
	if
	:: choice == CHOOSE_COMMIT -> commit(core)
	:: choice == CHOOSE_NORMAL && !used[QUEUE(core, NORMAL)] ->
		first_deferred(core, current);
		take(core, current)
	:: else
	fi;
	if
	:: choice == CHOOSE_HIGH -> start_fc(core, HIGH)
	:: choice == CHOOSE_NORMAL || choice == CHOOSE_COMMIT -> start_fc(core, NORMAL)
	:: else
	fi
}

/* choose_idle(): after @most cores, the event queue is full */
inline choose_idle(most)
{
	there = 0;
	other = 0;
#ifdef CHOICE_FORGOTTEN
	choose = 0;
#endif
	do
	:: other < most ->
		if
		:: IDLE(other) -> choose_for(other)
		:: else
		fi;
		other++
	:: else -> break
	od;
	if
	:: most == CORES -> choose = 0
	:: else
	fi
}
