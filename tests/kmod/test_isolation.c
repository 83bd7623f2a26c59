// SPDX-License-Identifier: MIT
/*
 * One client's attempts to reach another's memory, jobs and fences.  Each attempt has a name and the
 * refusal that the documentation promises; after each the victim's memory is compared, and the
 * attacker's is searched for the victim's secret.  All are made, then counted: none may succeed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"
#include "share.h"

/* Nobody is banned: each attempt has to fail by itself. */
#define SETUP \
	"devices=2 cores=2 mode=functional,timed profile=ideal manual_clock=0,1 ban_offences=0"
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define SECRET		0x5ec4e75ec4e75ec4ull
#define SECRET_BYTES	(16u * 4096u)
#define VICTIM_TAG	0x7777ull
#define RACES		200u

/* Outcomes: a negative errno, a fault's number, or one of these. */
#define BREACH		0	/* the call was granted, the job ran, the memory was reached */
#define NOTHING_GAINED	1000	/* granted, and yet of no use */

/**
 * struct scene - a victim with something to hide, and an attacker
 * @victim: has a job in flight, VICTIM_TAG in its second context, that waits for a fence
 * @secret: the victim's buffer, full of SECRET
 * @second_context: id that the attacker has not got
 * @sync: the victim's syncobj, whose number is not the attacker's
 * @elsewhere: a client of another device, whose clock stands still
 */
struct scene {
	struct client victim;
	struct buffer secret;
	uint32_t second_context;
	uint32_t sync;
	struct client attacker;
	struct client elsewhere;
};

static void fill_secret(void *memory, size_t size)
{
	uint64_t *words = memory;
	size_t i;

	for (i = 0; i < size / 8; i++)
		words[i] = SECRET;
}

static bool shows_secret(const void *memory, size_t size)
{
	const uint64_t secret = SECRET;

	return memmem(memory, size, &secret, sizeof(secret));
}

static bool is_zero(const uint8_t *memory, size_t size)
{
	return !memory[0] && !memcmp(memory, memory + 1, size - 1);
}

/* The attacker's job; what became of it as an outcome. */
static int run_job(struct scene *scene, struct job *job)
{
	struct overtake_result result;
	int ret = job_submit(&scene->attacker, job);

	if (ret)
		return ret;
	check_equal(job_wait(&scene->attacker, job->submit.tag, NEVER, &result), 0);
	if (result.status == -ENOEXEC)
		return (int)result.fault;
	return result.status;
}

static struct job attackers_job(struct scene *scene)
{
	struct job job;

	job_init(&job, &scene->attacker, 1, 0, 1);
	return job;
}

/* Pointers of job_init() are into the object: set them again after a copy. */
static int run_copy_of(struct scene *scene, struct job job)
{
	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	return run_job(scene, &job);
}

/* --- Programs -------------------------------------------------------------------------------- */

/* A copy of 1 KiB from offset 0 to 4096 of the data, spoilt by @spoil. */
static int run_spoilt(struct scene *scene, void (*spoil)(struct overtake_insn *insn))
{
	struct client *attacker = &scene->attacker;
	struct overtake_insn insn;

	put_copy(attacker, 0, 4096, 0, 1024);
	memcpy(&insn, attacker->program.data, sizeof(insn));
	spoil(&insn);
	put_insn(attacker, 0, &insn);
	return run_copy_of(scene, attackers_job(scene));
}

#define SPOILT(name, statement) \
	static void spoil_##name(struct overtake_insn *insn) \
	{ \
		statement; \
	} \
	static int name(struct scene *scene) \
	{ \
		return run_spoilt(scene, spoil_##name); \
	}

SPOILT(reads_behind_region, insn->in[0].offset = RESULT_OFFSET)
SPOILT(reads_across_end, insn->in[0].offset = RESULT_OFFSET - 1016)
SPOILT(reads_before_region, insn->in[0].offset = -4096ull)
SPOILT(writes_behind_region, insn->out.offset = 1ull << 32)
SPOILT(writes_wrapping, insn->out.offset = ~0ull - 1023)
SPOILT(reads_unbound_region, insn->in[0].region = 9)
SPOILT(reads_region_16, insn->in[0].region = OVERTAKE_MAX_REGIONS)
SPOILT(reads_region_absurd, insn->in[0].region = 0x80000003u)
SPOILT(writes_own_program, insn->out.region = OVERTAKE_REGION_PROGRAM)
SPOILT(walks_out_by_rows, (insn->in[0].height = 2, insn->in[0].width = 64,
			   insn->in[0].row_stride = 0xfffffff8u, insn->out.height = 2,
			   insn->out.width = 64, insn->out.row_stride = 512))

static int fetches_behind_program(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.fcs[0].first_insn = 16 * 4096 / sizeof(struct overtake_insn);
	return run_copy_of(scene, job);
}

static int fetches_wrapping(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.fcs[0].first_insn = ~0u;
	job.fcs[0].insn_count = 2;
	return run_copy_of(scene, job);
}

static int jumps_out_of_its_fc(struct scene *scene)
{
	put_jump(&scene->attacker, 0, 1u << 31);
	return run_copy_of(scene, attackers_job(scene));
}

/* --- Bindings -------------------------------------------------------------------------------- */

static int bind_memory(struct scene *scene, uint64_t address, uint64_t length)
{
	struct job job = attackers_job(scene);

	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job.bindings[1].address = address;
	job.bindings[1].length = length;
	return run_copy_of(scene, job);
}

static int binds_victims_address(struct scene *scene)
{
	return bind_memory(scene, scene->secret.address, SECRET_BYTES);
}

static int binds_one_byte_of_victims(struct scene *scene)
{
	return bind_memory(scene, scene->secret.address + 4096, 1);
}

static int binds_across_own_end(struct scene *scene)
{
	return bind_memory(scene, scene->attacker.data.address, scene->attacker.data.size + 1);
}

static int binds_up_to_victims(struct scene *scene)
{
	uint64_t start = scene->attacker.data.address;

	return bind_memory(scene, start, scene->secret.address + SECRET_BYTES - start);
}

static int binds_wrapping(struct scene *scene)
{
	return bind_memory(scene, scene->attacker.data.address + 8, ~0ull - 4);
}

static int binds_gap_between_buffers(struct scene *scene)
{
	return bind_memory(scene, scene->attacker.data.address + scene->attacker.data.size, 8);
}

static int binds_kernel_address(struct scene *scene)
{
	return bind_memory(scene, 0xffff888000000000ull, 4096);
}

static int binds_process_address(struct scene *scene)
{
	return bind_memory(scene, (uintptr_t)scene->secret.data, SECRET_BYTES);
}

static int binds_address_of_other_device(struct scene *scene)
{
	struct buffer far = buffer_create(scene->elsewhere.fd, 64 * 4096, READ_WRITE);
	int ret;

	fill_secret(far.data, far.size);
	ret = bind_memory(scene, far.address + 32 * 4096, 4096);
	buffer_destroy(scene->elsewhere.fd, &far);
	return ret;
}

static int binds_program_of_victim(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.bindings[0].address = scene->secret.address;
	job.bindings[0].length = SECRET_BYTES;
	return run_copy_of(scene, job);
}

static int binds_stale_address(struct scene *scene)
{
	struct buffer buffer = buffer_create(scene->attacker.fd, 4096, READ_WRITE);

	buffer_destroy(scene->attacker.fd, &buffer);
	return bind_memory(scene, buffer.address, 4096);
}

/* Unmapped, and somebody else has mapped since then. */
static int binds_stale_address_after_victims_map(struct scene *scene)
{
	struct buffer buffer = buffer_create(scene->attacker.fd, 8 * 4096, READ_WRITE);
	struct buffer fresh;
	int ret;

	buffer_destroy(scene->attacker.fd, &buffer);
	fresh = buffer_create(scene->victim.fd, 8 * 4096, READ_WRITE);
	fill_secret(fresh.data, fresh.size);
	ret = bind_memory(scene, buffer.address, 4096);
	buffer_destroy(scene->victim.fd, &fresh);
	return ret;
}

static int writes_read_only_mapping(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.bindings[0].flags = READ_WRITE;
	return run_copy_of(scene, job);
}

static int result_record_at_victims(struct scene *scene)
{
	struct job job = attackers_job(scene);

	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job.submit.result = scene->secret.address;
	return run_copy_of(scene, job);
}

static int result_record_across_own_end(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.result = scene->attacker.data.address + scene->attacker.data.size - 8;
	return run_copy_of(scene, job);
}

/* --- Addresses of this process and of the kernel ---------------------------------------------- */

static int fcs_from_kernel(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.fcs = 0xffffffff81000000ull;
	return job_submit(&scene->attacker, &job);
}

static int bindings_from_kernel(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.bindings = 0xffff888000000000ull;
	return job_submit(&scene->attacker, &job);
}

static int extensions_from_kernel(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	job.submit.extensions = 0xffffffff82000000ull;
	return job_submit(&scene->attacker, &job);
}

static int query_into_kernel(struct scene *scene)
{
	struct drm_overtake_query query = {
		.topic = OVERTAKE_QUERY_LIMITS, .size = 64, .data = 0xffffffff82000000ull,
	};

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_QUERY, &query);
}

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

/* From its own last buffer on into what follows in the device's range of offsets. */
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

/* Global names are not for files of an accelerator: none to be guessed. */
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

/* Runs @attempt in a process without any right; its outcome. */
static int unprivileged(struct scene *scene, int (*attempt)(struct scene *scene))
{
	int status, pipes[2], outcome = BREACH;
	pid_t child;

	check_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		/* The file that root opened stays as it is. */
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

/* --- Recycled memory ------------------------------------------------------------------------- */

#define RECYCLED	(8u << 20)

/* A client comes, fills memory with secrets and goes. */
static void leave_secrets(struct scene *scene)
{
	struct buffer buffer = buffer_create(scene->victim.fd, RECYCLED, READ_WRITE);

	fill_secret(buffer.data, buffer.size);
	buffer_destroy(scene->victim.fd, &buffer);
}

static int finds_secrets_in_new_buffer(struct scene *scene)
{
	struct buffer buffer;
	bool zero;

	leave_secrets(scene);
	buffer = buffer_create(scene->attacker.fd, RECYCLED, READ_WRITE);
	zero = is_zero(buffer.data, buffer.size);
	buffer_destroy(scene->attacker.fd, &buffer);
	return zero ? NOTHING_GAINED : BREACH;
}

static void put_scratch_copy(struct client *client, bool out_of_scratch)
{
	struct overtake_insn insn;

	put_copy(client, 0, 0, 0, 32768);
	memcpy(&insn, client->program.data, sizeof(insn));
	if (out_of_scratch)
		insn.in[0].region = OVERTAKE_REGION_SCRATCH;
	else
		insn.out.region = OVERTAKE_REGION_SCRATCH;
	put_insn(client, 0, &insn);
}

static int finds_secrets_in_scratch(struct scene *scene)
{
	struct overtake_result result;
	struct job job;
	int outcome;

	fill_secret(scene->victim.data.data, 32768);
	put_scratch_copy(&scene->victim, false);
	job_init(&job, &scene->victim, 99, 0, 1);
	job.submit.scratch_bytes = 32768;
	check_equal(job_submit(&scene->victim, &job), 0);
	check_equal(job_wait(&scene->victim, 99, NEVER, &result), 0);
	check_equal(result.status, 0);

	put_scratch_copy(&scene->attacker, true);
	memset(scene->attacker.data.data, 0xff, 32768);
	job = attackers_job(scene);
	job.submit.scratch_bytes = 32768;
	outcome = run_copy_of(scene, job);
	check_equal(outcome, 0); /* it may look at its own scratch */
	return is_zero(scene->attacker.data.data, 32768) ? NOTHING_GAINED : BREACH;
}

/* Its own scratch of the job before. */
static int finds_last_jobs_scratch(struct scene *scene)
{
	struct job job;

	memset(scene->attacker.data.data, 0x77, 32768);
	put_scratch_copy(&scene->attacker, false);
	job = attackers_job(scene);
	job.submit.scratch_bytes = 32768;
	check_equal(run_copy_of(scene, job), 0);
	put_scratch_copy(&scene->attacker, true);
	check_equal(run_copy_of(scene, job), 0);
	return is_zero(scene->attacker.data.data, 32768) ? NOTHING_GAINED : BREACH;
}

/* The record is 64 bytes, each of them said by the driver on purpose. */
static int finds_more_in_result_record(struct scene *scene)
{
	struct client *attacker = &scene->attacker;
	struct overtake_result *record = (void *)(attacker->data.data + RESULT_OFFSET);
	struct overtake_result result;
	struct job job = attackers_job(scene);

	memset(record, 0xee, 2 * sizeof(*record));
	put_copy(attacker, 0, 4096, 0, 1024);
	job.submit.result = attacker->data.address + RESULT_OFFSET;
	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	check_equal(job_submit(attacker, &job), 0);
	check_equal(job_wait(attacker, 1, NEVER, &result), 0);
	if (memcmp(record, &result, sizeof(result)) || ((uint8_t *)(record + 1))[0] != 0xee)
		return BREACH;
	return NOTHING_GAINED;
}

/* A mapping into the process that outlives handle and device address: its pages stay its own. */
static int looks_through_old_mmap(struct scene *scene)
{
	struct buffer mine = buffer_create(scene->attacker.fd, RECYCLED, READ_WRITE);
	struct drm_overtake_bo_unmap unmap = { .address = mine.address };
	bool shown;

	memset(mine.data, 0x11, mine.size);
	check_equal(device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(close_handle(scene->attacker.fd, mine.handle), 0);
	leave_secrets(scene);
	shown = shows_secret(mine.data, mine.size) || mine.data[0] != 0x11;
	munmap(mine.data, mine.size);
	return shown ? BREACH : NOTHING_GAINED;
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

/* The secret, for reading; what the attacker then tries with it. */
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

/* Export it anew, this time for writing. */
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

/* --- Races ----------------------------------------------------------------------------------- */

struct race {
	void (*change)(struct race *race);
	struct scene *scene;
	struct job *job;
	struct sync_chain *chain;
	unsigned int seed;
	atomic_bool over;
};

static void *keep_changing(void *argument)
{
	struct race *race = argument;

	while (!atomic_load(&race->over))
		race->change(race);
	return NULL;
}

/* Jobs of the attacker, while another thread changes what they are made of. */
static int run_race(struct scene *scene, void (*change)(struct race *race))
{
	struct race race = { .change = change, .scene = scene, .seed = 1 };
	struct overtake_result result;
	struct sync_chain chain;
	pthread_t thread;
	struct job job;
	uint64_t i;

	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job_init(&job, &scene->attacker, 1, 0, 1);
	sync_chain_init(&chain, &job);
	race.job = &job;
	race.chain = &chain;
	check_equal(pthread_create(&thread, NULL, keep_changing, &race), 0);
	for (i = 0; i < RACES; i++) {
		job.submit.tag = i;
		if (!device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_SUBMIT, &job.submit))
			check_equal(job_wait(&scene->attacker, i, NEVER, &result), 0);
	}
	atomic_store(&race.over, true);
	pthread_join(thread, NULL);
	return NOTHING_GAINED; /* the comparison of the memory says whether that is so */
}

static void change_program(struct race *race)
{
	volatile struct overtake_insn *insn = (void *)race->scene->attacker.program.data;

	insn->in[0].offset = (uint64_t)rand_r(&race->seed) << 12;
	insn->out.offset = (uint64_t)rand_r(&race->seed) << 12;
	insn->in[0].region = (uint32_t)rand_r(&race->seed) % 32;
	insn->in[0].offset = 0;
	insn->out.offset = 4096;
	insn->in[0].region = OVERTAKE_REGION_IO;
}

static int rewrites_program_while_it_runs(struct scene *scene)
{
	return run_race(scene, change_program);
}

static void change_bindings(struct race *race)
{
	volatile struct overtake_binding *binding = &race->job->bindings[1];

	binding->address = race->scene->secret.address;
	binding->length = ~0ull;
	binding->region = (uint32_t)rand_r(&race->seed);
	binding->address = race->scene->attacker.data.address;
	binding->length = RESULT_OFFSET;
	binding->region = OVERTAKE_REGION_IO;
}

static int rewrites_bindings_while_they_are_read(struct scene *scene)
{
	return run_race(scene, change_bindings);
}

static void change_fcs(struct race *race)
{
	volatile struct overtake_fc *fc = &race->job->fcs[0];

	fc->first_insn = (uint32_t)rand_r(&race->seed);
	fc->insn_count = (uint32_t)rand_r(&race->seed);
	fc->first_insn = 0;
	fc->insn_count = 1;
}

static int rewrites_fcs_while_they_are_read(struct scene *scene)
{
	return run_race(scene, change_fcs);
}

static void change_syncs(struct race *race)
{
	volatile struct overtake_extension_sync *sync = &race->chain->sync;

	sync->in_count = (uint32_t)rand_r(&race->seed);
	sync->out_count = (uint32_t)rand_r(&race->seed) % 64;
	sync->base.next = (uintptr_t)sync;
	sync->base.next = 0;
	sync->in_count = 0;
	sync->out_count = 0;
}

static int rewrites_extensions_while_they_are_read(struct scene *scene)
{
	return run_race(scene, change_syncs);
}

/* Memory that a job in flight writes is given up, and the victim asks for new memory. */
static int writes_memory_that_was_given_up(struct scene *scene)
{
	struct overtake_result result;
	uint64_t i;

	for (i = 0; i < RACES / 4; i++) {
		struct buffer mine = buffer_create(scene->attacker.fd, 16 * 4096, READ_WRITE);
		struct buffer theirs;
		struct job job;
		bool touched;

		memset(mine.data, 0x33, 32768);
		put_copy(&scene->attacker, 0, 32768, 0, 16384);
		job_init_on(&job, &scene->attacker, i, mine.address, mine.size, READ_WRITE);
		check_equal(job_submit(&scene->attacker, &job), 0);
		buffer_destroy(scene->attacker.fd, &mine);
		theirs = buffer_create(scene->victim.fd, 16 * 4096, READ_WRITE);
		check_equal(job_wait(&scene->attacker, i, NEVER, &result), 0);
		check_equal(result.status, 0);
		touched = !is_zero(theirs.data, theirs.size);
		buffer_destroy(scene->victim.fd, &theirs);
		if (touched)
			return BREACH;
	}
	return NOTHING_GAINED;
}

/**
 * struct attempt - one way to another client's memory, jobs or fences
 * @name: what is tried
 * @expected: the outcome that is documented
 * @run: tries it; the outcome
 */
struct attempt {
	const char *name;
	int expected;
	int (*run)(struct scene *scene);
};

static const struct attempt attempts[] = {
	{ "program reads behind its region", OVERTAKE_FAULT_BOUNDS, reads_behind_region },
	{ "program reads across its region's end", OVERTAKE_FAULT_BOUNDS, reads_across_end },
	{ "program reads before its region", OVERTAKE_FAULT_BOUNDS, reads_before_region },
	{ "program writes behind its region", OVERTAKE_FAULT_BOUNDS, writes_behind_region },
	{ "program writes where offsets wrap", OVERTAKE_FAULT_BOUNDS, writes_wrapping },
	{ "program walks out by its row stride", OVERTAKE_FAULT_BOUNDS, walks_out_by_rows },
	{ "program reads a region that is not bound", OVERTAKE_FAULT_REGION,
	  reads_unbound_region },
	{ "program reads region 16", OVERTAKE_FAULT_REGION, reads_region_16 },
	{ "program reads an absurd region", OVERTAKE_FAULT_REGION, reads_region_absurd },
	{ "program writes the program", OVERTAKE_FAULT_PERMISSION, writes_own_program },
	{ "FC begins behind the program", OVERTAKE_FAULT_PROGRAM, fetches_behind_program },
	{ "FC wraps around the program", OVERTAKE_FAULT_PROGRAM, fetches_wrapping },
	{ "jump out of the FC", OVERTAKE_FAULT_PROGRAM, jumps_out_of_its_fc },

	{ "binding of the victim's device address", -ENOENT, binds_victims_address },
	{ "binding of one byte of the victim's", -ENOENT, binds_one_byte_of_victims },
	{ "binding across its buffer's end", -ENOENT, binds_across_own_end },
	{ "binding from its own buffer to the victim's", -ENOENT, binds_up_to_victims },
	{ "binding whose end wraps", -ENOENT, binds_wrapping },
	{ "binding of the gap between two buffers", -ENOENT, binds_gap_between_buffers },
	{ "binding of a kernel address", -ENOENT, binds_kernel_address },
	{ "binding of a process address", -ENOENT, binds_process_address },
	{ "binding of another device's address", -ENOENT, binds_address_of_other_device },
	{ "victim's memory as the program", -ENOENT, binds_program_of_victim },
	{ "binding of an unmapped buffer's address", -ENOENT, binds_stale_address },
	{ "stale address after the victim mapped", -ENOENT,
	  binds_stale_address_after_victims_map },
	{ "writable binding of a read-only mapping", -EACCES, writes_read_only_mapping },
	{ "result record at the victim's", -ENOENT, result_record_at_victims },
	{ "result record across its buffer's end", -ENOENT, result_record_across_own_end },

	{ "FCs from kernel memory", -EFAULT, fcs_from_kernel },
	{ "bindings from kernel memory", -EFAULT, bindings_from_kernel },
	{ "extensions from kernel memory", -EFAULT, extensions_from_kernel },
	{ "query into kernel memory", -EFAULT, query_into_kernel },

	{ "MAP of the victim's handle", -ENOENT, maps_victims_handle },
	{ "mmap offset of the victim's handle", -ENOENT, asks_for_victims_mmap_offset },
	{ "mmap of the victim's offset", -EACCES, mmaps_victims_offset },
	{ "mmap beyond its own buffer", -EINVAL, mmaps_beyond_own_buffer },
	{ "export of the victim's handle", -ENOENT, exports_victims_handle },
	{ "wait on the victim's handle", -ENOENT, waits_on_victims_handle },
	{ "close of the victim's handle", -EINVAL, closes_victims_handle },
	{ "flink of the victim's handle", -EACCES, names_victims_handle },
	{ "GEM open of guessed names", -EACCES, opens_guessed_names },
	{ "MAP of a closed handle", -ENOENT, maps_closed_handle },
	{ "debugfs without a right", -EACCES, reads_debugfs_unprivileged },
	{ "priority 255 without a right", -EPERM, takes_the_high_ring_unprivileged },

	{ "secrets in a new buffer", NOTHING_GAINED, finds_secrets_in_new_buffer },
	{ "secrets in the scratch region", NOTHING_GAINED, finds_secrets_in_scratch },
	{ "the last job's scratch", NOTHING_GAINED, finds_last_jobs_scratch },
	{ "more in a result record than was said", NOTHING_GAINED, finds_more_in_result_record },
	{ "secrets through a mapping of a freed buffer", NOTHING_GAINED, looks_through_old_mmap },

	{ "submission to the victim's context", -ENOENT, submits_to_victims_context },
	{ "cancel of the victim's tag", -ENOENT, cancels_victims_tag },
	{ "cancel in the victim's context", -ENOENT, cancels_in_victims_context },
	{ "wait for the victim's tag", -ENOENT, waits_for_victims_tag },
	{ "wait for whatever there is", -ENOENT, collects_whatever_there_is },
	{ "destruction of the victim's context", -ENOENT, destroys_victims_context },
	{ "cancel of the victim's tag by ring", -ENOENT, cancels_by_ring },
	{ "binding of the victim's address by ring", -ENOENT, binds_by_ring },

	{ "wait for the victim's syncobj", -ENOENT, waits_for_victims_syncobj },
	{ "new fence for the victim's syncobj", -ENOENT, replaces_victims_fence },
	{ "signal of the victim's syncobj", -ENOENT, signals_victims_syncobj },
	{ "export of the victim's syncobj", -EINVAL, exports_victims_syncobj },
	{ "import of a device file as a buffer", -EINVAL, imports_what_is_no_buffer },
	{ "import of a fence as a buffer", -EINVAL, imports_a_fence_as_a_buffer },

	{ "writable MAP of a read-only share", -EACCES, maps_read_only_share_writable },
	{ "writable mmap of a read-only share", -EACCES, mmaps_read_only_share_writable },
	{ "mprotect of a read-only share", -EACCES, mprotects_read_only_share },
	{ "writable mmap of a read-only dma-buf", -EACCES, mmaps_read_only_dmabuf_writable },
	{ "writable export of a read-only share", -EACCES, reexports_read_only_share },
	{ "job writes a read-only share", OVERTAKE_FAULT_PERMISSION, job_writes_read_only_share },

	{ "program rewritten while it runs", NOTHING_GAINED, rewrites_program_while_it_runs },
	{ "bindings rewritten while they are read", NOTHING_GAINED,
	  rewrites_bindings_while_they_are_read },
	{ "FCs rewritten while they are read", NOTHING_GAINED, rewrites_fcs_while_they_are_read },
	{ "extensions rewritten while they are read", NOTHING_GAINED,
	  rewrites_extensions_while_they_are_read },
	{ "memory given up under a job in flight", NOTHING_GAINED,
	  writes_memory_that_was_given_up },
};

/* A fence of the other device, which nobody will signal, as a syncobj of @fd. */
static void import_endless_fence(struct scene *scene, int fd, uint32_t sync)
{
	uint32_t far = syncobj_create(scene->elsewhere.fd);
	struct sync_chain chain;
	struct job job;
	int sync_file;

	put_delay(&scene->elsewhere, 0, 1);
	job_init(&job, &scene->elsewhere, 1, 0, 1);
	sync_chain_init(&chain, &job);
	sync_chain_out(&chain, far, 0);
	check_equal(job_submit(&scene->elsewhere, &job), 0);
	sync_file = syncobj_to_sync_file(scene->elsewhere.fd, far);
	syncobj_from_sync_file(fd, sync, sync_file);
	close(sync_file);
}

static void scene_open(struct scene *scene)
{
	struct sync_chain chain;
	struct job job;
	uint32_t i;

	scene->elsewhere = client_open(1, 254);
	scene->attacker = client_open(0, 254);
	scene->victim = client_open(0, 254);
	/* Numbers and addresses that the attacker has not got itself. */
	for (i = 0; i < 32; i++)
		buffer_create(scene->victim.fd, 64 * 4096, READ_WRITE);
	scene->secret = buffer_create(scene->victim.fd, SECRET_BYTES, READ_WRITE);
	fill_secret(scene->secret.data, SECRET_BYTES);
	for (i = 0; i < 8; i++)
		scene->sync = syncobj_create(scene->victim.fd);
	import_endless_fence(scene, scene->victim.fd, scene->sync);
	check_equal(context_create(scene->victim.fd, 254, 0, &scene->second_context), 0);
	job_init(&job, &scene->victim, VICTIM_TAG, 0, 1);
	job.submit.context_id = scene->second_context;
	job.submit.deadline_ns = NEVER;
	sync_chain_init(&chain, &job);
	sync_chain_in(&chain, scene->sync, 0);
	check_equal(job_submit(&scene->victim, &job), 0);
}

/* Whether the victim has all that it had, and the attacker nothing of it. */
static bool is_intact(struct scene *scene)
{
	struct client second = scene->victim;
	struct overtake_result result;
	uint64_t *words = (uint64_t *)scene->secret.data;
	uint32_t i;

	for (i = 0; i < SECRET_BYTES / 8; i++)
		if (words[i] != SECRET)
			return false;
	second.context = scene->second_context;
	return !shows_secret(scene->attacker.data.data, scene->attacker.data.size) &&
	       !shows_secret(scene->attacker.program.data, scene->attacker.program.size) &&
	       !syncobj_is_signalled(scene->victim.fd, scene->sync, 0) &&
	       job_wait(&second, VICTIM_TAG, 0, &result) == -ETIMEDOUT;
}

static const char *outcome_text(int outcome)
{
	static char text[64];

	if (outcome == BREACH)
		return "granted";
	if (outcome == NOTHING_GAINED)
		return "nothing gained";
	if (outcome < 0)
		return strerror(-outcome);
	snprintf(text, sizeof(text), "fault %d", outcome);
	return text;
}

static void no_attempt_succeeds(void)
{
	uint32_t i, succeeded = 0, undocumented = 0;
	const uint32_t count = sizeof(attempts) / sizeof(attempts[0]);
	struct scene scene;

	scene_open(&scene);
	check(is_intact(&scene));
	for (i = 0; i < count; i++) {
		int outcome = attempts[i].run(&scene);
		bool breach = outcome == BREACH || !is_intact(&scene);

		succeeded += breach;
		undocumented += outcome != attempts[i].expected;
		if (breach || outcome != attempts[i].expected)
			printf("# %s: %s%s", attempts[i].name, breach ? "SUCCEEDED, " : "",
			       outcome_text(outcome));
		if (breach || outcome != attempts[i].expected)
			printf(", not %s\n", outcome_text(attempts[i].expected));
		else
			printf("# %s: %s\n", attempts[i].name, outcome_text(outcome));
	}
	printf("# %u attempts, %u succeeded\n", count, succeeded);
	fflush(stdout);
	check_equal(succeeded, 0);
	check_equal(undocumented, 0);
	check(count >= 30);
}

const struct test_case isolation_cases[] = {
	{ "isolation-no-attempt-succeeds", SETUP, no_attempt_succeeds },
	{ 0 },
};
