// SPDX-License-Identifier: MIT
/* Handles, contexts, jobs and fences of another client, and memory that it shares for reading. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dma_buf.h"
#include "isolation.h"
#include "ring.h"

/* --- Handles --------------------------------------------------------------------------------- */

static int maps_victims_handle(struct scene *scene)
{
	uint64_t address;

	return try_map(scene->attacker.fd, scene->secret.handle, READ_WRITE, &address);
}

static uint64_t offset_of_secret(struct scene *scene)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = scene->secret.handle };

	check_equal(device_ioctl(scene->victim.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args), 0);
	return args.offset;
}

static int asks_for_victims_mmap_offset(struct scene *scene)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = scene->secret.handle };

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args);
}

static int mmap_at(int fd, uint64_t offset, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)offset);

	if (data == MAP_FAILED)
		return -errno;
	munmap(data, size);
	return BREACH;
}

static int mmaps_victims_offset(struct scene *scene)
{
	return mmap_at(scene->attacker.fd, offset_of_secret(scene), SECRET_BYTES);
}

/* Maps from its own last buffer on, into the next offsets of the device. */
static int mmaps_beyond_own_buffer(struct scene *scene)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = scene->attacker.data.handle };

	check_equal(device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args), 0);
	return mmap_at(scene->attacker.fd, args.offset, scene->attacker.data.size + 4096);
}

static int exports_victims_handle(struct scene *scene)
{
	int dmabuf;

	return try_prime_export(scene->attacker.fd, scene->secret.handle, DRM_RDWR, &dmabuf);
}

static int waits_on_victims_handle(struct scene *scene)
{
	struct drm_overtake_bo_wait args = {
		.handle = scene->secret.handle, .flags = OVERTAKE_MAP_READ,
	};

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &args);
}

static int closes_victims_handle(struct scene *scene)
{
	return close_handle(scene->attacker.fd, scene->secret.handle);
}

static int names_victims_handle(struct scene *scene)
{
	struct drm_gem_flink args = { .handle = scene->secret.handle };

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_GEM_FLINK, &args);
}

/* Files of an accelerator have no global names, so that none can be guessed. */
static int opens_guessed_names(struct scene *scene)
{
	uint32_t name;

	for (name = 0; name < 256; name++) {
		struct drm_gem_open args = { .name = name };
		int ret = device_ioctl(scene->attacker.fd, DRM_IOCTL_GEM_OPEN, &args);

		if (ret != -EACCES)
			return ret;
	}
	return -EACCES;
}

/* Runs @attempt in a process without any right; returns its outcome. */
static int unprivileged(struct scene *scene, int (*attempt)(struct scene *scene))
{
	int status, pipes[2], outcome = BREACH;
	pid_t child;

	check_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		/* The file keeps the rights of root, who opened it. */
		check_equal(setresuid(65534, 65534, 65534), 0);
		outcome = attempt(scene);
		_exit(write(pipes[1], &outcome, sizeof(outcome)) != sizeof(outcome));
	}
	close(pipes[1]);
	check_equal(waitpid(child, &status, 0), child);
	check(read(pipes[0], &outcome, sizeof(outcome)) == sizeof(outcome));
	close(pipes[0]);
	return outcome;
}

static int reads_debugfs(struct scene *scene)
{
	char path[128], text[64];

	(void)scene;
	debugfs_path(path, sizeof(path), 0, "state");
	return read_file(path, text, sizeof(text));
}

static int reads_debugfs_unprivileged(struct scene *scene)
{
	return unprivileged(scene, reads_debugfs);
}

static int takes_the_high_ring(struct scene *scene)
{
	uint32_t id;

	return context_create(scene->attacker.fd, 255, 0, &id);
}

static int takes_the_high_ring_unprivileged(struct scene *scene)
{
	return unprivileged(scene, takes_the_high_ring);
}

static int maps_closed_handle(struct scene *scene)
{
	struct buffer mine = buffer_create(scene->attacker.fd, 4096, READ_WRITE);
	struct buffer theirs;
	uint64_t address;
	int ret;

	buffer_destroy(scene->attacker.fd, &mine);
	theirs = buffer_create(scene->victim.fd, 4096, READ_WRITE);
	ret = try_map(scene->attacker.fd, mine.handle, READ_WRITE, &address);
	buffer_destroy(scene->victim.fd, &theirs);
	return ret;
}

/* --- Contexts and jobs ----------------------------------------------------------------------- */

static int submits_to_victims_context(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.context_id = scene->second_context;
	return run_copy_of(scene, job);
}

static int cancels_victims_tag(struct scene *scene)
{
	return job_cancel(&scene->attacker, VICTIM_TAG);
}

static int cancels_in_victims_context(struct scene *scene)
{
	struct client disguised = scene->attacker;

	disguised.context = scene->second_context;
	return job_cancel(&disguised, VICTIM_TAG);
}

static int waits_for_victims_tag(struct scene *scene)
{
	struct overtake_result result;

	return job_wait(&scene->attacker, VICTIM_TAG, 0, &result);
}

static int collects_whatever_there_is(struct scene *scene)
{
	struct overtake_result result;

	return job_wait_any(&scene->attacker, 0, &result);
}

static int destroys_victims_context(struct scene *scene)
{
	return context_destroy(scene->attacker.fd, scene->second_context);
}

static int cancels_by_ring(struct scene *scene)
{
	struct completion completion;
	struct io_uring ring;

	ring_open_default(&ring);
	ring_cancel_job(&ring, &scene->attacker, VICTIM_TAG, 1);
	completion = ring_reap(&ring);
	io_uring_queue_exit(&ring);
	return completion.status;
}

static int binds_by_ring(struct scene *scene)
{
	struct job job = attackers_job(scene);
	struct completion completion;
	struct io_uring ring;

	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	job.bindings[1].address = scene->secret.address;
	ring_open_default(&ring);
	ring_submit_job(&ring, &scene->attacker, &job);
	completion = ring_reap(&ring);
	io_uring_queue_exit(&ring);
	return completion.status;
}

/* --- Fences ---------------------------------------------------------------------------------- */

static int chains_victims_sync(struct scene *scene, bool in)
{
	struct sync_chain chain;
	struct job job;

	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job_init(&job, &scene->attacker, 1, 0, 1);
	sync_chain_init(&chain, &job);
	if (in)
		sync_chain_in(&chain, scene->sync, 0);
	else
		sync_chain_out(&chain, scene->sync, 0);
	return run_job(scene, &job);
}

static int waits_for_victims_syncobj(struct scene *scene)
{
	return chains_victims_sync(scene, true);
}

static int replaces_victims_fence(struct scene *scene)
{
	return chains_victims_sync(scene, false);
}

static int signals_victims_syncobj(struct scene *scene)
{
	struct drm_syncobj_array array = {
		.handles = (uintptr_t)&scene->sync, .count_handles = 1,
	};

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array);
}

static int exports_victims_syncobj(struct scene *scene)
{
	struct drm_syncobj_handle args = { .handle = scene->sync, .fd = -1 };

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);
}

static int imports_what_is_no_buffer(struct scene *scene)
{
	uint32_t handle;

	return try_prime_import(scene->attacker.fd, scene->victim.fd, &handle);
}

static int imports_a_fence_as_a_buffer(struct scene *scene)
{
	int sync_file = syncobj_to_sync_file(scene->victim.fd, scene->sync);
	uint32_t handle;
	int ret = try_prime_import(scene->attacker.fd, sync_file, &handle);

	close(sync_file);
	return ret;
}

/* --- What the victim shares for reading ------------------------------------------------------- */

/* Shares the secret for reading, and runs @attempt of the attacker with it. */
static int with_read_only_share(struct scene *scene, int (*attempt)(struct scene *scene, int dmabuf,
								     uint32_t handle))
{
	struct buffer shared = buffer_create(scene->victim.fd, 16 * 4096, READ_WRITE);
	int dmabuf = prime_export(scene->victim.fd, shared.handle, DRM_CLOEXEC);
	uint32_t handle = prime_import(scene->attacker.fd, dmabuf);
	int outcome;

	memset(shared.data, 0x22, shared.size);
	outcome = attempt(scene, dmabuf, handle);
	if (shared.data[0] != 0x22 || memcmp(shared.data, shared.data + 1, shared.size - 1))
		outcome = BREACH;
	check_equal(close_handle(scene->attacker.fd, handle), 0);
	close(dmabuf);
	buffer_destroy(scene->victim.fd, &shared);
	return outcome;
}

static int map_for_writing(struct scene *scene, int dmabuf, uint32_t handle)
{
	uint64_t address;

	(void)dmabuf;
	return try_map(scene->attacker.fd, handle, READ_WRITE, &address);
}

static int maps_read_only_share_writable(struct scene *scene)
{
	return with_read_only_share(scene, map_for_writing);
}

static int mmap_for_writing(struct scene *scene, int dmabuf, uint32_t handle)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = handle };
	void *data;

	(void)dmabuf;
	check_equal(device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args), 0);
	data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, scene->attacker.fd,
		    (off_t)args.offset);
	return data == MAP_FAILED ? -errno : BREACH;
}

static int mmaps_read_only_share_writable(struct scene *scene)
{
	return with_read_only_share(scene, mmap_for_writing);
}

static int mprotect_for_writing(struct scene *scene, int dmabuf, uint32_t handle)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = handle };
	void *data;
	int ret;

	(void)dmabuf;
	check_equal(device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args), 0);
	data = mmap(NULL, 4096, PROT_READ, MAP_SHARED, scene->attacker.fd, (off_t)args.offset);
	check(data != MAP_FAILED);
	ret = mprotect(data, 4096, PROT_READ | PROT_WRITE) ? -errno : BREACH;
	munmap(data, 4096);
	return ret;
}

static int mprotects_read_only_share(struct scene *scene)
{
	return with_read_only_share(scene, mprotect_for_writing);
}

static int dmabuf_mmap_for_writing(struct scene *scene, int dmabuf, uint32_t handle)
{
	void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);

	(void)scene;
	(void)handle;
	return data == MAP_FAILED ? -errno : BREACH;
}

static int mmaps_read_only_dmabuf_writable(struct scene *scene)
{
	return with_read_only_share(scene, dmabuf_mmap_for_writing);
}

/* Exports it again, this time for writing. */
static int reexport_for_writing(struct scene *scene, int dmabuf, uint32_t handle)
{
	int again = prime_export(scene->attacker.fd, handle, DRM_RDWR | DRM_CLOEXEC);
	int ret = dmabuf_mmap_for_writing(scene, again, handle);

	(void)dmabuf;
	close(again);
	return ret;
}

static int reexports_read_only_share(struct scene *scene)
{
	return with_read_only_share(scene, reexport_for_writing);
}

static int job_writes_read_only(struct scene *scene, int dmabuf, uint32_t handle)
{
	uint64_t address = map_buffer(scene->attacker.fd, handle, OVERTAKE_MAP_READ);
	struct drm_overtake_bo_unmap unmap = { .address = address };
	struct job job = attackers_job(scene);
	int outcome;

	(void)dmabuf;
	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job.bindings[1].address = address;
	job.bindings[1].flags = OVERTAKE_MAP_READ;
	outcome = run_copy_of(scene, job);
	check_equal(device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	return outcome;
}

static int job_writes_read_only_share(struct scene *scene)
{
	return with_read_only_share(scene, job_writes_read_only);
}

#define ATTEMPTS(X) \
	X(maps_victims_handle, -ENOENT, "isolation-map-of-the-victims-handle") \
	X(asks_for_victims_mmap_offset, -ENOENT, "isolation-mmap-offset-of-the-victims-handle") \
	X(mmaps_victims_offset, -EACCES, "isolation-mmap-of-the-victims-offset") \
	X(mmaps_beyond_own_buffer, -EINVAL, "isolation-mmap-beyond-its-own-buffer") \
	X(exports_victims_handle, -ENOENT, "isolation-export-of-the-victims-handle") \
	X(waits_on_victims_handle, -ENOENT, "isolation-wait-on-the-victims-handle") \
	X(closes_victims_handle, -EINVAL, "isolation-close-of-the-victims-handle") \
	X(names_victims_handle, -EACCES, "isolation-flink-of-the-victims-handle") \
	X(opens_guessed_names, -EACCES, "isolation-gem-open-of-guessed-names") \
	X(maps_closed_handle, -ENOENT, "isolation-map-of-a-closed-handle") \
	X(reads_debugfs_unprivileged, -EACCES, "isolation-debugfs-without-a-right") \
	X(takes_the_high_ring_unprivileged, -EPERM, "isolation-priority-255-without-a-right") \
	X(submits_to_victims_context, -ENOENT, "isolation-submission-to-the-victims-context") \
	X(cancels_victims_tag, -ENOENT, "isolation-cancel-of-the-victims-tag") \
	X(cancels_in_victims_context, -ENOENT, "isolation-cancel-in-the-victims-context") \
	X(waits_for_victims_tag, -ENOENT, "isolation-wait-for-the-victims-tag") \
	X(collects_whatever_there_is, -ENOENT, "isolation-wait-for-whatever-there-is") \
	X(destroys_victims_context, -ENOENT, "isolation-destruction-of-the-victims-context") \
	X(cancels_by_ring, -ENOENT, "isolation-cancel-of-the-victims-tag-by-ring") \
	X(binds_by_ring, -ENOENT, "isolation-binding-of-the-victims-address-by-ring") \
	X(waits_for_victims_syncobj, -ENOENT, "isolation-wait-for-the-victims-syncobj") \
	X(replaces_victims_fence, -ENOENT, "isolation-new-fence-for-the-victims-syncobj") \
	X(signals_victims_syncobj, -ENOENT, "isolation-signal-of-the-victims-syncobj") \
	X(exports_victims_syncobj, -EINVAL, "isolation-export-of-the-victims-syncobj") \
	X(imports_what_is_no_buffer, -EINVAL, "isolation-import-of-a-device-file-as-a-buffer") \
	X(imports_a_fence_as_a_buffer, -EINVAL, "isolation-import-of-a-fence-as-a-buffer") \
	X(maps_read_only_share_writable, -EACCES, "isolation-writable-map-of-a-read-only-share") \
	X(mmaps_read_only_share_writable, -EACCES, "isolation-writable-mmap-of-a-read-only-share") \
	X(mprotects_read_only_share, -EACCES, "isolation-mprotect-of-a-read-only-share") \
	X(mmaps_read_only_dmabuf_writable, -EACCES, \
	  "isolation-writable-mmap-of-a-read-only-dma-buf") \
	X(reexports_read_only_share, -EACCES, "isolation-writable-export-of-a-read-only-share") \
	X(job_writes_read_only_share, OVERTAKE_FAULT_PERMISSION, \
	  "isolation-job-writes-a-read-only-share")

ATTEMPTS(DEFINE_ATTEMPT)

const struct test_case isolation_objects_cases[] = {
	ATTEMPTS(ATTEMPT_CASE)
	{ 0 },
};
