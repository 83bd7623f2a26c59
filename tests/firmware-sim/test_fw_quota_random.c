// SPDX-License-Identifier: MIT
/* Quota of a fair device (fw/quota.c) under random loads, held to a second reading of the rule. */
#include "cmocka_all.h"
#include "fair_host.h"

#define SECOND	OVT_QUOTA_WINDOW_NS

/* The tests apply the rule a second time, to the durations and starts of all FCs. */
#define CORES		2
#define JOBS		80
#define MAX_RESTS	400

struct span {
	u64 begin;
	u64 end;
};

struct rests {
	struct span spans[MAX_RESTS];
	u32 count;
};

static u64 random_state;

static u64 random_below(u64 bound)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % bound;
}

/* Returns the job of @fc: each job has its own letter or sign in the trace. */
static const struct mock_job *job_of(struct mock_job *const *jobs, const struct started *fc)
{
	return jobs[fc->job - ' '];
}

static u64 duration_of(const struct mock_job *job)
{
	return job->program[0].delay_cycles;
}

static u64 end_of(struct mock_job *const *jobs, const struct started *fc)
{
	return fc->start + duration_of(job_of(jobs, fc));
}

/* Returns when FCs of @context start or end next, from @at on.  @charge: sum of those that end. */
static u64 next_event(const struct mock *mock, struct mock_job *const *jobs, u32 context, u64 at,
		      u64 *charge, bool *starts)
{
	u64 next = OVT_TIME_NEVER;
	u32 index;

	*charge = 0;
	*starts = false;
	for (index = 0; index < mock->trace_length; index++) {
		const struct started *fc = &mock->trace[index];
		u64 end = end_of(jobs, fc);

		if (job_of(jobs, fc)->fw.context != &mock->contexts[context] ||
		    fc->ring != OVT_RING_NORMAL)
			continue;
		if (fc->start >= at && fc->start < next)
			next = fc->start;
		if (end >= at && end < next)
			next = end;
	}
	for (index = 0; index < mock->trace_length; index++) {
		const struct started *fc = &mock->trace[index];

		if (job_of(jobs, fc)->fw.context != &mock->contexts[context] ||
		    fc->ring != OVT_RING_NORMAL)
			continue;
		if (end_of(jobs, fc) == next)
			*charge += duration_of(job_of(jobs, fc));
		if (fc->start == next)
			*starts = true;
	}
	return next;
}

/* Finds the times in which @context has to have rested. */
static void find_rests(const struct mock *mock, struct mock_job *const *jobs, u32 context,
		       u64 quota_ns, struct rests *rests)
{
	u64 at = 0, window_end = OVT_TIME_NEVER, used = 0, since = OVT_TIME_NEVER;

	rests->count = 0;
	for (;;) {
		bool starts;
		u64 charge;
		u64 next = next_event(mock, jobs, context, at, &charge, &starts);

		/* Ends the windows that end before the next event. */
		while (window_end < next) {
			used -= used < quota_ns ? used : quota_ns;
			if (used >= quota_ns) {
				window_end += SECOND;
				continue;
			}
			if (since != OVT_TIME_NEVER) {
				assert_true(rests->count < MAX_RESTS);
				rests->spans[rests->count++] = (struct span){ since, window_end };
				since = OVT_TIME_NEVER;
			}
			window_end = OVT_TIME_NEVER;
		}
		if (next == OVT_TIME_NEVER)
			return;
		if (charge && window_end == OVT_TIME_NEVER)
			window_end = next + SECOND;
		used += charge;
		if (used >= quota_ns && since == OVT_TIME_NEVER)
			since = next;
		/* The end of a window lies between the FCs that end in its instant and those that start. */
		if (starts && window_end == next) {
			used -= used < quota_ns ? used : quota_ns;
			assert_true(used < quota_ns);
			if (since != OVT_TIME_NEVER) {
				assert_true(rests->count < MAX_RESTS);
				rests->spans[rests->count++] = (struct span){ since, next };
				since = OVT_TIME_NEVER;
			}
			window_end = OVT_TIME_NEVER;
		}
		if (starts && window_end == OVT_TIME_NEVER)
			window_end = next + SECOND;
		at = next + 1;
	}
}

/* Returns whether all of [@begin, @end) is in one of the spans. */
static bool covered(const struct rests *rests, u64 begin, u64 end)
{
	u32 index;

	for (index = 0; index < rests->count; index++)
		if (rests->spans[index].begin <= begin && end <= rests->spans[index].end)
			return true;
	return false;
}

/* Checks that from @ready to the start of @fc its core ran other FCs or its context rested. */
static void check_wait(const struct mock *mock, struct mock_job *const *jobs,
		       const struct started *fc, u64 ready, const struct rests *rests)
{
	u32 index;

	for (index = 0; index < mock->trace_length; index++) {
		const struct started *other = &mock->trace[index];

		if (other->core != fc->core || end_of(jobs, other) <= ready)
			continue;
		if (other->start > ready)
			assert_true(covered(rests, ready, other->start));
		if (other == fc)
			return;
		ready = end_of(jobs, other);
	}
	fail();
}

static void check_trace(const struct mock *mock, struct mock_job *const *jobs,
			const struct rests *rests)
{
	u64 ready[JOBS];
	u32 index;

	for (index = 0; index < JOBS; index++)
		ready[index] = jobs[index]->fw.arrival_ns;
	for (index = 0; index < mock->trace_length; index++) {
		const struct started *fc = &mock->trace[index];
		const struct mock_job *job = job_of(jobs, fc);
		const struct rests *own = &rests[job->fw.context - mock->contexts];

		if (fc->ring == OVT_RING_HIGH)
			continue;
		assert_false(covered(own, fc->start, fc->start + 1));
		check_wait(mock, jobs, fc, ready[fc->job - ' '], own);
		ready[fc->job - ' '] = end_of(jobs, fc);
	}
}

/* Runs random jobs with core limit 0 or 1, so that no FC is committed ahead. */
static struct mock *run_random(void **state, u64 seed, u64 quota_ns, struct mock_job **jobs)
{
	struct mock *mock = fair_new_with_quota(state, CORES, (u32)(seed % 2), quota_ns);
	u64 at = 0;
	u32 index;

	random_state = seed;
	mock->step_budget = 1u << 30;
	for (index = 0; index < JOBS; index++) {
		u32 context = (u32)random_below(CONTEXTS);

		at += random_below(4) ? random_below(1000000) : random_below(SECOND);
		run_until(mock, at + 1);
		jobs[index] = submit_to_core(mock, context, (char)(' ' + index),
					     (u32)random_below(CORES + 1),
					     random_below(8) ? (u32)random_below(255) : 255,
					     1 + (u32)random_below(20), 1 + random_below(1000000), at + 1);
	}
	run_until(mock, 1000 * SECOND);
	return mock;
}

static void random_loads_follow_the_rule(void **state)
{
	static struct rests rests[CONTEXTS];
	u32 total = 0;
	u64 seed;

	for (seed = 1; seed <= 60; seed++) {
		u64 quota_ns = 500000 + seed * seed * 2000;
		struct mock_job *jobs[JOBS];
		struct mock *mock = run_random(state, seed, quota_ns, jobs);
		u32 index;

		for (index = 0; index < CONTEXTS; index++) {
			find_rests(mock, jobs, index, quota_ns, &rests[index]);
			assert_int_equal(rests[index].count, mock->contexts[index].quota.rests);
			total += rests[index].count;
		}
		check_trace(mock, jobs, rests);
		for (index = 0; index < JOBS; index++) {
			assert_int_equal(jobs[index]->fw.state, OVT_JOB_ENDED);
			assert_int_equal(jobs[index]->fw.status, OVT_JOB_OK);
		}
	}
	assert_true(total > 1000);
}

/* Windows begin and end, but no context reaches its quota, so that nothing else differs. */
static void a_quota_that_is_not_used_up_changes_nothing(void **state)
{
	u64 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct mock_job *jobs[2][JOBS];
		struct mock *without = run_random(state, seed, 0, jobs[0]);
		struct mock *with = run_random(state, seed, SECOND - 1, jobs[1]);

		assert_int_equal(without->trace_length, with->trace_length);
		assert_memory_equal(without->trace, with->trace,
				    with->trace_length * sizeof(with->trace[0]));
		assert_int_equal(without->preempted, with->preempted);
		assert_int_equal(without->contexts[0].quota.used_ns, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(random_loads_follow_the_rule),
		CASE(a_quota_that_is_not_used_up_changes_nothing),
	};

	return cmocka_run_group_tests_name("fw_quota_random", tests, NULL, NULL);
}
