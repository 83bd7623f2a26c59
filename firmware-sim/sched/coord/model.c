// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Models: the chains of their units, and the expected times of pieces that have not run yet.
 */
#include "sched/coord/internal.h"
#include "sched/wide.h"

/* Each byte that a unit moves counts as so many operations. */
#define BYTE_COST_OF_CORES	1000u
#define BYTE_COST_OF_POOLS	10u

static bool is_single(u64 bits)
{
	return bits && !(bits & (bits - 1));
}

static void find_successors(struct ovt_coord_model *model)
{
	u32 unit, other;

	for (unit = 0; unit < model->unit_count; unit++) {
		model->successors[unit] = 0;
		for (other = unit + 1; other < model->unit_count; other++) {
			if (model->units[other].after & ovt_coord_bit(unit))
				model->successors[unit] |= ovt_coord_bit(other);
		}
	}
}

/* Finds the unit behind @unit in its chain.  Returns false if @unit is the last. */
static bool next_in_chain(const struct ovt_coord_model *model, u32 unit, u32 *next)
{
	if (!is_single(model->successors[unit]))
		return false;
	*next = ovt_coord_lowest(model->successors[unit]);
	return is_single(model->units[*next].after);
}

static void find_chains(struct ovt_coord_model *model)
{
	u64 placed = 0;
	u32 count = 0;
	u32 records = 0;
	u32 unit;

	model->chain_count = 0;
	for (unit = 0; unit < model->unit_count; unit++) {
		u32 chain = model->chain_count;
		u32 member = unit;
		u32 length;

		if (placed & ovt_coord_bit(unit))
			continue;
		model->chain_begin[chain] = (u8)count;
		model->chain_records[chain] = (u16)records;
		do {
			placed |= ovt_coord_bit(member);
			model->chain_of[member] = (u8)chain;
			model->place_of[member] = (u8)count;
			model->chain_units[count++] = (u8)member;
		} while (next_in_chain(model, member, &member));
		model->chain_begin[++model->chain_count] = (u8)count;
		length = count - model->chain_begin[chain];
		records += length * (length + 1) / 2;
	}
}

static void find_processors(const struct ovt_coord *coord, struct ovt_coord_model *model)
{
	u32 unit, index;

	for (unit = 0; unit < model->unit_count; unit++) {
		model->supporting[unit] = 0;
		model->processors[unit] = 0;
		for (index = 0; index < coord->class_count; index++) {
			if (model->times[unit * coord->class_count + index])
				model->supporting[unit] |= ovt_coord_bit(index);
		}
		for (index = 0; index < coord->processor_count; index++) {
			u32 class_index = coord->processors[index].class_index;

			if (model->supporting[unit] & ovt_coord_bit(class_index))
				model->processors[unit] |= ovt_coord_bit(index);
		}
	}
}

u64 ovt_coord_can_run(const struct ovt_coord *coord, const struct ovt_coord_task *task, u32 unit)
{
	u64 processors = task->model->processors[unit] & ~task->barred;
	u64 allowed = task->on;

	if (!task->on)
		return processors;
	if (!(task->model->supporting[unit] & ovt_coord_bit(task->on_class)))
		allowed |= coord->pools;
	return processors & allowed;
}

static u32 record_index(const struct ovt_coord_model *model, u32 chain, u32 first, u32 last)
{
	u32 length;

	/* All units of a model that is one chain are a piece of it. */
	if (chain == OVT_COORD_WHOLE) {
		if (model->chain_count > 1)
			return ovt_coord_record_count(model->unit_count) - 1;
		chain = 0;
	}
	length = ovt_coord_chain_length(model, chain);
	return model->chain_records[chain] + first * length - first * (first + 1) / 2 + last;
}

struct ovt_coord_record *ovt_coord_record_of(const struct ovt_coord_model *model, u32 class_index,
					     u32 chain, u32 first, u32 last)
{
	return &model->records[class_index * ovt_coord_record_count(model->unit_count) +
			       record_index(model, chain, first, last)];
}

u64 ovt_coord_units_of(const struct ovt_coord_model *model, u32 chain, u32 first, u32 last)
{
	u64 units = 0;
	u32 place;

	if (chain == OVT_COORD_WHOLE)
		return ovt_coord_all_units(model);
	for (place = first; place <= last; place++)
		units |= ovt_coord_bit(ovt_coord_unit_at(model, chain, place));
	return units;
}

static bool supports_all(const struct ovt_coord_model *model, u32 class_index, u64 units)
{
	for (; units; units &= units - 1) {
		if (!(model->supporting[ovt_coord_lowest(units)] & ovt_coord_bit(class_index)))
			return false;
	}
	return true;
}

static bool is_class_of_pools(const struct ovt_coord *coord, u32 class_index)
{
	u32 index;

	for (index = 0; index < coord->processor_count; index++) {
		if (coord->processors[index].class_index == class_index)
			return ovt_coord_is_pool(&coord->processors[index]);
	}
	return false;
}

/* Returns the cost of @units: operations, and bytes that come from and go to other runs. */
static u64 cost_of(const struct ovt_coord *coord, const struct ovt_coord_model *model,
		   u32 class_index, u64 units)
{
	u64 outside = 0;
	u64 ops = 0;
	u64 bytes = 0;
	bool takes_input = false;
	u64 rest;

	for (rest = units; rest; rest &= rest - 1) {
		u32 unit = ovt_coord_lowest(rest);

		ops += model->units[unit].ops;
		outside |= model->units[unit].after & ~units;
		takes_input |= !model->units[unit].after;
		if (!model->successors[unit] || (model->successors[unit] & ~units))
			bytes += model->units[unit].bytes;
	}
	for (rest = outside; rest; rest &= rest - 1)
		bytes += model->units[ovt_coord_lowest(rest)].bytes;
	if (takes_input)
		bytes += model->input_bytes;
	return ops + bytes * (is_class_of_pools(coord, class_index) ? BYTE_COST_OF_POOLS :
								      BYTE_COST_OF_CORES);
}

/* Greatest time of a piece: the sum of one such time for each unit of a model does not overflow. */
#define MOST_SCALED	(1ull << 54)

/* Returns @a * @b / @divisor, rounded half up, at most MOST_SCALED. */
static u64 scale(u64 a, u64 b, u64 divisor)
{
	struct ovt_wide rest = ovt_wide_add(ovt_wide_multiply(a, b), ovt_wide(divisor / 2));
	u64 quotient = 0;
	u64 remainder = rest.high;
	u32 bit;

	if (remainder >= divisor)
		return MOST_SCALED;
	for (bit = 64; bit--;) {
		bool carry = remainder >> 63;

		remainder = remainder << 1 | (rest.low >> bit & 1);
		quotient <<= 1;
		if (carry || remainder >= divisor) {
			remainder -= divisor;
			quotient |= 1;
		}
	}
	return ovt_coord_min(quotient, MOST_SCALED);
}

bool ovt_coord_largest_piece(const struct ovt_coord *coord, const struct ovt_coord_model *model,
			     u32 class_index, u64 *units, u64 *cost)
{
	u32 most = 0;
	u32 first_unit, chain, last;

	/* In the order of first units: among pieces of one length the lowest is found first. */
	for (first_unit = 0; first_unit < model->unit_count; first_unit++) {
		u32 first = ovt_coord_place_in_chain(model, first_unit);

		chain = model->chain_of[first_unit];
		for (last = first; last < ovt_coord_chain_length(model, chain); last++) {
			u64 piece = ovt_coord_units_of(model, chain, first, last);

			if (!supports_all(model, class_index, piece))
				break;
			if (last - first + 1 > most) {
				most = last - first + 1;
				*units = piece;
			}
		}
	}
	if (most)
		*cost = cost_of(coord, model, class_index, *units);
	return most != 0;
}

/* Source of the times of pieces before a run of them is recorded. */
struct ovt_coord_first_times {
	u32 class_index;
	u64 measured;	/* 0: times are modelled */
	u64 largest_cost;
};

static void set_first_time(const struct ovt_coord *coord, struct ovt_coord_model *model,
			   const struct ovt_coord_first_times *first_times, u32 chain, u32 first,
			   u32 last)
{
	u32 class_index = first_times->class_index;
	u64 units = ovt_coord_units_of(model, chain, first, last);
	u64 time = 0;
	u64 rest;

	if (first_times->measured) {
		time = scale(first_times->measured, cost_of(coord, model, class_index, units),
			     first_times->largest_cost);
		time = ovt_coord_max(time, 1);
	} else {
		for (rest = units; rest; rest &= rest - 1)
			time += model->times[ovt_coord_lowest(rest) * coord->class_count +
					     class_index];
	}
	*ovt_coord_record_of(model, class_index, chain, first, last) = (struct ovt_coord_record){
		.time = time,
	};
}

static void set_first_times(const struct ovt_coord *coord, struct ovt_coord_model *model,
			    u32 class_index)
{
	struct ovt_coord_first_times first_times = { .class_index = class_index };
	u64 largest;
	u32 chain, first, last;

	if (model->measured && model->measured[class_index] &&
	    ovt_coord_largest_piece(coord, model, class_index, &largest,
				    &first_times.largest_cost) &&
	    first_times.largest_cost)
		first_times.measured = model->measured[class_index];
	for (chain = 0; chain < model->chain_count; chain++) {
		u32 length = ovt_coord_chain_length(model, chain);

		for (first = 0; first < length; first++) {
			for (last = first; last < length; last++) {
				if (supports_all(model, class_index,
						 ovt_coord_units_of(model, chain, first, last)))
					set_first_time(coord, model, &first_times, chain, first,
						       last);
			}
		}
	}
	if (supports_all(model, class_index, ovt_coord_all_units(model)))
		set_first_time(coord, model, &first_times, OVT_COORD_WHOLE, 0,
			       model->unit_count - 1);
}

void ovt_coord_add_model(struct ovt_coord *coord, struct ovt_coord_model *model)
{
	u32 class_index;

	find_successors(model);
	find_chains(model);
	find_processors(coord, model);
	for (class_index = 0; class_index < coord->class_count; class_index++)
		set_first_times(coord, model, class_index);
}

bool ovt_coord_set_record(struct ovt_coord_model *model, u32 class_index, u64 units, u64 time)
{
	u32 chain, first, last;

	if (!units || (units & ~ovt_coord_all_units(model)) ||
	    !supports_all(model, class_index, units))
		return false;
	chain = model->chain_of[ovt_coord_lowest(units)];
	first = ovt_coord_place_in_chain(model, ovt_coord_lowest(units));
	for (last = first; last < ovt_coord_chain_length(model, chain); last++) {
		if (ovt_coord_units_of(model, chain, first, last) == units)
			break;
	}
	if (last == ovt_coord_chain_length(model, chain)) {
		if (units != ovt_coord_all_units(model))
			return false;
		chain = OVT_COORD_WHOLE;
	}
	*ovt_coord_record_of(model, class_index, chain, first, last) = (struct ovt_coord_record){
		.time = time,
		.recorded = true,
	};
	return true;
}
