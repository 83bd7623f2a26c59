/* SPDX-License-Identifier: GPL-2.0-only */
/* The io_uring backend.  See overtake_uring.c. */
#ifndef OVERTAKE_URING_H
#define OVERTAKE_URING_H

struct io_uring_cmd;

int overtake_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif
