// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "group_host.h"

static void add_fc(struct mock_group *group, u32 part, u32 stage, u64 duration)
{
	struct ovt_fw_part *of = &group->parts[part];
	u32 index = of->fc_count++;
	u32 insn = group->job.fw.fc_count++;

	assert_true(of->fc_count <= GROUP_FCS);
	group->job.program[insn].opcode = OVERTAKE_OP_DELAY;
	group->job.program[insn].delay_cycles = (u32)duration;
	group->fcs[part][index] = (struct ovt_fc){ insn, 1 };
	group->stages[part][index] = stage;
	group->stage_fcs[stage]++;
}

/* Reads the text of @part, and returns the text after it. */
static const char *read_part(struct mock_group *group, u32 part, const char *text)
{
	char *end;
	u32 stage = 0;

	group->parts[part].fcs = group->fcs[part];
	group->parts[part].stages = group->stages[part];
	group->parts[part].fc_count = 0;
	group->parts[part].core = (u32)strtoul(text, &end, 10);
	assert_int_equal(*end, ':');
	for (text = end + 1; *text && *text != ';';) {
		if (*text == ' ') {
			text++;
		} else if (*text == '|') {
			text++;
			stage++;
		} else {
			add_fc(group, part, stage, strtoull(text, &end, 10));
			text = end;
		}
	}
	group->fw.stage_count = stage + 1;
	return *text ? text + 1 : text;
}

struct mock_group *group_new(struct mock *mock, char name, u32 priority, const char *text)
{
	struct mock_group *group = calloc(1, sizeof(*group));
	u32 part;

	memset(&group->fw, USED, sizeof(group->fw));
	memset(group->parts, USED, sizeof(group->parts));
	group->job.name = name;
	group->job.program = calloc((size_t)MAX_CORES * GROUP_FCS, sizeof(*group->job.program));
	for (part = 0; *text; part++)
		text = read_part(group, part, text);
	group->fw.parts = group->parts;
	group->fw.part_count = part;
	group->fw.stage_fcs = group->stage_fcs;
	group->job.fw.group = &group->fw;
	group->job.fw.context = &mock->context;
	group->job.fw.priority = priority;
	group->job.fw.regions[OVERTAKE_REGION_PROGRAM] = (struct ovt_region){
		.base = (u8 *)group->job.program,
		.length = group->job.fw.fc_count * sizeof(*group->job.program),
		.flags = OVT_REGION_READ,
	};
	group->job.next = mock->jobs;
	mock->jobs = &group->job;
	return group;
}

struct mock_group *group_submitted(struct mock *mock, char name, u32 priority, const char *text,
				   u64 at)
{
	struct mock_group *group = group_new(mock, name, priority, text);

	submit(mock, &group->job, at);
	return group;
}

void set_sync(struct mock *mock, u64 cycles)
{
	static struct ovt_profile profile;

	profile = *ovt_profile_find("ideal");
	profile.sync_cycles = cycles;
	ovt_core_set_profile(&mock->cores[0], &profile, mock->cores[0].watchdog_cycles);
}

void expect_starts(const struct mock *mock, const char *expected)
{
	char text[8192];
	size_t used = 0;
	u32 index;

	text[0] = 0;
	for (index = 0; index < mock->trace_length; index++) {
		const struct started *fc = &mock->trace[index];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u:%c%u@%llu",
					 index ? " " : "", fc->core, fc->job, fc->index,
					 (unsigned long long)fc->start);
	}
	assert_string_equal(text, expected);
}

void expect_nothing_left(const struct mock *mock)
{
	const struct mock_job *job;
	u32 core, ring;

	for (job = mock->jobs; job; job = job->next)
		assert_int_equal(job->ended, 1);
	assert_true(ovt_list_empty(&mock->fw.openings));
	for (core = 0; core < mock->fw.config.core_count; core++) {
		const struct ovt_fw_core *state = &mock->states[core];

		assert_null(state->running);
		assert_int_equal(state->unfinished, 0);
		assert_int_equal(state->submitted, 0);
		assert_int_equal(state->held, 0);
		assert_int_equal(state->deferred, 0);
		assert_true(ovt_tree_empty(&state->ready));
		for (ring = 0; ring < OVT_RING_COUNT; ring++) {
			assert_int_equal(state->waiting[ring], 0);
			assert_true(ovt_list_empty(&state->parts[ring]));
		}
	}
}
