// SPDX-License-Identifier: MIT
#include "ring.h"

#include <errno.h>
#include <string.h>

#include "check.h"

void ring_open(struct io_uring *ring, unsigned int entries, unsigned int flags)
{
	int ret = io_uring_queue_init(entries, ring, flags);

	check_message(!ret, "io_uring_queue_init: %s", strerror(-ret));
}

void ring_open_default(struct io_uring *ring)
{
	ring_open(ring, 128, IORING_SETUP_SQE128 | IORING_SETUP_CQE32 |
		  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
}

void ring_open_to_abandon(struct io_uring *ring)
{
	ring_open(ring, 128, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
}

struct io_uring_sqe *ring_prepare(struct io_uring *ring, int fd, uint32_t op, const void *payload,
				  size_t size, uint64_t user_data)
{
	bool large = ring->flags & IORING_SETUP_SQE128;
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	check(sqe);
	memset(sqe, 0, large ? 128 : 64);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = op;
	sqe->user_data = user_data;
	memcpy((char *)sqe + 48, payload, large || size < 16 ? size : 16);
	return sqe;
}

void ring_submit_job(struct io_uring *ring, const struct client *client, const struct job *job)
{
	ring_prepare(ring, client->fd, OVERTAKE_URING_SUBMIT, &job->submit, sizeof(job->submit),
		     job->submit.tag);
	check_equal(io_uring_submit(ring), 1);
}

void ring_cancel_job(struct io_uring *ring, const struct client *client, uint64_t tag,
		     uint64_t user_data)
{
	struct drm_overtake_cancel cancel = { .tag = tag, .context_id = client->context };

	ring_prepare(ring, client->fd, OVERTAKE_URING_CANCEL, &cancel, sizeof(cancel), user_data);
	check_equal(io_uring_submit(ring), 1);
}

struct completion ring_reap(struct io_uring *ring)
{
	struct __kernel_timespec timeout = { .tv_sec = 60 };
	struct completion completion = { 0 };
	struct io_uring_cqe *cqe;
	int ret;

	do {
		ret = io_uring_wait_cqe_timeout(ring, &cqe, &timeout);
	} while (ret == -EINTR);
	check_message(!ret, "no completion: %s", strerror(-ret));
	completion.user_data = cqe->user_data;
	completion.status = cqe->res;
	if (ring->flags & IORING_SETUP_CQE32)
		completion.executed_ns = cqe->big_cqe[0];
	io_uring_cqe_seen(ring, cqe);
	return completion;
}

bool ring_is_empty(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	io_uring_get_events(ring);
	return io_uring_peek_cqe(ring, &cqe) == -EAGAIN;
}
