/* SPDX-License-Identifier: MIT */
/*
 * The host: kmod/overtake_{publish,job,host,core}.c and libruntime's FirmwareHost, which follow one
 * protocol. A host's threads exclude each other by the device lock, so the host is one thread here.
 *
 * The host submits SUBMISSIONS jobs, in JOBS pieces of memory that it uses again. It cancels each job
 * at any moment or not at all, and resets the core up to RESETS times. It ends when all jobs are freed.
 * Every choice is free, so SPIN checks every order of these actions. The number of actions is bounded,
 * so no execution goes on for ever.
 */

/* A job: struct overtake_job, EmbeddedJob. */
bit held_until_ended[JOBS];	/* the firmware's reference */
bit held_until_cancelled[JOBS];	/* the CANCEL command's reference */
bit cancel_requested[JOBS];
bit told_cancelled[JOBS];	/* only for checks: CANCELLED came */

byte submitted;
byte resets;

#define IS_FREE(job)	(!alive[job])

/* admit_locked(), publish_locked(), overtake_job_submit_locked(); FirmwareHost::admit() */
inline submit(job)
{
	RESERVE(SLOTS_OF_JOB);
	atomic {
		HAS_ROOM(HOST, STORES_OF_PUSH + 1) ->
		submitted++;
		alive[job] = 1;
		generation[job] = submitted;
		held_until_ended[job] = 1;
		store(HOST, JOB(job), submitted, PLAIN);
		USE_RESERVED;
		push(HOST, MESSAGE(SUBMIT, job), RELEASE_COMMAND_TAIL)
	}
}

/* overtake_job_cancel_locked(), FirmwareHost::request_cancel(). A cancel cannot fail. */
inline cancel(job)
{
	atomic {
		HAS_ROOM(HOST, STORES_OF_PUSH) ->
		cancel_requested[job] = 1;
		held_until_cancelled[job] = 1;
		USE_RESERVED_CANCEL;
		push(HOST, MESSAGE(CANCEL, job), RELEASE_COMMAND_TAIL)
	}
}

/* overtake_core_reset(), FirmwareHost::fail_core() */
inline reset()
{
	RESERVE(1);
	atomic {
		HAS_ROOM(HOST, STORES_OF_PUSH) ->
		resets++;
		USE_RESERVED;
		push(HOST, MESSAGE(RESET, 0), RELEASE_COMMAND_TAIL)
	}
}

/* overtake_job_put(): frees the job with its last reference. */
inline put(job)
{
#ifdef FREE_AT_ENDED
	if
	:: !held_until_ended[job] ->
#else
	if
	:: !held_until_ended[job] && !held_until_cancelled[job] ->
#endif
		alive[job] = 0;
		generation[job] = 0;
		held_until_cancelled[job] = 0;
		cancel_requested[job] = 0;
		told_cancelled[job] = 0
	:: else
	fi
}

/* overtake_job_ended_locked(), FirmwareHost::end_job() */
inline job_ended(job)
{
	/* ENDED comes once */
	assert(held_until_ended[job]);
	LOAD_ONCE(first, FIRMWARE, JOB(job));
	/* the result is there with ENDED */
	assert(first == generation[job]);
	if
	:: cancel_requested[job]
	:: else -> UNRESERVE_CANCEL
	fi;
	held_until_ended[job] = 0;
	put(job)
}

/* OVT_EVENT_CANCELLED */
inline job_cancelled(job)
{
	/* CANCELLED comes once for each CANCEL */
	assert(held_until_cancelled[job]);
	held_until_cancelled[job] = 0;
	told_cancelled[job] = 1;
	put(job)
}

/* handle_event_locked(), FirmwareHost::deliver() */
inline handle_event(message)
{
	job = JOB_OF(message);
	/* the job of an event exists */
	assert(alive[job]);
	if
	:: TYPE(message) == STARTED || TYPE(message) == DONE || TYPE(message) == FAULT ->
		/* no event of an FC after ENDED, and no FC starts after CANCELLED */
		assert(held_until_ended[job]);
		assert(TYPE(message) != STARTED || !told_cancelled[job])
	:: TYPE(message) == ENDED -> job_ended(job)
	:: TYPE(message) == CANCELLED -> job_cancelled(job)
	fi;
	job = 0
}

#define CAN_CANCEL(job)	(held_until_ended[job] && !cancel_requested[job])

proctype host()
{
	byte first, second, expected, job, count;
	byte at;		/* index of the slot being read */
	bit ahead;		/* the head was stored before the slot was read */
	bit early;		/* the slot was read before the tail was */

	do
	:: atomic { MAY_ENTER && submitted < SUBMISSIONS && IS_FREE(0) &&
		    MAY_RESERVE(SLOTS_OF_JOB) -> ENTER };
	   MAYBE_FILL_COMMAND(MESSAGE(SUBMIT, 0), SLOTS_OF_JOB);
	   submit(0);
	   leave(HOST)
	:: atomic { MAY_ENTER && submitted < SUBMISSIONS && !IS_FREE(0) && IS_FREE(1) &&
		    MAY_RESERVE(SLOTS_OF_JOB) -> ENTER };
	   MAYBE_FILL_COMMAND(MESSAGE(SUBMIT, 1), SLOTS_OF_JOB);
	   submit(1);
	   leave(HOST)
	:: atomic { MAY_ENTER && resets < RESETS && MAY_RESERVE(1) -> ENTER };
	   MAYBE_FILL_COMMAND(MESSAGE(RESET, 0), 1);
	   reset();
	   leave(HOST)
	:: atomic { MAY_ENTER && CAN_CANCEL(0) -> ENTER };
	   cancel(0);
	   leave(HOST)
	:: atomic { MAY_ENTER && CAN_CANCEL(1) -> ENTER };
	   cancel(1);
	   leave(HOST)
#ifdef READ_EVENTS_EARLY
	:: atomic { MAY_ENTER && !early -> early = 1; at = head[FIRMWARE] };
	   read_slot(FIRMWARE)
#endif
	:: atomic { MAY_ENTER && !IS_EMPTY(FIRMWARE) -> ENTER; at = head[FIRMWARE] };
	   MAYBE_CONSUME_EVENT;
	   read_slot_once(FIRMWARE);
	   atomic {
		check_slot(FIRMWARE);
		consume_once(FIRMWARE, RELEASE_EVENT_HEAD);
		handle_event(first);
		first = 0
	   };
	   leave(HOST)
	:: submitted == SUBMISSIONS && IS_FREE(0) && IS_FREE(1) &&
	   empty(published[HOST]) && empty(published[FIRMWARE]) -> break
	od;

	/* When no step is left, every reservation has been returned. */
	atomic { timeout -> assert(NOTHING_RESERVED) }
}
