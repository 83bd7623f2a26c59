// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Requests of the host: each is a command in the queue, which takes effect at its instant. */
#include "fw/internal.h"

static void queue_command(struct ovt_fw *fw, enum ovt_command_type type, u64 now_ns,
			  void *object, u32 core, u32 limit)
{
	struct ovt_command command = {
		.type = type,
		.core = core,
		.limit = limit,
		.time_ns = now_ns,
		.object = object,
	};

	ovt_fw_push_command(fw, &command);
}

void ovt_fw_submit(struct ovt_fw *fw, struct ovt_fw_job *job, u64 now_ns)
{
	u32 i;

	if (!job->group && job->core != OVT_CORE_ANY)
		ovt_fw_state(fw, job->core)->submitted += job->fc_count;
	for (i = 0; job->group && i < job->group->part_count; i++) {
		const struct ovt_fw_part *part = &job->group->parts[i];

		if (part->core != OVT_CORE_ANY)
			ovt_fw_state(fw, part->core)->submitted += part->fc_count;
	}
	queue_command(fw, OVT_COMMAND_SUBMIT, now_ns, job, 0, 0);
}

void ovt_fw_cancel(struct ovt_fw *fw, struct ovt_fw_job *job, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_CANCEL, now_ns, job, 0, 0);
}

void ovt_fw_kill_context(struct ovt_fw *fw, struct ovt_fw_context *context, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_KILL_CONTEXT, now_ns, context, 0, 0);
}

void ovt_fw_reset(struct ovt_fw *fw, u32 core, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_RESET, now_ns, NULL, core, 0);
}

void ovt_fw_limit(struct ovt_fw *fw, u32 core, u32 limit, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_LIMIT, now_ns, NULL, core, limit);
}

void ovt_fw_normal_floor(struct ovt_fw *fw, u32 core, u32 floor, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_NORMAL_FLOOR, now_ns, NULL, core, floor);
}

void ovt_fw_hold(struct ovt_fw *fw, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_HOLD, now_ns, NULL, 0, 0);
}

void ovt_fw_release(struct ovt_fw *fw, u64 now_ns)
{
	queue_command(fw, OVT_COMMAND_RELEASE, now_ns, NULL, 0, 0);
}

static void reset_core(struct ovt_fw *fw, u32 core)
{
	ovt_fw_state(fw, core)->resets++;
	ovt_fw_abort(fw, core, OVERTAKE_FAULT_RESET);
}

static void cancel_command(struct ovt_fw *fw, struct ovt_fw_job *job)
{
	struct ovt_event event = {
		.type = OVT_EVENT_CANCELLED,
		.core = job->placed_core,
		.time_ns = fw->now_ns,
		.job = job,
	};

	ovt_job_cancel(fw, job);
	ovt_fw_push_event(fw, &event);
}

static bool keeps_its_slot(const struct ovt_command *command)
{
	return command->type == OVT_COMMAND_SUBMIT &&
	       ((const struct ovt_fw_job *)command->object)->keeps_slot;
}

bool ovt_fw_run_command(struct ovt_fw *fw, const struct ovt_command *command)
{
	bool kept = keeps_its_slot(command);

	switch (command->type) {
	case OVT_COMMAND_SUBMIT:
		ovt_job_arrive(fw, command->object);
		break;
	case OVT_COMMAND_CANCEL:
		cancel_command(fw, command->object);
		break;
	case OVT_COMMAND_KILL_CONTEXT:
		if (!ovt_context_kill(fw, command->object))
			return false;
		break;
	case OVT_COMMAND_RESET:
		reset_core(fw, command->core);
		break;
	case OVT_COMMAND_LIMIT:
		ovt_core_write(ovt_fw_hw(fw, command->core), OVT_REG_LIMIT, command->limit);
		break;
	case OVT_COMMAND_NORMAL_FLOOR:
		ovt_core_write(ovt_fw_hw(fw, command->core), OVT_REG_NORMAL_FLOOR, command->limit);
		break;
	case OVT_COMMAND_HOLD:
		fw->held = true;
		break;
	case OVT_COMMAND_RELEASE:
		fw->held = false;
		break;
	}
	ovt_fw_consume_command(fw);
	fw->commands_reserved += kept;
	return true;
}
