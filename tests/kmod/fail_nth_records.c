// SPDX-License-Identifier: MIT
/* Jobs that are recorded once and replayed. */
#include "fail_nth_operations.h"

#include "check.h"
#include "group.h"
#include "recorded.h"
#include "ring.h"

#define TAG	5
#define GROUP	1ul
#define LONG	2ul /* the replay is in flight until it is stopped */
#define FENCES	4ul
#define SHARED	8ul /* the buffer of the replay was exported */

/* The group of the subject: there is only one at a time. */
static struct group group;
static struct drm_overtake_record recording;
static struct replay replay;
static uint32_t syncobj;
static struct sync_chain chain;

static const struct job *recorded_job(struct subject *subject)
{
	uint32_t i;

	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&subject->client, i, subject->variant & LONG ? 4000000000ull : 1000);
	group_init(&group, &subject->client, 0, 0);
	if (!(subject->variant & GROUP))
		job_init(&group.job, &subject->client, 0, 0, 1);
	group.job.submit.scratch_bytes = 8192;
	return &group.job;
}

static void prepare_record(struct subject *subject)
{
	recorded_job(subject);
	recording = (struct drm_overtake_record){ .instances = 3 };
}

static int run_record(struct subject *subject)
{
	return job_record(&subject->client, &group.job, &recording);
}

static void prepare_replay(struct subject *subject)
{
	const struct job *job = recorded_job(subject);

	replay_init(&replay, &subject->client, recording_of(&subject->client, job, 2), TAG);
	if (subject->variant & SHARED)
		subject->other = prime_export(subject->client.fd, subject->client.data.handle,
					      DRM_CLOEXEC | DRM_RDWR);
	if (!(subject->variant & FENCES))
		return;
	syncobj = syncobj_create(subject->client.fd);
	sync_chain_init(&chain, &group.job);
	sync_chain_out(&chain, syncobj, 7);
	replay.args.extensions = (uintptr_t)&chain.sync;
}

static int run_replay(struct subject *subject)
{
	return replay_submit(&subject->client, &replay);
}

static void prepare_ring_replay(struct subject *subject)
{
	prepare_replay(subject);
	ring_open_to_abandon(&subject->ring);
	subject->has_ring = true;
	ring_prepare(&subject->ring, subject->client.fd, OVERTAKE_URING_REPLAY, &replay.args,
		     sizeof(replay.args), TAG);
}

static void submit_replay(struct subject *subject)
{
	prepare_replay(subject);
	check_equal(run_replay(subject), 0);
}

static int run_forget(struct subject *subject)
{
	return recording_forget(&subject->client, replay.args.record_id);
}

const struct operation record_operations[] = {
	{ "RECORD", prepare_record, run_record, 0 },
	{ "RECORD of a group", prepare_record, run_record, GROUP },
	{ "REPLAY", prepare_replay, run_replay, 0 },
	{ "REPLAY of a group", prepare_replay, run_replay, GROUP },
	{ "REPLAY with a fence", prepare_replay, run_replay, FENCES },
	{ "REPLAY with a shared buffer", prepare_replay, run_replay, SHARED | FENCES },
	{ "io_uring REPLAY", prepare_ring_replay, subject_run_ring, FENCES },
	{ "FORGET with a replay in flight", submit_replay, run_forget, LONG },
	{ "close with a replay in flight", submit_replay, subject_run_close, LONG },
	{ 0 },
};
