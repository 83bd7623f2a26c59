// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The plan of a task: where and when its remaining units run, if nothing else comes.
 *
 * Chains are planned one after the other, each exactly: its units are cut into pieces, and each
 * piece goes to a processor, so that the chain ends as early as possible.  The cost of a move
 * depends on the processor of the piece before, so there is an end for each unit and processor.  A
 * chain of n units on p processors takes O(p n^2 + p^2 n) steps.
 */
#include "sched/coord/internal.h"

static u64 move_between(const struct ovt_coord *coord, u32 from, u32 to, u64 bytes)
{
	u64 rate = from == to ? 0 : coord->rates[from * coord->entry_count + to];

	return rate ? bytes / rate + (bytes % rate != 0) : 0;
}

u64 ovt_coord_move(const struct ovt_coord *coord, u32 from, u32 to, u64 bytes)
{
	return move_between(coord, coord->processors[from].entry, coord->processors[to].entry,
			    bytes);
}

/* Finds the remaining units of a chain: places @first to @last.  Returns false if there is none. */
static bool units_left(const struct ovt_coord_task *task, u32 chain, u32 *first, u32 *last)
{
	const struct ovt_coord_model *model = task->model;
	u64 left = ovt_coord_left(task);
	u32 length = ovt_coord_chain_length(model, chain);
	u32 place;

	for (place = 0; place < length; place++) {
		if (left & ovt_coord_bit(ovt_coord_unit_at(model, chain, place))) {
			*first = place;
			*last = length - 1;
			return true;
		}
	}
	return false;
}

static u64 due_in(const struct ovt_coord_task *task, u32 unit, u64 now)
{
	u64 due = task->runs[task->run_of[unit]].due;

	return due > now ? due - now : 0;
}

/* Returns when the output of a predecessor is available. */
static u64 end_of(const struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit,
		  u64 now)
{
	if (task->finished & ovt_coord_bit(unit))
		return 0;
	if (task->running & ovt_coord_bit(unit))
		return due_in(task, unit, now);
	return coord->scratch.unit_end[unit];
}

static u32 place_of(const struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit)
{
	if ((task->finished | task->running) & ovt_coord_bit(unit))
		return task->place[unit];
	return coord->scratch.unit_place[unit];
}

/* Returns the time of the moves from the predecessors of @unit to @processor. */
static u64 moves_to(struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit,
		    u32 processor)
{
	u64 rest = task->model->units[unit].after;
	u64 time = 0;

	for (; rest; rest &= rest - 1) {
		u32 before = ovt_coord_lowest(rest);

		coord->steps++;
		time = ovt_coord_add(time, ovt_coord_move(coord, place_of(coord, task, before),
							  processor,
							  task->model->units[before].bytes));
	}
	return time;
}

/* Finds when the first piece of the chain can begin its units, on each processor. */
static void begin_first(struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit,
			u64 now)
{
	struct ovt_coord_scratch *scratch = &coord->scratch;
	u64 rest = task->model->units[unit].after;
	u64 ready = 0;

	for (; rest; rest &= rest - 1)
		ready = ovt_coord_max(ready, end_of(coord, task, ovt_coord_lowest(rest), now));
	for (rest = scratch->usable[unit]; rest; rest &= rest - 1) {
		u32 q = ovt_coord_lowest(rest);

		scratch->begins[0][q] =
			ovt_coord_add(ovt_coord_add(coord->processors[q].overhead,
						    ovt_coord_max(ready, scratch->soonest[q])),
				      moves_to(coord, task, unit, q));
	}
}

/* Finds the time of a move of @bytes to this entry from each other entry. */
static void find_moves(struct ovt_coord *coord, u32 to, u64 bytes)
{
	u32 from;

	for (from = 0; from < coord->entry_count; from++)
		coord->scratch.moves[from] = move_between(coord, from, to, bytes);
}

/* Finds when a piece behind another one, which runs on any processor, can begin its units. */
static void begin_later(struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit,
			u32 before, u32 step)
{
	struct ovt_coord_scratch *scratch = &coord->scratch;
	const u64 *ends = scratch->ends[step - 1];
	u32 entry = OVT_COORD_MAX_PROCESSORS;
	u64 targets, sources;

	for (targets = scratch->usable[unit]; targets; targets &= targets - 1) {
		u32 q = ovt_coord_lowest(targets);
		u64 best = OVT_COORD_NEVER;
		u32 best_on = ovt_coord_lowest(scratch->usable[before]);

		if (coord->processors[q].entry != entry) {
			entry = coord->processors[q].entry;
			find_moves(coord, entry, task->model->units[before].bytes);
		}
		for (sources = scratch->usable[before]; sources; sources &= sources - 1) {
			u32 p = ovt_coord_lowest(sources);
			u64 begin = ovt_coord_add(ovt_coord_max(ends[p], scratch->soonest[q]),
						  scratch->moves[coord->processors[p].entry]);

			coord->steps++;
			if (begin < best) {
				best = begin;
				best_on = p;
			}
		}
		scratch->before_of[step][q] = (u8)best_on;
		scratch->begins[step][q] = ovt_coord_add(best, coord->processors[q].overhead);
	}
}

/* Finds the earliest end of the piece that ends with this unit, on each processor. */
static void end_pieces(struct ovt_coord *coord, const struct ovt_coord_task *task, u32 chain,
		       u32 first, u32 step, u8 *since)
{
	struct ovt_coord_scratch *scratch = &coord->scratch;
	u64 rest = scratch->usable[ovt_coord_unit_at(task->model, chain, first + step)];

	for (; rest; rest &= rest - 1) {
		u32 q = ovt_coord_lowest(rest);
		const struct ovt_coord_processor *processor = &coord->processors[q];
		u64 best = OVT_COORD_NEVER;
		u32 begin;

		for (begin = since[q]; begin <= step; begin++) {
			const struct ovt_coord_record *record =
				ovt_coord_record_of(task->model, processor->class_index, chain,
						    first + begin, first + step);
			u64 end = ovt_coord_add(scratch->begins[begin][q],
						ovt_coord_expected(processor, record));

			coord->steps++;
			if (end < best || begin == since[q]) {
				best = end;
				scratch->first_of[step][q] = (u8)begin;
			}
		}
		scratch->ends[step][q] = best;
	}
}

static u32 find_ends(struct ovt_coord *coord, const struct ovt_coord_task *task, u32 chain,
		     u32 first, u32 last, u64 now)
{
	struct ovt_coord_scratch *scratch = &coord->scratch;
	u8 since[OVT_COORD_MAX_PROCESSORS];	/* first step from which it runs all units */
	u32 best = 0;
	u32 step, q;
	u64 rest;

	memset(since, 0, sizeof(since));
	for (step = 0; step <= last - first; step++) {
		u32 unit = ovt_coord_unit_at(task->model, chain, first + step);

		for (q = 0; q < coord->processor_count; q++) {
			if (!(scratch->usable[unit] & ovt_coord_bit(q)))
				since[q] = (u8)(step + 1);
		}
		if (step)
			begin_later(coord, task, unit,
				    ovt_coord_unit_at(task->model, chain, first + step - 1), step);
		else
			begin_first(coord, task, unit, now);
		end_pieces(coord, task, chain, first, step, since);
	}
	rest = scratch->usable[ovt_coord_unit_at(task->model, chain, last)];
	best = ovt_coord_lowest(rest);
	for (; rest; rest &= rest - 1) {
		q = ovt_coord_lowest(rest);
		if (scratch->ends[last - first][q] < scratch->ends[last - first][best])
			best = q;
	}
	return best;
}

/* Returns the time from the end of the piece before, or of the predecessors, to its units. */
static u64 lead_of(struct ovt_coord *coord, const struct ovt_coord_task *task,
		   const struct ovt_coord_piece *piece)
{
	u32 unit = ovt_coord_unit_at(task->model, piece->chain, piece->first);

	return coord->processors[piece->processor].overhead +
	       moves_to(coord, task, unit, piece->processor);
}

/*
 * Occupies the places of a chain's pieces, and finds its first two pieces.  @ends_on: the processor
 * on which the chain ends.
 */
static u32 settle_pieces(struct ovt_coord *coord, const struct ovt_coord_task *task, u32 chain,
			 u32 first, u32 last, u32 ends_on, struct ovt_coord_piece pieces[2])
{
	struct ovt_coord_scratch *scratch = &coord->scratch;
	u8 next_begin[OVT_COORD_MAX_UNITS];	/* by step of a piece's begin: the one behind it */
	u32 step = last - first;
	u32 behind = step + 1;
	u32 q = ends_on;
	u32 count = 0;
	u32 begin;

	for (;;) {
		begin = scratch->first_of[step][q];
		next_begin[begin] = (u8)behind;
		scratch->unit_place[ovt_coord_unit_at(task->model, chain, first + begin)] = (u8)q;
		if (!begin)
			break;
		q = scratch->before_of[begin][q];
		behind = begin;
		step = begin - 1;
	}
	for (begin = 0; begin <= last - first; begin = next_begin[begin]) {
		u32 end = next_begin[begin] - 1u;

		q = scratch->unit_place[ovt_coord_unit_at(task->model, chain, first + begin)];
		for (step = begin; step <= end; step++) {
			u32 unit = ovt_coord_unit_at(task->model, chain, first + step);

			scratch->unit_place[unit] = (u8)q;
			scratch->unit_end[unit] = scratch->ends[end][q];
		}
		ovt_coord_occupy(&coord->processors[q], &scratch->planned, scratch->ends[end][q]);
		scratch->soonest[q] =
			ovt_coord_soonest(&coord->processors[q], &scratch->planned);
		if (count < 2)
			pieces[count] = (struct ovt_coord_piece){
				.chain = chain,
				.first = first + begin,
				.last = first + end,
				.processor = q,
			};
		count++;
	}
	return count;
}

static void complete_piece(struct ovt_coord *coord, const struct ovt_coord_task *task,
			   struct ovt_coord_piece *piece)
{
	const struct ovt_coord_processor *processor = &coord->processors[piece->processor];

	piece->lead = lead_of(coord, task, piece);
	piece->time = ovt_coord_expected(processor,
					 ovt_coord_record_of(task->model, processor->class_index,
							     piece->chain, piece->first,
							     piece->last));
}

/* Sets the free times with which the plan begins. */
static void begin_plan(struct ovt_coord *coord, const struct ovt_coord_task *task)
{
	struct ovt_coord_scratch *scratch = &coord->scratch;
	u64 rest, left;

	for (rest = coord->in_use; rest; rest &= rest - 1) {
		u32 q = ovt_coord_lowest(rest);
		const struct ovt_coord_processor *processor = &coord->processors[q];
		u32 workers = processor->workers ? processor->workers : 1;
		u64 reserved = processor->reserved;
		u32 worker;

		if (task->reserved && task->reserved_on == q)
			reserved -= task->reserved;
		if (ovt_coord_is_high(task))
			reserved = 0;
		coord->steps += workers;
		for (worker = 0; worker < workers; worker++) {
			u32 index = processor->first_worker + worker;

			scratch->planned.times[index] = ovt_coord_add(scratch->base.times[index],
								      reserved / workers);
		}
		scratch->soonest[q] = ovt_coord_soonest(processor, &scratch->planned);
	}
	for (left = ovt_coord_left(task); left; left &= left - 1) {
		u32 unit = ovt_coord_lowest(left);

		scratch->usable[unit] = ovt_coord_can_run(coord, task, unit) & coord->in_use;
	}
}

static bool is_ready(const struct ovt_coord_task *task, u32 chain, u32 first)
{
	u32 unit = ovt_coord_unit_at(task->model, chain, first);

	return !(task->model->units[unit].after & ~task->finished);
}

/* Whether the first piece of this chain is to be the next run rather than what @plan has. */
static bool is_better(const struct ovt_coord *coord, const struct ovt_coord_plan *plan,
		      const struct ovt_coord_piece *piece)
{
	if (!plan->has_next)
		return true;
	return !ovt_coord_is_idle(&coord->processors[plan->next.processor]) &&
	       ovt_coord_is_idle(&coord->processors[piece->processor]);
}

void ovt_coord_make_plan(struct ovt_coord *coord, const struct ovt_coord_task *task, u64 now,
			 struct ovt_coord_plan *plan)
{
	const struct ovt_list *link;
	u32 chain, first, last;

	memset(plan, 0, sizeof(*plan));
	begin_plan(coord, task);
	for (link = task->unfinished.next; link != &task->unfinished; link = link->next) {
		u64 due = ovt_container_of(link, struct ovt_coord_run, of_task)->due;

		plan->latency = ovt_coord_max(plan->latency, due > now ? due - now : 0);
	}
	for (chain = 0; chain < task->model->chain_count; chain++) {
		struct ovt_coord_piece pieces[2];
		u32 count, ends_on;

		coord->steps++;
		if (!units_left(task, chain, &first, &last))
			continue;
		ends_on = find_ends(coord, task, chain, first, last, now);
		plan->latency = ovt_coord_max(plan->latency,
					      coord->scratch.ends[last - first][ends_on]);
		count = settle_pieces(coord, task, chain, first, last, ends_on, pieces);
		if (!is_ready(task, chain, first) || !is_better(coord, plan, &pieces[0]))
			continue;
		plan->has_next = true;
		plan->next = pieces[0];
		complete_piece(coord, task, &plan->next);
		plan->has_following = count > 1;
		if (plan->has_following) {
			plan->following = pieces[1];
			complete_piece(coord, task, &plan->following);
		}
	}
}
