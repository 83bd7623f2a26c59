// SPDX-License-Identifier: MIT
#include "recorded.h"

#include "check.h"

int job_record(const struct client *client, const struct job *job,
	       struct drm_overtake_record *recording)
{
	recording->fcs = job->submit.fcs;
	recording->bindings = job->submit.bindings;
	recording->extensions = job->submit.extensions;
	recording->context_id = job->submit.context_id;
	recording->fc_count = job->submit.fc_count;
	recording->binding_count = job->submit.binding_count - 1;
	recording->scratch_bytes = job->submit.scratch_bytes;
	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_RECORD, recording);
}

uint32_t recording_of(const struct client *client, const struct job *job, uint32_t instances)
{
	struct drm_overtake_record recording = { .instances = instances };

	check_equal(job_record(client, job, &recording), 0);
	check(recording.record_id != 0);
	return recording.record_id;
}

int recording_forget(const struct client *client, uint32_t id)
{
	struct drm_overtake_forget args = { .context_id = client->context, .record_id = id };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_FORGET, &args);
}

void replay_init(struct replay *replay, const struct client *client, uint32_t recording,
		 uint64_t tag)
{
	replay->binding = (struct overtake_binding){
		.address = client->data.address,
		.length = client->data.size,
		.region = OVERTAKE_REGION_IO,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
	};
	replay->args = (struct drm_overtake_replay){
		.bindings = (uintptr_t)&replay->binding,
		.tag = tag,
		.context_id = client->context,
		.record_id = recording,
		.binding_count = 1,
	};
}

int replay_submit(const struct client *client, struct replay *replay)
{
	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_REPLAY, &replay->args);
}

void replay_prepare(struct io_uring *ring, const struct client *client,
		    const struct replay *replay)
{
	ring_prepare(ring, client->fd, OVERTAKE_URING_REPLAY, &replay->args, sizeof(replay->args),
		     replay->args.tag);
}

void replay_ring_submit(struct io_uring *ring, const struct client *client,
			const struct replay *replay)
{
	replay_prepare(ring, client, replay);
	check_equal(io_uring_submit(ring), 1);
}
