/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* One twin per opcode, or per few: as ovt_simd_covers() and ovt_simd_run(), of these opcodes. */
#ifndef OVT_HW_SIMD_TWINS_H
#define OVT_HW_SIMD_TWINS_H

#include "hw/simd/simd.h"

bool ovt_simd_conv_covers(const struct overtake_insn *insn);
bool ovt_simd_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work);

#endif
