/* SPDX-License-Identifier: MIT */
/*
 * Events of the driver's tracepoints, as text, in a buffer of the test.
 *
 * Clients and processes have no fixed numbers, so that letters replace the numbers that a test has
 * named: "client=A ... pid=A".
 */
#ifndef KMOD_TRACE_H
#define KMOD_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACEFS		"/sys/kernel/tracing"

/* Begins to record these events of the driver: names separated by commas, or "all". */
void trace_begin(const char *names);
/* Ends the recording, and drops the recorded events. */
void trace_end(void);

/* Names the open file @fd of process @pid @letter, A to D. */
void trace_name(char letter, int fd, pid_t pid);

/* Returns the events so far, one a line, "name: field=value ..."; valid until the next call. */
const char *trace_text(void);
/* Checks that exactly @lines were recorded, in this order, and ends the recording. */
void check_trace(const char *const *lines);

/* Returns how often event @name was recorded. */
unsigned int trace_count(const char *name);

#endif
