/* SPDX-License-Identifier: MIT */
/*
 * Test cases and their checks.  A case runs in a process of its own; a failed check reports where
 * and why it failed and ends the case.
 */
#ifndef KMOD_CHECK_H
#define KMOD_CHECK_H

#include <stdbool.h>

/**
 * struct test_case - one behaviour
 * @name: the behaviour, as the report names it
 * @parameters: module parameters that it needs, NULL if it needs no module
 * @run: returns when the behaviour was seen
 */
struct test_case {
	const char *name;
	const char *parameters;
	void (*run)(void);
};

/* The table of each test_*.c, ended by an entry without a name; in the order in which they run. */
#define TEST_TABLES(X) \
	X(job_cases) \
	X(refusal_cases) \
	X(fault_cases) \
	X(schedule_cases) \
	X(uring_cases) \
	X(hostile_cases) \
	X(lifetime_cases) \
	X(usage_cases) \
	X(device_cases) \
	X(core_profile_cases) \
	X(power_cases) \
	X(share_cases) \
	X(pipeline_cases) \
	X(fence_cases) \
	X(injected_cases) \
	X(reported_cases) \
	X(simd_cases) \
	X(sysfs_cases) \
	X(client_cases) \
	X(limit_cases) \
	X(fair_cases) \
	X(group_cases) \
	X(group_refusal_cases) \
	X(group_soak_cases) \
	X(record_cases) \
	X(record_batch_cases) \
	X(record_batch_task_cases) \
	X(record_sequence_cases) \
	X(record_thread_cases) \
	X(isolation_memory_cases) \
	X(isolation_objects_cases) \
	X(isolation_reuse_cases) \
	X(reservation_cases) \
	X(clock_cases) \
	X(opcode_cases) \
	X(fuse_cases) \
	X(counter_cases) \
	X(reader_cases) \
	X(end_cases) \
	X(placement_cases) \
	X(trace_cases) \
	X(task_cases) \
	X(task_group_cases) \
	X(finding_cases) \
	X(fail_nth_cases) \
	X(soak_cases)

#define DECLARE_TABLE(table)	extern const struct test_case table[];
TEST_TABLES(DECLARE_TABLE)

/* Ends the test case. */
__attribute__((noreturn, format(printf, 3, 4)))
void check_failed(const char *file, int line, const char *format, ...);

#define check_message(condition, ...) \
	do { \
		if (!(condition)) \
			check_failed(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

#define check(condition)	check_message(condition, "%s", #condition)

#define check_equal(actual, expected) \
	do { \
		long long actual_ = (long long)(actual); \
		long long expected_ = (long long)(expected); \
		check_message(actual_ == expected_, "%s is %lld, expected %lld", #actual, \
			      actual_, expected_); \
	} while (0)

/* Ends the test case: this kernel lacks what it needs.  Reported as "ok NAME # SKIP reason". */
__attribute__((noreturn)) void check_skip(const char *reason);

/* Loads the module with other parameters than those of the case, or removes it (NULL). */
void module_use(const char *parameters);
/* Checks that the module, not loaded yet, refuses @parameters: -EINVAL, and nothing is left. */
void module_is_refused(const char *parameters);

#endif
