/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The result that a client gets for a job that has ended: the same from every host. */
#ifndef OVT_HOST_JOB_RESULT_H
#define OVT_HOST_JOB_RESULT_H

#include <ovt_port.h>
#include "fw/fw.h"
#include "overtake_accel.h"

/*
 * ovt_job_error - the status of a job that has ended in the firmware, 0 or a negative errno
 * @cancel_error: error with which the host cancelled it; 0 if the host did not cancel it.  A
 *	cancelled job with 0 ended because its context died (-ECANCELED) or because the device is
 *	going away (-ENODEV)
 * @gone: the device is going away
 */
s32 ovt_job_error(const struct ovt_fw_job *job, s32 cancel_error, bool gone);

/*
 * ovt_job_result - the result record
 * @error: ovt_job_error(), or the error of a job that the firmware never had
 */
struct overtake_result ovt_job_result(const struct ovt_fw_job *job, u64 tag, s32 error);

/* Returns the record of a group that has ended in the firmware. */
struct overtake_group_record ovt_group_record(const struct ovt_fw_group *group);

/* Returns the record of a part of such a group. */
struct overtake_part_record ovt_part_record(const struct ovt_fw_part *part);

#endif
