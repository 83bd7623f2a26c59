// SPDX-License-Identifier: MIT
/*
 * Host and firmware run on threads of their own, with the thread sanitizer: it checks that accesses
 * to a slot, a job or a core are ordered, whatever the CPU does.  The host shares no lock with the
 * firmware, as firmware-sim/fw/queue.c describes it: the host itself counts the room for commands.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "fw/fw.h"

#define COMMANDS	8u	/* so few that slots are used again at once */
#define EVENTS		16u
#define JOBS		3u	/* pieces of memory for jobs */
#define FCS		2u
#define LONG_FCS	300u	/* of a job whose events fill their queue many times */
#define LIMITS		1000u
#define SUBMISSIONS	5000u
#define STOPS		40u

struct device {
	struct ovt_fw fw;
	struct ovt_core cores[2];
	struct ovt_fw_core states[2];
	struct ovt_command commands[COMMANDS];
	struct ovt_event events[EVENTS];
	struct ovt_fw_context context;
	pthread_mutex_t lock;
	bool stop;	/* by __atomic builtins: not part of the protocol */
};

struct job {
	struct ovt_fw_job fw;
	struct overtake_insn program[2];
	struct ovt_fc fcs[LONG_FCS];
	u32 started;
	u32 held;	/* references: until ENDED, and until CANCELLED */
	bool cancel_requested;
};

static void device_init(struct device *device, u64 watchdog_cycles)
{
	struct ovt_fw_config config = {
		.profile = ovt_profile_find("ideal"),
		.mode = OVT_MODE_FUNCTIONAL,
		.core_count = 2,
		.watchdog_cycles = watchdog_cycles,
		.cores = device->cores,
		.core_states = device->states,
		.commands = device->commands,
		.command_count = COMMANDS,
		.events = device->events,
		.event_count = EVENTS,
	};

	memset(device, 0, sizeof(*device));
	ovt_fw_init(&device->fw, &config);
	ovt_fw_context_init(&device->context);
	pthread_mutex_init(&device->lock, NULL);
}

static bool stopped(const struct device *device)
{
	return __atomic_load_n(&device->stop, __ATOMIC_RELAXED);
}

static void start(pthread_t *thread, void *(*run)(void *), struct device *device)
{
	assert_int_equal(pthread_create(thread, NULL, run, device), 0);
}

static void stop(pthread_t thread, struct device *device)
{
	__atomic_store_n(&device->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* Runs the firmware and all its cores in one thread, without a lock. */
static void *run_firmware(void *argument)
{
	struct device *device = argument;
	u64 now = 1;

	while (!stopped(device)) {
		u32 core;

		if (ovt_fw_advance(&device->fw, now++) == OVT_ADVANCE_EVENTS)
			sched_yield();
		for (core = 1; core <= 2; core++) {
			if (!ovt_fw_runnable(&device->fw, core))
				continue;
			while (ovt_core_step(&device->cores[core - 1], 64) == OVT_STEP_MORE)
				;
			ovt_fw_executed(&device->fw, core, now);
		}
	}
	return NULL;
}

/* Sets all of @job: a thread that still looked at the job before would race with this. */
static void job_init(struct job *job, struct device *device, u32 number, u32 fc_count)
{
	u32 index;

	memset(job, 0, sizeof(*job));
	for (index = 0; index < 2; index++) {
		job->program[index].opcode = OVERTAKE_OP_DELAY;
		job->program[index].delay_cycles = 1 + number % 7;
	}
	for (index = 0; index < fc_count; index++)
		job->fcs[index] = (struct ovt_fc){ index % 2, 1 };
	job->fw.context = &device->context;
	job->fw.fcs = job->fcs;
	job->fw.fc_count = fc_count;
	job->fw.core = number % 3;
	job->fw.priority = number % 5 ? 7 : OVT_PRIORITY_HIGH;
	job->fw.regions[OVERTAKE_REGION_PROGRAM] = (struct ovt_region){
		.base = (u8 *)job->program,
		.length = sizeof(job->program),
		.flags = OVT_REGION_READ,
	};
	job->held = 1;
}

static u32 command_room(const struct ovt_fw *fw)
{
	return COMMANDS - (fw->command_tail - ovt_load_acquire(&fw->command_head));
}

/* Checks that each event comes once, in its place, and complete. */
static void check_event(const struct ovt_event *event)
{
	struct job *job = (struct job *)event->job;

	assert_true(job->held);
	switch (event->type) {
	case OVT_EVENT_STARTED:
		assert_int_equal(event->fc_index, job->started);
		assert_in_range(event->core, 1, 2);
		job->started++;
		break;
	case OVT_EVENT_ENDED:
		assert_int_equal(job->fw.state, OVT_JOB_ENDED);
		assert_int_equal(job->fw.done, job->started);
		if (job->fw.status == OVT_JOB_CANCELLED)
			assert_true(job->cancel_requested);
		else
			assert_int_equal(job->fw.done, job->fw.fc_count);
		job->held--;
		break;
	case OVT_EVENT_CANCELLED:
		assert_true(job->cancel_requested);
		job->held--;
		break;
	default:
		break;
	}
}

/* Does what the host can do at once; returns false if there was nothing. */
static bool host_acts(struct device *device, struct job *jobs, u32 *submitted)
{
	struct ovt_event event;
	bool acted = false;
	u32 index;

	while (ovt_fw_pop_event(&device->fw, &event)) {
		check_event(&event);
		acted = true;
	}
	for (index = 0; index < JOBS; index++) {
		struct job *job = &jobs[index];

		if (!command_room(&device->fw))
			break;
		if (!job->held && *submitted < SUBMISSIONS) {
			job_init(job, device, (*submitted)++, FCS);
			ovt_fw_submit(&device->fw, &job->fw, 0);
			acted = true;
		} else if (job->held && !job->cancel_requested && (*submitted + index) % 4 == 0) {
			job->cancel_requested = true;
			job->held++;
			ovt_fw_cancel(&device->fw, &job->fw, 0);
			acted = true;
		}
	}
	return acted;
}

/* No event answers these commands: only the head of their queue shows that slots are free. */
static void commands_without_an_answer_do_not_overrun_their_queue(void **state)
{
	static struct device device;
	pthread_t firmware;
	u32 index;

	(void)state;
	device_init(&device, 1000);
	start(&firmware, run_firmware, &device);
	for (index = 0; index <= LIMITS; index++) {
		while (!command_room(&device.fw))
			sched_yield();
		ovt_fw_limit(&device.fw, 1 + index % 2, index, 0);
	}
	while (command_room(&device.fw) != COMMANDS)
		sched_yield();
	stop(firmware, &device);
	assert_int_equal(ovt_core_read(&device.cores[0], OVT_REG_LIMIT), LIMITS);
	assert_int_equal(ovt_core_read(&device.cores[1], OVT_REG_LIMIT), LIMITS - 1);
}

/* While no command comes, only the head of the event queue shows that its slots are free. */
static void events_without_a_command_do_not_overrun_their_queue(void **state)
{
	static struct device device;
	static struct job job;
	struct ovt_event event;
	pthread_t firmware;

	(void)state;
	device_init(&device, 1000);
	start(&firmware, run_firmware, &device);
	job_init(&job, &device, 1, LONG_FCS);
	ovt_fw_submit(&device.fw, &job.fw, 0);
	while (job.held) {
		if (ovt_fw_pop_event(&device.fw, &event))
			check_event(&event);
		else
			sched_yield();
	}
	stop(firmware, &device);
	assert_int_equal(job.started, LONG_FCS);
}

static void host_and_firmware_share_no_lock(void **state)
{
	static struct device device;
	static struct job jobs[JOBS];
	u32 submitted = 0;
	pthread_t firmware;

	(void)state;
	device_init(&device, 1000);
	start(&firmware, run_firmware, &device);
	while (submitted < SUBMISSIONS || jobs[0].held || jobs[1].held || jobs[2].held) {
		if (!host_acts(&device, jobs, &submitted))
			sched_yield();
	}
	stop(firmware, &device);
	assert_int_equal(device.fw.command_head, device.fw.command_tail);
	assert_int_equal(device.fw.event_head, device.fw.event_tail);
}

/* Runs a core as hosts do: calls of the firmware under a lock, steps of the core outside. */
static void *run_core(void *argument)
{
	struct device *device = argument;

	while (!stopped(device)) {
		bool runnable;

		pthread_mutex_lock(&device->lock);
		runnable = ovt_fw_runnable(&device->fw, 1);
		pthread_mutex_unlock(&device->lock);
		if (!runnable) {
			sched_yield();
			continue;
		}
		while (ovt_core_step(&device->cores[0], 64) == OVT_STEP_MORE)
			ovt_core_watch(&device->cores[0], 0, 0, 1);
		pthread_mutex_lock(&device->lock);
		ovt_fw_executed(&device->fw, 1, device->fw.now_ns + 1);
		pthread_mutex_unlock(&device->lock);
	}
	return NULL;
}

/* Advances the firmware, under the lock; returns whether ENDED was reported. */
static bool advance_until_ended(struct device *device)
{
	struct ovt_event event;
	bool ended = false;

	while (ovt_fw_advance(&device->fw, device->fw.now_ns + 1) == OVT_ADVANCE_EVENTS ||
	       device->fw.event_head != device->fw.event_tail) {
		while (ovt_fw_pop_event(&device->fw, &event))
			ended |= event.type == OVT_EVENT_ENDED;
	}
	return ended;
}

/* Stops the FC by a RESET in every other round, else by a CANCEL and a time to stop. */
static void stop_endless(struct device *device, struct job *job, u32 round)
{
	if (round % 2) {
		ovt_fw_reset(&device->fw, 1, 0);
		return;
	}
	ovt_fw_cancel(&device->fw, &job->fw, 0);
	ovt_fw_stop(&device->fw, &job->fw, 1);
}

static void submit_endless(struct device *device, struct job *job)
{
	job_init(job, device, 1, 1);
	job->program[1] = (struct overtake_insn){ .opcode = OVERTAKE_OP_JUMP };
	job->fcs[0].insn_count = 2;
	pthread_mutex_lock(&device->lock);
	ovt_fw_submit(&device->fw, &job->fw, 0);
	pthread_mutex_unlock(&device->lock);
}

static void a_core_that_executes_is_stopped_from_another_thread(void **state)
{
	static struct device device;
	static struct job job;
	pthread_t core;
	u32 round;

	(void)state;
	device_init(&device, ~0ull);
	start(&core, run_core, &device);
	for (round = 0; round < STOPS; round++) {
		bool ended = false, stopping = false;

		submit_endless(&device, &job);
		while (!ended) {
			pthread_mutex_lock(&device.lock);
			ended = advance_until_ended(&device);
			if (!stopping && ovt_core_read(&device.cores[0], OVT_REG_RETIRED)) {
				stopping = true;
				stop_endless(&device, &job, round);
			}
			pthread_mutex_unlock(&device.lock);
			sched_yield();
		}
		assert_int_equal(job.fw.status, round % 2 ? OVT_JOB_RESET : OVT_JOB_STOPPED);
	}
	stop(core, &device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_without_an_answer_do_not_overrun_their_queue),
		cmocka_unit_test(events_without_a_command_do_not_overrun_their_queue),
		cmocka_unit_test(host_and_firmware_share_no_lock),
		cmocka_unit_test(a_core_that_executes_is_stopped_from_another_thread),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
