/* SPDX-License-Identifier: GPL-2.0-only */
/* The io_uring backend.  See overtake_uring.c. */
#ifndef OVERTAKE_URING_H
#define OVERTAKE_URING_H

#include "overtake_job.h"

int overtake_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

/* Completes @cmd, taken from @job, whose result is final. */
void overtake_uring_ended(struct overtake_job *job, struct io_uring_cmd *cmd);

#endif
