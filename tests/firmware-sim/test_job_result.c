// SPDX-License-Identifier: MIT
/* The result that a client gets for a job that has ended. */
#include "cmocka_all.h"
#include "host/job_result.h"

static const struct {
	const char *what;
	enum ovt_job_status status;
	s32 cancel_error;
	bool gone;
	s32 error;
} rows[] = {
	{ "it ran", OVT_JOB_OK, 0, false, 0 },
	{ "it ran, although it was to be cancelled", OVT_JOB_OK, -ECANCELED, false, 0 },
	{ "it ran, on a device that goes away", OVT_JOB_OK, 0, true, 0 },
	{ "its context died", OVT_JOB_CANCELLED, 0, false, -ECANCELED },
	{ "the device goes away", OVT_JOB_CANCELLED, 0, true, -ENODEV },
	{ "cancelled by its client", OVT_JOB_CANCELLED, -ECANCELED, false, -ECANCELED },
	{ "cancelled by its deadline", OVT_JOB_CANCELLED, -ETIME, false, -ETIME },
	{ "cancelled before the device went away", OVT_JOB_CANCELLED, -ETIME, true, -ETIME },
	{ "stopped in an FC by its deadline", OVT_JOB_STOPPED, -ETIME, false, -ETIME },
	{ "stopped in an FC, its context died", OVT_JOB_STOPPED, 0, false, -ECANCELED },
	{ "a bad instruction", OVT_JOB_FAULTED, 0, false, -ENOEXEC },
	{ "a bad instruction before the cancel", OVT_JOB_FAULTED, -ECANCELED, false, -ENOEXEC },
	{ "the watchdog", OVT_JOB_HUNG, 0, false, -ETIMEDOUT },
	{ "the watchdog of a device that goes away", OVT_JOB_HUNG, 0, true, -ETIMEDOUT },
	{ "a reset", OVT_JOB_RESET, 0, false, -EIO },
	{ "the reset of a device that goes away", OVT_JOB_RESET, 0, true, -ENODEV },
};

static void the_end_of_a_job_has_its_errno(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		const struct ovt_fw_job job = { .status = rows[i].status };

		print_message("  %s\n", rows[i].what);
		assert_int_equal(ovt_job_error(&job, rows[i].cancel_error, rows[i].gone),
				 rows[i].error);
	}
}

static void the_record_says_what_the_firmware_knows(void **state)
{
	const struct ovt_fw_job job = {
		.arrival_ns = 1, .start_ns = 2, .end_ns = 3, .executed_ns = 4, .preemptions = 5,
		.done = 6, .placed_core = 7, .fault = 8, .fault_insn = 9, .started = 10,
	};
	const struct overtake_result expected = {
		.tag = 0xfeed, .queued_ns = 1, .start_ns = 2, .end_ns = 3, .executed_ns = 4,
		.preemptions = 5, .fcs_done = 6, .core = 7, .status = -ETIME, .fault = 8,
		.fault_insn = 9,
	};
	const struct overtake_result result = ovt_job_result(&job, 0xfeed, -ETIME);

	(void)state;
	assert_memory_equal(&result, &expected, sizeof(result));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_job_has_its_errno),
		cmocka_unit_test(the_record_says_what_the_firmware_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
