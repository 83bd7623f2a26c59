// SPDX-License-Identifier: MIT
/*
 * Runs the test cases of the module, each in a process of its own, and prints TAP.
 *
 *	kmod_tests [--list] [NAME-OR-PREFIX...]
 *
 * Needs root and OVERTAKE_KO, the path of overtake.ko.  Loads the module with the parameters of a
 * case and those of KMOD_PARAMETERS (simd=off, for example), and removes it at the end: an rmmod
 * that fails is a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Enough for two busy emulated CPUs and the debug kernel; KMOD_CASE_TIMEOUT overrides it. */
#define CASE_TIMEOUT_SECONDS	240

#define TABLE(table)	table,

static const struct test_case *const tables[] = { TEST_TABLES(TABLE) };

static char loaded[256];	/* parameters of the loaded module */
static bool is_loaded;
static int report_pipe;		/* a case writes to it why it failed */

void check_failed(const char *file, int line, const char *format, ...)
{
	const char *name = strrchr(file, '/');
	char text[512];
	va_list arguments;
	int length;

	length = snprintf(text, sizeof(text), "%s:%d: ", name ? name + 1 : file, line);
	va_start(arguments, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
	va_end(arguments);
	if (write(report_pipe, text, strlen(text)) < 0)
		perror("report");
	_exit(1);
}

#define SKIP_STATUS	77

void check_skip(const char *reason)
{
	if (write(report_pipe, reason, strlen(reason)) < 0)
		perror("report");
	_exit(SKIP_STATUS);
}

static int unload(void)
{
	int attempt;

	if (!is_loaded)
		return 0;
	/* The last file of a killed process may be closed a moment after it was reaped. */
	for (attempt = 0; attempt < 100; attempt++) {
		if (!syscall(SYS_delete_module, "overtake", O_NONBLOCK)) {
			is_loaded = false;
			return 0;
		}
		if (errno != EAGAIN && errno != EBUSY)
			break;
		usleep(20000);
	}
	return -errno;
}

static int load(const char *parameters)
{
	const char *path = getenv("OVERTAKE_KO");
	const char *more = getenv("KMOD_PARAMETERS");
	char all[512];
	int fd, ret;

	if (!path)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(all, sizeof(all), "%s %s", parameters, more ? more : "");
	ret = syscall(SYS_finit_module, fd, all, 0) ? -errno : 0;
	close(fd);
	if (!ret) {
		is_loaded = true;
		snprintf(loaded, sizeof(loaded), "%s", parameters);
	}
	return ret;
}

void module_is_refused(const char *parameters)
{
	int ret = load(parameters);

	check_message(ret == -EINVAL, "%s: %d", parameters, ret);
	check(access("/sys/module/overtake", F_OK));
}

void module_use(const char *parameters)
{
	int ret;

	if (is_loaded && parameters && !strcmp(parameters, loaded))
		return;
	ret = unload();
	check_message(!ret, "rmmod: %s", strerror(-ret));
	if (!parameters)
		return;
	ret = load(parameters);
	check_message(!ret, "insmod %s: %s", parameters, strerror(-ret));
}

/* Runs the case in this process, which inherits the loaded module and leaves it loaded. */
static void run_child(const struct test_case *test)
{
	const char *timeout = getenv("KMOD_CASE_TIMEOUT");

	alarm(timeout ? (unsigned int)strtoul(timeout, NULL, 10) : CASE_TIMEOUT_SECONDS);
	test->run();
	_exit(0);
}

/* Returns true if the case was skipped.  @text: why it failed or was skipped, else empty. */
static bool run_case(const struct test_case *test, char *text, size_t size)
{
	int pipes[2], status;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	text[0] = 0;
	if (pipe2(pipes, O_CLOEXEC)) {
		snprintf(text, size, "pipe: %s", strerror(errno));
		return false;
	}
	report_pipe = pipes[1];
	child = fork();
	if (!child) {
		setpgid(0, 0);
		run_child(test);
	}
	close(pipes[1]);
	waitpid(child, &status, 0);
	kill(-child, SIGKILL); /* processes that the case may have left behind */
	while (length < size - 1 && (got = read(pipes[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	close(pipes[0]);
	text[length] = 0;
	if (WIFSIGNALED(status))
		snprintf(text, size, "killed by signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGALRM ? ": took too long" : "");
	else if (WEXITSTATUS(status) && !length)
		snprintf(text, size, "exit status %d", WEXITSTATUS(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == SKIP_STATUS;
}

static bool prepare(const struct test_case *test, char *text, size_t size)
{
	int ret;

	if (is_loaded && test->parameters && !strcmp(test->parameters, loaded))
		return true;
	ret = unload();
	if (ret) {
		snprintf(text, size, "rmmod before: %s", strerror(-ret));
		return false;
	}
	if (!test->parameters)
		return true;
	ret = load(test->parameters);
	if (ret)
		snprintf(text, size, "insmod %s: %s", test->parameters, strerror(-ret));
	return !ret;
}

static bool selected(const char *name, int count, char **wanted)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strncmp(name, wanted[i], strlen(wanted[i])))
			return true;
	return !count;
}

static int run_one(const struct test_case *test)
{
	bool skipped = false;
	char text[1024] = "";

	if (prepare(test, text, sizeof(text)))
		skipped = run_case(test, text, sizeof(text));
	if (skipped)
		printf("ok %s # SKIP %s\n", test->name, text);
	else if (text[0])
		printf("not ok %s - %s\n", test->name, text);
	else
		printf("ok %s\n", test->name);
	fflush(stdout);
	return text[0] && !skipped;
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "--list");
	int run = 0, failed = 0;
	size_t table;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (table = 0; table < sizeof(tables) / sizeof(tables[0]); table++) {
		const struct test_case *test;

		for (test = tables[table]; test->name; test++) {
			if (list) {
				puts(test->name);
			} else if (selected(test->name, argc - 1, argv + 1)) {
				run++;
				failed += run_one(test);
			}
		}
	}
	if (list)
		return 0;
	ret = unload();
	if (ret) {
		printf("not ok module-is-unloaded - rmmod: %s\n", strerror(-ret));
		failed++;
	} else {
		puts("ok module-is-unloaded");
	}
	printf("# %d cases, %d failed\n", run, failed);
	return failed || !run ? 1 : 0;
}
