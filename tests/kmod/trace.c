// SPDX-License-Identifier: MIT
#include "trace.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define INSTANCE	TRACEFS "/instances/overtake-test"
#define NAMES		4
#define TEXT_SIZE	(1u << 20)

static struct {
	char from[48];
	char to[32];
} names[4 * NAMES];
static unsigned int name_count;

static void set(const char *file, const char *value)
{
	char path[160];
	int ret;

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	ret = write_file(path, value);
	check_message(!ret, "%s to %s: %s", value, path, strerror(-ret));
}

static void set_event(const char *name, const char *value)
{
	char file[96];

	snprintf(file, sizeof(file), "events/overtake/%s", name);
	set(file, value);
}

void trace_begin(const char *events)
{
	char name[64];
	int length;

	if (access(TRACEFS "/events", F_OK))
		check_skip("this kernel has no tracefs");
	rmdir(INSTANCE); /* a case that failed may have left it */
	check_message(!mkdir(INSTANCE, 0700), "no instance of tracefs: %s", strerror(errno));
	if (!strcmp(events, "all"))
		set_event("enable", "1");
	else
		for (; sscanf(events, "%40[^,]%n", name, &length) == 1;
		     events += length + (events[length] == ',')) {
			strcat(name, "/enable");
			set_event(name, "1");
		}
	name_count = 0;
}

void trace_end(void)
{
	set_event("enable", "0");
	check_message(!rmdir(INSTANCE), "the instance of tracefs stays: %s", strerror(errno));
}

static void add_name(const char *before, unsigned long long number, char letter)
{
	check(name_count < sizeof(names) / sizeof(names[0]));
	snprintf(names[name_count].from, sizeof(names[0].from), "%s%llu", before, number);
	snprintf(names[name_count].to, sizeof(names[0].to), "%s%c", before, letter);
	name_count++;
}

/* "client=" and "pid=" also end "by_client=" and "by_pid="; the others are in names of slices. */
void trace_name(char letter, int fd, pid_t pid)
{
	char path[64], text[4096], comm[20];
	unsigned long long client;
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	check_equal(read_file(path, text, sizeof(text)), 0);
	line = strstr(text, "drm-client-id:");
	check(line && sscanf(line, "drm-client-id: %llu", &client) == 1);
	add_name("client=", client, letter);
	add_name("client ", client, letter);
	add_name("pid=", (unsigned long long)pid, letter);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	check_equal(read_file(path, comm, sizeof(comm)), 0);
	comm[strcspn(comm, "\n")] = ' ';
	add_name(comm, (unsigned long long)pid, letter);
}

/* Returns the name for "field=number" at the beginning of @at; @length: length of that text. */
static const char *name_for(const char *at, size_t *length)
{
	unsigned int i;

	for (i = 0; i < name_count; i++) {
		*length = strlen(names[i].from);
		if (!strncmp(at, names[i].from, *length) && !isdigit(at[*length]))
			return names[i].to;
	}
	return NULL;
}

/* Appends the text after "... timestamp: " of a line. */
static char *append_event(char *to, const char *event)
{
	const char *name;
	size_t length;

	while (*event && *event != '\n') {
		name = name_for(event, &length);
		if (!name) {
			*to++ = *event++;
			continue;
		}
		to = stpcpy(to, name);
		event += length;
	}
	*to++ = '\n';
	*to = 0;
	return to;
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

const char *trace_text(void)
{
	static char raw[TEXT_SIZE], text[TEXT_SIZE];
	const char *line, *event;
	char *end = text;

	text[0] = 0;
	check_equal(read_file(INSTANCE "/trace", raw, sizeof(raw)), 0);
	check(strlen(raw) < TEXT_SIZE - 1);
	for (line = raw; *line; line = next_line(line)) {
		if (*line == '#')
			continue;
		/* task-pid [cpu] flags time: name: fields; a task's name may hold ": " */
		event = strchr(line, ']');
		check_message(event, "%.200s", line);
		event = strstr(event, ": ");
		check_message(event, "%.200s", line);
		end = append_event(end, event + 2);
	}
	return text;
}

void check_trace(const char *const *lines)
{
	const char *all = trace_text(), *text = all;

	for (; *lines; lines++, text = next_line(text)) {
		size_t length = strlen(*lines);

		if (!strncmp(text, *lines, length) && text[length] == '\n')
			continue;
		fprintf(stderr, "recorded:\n%s", all);
		check_message(false, "expected \"%s\", then came:\n%.200s", *lines, text);
	}
	check_message(!*text, "and then came:\n%.300s", text);
	trace_end();
}

unsigned int trace_count(const char *name)
{
	const char *line;
	size_t length = strlen(name);
	unsigned int count = 0;

	for (line = trace_text(); *line; line = next_line(line))
		count += !strncmp(line, name, length) && line[length] == ':';
	return count;
}
