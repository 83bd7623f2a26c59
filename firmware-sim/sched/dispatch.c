// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may go.
 *
 * Priority 255 always may.  Another task that is not dispatched needs room below the task limit,
 * and while it waits for that it holds nobody up.  A task that begins with a CPU segment needs
 * nothing else.  A task that begins with a BPU segment needs a free slot on its core, and no
 * better placed task may be waiting for one there: such a task bars its core, or every core
 * if it would take any.
 *
 * A slot is free when fewer than the configured number of its holders stand in the way, and a
 * holder in a gap does not if the policy lets the task be inserted.
 */
#include "sched/internal.h"

/* Whom the walk over the waiting tasks has passed so far. */
struct look {
	struct ovt_sched *sched;
	struct ovt_sched_queue *queue;
	u64 now;
	u64 cores;	/* all of them; bit k - 1: core k */
	u64 barred;	/* of them, those on which nobody further down may take a slot */
	bool full;	/* the task limit is reached */
};

static u64 core_bit(u32 core)
{
	return 1ull << (core - 1);
}

static u32 unfinished(const struct ovt_sched *sched, u32 core)
{
	return sched->config.unfinished(sched->config.host, core);
}

u32 ovt_sched_least_loaded(const struct ovt_sched *sched)
{
	u32 best = 1;
	u32 core;

	for (core = 2; core <= sched->config.core_count; core++)
		if (unfinished(sched, core) < unfinished(sched, best))
			best = core;
	return best;
}

static u32 holders_in_the_way(const struct look *look, const struct ovt_sched_task *task, u32 core)
{
	const struct ovt_list *head = &look->queue->holders;
	const struct ovt_list *link;
	u32 count = 0;

	for (link = head->next; link != head; link = link->next) {
		const struct ovt_sched_task *holder =
			ovt_container_of(link, struct ovt_sched_task, holder_link);

		if (holder->placed_core != core)
			continue;
		if (!ovt_sched_in_gap(holder) ||
		    !look->sched->config.policy->may_insert(look->sched, holder, task, look->now))
			count++;
	}
	return count;
}

static bool slot_free(const struct look *look, const struct ovt_sched_task *task, u32 core)
{
	u32 slots = look->sched->config.slots;

	return look->queue->holders_on[core - 1] < slots ||
	       holders_in_the_way(look, task, core) < slots;
}

static bool core_open(const struct look *look, const struct ovt_sched_task *task, u32 core)
{
	return !(look->barred & core_bit(core)) && slot_free(look, task, core);
}

/* Where the first BPU segment of @task may go now; 0: nowhere. */
static u32 open_core(const struct look *look, const struct ovt_sched_task *task)
{
	u32 best = 0;
	u32 core;

	if (task->core)
		return core_open(look, task, task->core) ? task->core : 0;
	for (core = 1; core <= look->sched->config.core_count; core++) {
		if (!core_open(look, task, core))
			continue;
		if (!best || unfinished(look->sched, core) < unfinished(look->sched, best))
			best = core;
	}
	return best;
}

static void bar(struct look *look, const struct ovt_sched_task *task)
{
	look->barred |= task->core ? core_bit(task->core) : look->cores;
}

static bool may_go(struct look *look, const struct ovt_sched_task *task, u32 *core)
{
	*core = 0;
	if (ovt_sched_is_high(task)) {
		if (ovt_sched_next_is_bpu(task))
			*core = task->core ? task->core : ovt_sched_least_loaded(look->sched);
		return true;
	}
	if (look->full && task->state == OVT_SCHED_WAITING)
		return false;
	if (!ovt_sched_next_is_bpu(task))
		return true;
	*core = open_core(look, task);
	if (!*core)
		bar(look, task);
	return *core;
}

/*
 * Nobody further down may go: spares the walk down a long queue.  Those passed that wanted a slot
 * have barred their cores, so the counts may include them.
 */
static bool nobody_left(const struct look *look)
{
	const struct ovt_sched_queue *queue = look->queue;
	u64 open = look->cores & ~look->barred;
	u64 wanted = queue->wanted_ready.cores;
	u32 any = queue->wanted_ready.any;

	if (queue->waiting_high)
		return false;
	if (!look->full) {
		if (queue->waiting_cpu_first)
			return false;
		wanted |= queue->wanted.cores;
		any += queue->wanted.any;
	}
	return !(open & wanted) && !(open && any);
}

/* Cores where the holders that are in no gap leave no slot, whoever asks. */
static u64 full_cores(const struct look *look)
{
	const struct ovt_list *head = &look->queue->holders;
	u32 slots = look->sched->config.slots;
	const struct ovt_list *link;
	u32 gaps[OVT_SCHED_MAX_CORES];
	u64 full = 0;
	u32 core;

	memset(gaps, 0, sizeof(gaps));
	for (link = head->next; link != head; link = link->next) {
		const struct ovt_sched_task *holder =
			ovt_container_of(link, struct ovt_sched_task, holder_link);

		if (ovt_sched_in_gap(holder))
			gaps[holder->placed_core - 1]++;
	}
	for (core = 1; core <= look->sched->config.core_count; core++)
		if (look->queue->holders_on[core - 1] - gaps[core - 1] >= slots)
			full |= core_bit(core);
	return full;
}

struct ovt_sched_task *ovt_sched_first_that_may_go(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now,
						   u32 *core)
{
	struct look look = {
		.sched = sched,
		.queue = queue,
		.now = now,
		.cores = ~0ull >> (OVT_SCHED_MAX_CORES - sched->config.core_count),
		.full = queue->dispatched >= sched->config.task_limit,
	};
	struct ovt_list *link;

	look.barred = full_cores(&look);
	for (link = queue->waiting.next; link != &queue->waiting; link = link->next) {
		struct ovt_sched_task *task = ovt_container_of(link, struct ovt_sched_task, link);

		if (nobody_left(&look))
			return NULL;
		if (may_go(&look, task, core))
			return task;
	}
	return NULL;
}
