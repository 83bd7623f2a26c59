// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Free times: the expected time until each worker of each processor has finished its runs.  A core
 * has one worker.
 *
 * A core executes without a pause while it has unfinished runs.  So it has executed them for the
 * time since it was last idle, less the time of the runs that have ended since.
 */
#include "sched/coord/internal.h"

static u32 workers_of(const struct ovt_coord_processor *processor)
{
	return processor->workers ? processor->workers : 1;
}

static struct ovt_coord_run *first_of(const struct ovt_list *list)
{
	if (ovt_list_empty(list))
		return NULL;
	return ovt_container_of(list->next, struct ovt_coord_run, of_processor);
}

static u64 *smallest(const struct ovt_coord_processor *processor,
		     struct ovt_coord_free_times *times)
{
	u64 *first = &times->times[processor->first_worker];
	u64 *found = first;
	u32 worker;

	for (worker = 1; worker < processor->workers; worker++) {
		if (first[worker] < *found)
			found = &first[worker];
	}
	return found;
}

u64 ovt_coord_soonest(const struct ovt_coord_processor *processor,
		      const struct ovt_coord_free_times *times)
{
	return *smallest(processor, (struct ovt_coord_free_times *)(void *)times);
}

void ovt_coord_count(const struct ovt_coord_processor *processor,
		     struct ovt_coord_free_times *times, u64 amount)
{
	u64 *time = smallest(processor, times);

	*time = ovt_coord_add(*time, amount);
}

void ovt_coord_occupy(const struct ovt_coord_processor *processor,
		      struct ovt_coord_free_times *times, u64 end)
{
	*smallest(processor, times) = end;
}

bool ovt_coord_is_idle(const struct ovt_coord_processor *processor)
{
	if (!processor->in_use)
		return false;
	if (ovt_coord_is_pool(processor))
		return processor->unfinished < processor->workers;
	return processor->unfinished_below < processor->depth;
}

/* With a core limit, a task of 255 waits only for runs of 255, and for one batch of others. */
static u64 core_seen_by_high(const struct ovt_coord_processor *core, u64 free_time)
{
	const struct ovt_coord_run *below = first_of(&core->queued_below);
	u64 most = core->expected_high;

	if (!core->core_limit)
		return free_time;
	if (below && below->longest_fc >= OVT_COORD_NEVER / core->core_limit)
		return free_time;
	if (below)
		most = ovt_coord_add(most, core->core_limit * below->longest_fc);
	return ovt_coord_min(free_time, most);
}

static u64 core_free_time(const struct ovt_coord_processor *core, bool is_high, u64 now)
{
	u64 given = core->expected + core->ended_executed;
	u64 passed = now - core->busy_since;
	u64 free_time = core->unfinished && given > passed ? given - passed : 0;

	return is_high ? core_seen_by_high(core, free_time) : free_time;
}

/* Counts waiting runs for which a worker is idle as started; the others are spread over all. */
static u32 seat_waiting(const struct ovt_list *queue, u64 *times, u32 worker, u32 workers,
			u64 *unseated)
{
	const struct ovt_list *link;

	for (link = queue->next; link != queue && worker < workers; link = link->next) {
		const struct ovt_coord_run *run =
			ovt_container_of(link, struct ovt_coord_run, of_processor);

		times[worker++] = run->expected;
		*unseated -= run->expected;
	}
	return worker;
}

static void pool_free_times(const struct ovt_coord_processor *pool, bool is_high, u64 now,
			    u64 *times)
{
	u64 unseated = is_high ? pool->waiting_expected_high : pool->waiting_expected;
	const struct ovt_list *link;
	u32 worker = 0;
	u32 each;

	for (link = pool->executing.next; link != &pool->executing; link = link->next) {
		const struct ovt_coord_run *run =
			ovt_container_of(link, struct ovt_coord_run, of_processor);
		u64 passed = now - run->start_time;

		times[worker++] = run->expected > passed ? run->expected - passed : 0;
	}
	worker = seat_waiting(&pool->queued_high, times, worker, pool->workers, &unseated);
	if (!is_high)
		worker = seat_waiting(&pool->queued_below, times, worker, pool->workers,
				      &unseated);
	while (worker < pool->workers)
		times[worker++] = 0;
	for (each = 0; each < pool->workers; each++)
		times[each] += unseated / pool->workers;
}

void ovt_coord_free_times(struct ovt_coord *coord, bool is_high, u64 now,
			  struct ovt_coord_free_times *times)
{
	u64 rest;

	for (rest = coord->in_use; rest; rest &= rest - 1) {
		struct ovt_coord_processor *processor =
			&coord->processors[ovt_coord_lowest(rest)];
		u64 *first = &times->times[processor->first_worker];

		coord->steps += workers_of(processor);
		ovt_coord_forget_throttling(coord, processor, now);
		if (ovt_coord_is_pool(processor))
			pool_free_times(processor, is_high, now, first);
		else
			*first = core_free_time(processor, is_high, now);
	}
}
