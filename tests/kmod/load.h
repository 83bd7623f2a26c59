/* SPDX-License-Identifier: MIT */
/* Processes that keep a device busy while a test disturbs it. */
#ifndef KMOD_LOAD_H
#define KMOD_LOAD_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Starts a client that makes all kinds of calls (ioctl, io_uring, cancels, maps, contexts), in
 * another order for each @seed, until it is killed.  If the device goes away, the client opens the
 * device again.
 */
pid_t load_start(unsigned int seed);
pid_t load_start_on(unsigned int index, unsigned int seed); /* device overtake.@index, else 0 */
void load_kill(pid_t pid);

/*
 * Starts a client that checks the results of all its jobs, and exits with a failed check if one is
 * wrong.  neighbour_stop() ends it and passes its verdict on.
 */
pid_t neighbour_start(void);
pid_t neighbour_start_on(unsigned int index);
void neighbour_stop(pid_t pid);

/* Waits until the device has no file, context and job any more. */
void wait_until_forgotten(void);
void wait_until_forgotten_on(unsigned int index);

/* Waits until @core of device 0 runs an FC: another FC can start only when this one ends. */
void wait_until_busy(unsigned int core);

/* Checks that the text is somewhere in device 0's debugfs file state. */
void check_state_says(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns one of the numbers of device 0's debugfs file stats. */
uint64_t stat_of(const char *name);

/* Make the process an ordinary user, or root again; files that it opens belong to that user. */
void let_all_users_open(void); /* opens the node of device 0 to all users */
void be_nobody(void);
void be_root(void);

#endif
