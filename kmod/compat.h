/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel interfaces that changed between Linux 6.12 and 7.3.  The rest of the driver calls the
 * functions below and knows one form only.  probe.sh compiles the forms to find out which one the
 * kernel's headers have.  Each OVERTAKE_LATER_* macro that is not defined stands for the form of
 * 6.12.
 */
#ifndef OVERTAKE_COMPAT_H
#define OVERTAKE_COMPAT_H

#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>

#include <drm/drm_gem.h>

#include "overtake_features.h"

/* @result becomes the CQE's res, @extra its res2 on rings with 32-byte CQEs. */
static inline void overtake_uring_done(struct io_uring_cmd *cmd, s32 result, u64 extra,
				       unsigned int issue_flags)
{
#ifdef OVERTAKE_LATER_URING_DONE
	io_uring_cmd_done32(cmd, result, extra, issue_flags);
#else
	io_uring_cmd_done(cmd, result, extra, issue_flags);
#endif
}

/* Returns the 80 bytes of a command in a 128-byte SQE. */
static inline const void *overtake_uring_payload(const struct io_uring_cmd *cmd)
{
#ifdef OVERTAKE_LATER_URING_SQE_CMD
	return io_uring_sqe128_cmd(cmd->sqe, u64);
#else
	return io_uring_sqe_cmd(cmd->sqe);
#endif
}

/*
 * Whether the ring polls for completions (IORING_SETUP_IOPOLL), which is for drivers that answer
 * such polls.  Linux 6.12 itself refuses commands on such a ring; 7.3 takes them as on any other.
 */
static inline bool overtake_uring_is_polled(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->ctx->flags & IORING_SETUP_IOPOLL;
}

/*
 * Defines @name, to be given to io_uring_cmd_complete_in_task(): it calls @function, which takes
 * a command and its issue flags.
 */
#ifdef OVERTAKE_LATER_URING_TASK_WORK
#define OVERTAKE_URING_TASK_WORK(name, function)				\
	static void name(struct io_tw_req request, io_tw_token_t token)		\
	{									\
		function(io_uring_cmd_from_tw(request),				\
			 IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);			\
	}
#else
#define OVERTAKE_URING_TASK_WORK(name, function)				\
	static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)	\
	{									\
		function(cmd, issue_flags);					\
	}
#endif

static inline void overtake_timer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *))
{
#ifdef OVERTAKE_LATER_TIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = function;
#endif
}

/* Takes the lock of the reservation object by itself: the caller does not hold it. */
static inline int overtake_gem_vmap(struct drm_gem_object *object, struct iosys_map *map)
{
#ifdef OVERTAKE_LATER_GEM_VMAP
	return drm_gem_vmap(object, map);
#else
	return drm_gem_vmap_unlocked(object, map);
#endif
}

static inline void overtake_gem_vunmap(struct drm_gem_object *object, struct iosys_map *map)
{
#ifdef OVERTAKE_LATER_GEM_VMAP
	drm_gem_vunmap(object, map);
#else
	drm_gem_vunmap_unlocked(object, map);
#endif
}

/*
 * Returns the ops of @fence, for a comparison only: where fence->ops is an RCU pointer, it may
 * change to NULL.
 */
static inline const void *overtake_fence_ops(const struct dma_fence *fence)
{
	return (__force const void *)READ_ONCE(fence->ops);
}

#ifdef OVERTAKE_LATER_IMPORT_NS
#define OVERTAKE_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#else
#define OVERTAKE_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#endif

#ifdef OVERTAKE_LATER_DRIVER_DATE
#define OVERTAKE_DRIVER_DATE
#else
#define OVERTAKE_DRIVER_DATE	.date = "20261121",
#endif

#endif
