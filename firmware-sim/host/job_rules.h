/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The rules by which every host accepts or refuses a job.
 *
 * Pure functions: no lock, no look-up, no allocation.  Each returns a reason and, where there
 * are several of a kind, the index of the FC or the binding that is wrong.  A host calls them in
 * this order and refuses for the first reason, so a job with two mistakes is refused for the same
 * one everywhere:
 *
 *	ovt_check_submit()	fields of the job by themselves, then those that have a limit
 *	ovt_check_right()	its priority, once its queue is known
 *	ovt_check_fcs()		its FCs, once they are a copy
 *	for each binding
 *		ovt_check_binding()	by itself, and beside those before it
 *		ovt_check_memory()	the buffer that the host found at its address
 *	ovt_check_result()	the memory of its result record
 *	ovt_check_placement()	the cores that it leaves open, if it names several
 *	ovt_check_group()	a group by itself, then ovt_check_parts() and
 *				ovt_check_stages(), once they are copies (host/group_rules.h)
 *	ovt_check_room()	its tag, and the room that is left, under the host's lock
 *
 * Between two checks a host may run out of memory, or its client may reach a limit.
 *
 * The errno of each reason is interface (overtake_accel.h).
 */
#ifndef OVT_HOST_JOB_RULES_H
#define OVT_HOST_JOB_RULES_H

#include <ovt_port.h>
#include "overtake_accel.h"

enum ovt_refusal {
	OVT_ACCEPTED,

	OVT_REFUSED_FLAGS,		/* an undefined flag, or a field that must be 0 is not */
	OVT_REFUSED_DEADLINE,		/* negative */
	OVT_REFUSED_NO_FC,
	OVT_REFUSED_NO_BINDING,
	OVT_REFUSED_CORE,		/* the device has no core of that number */
	OVT_REFUSED_PRIORITY,		/* above 255 */
	OVT_REFUSED_RESULT_ALIGNMENT,
	OVT_REFUSED_FCS,		/* too many */
	OVT_REFUSED_BINDINGS,		/* too many */
	OVT_REFUSED_SCRATCH,		/* too much */
	OVT_REFUSED_RIGHT,		/* a priority above its queue's */

	OVT_REFUSED_EMPTY_FC,		/* index: the FC */
	OVT_REFUSED_REGION,		/* no such region; index: the binding, from here on */
	OVT_REFUSED_BOUND_SCRATCH,	/* names the region that the device provides */
	OVT_REFUSED_BOUND_TWICE,	/* a region that an earlier binding has */
	OVT_REFUSED_LENGTH,		/* 0 */
	OVT_REFUSED_ACCESS,		/* neither READ nor READ and WRITE */
	OVT_REFUSED_MEMORY,		/* no buffer holds all of it */
	OVT_REFUSED_READ_ONLY,		/* a buffer mapped for reading, to be written */

	/* No index from here on, unless the comment names one. */
	OVT_REFUSED_RESULT_MEMORY,	/* no buffer holds the result record */
	OVT_REFUSED_RESULT_READ_ONLY,	/* a buffer that is mapped for reading holds it */
	OVT_REFUSED_PLACEMENT,		/* the job names a core, and a choice of several */
	OVT_REFUSED_OPEN_CORES,		/* a choice of no core, or of one that the device lacks */

	OVT_REFUSED_GROUP_CORE,		/* a group names a core, or a choice of cores */
	OVT_REFUSED_PARTS,		/* none, or more than the device has cores */
	OVT_REFUSED_NO_STAGE,
	OVT_REFUSED_STAGES,		/* too many */
	OVT_REFUSED_RECORD_ALIGNMENT,
	OVT_REFUSED_PART_FCS,		/* a part without an FC; index: the part */
	OVT_REFUSED_PART_SUM,		/* the parts have not as many FCs as the job */
	OVT_REFUSED_PART_CORE,		/* the device has no such core; index: the part */
	OVT_REFUSED_PART_CORES,		/* not as part 0, which names a core or none; index: part */
	OVT_REFUSED_PART_TWICE,		/* it names an earlier part's core; index: the part */
	OVT_REFUSED_PART_OF_TASK,	/* a part of a task names a core; index: the part */
	OVT_REFUSED_FC_STAGE,		/* below that of the FC before, or too great; index: FC */
	OVT_REFUSED_EMPTY_STAGE,	/* no FC is in it; index: the stage */

	OVT_REFUSED_NO_INSTANCE,	/* a recording of no instance */
	OVT_REFUSED_INSTANCES,		/* too many instances of a recording */
	OVT_REFUSED_RECORDINGS,		/* too many recordings of a queue */
	OVT_REFUSED_NO_RECORDING,	/* a replay of a recording that the queue lacks */
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
	u32 index;			/* 0 for a reason without an index */
};

/* Returns the errno of a refusal, negative; 0 for OVT_ACCEPTED. */
s32 ovt_refusal_error(enum ovt_refusal reason);

/* Returns the OVERTAKE_LIMIT_* that refused, or OVERTAKE_LIMIT_COUNT if no limit did. */
u32 ovt_refusal_limit(enum ovt_refusal reason);

/*
 * ovt_check_submit - check all of a submission that needs no look-up
 * @cores: number of cores of the device
 *
 * The host checks @extensions itself.
 */
struct ovt_verdict ovt_check_submit(const struct drm_overtake_submit *job, u32 cores);

/* @max_priority: greatest priority for which the job's queue was created. */
struct ovt_verdict ovt_check_right(const struct drm_overtake_submit *job, u32 max_priority);

struct ovt_verdict ovt_check_fcs(const struct overtake_fc *fcs, u32 count);

/*
 * ovt_check_binding - check one binding of a job
 * @index: its place, from 0
 * @bound: regions that are bound, a bit for each, 0 before the first; this call adds its region
 */
struct ovt_verdict ovt_check_binding(const struct overtake_binding *binding, u32 index, u32 *bound);

/*
 * ovt_check_memory - check the buffer that a host found at a binding's address
 * @mapped: OVERTAKE_MAP_* of the buffer that holds the whole binding; 0: there is none
 */
struct ovt_verdict ovt_check_memory(const struct overtake_binding *binding, u32 index, u32 mapped);

/* Checks the buffer that the host found at the address of the result record. */
struct ovt_verdict ovt_check_result(u32 mapped);

/* @open_cores: bit k - 1: core k may take the job.  @cores: number of cores of the device. */
struct ovt_verdict ovt_check_placement(const struct drm_overtake_submit *job, u64 open_cores,
				       u32 cores);

/*
 * Returns true if [@address, @address + @length) lies in the buffer of @size bytes at @begin.
 * @length is at least 1; no sum can overflow.
 */
bool ovt_range_is_inside(u64 address, u64 length, u64 begin, u64 size);

/*
 * ovt_check_room - check the room for a job that has passed all other rules
 * @tag_in_use: a job of its queue has its tag and was not collected
 * @queue_jobs: jobs of its queue, in flight or not collected
 * @client_jobs: jobs of all queues of its client
 */
struct ovt_verdict ovt_check_room(bool tag_in_use, u32 queue_jobs, u32 client_jobs);

/* Checks a queue that is to be created.  The host checks whether its client has a right to 255. */
struct ovt_verdict ovt_check_queue(u32 max_priority, u32 core_limit);

/* Checks a buffer that is to be created. */
struct ovt_verdict ovt_check_buffer(u64 bytes);

#endif
