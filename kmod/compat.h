/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel interfaces that moved.  The rest of the driver calls what is here and has no
 * version check of its own.  Written for Linux 6.12; a later kernel adds its variant here.
 */
#ifndef OVERTAKE_COMPAT_H
#define OVERTAKE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>

/* @result becomes the CQE's res, @extra its res2 on rings with 32-byte CQEs. */
static inline void overtake_uring_done(struct io_uring_cmd *cmd, s32 result, u64 extra,
				       unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, result, extra, issue_flags);
}

static inline const void *overtake_uring_payload(const struct io_uring_cmd *cmd)
{
	return io_uring_sqe_cmd(cmd->sqe);
}

static inline void overtake_timer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = function;
}

/* The namespace becomes a string in 6.13. */
#define OVERTAKE_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)

/* struct drm_driver has it until 6.13. */
#define OVERTAKE_DRIVER_DATE	.date = "20261121",

#endif
