/* SPDX-License-Identifier: MIT */
/*
 * The firmware: firmware-sim/fw/{fw,commands,job,ring}.c with one core and one ring.
 *
 * The protocol does not depend on time, priorities, ARRIVED and PREEMPTED (the hosts only report these
 * events), so the model leaves them out. An FC ends at any moment, and the firmware takes its steps in
 * any order.
 */

#define NO_JOB	JOBS

/* The firmware's part of struct ovt_fw_job and struct ovt_fw_core. */
byte request[JOBS];		/* the request that came with SUBMIT */
byte started[JOBS];		/* number of FCs */
bit queued[JOBS];		/* OVT_JOB_QUEUED */
bit cancelled[JOBS];
byte running = NO_JOB;
bit aborted;			/* exec.abort */
chan ring = [JOBS] of { byte };	/* jobs with FCs to start, in order */

/* Accompanies every access of the firmware to a job. */
inline touch(job)
{
	/* no access to a job after it was freed */
	assert(alive[job])
}

/* fc_event(), job_event() */
inline send(type, job)
{
	HAS_ROOM(FIRMWARE, STORES_OF_PUSH);
	push(FIRMWARE, MESSAGE(type, job), RELEASE_EVENT_TAIL)
}

/* end_job(): the result, then ENDED */
inline end_job(job)
{
	HAS_ROOM(FIRMWARE, STORES_OF_PUSH + 1);
	touch(job);
	/* each job ends once */
	assert(queued[job]);
	store(FIRMWARE, JOB(job), request[job], PLAIN);
	push(FIRMWARE, MESSAGE(ENDED, job), RELEASE_EVENT_TAIL);
	queued[job] = 0;
	request[job] = 0;
	started[job] = 0;
	cancelled[job] = 0
}

/* ovt_job_drop_waiting() */
inline drop_waiting(job)
{
	if
	:: ring??[eval(job)] -> ring??eval(job)
	:: else
	fi
}

/* ovt_job_arrive() */
inline arrive(job)
{
	touch(job);
	LOAD_ONCE(request[job], HOST, JOB(job));
	/* the job is complete when the firmware sees its SUBMIT */
	assert(request[job] == generation[job]);
	/* a job is submitted once */
	assert(!queued[job]);
	queued[job] = 1;
	ring!job
}

#ifdef CANCEL_ENDS_AGAIN
#define CAN_BE_CANCELLED(job)	(!cancelled[job])
#else
#define CAN_BE_CANCELLED(job)	(queued[job] && !cancelled[job])
#endif

/* cancel_command(), ovt_job_cancel(): the job may have ended already. */
inline cancel_job(job)
{
	touch(job);
	if
	:: CAN_BE_CANCELLED(job) ->
		cancelled[job] = 1;
#ifndef CANCEL_LEAVES_WAITING
		drop_waiting(job);
#endif
		if
		:: running != job -> end_job(job)
		:: else
		fi
	:: else
	fi;
	send(CANCELLED, job)
}

/* reset_core(), ovt_fw_abort() */
inline reset_core()
{
	aborted = (running != NO_JOB)
}

/* ovt_fw_run_command() */
inline run_command(message)
{
	job = JOB_OF(message);
	if
	:: TYPE(message) == SUBMIT -> arrive(job)
	:: TYPE(message) == CANCEL -> cancel_job(job)
	:: TYPE(message) == RESET -> reset_core()
	fi;
	job = 0
}

/* retire(), note_fault(), ovt_job_fc_ended() */
inline retire(job)
{
	touch(job);
	if
	:: aborted -> send(FAULT, job); drop_waiting(job)
	:: else -> send(DONE, job)
	fi;
	running = NO_JOB;
	if
	:: aborted || cancelled[job] || started[job] == FCS -> end_job(job)
	:: else
	fi;
	aborted = 0
}

/* choose(), start_fc() */
inline start_fc(job)
{
	/* a cancelled job starts no other FC */
	assert(queued[job] && !cancelled[job]);
	touch(job);
	started[job]++;
	if
	:: started[job] == FCS -> ring?_
	:: else
	fi;
	running = job;
	send(STARTED, job)
}

/* ovt_fw_advance(), one action at a time: run_commands(), retire_ended(), choose_idle() */
proctype firmware()
{
	byte first, second, expected, job, count;
	byte at;		/* index of the slot being read */
	bit ahead;		/* the head was stored before the slot was read */
	bit early;		/* the slot was read before the tail was */

end_idle:
	do
#ifdef READ_COMMANDS_EARLY
	:: atomic { MAY_ENTER && !early -> early = 1; at = head[HOST] };
	   read_slot(HOST)
#endif
	:: atomic { MAY_ENTER && !IS_EMPTY(HOST) && HAS_EVENT_ROOM -> ENTER; at = head[HOST] };
	   MAYBE_CONSUME_COMMAND;
	   read_slot_once(HOST);
	   atomic {
		check_slot(HOST);
		run_command(first);
		first = 0;
		consume_once(HOST, RELEASE_COMMAND_HEAD)
	   };
	   GIVE_BACK_CONSUMED;
	   leave(FIRMWARE)
	:: atomic { MAY_ENTER && running != NO_JOB && MAY_SEND -> ENTER; job = running };
	   MAYBE_FILL_EVENT(MESSAGE((aborted -> FAULT : DONE), job));
	   atomic { retire(job); job = 0 };
	   leave(FIRMWARE)
	:: atomic { MAY_ENTER && running == NO_JOB && nempty(ring) && MAY_SEND ->
		    ENTER; ring?<job> };
	   MAYBE_FILL_EVENT(MESSAGE(STARTED, job));
	   atomic { start_fc(job); job = 0 };
	   leave(FIRMWARE)
	od
}
