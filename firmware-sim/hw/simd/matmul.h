/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef OVT_HW_SIMD_MATMUL_H
#define OVT_HW_SIMD_MATMUL_H

#include "hw/simd/inputs.h"

/*
 * Makes a CONV of MATMUL whose inputs and outputs are the same: only what hw/simd/inputs.h looks
 * at, and the layout of its inputs.  Returns false if a pixel does not fit.
 */
bool ovt_matmul_plan(struct ovt_simd_inputs *inputs, struct overtake_insn *as_conv,
		     const struct overtake_insn *insn);

#endif
