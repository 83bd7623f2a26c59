/* SPDX-License-Identifier: MIT */
/* cmocka.h needs these headers before it. */
#ifndef TESTS_CMOCKA_ALL_H
#define TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Number of elements of an array. */
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

#endif
