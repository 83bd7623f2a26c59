// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Quota of a fair device: the time of each second of device time for which a context may hold cores
 * with NORMAL jobs.
 *
 * A context's window begins when an FC of its NORMAL jobs starts, or ends, while no window is open.
 * It is OVT_QUOTA_WINDOW_NS long.  Each such FC counts when it ends, on whatever core, for the time
 * for which it held its core.  When the sum reaches quota_ns, the context rests: its turns leave
 * the circles of all cores until the window ends.  No FC is cut; committed FCs run and count.
 *
 * Time beyond quota_ns in a window counts in the next one.  If this time alone is quota_ns or
 * more, the next window begins at once and the context rests on.  So in the long run it gets at
 * most quota_ns of each second, however long its FCs are.
 *
 * Windows end after the FCs that end in the same instant, and before its commands.  When a window
 * ends, the turns of a context that has rested join the ends of the circles.  Windows that end in
 * one instant also began in one.  They end in the order in which they began: at ends of FCs, by the
 * number of the core, at ends of windows, and at choices, by the number of the core.
 *
 * All windows have one length, so a list in the order of their beginnings is also in the order of
 * their ends, and no search is needed.  The end of a window costs as much as the FC that opened it,
 * or, if the context has rested, a step for each core.
 */
#include "fw/internal.h"

static struct ovt_fw_context *first_window(const struct ovt_fw *fw)
{
	return ovt_container_of(fw->windows.next, struct ovt_fw_context, quota.window);
}

static void open_window(struct ovt_fw *fw, struct ovt_fw_quota *quota)
{
	quota->end_ns = fw->now_ns + OVT_QUOTA_WINDOW_NS;
	ovt_list_append(&fw->windows, &quota->window);
}

void ovt_quota_start(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	if (fw->config.quota_ns && ovt_list_empty(&context->quota.window))
		open_window(fw, &context->quota);
}

void ovt_quota_charge(struct ovt_fw *fw, struct ovt_fw_context *context, u64 duration_ns)
{
	struct ovt_fw_quota *quota = &context->quota;

	if (!fw->config.quota_ns)
		return;
	ovt_quota_start(fw, context);
	quota->used_ns += duration_ns;
	if (quota->resting || quota->used_ns < fw->config.quota_ns)
		return;
	quota->resting = true;
	quota->rests++;
	ovt_fair_leave(fw, context);
}

static void end_window(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	struct ovt_fw_quota *quota = &context->quota;
	u64 quota_ns = fw->config.quota_ns;

	ovt_list_remove(&quota->window);
	quota->used_ns = quota->used_ns > quota_ns ? quota->used_ns - quota_ns : 0;
	if (quota->used_ns >= quota_ns) {
		open_window(fw, quota);
	} else if (quota->resting) {
		quota->resting = false;
		ovt_fair_return(fw, context);
	}
}

u32 ovt_quota_end_windows(struct ovt_fw *fw)
{
	u32 count = 0;

	for (; ovt_quota_next(fw) <= fw->now_ns; count++)
		end_window(fw, first_window(fw));
	return count;
}

u64 ovt_quota_next(const struct ovt_fw *fw)
{
	return ovt_list_empty(&fw->windows) ? OVT_TIME_NEVER : first_window(fw)->quota.end_ns;
}

void ovt_quota_forget(struct ovt_fw_context *context)
{
	ovt_list_remove(&context->quota.window);
}
