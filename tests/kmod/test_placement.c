// SPDX-License-Identifier: MIT
/* A submission that gives the device a choice of cores, and reports the chosen core. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define MS		1000000ull

struct placed {
	struct job job;
	struct overtake_extension_placement placement;
};

static void placed_init(struct placed *placed, const struct client *client, uint64_t tag,
			uint64_t cores)
{
	job_init(&placed->job, client, tag, 0, 1);
	memset(&placed->placement, 0, sizeof(placed->placement));
	placed->placement.base.type = OVERTAKE_EXTENSION_PLACEMENT;
	placed->placement.cores = cores;
	placed->job.submit.extensions = (uintptr_t)&placed->placement;
}

static uint32_t core_of(const struct client *client, uint64_t tag, uint64_t cores)
{
	struct placed placed;

	placed_init(&placed, client, tag, cores);
	check_equal(job_submit(client, &placed.job), 0);
	return placed.placement.core;
}

static void goes_where_the_fewest_fcs_are(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	uint64_t tag;

	put_delay(&client, 0, MS);
	check_equal(core_of(&client, 1, 0x3), 1);
	check_equal(core_of(&client, 2, 0x3), 2);
	check_equal(core_of(&client, 3, 0x2), 2);
	check_equal(core_of(&client, 4, 0x3), 1);
	check_equal(core_of(&client, 5, 0x1), 1);
	check_equal(core_of(&client, 6, 0x3), 2);
	check_equal(advance_clock(0, 100 * MS), 0);
	for (tag = 1; tag <= 6; tag++) {
		check_equal(job_wait(&client, tag, 0, &result), 0);
		check_equal(result.core, tag == 1 || tag == 4 || tag == 5 ? 1 : 2);
	}
	client_close(&client);
}

static void refuses_what_is_no_choice(void)
{
	static const struct {
		uint64_t cores;
		uint32_t asked, core, pad;
	} rows[] = {
		{ 0, 0, 0, 0 },		/* no core */
		{ 0x4, 0, 0, 0 },	/* a core that the device does not have */
		{ 0x7, 0, 0, 0 },
		{ 0x3, 1, 0, 0 },	/* and also a core */
		{ 0x3, 0, 1, 0 },	/* the answer is not 0 */
		{ 0x3, 0, 0, 1 },
	};
	struct overtake_extension_model model = {
		.base = { .type = OVERTAKE_EXTENSION_MODEL, .next = (uintptr_t)&model },
	};
	struct client client = client_open(0, 254);
	struct placed placed;
	size_t row;

	put_delay(&client, 0, MS);
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		placed_init(&placed, &client, 1, rows[row].cores);
		placed.job.submit.core = rows[row].asked;
		placed.placement.core = rows[row].core;
		placed.placement.pad = rows[row].pad;
		check_equal(job_submit(&client, &placed.job), -EINVAL);
	}
	placed_init(&placed, &client, 1, 0x3);
	placed.placement.base.next = (uintptr_t)&placed.placement;
	check_equal(job_submit(&client, &placed.job), -EINVAL); /* twice */
	placed_init(&placed, &client, 1, 0x3);
	placed.placement.base.type = OVERTAKE_EXTENSION_PARTS + 1;
	check_equal(job_submit(&client, &placed.job), -EINVAL);
	placed_init(&placed, &client, 1, 0x3);
	placed.placement.base.next = (uintptr_t)&model;
	check_equal(job_submit(&client, &placed.job), -EINVAL); /* a model twice */
	model.base.next = 8;
	check_equal(job_submit(&client, &placed.job), -EFAULT);
	model.base.next = 0;
	check_equal(job_submit(&client, &placed.job), 0);
	check_equal(placed.placement.core, 1);
	client_close(&client);
}

/* If the answer cannot be stored, the job is refused before it runs. */
static void refuses_an_answer_without_a_place(void)
{
	struct client client = client_open(0, 254);
	long page = sysconf(_SC_PAGESIZE);
	struct overtake_extension_placement *placement;
	struct overtake_result result;
	struct placed placed;

	put_delay(&client, 0, MS);
	placed_init(&placed, &client, 1, 0x3);
	placement = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(placement != MAP_FAILED);
	check_equal(mprotect((char *)placement + page, (size_t)page, PROT_NONE), 0);
	*placement = placed.placement;
	check_equal(mprotect(placement, (size_t)page, PROT_READ), 0);
	placed.job.submit.extensions = (uintptr_t)placement;
	check_equal(job_submit(&client, &placed.job), -EFAULT);
	check_equal(job_wait(&client, 1, 0, &result), -ENOENT);
	/* The structure ends at the end of the memory. */
	placed.job.submit.extensions = (uintptr_t)placement + (uintptr_t)page - 16;
	check_equal(mprotect(placement, (size_t)page, PROT_READ | PROT_WRITE), 0);
	memcpy((char *)placement + page - 16, &placed.placement, 16);
	check_equal(job_submit(&client, &placed.job), -EFAULT);
	munmap(placement, 2 * (size_t)page);
	client_close(&client);
}

const struct test_case placement_cases[] = {
	{ "placement-fewest-fcs", MANUAL, goes_where_the_fewest_fcs_are },
	{ "placement-no-choice-is-refused", MANUAL, refuses_what_is_no_choice },
	{ "placement-answer-without-a-place", MANUAL, refuses_an_answer_without_a_place },
	{ 0 },
};
