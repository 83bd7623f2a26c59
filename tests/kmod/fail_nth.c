// SPDX-License-Identifier: MIT
#include "fail_nth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
/* A sweep repeats an operation for each failure, on a kernel that checks every access. */
#define SWEEP_SECONDS	1800

static void set_knob(const char *directory, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", directory, name);
	check_message(!write_file(path, value), "%s cannot be written", path);
}

void fail_nth_need(void)
{
	if (access(FAIL_NTH, W_OK))
		check_skip("this kernel has no fault injection");
	alarm(SWEEP_SECONDS);
	set_knob("failslab", "ignore-gfp-wait", "N");
	set_knob("failslab", "verbose", "0");
	set_knob("fail_page_alloc", "ignore-gfp-wait", "N");
	set_knob("fail_page_alloc", "ignore-gfp-highmem", "N");
	set_knob("fail_page_alloc", "min-order", "0");
	set_knob("fail_page_alloc", "verbose", "0");
	set_knob("fail_usercopy", "verbose", "0");
}

/* Finds where function @name of the kernel begins, and where the function behind it begins. */
static void find_function(const char *name, unsigned long long *start, unsigned long long *end)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	unsigned long long address;
	char symbol[256];

	check(symbols);
	*start = 0;
	while (fscanf(symbols, "%llx %*c %255s%*[^\n]", &address, symbol) == 2)
		if (!strcmp(symbol, name))
			*start = address;
	check_message(*start, "the kernel has no %s", name);
	rewind(symbols);
	*end = ~0ull;
	while (fscanf(symbols, "%llx %*c %255s%*[^\n]", &address, symbol) == 2)
		if (address > *start && address < *end)
			*end = address;
	fclose(symbols);
}

void fail_nth_spare(const char *name)
{
	static const char *const directories[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	unsigned long long start = 0, end = 0;
	char text[32];
	unsigned int i;

	if (name)
		find_function(name, &start, &end);
	for (i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		snprintf(text, sizeof(text), "%#llx", start);
		set_knob(directories[i], "reject-start", text);
		snprintf(text, sizeof(text), "%#llx", end);
		set_knob(directories[i], "reject-end", text);
	}
}

/*
 * The file is open for the whole test, so that only the system call under test is counted.  Reads
 * and writes of the file copy to and from user memory, too: a failure left over may hit them.
 */
void fail_nth_set(int fd, int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", nth);
	ssize_t written;

	do {
		written = pwrite(fd, text, (size_t)length, 0);
	} while (written < 0 && errno == EFAULT);
	check_message(written == length, "fail-nth: %s", strerror(errno));
}

/* Returns whether some of the count is left, which means that no failure was injected. */
bool fail_nth_is_left(int fd)
{
	char text[16] = "";
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	if (got < 0 && errno == EFAULT)
		return true;
	check_message(got > 0, "fail-nth: %s", strerror(errno));
	return atoi(text);
}

int fail_nth_open(void)
{
	int fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);

	check_message(fd >= 0, "%s: %s", FAIL_NTH, strerror(errno));
	return fd;
}
