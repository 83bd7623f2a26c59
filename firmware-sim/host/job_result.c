// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The result that a client gets for its job, made from the firmware's data of the job. */
#include "host/job_result.h"

s32 ovt_job_error(const struct ovt_fw_job *job, s32 cancel_error, bool gone)
{
	switch (job->status) {
	case OVT_JOB_OK:
		return 0;
	case OVT_JOB_CANCELLED:
	case OVT_JOB_STOPPED:
		if (cancel_error)
			return cancel_error;
		return gone ? -ENODEV : -ECANCELED;
	case OVT_JOB_FAULTED:
		return -ENOEXEC;
	case OVT_JOB_HUNG:
		return -ETIMEDOUT;
	case OVT_JOB_RESET:
		break;
	}
	/* A device that goes away aborts its cores with the fault of a reset. */
	return gone ? -ENODEV : -EIO;
}

struct overtake_result ovt_job_result(const struct ovt_fw_job *job, u64 tag, s32 error)
{
	return (struct overtake_result){
		.tag = tag,
		.queued_ns = job->arrival_ns,
		.start_ns = job->start_ns,
		.end_ns = job->end_ns,
		.executed_ns = job->executed_ns,
		.preemptions = job->preemptions,
		.fcs_done = job->done,
		.core = job->placed_core,
		.status = error,
		.fault = job->fault,
		.fault_insn = job->fault_insn,
	};
}

struct overtake_group_record ovt_group_record(const struct ovt_fw_group *group)
{
	return (struct overtake_group_record){
		.alone_ns = group->alone_ns,
		.part_count = group->part_count,
		.part_bytes = sizeof(struct overtake_part_record),
	};
}

struct overtake_part_record ovt_part_record(const struct ovt_fw_part *part)
{
	return (struct overtake_part_record){
		.start_ns = part->start_ns,
		.end_ns = part->end_ns,
		.executed_ns = part->executed_ns,
		.core = part->placed_core,
		.fcs_done = part->done,
		.preemptions = part->preemptions,
	};
}
