// SPDX-License-Identifier: MIT
/*
 * Plans of the coordinator: a plan for a chain is the best of all ways to cut the chain into pieces
 * and to place these, and takes a bounded number of steps.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "sched/coord/internal.h"

#define CHAINS		100000u
#define MOST_UNITS	7u
#define MOST_PROCESSORS	4u

/* A chain of units; each processor has a class and an entry of its own. */
struct chain {
	u32 units;
	u32 processors;
	struct ovt_coord coord;
	struct ovt_coord_settings settings;
	struct ovt_coord_processor processor[OVT_COORD_MAX_PROCESSORS];
	u64 rates[OVT_COORD_MAX_PROCESSORS * OVT_COORD_MAX_PROCESSORS];
	struct ovt_coord_unit unit[OVT_COORD_MAX_UNITS];
	u64 times[OVT_COORD_MAX_UNITS * OVT_COORD_MAX_PROCESSORS];
	struct ovt_coord_record records[8 * (OVT_COORD_MAX_UNITS * (OVT_COORD_MAX_UNITS + 1) / 2 + 1)];
	struct ovt_coord_model model;
	struct ovt_coord_run runs[OVT_COORD_MAX_UNITS];
	struct ovt_coord_task task;
	u64 random;
	/* Results of the search. */
	u64 best;
	u32 best_first_last;	/* bit: the first piece of a best way may end with that unit */
};

static u32 draw(struct chain *chain, u32 below)
{
	chain->random = chain->random * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(chain->random >> 33) % below;
}

static void begin(struct chain *chain, u32 units, u32 processors)
{
	u32 unit;

	chain->units = units;
	chain->processors = processors;
	memset(chain->processor, 0, sizeof(chain->processor));
	memset(chain->unit, 0, sizeof(chain->unit));
	memset(chain->times, 0, sizeof(chain->times));
	memset(chain->rates, 0, sizeof(chain->rates));
	memset(&chain->model, 0, sizeof(chain->model));
	memset(&chain->task, 0, sizeof(chain->task));
	chain->settings = (struct ovt_coord_settings){
		.policy = ovt_coord_policy_find("least-slack"),
		.window = 8,
		.smoothing = 10,
		.retry_after = 1000,
	};
	for (unit = 0; unit < processors; unit++) {
		chain->processor[unit].class_index = unit;
		chain->processor[unit].entry = unit;
		chain->processor[unit].depth = 1;
	}
	for (unit = 1; unit < units; unit++)
		chain->unit[unit].after = ovt_coord_bit(unit - 1);
}

/* The task arrives, and nothing has been dispatched. */
static void arrive(struct chain *chain)
{
	ovt_coord_init(&chain->coord, &chain->settings, chain->processor, chain->processors,
		       chain->processors, chain->processors, chain->rates);
	chain->model.units = chain->unit;
	chain->model.unit_count = chain->units;
	chain->model.times = chain->times;
	chain->model.records = chain->records;
	ovt_coord_add_model(&chain->coord, &chain->model);
	chain->task.model = &chain->model;
	chain->task.runs = chain->runs;
	chain->task.deadline = OVT_COORD_NEVER;
	ovt_coord_arrive(&chain->coord, &chain->task, 0);
	memset(&chain->coord.scratch.base, 0, sizeof(chain->coord.scratch.base));
}

static void draw_chain(struct chain *chain)
{
	u32 most = 1 + draw(chain, 20);
	u32 unit, p, q;

	begin(chain, 1 + draw(chain, MOST_UNITS), 1 + draw(chain, MOST_PROCESSORS));
	for (p = 0; p < chain->processors; p++) {
		chain->processor[p].overhead = draw(chain, 4);
		for (q = 0; q < p; q++) {
			u64 rate = draw(chain, 4);

			chain->rates[p * chain->processors + q] = rate;
			chain->rates[q * chain->processors + p] = rate;
		}
	}
	for (unit = 0; unit < chain->units; unit++) {
		u64 *times = &chain->times[unit * chain->processors];

		chain->unit[unit].bytes = draw(chain, 20);
		for (p = 0; p < chain->processors; p++)
			times[p] = draw(chain, 3) ? 1 + draw(chain, most) : 0;
		times[draw(chain, chain->processors)] = 1 + draw(chain, most);
	}
	arrive(chain);
	for (p = 0; p < chain->processors; p++)
		chain->coord.scratch.base.times[p] = draw(chain, 3) ? 0 : draw(chain, 2 * most);
}

static u64 move_time(const struct chain *chain, u32 from, u32 to, u64 bytes)
{
	u64 rate = from == to ? 0 : chain->rates[from * chain->processors + to];

	return rate ? (bytes + rate - 1) / rate : 0;
}

/* Tries all ways to go on after @unit - 1, which ended at @end on @from. */
static void search(struct chain *chain, u32 unit, u64 end, u32 from, u32 first_last)
{
	u32 q, last;

	if (unit == chain->units) {
		if (end < chain->best) {
			chain->best = end;
			chain->best_first_last = 0;
		}
		if (end == chain->best)
			chain->best_first_last |= 1u << first_last;
		return;
	}
	for (q = 0; q < chain->processors; q++) {
		u64 free_time = chain->coord.scratch.base.times[q];
		u64 time = chain->processor[q].overhead + (end > free_time ? end : free_time);

		if (unit)
			time += move_time(chain, from, q, chain->unit[unit - 1].bytes);
		for (last = unit; last < chain->units; last++) {
			u64 of_unit = chain->times[last * chain->processors + q];

			time += of_unit;
			if (!of_unit || time > chain->best)
				break;
			search(chain, last + 1, time, q, unit ? first_last : last);
		}
	}
}

static void test_is_the_best_of_all_ways(void **state)
{
	static struct chain chain;
	struct ovt_coord_plan plan;
	u32 number;

	(void)state;
	chain.random = 36;
	for (number = 0; number < CHAINS; number++) {
		draw_chain(&chain);
		chain.best = OVT_COORD_NEVER;
		search(&chain, 0, 0, 0, 0);
		ovt_coord_make_plan(&chain.coord, &chain.task, 0, &plan);
		assert_int_equal(plan.latency, chain.best);
		assert_true(plan.has_next);
		assert_int_equal(plan.next.first, 0);
		assert_true(chain.best_first_last >> plan.next.last & 1);
		assert_int_equal(plan.has_following, plan.next.last + 1 < chain.units);
	}
}

static u64 steps_of_plan(u32 units, u32 processors)
{
	static struct chain chain;
	struct ovt_coord_plan plan;
	u32 unit, p;
	u64 before;

	begin(&chain, units, processors);
	for (unit = 0; unit < units; unit++) {
		chain.unit[unit].bytes = 100;
		for (p = 0; p < processors; p++)
			chain.times[unit * processors + p] = 10 + (unit * 7 + p * 5) % 11;
	}
	for (p = 0; p < processors * processors; p++)
		chain.rates[p] = 50;
	arrive(&chain);
	before = chain.coord.steps;
	ovt_coord_make_plan(&chain.coord, &chain.task, 0, &plan);
	assert_true(plan.has_next);
	return chain.coord.steps - before;
}

/* The steps are p n (n + 1) / 2 ends of pieces, p^2 (n - 1) moves, and at most 4 p + n more. */
static void test_takes_so_many_steps(void **state)
{
	static const struct {
		u32 units, processors;
	} rows[] = { { 1, 1 }, { 8, 4 }, { 64, 4 }, { 64, 8 }, { 32, 8 } };
	u32 row;

	(void)state;
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		u64 n = rows[row].units;
		u64 p = rows[row].processors;
		u64 steps = steps_of_plan(rows[row].units, rows[row].processors);

		assert_in_range(steps, p * n * (n + 1) / 2 + p * p * (n - 1),
				p * n * (n + 1) / 2 + p * p * (n - 1) + 4 * p + n);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_the_best_of_all_ways),
		cmocka_unit_test(test_takes_so_many_steps),
	};

	return cmocka_run_group_tests_name("coord_plan", tests, NULL, NULL);
}
