/* SPDX-License-Identifier: MIT */
/* Operations that fail, one failure at a time, until they succeed without a failure. */
#ifndef KMOD_FAIL_NTH_OPERATIONS_H
#define KMOD_FAIL_NTH_OPERATIONS_H

#include <liburing.h>

#include "dma_buf.h"

/* The objects on which an operation works; new ones for each attempt. */
struct subject {
	struct client client;
	struct buffer extra;	/* made by some operations' prepare() */
	struct io_uring ring;
	bool has_ring;
	int other;		/* a second file, a dma-buf or a sync_file; -1 if none */
	uint32_t syncobjs[2];
	struct job job;
	struct sync_chain chain;
	struct overtake_fc *fcs;	/* used if the job's own table is too small */
	unsigned long variant;
};

/* Flag in a variant: if Linux itself gets no memory for this call, the call returns EINVAL. */
#define LINUX_SAYS_EINVAL	(1ul << 31)

/**
 * struct operation - an operation that is made to fail
 * @name: its name in reports
 * @prepare: prepares it, without failures; may be NULL
 * @run: runs it; returns 0 or -errno; only system calls, as anything in between could fail too
 * @variant: argument of both functions, which may have several operations
 */
struct operation {
	const char *name;
	void (*prepare)(struct subject *subject);
	int (*run)(struct subject *subject);
	unsigned long variant;
};

/* Each table ends with an entry without a name. */
extern const struct operation file_operations[];
extern const struct operation buffer_operations[];
extern const struct operation job_operations[];
extern const struct operation ring_operations[];
extern const struct operation share_operations[];
extern const struct operation whole_operations[];
extern const struct operation task_operations[];
extern const struct operation group_operations[];
extern const struct operation record_operations[];

/* Submits the ring's only command and waits for it; -EAGAIN if the ring did not take it. */
int subject_run_ring(struct subject *subject);
/* Closes the client's file. */
int subject_run_close(struct subject *subject);

#endif
