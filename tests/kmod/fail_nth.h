/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: the @nth attempt of this thread to get memory (slab or page) or to copy to or
 * from user memory fails, once.
 */
#ifndef KMOD_FAIL_NTH_H
#define KMOD_FAIL_NTH_H

#include <stdbool.h>

/* Switches the injections on; skips the test case where the kernel has none. */
void fail_nth_need(void);
/*
 * Excludes attempts while function @name of the kernel is on the stack; NULL: excludes none.  This
 * is for failures that Linux itself does not survive.
 */
void fail_nth_spare(const char *name);
/* Opens the file that counts this thread's attempts, for the functions below. */
int fail_nth_open(void);
/* Lets attempt number @nth from now on fail; 0 stops the count. */
void fail_nth_set(int fd, int nth);
/* Returns whether some of the count is left, which means that no failure was injected. */
bool fail_nth_is_left(int fd);

#endif
