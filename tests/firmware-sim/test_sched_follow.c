// SPDX-License-Identifier: MIT
/*
 * A scheduler that follows another one gives the same answers, and survives the loss of any events.
 */
#include "cmocka_all.h"
#include "sched/follow.h"
#include "sched/waits_for.h"

#define TASKS		40u
#define PROCESSES	3u
#define CORES		3u
#define SEGMENTS	5u

struct side {
	struct ovt_sched sched;
	struct ovt_sched_queue queue;
	struct ovt_sched_queue_core cores[CORES];
	struct ovt_sched_process processes[PROCESSES];
	struct ovt_sched_line lines[PROCESSES][CORES];
	struct ovt_sched_task tasks[TASKS];
	struct ovt_sched_span spans[TASKS];
	struct ovt_sched_gap gaps[TASKS][CORES];
};

/* @real decides, and @follower gets its events; or @follower alone gets random events. */
struct pair {
	struct side real;
	struct side follower;
	struct ovt_sched_segment segments[TASKS][SEGMENTS];
	bool live[TASKS];
	u64 random;
	u64 now;
	u32 waits[OVT_SCHED_WAIT_WORKER + 1];	/* answers compared, by type */
	u32 closed_gaps;
};

static u32 draw(struct pair *pair, u32 below)
{
	pair->random = pair->random * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)((pair->random >> 33) % below);
}

static void start_side(struct side *side, const struct ovt_sched_settings *settings)
{
	u32 index;

	ovt_sched_init(&side->sched, CORES, settings);
	ovt_sched_add_queue(&side->sched, &side->queue, side->cores);
	for (index = 0; index < PROCESSES; index++)
		ovt_sched_add_process(&side->sched, &side->processes[index], &side->queue,
				      side->lines[index]);
}

static void was_dispatched(void *host, struct ovt_sched_task *task)
{
	struct pair *pair = host;

	ovt_sched_follow_dispatch(&pair->follower.tasks[task - pair->real.tasks], pair->now);
}

static void start(struct pair *pair, u64 seed)
{
	struct ovt_sched_settings settings;

	memset(pair, 0, sizeof(*pair));
	pair->random = seed;
	settings = (struct ovt_sched_settings){
		.policy = ovt_sched_policy_at(draw(pair, 4)),
		.slots = 1 + draw(pair, 3),
		.task_limit = 1 + draw(pair, 8),
		.workers = 1 + draw(pair, 2),
		.threshold_percent = 20,
		.insert_max_time = draw(pair, 30),
		.wait_dispatch_time = 60,
		.overdue_min_time = draw(pair, 2) * 40,
		.overdue_factor = 1,
		.share = draw(pair, 2),
	};
	start_side(&pair->real, &settings);
	start_side(&pair->follower, &settings);
	pair->real.sched.dispatched = was_dispatched;
	pair->real.sched.host = pair;
}

/* A task that takes one core has no span. */
static void give_span(struct side *side, u32 number, u32 width)
{
	struct ovt_sched_span *span = &side->spans[number];

	*span = (struct ovt_sched_span){ .width = width, .gaps = side->gaps[number] };
	side->tasks[number].span = width > 1 ? span : NULL;
}

static void arrive_at(struct pair *pair, struct side *side, u32 number)
{
	ovt_sched_arrive(&side->sched, &side->tasks[number], pair->now);
}

static void arrive(struct pair *pair, u32 number)
{
	struct ovt_sched_task task = {
		.segments = pair->segments[number],
		.segment_count = 1 + draw(pair, SEGMENTS),
		.priority = draw(pair, 12) ? draw(pair, 3) : OVT_SCHED_PRIORITY_HIGH,
		.core = draw(pair, CORES + 1),
		.custom_id = draw(pair, 2),
		.deadline = draw(pair, 50),
	};
	u32 process = draw(pair, PROCESSES);
	u32 width = task.core || draw(pair, 2) ? 1 : 2 + draw(pair, CORES - 1);
	u32 index;

	for (index = 0; index < task.segment_count; index++) {
		pair->segments[number][index].time = 1 + draw(pair, 60);
		pair->segments[number][index].fc_count = draw(pair, 2);
	}
	pair->live[number] = true;
	task.process = &pair->real.processes[process];
	pair->real.tasks[number] = task;
	task.process = &pair->follower.processes[process];
	pair->follower.tasks[number] = task;
	give_span(&pair->real, number, width);
	give_span(&pair->follower, number, width);
	arrive_at(pair, &pair->follower, number);
}

/* Places a task of @real on the first open cores, as many as the task takes. */
static u32 place(struct pair *pair, const struct ovt_sched_action *action)
{
	u32 first = (u32)__builtin_ctzll(action->cores) + 1;
	u64 left = action->cores;
	u32 count;

	if (!action->task->span) {
		ovt_sched_placed(&pair->real.sched, action->task, first);
		return first;
	}
	for (count = 0; count < action->task->span->width; count++)
		left &= left - 1;
	ovt_sched_placed_on(&pair->real.sched, action->task, first, action->cores & ~left);
	return first;
}

static void carry_out(struct pair *pair, const struct ovt_sched_action *action)
{
	u32 number = (u32)(action->task - pair->real.tasks);
	struct ovt_sched_task *follower = &pair->follower.tasks[number];
	u32 core = action->core;

	switch (action->type) {
	case OVT_SCHED_SUBMIT:
		if (!core)
			core = place(pair, action);
		ovt_sched_follow_job(follower, core, action->task->span ?
				     action->task->span->cores : 1ull << (core - 1));
		break;
	case OVT_SCHED_RUN_CPU:
		ovt_sched_follow_cpu(follower, action->segment, true, pair->now);
		break;
	case OVT_SCHED_OVERDUE:
		ovt_sched_follow_overdue(follower);
		break;
	case OVT_SCHED_END:
		ovt_sched_follow_end(follower);
		pair->live[number] = false;
		break;
	case OVT_SCHED_CANCEL_JOB:
		break;
	}
}

static void end_segment(struct pair *pair, u32 number)
{
	struct ovt_sched_task *real = &pair->real.tasks[number];
	struct ovt_sched_task *follower = &pair->follower.tasks[number];
	bool was_bpu = real->state == OVT_SCHED_BPU;
	struct ovt_sched_action action;

	if (!was_bpu && real->state != OVT_SCHED_CPU_RUNNING)
		return;
	if (was_bpu && real->bpu_left == 1)
		ovt_sched_follow_release(follower);
	if (ovt_sched_segment_ended(&pair->real.sched, real, true, pair->now, &action))
		carry_out(pair, &action);
	else if (real->state == OVT_SCHED_READY)
		ovt_sched_follow_ready(follower, draw(pair, 2) ? real->placed_core : 0);
	else
		ovt_sched_follow_cpu(follower, real->segment, false, pair->now);
}

static void compare_obstacles(struct pair *pair, const struct ovt_sched_wait *real,
			      const struct ovt_sched_wait *follower)
{
	u32 other;

	for (other = 0; other < TASKS; other++) {
		enum ovt_sched_obstacle obstacle;

		if (!pair->live[other])
			continue;
		obstacle = ovt_sched_obstacle_of(real, &pair->real.tasks[other]);
		assert_int_equal(ovt_sched_obstacle_of(follower, &pair->follower.tasks[other]),
				 obstacle);
		pair->closed_gaps += obstacle == OVT_SCHED_CLOSED_GAP;
	}
}

static void compare_tasks(const struct ovt_sched_task *real, const struct ovt_sched_task *follower)
{
	assert_int_equal(follower->state, real->state);
	assert_int_equal(ovt_tree_holds(&follower->link), ovt_tree_holds(&real->link));
	assert_int_equal(follower->dispatch_sequence, real->dispatch_sequence);
	assert_int_equal(follower->dispatch_time, real->dispatch_time);
}

static void compare(struct pair *pair)
{
	u32 number;

	for (number = 0; number < TASKS; number++) {
		struct ovt_sched_wait real;
		struct ovt_sched_wait follower;

		if (!pair->live[number])
			continue;
		ovt_sched_waits_for(&pair->real.sched, &pair->real.tasks[number], pair->now, &real);
		ovt_sched_waits_for(&pair->follower.sched, &pair->follower.tasks[number], pair->now,
				    &follower);
		assert_int_equal(follower.type, real.type);
		assert_int_equal(follower.cores, real.cores);
		assert_int_equal(follower.ahead ? follower.ahead - pair->follower.tasks : -1,
				 real.ahead ? real.ahead - pair->real.tasks : -1);
		compare_tasks(&pair->real.tasks[number], &pair->follower.tasks[number]);
		compare_obstacles(pair, &real, &follower);
		pair->waits[real.type]++;
	}
}

static void go(struct pair *pair)
{
	struct ovt_sched_action action;

	while (ovt_sched_next(&pair->real.sched, pair->now, &action))
		carry_out(pair, &action);
	compare(pair);
}

static void assert_empty(const struct side *side)
{
	u32 index;

	assert_int_equal(side->queue.dispatched, 0);
	assert_int_equal(side->queue.places_kept, 0);
	assert_int_equal(side->queue.cores_waiting | side->queue.cores_ready, 0);
	assert_true(ovt_tree_empty(&side->queue.high) && ovt_tree_empty(&side->queue.any.ready));
	for (index = 0; index < CORES; index++) {
		const struct ovt_sched_gaps *gaps = &side->cores[index].gaps;

		assert_int_equal(side->cores[index].holders, 0);
		assert_true(ovt_tree_empty(&side->cores[index].spanning) &&
			    ovt_tree_empty(&side->cores[index].wanting.ready));
		assert_true(ovt_tree_empty(&gaps->steady) && ovt_tree_empty(&gaps->falling) &&
			    ovt_tree_empty(&gaps->turns));
	}
	for (index = 0; index < PROCESSES; index++) {
		const struct ovt_sched_process *process = &side->processes[index];

		assert_int_equal(process->waiting + process->dispatched + process->workers_busy, 0);
		assert_true(ovt_tree_empty(&process->cpu_waiting));
		assert_true(ovt_list_empty(&process->tasks));
	}
}

static void cancel(struct pair *pair, u32 number)
{
	struct ovt_sched_action action;

	if (ovt_sched_cancel(&pair->real.sched, &pair->real.tasks[number], &action))
		carry_out(pair, &action);
}

static void it_answers_as_the_one_that_it_follows(void **state)
{
	static struct pair pair;
	u32 waits[OVT_SCHED_WAIT_WORKER + 1] = { 0 };
	u32 closed_gaps = 0;
	u32 index;
	u64 seed;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		u32 step;

		start(&pair, seed);
		for (step = 0; step < 400; step++) {
			u32 number = draw(&pair, TASKS);

			pair.now += draw(&pair, 8);
			if (!pair.live[number]) {
				arrive(&pair, number);
				arrive_at(&pair, &pair.real, number);
			} else if (draw(&pair, 10)) {
				end_segment(&pair, number);
			} else {
				cancel(&pair, number);
			}
			go(&pair);
		}
		for (index = 0; index < TASKS; index++) {
			if (pair.live[index])
				ovt_sched_follow_end(&pair.follower.tasks[index]);
		}
		assert_empty(&pair.follower);
		for (index = 0; index < COUNT(waits); index++)
			waits[index] += pair.waits[index];
		closed_gaps += pair.closed_gaps;
	}
	for (index = 0; index < COUNT(waits); index++)
		assert_in_range(waits[index], 1000, ~0u);
	assert_in_range(closed_gaps, 1000, ~0u);
}

/* Checks that a ready task, which has no gap to lose, stays in the trees of its cores. */
static void check_ready(const struct ovt_sched_task *task)
{
	if (task->state != OVT_SCHED_READY)
		return;
	assert_true(ovt_tree_holds(&task->link));
	if (task->span && task->placed_core && task->priority < OVT_SCHED_PRIORITY_HIGH)
		assert_true(ovt_tree_holds(&task->span->gaps[0].link));
}

static void tell_anything(struct pair *pair, u32 number)
{
	struct ovt_sched_task *task = &pair->follower.tasks[number];

	switch (draw(pair, 8)) {
	case 0:
		ovt_sched_follow_dispatch(task, pair->now);
		break;
	case 1:
		ovt_sched_follow_go(task);
		assert_false(ovt_tree_holds(&task->link));
		break;
	case 2:
		ovt_sched_follow_ready(task, draw(pair, CORES + 1));
		break;
	case 3:
		ovt_sched_follow_job(task, 1 + draw(pair, CORES), draw(pair, 1u << CORES));
		break;
	case 4:
		ovt_sched_follow_cpu(task, draw(pair, task->segment_count), draw(pair, 2),
				     pair->now);
		break;
	case 5:
		ovt_sched_follow_release(task);
		assert_false(ovt_tree_holds(&task->gap.link) || ovt_sched_in_gap(task));
		check_ready(task);
		break;
	case 6:
		ovt_sched_follow_overdue(task);
		check_ready(task);
		break;
	default:
		ovt_sched_follow_end(task);
		assert_int_equal(task->state, OVT_SCHED_ENDED);
		pair->live[number] = false;
		break;
	}
}

/* Events in any order leave nothing behind, and the waits of every task can be asked for. */
static void events_may_be_missing(void **state)
{
	static struct pair pair;
	struct ovt_sched_wait wait;
	u64 seed;
	u32 step;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		start(&pair, seed);
		for (step = 0; step < 1000; step++) {
			u32 number = draw(&pair, TASKS);

			pair.now += draw(&pair, 8);
			if (!pair.live[number])
				arrive(&pair, number);
			else
				tell_anything(&pair, number);
			if (pair.live[number])
				ovt_sched_waits_for(&pair.follower.sched,
						    &pair.follower.tasks[number], pair.now, &wait);
		}
		for (step = 0; step < TASKS; step++) {
			if (pair.live[step])
				ovt_sched_follow_end(&pair.follower.tasks[step]);
		}
		assert_empty(&pair.follower);
	}
}

/* Returns whether @segment of a task of @count segments, after a job, opens a gap. */
static bool opens_a_gap(const u32 *fc_counts, u32 count, u32 segment)
{
	static struct pair pair;
	struct ovt_sched_task *task = &pair.follower.tasks[0];
	u32 index;

	start(&pair, 1);
	pair.follower.sched.settings.policy = ovt_sched_policy_at(0);
	for (index = 0; index < 4; index++)
		pair.segments[0][index].fc_count = fc_counts[index];
	task->process = &pair.follower.processes[0];
	task->segments = pair.segments[0];
	task->segment_count = count;
	task->core = 1;
	arrive_at(&pair, &pair.follower, 0);
	ovt_sched_follow_job(task, 1, 1);
	ovt_sched_follow_cpu(task, segment, false, 0);
	return ovt_tree_holds(&task->gap.link);
}

static void a_gap_is_a_cpu_segment_before_a_bpu_segment(void **state)
{
	static const u32 between[] = { 1, 0, 1, 0 };
	static const u32 late[] = { 0, 0, 1, 0 };

	(void)state;
	assert_true(opens_a_gap(between, 3, 1));
	assert_false(opens_a_gap(between, 2, 1));
	assert_false(opens_a_gap(between, 4, 0));
	assert_false(opens_a_gap(between, 4, 3));
	assert_true(opens_a_gap(late, 3, 0));
}

static u64 cores_of(struct pair *pair)
{
	struct ovt_sched_wait wait;

	ovt_sched_waits_for(&pair->follower.sched, &pair->follower.tasks[0], 0, &wait);
	return wait.cores;
}

static void a_ready_task_wants_the_core_that_its_event_names(void **state)
{
	static struct pair pair;
	struct ovt_sched_task *task = &pair.follower.tasks[0];
	u32 core;

	(void)state;
	start(&pair, 1);
	pair.follower.sched.settings.slots = 0; /* none is free */
	pair.segments[0][0].fc_count = 1;
	task->process = &pair.follower.processes[0];
	task->segments = pair.segments[0];
	task->segment_count = 1;
	arrive_at(&pair, &pair.follower, 0);
	ovt_sched_follow_ready(task, 0);
	assert_int_equal(cores_of(&pair), 7);
	ovt_sched_follow_ready(task, 2);
	assert_int_equal(cores_of(&pair), 2);
	ovt_sched_follow_job(task, 1, 1);
	for (core = 3; core >= 1; core--) {
		ovt_sched_follow_ready(task, core);
		assert_int_equal(cores_of(&pair), 1 << (core - 1));
		assert_false(task->holds_slot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_answers_as_the_one_that_it_follows),
		cmocka_unit_test(events_may_be_missing),
		cmocka_unit_test(a_ready_task_wants_the_core_that_its_event_names),
		cmocka_unit_test(a_gap_is_a_cpu_segment_before_a_bpu_segment),
	};

	return cmocka_run_group_tests_name("sched: follow", tests, NULL, NULL);
}
