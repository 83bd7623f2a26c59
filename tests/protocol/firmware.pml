/* SPDX-License-Identifier: MIT */
/*
 * The firmware: firmware-sim/fw/{fw,job,ring}.c with one core and one ring.
 *
 * Left out, because the protocol with the host does not turn on it: time (an FC ends at any moment,
 * and the firmware takes its steps in any order), priorities, ARRIVED and PREEMPTED, which no
 * host acts on.
 */

#define NO_JOB	JOBS

/* The firmware's part of struct ovt_fw_job and struct ovt_fw_core. */
byte request[JOBS];		/* what SUBMIT's job asks for */
byte started[JOBS];		/* FCs */
bit queued[JOBS];		/* OVT_JOB_QUEUED */
bit cancelled[JOBS];
byte running = NO_JOB;
bit aborted;			/* exec.abort */
chan ring = [JOBS] of { byte };	/* jobs with FCs to start, in order */

/* Goes with every access of the firmware to a job. */
inline touch(job)
{
	/* no touch of a job after it was freed */
	assert(alive[job])
}

/* fc_event(), job_event() */
inline send(type, job)
{
	atomic {
		HAS_ROOM(FIRMWARE, STORES_OF_PUSH) ->
		touch(job);
		push(FIRMWARE, MESSAGE(type, job), RELEASE_EVENT_TAIL)
	}
}

/* ovt_job_end(): the result, then ENDED */
inline end_job(job)
{
	atomic {
		HAS_ROOM(FIRMWARE, STORES_OF_PUSH + 1) ->
		touch(job);
		/* each job ends once */
		assert(queued[job]);
		queued[job] = 0;
		store(FIRMWARE, JOB(job), request[job], PLAIN);
		push(FIRMWARE, MESSAGE(ENDED, job), RELEASE_EVENT_TAIL);
		request[job] = 0;
		started[job] = 0;
		cancelled[job] = 0
	}
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
	atomic {
		touch(job);
		LOAD_ONCE(request[job], HOST, JOB(job));
		/* the job is complete when its SUBMIT is seen */
		assert(request[job] == generation[job]);
		/* and is submitted once */
		assert(!queued[job]);
		queued[job] = 1;
		ring!job
	}
}

/* cancel_command(), ovt_job_cancel(): the job may have ended before. */
inline cancel_job(job)
{
	atomic {
		touch(job);
		if
		:: queued[job] && !cancelled[job] ->
			cancelled[job] = 1;
			drop_waiting(job);
			ends = (running != job)
		:: else
		fi
	};
	if
	:: ends -> end_job(job); ends = 0
	:: else
	fi;
	send(CANCELLED, job)
}

/* reset_core(), ovt_fw_abort() */
inline reset_core()
{
	aborted = (running != NO_JOB)
}

/* run_command() */
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

/* ovt_fw_consume_command() */
inline consume_command()
{
	atomic {
		HAS_ROOM(FIRMWARE, 1) ->
		consume(HOST, RELEASE_COMMAND_HEAD)
	};
	GIVE_BACK_CONSUMED
}

/* retire(), end_faulty_job() */
inline retire(job)
{
	if
	:: aborted -> send(FAULT, job)
	:: else -> send(DONE, job)
	fi;
	atomic {
		touch(job);
		if
		:: aborted -> drop_waiting(job)
		:: else
		fi;
		ends = (aborted || cancelled[job] || started[job] == FCS);
		running = NO_JOB;
		aborted = 0
	};
	if
	:: ends -> end_job(job); ends = 0
	:: else
	fi
}

/* choose(), start_fc() */
inline start_fc(job)
{
	atomic {
		touch(job);
		/* a cancelled job starts no other FC */
		assert(queued[job] && !cancelled[job]);
		started[job]++;
		running = job;
		if
		:: started[job] == FCS -> ring?_
		:: else
		fi
	};
	send(STARTED, job)
}

/* ovt_fw_advance(), one action at a time: run_commands(), retire_ended(), choose_idle() */
proctype firmware()
{
	byte first, second, expected, job, count;
	byte at;		/* index of the slot being read */
	bit ahead;		/* the head was stored before the slot was read */
	bit early;		/* the slot was read before the tail */
	bit ends;		/* the job does */

end_idle:
	do
#ifdef READ_COMMANDS_EARLY
	:: atomic { MAY_ENTER && !early -> early = 1; ENTER; at = head[HOST] };
	   read_slot(HOST);
	   leave(FIRMWARE)
#endif
	:: atomic { MAY_ENTER && !IS_EMPTY(HOST) && HAS_EVENT_ROOM -> ENTER; at = head[HOST] };
	   MAYBE_CONSUME_COMMAND;
	   receive(HOST);
	   run_command(first);
	   first = 0;
	   if
	   :: ahead -> ahead = 0
	   :: else -> consume_command()
	   fi;
	   leave(FIRMWARE)
	:: atomic { MAY_ENTER && running != NO_JOB && MAY_SEND -> ENTER; job = running };
	   MAYBE_FILL_EVENT(MESSAGE((aborted -> FAULT : DONE), job));
	   retire(job);
	   job = 0;
	   leave(FIRMWARE)
	:: atomic { MAY_ENTER && running == NO_JOB && nempty(ring) && MAY_SEND -> ENTER; ring?<job> };
	   MAYBE_FILL_EVENT(MESSAGE(STARTED, job));
	   start_fc(job);
	   job = 0;
	   leave(FIRMWARE)
	od
}
