// SPDX-License-Identifier: MIT
/*
 * A client that is a program of its own, built twice: like other tests, and for 32-bit processes.
 *
 *	kmod_client all			open device 0 and make every call there is
 *	kmod_client use FD CONTEXT PRIORITY TAG
 *					run a job on a file and a context that another process made
 *	kmod_client refused FD		check that FD is no open file of this process
 *
 * The exit status is 0, or 1 with the reason on standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <drm.h>

#include "check.h"
#include "dma_buf.h"

/* 64-bit clients and the driver are checked against the same sizes of structures. */
#define ABI_SIZE(structure, bytes) \
	_Static_assert(sizeof(struct structure) == (bytes), "size of " #structure);
#define ABI_FIELD(structure, field, offset, bytes) \
	_Static_assert(offsetof(struct structure, field) == (offset), #structure "." #field);
#define ABI_VALUE(constant, value) \
	_Static_assert((constant) == (value), #constant);
#include "abi.inc"

#define NEVER	OVERTAKE_DEADLINE_NEVER
#define BYTES	4096u
#define ENTRIES	4u

static void copy_once(struct client *client, uint64_t tag, uint32_t priority)
{
	struct overtake_result result;
	struct job job;

	memset(client->data.data, (int)(tag % 251 + 1), BYTES);
	put_copy(client, 0, 2 * BYTES, 0, BYTES);
	job_init(&job, client, tag, 0, 1);
	job.submit.priority = (uint16_t)priority;
	job.submit.scratch_bytes = BYTES;
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.tag, tag);
	check(!memcmp(client->data.data, client->data.data + 2 * BYTES, BYTES));
}

static void queries(const struct client *client)
{
	struct drm_overtake_query query = { .topic = OVERTAKE_QUERY_DEVICE };
	struct drm_overtake_device_info info;
	struct drm_overtake_core_info core;

	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(query.size, sizeof(info));
	device_query(client->fd, &info);
	check_equal(info.core_count, 2);
	device_query_core(client->fd, 2, &core);
	query.size = sizeof(info);
	query.data = 8;
	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_QUERY, &query), -EFAULT);
}

static void buffers(const struct client *client)
{
	struct drm_overtake_bo_wait wait = {
		.handle = client->data.handle,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
		.deadline_ns = NEVER,
	};
	struct buffer buffer;
	int dmabuf;

	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &wait), 0);
	buffer = buffer_create(client->fd, 3 * BYTES, OVERTAKE_MAP_READ);
	buffer.data[3 * BYTES - 1] = 1;
	dmabuf = prime_export(client->fd, buffer.handle, O_RDWR | O_CLOEXEC);
	check_equal(prime_import(client->fd, dmabuf), buffer.handle);
	close(dmabuf);
	buffer_destroy(client->fd, &buffer);
}

static void jobs(struct client *client)
{
	struct overtake_result result;
	struct sync_chain chain;
	uint32_t syncobj;
	struct job job;

	/* This tag and this deadline need all their bits. */
	copy_once(client, 0x123456789abcdef0ull, 0);
	put_copy(client, 0, 2 * BYTES, 0, BYTES);
	job_init(&job, client, 2, 0, 1);
	job.submit.deadline_ns = monotonic_ns() + 3600 * 1000000000ll;
	job.submit.custom_id = -5;
	sync_chain_init(&chain, &job);
	syncobj = syncobj_create(client->fd);
	sync_chain_out(&chain, syncobj, 0);
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait_any(client, NEVER, &result), 0);
	check_equal(result.tag, 2);
	check_equal(result.status, 0);
	check(syncobj_is_signalled(client->fd, syncobj, 0));
	check_equal(job_cancel(client, 2), -ENOENT);
	check_equal(job_wait(client, 2, monotonic_ns(), &result), -ENOENT);
	put_delay(client, 1, 500000000); /* in cycles of 1 ns */
	job_init(&job, client, 3, 1, 1);
	job.fcs[1] = job.fcs[0];
	job.submit.fc_count = 2;
	check_equal(job_submit(client, &job), 0);
	check_equal(job_cancel(client, 3), 0);
	check_equal(job_wait(client, 3, NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	job.submit.fcs = 16;
	check_equal(job_submit(client, &job), -EFAULT);
}

/* A ring without liburing, of which a 64-bit system has no 32-bit version. */
struct bare_ring {
	int fd;
	struct io_uring_params params;
	uint8_t *rings;
	uint8_t *sqes;
};

static bool bare_ring_open(struct bare_ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->params.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	ring->fd = (int)syscall(__NR_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return false;
	/* Both rings are in one mapping; its size is what the completion queue's end needs. */
	check(ring->params.features & IORING_FEAT_SINGLE_MMAP);
	ring->rings = mmap(NULL, ring->params.cq_off.cqes + ring->params.cq_entries * 32,
			   PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, ENTRIES * 128, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  IORING_OFF_SQES);
	check(ring->rings != MAP_FAILED && ring->sqes != MAP_FAILED);
	return true;
}

static uint32_t *ring_word(const struct bare_ring *ring, uint32_t offset)
{
	return (uint32_t *)(ring->rings + offset);
}

/* Submits one command and waits for it. */
static void bare_ring_run(struct bare_ring *ring, const struct client *client,
			  const struct drm_overtake_submit *submit, struct io_uring_cqe *cqe,
			  uint64_t *executed_ns)
{
	uint32_t *tail = ring_word(ring, ring->params.sq_off.tail);
	uint32_t *head = ring_word(ring, ring->params.cq_off.head);
	uint32_t *array = ring_word(ring, ring->params.sq_off.array);
	uint8_t *sqe = ring->sqes;
	struct io_uring_sqe first = {
		.opcode = IORING_OP_URING_CMD,
		.fd = client->fd,
		.user_data = submit->tag,
	};

	first.off = OVERTAKE_URING_SUBMIT; /* cmd_op */
	memset(sqe, 0, 128);
	memcpy(sqe, &first, 48);
	memcpy(sqe + 48, submit, sizeof(*submit));
	array[*tail & (ENTRIES - 1)] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	check_equal(syscall(__NR_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), 1);
	check(__atomic_load_n(ring_word(ring, ring->params.cq_off.tail), __ATOMIC_ACQUIRE) != *head);
	memcpy(cqe, ring->rings + ring->params.cq_off.cqes +
	       (*head & (ring->params.cq_entries - 1)) * 32, 16);
	memcpy(executed_ns, ring->rings + ring->params.cq_off.cqes +
	       (*head & (ring->params.cq_entries - 1)) * 32 + 16, 8);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static void commands(struct client *client)
{
	struct io_uring_cqe cqe;
	struct bare_ring ring;
	uint64_t executed_ns;
	struct job job;

	if (!bare_ring_open(&ring)) {
		printf("without io_uring: %s\n", strerror(errno));
		return;
	}
	memset(client->data.data, 0x42, BYTES);
	put_copy(client, 0, 2 * BYTES, 0, BYTES);
	job_init(&job, client, 0xfedcba9876543210ull, 0, 1);
	bare_ring_run(&ring, client, &job.submit, &cqe, &executed_ns);
	check_equal(cqe.res, 0);
	check_equal(cqe.user_data, 0xfedcba9876543210ull);
	check(executed_ns > 0);
	check_equal(client->data.data[2 * BYTES], 0x42);
	job.submit.fcs = 16;
	bare_ring_run(&ring, client, &job.submit, &cqe, &executed_ns);
	check_equal(cqe.res, -EFAULT);
	close(ring.fd);
}

static void make_every_call(void)
{
	struct client client = client_open(0, 254);
	uint32_t id;

	queries(&client);
	buffers(&client);
	jobs(&client);
	commands(&client);
	check_equal(context_create(client.fd, 10, 0, &id), 0);
	check_equal(context_destroy(client.fd, id), 0);
	check_equal(context_destroy(client.fd, id), -ENOENT);
	client_close(&client);
}

/* Runs a job on the file and context of another process, with buffers that are mapped here. */
static void use(int fd, uint32_t context, uint32_t priority, uint64_t tag)
{
	struct client client = { .fd = fd, .context = context };
	uint32_t id;

	client.program = buffer_create(fd, 16 * BYTES, OVERTAKE_MAP_READ);
	client.data = buffer_create(fd, 16 * BYTES, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	copy_once(&client, tag, priority);
	/* A context's rights hold for each holder of its file; the holder's own rights differ. */
	if (geteuid())
		check_equal(context_create(fd, 255, 0, &id), -EPERM);
	buffer_destroy(fd, &client.program);
	buffer_destroy(fd, &client.data);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "all")) {
		make_every_call();
	} else if (argc == 6 && !strcmp(argv[1], "use")) {
		use(atoi(argv[2]), (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]),
		    (uint64_t)atoi(argv[5]));
	} else if (argc == 3 && !strcmp(argv[1], "refused")) {
		check_equal(fcntl(atoi(argv[2]), F_GETFD), -1);
		check_equal(errno, EBADF);
	} else {
		fputs("usage: kmod_client all | use FD CONTEXT PRIORITY TAG | refused FD\n", stderr);
		return 2;
	}
	return 0;
}
