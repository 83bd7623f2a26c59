// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dma_buf.h"
#include "isolation.h"

void fill_secret(void *memory, size_t size)
{
	uint64_t *words = memory;
	size_t i;

	for (i = 0; i < size / 8; i++)
		words[i] = SECRET;
}

bool shows_secret(const void *memory, size_t size)
{
	const uint64_t secret = SECRET;

	return memmem(memory, size, &secret, sizeof(secret));
}

bool is_zero(const uint8_t *memory, size_t size)
{
	return !memory[0] && !memcmp(memory, memory + 1, size - 1);
}

/* Runs @job of the attacker; returns its outcome. */
int run_job(struct scene *scene, struct job *job)
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

struct job attackers_job(struct scene *scene)
{
	struct job job;

	job_init(&job, &scene->attacker, 1, 0, 1);
	return job;
}

/* Sets the pointers of job_init() again, which are into the object, and runs the copy. */
int run_copy_of(struct scene *scene, struct job job)
{
	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	return run_job(scene, &job);
}

/* Imports a fence of the other device, which is never signalled, into syncobj @sync of @fd. */
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
	/* The victim gets numbers and addresses that the attacker does not have. */
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

/* Returns whether the victim has everything that it had, and the attacker nothing of it. */
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

struct text {
	char text[64];
};

static struct text outcome_text(int outcome)
{
	struct text text;

	if (outcome == BREACH)
		snprintf(text.text, sizeof(text.text), "granted");
	else if (outcome == NOTHING_GAINED)
		snprintf(text.text, sizeof(text.text), "nothing gained");
	else if (outcome < 0)
		snprintf(text.text, sizeof(text.text), "%s", strerror(-outcome));
	else
		snprintf(text.text, sizeof(text.text), "fault %d", outcome);
	return text;
}

void make_attempt(int expected, int (*attempt)(struct scene *scene))
{
	struct scene scene;
	int outcome;

	scene_open(&scene);
	check(is_intact(&scene));
	outcome = attempt(&scene);
	check_message(is_intact(&scene), "the victim was reached (%s)", outcome_text(outcome).text);
	check_message(outcome == expected, "%s, expected %s", outcome_text(outcome).text,
		      outcome_text(expected).text);
}
