/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a client may ask for: the rules by which every host takes a job, or refuses it.
 *
 * Pure functions: no lock, no look-up, no allocation.  Each answers with a reason and, where there
 * are several of a kind, with the index of the FC or the binding that is wrong.  A host asks in
 * this order and refuses for the first reason, so a job with two mistakes is refused for the same
 * one everywhere:
 *
 *	ovt_check_submit()	its fields by themselves, then those that have a limit
 *	ovt_check_right()	its priority, once its queue is known
 *	ovt_check_fcs()		its FCs, once they are a copy
 *	for each binding
 *		ovt_check_binding()	by itself, and beside those before it
 *		ovt_check_memory()	and what the host found at its address
 *	ovt_check_result()	where its result record goes
 *	ovt_check_placement()	the cores that it leaves open, if it names several
 *	ovt_check_group()	a group by itself, then ovt_check_parts() and
 *				ovt_check_stages(), once they are copies (host/group_rules.h)
 *	ovt_check_room()	its tag, and the room that is left, under the host's lock
 *
 * A host may run out of memory, or of what its client may have, between two of them.
 *
 * The errno of each reason is interface (overtake_accel.h).
 */
#ifndef OVT_HOST_JOB_RULES_H
#define OVT_HOST_JOB_RULES_H

#include <ovt_port.h>
#include "overtake_accel.h"

enum ovt_refusal {
	OVT_ACCEPTED,

	OVT_REFUSED_FLAGS,		/* a flag of the submission that is not defined */
	OVT_REFUSED_DEADLINE,		/* negative */
	OVT_REFUSED_NO_FC,
	OVT_REFUSED_NO_BINDING,
	OVT_REFUSED_CORE,		/* the device has none of that number */
	OVT_REFUSED_PRIORITY,		/* above 255 */
	OVT_REFUSED_RESULT_ALIGNMENT,
	OVT_REFUSED_FCS,		/* too many */
	OVT_REFUSED_BINDINGS,		/* too many */
	OVT_REFUSED_SCRATCH,		/* too much */
	OVT_REFUSED_RIGHT,		/* a priority above its queue's */

	OVT_REFUSED_EMPTY_FC,		/* index: the FC */
	OVT_REFUSED_REGION,		/* no such region; index: the binding, from here on */
	OVT_REFUSED_BOUND_SCRATCH,	/* names the region that the device provides */
	OVT_REFUSED_BOUND_TWICE,	/* a region that a binding before it has */
	OVT_REFUSED_LENGTH,		/* 0 */
	OVT_REFUSED_ACCESS,		/* neither READ nor READ and WRITE */
	OVT_REFUSED_MEMORY,		/* no buffer holds all of it */
	OVT_REFUSED_READ_ONLY,		/* a buffer mapped for reading, to be written */

	/* No index any more. */
	OVT_REFUSED_RESULT_MEMORY,	/* no buffer holds the result record */
	OVT_REFUSED_RESULT_READ_ONLY,	/* one that is mapped for reading does */
	OVT_REFUSED_PLACEMENT,		/* one core asked for, and a choice of several */
	OVT_REFUSED_OPEN_CORES,		/* a choice of none, or of one that the device has not */

	OVT_REFUSED_GROUP_CORE,		/* a group names a core, or a choice of cores */
	OVT_REFUSED_PARTS,		/* none, or more than the device has cores */
	OVT_REFUSED_NO_STAGE,
	OVT_REFUSED_STAGES,		/* too many */
	OVT_REFUSED_RECORD_ALIGNMENT,
	OVT_REFUSED_PART_FCS,		/* none; index: the part */
	OVT_REFUSED_PART_SUM,		/* the parts have not as many FCs as the job */
	OVT_REFUSED_PART_CORE,		/* the device has none of that number; index: the part */
	OVT_REFUSED_PART_CORES,		/* some name a core, some none; index: the first other */
	OVT_REFUSED_PART_TWICE,		/* the core of a part before it; index: the part */
	OVT_REFUSED_PART_OF_TASK,	/* a part of a task names a core; index: the part */
	OVT_REFUSED_FC_STAGE,		/* below that of the FC before, or too great; index: FC */
	OVT_REFUSED_EMPTY_STAGE,	/* no FC is in it; index: the stage */

	OVT_REFUSED_NO_INSTANCE,	/* a recording of no instance */
	OVT_REFUSED_INSTANCES,		/* too many of a recording */
	OVT_REFUSED_RECORDINGS,		/* too many of a queue */
	OVT_REFUSED_NO_RECORDING,	/* a replay of one that the queue has not */
	OVT_REFUSED_PARTS_OF_RECORD,	/* a replay with other parts than were recorded */
	OVT_REFUSED_BUSY,		/* all instances are in flight */

	OVT_REFUSED_TAG,		/* in use */
	OVT_REFUSED_QUEUE_FULL,		/* too many jobs in its queue */
	OVT_REFUSED_CLIENT_FULL,	/* too many jobs of its client */
	OVT_REFUSED_DEVICE_FULL,	/* too many jobs of all clients */

	OVT_REFUSED_QUEUE_PRIORITY,	/* a queue for priorities above 255 */
	OVT_REFUSED_QUEUE_LIMIT,	/* a queue with a core limit and no right to 255 */
	OVT_REFUSED_QUEUES,		/* too many queues */
	OVT_REFUSED_NO_BYTES,		/* a buffer of no size */
	OVT_REFUSED_BUFFER_BYTES,	/* a buffer that is too large */

	OVT_REFUSAL_COUNT
};

struct ovt_verdict {
	enum ovt_refusal reason;
	u32 index;			/* 0 where the reason says nothing of it */
};

/* The errno of a refusal, negative; 0 for OVT_ACCEPTED. */
s32 ovt_refusal_error(enum ovt_refusal reason);

/* The OVERTAKE_LIMIT_* that refused, OVERTAKE_LIMIT_COUNT if it was none. */
u32 ovt_refusal_limit(enum ovt_refusal reason);

/*
 * ovt_check_submit - what can be said of a submission without looking anything up
 * @cores: how many the device has
 *
 * Not of @extensions: those are the host's.
 */
struct ovt_verdict ovt_check_submit(const struct drm_overtake_submit *job, u32 cores);

/* @max_priority: what the job's queue was created for. */
struct ovt_verdict ovt_check_right(const struct drm_overtake_submit *job, u32 max_priority);

struct ovt_verdict ovt_check_fcs(const struct overtake_fc *fcs, u32 count);

/*
 * ovt_check_binding - one binding of a job
 * @index: its place, from 0
 * @bound: regions that are bound, one bit each: 0 before the first; grows by this one's
 */
struct ovt_verdict ovt_check_binding(const struct overtake_binding *binding, u32 index, u32 *bound);

/*
 * ovt_check_memory - what a host found at a binding's address
 * @mapped: OVERTAKE_MAP_* of the buffer that holds the whole binding; 0: there is none
 */
struct ovt_verdict ovt_check_memory(const struct overtake_binding *binding, u32 index, u32 mapped);

/* The same for the result record. */
struct ovt_verdict ovt_check_result(u32 mapped);

/* @open_cores: bit k - 1: core k may take the job; @cores: how many the device has. */
struct ovt_verdict ovt_check_placement(const struct drm_overtake_submit *job, u64 open_cores,
				       u32 cores);

/*
 * True if [@address, @address + @length) lies in the buffer of @size bytes at @begin.  @length is
 * at least 1; no sum is formed that could overflow.
 */
bool ovt_range_is_inside(u64 address, u64 length, u64 begin, u64 size);

/*
 * ovt_check_room - the last rule, of a job that is right by itself
 * @tag_in_use: a job of its queue has its tag and was not collected
 * @queue_jobs: jobs of its queue, in flight or not collected
 * @client_jobs: the same of all queues of its client
 */
struct ovt_verdict ovt_check_room(bool tag_in_use, u32 queue_jobs, u32 client_jobs);

/* A queue that is to be created.  Whether its client has the right to 255 is the host's to know. */
struct ovt_verdict ovt_check_queue(u32 max_priority, u32 core_limit);

/* A buffer that is to be created. */
struct ovt_verdict ovt_check_buffer(u64 bytes);

#endif
