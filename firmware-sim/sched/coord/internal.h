/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Declarations that the files of the coordinator share; hosts include sched/coord/coord.h only. */
#ifndef OVT_COORD_INTERNAL_H
#define OVT_COORD_INTERNAL_H

#include "sched/coord/coord.h"

#define OVT_COORD_WHOLE		OVT_COORD_MAX_UNITS	/* as a chain: all units */
#define OVT_COORD_RATIO_USUAL	1000u
#define OVT_COORD_RATIO_MOST	10000u
#define OVT_COORD_THROTTLED	1250u	/* a processor with a greater ratio is throttled */

static inline u64 ovt_coord_bit(u32 index)
{
	return 1ull << index;
}

static inline u32 ovt_coord_lowest(u64 bits)
{
	return (u32)__builtin_ctzll(bits);
}

static inline u64 ovt_coord_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 ovt_coord_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Returns the sum of two times, at most OVT_COORD_NEVER. */
static inline u64 ovt_coord_add(u64 a, u64 b)
{
	return a < OVT_COORD_NEVER - b ? a + b : OVT_COORD_NEVER;
}

static inline u64 ovt_coord_all_units(const struct ovt_coord_model *model)
{
	return ~0ull >> (OVT_COORD_MAX_UNITS - model->unit_count);
}

static inline u64 ovt_coord_left(const struct ovt_coord_task *task)
{
	return ovt_coord_all_units(task->model) & ~task->finished & ~task->running;
}

static inline u32 ovt_coord_chain_length(const struct ovt_coord_model *model, u32 chain)
{
	return model->chain_begin[chain + 1] - model->chain_begin[chain];
}

static inline u32 ovt_coord_unit_at(const struct ovt_coord_model *model, u32 chain, u32 place)
{
	return model->chain_units[model->chain_begin[chain] + place];
}

/* Returns the place of @unit in its chain, from 0. */
static inline u32 ovt_coord_place_in_chain(const struct ovt_coord_model *model, u32 unit)
{
	return model->place_of[unit] - model->chain_begin[model->chain_of[unit]];
}

/* model.c */
/* Returns the processors that can run @unit of @task, in use or not. */
u64 ovt_coord_can_run(const struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit);
/* Returns the record of a piece, or of all units if @chain is OVT_COORD_WHOLE. */
struct ovt_coord_record *ovt_coord_record_of(const struct ovt_coord_model *model, u32 class_index,
					     u32 chain, u32 first, u32 last);
u64 ovt_coord_units_of(const struct ovt_coord_model *model, u32 chain, u32 first, u32 last);

/* expected.c */
/* Resets the ratio of @processor: it gets the expected times of its class until runs end. */
void ovt_coord_forget_throttling(const struct ovt_coord *coord,
				 struct ovt_coord_processor *processor, u64 now);
u64 ovt_coord_expected(const struct ovt_coord_processor *processor,
		       const struct ovt_coord_record *record);
void ovt_coord_learn(struct ovt_coord *coord, const struct ovt_coord_run *run, u64 executed);

/* free_time.c */
/* Finds the free times as a task of 255, or one below, sees them; plan.c adds reservations. */
void ovt_coord_free_times(struct ovt_coord *coord, bool is_high, u64 now,
			  struct ovt_coord_free_times *times);
u64 ovt_coord_soonest(const struct ovt_coord_processor *processor,
		      const struct ovt_coord_free_times *times);
/* The smallest free time of a processor grows by @amount. */
void ovt_coord_count(const struct ovt_coord_processor *processor,
		     struct ovt_coord_free_times *times, u64 amount);
/* The smallest free time of a processor becomes @end. */
void ovt_coord_occupy(const struct ovt_coord_processor *processor,
		      struct ovt_coord_free_times *times, u64 end);
bool ovt_coord_is_idle(const struct ovt_coord_processor *processor);

/* plan.c */
/* Plans @task, for which a plan exists, with the free times of the look (scratch.base). */
void ovt_coord_make_plan(struct ovt_coord *coord, const struct ovt_coord_task *task, u64 now,
			 struct ovt_coord_plan *plan);
/* Returns the time that @bytes take from one processor to another. */
u64 ovt_coord_move(const struct ovt_coord *coord, u32 from, u32 to, u64 bytes);

/* look.c: the choices of policies. */
bool ovt_coord_pick_in_window(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice);
bool ovt_coord_pick_whole(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice);
/* Chooses a task of 255 to dispatch, else what the policy picks below.  False: nothing. */
bool ovt_coord_look(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice);

/* waiting.c: the places in which tasks wait. */
bool ovt_coord_has_ready_unit(const struct ovt_coord_task *task);
void ovt_coord_enter(struct ovt_coord *coord, struct ovt_coord_task *task);
void ovt_coord_leave(struct ovt_coord *coord, struct ovt_coord_task *task);
/* Looks again which tasks have a plan, after a processor went out of use or came back. */
void ovt_coord_sort_anew(struct ovt_coord *coord);
struct ovt_coord_task *ovt_coord_first(const struct ovt_tree *queue);
struct ovt_coord_task *ovt_coord_after(struct ovt_coord_task *task);
/* Returns the first task that may go to @processor whole; there is one. */
struct ovt_coord_task *ovt_coord_first_whole(const struct ovt_coord *coord, u32 processor);
/* Returns the first to arrive of the tasks whose deadline has come, or NULL. */
struct ovt_coord_task *ovt_coord_late_task(struct ovt_coord *coord, u64 now);

#endif
