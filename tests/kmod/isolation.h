/* SPDX-License-Identifier: MIT */
/*
 * One client's attempts to reach another's memory, jobs and fences.  Each attempt is a test case of
 * its own, with a name, and with the refusal that the documentation promises.  After it the
 * victim's memory is compared, and the attacker's memory is searched for the victim's secret.
 */
#ifndef KMOD_ISOLATION_H
#define KMOD_ISOLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "device.h"

/* No context is banned: each attempt has to fail by itself. */
#define ISOLATION_SETUP \
	"devices=2 cores=2 mode=functional,timed profile=ideal manual_clock=0,1 ban_offences=0"
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define SECRET		0x5ec4e75ec4e75ec4ull
#define SECRET_BYTES	(16u * 4096u)
#define VICTIM_TAG	0x7777ull

/* Outcomes: a negative errno, a fault's number, or one of these. */
#define BREACH		0	/* the call was granted, the job ran, the memory was reached */
#define NOTHING_GAINED	1000	/* granted, but of no use to the attacker */

/**
 * struct scene - a victim with something to hide, and an attacker
 * @victim: has a job in flight, VICTIM_TAG in its second context, that waits for a fence
 * @secret: the victim's buffer, full of SECRET
 * @second_context: id of a context that the attacker does not have
 * @sync: the victim's syncobj, whose number is not the attacker's
 * @elsewhere: a client of another device, whose clock stands still
 */
struct scene {
	struct client victim;
	struct buffer secret;
	uint32_t second_context;
	uint32_t sync;
	struct client attacker;
	struct client elsewhere;
};

void fill_secret(void *memory, size_t size);
bool shows_secret(const void *memory, size_t size);
bool is_zero(const uint8_t *memory, size_t size);

/* Returns a job of the attacker that is not changed into anything bad yet. */
struct job attackers_job(struct scene *scene);
/* Runs a job and returns its outcome; run_copy_of() is for a job copied after job_init(). */
int run_job(struct scene *scene, struct job *job);
int run_copy_of(struct scene *scene, struct job job);

/* Ends the test case unless @attempt has the @expected outcome and has reached nothing. */
void make_attempt(int expected, int (*attempt)(struct scene *scene));

/* For lists of X(FUNCTION, EXPECTED, NAME): a test case for each. */
#define DEFINE_ATTEMPT(function, expected, name) \
	static void attempt_##function(void) \
	{ \
		make_attempt(expected, function); \
	}
#define ATTEMPT_CASE(function, expected, name) \
	{ name, ISOLATION_SETUP, attempt_##function },

#endif
