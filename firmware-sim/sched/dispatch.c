// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may go.
 *
 * Priority 255 always may.  Another task that is not dispatched needs room below the task limit,
 * and while it waits for that it holds nobody up.  If the limit is shared, only a process that
 * holds none of its places may take one that is kept.  A task that begins with a CPU segment needs
 * nothing else.  A task that begins with a BPU segment needs a free slot on its core, and no
 * better placed task may be waiting for one there: such a task bars its core, or every core
 * if it would take any.
 *
 * A slot is free when fewer than the configured number of its holders stand in the way, and a
 * holder in a gap does not if the policy lets the task be inserted.
 */
#include "sched/internal.h"

/* A look for the next task of a queue. */
struct look {
	struct ovt_sched *sched;
	struct ovt_sched_queue *queue;
	u64 now;
	bool full;			/* the task limit is reached */
	bool rest_kept;			/* as many of its places as are left are kept */
	struct ovt_sched_task *best;	/* so far; NULL: none */
	u64 cores;			/* of @best, if it begins with a BPU segment */
};

static u64 all_cores(const struct ovt_sched *sched)
{
	return ~0ull >> (OVT_SCHED_MAX_CORES - sched->core_count);
}

/* A slot is free if fewer holders than there are slots stand in the way. */
static bool slot_free(const struct look *look, const struct ovt_sched_task *task, u32 number)
{
	struct ovt_sched_queue_core *core = &look->queue->cores[number - 1];
	u32 slots = look->sched->settings.slots;

	look->sched->steps++;
	return core->holders < slots ||
	       core->holders - ovt_sched_gaps_open_to(look->sched, &core->gaps, task->bpu_time,
						      look->now) < slots;
}

static bool is_better(const struct look *look, const struct ovt_sched_task *task,
		      const struct ovt_sched_task *than)
{
	return task && (!than || ovt_sched_goes_before(look->sched, task, than));
}

static void may_go(struct look *look, struct ovt_sched_task *task, u64 cores)
{
	if (!is_better(look, task, look->best))
		return;
	look->best = task;
	look->cores = cores;
}

/* The best placed task in @lines for which there is room below the task limit; NULL: none. */
static struct ovt_sched_task *first_with_room(const struct look *look,
					      const struct ovt_sched_lines *lines)
{
	struct ovt_sched_task *more =
		look->rest_kept ? NULL : ovt_sched_first_in_line(&lines->more);
	struct ovt_sched_task *first_place =
		look->full ? NULL : ovt_sched_first_in_line(&lines->first_place);

	return is_better(look, first_place, more) ? first_place : more;
}

/* The best placed task that wants a slot and waits for nothing else; NULL: none. */
static struct ovt_sched_task *first_for_slot(const struct look *look,
					     const struct ovt_sched_wanting *wanting)
{
	struct ovt_sched_task *ready = ovt_sched_first(&wanting->ready);
	struct ovt_sched_task *waiting = first_with_room(look, &wanting->waiting);

	return is_better(look, ready, waiting) ? ready : waiting;
}

/*
 * The first task of each core, unless somebody better placed goes or bars them all: @any, the
 * first that takes any core, does so if it does not go itself.  The cores that are barred for @any.
 */
static u64 look_at_cores(struct look *look, const struct ovt_sched_task *any)
{
	u64 left = look->queue->cores_ready | (look->full ? 0 : look->queue->cores_waiting);
	u64 barred = 0;

	for (; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;
		struct ovt_sched_task *task =
			first_for_slot(look, &look->queue->cores[core - 1].wanting);

		if (!is_better(look, task, look->best) || !is_better(look, task, any))
			continue;
		if (slot_free(look, task, core))
			may_go(look, task, ovt_sched_core_bit(core));
		else
			barred |= ovt_sched_core_bit(core);
	}
	return barred;
}

/* Where @task, which takes any core, may go now; 0: nowhere. */
static u64 open_cores(const struct look *look, const struct ovt_sched_task *task, u64 barred)
{
	u64 left = all_cores(look->sched) & ~barred;
	u64 open = 0;

	for (; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;

		if (slot_free(look, task, core))
			open |= ovt_sched_core_bit(core);
	}
	return open;
}

static void look_at_slots(struct look *look)
{
	struct ovt_sched_task *any = first_for_slot(look, &look->queue->any);
	u64 barred = look_at_cores(look, any);
	u64 open;

	if (!is_better(look, any, look->best))
		return;
	open = open_cores(look, any, barred);
	if (open)
		may_go(look, any, open);
}

struct ovt_sched_task *ovt_sched_first_that_may_go(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now,
						   u64 *cores)
{
	struct look look = {
		.sched = sched,
		.queue = queue,
		.now = now,
		.full = queue->dispatched >= sched->settings.task_limit,
		.rest_kept = (u64)queue->dispatched + queue->places_kept >=
			     sched->settings.task_limit,
	};

	may_go(&look, ovt_sched_first(&queue->high), 0);
	may_go(&look, first_with_room(&look, &queue->cpu_first), 0);
	look_at_slots(&look);
	if (look.best && ovt_sched_is_high(look.best) && ovt_sched_next_is_bpu(look.best))
		look.cores = look.best->core ? ovt_sched_core_bit(look.best->core) :
					       all_cores(sched);
	*cores = look.cores;
	return look.best;
}
