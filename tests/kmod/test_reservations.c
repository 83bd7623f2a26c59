// SPDX-License-Identifier: MIT
/* Jobs with buffers that share a reservation object, or whose handle is closed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "ring.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define TWO_MANUAL	"devices=2 cores=2 mode=timed profile=ideal manual_clock=1"
#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define SIZE		65536u

/*
 * The client exports a buffer, keeps the mapping only, and another driver writes to it: the job
 * waits for that driver, although GEM has forgotten that the buffer was ever exported.
 */
static void foreign_fences_outlive_the_handle(void)
{
	struct overtake_result result;
	struct client client;
	struct buffer buffer;
	uint32_t seen, writing;
	int dmabuf, vgem;
	struct job job;

	client = client_open_at_zero();
	put_delay(&client, 0, MS);
	buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	vgem = vgem_open();
	seen = prime_import(vgem, dmabuf);
	close(dmabuf);
	check_equal(close_handle(client.fd, buffer.handle), 0);

	writing = vgem_handle_fence_attach(vgem, seen, true);
	job_init_on(&job, &client, 1, buffer.address, SIZE, OVERTAKE_MAP_READ);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 3 * MS), 0);
	check_equal(job_wait(&client, 1, 0, &result), -ETIMEDOUT);
	vgem_handle_fence_signal(vgem, writing);
	check_equal(advance_clock(0, 5 * MS), 0);
	check_equal(job_wait(&client, 1, 0, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.queued_ns, 3 * MS);
	close(vgem);
	client_close(&client);
}

/* The same memory is imported as two buffers: their one reservation object can be locked once. */
static void one_job_uses_a_buffer_imported_twice(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = heap_create(SIZE, O_RDWR);
	struct overtake_binding bindings[3];
	uint32_t handle = prime_import(client.fd, foreign.fd);
	uint64_t first = map_buffer(client.fd, handle, OVERTAKE_MAP_READ), second;
	struct overtake_result result;
	struct io_uring ring;
	struct job job;
	int sync_file;

	check_equal(close_handle(client.fd, handle), 0);
	handle = prime_import(client.fd, foreign.fd);
	second = map_buffer(client.fd, handle, READ_WRITE);
	memset(foreign.data, 0x5a, 1024);
	put_copy(&client, 0, 4096, 0, 1024);
	job_init_on(&job, &client, 1, second, SIZE, READ_WRITE);
	memcpy(bindings, job.bindings, sizeof(job.bindings));
	bindings[2] = (struct overtake_binding){
		.address = first, .length = SIZE, .region = 4, .flags = OVERTAKE_MAP_READ,
	};
	job.submit.bindings = (uintptr_t)bindings;
	job.submit.binding_count = 3;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(foreign.data, foreign.data + 4096, 1024));
	/* io_uring locks without waiting. */
	ring_open_default(&ring);
	job.submit.tag = 2;
	ring_submit_job(&ring, &client, &job);
	check_equal(ring_reap(&ring).status, 0);
	io_uring_queue_exit(&ring);
	sync_file = dmabuf_sync_file(foreign.fd, true);
	check_equal(sync_file_status(sync_file), 1);
	close(sync_file);
	foreign_destroy(&foreign);
	client_close(&client);
}

/* A job of another device fails to write a buffer.  The job that waits for it gets no error. */
static void error_of_an_implicit_fence_is_not_the_jobs(void)
{
	struct client reader, writer;
	struct overtake_result result;
	struct buffer buffer;
	uint64_t address;
	struct job job;
	int dmabuf;

	restart_clock(0);
	restart_clock(1);
	reader = client_open(0, 254);
	writer = client_open(1, 254);
	put_delay(&reader, 0, MS);
	put_delay(&writer, 0, 5 * MS);
	buffer = buffer_create(reader.fd, SIZE, READ_WRITE);
	dmabuf = prime_export(reader.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	address = map_buffer(writer.fd, prime_import(writer.fd, dmabuf), READ_WRITE);
	close(dmabuf);
	job_init_on(&job, &writer, 1, address, SIZE, READ_WRITE);
	check_equal(job_submit(&writer, &job), 0);
	job_init_on(&job, &reader, 2, buffer.address, SIZE, OVERTAKE_MAP_READ);
	check_equal(job_submit(&reader, &job), 0);
	check_equal(advance_clock(0, 3 * MS), 0);
	check_equal(job_wait(&reader, 2, 0, &result), -ETIMEDOUT);
	check_equal(job_cancel(&writer, 1), 0);
	check_equal(advance_clock(1, 5 * MS), 0);
	check_equal(job_wait(&writer, 1, 0, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(advance_clock(0, 5 * MS), 0);
	check_equal(job_wait(&reader, 2, 0, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.queued_ns, 3 * MS);
	client_close(&writer);
	client_close(&reader);
}

const struct test_case reservation_cases[] = {
	{ "share-foreign-fences-outlive-the-handle", MANUAL, foreign_fences_outlive_the_handle },
	{ "share-one-job-uses-a-buffer-imported-twice", FUNCTIONAL,
	  one_job_uses_a_buffer_imported_twice },
	{ "fence-error-of-an-implicit-one-is-not-the-jobs", TWO_MANUAL,
	  error_of_an_implicit_fence_is_not_the_jobs },
	{ 0 },
};
