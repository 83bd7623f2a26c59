// SPDX-License-Identifier: MIT
/*
 * Calls of a client for its memory and files between and during replays, in random order: unmap,
 * free, map again, export, fork, cancel, forget, close.  The module may refuse a call.  It must not
 * crash, keep an object, or compute on a buffer that the job did not name.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "recorded.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)

/* KMOD_RECORD_SEQUENCES in the environment asks for another number. */
#define SEQUENCES	500u
#define STEPS		12u
#define BUFFERS		4u
#define RECORDINGS	3u
#define BUFFER_BYTES	(4u * 4096u)

struct sequence {
	struct client client;
	struct buffer buffers[BUFFERS];	/* handle 0: freed */
	bool is_mapped[BUFFERS];	/* by this process */
	bool has_address[BUFFERS];	/* on the device */
	uint32_t recordings[RECORDINGS]; /* 0: none */
	uint64_t tag;
	uint32_t in_flight;		/* an upper bound: some may have ended */
};

static unsigned int state = 1;

static unsigned int below(unsigned int limit)
{
	state = state * 1103515245u + 12345u;
	return (state >> 16) % limit;
}

static void make_buffer(struct sequence *s, unsigned int i)
{
	if (s->buffers[i].handle)
		return;
	s->buffers[i] = buffer_create(s->client.fd, BUFFER_BYTES, READ_WRITE);
	s->is_mapped[i] = s->has_address[i] = true;
}

static void unmap_buffer(struct sequence *s, unsigned int i)
{
	if (!s->buffers[i].handle || !s->is_mapped[i])
		return;
	check_equal(munmap(s->buffers[i].data, s->buffers[i].size), 0);
	s->is_mapped[i] = false;
}

/* Unmaps a buffer; jobs in flight that use it keep it. */
static void take_address(struct sequence *s, unsigned int i)
{
	struct drm_overtake_bo_unmap unmap = { .address = s->buffers[i].address };

	if (!s->has_address[i])
		return;
	check_equal(device_ioctl(s->client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	s->has_address[i] = false;
}

static void give_address(struct sequence *s, unsigned int i)
{
	if (s->has_address[i] || !s->buffers[i].handle)
		return;
	s->buffers[i].address = map_buffer(s->client.fd, s->buffers[i].handle, READ_WRITE);
	s->has_address[i] = true;
}

static void free_buffer(struct sequence *s, unsigned int i)
{
	if (!s->buffers[i].handle)
		return;
	unmap_buffer(s, i);
	take_address(s, i);
	check_equal(close_handle(s->client.fd, s->buffers[i].handle), 0);
	s->buffers[i].handle = 0;
}

static void export_buffer(struct sequence *s, unsigned int i)
{
	uint32_t again;
	int dmabuf;

	if (!s->buffers[i].handle)
		return;
	dmabuf = prime_export(s->client.fd, s->buffers[i].handle, 0);
	if (below(2)) {
		again = prime_import(s->client.fd, dmabuf);
		check_equal(again, s->buffers[i].handle);
	}
	close(dmabuf);
}

static void record_job(struct sequence *s, unsigned int i)
{
	struct drm_overtake_record recording = { .instances = 1 + below(3) };
	struct job job;
	int ret;

	if (s->recordings[i])
		return;
	job_init(&job, &s->client, 0, 0, 1 + below(2));
	job.submit.scratch_bytes = below(2) * 4096 * (1 + below(4));
	ret = job_record(&s->client, &job, &recording);
	check_equal(ret, 0);
	s->recordings[i] = recording.record_id;
}

/* Replays on a buffer; if the buffer has gone, its address belongs to no memory. */
static void replay_job(struct sequence *s, unsigned int i)
{
	unsigned int at = below(BUFFERS);
	const struct buffer *buffer = &s->buffers[at];
	struct replay replay;
	int ret;

	if (!s->recordings[i] || !buffer->size)
		return;
	replay_init(&replay, &s->client, s->recordings[i], ++s->tag);
	replay.binding.address = buffer->address;
	replay.binding.length = buffer->size;
	if (!below(8))
		replay.binding.address += 4096 * (1 + below(8));
	ret = replay_submit(&s->client, &replay);
	check_message(!ret || ret == -EBUSY || ret == -EFAULT || ret == -EINVAL || ret == -ENOENT,
		      "REPLAY: %d", ret);
	if (s->has_address[at] && replay.binding.address == buffer->address)
		check_message(!ret || ret == -EBUSY, "REPLAY on a buffer that lives: %d", ret);
	if (!s->has_address[at] && replay.binding.address == buffer->address)
		check_message(ret, "REPLAY took an address that has gone");
	if (!ret)
		s->in_flight++;
}

static void collect(struct sequence *s, bool all)
{
	struct overtake_result result;

	while (s->in_flight && !job_wait_any(&s->client, NEVER, &result)) {
		check_message(!result.status || result.status == -ECANCELED,
			      "a replay ended with %d", result.status);
		s->in_flight--;
		if (!all)
			return;
	}
}

/* The child has the same file: it submits and destroys for the parent, too. */
static void fork_and_replay(struct sequence *s)
{
	pid_t child = fork();
	unsigned int i;
	int status;

	check(child >= 0);
	if (!child) {
		for (i = 0; i < 2; i++)
			replay_job(s, below(RECORDINGS));
		if (below(2))
			close(s->client.fd);
		_exit(0);
	}
	if (below(2))
		unmap_buffer(s, below(BUFFERS));
	check_equal(waitpid(child, &status, 0), child);
	check_equal(status, 0);
	s->tag += 16; /* the child has used some tags */
}

static void begin(struct sequence *s)
{
	unsigned int i;

	*s = (struct sequence){ .client = client_open(0, 254) };
	put_delay(&s->client, 0, 20);
	put_copy(&s->client, 1, 0, 4096, 512);
	for (i = 0; i < BUFFERS; i++)
		make_buffer(s, i);
	record_job(s, 0);
}

static void end(struct sequence *s)
{
	unsigned int i;

	if (below(2))
		collect(s, true);
	for (i = 0; i < BUFFERS; i++)
		unmap_buffer(s, i);
	client_close(&s->client); /* with jobs in flight, perhaps */
}

static void step(struct sequence *s)
{
	unsigned int i = below(BUFFERS), k = below(RECORDINGS);

	switch (below(40) ? below(13) : 13) {
	case 0:
		make_buffer(s, i);
		break;
	case 1:
		unmap_buffer(s, i);
		break;
	case 2:
		free_buffer(s, i);
		break;
	case 3:
		export_buffer(s, i);
		break;
	case 4:
		record_job(s, k);
		break;
	case 5:
		if (s->recordings[k])
			check_equal(recording_forget(&s->client, s->recordings[k]), 0);
		s->recordings[k] = 0;
		break;
	case 6:
		collect(s, below(2));
		break;
	case 7:
		job_cancel(&s->client, s->tag - below(3));
		break;
	case 8:
		take_address(s, i);
		break;
	case 9:
		give_address(s, i);
		break;
	case 13:
		fork_and_replay(s);
		break;
	default:
		replay_job(s, k);
		break;
	}
}

static void random_sequences_leave_nothing(void)
{
	const char *asked = getenv("KMOD_RECORD_SEQUENCES");
	unsigned int count = asked ? (unsigned int)strtoul(asked, NULL, 10) : SEQUENCES;
	unsigned int i, k;
	struct sequence s;

	for (i = 0; i < count; i++) {
		state = i + 1;
		begin(&s);
		for (k = 0; k < STEPS; k++)
			step(&s);
		end(&s);
	}
	/* The module can be removed afterwards only if no object is left. */
}

const struct test_case record_sequence_cases[] = {
	{ "record-random-sequences", FUNCTIONAL, random_sequences_leave_nothing },
	{ 0 },
};
