/* SPDX-License-Identifier: MIT */
/* The attacker of kmod_attack_latency, or its control. */
#ifndef KMOD_ATTACK_LATENCY_H
#define KMOD_ATTACK_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

struct arguments {
	uint32_t count;
	bool is_control;
	int ready;	/* a byte: begin to measure; the end of the file: stop */
};

void say_ready(const struct arguments *arguments);

/* An attack that has a file of its own. */
void replays(const struct arguments *arguments);

#endif
