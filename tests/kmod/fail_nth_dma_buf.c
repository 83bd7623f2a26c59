// SPDX-License-Identifier: MIT
/* Operations on io_uring, dma-bufs and syncobjs, and the whole life of a client or a device. */
#include "fail_nth_operations.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"

#define TAG	5

static void open_ring(struct subject *subject)
{
	ring_open_to_abandon(&subject->ring);
	subject->has_ring = true;
	put_delay(&subject->client, 0, 1000);
	job_init(&subject->job, &subject->client, TAG, 0, 1);
}

static void prepare_ring_submit(struct subject *subject)
{
	open_ring(subject);
	subject->job.submit.result = subject->client.data.address + RESULT_OFFSET;
	if (subject->variant)
		subject->job.submit.scratch_bytes = (uint32_t)subject->variant;
	ring_prepare(&subject->ring, subject->client.fd, OVERTAKE_URING_SUBMIT,
		     &subject->job.submit, sizeof(subject->job.submit), TAG);
}

static void prepare_ring_cancel(struct subject *subject)
{
	struct drm_overtake_cancel cancel[5] = {
		{ .tag = TAG, .context_id = subject->client.context },
	};

	open_ring(subject);
	put_delay(&subject->client, 0, 4000000000ull);
	ring_submit_job(&subject->ring, &subject->client, &subject->job);
	ring_prepare(&subject->ring, subject->client.fd, OVERTAKE_URING_CANCEL, cancel,
		     sizeof(cancel), TAG + 1);
}

/* Submits the command and waits for its completion; -EAGAIN if the ring did not take it. */
int subject_run_ring(struct subject *subject)
{
	struct io_uring_cqe *cqe;
	int ret = io_uring_submit(&subject->ring);

	if (ret < 0)
		return ret;
	if (!ret)
		return -EAGAIN;
	do {
		ret = io_uring_wait_cqe(&subject->ring, &cqe);
	} while (ret == -EINTR);
	if (!ret) {
		ret = cqe->res;
		io_uring_cqe_seen(&subject->ring, cqe);
	}
	return ret == -ECANCELED ? 0 : ret; /* the job that was cancelled, not the cancelling */
}

static int run_ring_exit(struct subject *subject)
{
	io_uring_queue_exit(&subject->ring);
	subject->has_ring = false;
	return 0;
}

static void prepare_ring_in_flight(struct subject *subject)
{
	open_ring(subject);
	put_delay(&subject->client, 0, 3000000);
	ring_submit_job(&subject->ring, &subject->client, &subject->job);
}

const struct operation ring_operations[] = {
	{ "io_uring SUBMIT", prepare_ring_submit, subject_run_ring, 0 },
	{ "io_uring SUBMIT with scratch", prepare_ring_submit, subject_run_ring, 1 << 20 },
	{ "io_uring CANCEL", prepare_ring_cancel, subject_run_ring, 0 },
	{ "end of a ring with a command in flight", prepare_ring_in_flight, run_ring_exit, 0 },
	{ 0 },
};

static int run_export(struct subject *subject)
{
	return try_prime_export(subject->client.fd, subject->client.data.handle,
				DRM_CLOEXEC | DRM_RDWR, &subject->other);
}

static void prepare_export(struct subject *subject)
{
	check_equal(run_export(subject), 0);
}

static int import_into(int fd, struct subject *subject)
{
	return try_prime_import(fd, subject->other, &subject->extra.handle);
}

/* Imports into the client's file, or into a new file, which is closed again. */
static int run_import(struct subject *subject)
{
	int fd, ret;

	if (!subject->variant)
		return import_into(subject->client.fd, subject);
	fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = import_into(fd, subject);
	close(fd);
	return ret;
}

static void prepare_foreign(struct subject *subject)
{
	struct foreign foreign = udmabuf_create(subject->variant);

	munmap(foreign.data, foreign.size);
	subject->other = foreign.fd;
	subject->extra.size = foreign.size;
}

static int run_import_foreign(struct subject *subject)
{
	return import_into(subject->client.fd, subject);
}

static void prepare_map_foreign(struct subject *subject)
{
	prepare_foreign(subject);
	check_equal(run_import_foreign(subject), 0);
}

static int run_map_foreign(struct subject *subject)
{
	return try_map(subject->client.fd, subject->extra.handle,
		       OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE, &subject->extra.address);
}

static void prepare_submit_on_foreign(struct subject *subject)
{
	prepare_map_foreign(subject);
	check_equal(run_map_foreign(subject), 0);
	put_delay(&subject->client, 0, 1);
	job_init_on(&subject->job, &subject->client, TAG, subject->extra.address,
		    subject->extra.size, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
}

static int run_submit(struct subject *subject)
{
	return job_submit(&subject->client, &subject->job);
}

static int run_syncobj_create(struct subject *subject)
{
	struct drm_syncobj_create create = { .flags = (uint32_t)subject->variant };

	return device_ioctl(subject->client.fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
}

/* The job waits @variant times for a syncobj that is signalled, and sets a point of another. */
static void prepare_submit_synced(struct subject *subject)
{
	int fd = subject->client.fd;

	subject->syncobjs[0] = syncobj_create(fd);
	subject->syncobjs[1] = syncobj_create(fd);
	syncobj_signal(fd, subject->syncobjs[0]);
	put_delay(&subject->client, 0, 1);
	job_init(&subject->job, &subject->client, TAG, 0, 1);
	sync_chain_init(&subject->chain, &subject->job);
	while (subject->chain.sync.in_count < (subject->variant & ~LINUX_SAYS_EINVAL))
		sync_chain_in(&subject->chain, subject->syncobjs[0], 0);
	sync_chain_out(&subject->chain, subject->syncobjs[1], 7);
}

static void prepare_syncobj_export(struct subject *subject)
{
	prepare_submit_synced(subject);
	check_equal(run_submit(subject), 0);
}

static int run_syncobj_export(struct subject *subject)
{
	struct drm_syncobj_handle args = {
		.handle = subject->syncobjs[subject->variant ? 0 : 1],
		.flags = subject->variant ? DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE : 0,
		.fd = -1,
	};
	int ret = device_ioctl(subject->client.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	subject->other = args.fd;
	return ret;
}

static void prepare_syncobj_import(struct subject *subject)
{
	prepare_syncobj_export(subject);
	check_equal(run_syncobj_export(subject), 0);
}

static int run_syncobj_import(struct subject *subject)
{
	struct drm_syncobj_handle args = {
		.handle = subject->variant ? subject->syncobjs[1] : 0,
		.flags = subject->variant ? DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE : 0,
		.fd = subject->other,
	};

	return device_ioctl(subject->client.fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
}

static int run_syncobj_wait(struct subject *subject)
{
	uint64_t point = 7;
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&subject->syncobjs[1],
		.points = (uintptr_t)&point,
		.timeout_nsec = OVERTAKE_DEADLINE_NEVER,
		.count_handles = 1,
	};

	return device_ioctl(subject->client.fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

static int run_poll(struct subject *subject)
{
	struct pollfd poll_for = { .fd = subject->other, .events = POLLIN | POLLOUT };

	return poll(&poll_for, 1, 10000) < 0 ? -errno : 0;
}

const struct operation share_operations[] = {
	{ "PRIME export", NULL, run_export, 0 },
	{ "PRIME import, home again", prepare_export, run_import, 0 },
	{ "PRIME import by another file", prepare_export, run_import, 1 },
	{ "PRIME import of a page of udmabuf", prepare_foreign, run_import_foreign, 4096 },
	{ "PRIME import of 256 KiB of udmabuf", prepare_foreign, run_import_foreign, 256 << 10 },
	{ "BO_MAP of an import", prepare_map_foreign, run_map_foreign, 65536 },
	{ "BO_MAP of a large import", prepare_map_foreign, run_map_foreign, 256 << 10 },
	{ "SUBMIT on an import", prepare_submit_on_foreign, run_submit, 65536 },
	{ "poll of a dma-buf", prepare_export, run_poll, 0 },
	{ "SYNCOBJ_CREATE", NULL, run_syncobj_create, 0 },
	{ "SYNCOBJ_CREATE, signalled", NULL, run_syncobj_create, DRM_SYNCOBJ_CREATE_SIGNALED },
	{ "SUBMIT that sets a point", prepare_submit_synced, run_submit, 0 },
	{ "SUBMIT with one fence", prepare_submit_synced, run_submit, 1 },
	{ "SUBMIT with 32 fences", prepare_submit_synced, run_submit, 32 },
	{ "syncobj export", prepare_syncobj_export, run_syncobj_export, 0 },
	{ "sync_file export", prepare_syncobj_export, run_syncobj_export, 1 | LINUX_SAYS_EINVAL },
	{ "syncobj import", prepare_syncobj_import, run_syncobj_import, 0 },
	{ "sync_file import", prepare_syncobj_import, run_syncobj_import, 1 },
	{ "SYNCOBJ_TIMELINE_WAIT", prepare_syncobj_export, run_syncobj_wait, 0 },
	{ 0 },
};

/* Everything that a client does, from open to close: whatever fails, close tidies up. */
#define LIFE_BYTES(variant)	((variant) & 0xffffff)
#define LIFE_WITH_RING		(1ul << 24)
#define LIFE_WITH_SYNCOBJS	(1ul << 25)
#define LIFE_WITH_IMPORT	(1ul << 26)

/* Makes a signalled syncobj, which the job waits for and of which the job sets point 3. */
static int chain_syncobj(struct subject *subject, int fd)
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	int ret = device_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	if (ret)
		return ret;
	sync_chain_init(&subject->chain, &subject->job);
	sync_chain_in(&subject->chain, create.handle, 0);
	sync_chain_out(&subject->chain, create.handle, 3);
	return 0;
}

static int submit_through_ring(struct client *client, struct job *job)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int ret = io_uring_queue_init(8, &ring, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);

	if (ret)
		return ret;
	ring_prepare(&ring, client->fd, OVERTAKE_URING_SUBMIT, &job->submit, sizeof(job->submit),
		     TAG);
	ret = io_uring_submit(&ring);
	if (ret == 1)
		ret = io_uring_wait_cqe(&ring, &cqe) ? -EAGAIN : cqe->res;
	else if (!ret)
		ret = -EAGAIN;
	io_uring_queue_exit(&ring);
	return ret == -ENOEXEC ? 0 : ret; /* the status of the job */
}

static int submit_and_wait(struct client *client, struct job *job)
{
	struct overtake_result result;
	int ret = job_submit(client, job);

	return ret ? ret : job_wait(client, TAG, OVERTAKE_DEADLINE_NEVER, &result);
}

static int share_with_other_file(int fd, uint32_t handle)
{
	int dmabuf, other, ret;
	uint32_t imported;

	ret = try_prime_export(fd, handle, DRM_CLOEXEC, &dmabuf);
	if (ret)
		return ret;
	other = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	ret = other < 0 ? -errno : try_prime_import(other, dmabuf, &imported);
	if (other >= 0)
		close(other);
	close(dmabuf);
	return ret;
}

static int live(struct subject *subject, int fd)
{
	struct drm_overtake_bo_create create = { .size = LIFE_BYTES(subject->variant) };
	struct drm_overtake_bo_map map = { .flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE };
	struct client client = { .fd = fd };
	struct job *job = &subject->job;
	int ret;

	ret = context_create(fd, 255, 0, &client.context);
	if (!ret)
		ret = device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create);
	map.handle = create.handle;
	if (!ret)
		ret = device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_MAP, &map);
	if (ret)
		return ret;
	client.program.address = map.address;
	client.program.size = create.size;
	job_init(job, &client, TAG, 0, 1); /* a program of zeroes: it faults, and so it ends */
	job->submit.binding_count = 1;
	job->submit.scratch_bytes = 8192;
	if (subject->variant & LIFE_WITH_SYNCOBJS)
		ret = chain_syncobj(subject, fd);
	if (!ret)
		ret = subject->variant & LIFE_WITH_RING ? submit_through_ring(&client, job) :
							  submit_and_wait(&client, job);
	if (!ret && subject->variant & LIFE_WITH_IMPORT)
		ret = share_with_other_file(fd, create.handle);
	return ret;
}

static int run_life(struct subject *subject)
{
	int fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = live(subject, fd);
	close(fd);
	return ret;
}

const struct operation whole_operations[] = {
	{ "a client's life with a page", NULL, run_life, 4096 },
	{ "a client's life with 64 KiB", NULL, run_life, 65536 },
	{ "a client's life with 512 KiB", NULL, run_life, 512 << 10 },
	{ "a client's life with io_uring", NULL, run_life, 4096 | LIFE_WITH_RING },
	{ "a client's life with syncobjs", NULL, run_life, 65536 | LIFE_WITH_SYNCOBJS },
	{ "a client's life with an import", NULL, run_life, 65536 | LIFE_WITH_IMPORT },
	{ "a client's life with io_uring and syncobjs", NULL, run_life,
	  65536 | LIFE_WITH_RING | LIFE_WITH_SYNCOBJS },
	{ "a client's life with all of it", NULL, run_life,
	  (256 << 10) | LIFE_WITH_RING | LIFE_WITH_SYNCOBJS | LIFE_WITH_IMPORT },
	{ "a client's life with all of it and 1 MiB", NULL, run_life,
	  (1 << 20) | LIFE_WITH_RING | LIFE_WITH_SYNCOBJS | LIFE_WITH_IMPORT },
	{ 0 },
};
