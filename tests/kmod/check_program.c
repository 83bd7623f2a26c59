// SPDX-License-Identifier: MIT
/* Checks of a program that is no test case: it prints on stderr what failed, and ends. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

void check_failed(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	_exit(1);
}

void check_skip(const char *reason)
{
	check_failed(__FILE__, __LINE__, "%s", reason);
}
