// SPDX-License-Identifier: MIT
/* Files, buffers, contexts and jobs, by ioctl. */
#include "fail_nth_operations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define TAG	5

static int run_open(struct subject *subject)
{
	subject->other = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	return subject->other < 0 ? -errno : 0;
}

static int run_query(struct subject *subject)
{
	static struct drm_overtake_core_info cores[2];
	struct drm_overtake_query query = {
		.topic = (uint32_t)subject->variant,
		.size = sizeof(cores),
		.data = (uintptr_t)cores,
	};

	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_QUERY, &query);
}

static int read_all(const char *path)
{
	static char text[16384];

	return read_file(path, text, sizeof(text));
}

static int run_fdinfo(struct subject *subject)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", subject->client.fd);
	return read_all(path);
}

static int run_debugfs(struct subject *subject)
{
	static const char *const names[] = { "state", "stats", "clock" };
	char path[128];

	debugfs_path(path, sizeof(path), 0, names[subject->variant]);
	return read_all(path);
}

int subject_run_close(struct subject *subject)
{
	int ret = close(subject->client.fd) ? -errno : 0;

	subject->client.fd = -1;
	return ret;
}

const struct operation file_operations[] = {
	{ "open", NULL, run_open, 0 },
	{ "QUERY device", NULL, run_query, OVERTAKE_QUERY_DEVICE },
	{ "QUERY cores", NULL, run_query, OVERTAKE_QUERY_CORES },
	{ "QUERY core profiles", NULL, run_query, OVERTAKE_QUERY_CORE_PROFILES },
	{ "fdinfo", NULL, run_fdinfo, 0 },
	{ "debugfs state", NULL, run_debugfs, 0 },
	{ "debugfs stats", NULL, run_debugfs, 1 },
	{ "debugfs clock", NULL, run_debugfs, 2 },
	{ "close", NULL, subject_run_close, 0 },
	{ 0 },
};

static int run_create(struct subject *subject)
{
	struct drm_overtake_bo_create args = { .size = subject->variant };
	int ret = device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &args);

	if (!ret) {
		subject->extra.handle = args.handle;
		subject->extra.size = args.size;
	}
	return ret;
}

static void prepare_create(struct subject *subject)
{
	check_equal(run_create(subject), 0);
}

static int run_offset(struct subject *subject)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = subject->extra.handle };

	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args);
}

static int run_map(struct subject *subject)
{
	struct drm_overtake_bo_map args = {
		.handle = subject->extra.handle,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
	};
	int ret = device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_BO_MAP, &args);

	if (!ret)
		subject->extra.address = args.address;
	return ret;
}

static void prepare_map(struct subject *subject)
{
	prepare_create(subject);
	check_equal(run_map(subject), 0);
}

static int run_unmap(struct subject *subject)
{
	struct drm_overtake_bo_unmap args = { .address = subject->extra.address };

	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &args);
}

static int run_gem_close(struct subject *subject)
{
	return close_handle(subject->client.fd, subject->extra.handle);
}

/* Maps, and lets the kernel touch each page first: a page fault that fails is an EFAULT. */
static int run_mmap(struct subject *subject)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = subject->extra.handle };
	int ret = device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args);
	ssize_t length;
	void *memory;

	if (ret)
		return ret;
	memory = mmap(NULL, subject->extra.size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      subject->client.fd, (off_t)args.offset);
	if (memory == MAP_FAILED)
		return -errno;
	length = read(subject->other, memory, subject->extra.size);
	ret = length < 0 ? -errno : length == (ssize_t)subject->extra.size ? 0 : -EFAULT;
	if (munmap(memory, subject->extra.size) && !ret)
		ret = -errno;
	return ret;
}

static void prepare_mmap(struct subject *subject)
{
	prepare_create(subject);
	subject->other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	check(subject->other >= 0);
}

/* Submits a job of @variant milliseconds, but of 3 at least. */
static void submit_long(struct subject *subject)
{
	put_delay(&subject->client, 0, 1000000 * (subject->variant > 3 ? subject->variant : 3));
	job_init(&subject->job, &subject->client, TAG, 0, 1);
	check_equal(job_submit(&subject->client, &subject->job), 0);
}

static int run_bo_wait(struct subject *subject)
{
	struct drm_overtake_bo_wait args = {
		.handle = subject->client.data.handle,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
		.deadline_ns = OVERTAKE_DEADLINE_NEVER,
	};

	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &args);
}

const struct operation buffer_operations[] = {
	{ "BO_CREATE of a page", NULL, run_create, 4096 },
	{ "BO_CREATE of 64 KiB", NULL, run_create, 65536 },
	{ "BO_CREATE of 16 MiB", NULL, run_create, 16 << 20 },
	{ "BO_MMAP_OFFSET", prepare_create, run_offset, 4096 },
	{ "mmap and first touch of a page", prepare_mmap, run_mmap, 4096 },
	{ "mmap and first touch of 64 KiB", prepare_mmap, run_mmap, 65536 },
	{ "mmap and first touch of 256 KiB", prepare_mmap, run_mmap, 256 << 10 },
	{ "BO_MAP of a page", prepare_create, run_map, 4096 },
	{ "BO_MAP of 64 KiB", prepare_create, run_map, 65536 },
	{ "BO_MAP of 256 KiB", prepare_create, run_map, 256 << 10 },
	{ "BO_MAP of 1 MiB", prepare_create, run_map, 1 << 20 },
	{ "BO_UNMAP", prepare_map, run_unmap, 65536 },
	{ "GEM_CLOSE", prepare_create, run_gem_close, 65536 },
	{ "GEM_CLOSE of a mapped buffer", prepare_map, run_gem_close, 65536 },
	{ "BO_WAIT for a job", submit_long, run_bo_wait, 0 },
	{ 0 },
};

static int run_context(struct subject *subject)
{
	uint32_t id;

	return context_create(subject->client.fd, (uint32_t)subject->variant, 0, &id);
}

static int run_context_destroy(struct subject *subject)
{
	return context_destroy(subject->client.fd, subject->client.context);
}

/* Variants of a job: the number of FCs, with scratch, with every region bound. */
#define FCS(count)	(count)
#define WITH_SCRATCH	(1ul << 20)
#define WITH_REGIONS	(1ul << 21)
#define FC_COUNT(variant)	((uint32_t)((variant) & 0xfffff))

static struct overtake_binding all_bindings[OVERTAKE_MAX_BINDINGS];

static void bind_everything(struct subject *subject)
{
	uint32_t region, count = 0;

	for (region = 0; region < OVERTAKE_MAX_REGIONS; region++) {
		if (region == OVERTAKE_REGION_SCRATCH)
			continue;
		all_bindings[count] = subject->job.bindings[region ? 1 : 0];
		all_bindings[count++].region = region;
	}
	subject->job.submit.bindings = (uintptr_t)all_bindings;
	subject->job.submit.binding_count = count;
}

static void prepare_submit(struct subject *subject)
{
	uint32_t i, count = FC_COUNT(subject->variant);

	put_delay(&subject->client, 0, 1);
	job_init(&subject->job, &subject->client, TAG, 0, 1);
	subject->fcs = calloc(count, sizeof(*subject->fcs));
	check(subject->fcs);
	for (i = 0; i < count; i++)
		subject->fcs[i].insn_count = 1;
	subject->job.submit.fcs = (uintptr_t)subject->fcs;
	subject->job.submit.fc_count = count;
	subject->job.submit.result = subject->client.data.address + RESULT_OFFSET;
	if (subject->variant & WITH_SCRATCH)
		subject->job.submit.scratch_bytes = 1 << 20;
	if (subject->variant & WITH_REGIONS)
		bind_everything(subject);
}

static int run_submit(struct subject *subject)
{
	return job_submit(&subject->client, &subject->job);
}

static int run_cancel(struct subject *subject)
{
	return job_cancel(&subject->client, TAG);
}

static int run_wait(struct subject *subject)
{
	struct overtake_result result;

	if (subject->variant)
		return job_wait_any(&subject->client, OVERTAKE_DEADLINE_NEVER, &result);
	return job_wait(&subject->client, TAG, OVERTAKE_DEADLINE_NEVER, &result);
}

static void prepare_many_jobs(struct subject *subject)
{
	int i;

	put_delay(&subject->client, 0, 3000000);
	for (i = 0; i < 8; i++) {
		job_init(&subject->job, &subject->client, 100 + i, 0, 1);
		check_equal(job_submit(&subject->client, &subject->job), 0);
	}
}

const struct operation job_operations[] = {
	{ "CONTEXT_CREATE", NULL, run_context, 10 },
	{ "CONTEXT_CREATE for HIGH", NULL, run_context, 255 },
	{ "CONTEXT_DESTROY", NULL, run_context_destroy, 0 },
	{ "CONTEXT_DESTROY with jobs in flight", prepare_many_jobs, run_context_destroy, 0 },
	{ "SUBMIT", prepare_submit, run_submit, FCS(1) },
	{ "SUBMIT of 64 FCs with scratch", prepare_submit, run_submit, FCS(64) | WITH_SCRATCH },
	{ "SUBMIT of 3000 FCs", prepare_submit, run_submit, FCS(3000) },
	{ "SUBMIT of 65536 FCs", prepare_submit, run_submit, FCS(65536) },
	{ "SUBMIT with every region", prepare_submit, run_submit, FCS(1) | WITH_REGIONS },
	{ "SUBMIT with all of it", prepare_submit, run_submit,
	  FCS(1000) | WITH_SCRATCH | WITH_REGIONS },
	{ "CANCEL", submit_long, run_cancel, 4000 },
	{ "WAIT", submit_long, run_wait, 0 },
	{ "WAIT for any", submit_long, run_wait, 1 },
	{ "close with jobs in flight", prepare_many_jobs, subject_run_close, 0 },
	{ 0 },
};
