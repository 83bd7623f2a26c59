/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef OVT_HW_SIMD_TABLE_H
#define OVT_HW_SIMD_TABLE_H

#include <ovt_port.h>

/* With AVX512-VBMI: looks up @elements that follow each other in a table of 256 bytes. */
void ovt_table_vbmi(const u8 *table, const s8 *in, s8 *out, u32 elements);

#endif
