// SPDX-License-Identifier: MIT
/* Batches of replays, each of as many FCs as a job may have, which are cancelled in the next call. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "attack_latency.h"
#include "check.h"
#include "recorded.h"
#include "ring.h"

#define INSTANCES	64u /* instances of a recording */

static uint32_t record_long_job(struct client *client)
{
	struct overtake_fc *fcs = calloc(OVERTAKE_MAX_FCS, sizeof(*fcs));
	struct job job;
	uint32_t i, recording;

	put_delay(client, 0, 1);
	for (i = 0; i < OVERTAKE_MAX_FCS; i++)
		fcs[i].insn_count = 1;
	job_init(&job, client, 0, 0, 1);
	job.submit.fcs = (uintptr_t)fcs;
	job.submit.fc_count = OVERTAKE_MAX_FCS;
	recording = recording_of(client, &job, INSTANCES);
	free(fcs);
	return recording;
}

static void prepare_replays(struct io_uring *ring, const struct client *client,
			    const uint32_t *recordings, uint64_t first, uint32_t count)
{
	struct replay replay;
	uint32_t i;

	for (i = 0; i < count; i++) {
		replay_init(&replay, client, recordings[i / INSTANCES], first + i);
		replay.args.bindings = 0;
		replay.args.binding_count = 0;
		ring_prepare(ring, client->fd, OVERTAKE_URING_REPLAY, &replay.args,
			     sizeof(replay.args), first + i);
	}
	check_equal(io_uring_submit(ring), count);
}

static void prepare_cancels(struct io_uring *ring, const struct client *client, uint64_t first,
			    uint32_t count)
{
	struct drm_overtake_cancel cancel = { .context_id = client->context };
	uint32_t i;

	for (i = 0; i < count; i++) {
		cancel.tag = first + i;
		ring_prepare(ring, client->fd, OVERTAKE_URING_CANCEL, &cancel, sizeof(cancel), 0);
	}
	check_equal(io_uring_submit(ring), count);
}

/* Prepares io_uring commands that /dev/null ends at once. */
static void prepare_nothing(struct io_uring *ring, int null, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		ring_prepare(ring, null, 0, &(uint64_t){ 0 }, sizeof(uint64_t), 0);
	check_equal(io_uring_submit(ring), count);
}

void replays(const struct arguments *arguments)
{
	struct client client = client_open(0, 254);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t recordings[16], count = arguments->count, i;
	struct io_uring ring;
	uint64_t first;

	check(null >= 0 && count <= INSTANCES * 16);
	ring_open(&ring, 1024, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	for (i = 0; i * INSTANCES < count; i++)
		recordings[i] = record_long_job(&client);
	say_ready(arguments);
	for (first = 0;; first += count) {
		if (arguments->is_control) {
			prepare_nothing(&ring, null, count);
			prepare_nothing(&ring, null, count);
		} else {
			prepare_replays(&ring, &client, recordings, first, count);
			prepare_cancels(&ring, &client, first, count);
		}
		for (i = 0; i < 2 * count; i++)
			ring_reap(&ring);
	}
}
