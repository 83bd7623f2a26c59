// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The rules by which tasks may go.
 *
 * Tasks of priority 255 always may.  Another task that is not dispatched needs a place of the task
 * limit, and while it waits for a place it blocks no other task.  If the limit is shared, only a
 * process that holds no place may take a place that is kept.  A task that begins with a CPU segment
 * needs nothing else.  A task that begins with a BPU segment needs a free slot on its core, and no
 * better placed task may be waiting for a slot there: such a task bars its core, or every core if
 * it takes any.  A task that takes several cores needs a free slot on each; if it has had them
 * before, it bars only these.  Where cores differ, a task without a core may take only some cores:
 * it bars those, and besides holds up all worse placed tasks without a core.
 *
 * A slot is free when fewer holders than the configured number of slots are in the way.  A holder
 * in a gap is not in the way if the policy lets the task be inserted.
 */
#include "sched/look.h"

/* A choice of the next task of a queue. */
struct choice {
	struct ovt_sched_look look;
	struct ovt_sched_task *best;	/* best task so far; NULL: none */
	u64 cores;			/* cores for @best, if it begins with a BPU segment */
};

/* Whether a slot is free for @task: fewer holders than slots are in the way. */
static bool slot_free(const struct ovt_sched_look *look, const struct ovt_sched_task *task,
		      u32 number)
{
	struct ovt_sched_queue_core *core = &look->queue->cores[number - 1];
	u32 slots = look->sched->settings.slots;

	look->sched->steps++;
	return core->holders < slots ||
	       core->holders - ovt_sched_gaps_open_to(look->sched, &core->gaps, task->bpu_time,
						      look->now) < slots;
}

/*
 * Whether each core of @task, which has had several, has a free slot and no better placed task.
 * @core is one of these cores; for all but the task's first core the result is false.
 */
static bool own_slots_free(const struct ovt_sched_look *look, const struct ovt_sched_task *task,
			   u32 core)
{
	u64 left;

	if (core != task->placed_core)
		return false;
	for (left = ovt_sched_own_cores(task); left; left &= left - 1) {
		u32 own = (u32)__builtin_ctzll(left) + 1;

		if (ovt_sched_first_for_core(look, own) != task || !slot_free(look, task, own))
			return false;
	}
	return true;
}

/* Returns the cores on which @task wants slots; @core is one of them. */
static u64 wanted_cores(const struct ovt_sched_task *task, u32 core)
{
	return ovt_sched_is_spanning(task) ? ovt_sched_own_cores(task) : ovt_sched_core_bit(core);
}

static void may_go(struct choice *choice, struct ovt_sched_task *task, u64 cores)
{
	if (!ovt_sched_is_better(&choice->look, task, choice->best))
		return;
	choice->best = task;
	choice->cores = cores;
}

/*
 * Looks at the first task of each core, unless a better placed task goes or bars the core: @any,
 * the first task that takes any core, bars its cores if it does not go itself.  Returns the cores
 * that are barred for @any.
 */
static u64 look_at_cores(struct choice *choice, const struct ovt_sched_task *any)
{
	const struct ovt_sched_look *look = &choice->look;
	u64 barred_by_any = any ? ovt_sched_cores_of(look->sched, any) : 0;
	u64 left = look->queue->cores_ready | (look->full ? 0 : look->queue->cores_waiting);
	u64 barred = 0;

	for (; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;
		struct ovt_sched_task *task = ovt_sched_first_for_core(look, core);

		if (!ovt_sched_is_better(look, task, choice->best) ||
		    ((barred_by_any & wanted_cores(task, core)) &&
		     !ovt_sched_is_better(look, task, any)))
			continue;
		if (task->span ? own_slots_free(look, task, core) : slot_free(look, task, core))
			may_go(choice, task, ovt_sched_core_bit(core));
		else
			barred |= ovt_sched_core_bit(core);
	}
	return barred;
}

/* Returns the cores to which @task, which takes any core, or several, may go now; 0: none. */
static u64 open_cores(const struct ovt_sched_look *look, const struct ovt_sched_task *task,
		      u64 barred)
{
	u64 left = ovt_sched_cores_of(look->sched, task) & ~barred;
	u32 count = 0;
	u64 open = 0;

	for (; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;

		if (!slot_free(look, task, core))
			continue;
		open |= ovt_sched_core_bit(core);
		count++;
	}
	return count < ovt_sched_width(task) ? 0 : open;
}

static void look_at_slots(struct choice *choice)
{
	const struct ovt_sched_look *look = &choice->look;
	struct ovt_sched_task *any = ovt_sched_first_for_slot(look, &look->queue->any);
	u64 barred = look_at_cores(choice, any);
	u64 open;

	if (!ovt_sched_is_better(look, any, choice->best))
		return;
	open = open_cores(look, any, barred);
	if (open)
		may_go(choice, any, open);
}

struct ovt_sched_task *ovt_sched_first_that_may_go(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now,
						   u64 *cores)
{
	struct choice choice = { .look = ovt_sched_look(sched, queue, now) };
	const struct ovt_sched_look *look = &choice.look;

	may_go(&choice, ovt_sched_first(&queue->high), 0);
	may_go(&choice, ovt_sched_first_with_room(look, &queue->cpu_first), 0);
	look_at_slots(&choice);
	if (choice.best && ovt_sched_is_high(choice.best) && ovt_sched_next_is_bpu(choice.best))
		choice.cores = choice.best->core ? ovt_sched_core_bit(choice.best->core) :
						   ovt_sched_cores_of(sched, choice.best);
	*cores = choice.cores;
	return choice.best;
}
