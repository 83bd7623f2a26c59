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

/* Flags are IORING_SETUP_*; entries in flight at most @entries. */
void ring_open(struct io_uring *ring, unsigned int entries, unsigned int flags);
/* The usual flags. */
void ring_open_default(struct io_uring *ring);
/*
 * A ring that may be closed with commands in flight.  A DEFER_TASKRUN ring may be too, but Linux
 * 6.12 with lockdep then warns of io_uring's own clean-up, wrongly.
 */
void ring_open_to_abandon(struct io_uring *ring);

/* An SQE for @op with @payload; not submitted yet.  The tag of a job is its user_data. */
struct io_uring_sqe *ring_prepare(struct io_uring *ring, int fd, uint32_t op, const void *payload,
				  size_t size, uint64_t user_data);
void ring_submit_job(struct io_uring *ring, const struct client *client, const struct job *job);
void ring_cancel_job(struct io_uring *ring, const struct client *client, uint64_t tag,
		     uint64_t user_data);
/* Waits for the next one, for at most 60 s. */
struct completion ring_reap(struct io_uring *ring);
bool ring_is_empty(struct io_uring *ring);

#endif
