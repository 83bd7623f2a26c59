/* SPDX-License-Identifier: MIT */
/*
 * Test cases and their checks.  A case runs in a process of its own; a failed check says where and
 * why and ends it.
 */
#ifndef KMOD_CHECK_H
#define KMOD_CHECK_H

#include <stdbool.h>

/**
 * struct test_case - one behaviour
 * @name: the behaviour, as it stands in the report
 * @parameters: module parameters that it needs, NULL if it needs no module
 * @run: returns when the behaviour was seen
 */
struct test_case {
	const char *name;
	const char *parameters;
	void (*run)(void);
};

/* One table per test_*.c, ended by an entry without a name. */
extern const struct test_case job_cases[];
extern const struct test_case refusal_cases[];
extern const struct test_case fault_cases[];
extern const struct test_case schedule_cases[];
extern const struct test_case uring_cases[];
extern const struct test_case hostile_cases[];
extern const struct test_case lifetime_cases[];
extern const struct test_case usage_cases[];
extern const struct test_case finding_cases[];
extern const struct test_case soak_cases[];
extern const struct test_case fail_nth_cases[];
extern const struct test_case device_cases[];
extern const struct test_case power_cases[];
extern const struct test_case share_cases[];
extern const struct test_case fence_cases[];
extern const struct test_case injected_cases[];
extern const struct test_case reported_cases[];
extern const struct test_case simd_cases[];
extern const struct test_case sysfs_cases[];
extern const struct test_case client_cases[];
extern const struct test_case limit_cases[];
extern const struct test_case fair_cases[];
extern const struct test_case isolation_cases[];
extern const struct test_case reservation_cases[];
extern const struct test_case clock_cases[];
extern const struct test_case counter_cases[];
extern const struct test_case reader_cases[];
extern const struct test_case opcode_cases[];
extern const struct test_case fuse_cases[];

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

/* Ends the test case: this kernel has not got what it needs.  Reported as "ok NAME # SKIP reason". */
__attribute__((noreturn)) void check_skip(const char *reason);

/* Load the module with other parameters than the case's, or take it away (NULL). */
void module_use(const char *parameters);
/* The module, which must not be loaded, does not load with these: -EINVAL, and nothing is left. */
void module_is_refused(const char *parameters);

#endif
