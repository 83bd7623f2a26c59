/* SPDX-License-Identifier: MIT */
/*
 * The protocol between a host and the firmware, for SPIN; tests/protocol/run checks it.
 *
 *	memory.pml	store buffers: when the other thread sees a store
 *	early.pml	when a load is performed if a barrier is left out
 *	lock.pml	the device lock
 *	queue.pml	command and event queue; queue_accesses.py finds the barriers of the code
 *	reservation.pml	slots of the command queue
 *	firmware.pml	jobs, FCs, cancel, reset, events
 *	host.pml	submission, cancel, reset, and when a job's memory is freed
 *
 * Each property is an assert() at the place where it must hold. Deadlocks: SPIN finds states without
 * a next step and without a label "end". Endless runs: none is possible, since the number of the
 * host's actions is bounded, and each other step consumes something that they made.
 */

#ifdef NO_BARRIERS
#define NO_RELEASE_COMMAND_TAIL
#define NO_ACQUIRE_COMMAND_TAIL
#define NO_RELEASE_COMMAND_HEAD
#define NO_ACQUIRE_COMMAND_HEAD
#define NO_RELEASE_EVENT_TAIL
#define NO_ACQUIRE_EVENT_TAIL
#define NO_RELEASE_EVENT_HEAD
#define NO_ACQUIRE_EVENT_HEAD
#endif

/* Sizes. SIZE is a power of two, as in the code. */
#ifndef SIZE
#define SIZE		2
#endif
#ifndef SUBMISSIONS
#define SUBMISSIONS	2
#endif
#ifndef RESETS
#define RESETS		1
#endif
#ifndef STORES
#define STORES		4	/* entries of a store buffer: one submission */
#endif
#define JOBS		2	/* pieces of memory for jobs */
#define FCS		2	/* of a job */

/* A message has one byte: its type and its job. */
#define SUBMIT		1
#define CANCEL		2
#define RESET		3
#define STARTED		4
#define DONE		5
#define FAULT		6
#define ENDED		7
#define CANCELLED	8
#define MESSAGE(type, job)	((type) * JOBS + (job))
#define TYPE(message)		((message) / JOBS)
#define JOB_OF(message)		((message) % JOBS)

/* Only for checks: whether a job's memory is allocated, and for which submission. */
bit alive[JOBS];
byte generation[JOBS];

#include "early.pml"
#include "memory.pml"
#include "lock.pml"
#include "queue.pml"
#include "reservation.pml"
#include "firmware.pml"
#include "host.pml"

init
{
	atomic {
		tail[HOST] = FIRST_INDEX;
		tail[FIRMWARE] = FIRST_INDEX;
		head[HOST] = FIRST_INDEX;
		head[FIRMWARE] = FIRST_INDEX;
		memory[HOST].word[TAIL] = FIRST_INDEX;
		memory[HOST].word[HEAD] = FIRST_INDEX;
		memory[FIRMWARE].word[TAIL] = FIRST_INDEX;
		memory[FIRMWARE].word[HEAD] = FIRST_INDEX;
		run memory_of(HOST);
		run memory_of(FIRMWARE);
		run firmware();
		run host()
	}
}
