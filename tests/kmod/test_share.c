// SPDX-License-Identifier: MIT
/* Buffers shared with other drivers, and fences in and out. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"
#include "share.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define TIMED		"cores=2 mode=timed profile=ideal"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define SIZE		65536u

static void fill(uint8_t *data, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 7 + seed);
}

/* Lets the device copy 1 KiB inside a buffer that is mapped at @address. */
static void compute_on(struct client *client, uint64_t tag, uint64_t address)
{
	struct overtake_result result;
	struct job job;

	put_copy(client, 0, 4096, 0, 1024);
	job_init_on(&job, client, tag, address, SIZE, READ_WRITE);
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
}

static void import_computes(struct foreign foreign)
{
	struct client client = client_open(0, 254);
	uint32_t handle = prime_import(client.fd, foreign.fd);
	uint64_t address = map_buffer(client.fd, handle, READ_WRITE);
	struct drm_overtake_bo_unmap unmap = { .address = address };

	fill(foreign.data, 1024, 3);
	compute_on(&client, 1, address);
	check(!memcmp(foreign.data, foreign.data + 4096, 1024));
	/* The same buffer again has the same handle. */
	check_equal(prime_import(client.fd, foreign.fd), handle);
	check_equal(try_map(client.fd, handle, READ_WRITE, &address), -EEXIST);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(close_handle(client.fd, handle), 0);
	client_close(&client);
	foreign_destroy(&foreign);
}

static void import_of_udmabuf(void)
{
	import_computes(udmabuf_create(SIZE));
}

static void import_of_heap(void)
{
	import_computes(heap_create(SIZE, O_RDWR));
}

static void import_of_vgem(void)
{
	import_computes(vgem_create(SIZE));
}

/* The device keeps what it needs: everybody else has closed the buffer. */
static void import_outlives_its_exporter(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = vgem_create(SIZE);
	uint32_t handle = prime_import(client.fd, foreign.fd);
	uint64_t address = map_buffer(client.fd, handle, READ_WRITE);

	check_equal(close_handle(client.fd, handle), 0);
	foreign_destroy(&foreign);
	compute_on(&client, 1, address);
	client_close(&client);
}

static void export_is_the_same_memory(void)
{
	struct client client = client_open(0, 254);
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	int vgem = vgem_open();
	uint8_t *seen;

	prime_import(vgem, dmabuf);
	seen = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	check(seen != MAP_FAILED);
	fill(seen, 1024, 5);
	compute_on(&client, 1, buffer.address);
	check(!memcmp(seen + 4096, seen, 1024));
	check(!memcmp(buffer.data, seen, SIZE));
	/* Without the device and its file, too: vgem holds it. */
	close(dmabuf);
	munmap(buffer.data, buffer.size);
	client_close(&client);
	check_equal(seen[4096 + 8], (uint8_t)(8 * 7 + 5));
	munmap(seen, SIZE);
	close(vgem);
}

static void own_buffer_comes_home_as_itself(void)
{
	struct client client = client_open(0, 254);
	struct client other = client_open(0, 254);
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	uint64_t address;

	check_equal(prime_import(client.fd, dmabuf), buffer.handle);
	address = map_buffer(other.fd, prime_import(other.fd, dmabuf), READ_WRITE);
	fill(buffer.data, 1024, 9);
	compute_on(&other, 1, address);
	check(!memcmp(buffer.data, buffer.data + 4096, 1024));
	close(dmabuf);
	client_close(&client);
	client_close(&other);
}

/* A dma-buf that is open for reading only gives no right to write, neither to cores nor to CPUs. */
static void read_only_stays_read_only(void)
{
	struct client client = client_open(0, 254);
	struct client other = client_open(0, 254);
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_CLOEXEC);
	struct drm_overtake_bo_mmap_offset offset = { 0 };
	struct foreign heap = heap_create(SIZE, O_RDONLY);
	uint64_t address;
	uint32_t handle;
	struct job job;
	void *data;

	handle = prime_import(client.fd, heap.fd);
	check_equal(try_map(client.fd, handle, READ_WRITE, &address), -EACCES);
	address = map_buffer(client.fd, handle, OVERTAKE_MAP_READ);
	job_init_on(&job, &client, 1, address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), -EACCES);

	offset.handle = prime_import(other.fd, dmabuf);
	check_equal(try_map(other.fd, offset.handle, READ_WRITE, &address), -EACCES);
	map_buffer(other.fd, offset.handle, OVERTAKE_MAP_READ);
	check_equal(device_ioctl(other.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &offset), 0);
	data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, other.fd, (off_t)offset.offset);
	check(data == MAP_FAILED && errno == EACCES);
	data = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, other.fd, (off_t)offset.offset);
	check(data != MAP_FAILED);
	check(mprotect(data, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES);
	munmap(data, SIZE);
	close(dmabuf);
	foreign_destroy(&heap);
	client_close(&client);
	client_close(&other);
}

static void import_counts_against_the_limits(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = heap_create(4096, O_RDWR);
	struct drm_overtake_bo_create create = { .size = 4096 };
	uint32_t handle, first = 0, count = 0;
	int ret;

	while (!(ret = device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create))) {
		first = first ? first : create.handle;
		count++;
		create = (struct drm_overtake_bo_create){ .size = 4096 };
	}
	check_equal(ret, -ENOSPC);
	check_equal(count, OVERTAKE_MAX_BUFFERS - 2); /* a client has two */
	check_equal(try_prime_import(client.fd, foreign.fd, &handle), -ENOSPC);
	check_equal(close_handle(client.fd, first), 0);
	handle = prime_import(client.fd, foreign.fd);
	check_equal(handle, first); /* the refused one left nothing behind */
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create), -ENOSPC);
	check_equal(close_handle(client.fd, handle), 0);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create), 0);
	foreign_destroy(&foreign);
	client_close(&client);
}

static struct client client_open_at_zero(void)
{
	restart_clock(0);
	return client_open(0, 254);
}

/*
 * @first runs on core 1, @second waits for its fence, for core 2.
 */
struct pair {
	struct client client;
	struct job first, second;
	struct sync_chain first_chain, second_chain;
	uint32_t sync, done;
};

static void pair_prepare(struct pair *pair, uint64_t point, uint64_t cycles)
{
	pair->client = client_open(0, 254);
	pair->sync = syncobj_create(pair->client.fd);
	pair->done = syncobj_create(pair->client.fd);
	put_delay(&pair->client, 0, cycles);
	job_init(&pair->first, &pair->client, 1, 0, 1);
	pair->first.submit.core = 1;
	sync_chain_init(&pair->first_chain, &pair->first);
	sync_chain_out(&pair->first_chain, pair->sync, point);
	job_init(&pair->second, &pair->client, 2, 0, 1);
	pair->second.submit.core = 2;
	sync_chain_init(&pair->second_chain, &pair->second);
	sync_chain_in(&pair->second_chain, pair->sync, point);
	sync_chain_out(&pair->second_chain, pair->done, 0);
}

static void pair_open(struct pair *pair, uint64_t point)
{
	restart_clock(0);
	pair_prepare(pair, point, 5 * MS);
}

static void pair_submit(struct pair *pair)
{
	check_equal(job_submit(&pair->client, &pair->first), 0);
	check_equal(job_submit(&pair->client, &pair->second), 0);
}

static void job_waits_for_a_fence_at(uint64_t point)
{
	struct overtake_result result;
	struct pair pair;

	pair_open(&pair, point);
	pair_submit(&pair);
	check_equal(advance_clock(0, 4 * MS), 0);
	check(!syncobj_is_signalled(pair.client.fd, pair.sync, point));
	check(!syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(job_wait(&pair.client, 2, 0, &result), -ETIMEDOUT);
	/* Core 2 is idle, and yet the second arrives only when the first has ended. */
	check_equal(advance_clock(0, 6 * MS), 0);
	check(syncobj_is_signalled(pair.client.fd, pair.sync, point));
	check_equal(job_wait(&pair.client, 1, 0, &result), 0);
	check_equal(result.end_ns, 5 * MS);
	check(!syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(advance_clock(0, 12 * MS), 0);
	check_equal(job_wait(&pair.client, 2, 0, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.queued_ns, 6 * MS);
	check_equal(result.end_ns, 11 * MS);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	if (point)
		check_equal(syncobj_point(pair.client.fd, pair.sync), point);
	client_close(&pair.client);
}

static void job_waits_for_a_binary_syncobj(void)
{
	job_waits_for_a_fence_at(0);
}

static void job_waits_for_a_point_of_a_timeline(void)
{
	job_waits_for_a_fence_at(7);
}

/* Without the manual clock: it arrives in the instant of the signal, and all by itself. */
static void arrival_is_the_signal(void)
{
	struct overtake_result first, second;
	struct pair pair;

	pair_prepare(&pair, 3, 300 * MS);
	pair_submit(&pair);
	check(!syncobj_is_signalled(pair.client.fd, pair.sync, 3));
	check_equal(job_wait(&pair.client, 2, NEVER, &second), 0);
	check_equal(job_wait(&pair.client, 1, 0, &first), 0);
	check(second.queued_ns >= first.end_ns);
	check(second.start_ns >= second.queued_ns);
	check_equal(second.executed_ns, 300 * MS);
	client_close(&pair.client);
}

static void waits_for_all_of_its_fences(void)
{
	struct client client = client_open_at_zero();
	struct overtake_result result;
	struct sync_chain chain;
	uint32_t syncs[4];
	struct job job;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		syncs[i] = syncobj_create(client.fd);
		put_delay(&client, i, (4 - i) * MS); /* the last one is the first to end */
		job_init(&job, &client, i, i, 1);
		job.submit.core = 1;
		sync_chain_init(&chain, &job);
		sync_chain_out(&chain, syncs[i], i % 2 ? 10 : 0);
		check_equal(job_submit(&client, &job), 0);
	}
	job_init(&job, &client, 9, 3, 1);
	job.submit.core = 2;
	sync_chain_init(&chain, &job);
	for (i = 0; i < 4; i++)
		sync_chain_in(&chain, syncs[i], i % 2 ? 10 : 0);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 9 * MS + 1), 0);	/* three of four have ended */
	check_equal(job_wait(&client, 2, 0, &result), 0);
	check_equal(advance_clock(0, 10 * MS), 0);
	check_equal(advance_clock(0, 11 * MS), 0);
	check_equal(advance_clock(0, 13 * MS), 0);
	check_equal(job_wait(&client, 9, 0, &result), 0);
	check_equal(result.queued_ns, 11 * MS);
	client_close(&client);
}

static void failed_fence_ends_the_job(void)
{
	struct overtake_insn bad = { .opcode = 999 };
	struct overtake_result result;
	struct pair pair;
	int sync_file;

	pair_prepare(&pair, 0, 1);
	put_insn(&pair.client, 0, &bad);
	pair_submit(&pair);
	check_equal(job_wait(&pair.client, 2, NEVER, &result), 0);
	check_equal(result.status, -ENOEXEC);
	check_equal(result.queued_ns, 0);
	check_equal(result.start_ns, 0);
	check_equal(result.core, 0);
	check_equal(result.fcs_done, 0);
	check_equal(result.fault, OVERTAKE_FAULT_NONE);
	/* And so on: the second one's fence has failed, too. */
	sync_file = syncobj_to_sync_file(pair.client.fd, pair.done);
	check_equal(sync_file_status(sync_file), -ENOEXEC);
	close(sync_file);
	/* One that failed before the job was submitted. */
	pair.second.submit.tag = 3;
	check_equal(job_submit(&pair.client, &pair.second), 0);
	check_equal(job_wait(&pair.client, 3, NEVER, &result), 0);
	check_equal(result.status, -ENOEXEC);
	client_close(&pair.client);
}

static void cancel_ends_a_blocked_job(void)
{
	struct overtake_result result;
	struct pair pair;

	pair_open(&pair, 0);
	pair_submit(&pair);
	check_equal(job_cancel(&pair.client, 2), 0);
	check_equal(job_wait(&pair.client, 2, NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(result.queued_ns, 0);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(job_cancel(&pair.client, 2), -ENOENT);
	/* The fence still comes, to nobody. */
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(job_wait(&pair.client, 1, 0, &result), 0);
	check_equal(result.status, 0);
	client_close(&pair.client);
}

static void deadline_ends_a_blocked_job(void)
{
	struct overtake_result result;
	struct pair pair;

	pair_open(&pair, 0);
	pair.second.submit.deadline_ns = 2 * MS;
	pair_submit(&pair);
	check_equal(advance_clock(0, 3 * MS), 0);
	check_equal(job_wait(&pair.client, 2, 0, &result), 0);
	check_equal(result.status, -ETIME);
	check_equal(result.end_ns, 2 * MS);
	client_close(&pair.client);
}

static void destroyed_context_ends_blocked_jobs(void)
{
	struct overtake_result result;
	struct client other;
	struct pair pair;
	uint32_t id;

	pair_open(&pair, 0);
	other = client_open(0, 254);
	check_equal(job_submit(&pair.client, &pair.first), 0);
	check_equal(context_create(pair.client.fd, 254, 0, &id), 0);
	pair.second.submit.context_id = id;
	check_equal(job_submit(&pair.client, &pair.second), 0);
	check_equal(context_destroy(pair.client.fd, id), 0);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(job_wait(&pair.client, 1, 0, &result), 0);
	check_equal(result.status, 0);
	client_close(&pair.client);
	client_close(&other);
}

/* close() with blocked jobs: of the file whose job they wait for, too. */
static void closed_file_ends_blocked_jobs(void)
{
	struct overtake_result result;
	struct sync_chain chain;
	struct client other;
	struct pair pair;
	struct job job;
	uint32_t sync;
	int sync_file;

	pair_open(&pair, 0);
	other = client_open(0, 254);
	pair_submit(&pair);
	sync = syncobj_create(other.fd);
	sync_file = syncobj_to_sync_file(pair.client.fd, pair.done);
	syncobj_from_sync_file(other.fd, sync, sync_file);
	put_delay(&other, 0, 1000);
	job_init(&job, &other, 5, 0, 1);
	sync_chain_init(&chain, &job);
	sync_chain_in(&chain, sync, 0);
	check_equal(job_submit(&other, &job), 0);
	check_equal(sync_file_status(sync_file), 0);
	client_close(&pair.client);
	check_equal(job_wait(&other, 5, NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(sync_file_status(sync_file), -ECANCELED);
	close(sync_file);
	client_close(&other);
}

/* The device goes away under a job that waits. */
static void unbind_ends_blocked_jobs(void)
{
	struct overtake_result result;
	struct pair pair;
	int sync_file;

	pair_open(&pair, 0);
	pair.second.submit.result = pair.client.data.address + RESULT_OFFSET;
	pair_submit(&pair);
	sync_file = syncobj_to_sync_file(pair.client.fd, pair.done);
	device_bind(0, "unbind");
	check_equal(sync_file_status(sync_file), -ENODEV);
	memcpy(&result, pair.client.data.data + RESULT_OFFSET, sizeof(result));
	check_equal(result.tag, 2);
	check_equal(result.status, -ENODEV);
	check_equal(result.queued_ns, 0);
	close(sync_file);
	client_close(&pair.client);
	device_bind(0, "bind");
}

/* A file descriptor of another process. */
static int take_fd(pid_t process, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, process, 0);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	check_message(pidfd >= 0 && fd >= 0, "pidfd: %s", strerror(errno));
	close(pidfd);
	return fd;
}

static void kill_ends_blocked_jobs(void)
{
	struct pollfd file = { .events = POLLIN };
	int pipes[2], number, status;
	pid_t child;

	restart_clock(0);
	check_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		struct pair pair;

		pair_prepare(&pair, 0, 5 * MS);
		pair_submit(&pair);
		number = syncobj_to_sync_file(pair.client.fd, pair.done);
		if (write(pipes[1], &number, sizeof(number)) == sizeof(number))
			pause();
		_exit(1);
	}
	close(pipes[1]);
	check_equal(read(pipes[0], &number, sizeof(number)), sizeof(number));
	close(pipes[0]);
	file.fd = take_fd(child, number);
	check_equal(poll(&file, 1, 0), 0);
	check_equal(kill(child, SIGKILL), 0);
	check_equal(waitpid(child, &status, 0), child);
	check_equal(poll(&file, 1, -1), 1);
	check_equal(sync_file_status(file.fd), -ECANCELED);
	close(file.fd);
}

static void uring_job_waits_for_a_fence(void)
{
	struct completion completion;
	struct io_uring ring;
	struct pair pair;

	pair_prepare(&pair, 4, 300 * MS);
	ring_open_default(&ring);
	ring_submit_job(&ring, &pair.client, &pair.first);
	ring_submit_job(&ring, &pair.client, &pair.second);
	check(ring_is_empty(&ring));
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 1);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 2);
	check_equal(completion.status, 0);
	check_equal(completion.executed_ns, 300 * MS);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	io_uring_queue_exit(&ring);
	client_close(&pair.client);
}

static void uring_blocked_job_is_cancelled(void)
{
	struct completion completion;
	struct io_uring ring;
	struct pair pair;

	pair_prepare(&pair, 0, 900 * MS);
	check_equal(job_submit(&pair.client, &pair.first), 0);
	ring_open_default(&ring);
	ring_submit_job(&ring, &pair.client, &pair.second);
	ring_cancel_job(&ring, &pair.client, 2, 77);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, completion.status ? 2 : 77);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, completion.status ? 2 : 77);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	io_uring_queue_exit(&ring);
	client_close(&pair.client);
}

/* A ring that goes away with a blocked job in it. */
static void abandoned_ring_ends_a_blocked_job(void)
{
	struct overtake_result result;
	struct io_uring ring;
	struct pair pair;

	pair_open(&pair, 0);
	check_equal(job_submit(&pair.client, &pair.first), 0);
	ring_open_to_abandon(&ring);
	ring_submit_job(&ring, &pair.client, &pair.second);
	check(!syncobj_is_signalled(pair.client.fd, pair.done, 0));
	io_uring_queue_exit(&ring);
	check_equal(job_cancel(&pair.client, 1), 0);
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(job_wait(&pair.client, 1, NEVER, &result), 0);
	/* Nothing that could still signal it is left but its own end. */
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	client_close(&pair.client);
}

static void sync_file_is_told(void)
{
	struct overtake_result result;
	struct pollfd poll_file = { .events = POLLIN };
	struct pair pair;

	pair_open(&pair, 0);
	pair_submit(&pair);
	poll_file.fd = syncobj_to_sync_file(pair.client.fd, pair.done);
	check_equal(sync_file_status(poll_file.fd), 0);
	check_equal(poll(&poll_file, 1, 0), 0);
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(poll(&poll_file, 1, 0), 0);
	check_equal(advance_clock(0, 12 * MS), 0);
	check_equal(poll(&poll_file, 1, 0), 1);
	check_equal(sync_file_status(poll_file.fd), 1);
	check_equal(job_wait(&pair.client, 2, 0, &result), 0);
	close(poll_file.fd);
	client_close(&pair.client);
}

/* What another driver does with a shared buffer comes first; what it reads, readers may read too. */
static void foreign_fences_of_a_shared_buffer(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = vgem_create(SIZE);
	uint64_t address = map_buffer(client.fd, prime_import(client.fd, foreign.fd), READ_WRITE);
	struct overtake_result result;
	uint32_t fence;
	struct job job;

	put_copy(&client, 0, 4096, 0, 1024);
	fence = vgem_fence_attach(&foreign, true);
	job_init_on(&job, &client, 1, address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), 0);
	fill(foreign.data, 1024, 1);
	check_equal(job_wait(&client, 1, 0, &result), -ETIMEDOUT);
	vgem_fence_signal(&foreign, fence);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(foreign.data, foreign.data + 4096, 1024));

	fence = vgem_fence_attach(&foreign, false);
	put_delay(&client, 1, 1000);
	job_init_on(&job, &client, 2, address, SIZE, OVERTAKE_MAP_READ);
	job.fcs[0].first_insn = 1;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	job_init_on(&job, &client, 3, address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 3, 0, &result), -ETIMEDOUT);
	vgem_fence_signal(&foreign, fence);
	check_equal(job_wait(&client, 3, NEVER, &result), 0);
	foreign_destroy(&foreign);
	client_close(&client);
}

/* Others see when the device is done with a buffer. */
static void importers_see_the_devices_fences(void)
{
	struct client client = client_open_at_zero();
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	struct overtake_result result;
	int reader, writer;
	struct job job;

	put_delay(&client, 0, 5 * MS);
	job_init_on(&job, &client, 1, buffer.address, SIZE, OVERTAKE_MAP_READ);
	check_equal(job_submit(&client, &job), 0);
	reader = dmabuf_sync_file(dmabuf, false);
	writer = dmabuf_sync_file(dmabuf, true);
	check_equal(sync_file_status(reader), 1);
	check_equal(sync_file_status(writer), 0);
	close(reader);
	job_init_on(&job, &client, 2, buffer.address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), 0);
	reader = dmabuf_sync_file(dmabuf, false);
	check_equal(sync_file_status(reader), 0);
	check_equal(advance_clock(0, 20 * MS), 0);
	check_equal(sync_file_status(reader), 1);
	check_equal(sync_file_status(writer), 1);
	check_equal(job_wait(&client, 2, 0, &result), 0);
	close(reader);
	close(writer);
	close(dmabuf);
	client_close(&client);
}

#define CHAIN_LENGTH	1000u

static void submit_chain(struct client *client, uint32_t timeline)
{
	struct sync_chain chain;
	struct job job;
	uint32_t i;

	for (i = 1; i <= CHAIN_LENGTH; i++) {
		job_init(&job, client, i, 0, 1);
		job.submit.core = 1 + i % 2;
		sync_chain_init(&chain, &job);
		if (i > 1)
			sync_chain_in(&chain, timeline, i - 1);
		sync_chain_out(&chain, timeline, i);
		check_equal(job_submit(client, &job), 0);
	}
}

static void long_chain_runs_in_order(void)
{
	struct client client = client_open(0, 254);
	uint32_t timeline = syncobj_create(client.fd);
	struct overtake_result result;
	uint64_t previous_ns = 0;
	uint32_t i;

	put_delay(&client, 0, MS / 10);
	submit_chain(&client, timeline);
	for (i = 1; i <= CHAIN_LENGTH; i++) {
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, 0);
		check(result.start_ns >= previous_ns);
		previous_ns = result.end_ns;
	}
	check_equal(syncobj_point(client.fd, timeline), CHAIN_LENGTH);
	client_close(&client);
}

/* The first fails: none of the others runs, and no stack overflows. */
static void long_chain_fails_as_a_whole(void)
{
	struct client client = client_open_at_zero();
	uint32_t timeline = syncobj_create(client.fd);
	struct overtake_result result;
	uint32_t i;

	put_delay(&client, 0, MS);
	submit_chain(&client, timeline);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(advance_clock(0, MS / 2), 0);
	for (i = 1; i <= CHAIN_LENGTH; i++) {
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, -ECANCELED);
		check_equal(result.start_ns, 0);
	}
	client_close(&client);
}

#define ODD_SIZE	(37 * 4096u)	/* of one dma-buf only */

/* However many jobs use a buffer, two fences stand for them: one of the readers, one of the writers. */
static void a_thousand_jobs_leave_two_fences(void)
{
	struct client client = client_open_at_zero();
	struct buffer buffer = buffer_create(client.fd, ODD_SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	struct overtake_result result;
	struct job job;
	uint32_t i;
	int waiter;

	put_delay(&client, 0, 1000);
	for (i = 0; i < 1000; i++) {
		job_init_on(&job, &client, i, buffer.address, ODD_SIZE,
			    i % 3 ? OVERTAKE_MAP_READ : READ_WRITE);
		check_equal(job_submit(&client, &job), 0);
	}
	check_equal(count_device_fences(ODD_SIZE), 2);
	/* And they stand for all of them, in whatever order they end. */
	waiter = dmabuf_sync_file(dmabuf, true);
	for (i = 1; i < 1000; i++)
		check_equal(job_cancel(&client, i), 0);
	check_equal(advance_clock(0, 500), 0);
	for (i = 1; i < 1000; i++)
		check_equal(job_wait(&client, i, 0, &result), 0);
	check_equal(sync_file_status(waiter), 0);
	check_equal(advance_clock(0, 5000), 0);
	check_equal(job_wait(&client, 0, 0, &result), 0);
	check(sync_file_status(waiter) != 0);
	close(waiter);
	close(dmabuf);
	client_close(&client);
}

#define FRAMES		12u
#define FRAME_BYTES	8192u
#define CAMERA_REGION	5u

/* A buffer between two stages, and how its consumer sees it. */
struct stage {
	struct foreign camera;
	uint32_t exposing;	/* the camera's fence */
	uint64_t camera_address;
	struct buffer output;
	int dmabuf;		/* of @output */
	uint32_t shown_handle;	/* of @output, at the consumer's */
	uint32_t showing;	/* the consumer's fence, or 0 */
	uint8_t *shown;		/* the consumer's mapping */
};

static void stage_open(struct stage *stage, struct client *client, int consumer)
{
	stage->camera = vgem_create(FRAME_BYTES);
	stage->camera_address = map_buffer(client->fd, prime_import(client->fd, stage->camera.fd),
					   OVERTAKE_MAP_READ);
	stage->output = buffer_create(client->fd, FRAME_BYTES, READ_WRITE);
	stage->dmabuf = prime_export(client->fd, stage->output.handle, DRM_RDWR | DRM_CLOEXEC);
	stage->shown_handle = prime_import(consumer, stage->dmabuf);
	stage->shown = mmap(NULL, FRAME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, stage->dmabuf, 0);
	check(stage->shown != MAP_FAILED);
	stage->showing = 0;
}

/* Two mappings show the same pages: what is written by either is seen by the other. */
static void check_same_pages(uint8_t *one, uint8_t *other, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += 4096) {
		one[i + 17] = 0x5a;
		check_equal(other[i + 17], 0x5a);
		other[i + 17] = 0xa5;
		check_equal(one[i + 17], 0xa5);
	}
}

/* Producer and consumer of each buffer have the same memory, so there is nothing to copy. */
static void check_no_copy(struct stage *stage)
{
	uint8_t *camera = mmap(NULL, FRAME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			       stage->camera.fd, 0);

	check(camera != MAP_FAILED);
	check_same_pages(camera, stage->camera.data, FRAME_BYTES);
	check_same_pages(stage->shown, stage->output.data, FRAME_BYTES);
	munmap(camera, FRAME_BYTES);
}

static uint8_t frame_byte(uint32_t frame, uint32_t i)
{
	return (uint8_t)(frame * 31 + i * 3 + i / 256);
}

/* output = camera, one instruction */
static void put_frame_copy(struct client *client)
{
	struct overtake_operand operand = {
		.height = 1, .width = FRAME_BYTES / 8, .channels = 8,
		.row_stride = FRAME_BYTES, .pixel_stride = 8,
	};
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_COPY };

	insn.out = operand;
	insn.out.region = OVERTAKE_REGION_IO;
	insn.in[0] = operand;
	insn.in[0].region = CAMERA_REGION;
	put_insn(client, 0, &insn);
}

static void submit_frame(struct client *client, struct stage *stage, uint32_t frame,
			 uint32_t exposed, uint32_t done)
{
	struct overtake_binding bindings[3];
	struct sync_chain chain;
	struct job job;

	job_init_on(&job, client, frame, stage->output.address, FRAME_BYTES, READ_WRITE);
	memcpy(bindings, job.bindings, sizeof(job.bindings));
	bindings[2] = (struct overtake_binding){
		.address = stage->camera_address, .length = FRAME_BYTES,
		.region = CAMERA_REGION, .flags = OVERTAKE_MAP_READ,
	};
	job.submit.bindings = (uintptr_t)bindings;
	job.submit.binding_count = 3;
	sync_chain_init(&chain, &job);
	sync_chain_in(&chain, exposed, 0);
	sync_chain_out(&chain, done, 1 + frame);
	check_equal(job_submit(client, &job), 0);
}

/* The camera begins to expose a frame, and the device is told to process it when it is there. */
static void begin_frame(struct client *client, struct stage *stage, uint32_t frame,
			uint32_t exposed, uint32_t done)
{
	int sync_file;

	stage->exposing = vgem_fence_attach(&stage->camera, true);
	sync_file = dmabuf_sync_file(stage->camera.fd, false);
	syncobj_from_sync_file(client->fd, exposed, sync_file);
	close(sync_file);
	submit_frame(client, stage, frame, exposed, done);
}

static short dmabuf_readable(int dmabuf, int timeout)
{
	struct pollfd file = { .fd = dmabuf, .events = POLLIN };

	check(poll(&file, 1, timeout) >= 0);
	return file.revents & POLLIN;
}

/* The camera's frame is there; the consumer waits for the device's, and looks at it. */
static void finish_frame(struct stage *stage, int consumer, uint32_t frame)
{
	uint32_t i;

	for (i = 0; i < FRAME_BYTES; i++)
		stage->camera.data[i] = frame_byte(frame, i);
	check(!dmabuf_readable(stage->dmabuf, 0));
	vgem_fence_signal(&stage->camera, stage->exposing);
	if (stage->showing) {
		/* The consumer still shows the last one: the device must not write yet. */
		check(!dmabuf_readable(stage->dmabuf, 0));
		for (i = 0; i < FRAME_BYTES; i++)
			check_equal(stage->shown[i], frame_byte(frame - 2, i));
		vgem_handle_fence_signal(consumer, stage->showing);
	}
	check(dmabuf_readable(stage->dmabuf, -1));
	for (i = 0; i < FRAME_BYTES; i++)
		check_equal(stage->shown[i], frame_byte(frame, i));
	stage->showing = vgem_handle_fence_attach(consumer, stage->shown_handle, false);
}

/*
 * Camera, device, consumer: a buffer of another driver in, one that another driver imports out, two
 * of each in turn, and nobody waits but for fences.
 */
static void pipeline_without_a_copy(void)
{
	struct client client = client_open(0, 254);
	uint32_t exposed[2], done = syncobj_create(client.fd);
	int consumer = vgem_open();
	struct overtake_result result;
	struct stage stages[2];
	uint32_t frame, i;

	put_frame_copy(&client);
	for (i = 0; i < 2; i++) {
		exposed[i] = syncobj_create(client.fd);
		stage_open(&stages[i], &client, consumer);
		check_no_copy(&stages[i]);
	}
	for (frame = 0; frame < FRAMES; frame++) {
		begin_frame(&client, &stages[frame % 2], frame, exposed[frame % 2], done);
		if (frame)
			finish_frame(&stages[(frame - 1) % 2], consumer, frame - 1);
		check_equal(syncobj_point(client.fd, done), frame);
	}
	finish_frame(&stages[(frame - 1) % 2], consumer, frame - 1);
	for (frame = 0; frame < FRAMES; frame++) {
		check_equal(job_wait(&client, frame, NEVER, &result), 0);
		check_equal(result.status, 0);
	}
	check_equal(syncobj_point(client.fd, done), FRAMES);
	for (i = 0; i < 2; i++) {
		check_no_copy(&stages[i]);
		close(stages[i].dmabuf);
		foreign_destroy(&stages[i].camera);
	}
	close(consumer);
	client_close(&client);
}

const struct test_case share_cases[] = {
	{ "share-pipeline-without-a-copy", FUNCTIONAL, pipeline_without_a_copy },
	{ "share-a-thousand-jobs-leave-two-fences", MANUAL, a_thousand_jobs_leave_two_fences },
	{ "share-import-of-udmabuf", FUNCTIONAL, import_of_udmabuf },
	{ "share-import-of-dma-heap", FUNCTIONAL, import_of_heap },
	{ "share-import-of-vgem", FUNCTIONAL, import_of_vgem },
	{ "share-import-outlives-its-exporter", FUNCTIONAL, import_outlives_its_exporter },
	{ "share-export-is-the-same-memory", FUNCTIONAL, export_is_the_same_memory },
	{ "share-own-buffer-comes-home-as-itself", FUNCTIONAL, own_buffer_comes_home_as_itself },
	{ "share-read-only-stays-read-only", FUNCTIONAL, read_only_stays_read_only },
	{ "share-import-counts-against-the-limits", FUNCTIONAL, import_counts_against_the_limits },
	{ "share-foreign-fences-of-a-shared-buffer", FUNCTIONAL,
	  foreign_fences_of_a_shared_buffer },
	{ "fence-failed-one-ends-the-job", FUNCTIONAL, failed_fence_ends_the_job },
	{ "fence-arrival-is-the-signal", TIMED, arrival_is_the_signal },
	{ "fence-long-chain-runs-in-order", TIMED, long_chain_runs_in_order },
	{ "fence-uring-job-waits", TIMED, uring_job_waits_for_a_fence },
	{ "fence-uring-blocked-job-is-cancelled", TIMED, uring_blocked_job_is_cancelled },
	{ "share-importers-see-the-devices-fences", MANUAL, importers_see_the_devices_fences },
	{ "fence-binary-syncobj", MANUAL, job_waits_for_a_binary_syncobj },
	{ "fence-point-of-a-timeline", MANUAL, job_waits_for_a_point_of_a_timeline },
	{ "fence-job-waits-for-all", MANUAL, waits_for_all_of_its_fences },
	{ "fence-cancel-ends-a-blocked-job", MANUAL, cancel_ends_a_blocked_job },
	{ "fence-deadline-ends-a-blocked-job", MANUAL, deadline_ends_a_blocked_job },
	{ "fence-destroyed-context-ends-blocked-jobs", MANUAL,
	  destroyed_context_ends_blocked_jobs },
	{ "fence-closed-file-ends-blocked-jobs", MANUAL, closed_file_ends_blocked_jobs },
	{ "fence-kill-ends-blocked-jobs", MANUAL, kill_ends_blocked_jobs },
	{ "fence-unbind-ends-blocked-jobs", MANUAL, unbind_ends_blocked_jobs },
	{ "fence-abandoned-ring-ends-a-blocked-job", MANUAL, abandoned_ring_ends_a_blocked_job },
	{ "fence-sync-file-is-told", MANUAL, sync_file_is_told },
	{ "fence-long-chain-fails-as-a-whole", MANUAL, long_chain_fails_as_a_whole },
	{ 0 },
};
