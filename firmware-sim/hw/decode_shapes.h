/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The decoder's second half: checks whether the operands of one instruction fit each other. */
#ifndef OVT_HW_DECODE_SHAPES_H
#define OVT_HW_DECODE_SHAPES_H

#include <ovt_port.h>
#include "overtake_isa.h"

/* Whether the operands' shapes fit the opcode and its fields, each of which is in its range. */
bool ovt_shapes_fit(const struct overtake_insn *insn);

#endif
