// SPDX-License-Identifier: MIT
/* Invalid groups: each is refused, by ioctl and by ring, and leaves everything as it was. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "group.h"
#include "ring.h"
#include "snapshot.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define MS		1000000ull
#define KERNEL		0xffff888000000000ull

static struct overtake_extension_placement placement;

#define SPOIL(name, statement) \
	static void name(struct group *group, const struct client *client) \
	{ \
		(void)client; \
		statement; \
	}

static void place_too(struct group *group, bool first)
{
	placement = (struct overtake_extension_placement){
		.base = { .type = OVERTAKE_EXTENSION_PLACEMENT }, .cores = 3,
	};
	if (first) {
		placement.base.next = (uintptr_t)&group->extension;
		group->job.submit.extensions = (uintptr_t)&placement;
	} else {
		group->extension.base.next = (uintptr_t)&placement;
	}
}

/* Places the structure so that its first 16 bytes end at the end of memory. */
static void cut_off(struct group *group)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static char *pages;

	if (!pages) {
		pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(pages != MAP_FAILED);
		check_equal(mprotect(pages + page, page, PROT_NONE), 0);
	}
	memcpy(pages + page - 16, &group->extension, 16);
	group->job.submit.extensions = (uintptr_t)pages + page - 16;
}

SPOIL(type_unknown, group->extension.base.type = OVERTAKE_EXTENSION_PARTS + 1)
SPOIL(type_absurd, group->extension.base.type = ~0u)
SPOIL(pad, group->extension.base.pad = 1)
SPOIL(twice, group->extension.base.next = (uintptr_t)&group->extension)
SPOIL(placed_before, place_too(group, true))
SPOIL(placed_behind, place_too(group, false))
SPOIL(extension_cut_off, cut_off(group))
SPOIL(next_absurd, group->extension.base.next = KERNEL)
SPOIL(parts_at_null, group->extension.parts = 0)
SPOIL(parts_in_kernel, group->extension.parts = KERNEL)
SPOIL(stages_at_null, group->extension.stages = 0)
SPOIL(stages_in_kernel, group->extension.stages = KERNEL)
SPOIL(no_part, group->extension.part_count = 0)
SPOIL(three_parts, group->extension.part_count = 3)
SPOIL(parts_65, group->extension.part_count = OVERTAKE_MAX_CORES + 1)
SPOIL(parts_absurd, group->extension.part_count = ~0u)
SPOIL(no_stage, group->extension.stage_count = 0)
SPOIL(stage_too_many, group->extension.stage_count = OVERTAKE_MAX_STAGES + 1)
SPOIL(stages_absurd, group->extension.stage_count = ~0u)
SPOIL(record_unaligned, group->extension.record = client->data.address + 4)
SPOIL(record_unmapped, group->extension.record = 8)
SPOIL(record_absurd, group->extension.record = ~7ull)
SPOIL(record_read_only, group->extension.record = client->program.address)
SPOIL(record_leaves_buffer,
      group->extension.record = client->data.address + client->data.size -
				sizeof(struct group_record) + 8)
SPOIL(job_core, group->job.submit.core = 1)
SPOIL(part_empty, group->parts[1].fc_count = 0)
SPOIL(sum_less, group->parts[1].fc_count = 1)
SPOIL(sum_more, group->parts[1].fc_count = 3)
SPOIL(sum_wraps, group->parts[0].fc_count = ~0u; group->parts[1].fc_count = 5)
SPOIL(part_core_absent, group->parts[1].core = 3)
SPOIL(part_core_absurd, group->parts[1].core = ~0u)
SPOIL(part_core_twice, group->parts[1].core = 1)
SPOIL(first_core_unnamed, group->parts[0].core = OVERTAKE_CORE_ANY)
SPOIL(last_core_unnamed, group->parts[1].core = OVERTAKE_CORE_ANY)
SPOIL(stage_falls, group->stages[0] = 2; group->stages[1] = 0)
SPOIL(stage_behind, group->stages[1] = 3)
SPOIL(stage_absurd, group->stages[1] = ~0u)
SPOIL(stage_empty, group->stages[3] = 0)
SPOIL(last_stage_empty, group->extension.stage_count = 4)

static const struct {
	const char *what;
	int error;
	void (*spoil)(struct group *group, const struct client *client);
} rows[] = {
	{ "an unknown type", EINVAL, type_unknown },
	{ "the greatest type", EINVAL, type_absurd },
	{ "padding", EINVAL, pad },
	{ "the extension twice", EINVAL, twice },
	{ "a placement before it", EINVAL, placed_before },
	{ "a placement behind it", EINVAL, placed_behind },
	{ "an extension that ends where memory does", EFAULT, extension_cut_off },
	{ "a next extension in the kernel", EFAULT, next_absurd },
	{ "parts at address 0", EFAULT, parts_at_null },
	{ "parts at a kernel address", EFAULT, parts_in_kernel },
	{ "stages at address 0", EFAULT, stages_at_null },
	{ "stages at a kernel address", EFAULT, stages_in_kernel },
	{ "no part", EINVAL, no_part },
	{ "more parts than cores", EINVAL, three_parts },
	{ "65 parts", EINVAL, parts_65 },
	{ "as many parts as the field holds", EINVAL, parts_absurd },
	{ "no stage", EINVAL, no_stage },
	{ "a stage too many", E2BIG, stage_too_many },
	{ "as many stages as the field holds", E2BIG, stages_absurd },
	{ "a record that is not aligned", EINVAL, record_unaligned },
	{ "a record nowhere", ENOENT, record_unmapped },
	{ "a record at the last address", ENOENT, record_absurd },
	{ "a record in read-only memory", EACCES, record_read_only },
	{ "a record that leaves its buffer", ENOENT, record_leaves_buffer },
	{ "a core of the job", EINVAL, job_core },
	{ "a part without FCs", EINVAL, part_empty },
	{ "parts with fewer FCs than the job", EINVAL, sum_less },
	{ "parts with more FCs than the job", EINVAL, sum_more },
	{ "parts whose sum wraps around", EINVAL, sum_wraps },
	{ "a part's core that the device has not", EINVAL, part_core_absent },
	{ "the greatest core of a part", EINVAL, part_core_absurd },
	{ "two parts on one core", EINVAL, part_core_twice },
	{ "a first part that names no core", EINVAL, first_core_unnamed },
	{ "a last part that names no core", EINVAL, last_core_unnamed },
	{ "a stage less than the one before", EINVAL, stage_falls },
	{ "a stage that the group has not", EINVAL, stage_behind },
	{ "the greatest stage", EINVAL, stage_absurd },
	{ "a stage without FCs", EINVAL, stage_empty },
	{ "a last stage without FCs", EINVAL, last_stage_empty },
};

static int submit_by_ioctl(struct io_uring *ring, const struct client *client, struct group *group)
{
	(void)ring;
	return job_submit(client, &group->job);
}

static int submit_by_ring(struct io_uring *ring, const struct client *client, struct group *group)
{
	ring_submit_job(ring, client, &group->job);
	return ring_reap(ring).status;
}

/* A valid group waits meanwhile, and is not affected. */
static void refuse_all(int (*submit)(struct io_uring *, const struct client *, struct group *))
{
	struct client client = client_open_at_zero();
	struct snapshot before, after;
	struct overtake_result result;
	struct io_uring ring;
	struct group group;
	size_t row;
	int ret;

	ring_open_default(&ring);
	for (row = 0; row < GROUP_FCS; row++)
		put_delay(&client, (uint32_t)row, MS);
	group_init(&group, &client, 1000, 0);
	check_equal(job_submit(&client, &group.job), 0);
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		group_init(&group, &client, 1, 0);
		rows[row].spoil(&group, &client);
		take_snapshot(&client, &before);
		ret = submit(&ring, &client, &group);
		check_message(ret == -rows[row].error, "%s: %s, expected %s", rows[row].what,
			      strerror(-ret), strerror(rows[row].error));
		take_snapshot(&client, &after);
		compare_snapshots(&before, &after);
	}
	check_equal(advance_clock(0, 10 * MS), 0);
	check_equal(job_wait(&client, 1000, 0, &result), 0);
	check_equal(result.status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void refused_by_ioctl(void)
{
	refuse_all(submit_by_ioctl);
}

static void refused_by_ring(void)
{
	refuse_all(submit_by_ring);
}

/* A group with too many stages counts as refused by the limit of stages. */
static void the_limit_counts_refusals(void)
{
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];
	struct client client = client_open_at_zero();
	struct group group;

	group_init(&group, &client, 1, 0);
	stage_too_many(&group, &client);
	check_equal(job_submit(&client, &group.job), -E2BIG);
	query_limits(client.fd, limits);
	check_equal(limits[OVERTAKE_LIMIT_STAGES].value, OVERTAKE_MAX_STAGES);
	check_equal(limits[OVERTAKE_LIMIT_STAGES].refused, 1);
	client_close(&client);
}

const struct test_case group_refusal_cases[] = {
	{ "group-refused-ioctl", MANUAL, refused_by_ioctl },
	{ "group-refused-ring", MANUAL, refused_by_ring },
	{ "group-limit", MANUAL, the_limit_counts_refusals },
	{ 0 },
};
