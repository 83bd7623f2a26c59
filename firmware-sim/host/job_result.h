/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The result that a client gets for a job that has ended: the same from every host. */
#ifndef OVT_HOST_JOB_RESULT_H
#define OVT_HOST_JOB_RESULT_H

#include <ovt_port.h>
#include "fw/fw.h"
#include "overtake_accel.h"

/*
 * ovt_job_error - the status of a job that the firmware has let go of, 0 or a negative errno
 * @cancel_error: why the host cancelled it; 0 if it did not: then it was its context that died
 * @gone: the device is going away
 */
s32 ovt_job_error(const struct ovt_fw_job *job, s32 cancel_error, bool gone);

/*
 * ovt_job_result - the result record
 * @error: ovt_job_error(), or why a job ended that the firmware never had
 */
struct overtake_result ovt_job_result(const struct ovt_fw_job *job, u64 tag, s32 error);

/* The record of a group that the firmware has let go of. */
struct overtake_group_record ovt_group_record(const struct ovt_fw_group *group);

/* And of a part of it. */
struct overtake_part_record ovt_part_record(const struct ovt_fw_part *part);

#endif
