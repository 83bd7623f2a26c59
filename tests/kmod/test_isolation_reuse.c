// SPDX-License-Identifier: MIT
/* Memory that another client had before, and memory that changes while it is used. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dma_buf.h"
#include "isolation.h"
#include "recorded.h"

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

/* Reads the scratch of its own job before. */
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

static void replay_once(struct client *client, const struct job *job, bool forget)
{
	struct overtake_result result;
	uint32_t recording = recording_of(client, job, 4);
	struct replay replay;

	replay_init(&replay, client, recording, 4711);
	check_equal(replay_submit(client, &replay), 0);
	check_equal(job_wait(client, 4711, NEVER, &result), 0);
	check_equal(result.status, 0);
	if (forget)
		check_equal(recording_forget(client, recording), 0);
}

/* Scratch of a recording stays from job to job: tries the victim's, during its life and after. */
static int finds_secrets_in_recorded_scratch(struct scene *scene)
{
	struct job job;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		fill_secret(scene->victim.data.data, 32768);
		put_scratch_copy(&scene->victim, false);
		job_init(&job, &scene->victim, 0, 0, 1);
		job.submit.scratch_bytes = 32768;
		replay_once(&scene->victim, &job, i);
		put_scratch_copy(&scene->attacker, true);
		memset(scene->attacker.data.data, 0xff, 32768);
		job = attackers_job(scene);
		job.submit.fcs = (uintptr_t)job.fcs;
		job.submit.bindings = (uintptr_t)job.bindings;
		job.submit.scratch_bytes = 32768;
		replay_once(&scene->attacker, &job, false);
		if (!is_zero(scene->attacker.data.data, 32768))
			return BREACH;
	}
	return NOTHING_GAINED;
}

/* Numbers name the attacker's own recordings, and not the victim's. */
static int replays_victims_recording(struct scene *scene)
{
	struct replay replay;
	struct job job;
	uint32_t recording;

	put_delay(&scene->victim, 0, 100);
	job_init(&job, &scene->victim, 0, 0, 1);
	recording_of(&scene->victim, &job, 1);
	recording = recording_of(&scene->victim, &job, 1);
	job = attackers_job(scene);
	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	recording_of(&scene->attacker, &job, 1);
	replay_init(&replay, &scene->attacker, recording, 1);
	return replay_submit(&scene->attacker, &replay);
}

/* Binds memory of the victim to a replay. */
static int replays_on_victims_memory(struct scene *scene)
{
	struct job job = attackers_job(scene);
	struct replay replay;

	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	replay_init(&replay, &scene->attacker, recording_of(&scene->attacker, &job, 1), 1);
	replay.binding.address = scene->secret.address;
	replay.binding.length = scene->secret.size + (16ull << 20);
	return replay_submit(&scene->attacker, &replay);
}

/* The record has 64 bytes, and the driver writes each of them on purpose. */
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

/* A mapping outlives handle and device address: its pages belong to no other client meanwhile. */
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

/* --- Races ----------------------------------------------------------------------------------- */

#define RACES	200u

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

/* Runs jobs of the attacker while another thread changes their memory. */
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
	return NOTHING_GAINED; /* the comparison of the memory checks that */
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

/* The attacker frees memory that its job in flight writes, and the victim gets new memory. */
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

#define ATTEMPTS(X) \
	X(finds_secrets_in_new_buffer, NOTHING_GAINED, "isolation-secrets-in-a-new-buffer") \
	X(finds_secrets_in_scratch, NOTHING_GAINED, "isolation-secrets-in-the-scratch-region") \
	X(finds_last_jobs_scratch, NOTHING_GAINED, "isolation-the-last-jobs-scratch") \
	X(finds_secrets_in_recorded_scratch, NOTHING_GAINED, \
	  "isolation-secrets-in-the-scratch-of-a-recording") \
	X(replays_victims_recording, -ENOENT, "isolation-replay-of-the-victims-recording") \
	X(replays_on_victims_memory, -ENOENT, "isolation-replay-on-the-victims-memory") \
	X(finds_more_in_result_record, NOTHING_GAINED, \
	  "isolation-more-in-a-result-record-than-was-said") \
	X(looks_through_old_mmap, NOTHING_GAINED, \
	  "isolation-secrets-through-a-mapping-of-a-freed-buffer") \
	X(rewrites_program_while_it_runs, NOTHING_GAINED, \
	  "isolation-program-rewritten-while-it-runs") \
	X(rewrites_bindings_while_they_are_read, NOTHING_GAINED, \
	  "isolation-bindings-rewritten-while-they-are-read") \
	X(rewrites_fcs_while_they_are_read, NOTHING_GAINED, \
	  "isolation-fcs-rewritten-while-they-are-read") \
	X(rewrites_extensions_while_they_are_read, NOTHING_GAINED, \
	  "isolation-extensions-rewritten-while-they-are-read") \
	X(writes_memory_that_was_given_up, NOTHING_GAINED, \
	  "isolation-memory-given-up-under-a-job-in-flight")

ATTEMPTS(DEFINE_ATTEMPT)

const struct test_case isolation_reuse_cases[] = {
	ATTEMPTS(ATTEMPT_CASE)
	{ 0 },
};
