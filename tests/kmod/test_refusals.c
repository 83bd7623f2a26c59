// SPDX-License-Identifier: MIT
/*
 * Refusals of the driver.  Each row makes one call that must fail, and names the errno.  The test
 * compares everything that the driver reports before and after: contexts, jobs, charged memory,
 * command slots, ring positions, counters.  The manual clock stands still, so nothing may differ.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "snapshot.h"

#define MANUAL	"cores=2 mode=timed profile=ideal manual_clock=1"

/* Runs @request, which must fail with @error and change nothing. */
#define check_refused(client, request, error) \
	do { \
		struct snapshot before_, after_; \
		take_snapshot(client, &before_); \
		check_equal(request, -(error)); \
		take_snapshot(client, &after_); \
		compare_snapshots(&before_, &after_); \
	} while (0)

struct submit_row {
	const char *what;
	int error;
	void (*spoil)(struct job *job, struct client *client);
};

#define SPOIL(name, statement) \
	static void name(struct job *job, struct client *client) \
	{ \
		(void)client; \
		statement; \
	}

SPOIL(extensions, job->submit.extensions = 1)
SPOIL(flags, job->submit.flags = 1)
SPOIL(no_fcs, job->submit.fc_count = 0)
SPOIL(too_many_fcs, job->submit.fc_count = OVERTAKE_MAX_FCS + 1)
SPOIL(most_fcs_possible, job->submit.fc_count = ~0u)
SPOIL(fcs_at_null, job->submit.fcs = 0)
SPOIL(fcs_in_kernel, job->submit.fcs = 0xffff888000000000ull)
SPOIL(empty_fc, job->fcs[1].insn_count = 0)
SPOIL(no_bindings, job->submit.binding_count = 0)
SPOIL(too_many_bindings, job->submit.binding_count = OVERTAKE_MAX_BINDINGS + 1)
SPOIL(bindings_at_null, job->submit.bindings = 0)
SPOIL(bindings_in_kernel, job->submit.bindings = 0xffffffff81000000ull)
SPOIL(core_too_great, job->submit.core = 3)
SPOIL(core_absurd, job->submit.core = ~0u)
SPOIL(priority_absurd, job->submit.priority = 256)
SPOIL(priority_not_granted, job->submit.priority = 255)
SPOIL(deadline_negative, job->submit.deadline_ns = -1)
SPOIL(scratch_too_great, job->submit.scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES + 1)
SPOIL(no_such_context, job->submit.context_id = 63)
SPOIL(context_zero, job->submit.context_id = 0)
SPOIL(context_absurd, job->submit.context_id = ~0u)
SPOIL(tag_in_use, job->submit.tag = 1000)
SPOIL(result_unaligned, job->submit.result = client->data.address + 4)
SPOIL(result_unmapped, job->submit.result = 8)
SPOIL(result_read_only, job->submit.result = client->program.address)
SPOIL(result_leaves_buffer, job->submit.result = client->data.address + client->data.size - 56)
SPOIL(binding_scratch, job->bindings[1].region = OVERTAKE_REGION_SCRATCH)
SPOIL(binding_region, job->bindings[1].region = OVERTAKE_MAX_REGIONS)
SPOIL(binding_region_absurd, job->bindings[1].region = ~0u)
SPOIL(binding_twice, job->bindings[1].region = OVERTAKE_REGION_PROGRAM)
SPOIL(binding_empty, job->bindings[1].length = 0)
SPOIL(binding_flags, job->bindings[1].flags |= 4)
SPOIL(binding_not_readable, job->bindings[1].flags = OVERTAKE_MAP_WRITE)
SPOIL(binding_no_access, job->bindings[1].flags = 0)
SPOIL(binding_address_null, job->bindings[1].address = 0)
SPOIL(binding_address_absurd, job->bindings[1].address = ~0ull)
SPOIL(binding_before_buffer, job->bindings[1].address -= 1)
SPOIL(binding_behind_buffer, job->bindings[1].address += client->data.size)
SPOIL(binding_too_long, job->bindings[1].length = client->data.size + 1)
SPOIL(binding_leaves_buffer, job->bindings[1].address += client->data.size - RESULT_OFFSET + 1)
SPOIL(binding_wraps, job->bindings[1].length = ~0ull)
SPOIL(binding_writes_read_only, job->bindings[0].flags |= OVERTAKE_MAP_WRITE)

static const struct submit_row submit_rows[] = {
	{ "extensions at address 1", EFAULT, extensions },
	{ "unknown flag", EINVAL, flags },
	{ "no FC", EINVAL, no_fcs },
	{ "an FC too many", E2BIG, too_many_fcs },
	{ "as many FCs as the field holds", E2BIG, most_fcs_possible },
	{ "FCs at address 0", EFAULT, fcs_at_null },
	{ "FCs at a kernel address", EFAULT, fcs_in_kernel },
	{ "an FC without instructions", EINVAL, empty_fc },
	{ "no binding", EINVAL, no_bindings },
	{ "a binding too many", E2BIG, too_many_bindings },
	{ "bindings at address 0", EFAULT, bindings_at_null },
	{ "bindings at a kernel address", EFAULT, bindings_in_kernel },
	{ "a core that the device has not", EINVAL, core_too_great },
	{ "the greatest core number", EINVAL, core_absurd },
	{ "priority 256", EINVAL, priority_absurd },
	{ "a priority that the context has not", EPERM, priority_not_granted },
	{ "a negative deadline", EINVAL, deadline_negative },
	{ "too much scratch", E2BIG, scratch_too_great },
	{ "a context that does not exist", ENOENT, no_such_context },
	{ "context 0", ENOENT, context_zero },
	{ "the greatest context id", ENOENT, context_absurd },
	{ "a tag that is in use", EEXIST, tag_in_use },
	{ "a result record that is not aligned", EINVAL, result_unaligned },
	{ "a result record nowhere", ENOENT, result_unmapped },
	{ "a result record in read-only memory", EACCES, result_read_only },
	{ "a result record that leaves its buffer", ENOENT, result_leaves_buffer },
	{ "a binding of the scratch region", EINVAL, binding_scratch },
	{ "a binding of region 16", EINVAL, binding_region },
	{ "a binding of the greatest region number", EINVAL, binding_region_absurd },
	{ "two bindings of one region", EINVAL, binding_twice },
	{ "a binding of no byte", EINVAL, binding_empty },
	{ "a binding with an unknown flag", EINVAL, binding_flags },
	{ "a binding that is only written", EINVAL, binding_not_readable },
	{ "a binding without access", EINVAL, binding_no_access },
	{ "a binding of address 0", ENOENT, binding_address_null },
	{ "a binding of the last address", ENOENT, binding_address_absurd },
	{ "a binding that begins before its buffer", ENOENT, binding_before_buffer },
	{ "a binding that begins behind its buffer", ENOENT, binding_behind_buffer },
	{ "a binding longer than its buffer", ENOENT, binding_too_long },
	{ "a binding that ends behind its buffer", ENOENT, binding_leaves_buffer },
	{ "a binding that wraps around", ENOENT, binding_wraps },
	{ "a writable binding of a read-only mapping", EACCES, binding_writes_read_only },
};

static void submissions(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job good, bad;
	size_t i;

	put_delay(&client, 0, 1000);
	put_delay(&client, 1, 1000);
	job_init(&good, &client, 1000, 0, 2);
	check_equal(job_submit(&client, &good), 0); /* waits: time stands still */
	for (i = 0; i < sizeof(submit_rows) / sizeof(submit_rows[0]); i++) {
		const struct submit_row *row = &submit_rows[i];
		struct snapshot before, after;
		int ret;

		job_init(&bad, &client, 1, 0, 2);
		row->spoil(&bad, &client);
		take_snapshot(&client, &before);
		ret = job_submit(&client, &bad);
		check_message(ret == -row->error, "%s: %s, expected %s", row->what,
			      strerror(-ret), strerror(row->error));
		take_snapshot(&client, &after);
		compare_snapshots(&before, &after);
	}
	/* The accepted job still ends well. */
	check_equal(advance_clock(0, 1000000), 0);
	check_equal(job_wait(&client, 1000, 0, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.fcs_done, 2);
	client_close(&client);
}

static int create(const struct client *client, uint64_t size, uint32_t flags, uint32_t handle)
{
	struct drm_overtake_bo_create args = { .size = size, .flags = flags, .handle = handle };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &args);
}

static int map(const struct client *client, uint32_t handle, uint32_t flags, uint64_t address)
{
	struct drm_overtake_bo_map args = {
		.handle = handle, .flags = flags, .address = address,
	};

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_MAP, &args);
}

static int unmap(const struct client *client, uint64_t address)
{
	struct drm_overtake_bo_unmap args = { .address = address };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &args);
}

static int mmap_offset(const struct client *client, uint32_t handle, uint32_t pad)
{
	struct drm_overtake_bo_mmap_offset args = { .handle = handle, .pad = pad };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &args);
}

static int bo_wait(const struct client *client, uint32_t handle, uint32_t flags, int64_t deadline)
{
	struct drm_overtake_bo_wait args = {
		.handle = handle, .flags = flags, .deadline_ns = deadline,
	};

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &args);
}

static void buffers(void)
{
	struct client client = client_open(0, 254);
	struct buffer spare = buffer_create(client.fd, 4096, 0);
	uint32_t handle = client.data.handle;

	check_refused(&client, create(&client, 0, 0, 0), EINVAL);
	check_refused(&client, create(&client, 4096, 1, 0), EINVAL);
	check_refused(&client, create(&client, 4096, 0, 1), EINVAL);
	check_refused(&client, create(&client, OVERTAKE_MAX_BUFFER_BYTES + 1, 0, 0), E2BIG);
	check_refused(&client, create(&client, ~0ull, 0, 0), E2BIG);
	check_refused(&client, map(&client, 999, OVERTAKE_MAP_READ, 0), ENOENT);
	check_refused(&client, map(&client, handle, OVERTAKE_MAP_READ, 0), EEXIST);
	check_refused(&client, map(&client, spare.handle, 0, 0), EINVAL);
	check_refused(&client, map(&client, spare.handle, OVERTAKE_MAP_WRITE, 0), EINVAL);
	check_refused(&client, map(&client, spare.handle, 5, 0), EINVAL);
	check_refused(&client, map(&client, spare.handle, OVERTAKE_MAP_READ, 4096), EINVAL);
	check_refused(&client, unmap(&client, 0), ENOENT);
	check_refused(&client, unmap(&client, client.data.address + 1), ENOENT);
	check_refused(&client, unmap(&client, client.data.address + 4096), ENOENT);
	check_refused(&client, unmap(&client, ~0ull), ENOENT);
	check_refused(&client, mmap_offset(&client, 999, 0), ENOENT);
	check_refused(&client, mmap_offset(&client, handle, 1), EINVAL);
	check_refused(&client, bo_wait(&client, 999, OVERTAKE_MAP_READ, 0), ENOENT);
	check_refused(&client, bo_wait(&client, handle, 0, 0), EINVAL);
	check_refused(&client, bo_wait(&client, handle, OVERTAKE_MAP_WRITE, 0), EINVAL);
	check_refused(&client, bo_wait(&client, handle, OVERTAKE_MAP_READ, -1), EINVAL);
	client_close(&client);
}

static int create_context(const struct client *client, uint32_t priority, uint32_t limit,
			  uint32_t flags)
{
	struct drm_overtake_context_create args = {
		.max_priority = priority, .core_limit = limit, .flags = flags,
	};

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &args);
}

static int destroy_context(const struct client *client, uint32_t id, uint32_t pad)
{
	struct drm_overtake_context_destroy args = { .context_id = id, .pad = pad };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, &args);
}

static void contexts(void)
{
	struct client client = client_open(0, 254);
	uint32_t id;
	int i;

	check_refused(&client, create_context(&client, 256, 0, 0), EINVAL);
	check_refused(&client, create_context(&client, ~0u, 0, 0), EINVAL);
	check_refused(&client, create_context(&client, 254, 0, 1025), EINVAL);
	check_refused(&client, create_context(&client, 254, 0, 1u << 16), EINVAL);
	check_refused(&client, create_context(&client, 254, 1, 0), EINVAL);
	check_refused(&client, destroy_context(&client, 0, 0), ENOENT);
	check_refused(&client, destroy_context(&client, 64, 0), ENOENT);
	check_refused(&client, destroy_context(&client, client.context, 1), EINVAL);
	for (i = 1; i < (int)OVERTAKE_MAX_CONTEXTS; i++)
		check_equal(context_create(client.fd, 254, 0, &id), 0);
	check_refused(&client, create_context(&client, 254, 0, 0), ENOSPC);
	client_close(&client);
}

static int cancel(const struct client *client, uint64_t tag, uint32_t context, uint32_t pad)
{
	struct drm_overtake_cancel args = { .tag = tag, .context_id = context, .pad = pad };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_CANCEL, &args);
}

static int wait_job(const struct client *client, uint64_t tag, uint32_t context, uint32_t flags,
		    int64_t deadline)
{
	struct drm_overtake_wait args = {
		.tag = tag, .context_id = context, .flags = flags, .deadline_ns = deadline,
	};

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_WAIT, &args);
}

static void waits_and_cancels(void)
{
	struct client client = client_open(0, 254);
	uint32_t id = client.context;

	check_refused(&client, cancel(&client, 1, id, 0), ENOENT);
	check_refused(&client, cancel(&client, 1, id, 1), EINVAL);
	check_refused(&client, cancel(&client, 1, 0, 0), ENOENT);
	check_refused(&client, wait_job(&client, 1, id, 0, 0), ENOENT);
	check_refused(&client, wait_job(&client, 0, id, OVERTAKE_WAIT_ANY, 0), ENOENT);
	check_refused(&client, wait_job(&client, 1, id, OVERTAKE_WAIT_ANY, 0), EINVAL);
	check_refused(&client, wait_job(&client, 1, id, 2, 0), EINVAL);
	check_refused(&client, wait_job(&client, 1, id, 0, -1), EINVAL);
	check_refused(&client, wait_job(&client, 1, 9, 0, 0), ENOENT);
	client_close(&client);
}

static int query(const struct client *client, uint32_t topic, uint32_t pad, uint64_t size,
		 uint64_t data)
{
	struct drm_overtake_query args = {
		.topic = topic, .pad = pad, .size = size, .data = data,
	};

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_QUERY, &args);
}

static void queries_and_others(void)
{
	struct client client = client_open(0, 254);
	struct drm_mode_create_dumb { uint32_t fields[8]; } dumb = { { 64, 64, 32 } };
	struct drm_overtake_device_info info;

	check_refused(&client, query(&client, 5, 0, 0, 0), EINVAL);
	check_refused(&client, query(&client, ~0u, 0, 0, 0), EINVAL);
	check_refused(&client, query(&client, 0, 1, 0, 0), EINVAL);
	check_refused(&client, query(&client, 0, 0, 64, 0), EFAULT);
	check_refused(&client, query(&client, 1, 0, 64, 0xffff888000000000ull), EFAULT);
	check_refused(&client, query(&client, 4, 0, 1, 0), EFAULT);
	check_refused(&client, query(&client, 4, 0, 64, 0xffff888000000000ull), EFAULT);
	/* No other call evades BO_CREATE and its limits. */
	check_refused(&client, device_ioctl(client.fd, _IOWR('d', 0xb2,
							     struct drm_mode_create_dumb), &dumb),
		      EACCES);
	check_refused(&client, device_ioctl(client.fd, _IOWR('d', 0x52,
							     struct drm_overtake_device_info),
					    &info), EINVAL);
	client_close(&client);
}

/* Calls on another client's buffers, contexts and jobs fail as if these did not exist. */
static void strangers_objects(void)
{
	struct client client = client_open(0, 254);
	struct client stranger = client_open(0, 254);
	struct buffer extra = buffer_create(stranger.fd, 4096, OVERTAKE_MAP_READ);
	struct job job;
	uint32_t id;

	check_equal(context_create(stranger.fd, 254, 0, &id), 0);
	put_delay(&stranger, 0, 1000);
	job_init(&job, &stranger, 77, 0, 1);
	check_equal(job_submit(&stranger, &job), 0);
	check(extra.address > client.data.address + client.data.size);
	job_init(&job, &client, 1, 0, 1);
	job.bindings[1].address = extra.address;
	job.bindings[1].length = 1;
	job.bindings[1].flags = OVERTAKE_MAP_READ;
	check_refused(&client, job_submit(&client, &job), ENOENT);
	check_refused(&client, map(&client, extra.handle, OVERTAKE_MAP_READ, 0), ENOENT);
	check_refused(&client, destroy_context(&client, id, 0), ENOENT);
	check_refused(&client, cancel(&client, 77, client.context, 0), ENOENT);
	check_refused(&client, wait_job(&client, 77, client.context, 0, 0), ENOENT);
	client_close(&stranger);
	client_close(&client);
}

/* Creating a context needs the right to priority 255, which belongs to the file. */
static void high_priority_needs_the_right(void)
{
	struct client client = client_open(0, 255);
	struct client other = client_open(0, 254);
	struct job job;

	check_equal(setresuid(65534, 65534, 65534), 0);
	/* There is no snapshot, since only root can read debugfs. */
	check_equal(create_context(&other, 255, 0, 0), -EPERM);
	check_equal(create_context(&other, 255, 1, 0), -EPERM);
	check_equal(create_context(&other, 254, 0, 0), 0);
	put_delay(&client, 0, 1000);
	job_init(&job, &client, 1, 0, 1);
	job.submit.priority = 255;
	check_equal(job_submit(&client, &job), 0);
	client_close(&other);
	client_close(&client);
}

const struct test_case refusal_cases[] = {
	{ "refusal-submissions", MANUAL, submissions },
	{ "refusal-buffers", MANUAL, buffers },
	{ "refusal-contexts", MANUAL, contexts },
	{ "refusal-waits-and-cancels", MANUAL, waits_and_cancels },
	{ "refusal-queries-and-others", MANUAL, queries_and_others },
	{ "refusal-strangers-objects", MANUAL, strangers_objects },
	{ "refusal-high-priority-needs-the-right", MANUAL, high_priority_needs_the_right },
	{ 0 },
};
