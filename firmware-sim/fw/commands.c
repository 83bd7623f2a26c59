// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What the host asks for: a command in the queue each, which fw.c takes in its instant. */
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
	if (job->core != OVT_CORE_ANY)
		ovt_fw_state(fw, job->core)->submitted += job->fc_count;
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
