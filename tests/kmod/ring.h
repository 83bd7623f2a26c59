/* SPDX-License-Identifier: MIT */
/* The io_uring backend: 128-byte SQEs, 32-byte CQEs, one command at a time. */
#ifndef KMOD_RING_H
#define KMOD_RING_H

#include <liburing.h>

#include "device.h"

struct completion {
	uint64_t user_data;
	int32_t status;
	uint64_t executed_ns;
};

/* Opens a ring with flags IORING_SETUP_* and room for @entries commands in flight. */
void ring_open(struct io_uring *ring, unsigned int entries, unsigned int flags);
/* Opens a ring with the usual flags. */
void ring_open_default(struct io_uring *ring);
/*
 * Opens a ring that may be closed with commands in flight.  A DEFER_TASKRUN ring may be closed so,
 * too, but Linux 6.12 with lockdep then warns, wrongly, of io_uring's own clean-up.
 */
void ring_open_to_abandon(struct io_uring *ring);

/* Prepares an SQE for @op with @payload, without submitting it.  A job's tag is its user_data. */
struct io_uring_sqe *ring_prepare(struct io_uring *ring, int fd, uint32_t op, const void *payload,
				  size_t size, uint64_t user_data);
void ring_submit_job(struct io_uring *ring, const struct client *client, const struct job *job);
void ring_cancel_job(struct io_uring *ring, const struct client *client, uint64_t tag,
		     uint64_t user_data);
/* Waits for the next completion, for at most 60 s. */
struct completion ring_reap(struct io_uring *ring);
bool ring_is_empty(struct io_uring *ring);

#endif
