// SPDX-License-Identifier: MIT
/* Jobs of well-behaved clients, by ioctl. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define TIMED		"cores=2 mode=timed profile=ideal"
#define BOTH		"cores=2 mode=both profile=ideal"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull

static void delay_job_ends(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 1000);
	job_init(&job, &client, 7, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 7, NEVER, &result), 0);
	check_equal(result.tag, 7);
	check_equal(result.status, 0);
	check_equal(result.fcs_done, 1);
	check_equal(result.core, 1);
	check_equal(result.fault, 0);
	check(result.queued_ns <= result.start_ns && result.start_ns <= result.end_ns);
	client_close(&client);
}

/* On the ideal profile a cycle is a nanosecond, and there are no fixed costs. */
static void timed_job_takes_its_modelled_time(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 3 * MS);
	put_delay(&client, 1, 2 * MS);
	job_init(&job, &client, 7, 0, 2);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 7, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.start_ns, result.queued_ns);
	check_equal(result.end_ns - result.start_ns, 5 * MS);
	check_equal(result.executed_ns, 5 * MS);
	check((uint64_t)monotonic_ns() >= result.end_ns);
	client_close(&client);
}

static void copy_computes(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_copy(&client, 0, 4096, 0, 2048);
	memset(client.data.data, 0x5a, 2048);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(client.data.data, client.data.data + 4096, 2048));
	check_equal(client.data.data[4096 + 2048], 0);
	client_close(&client);
}

static void result_record_is_what_wait_says(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 1000);
	job_init(&job, &client, 99, 0, 1);
	job.submit.result = client.data.address + RESULT_OFFSET;
	memset(client.data.data + RESULT_OFFSET, 0xff, sizeof(result));
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 99, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(&result, client.data.data + RESULT_OFFSET, sizeof(result)));
	check_equal(client.data.data[RESULT_OFFSET + sizeof(result)], 0);
	client_close(&client);
}

static void wait_any_collects_in_order_of_end(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	uint64_t tag, last_end = 0;
	struct job job;

	put_delay(&client, 0, 1000);
	for (tag = 1; tag <= 20; tag++) {
		job_init(&job, &client, tag, 0, 1);
		job.submit.core = 1;
		check_equal(job_submit(&client, &job), 0);
	}
	for (tag = 1; tag <= 20; tag++) {
		check_equal(job_wait_any(&client, NEVER, &result), 0);
		check_equal(result.tag, tag); /* one core, one ring: first in, first out */
		check(result.end_ns >= last_end);
		last_end = result.end_ns;
	}
	check_equal(job_wait_any(&client, NEVER, &result), -ENOENT);
	client_close(&client);
}

static void wait_deadline_passes_and_job_stays(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 400 * MS);
	job_init(&job, &client, 3, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 3, 0, &result), -ETIMEDOUT);
	check_equal(job_wait(&client, 3, monotonic_ns() + 1000000, &result), -ETIMEDOUT);
	check_equal(job_wait_any(&client, monotonic_ns() + 1000000, &result), -ETIMEDOUT);
	check_equal(job_wait(&client, 3, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(job_wait(&client, 3, NEVER, &result), -ENOENT);
	client_close(&client);
}

static void any_core_spreads_jobs(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result first, second;
	struct job job;

	put_delay(&client, 0, 200 * MS);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &first), 0);
	check_equal(job_wait(&client, 2, NEVER, &second), 0);
	check_equal(first.core, 1);
	check_equal(second.core, 2);
	check(second.start_ns < first.end_ns);
	client_close(&client);
}

static void many_jobs_in_flight_all_end(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;
	uint64_t tag, sum = 0;

	put_delay(&client, 0, 100);
	for (tag = 1; tag <= OVERTAKE_MAX_JOBS; tag++) {
		job_init(&job, &client, tag, 0, 1);
		check_equal(job_submit(&client, &job), 0);
	}
	job_init(&job, &client, tag, 0, 1);
	check_equal(job_submit(&client, &job), -ENOSPC);
	for (tag = 1; tag <= OVERTAKE_MAX_JOBS; tag++) {
		check_equal(job_wait_any(&client, NEVER, &result), 0);
		check_equal(result.status, 0);
		sum += result.tag;
	}
	check_equal(sum, OVERTAKE_MAX_JOBS * (OVERTAKE_MAX_JOBS + 1) / 2);
	client_close(&client);
}

/* The job has more FCs than a hardware ring has descriptors. */
static void job_longer_than_a_ring_ends(void)
{
	struct client client = client_open(0, 254);
	struct overtake_fc fcs[1000];
	struct overtake_result result;
	struct job job;
	int i;

	put_delay(&client, 0, 10);
	for (i = 0; i < 1000; i++)
		fcs[i] = (struct overtake_fc){ .first_insn = 0, .insn_count = 1 };
	job_init(&job, &client, 5, 0, 1);
	job.submit.fcs = (uintptr_t)fcs;
	job.submit.fc_count = 1000;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 5, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.fcs_done, 1000);
	client_close(&client);
}

/* A job writes its scratch and ends; the scratch of the next job is zero again. */
static void scratch_is_zeroed(void)
{
	struct client client = client_open(0, 254);
	struct overtake_insn insn;
	struct overtake_result result;
	struct job job;
	uint32_t i;

	/* 0: data[2048] = scratch, 1: scratch = data[0] */
	put_copy(&client, 0, 2048, 0, 1024);
	memcpy(&insn, client.program.data, sizeof(insn));
	insn.in[0].region = OVERTAKE_REGION_SCRATCH;
	put_insn(&client, 0, &insn);
	put_copy(&client, 1, 0, 0, 1024);
	memcpy(&insn, client.program.data + sizeof(insn), sizeof(insn));
	insn.out.region = OVERTAKE_REGION_SCRATCH;
	put_insn(&client, 1, &insn);

	memset(client.data.data, 0x77, 1024);
	for (i = 0; i < 2; i++) {
		memset(client.data.data + 2048, 0x11, 1024);
		job_init(&job, &client, i, 0, 2);
		job.submit.scratch_bytes = 1024;
		check_equal(job_submit(&client, &job), 0);
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, 0);
		check_equal(client.data.data[2048], 0);
		check_equal(client.data.data[2048 + 1023], 0);
	}
	client_close(&client);
}

/* A job keeps its memory although the client unmaps the buffer. */
static void unmap_under_a_job_is_harmless(void)
{
	struct client client = client_open(0, 254);
	struct buffer extra;
	struct overtake_result result;
	struct job job;

	extra = buffer_create(client.fd, 4096, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	put_delay(&client, 0, 300 * MS);
	put_copy(&client, 1, 64, 0, 64);
	job_init(&job, &client, 1, 0, 2);
	job.bindings[1].address = extra.address;
	job.bindings[1].length = extra.size;
	check_equal(job_submit(&client, &job), 0);
	buffer_destroy(client.fd, &extra);
	job_init(&job, &client, 2, 0, 2);
	job.bindings[1].address = extra.address;
	job.bindings[1].length = extra.size;
	check_equal(job_submit(&client, &job), -ENOENT); /* its address is gone */
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

static int bo_wait(const struct client *client, const struct buffer *buffer, uint32_t flags,
		   int64_t deadline_ns)
{
	struct drm_overtake_bo_wait wait = {
		.handle = buffer->handle,
		.flags = flags,
		.deadline_ns = deadline_ns,
	};

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &wait);
}

static void bo_wait_knows_readers_from_writers(void)
{
	const uint32_t write = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE;
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 500 * MS);
	job_init(&job, &client, 1, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	/* The job reads the program, and may write the data. */
	check_equal(bo_wait(&client, &client.program, OVERTAKE_MAP_READ, 0), 0);
	check_equal(bo_wait(&client, &client.program, write, 0), -ETIMEDOUT);
	check_equal(bo_wait(&client, &client.data, OVERTAKE_MAP_READ, 0), -ETIMEDOUT);
	check_equal(bo_wait(&client, &client.data, write, NEVER), 0);
	/* The fences of the job are signalled first, then it can be collected. */
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

static void deadline_ends_a_waiting_job(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 600 * MS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 1;
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, 0, 1);
	job.submit.core = 1;
	job.submit.deadline_ns = monotonic_ns() + 50 * (int64_t)MS;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait_any(&client, NEVER, &result), 0);
	check_equal(result.tag, 2);
	check_equal(result.status, -ETIME);
	check_equal(result.fcs_done, 0);
	check(result.end_ns >= (uint64_t)job.submit.deadline_ns);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

/* Others may wait for a job's fence, so no job's deadline is for ever. */
static void no_deadline_is_beyond_the_maximum(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_delay(&client, 0, 500 * 1000 * 1000); /* 500 ms */
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 1;
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, 0, 1);
	job.submit.core = 1;
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	check_equal(result.status, -ETIME);
	check_equal(result.fcs_done, 0);
	client_close(&client);
}

static void default_timeout_ends_a_waiting_job(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_device_info info;
	struct overtake_result result;
	struct job job;

	device_query(client.fd, &info);
	check_equal(info.queue_timeout_ns, 100 * MS);
	put_delay(&client, 0, 600 * MS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 1;
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 2, 0, 1);
	job.submit.core = 1;
	device_query(client.fd, &info);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	check_equal(result.status, -ETIME);
	/* The timeout begins before the job arrives: the host may be interrupted between the two. */
	check(result.end_ns >= info.device_time_ns + info.queue_timeout_ns);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

static void destroy_ends_a_context_at_once(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	uint32_t other;
	struct job job;
	int tag;

	check_equal(context_create(client.fd, 254, 0, &other), 0);
	put_delay(&client, 0, 900 * MS);
	for (tag = 0; tag < 10; tag++) {
		job_init(&job, &client, tag, 0, 1);
		job.submit.result = client.data.address + RESULT_OFFSET + tag * sizeof(result);
		check_equal(job_submit(&client, &job), 0);
	}
	check_equal(context_destroy(client.fd, client.context), 0);
	check_equal(context_destroy(client.fd, client.context), -ENOENT);
	/* The jobs of the context are over, whether they had begun or not. */
	check_equal(bo_wait(&client, &client.data, OVERTAKE_MAP_READ, 0), 0);
	for (tag = 0; tag < 10; tag++) {
		memcpy(&result, client.data.data + RESULT_OFFSET + tag * sizeof(result),
		       sizeof(result));
		check_equal(result.tag, tag);
		check_equal(result.status, -ECANCELED);
	}
	check_equal(job_wait(&client, 0, NEVER, &result), -ENOENT);
	/* The cores are free for others. */
	client.context = other;
	put_delay(&client, 0, 1000);
	job_init(&job, &client, 0, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 0, NEVER, &result), 0);
	check_equal(result.status, 0);
	client_close(&client);
}

static void both_mode_computes_and_takes_its_time(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct job job;

	put_copy(&client, 0, 4096, 0, 2048);
	put_delay(&client, 1, 20 * MS);
	memset(client.data.data, 0x5a, 2048);
	job_init(&job, &client, 1, 0, 2);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(client.data.data, client.data.data + 4096, 2048));
	check(result.executed_ns > 20 * MS);
	check_equal(result.executed_ns, result.end_ns - result.start_ns);
	client_close(&client);
}

static void two_devices_are_strangers(void)
{
	struct client client = client_open(0, 254);
	struct client other = client_open(1, 254);
	struct drm_overtake_device_info info;
	struct drm_overtake_core_info core;
	struct overtake_result result;
	struct job job;

	device_query(client.fd, &info);
	check_equal(info.core_count, 2);
	check_equal(info.mode, OVERTAKE_MODE_TIMED);
	device_query(other.fd, &info);
	check_equal(info.core_count, 3);
	check_equal(info.mode, OVERTAKE_MODE_FUNCTIONAL);

	put_delay(&other, 0, 1000);
	job_init(&job, &other, 1, 0, 1);
	job.submit.core = 3;
	check_equal(job_submit(&other, &job), 0);
	check_equal(job_wait(&other, 1, NEVER, &result), 0);
	check_equal(result.core, 3);
	device_query_core(other.fd, 3, &core);
	check_equal(core.fcs_normal, 1);
	device_query_core(client.fd, 1, &core);
	check_equal(core.fcs_normal, 0);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 3;
	check_equal(job_submit(&client, &job), -EINVAL);
	client_close(&client);
	client_close(&other);
}

const struct test_case job_cases[] = {
	{ "job-delay-ends", FUNCTIONAL, delay_job_ends },
	{ "job-copy-computes", FUNCTIONAL, copy_computes },
	{ "job-result-record-is-what-wait-says", FUNCTIONAL, result_record_is_what_wait_says },
	{ "job-wait-any-collects-in-order-of-end", FUNCTIONAL, wait_any_collects_in_order_of_end },
	{ "job-many-in-flight-all-end", FUNCTIONAL, many_jobs_in_flight_all_end },
	{ "job-longer-than-a-ring-ends", FUNCTIONAL, job_longer_than_a_ring_ends },
	{ "job-scratch-is-zeroed", FUNCTIONAL, scratch_is_zeroed },
	{ "job-takes-its-modelled-time", TIMED, timed_job_takes_its_modelled_time },
	{ "job-wait-deadline-passes-and-job-stays", TIMED, wait_deadline_passes_and_job_stays },
	{ "job-any-core-spreads-jobs", TIMED, any_core_spreads_jobs },
	{ "job-unmap-under-it-is-harmless", TIMED, unmap_under_a_job_is_harmless },
	{ "job-bo-wait-knows-readers-from-writers", TIMED, bo_wait_knows_readers_from_writers },
	{ "job-deadline-ends-it-while-it-waits", TIMED, deadline_ends_a_waiting_job },
	{ "job-destroyed-context-ends-it-at-once", TIMED, destroy_ends_a_context_at_once },
	{ "job-default-timeout-ends-it", TIMED " queue_timeout_ms=100",
	  default_timeout_ends_a_waiting_job },
	{ "job-no-deadline-is-beyond-the-maximum", TIMED " deadline_max_ms=100",
	  no_deadline_is_beyond_the_maximum },
	{ "job-both-mode-computes-and-takes-its-time", BOTH,
	  both_mode_computes_and_takes_its_time },
	{ "job-two-devices-are-strangers",
	  "devices=2 cores=2,3 mode=timed,functional profile=ideal", two_devices_are_strangers },
	{ 0 },
};
