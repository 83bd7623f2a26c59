/* SPDX-License-Identifier: MIT */
/*
 * What the driver's tracepoints say, as text, in a buffer of the test's own.
 *
 * Clients and processes have no fixed numbers, so those that a test has made known are replaced by
 * their letters: "client=A ... pid=A".
 */
#ifndef KMOD_TRACE_H
#define KMOD_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACEFS		"/sys/kernel/tracing"

/* From here on these events of the driver are recorded: names with commas, or "all". */
void trace_begin(const char *names);
/* Not recorded any more; what was is forgotten. */
void trace_end(void);

/* The open file @fd of process @pid is called @letter, A to D. */
void trace_name(char letter, int fd, pid_t pid);

/* The events so far, one a line, "name: field=value ..."; valid until the next call. */
const char *trace_text(void);
/* What was recorded is @lines, in this order, and nothing else; recording ends. */
void check_trace(const char *const *lines);

/* How often event @name was recorded. */
unsigned int trace_count(const char *name);

#endif
