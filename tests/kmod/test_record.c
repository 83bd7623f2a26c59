// SPDX-License-Identifier: MIT
/* Jobs that are recorded once and replayed: as any other job, without data of another one. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "group.h"
#include "recorded.h"
#include "ring.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define MANY		3000u

static struct overtake_result collect(const struct client *client, uint64_t tag, int status)
{
	struct overtake_result result;

	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.tag, tag);
	check_equal(result.status, status);
	return result;
}

/* Writes an instruction that copies 64 bytes between scratch and the data. */
static void put_scratch_copy(struct client *client, uint32_t index, bool out_of_scratch,
			     uint32_t data_offset)
{
	struct overtake_insn insn;

	put_copy(client, index, out_of_scratch ? data_offset : 0, out_of_scratch ? 0 : data_offset,
		 64);
	memcpy(&insn, client->program.data + index * sizeof(insn), sizeof(insn));
	if (out_of_scratch)
		insn.in[0].region = OVERTAKE_REGION_SCRATCH;
	else
		insn.out.region = OVERTAKE_REGION_SCRATCH;
	put_insn(client, index, &insn);
}

/* Replays a job of two FCs, each replay with a buffer of its own. */
static void replay_is_a_job_with_other_buffers(void)
{
	struct client client = client_open(0, 254);
	struct buffer buffers[3];
	struct replay replay;
	uint32_t recording, i;
	struct job job;

	put_copy(&client, 0, 512, 0, 64);
	put_copy(&client, 1, 1024, 512, 64);
	job_init(&job, &client, 0, 0, 2);
	recording = recording_of(&client, &job, 3);
	memset(job.fcs, 0, sizeof(job.fcs)); /* the driver has read it */
	for (i = 0; i < 3; i++) {
		buffers[i] = buffer_create(client.fd, 8192, READ_WRITE);
		memset(buffers[i].data, (int)i + 1, 64);
		replay_init(&replay, &client, recording, 10 + i);
		replay.binding.address = buffers[i].address;
		replay.binding.length = 4096;
		replay.args.result = buffers[i].address + 4096;
		check_equal(replay_submit(&client, &replay), 0);
	}
	for (i = 0; i < 3; i++) {
		struct overtake_result result = collect(&client, 10 + i, 0);

		check_equal(result.fcs_done, 2);
		check(!memcmp(&result, buffers[i].data + 4096, sizeof(result)));
		check_equal(buffers[i].data[1024 + 63], i + 1);
		check_equal(buffers[i].data[1024 + 64], 0);
	}
	client_close(&client);
}

/* The only instance is idle when the client has been notified of its end. */
static void one_instance_is_replayed_at_once(void)
{
	struct client client = client_open(0, 254);
	struct completion completion;
	struct replay replay;
	struct io_uring ring;
	uint32_t recording, i;
	struct job job;

	put_delay(&client, 0, 100);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	for (i = 0; i < MANY; i++) {
		replay_init(&replay, &client, recording, i);
		check_equal(replay_submit(&client, &replay), 0);
		collect(&client, i, 0);
	}
	ring_open_default(&ring);
	for (i = 0; i < MANY; i++) {
		replay_init(&replay, &client, recording, i);
		replay_ring_submit(&ring, &client, &replay);
		completion = ring_reap(&ring);
		check_equal(completion.user_data, i);
		check_equal(completion.status, 0);
		check_equal(completion.executed_ns >= 100, 1);
	}
	io_uring_queue_exit(&ring);
	client_close(&client);
}

/* Instances are in flight until their ends are collected. */
static void all_instances_in_flight_is_busy(void)
{
	struct client client = client_open_at_zero();
	struct replay replay;
	uint32_t recording;
	struct job job;

	put_delay(&client, 0, MS);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 2);
	replay_init(&replay, &client, recording, 1);
	check_equal(replay_submit(&client, &replay), 0);
	replay.args.tag = 2;
	check_equal(replay_submit(&client, &replay), 0);
	replay.args.tag = 3;
	check_equal(replay_submit(&client, &replay), -EBUSY);
	check_equal(advance_clock(0, 5 * MS), 0);
	check_equal(replay_submit(&client, &replay), -EBUSY);
	collect(&client, 1, 0);
	check_equal(replay_submit(&client, &replay), 0);
	replay.args.tag = 4;
	check_equal(replay_submit(&client, &replay), -EBUSY);
	check_equal(job_cancel(&client, 3), 0);
	collect(&client, 3, -ECANCELED);
	collect(&client, 2, 0);
	check_equal(replay_submit(&client, &replay), 0);
	client_close(&client);
}

/* Scratch belongs to one instance: it begins as zeros, and keeps the data of the last job. */
static void scratch_is_the_instances_own(void)
{
	struct client client = client_open(0, 254);
	struct replay replay;
	uint32_t recording, other, i;
	struct job job;

	put_scratch_copy(&client, 0, true, 512);	/* the data that was there */
	put_scratch_copy(&client, 1, false, 0);		/* leaves this data */
	job_init(&job, &client, 0, 0, 2);
	job.submit.scratch_bytes = 4096;
	recording = recording_of(&client, &job, 1);
	other = recording_of(&client, &job, 1);
	for (i = 0; i < 5; i++) {
		memset(client.data.data, 0x40 + (int)i, 64);
		memset(client.data.data + 512, 0xff, 64);
		replay_init(&replay, &client, recording, i);
		check_equal(replay_submit(&client, &replay), 0);
		collect(&client, i, 0);
		check_equal(client.data.data[512], i ? 0x40 + i - 1 : 0);
		check_equal(client.data.data[512 + 63], i ? 0x40 + i - 1 : 0);
	}
	/* Memory that was given back is zeroed before another instance gets it. */
	check_equal(recording_forget(&client, recording), 0);
	recording = recording_of(&client, &job, 1);
	for (i = 0; i < 2; i++) {
		replay_init(&replay, &client, i ? recording : other, i);
		check_equal(replay_submit(&client, &replay), 0);
		collect(&client, i, 0);
		check_equal(client.data.data[512], 0);
	}
	client_close(&client);
}

/* Instances in flight give back their memory after their ends, and then all of it. */
static void forgetting_gives_the_memory_back(void)
{
	struct client client = client_open_at_zero();
	uint64_t before = limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	struct replay replay;
	uint32_t recording;
	struct job job;
	int attempt;

	put_delay(&client, 0, MS);
	job_init(&job, &client, 0, 0, 1);
	job.submit.scratch_bytes = 1 << 20;
	recording = recording_of(&client, &job, 8);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_RECORDINGS), 1);
	check(limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES) >= before + (8 << 20));
	replay_init(&replay, &client, recording, 1);
	check_equal(replay_submit(&client, &replay), 0);
	check_equal(recording_forget(&client, recording), 0);
	check_equal(recording_forget(&client, recording), -ENOENT);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_RECORDINGS), 0);
	replay.args.tag = 2;
	check_equal(replay_submit(&client, &replay), -ENOENT);
	check(limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES) >= before + (8 << 20));
	check_equal(advance_clock(0, 5 * MS), 0);
	collect(&client, 1, 0);
	for (attempt = 0; limit_used(client.fd, OVERTAKE_LIMIT_CLIENT_BYTES) != before; attempt++) {
		check(attempt < 1000);
		usleep(10000);
	}
	client_close(&client);
}

static void context_and_file_forget_theirs(void)
{
	struct client client = client_open_at_zero();
	uint32_t first = client.context, recording, i;
	struct replay replay;
	struct job job;

	put_delay(&client, 0, MS);
	for (i = 0; i < 2; i++) {
		job_init(&job, &client, 0, 0, 1);
		job.submit.scratch_bytes = 65536;
		recording = recording_of(&client, &job, 4);
		replay_init(&replay, &client, recording, 1);
		check_equal(replay_submit(&client, &replay), 0);
		replay.args.tag = 2;
		check_equal(replay_submit(&client, &replay), 0);
		check_equal(context_create(client.fd, 254, 0, &client.context), 0);
		/* A recording belongs to its context. */
		replay.args.context_id = client.context;
		check_equal(replay_submit(&client, &replay), -ENOENT);
	}
	check_equal(context_destroy(client.fd, first), 0);
	client_close(&client); /* with two in flight, and one recording that was never replayed */
}

/* Each replay begins and ends the CPU's access to an import. */
static void replays_on_imports(void)
{
	struct foreign foreign = udmabuf_create(65536);
	struct client client = client_open(0, 254);
	uint32_t handle = prime_import(client.fd, foreign.fd), recording, i;
	uint64_t address = map_buffer(client.fd, handle, READ_WRITE);
	struct replay replay;
	struct job job;

	put_copy(&client, 0, 4096, 0, 1024);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	for (i = 0; i < 200; i++) {
		memset(foreign.data, (int)i, 1024);
		replay_init(&replay, &client, recording, i);
		replay.binding.address = address;
		replay.binding.length = foreign.size;
		check_equal(replay_submit(&client, &replay), 0);
		collect(&client, i, 0);
		check(!memcmp(foreign.data, foreign.data + 4096, 1024));
	}
	client_close(&client);
	foreign_destroy(&foreign);
}

/* A replay does not repeat an earlier replay's request for a result record. */
static void results_are_those_of_one_time(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result *result = (void *)(client.data.data + RESULT_OFFSET);
	struct replay replay;
	uint32_t recording;
	struct job job;

	put_delay(&client, 0, 100);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	replay_init(&replay, &client, recording, 1);
	replay.args.result = client.data.address + RESULT_OFFSET;
	check_equal(replay_submit(&client, &replay), 0);
	collect(&client, 1, 0);
	check_equal(result->tag, 1);
	replay_init(&replay, &client, recording, 2);
	check_equal(replay_submit(&client, &replay), 0);
	collect(&client, 2, 0);
	check_equal(result->tag, 1);
	client_close(&client);
}

static void recorded_mappings_stay(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_bo_unmap unmap = { .address = client.program.address };
	struct replay replay;
	uint32_t recording;
	struct job job;

	put_copy(&client, 0, 512, 0, 64);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(job_submit(&client, &job), -ENOENT);
	replay_init(&replay, &client, recording, 1);
	check_equal(replay_submit(&client, &replay), 0);
	collect(&client, 1, 0);
	unmap.address = client.data.address;
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(replay_submit(&client, &replay), -ENOENT);
	check_equal(replay_submit(&client, &replay), -ENOENT); /* the instance was not lost */
	client_close(&client);
}

static struct drm_overtake_bo_wait wait_args(const struct buffer *buffer, uint32_t flags)
{
	return (struct drm_overtake_bo_wait){ .handle = buffer->handle, .flags = flags };
}

/* BO_WAIT finds replays, whose buffers show no fence. */
static void buffers_wait_for_replays(void)
{
	struct client client = client_open_at_zero();
	struct drm_overtake_bo_wait writers = wait_args(&client.data, OVERTAKE_MAP_READ);
	struct drm_overtake_bo_wait all = wait_args(&client.program, READ_WRITE);
	struct drm_overtake_bo_wait none = wait_args(&client.program, OVERTAKE_MAP_READ);
	struct replay replay;
	uint32_t recording;
	struct job job;

	put_delay(&client, 0, MS);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	replay_init(&replay, &client, recording, 1);
	check_equal(replay_submit(&client, &replay), 0);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &writers), -ETIMEDOUT);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &all), -ETIMEDOUT);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &none), 0);
	check_equal(advance_clock(0, 5 * MS), 0);
	writers.deadline_ns = all.deadline_ns = NEVER;
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &writers), 0);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &all), 0);
	collect(&client, 1, 0);
	client_close(&client);
}

/* One buffer is exported during its use, another one before. */
static void exported_buffers_show_replays(void)
{
	struct client client = client_open_at_zero();
	struct replay replay;
	uint32_t recording;
	int dmabuf, first, second;
	struct job job;

	put_delay(&client, 0, MS);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 2);
	replay_init(&replay, &client, recording, 1);
	check_equal(replay_submit(&client, &replay), 0);
	dmabuf = prime_export(client.fd, client.data.handle, DRM_RDWR | DRM_CLOEXEC);
	first = dmabuf_sync_file(dmabuf, false);
	check_equal(sync_file_status(first), 0);
	replay.args.tag = 2;
	check_equal(replay_submit(&client, &replay), 0);
	second = dmabuf_sync_file(dmabuf, false);
	check_equal(sync_file_status(second), 0);
	check_equal(job_cancel(&client, 2), 0);
	check_equal(advance_clock(0, 5 * MS), 0);
	collect(&client, 1, 0);
	collect(&client, 2, -ECANCELED);
	check_equal(sync_file_status(first), 1);
	check_equal(sync_file_status(second), -ECANCELED);
	close(first);
	close(second);
	close(dmabuf);
	client_close(&client);
}

/* A replay waits for fences and signals some, in an instance that has had others before. */
static void waits_and_signals_as_other_jobs(void)
{
	struct client client = client_open(0, 254);
	uint32_t before, after, recording, i;
	struct sync_chain chain;
	struct replay replay;
	struct job job;

	put_delay(&client, 0, 100);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	after = syncobj_create(client.fd);
	for (i = 1; i <= 20; i++) {
		struct overtake_result result;

		before = syncobj_create(client.fd);
		replay_init(&replay, &client, recording, i);
		sync_chain_init(&chain, &job);
		if (i % 3) {
			struct job first;

			job_init(&first, &client, 1000 + i, 0, 1);
			sync_chain_init(&chain, &first);
			sync_chain_out(&chain, before, 0);
			check_equal(job_submit(&client, &first), 0);
			sync_chain_init(&chain, &job);
			sync_chain_in(&chain, before, 0);
		}
		sync_chain_out(&chain, after, i);
		replay.args.extensions = (uintptr_t)&chain.sync;
		check_equal(replay_submit(&client, &replay), 0);
		syncobj_wait(client.fd, after, i);
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, 0);
	}
	client_close(&client);
}

/* Groups run on the cores of each replay, or on the recorded ones. */
static void groups_are_recorded(void)
{
	struct client client = client_open_at_zero();
	struct overtake_extension_replay_parts parts = {
		.base = { .type = OVERTAKE_EXTENSION_REPLAY_PARTS }, .part_count = 2,
	};
	uint32_t cores[2] = { 2, 1 }, recording, i;
	struct group_record record;
	struct replay replay;
	struct group group;

	for (i = 0; i < 4; i++)
		put_delay(&client, i, i == 2 ? 2 * MS : MS);
	group_init(&group, &client, 0, 0);
	recording = recording_of(&client, &group.job, 1);
	memset(group.stages, 0, sizeof(group.stages));
	for (i = 0; i < 3; i++) {
		struct overtake_result result;

		replay_init(&replay, &client, recording, i);
		replay.args.extensions = (uintptr_t)&parts;
		parts.cores = i == 1 ? (uintptr_t)cores : 0;
		group_wants_record(&group, &client);
		parts.record = group.extension.record;
		check_equal(replay_submit(&client, &replay), 0);
		check_equal(advance_clock(0, (i + 1) * 10 * MS), 0);
		result = collect(&client, i, 0);
		check_equal(result.end_ns - result.start_ns, 4 * MS);
		check_equal(result.core, i == 1 ? 2 : 1);
		record = group_record_of(&client);
		check_equal(record.head.alone_ns, 4 * MS);
		check_equal(record.parts[0].core, i == 1 ? 2 : 1);
		check_equal(record.parts[1].executed_ns, 3 * MS);
	}
	replay.args.core = 1;
	check_equal(replay_submit(&client, &replay), -EINVAL);
	replay.args.core = OVERTAKE_CORE_ANY;
	parts.part_count = 1;
	check_equal(replay_submit(&client, &replay), -EINVAL);
	parts.part_count = 2;
	cores[0] = 1;
	parts.cores = (uintptr_t)cores;
	check_equal(replay_submit(&client, &replay), -EINVAL);
	client_close(&client);
}

static void bad_recordings_are_refused(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_context_create workers = { .max_priority = 254, .flags = 1 };
	struct drm_overtake_record recording = { .instances = 1 };
	struct group group;
	struct job job;

	put_delay(&client, 0, 100);
	job_init(&job, &client, 0, 0, 1);
	recording.instances = 0;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	recording.instances = OVERTAKE_MAX_INSTANCES + 1;
	check_equal(job_record(&client, &job, &recording), -E2BIG);
	recording.instances = 1;
	recording.flags = 1;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	recording.flags = 0;
	recording.pad = 1;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	recording.pad = 0;
	recording.record_id = 1;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	recording.record_id = 0;
	job.submit.fc_count = 0;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	job.submit.fc_count = OVERTAKE_MAX_FCS + 1;
	check_equal(job_record(&client, &job, &recording), -E2BIG);
	job.submit.fc_count = 1;
	job.fcs[0].insn_count = 0;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	job.fcs[0].insn_count = 1;
	job.submit.binding_count = 1;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	job.submit.binding_count = 2;
	job.submit.context_id = 60;
	check_equal(job_record(&client, &job, &recording), -ENOENT);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &workers), 0);
	job.submit.context_id = workers.context_id;
	check_equal(job_record(&client, &job, &recording), -EINVAL);
	group_init(&group, &client, 0, 0);
	group_wants_record(&group, &client);
	check_equal(job_record(&client, &group.job, &recording), -EINVAL);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_RECORDINGS), 0);
	client_close(&client);
}

static void bad_replays_are_refused(void)
{
	struct client client = client_open(0, 254);
	struct client other = client_open(0, 254);
	struct overtake_extension extension = { .type = OVERTAKE_EXTENSION_PARTS };
	struct replay replay, good;
	uint32_t recording;
	struct job job;

	put_delay(&client, 0, 100);
	job_init(&job, &client, 0, 0, 1);
	recording = recording_of(&client, &job, 1);
	replay_init(&good, &client, recording, 1);
#define REFUSED(change, error) \
	do { \
		replay = good; \
		replay.args.bindings = (uintptr_t)&replay.binding; \
		change; \
		check_equal(replay_submit(&client, &replay), error); \
	} while (0)
	REFUSED(replay.args.record_id = recording + 1, -ENOENT);
	REFUSED(replay.args.record_id = 0, -ENOENT);
	REFUSED(replay.args.context_id = 60, -ENOENT);
	REFUSED(replay.args.flags = 1, -EINVAL);
	REFUSED(replay.args.pad = 1, -EINVAL);
	REFUSED(replay.args.core = 3, -EINVAL);
	REFUSED(replay.args.priority = 255, -EPERM);
	REFUSED(replay.args.priority = 256, -EINVAL);
	REFUSED(replay.args.deadline_ns = -1, -EINVAL);
	REFUSED(replay.args.binding_count = OVERTAKE_MAX_BINDINGS + 1, -E2BIG);
	REFUSED(replay.binding.region = OVERTAKE_REGION_PROGRAM, -EINVAL);
	REFUSED(replay.binding.region = OVERTAKE_REGION_SCRATCH, -EINVAL);
	REFUSED(replay.binding.region = OVERTAKE_MAX_REGIONS, -EINVAL);
	REFUSED(replay.binding.length = client.data.size + 1, -ENOENT);
	REFUSED(replay.binding.address = other.data.address + (1ull << 40), -ENOENT);
	REFUSED(replay.binding.address = client.program.address, -EACCES);
	REFUSED(replay.args.bindings = 8, -EFAULT);
	REFUSED(replay.args.result = client.data.address + 4, -EINVAL);
	REFUSED(replay.args.result = client.program.address, -EACCES);
	REFUSED(replay.args.extensions = (uintptr_t)&extension, -EINVAL);
	extension.type = OVERTAKE_EXTENSION_REPLAY_PARTS; /* the recording is no group */
	REFUSED(replay.args.extensions = (uintptr_t)&extension, -EINVAL);
	/* The other file has no such recording, and no refusal has cost the only instance. */
	replay = good;
	replay.args.context_id = other.context;
	check_equal(replay_submit(&other, &replay), -ENOENT);
	replay.args.context_id = client.context;
	replay.args.binding_count = 0;
	replay.args.bindings = 0;
	check_equal(replay_submit(&client, &replay), 0);
	collect(&client, 1, 0);
	client_close(&other);
	client_close(&client);
}

static void recordings_are_limited(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_record recording = { .instances = 1 };
	struct job job;
	uint32_t i;

	put_delay(&client, 0, 100);
	job_init(&job, &client, 0, 0, 1);
	for (i = 0; i < OVERTAKE_MAX_RECORDINGS; i++) {
		recording.record_id = 0;
		check_equal(job_record(&client, &job, &recording), 0);
	}
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_RECORDINGS), OVERTAKE_MAX_RECORDINGS);
	recording.record_id = 0;
	check_equal(job_record(&client, &job, &recording), -ENOSPC);
	check_equal(recording_forget(&client, 7), 0);
	check_equal(job_record(&client, &job, &recording), 0);
	client_close(&client);
}

const struct test_case record_cases[] = {
	{ "record-replay-with-other-buffers", FUNCTIONAL, replay_is_a_job_with_other_buffers },
	{ "record-one-instance-at-once", FUNCTIONAL, one_instance_is_replayed_at_once },
	{ "record-scratch-is-the-instances", FUNCTIONAL, scratch_is_the_instances_own },
	{ "record-import", FUNCTIONAL, replays_on_imports },
	{ "record-result-of-one-time", FUNCTIONAL, results_are_those_of_one_time },
	{ "record-mappings-stay", FUNCTIONAL, recorded_mappings_stay },
	{ "record-fences", FUNCTIONAL, waits_and_signals_as_other_jobs },
	{ "record-bad-recordings-refused", FUNCTIONAL, bad_recordings_are_refused },
	{ "record-bad-replays-refused", FUNCTIONAL, bad_replays_are_refused },
	{ "record-recordings-are-limited", FUNCTIONAL, recordings_are_limited },
	{ "record-busy", MANUAL, all_instances_in_flight_is_busy },
	{ "record-forget-gives-memory-back", MANUAL, forgetting_gives_the_memory_back },
	{ "record-context-and-file-forget", MANUAL, context_and_file_forget_theirs },
	{ "record-buffer-wait", MANUAL, buffers_wait_for_replays },
	{ "record-exported-buffer", MANUAL, exported_buffers_show_replays },
	{ "record-group", MANUAL, groups_are_recorded },
	{ 0 },
};
