/* SPDX-License-Identifier: MIT */
/*
 * The meaning of each opcode, implemented again and as plainly as possible: one output element at a
 * time, exact integers, weights in their mathematical order.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "random_job.h"

/* Returns numerator / 2^shift, rounded to the nearest integer, halves to the even one. */
s64 reference_round(__int128 numerator, u32 shift);

/* Returns the bytes of an output element: 1, 2 for 16 bits, 4 for a float tensor. */
u32 reference_element_bytes(const struct random_job *job);

/* Writes element (y, x, c) of the output to @bytes. */
void reference_element(const struct random_job *job, u32 y, u32 x, u32 c, u8 *bytes);

/*
 * Returns the work that the instruction counts: unit by unit as hw/operators.h promises, computed
 * from the shapes alone.
 */
u64 reference_work(const struct random_job *job);

#endif
