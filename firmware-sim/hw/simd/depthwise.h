/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* DEPTHWISE of the usual windows, which needs no copy of its inputs. */
#ifndef OVT_HW_SIMD_DEPTHWISE_H
#define OVT_HW_SIMD_DEPTHWISE_H

#include "hw/simd/vector_operators.h"

ovt_simd_covers_function ovt_depthwise_direct_covers;
ovt_simd_run_function ovt_depthwise_direct;

#endif
