/* SPDX-License-Identifier: MIT */
/* Jobs that are recorded once and replayed. */
#ifndef KMOD_RECORDED_H
#define KMOD_RECORDED_H

#include "device.h"
#include "ring.h"

/* Records @job without its last binding; @recording has the other fields. */
int job_record(const struct client *client, const struct job *job,
	       struct drm_overtake_record *recording);
/* Makes a recording of @job with @instances; ends the test case if that fails. */
uint32_t recording_of(const struct client *client, const struct job *job, uint32_t instances);
int recording_forget(const struct client *client, uint32_t id);

/* A replay with its binding, which names the client's data until a test changes it. */
struct replay {
	struct drm_overtake_replay args;
	struct overtake_binding binding;
};

/* Initialises @replay, which holds a pointer into itself. */
void replay_init(struct replay *replay, const struct client *client, uint32_t recording,
		 uint64_t tag);
int replay_submit(const struct client *client, struct replay *replay);
/* Prepares an SQE for the replay, without submitting it.  Its user_data is the tag. */
void replay_prepare(struct io_uring *ring, const struct client *client,
		    const struct replay *replay);
void replay_ring_submit(struct io_uring *ring, const struct client *client,
			const struct replay *replay);

#endif
