/* SPDX-License-Identifier: MIT */
/* What is made to fail, one failure at a time, until it succeeds without one. */
#ifndef KMOD_FAIL_NTH_OPERATIONS_H
#define KMOD_FAIL_NTH_OPERATIONS_H

#include <liburing.h>

#include "dma_buf.h"

/* What an operation works on; a new one for each attempt. */
struct subject {
	struct client client;
	struct buffer extra;	/* made by some operations' prepare() */
	struct io_uring ring;
	bool has_ring;
	int other;		/* a second file, a dma-buf or a sync_file; -1 if none */
	uint32_t syncobjs[2];
	struct job job;
	struct sync_chain chain;
	struct overtake_fc *fcs;	/* where the job's own table is too small */
	unsigned long variant;
};

/* In a variant: memory that Linux itself fails to get for this call is EINVAL to it. */
#define LINUX_SAYS_EINVAL	(1ul << 31)

/**
 * struct operation - what is made to fail
 * @name: in reports
 * @prepare: what comes before it, without failures; may be NULL
 * @run: 0 or -errno; system calls only, as anything in between could fail too
 * @variant: for both, of which there are several operations
 */
struct operation {
	const char *name;
	void (*prepare)(struct subject *subject);
	int (*run)(struct subject *subject);
	unsigned long variant;
};

/* Each ended by an entry without a name. */
extern const struct operation file_operations[];
extern const struct operation buffer_operations[];
extern const struct operation job_operations[];
extern const struct operation ring_operations[];
extern const struct operation share_operations[];
extern const struct operation whole_operations[];
extern const struct operation task_operations[];
extern const struct operation group_operations[];
extern const struct operation record_operations[];

/* Hands in the ring's one command and waits for it; -EAGAIN if the ring did not take it. */
int subject_run_ring(struct subject *subject);
/* Closes the client's file. */
int subject_run_close(struct subject *subject);

#endif
