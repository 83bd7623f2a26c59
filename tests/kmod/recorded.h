/* SPDX-License-Identifier: MIT */
/* Jobs that are recorded once and replayed. */
#ifndef KMOD_RECORDED_H
#define KMOD_RECORDED_H

#include "device.h"
#include "ring.h"

/* RECORD of @job without its last binding, as @recording says besides; the pointers are the job's. */
int job_record(const struct client *client, const struct job *job,
	       struct drm_overtake_record *recording);
/* A recording of @job with @instances, or the end of the test case. */
uint32_t recording_of(const struct client *client, const struct job *job, uint32_t instances);
int recording_forget(const struct client *client, uint32_t id);

/* A replay, and the binding that it brings: of the client's data, until a test changes it. */
struct replay {
	struct drm_overtake_replay args;
	struct overtake_binding binding;
};

/* Holds a pointer into itself. */
void replay_init(struct replay *replay, const struct client *client, uint32_t recording,
		 uint64_t tag);
int replay_submit(const struct client *client, struct replay *replay);
/* An SQE for it; not submitted yet.  Its tag is its user_data. */
void replay_prepare(struct io_uring *ring, const struct client *client,
		    const struct replay *replay);
void replay_ring_submit(struct io_uring *ring, const struct client *client,
			const struct replay *replay);

#endif
