/* SPDX-License-Identifier: MIT */
/*
 * The protocol between a host and the firmware, for SPIN; tests/protocol/run checks it.
 *
 *	memory.pml	store buffers: when a store is seen
 *	early.pml	when a load is performed, where a barrier is left out
 *	lock.pml	the device lock
 *	queue.pml	command and event queue; queue_accesses.py says which barriers the code has
 *	reservation.pml	who may queue a command
 *	firmware.pml	jobs, FCs, cancel, reset, events
 *	host.pml	submission, cancel, reset, and when a job's memory is freed
 *
 * What must hold stands where it is checked, as assert(). No deadlock: SPIN finds states from which
 * nothing goes on that carry no label "end". No endless run: the host's actions are counted, and
 * each other step uses up something that they made.
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

/* Sizes; 3 entries are none: a queue has a power of two. */
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
#define STORES		4	/* of a store buffer: one submission */
#endif
#define JOBS		2	/* pieces of memory for jobs */
#define FCS		2	/* of a job */

/* A message, of one byte: what, and which job. */
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

/* Checked, not part of the protocol: whether a job's memory is allocated, and for which submission. */
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
