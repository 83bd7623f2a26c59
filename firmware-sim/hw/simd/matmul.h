/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef OVT_HW_SIMD_MATMUL_H
#define OVT_HW_SIMD_MATMUL_H

#include "hw/simd/inputs.h"

/*
 * Makes @as_conv a CONV with the inputs and outputs of the MATMUL @insn, and lays out its inputs.
 * Only fields that hw/simd/inputs.h reads are set.  Returns false if a pixel does not fit.
 */
bool ovt_matmul_plan(struct ovt_simd_inputs *inputs, struct overtake_insn *as_conv,
		     const struct overtake_insn *insn);

#endif
