/* SPDX-License-Identifier: MIT */
/* The attacker of kmod_attack_latency, or its control. */
#ifndef KMOD_ATTACK_LATENCY_H
#define KMOD_ATTACK_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

struct arguments {
	uint32_t count;
	bool is_control;
	int ready;	/* pipe: a byte begins the measurement, its end stops it */
};

void say_ready(const struct arguments *arguments);

/* An attack or its control; it has a source file of its own. */
void replays(const struct arguments *arguments);

#endif
