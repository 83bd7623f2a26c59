// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Expected times: smoothed records of the times of runs.  And throttled processors: the ratio of
 * the times of runs to their records shows that a processor has become slower as a whole.
 */
#include "sched/coord/internal.h"

static u64 smooth(u64 old, u64 new, u32 percent)
{
	return ((100 - percent) * old + percent * new + 50) / 100;
}

/* Returns @new / @old in thousandths, rounded half up. */
static u64 ratio_of(u64 new, u64 old)
{
	if (new / OVT_COORD_RATIO_MOST >= old)
		return OVT_COORD_RATIO_MOST;
	return ovt_coord_min((2 * OVT_COORD_RATIO_USUAL * new + old) / (2 * old),
			     OVT_COORD_RATIO_MOST);
}

static bool is_throttled(const struct ovt_coord_processor *processor)
{
	return processor->ratio > OVT_COORD_THROTTLED;
}

void ovt_coord_forget_throttling(const struct ovt_coord *coord,
				 struct ovt_coord_processor *processor, u64 now)
{
	if (is_throttled(processor) && !processor->unfinished &&
	    now - processor->idle_since >= coord->settings.retry_after)
		processor->ratio = OVT_COORD_RATIO_USUAL;
}

u64 ovt_coord_expected(const struct ovt_coord_processor *processor,
		       const struct ovt_coord_record *record)
{
	u64 time = record->time;
	u64 most = OVT_COORD_NEVER / OVT_COORD_RATIO_MOST - 1;

	if (!is_throttled(processor))
		return time;
	time = ovt_coord_min(time, most);
	return (time * processor->ratio + OVT_COORD_RATIO_USUAL / 2) / OVT_COORD_RATIO_USUAL;
}

void ovt_coord_learn(struct ovt_coord *coord, const struct ovt_coord_run *run, u64 executed)
{
	struct ovt_coord_processor *processor = &coord->processors[run->processor];
	struct ovt_coord_record *record =
		ovt_coord_record_of(run->task->model, processor->class_index, run->chain,
				    run->first, run->last);
	u64 most = OVT_COORD_NEVER / (4 * OVT_COORD_RATIO_USUAL);
	u64 time = executed > run->lead ? executed - run->lead : 1;

	time = ovt_coord_min(time, most);
	if (record->recorded)
		processor->ratio = smooth(processor->ratio, ratio_of(time, record->time),
					  coord->settings.smoothing);
	if (is_throttled(processor))
		return;
	record->time = record->recorded ?
			       smooth(ovt_coord_min(record->time, most), time,
				      coord->settings.smoothing) :
			       time;
	record->recorded = true;
}

static u64 slowest_time(const struct ovt_coord *coord, const struct ovt_coord_model *model,
			u32 unit)
{
	u32 chain = model->chain_of[unit];
	u32 place = ovt_coord_place_in_chain(model, unit);
	u64 slowest = 0;
	u32 c;

	for (c = 0; c < coord->class_count; c++) {
		const struct ovt_coord_record *record =
			ovt_coord_record_of(model, c, chain, place, place);

		if (model->times[unit * coord->class_count + c])
			slowest = ovt_coord_max(slowest, record->time);
	}
	return slowest;
}

u64 ovt_coord_worst_expected(const struct ovt_coord *coord, const struct ovt_coord_model *model)
{
	u64 sum = 0;
	u32 unit;

	for (unit = 0; unit < model->unit_count; unit++)
		sum = ovt_coord_add(sum, slowest_time(coord, model, unit));
	return sum;
}
