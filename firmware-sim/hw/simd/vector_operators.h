/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A pair of functions for one or a few opcodes: what ovt_simd_covers() and ovt_simd_run() call. */
#ifndef OVT_HW_SIMD_VECTOR_OPERATORS_H
#define OVT_HW_SIMD_VECTOR_OPERATORS_H

#include "hw/simd/simd.h"

typedef bool ovt_simd_covers_function(const struct overtake_insn *insn);
typedef bool ovt_simd_run_function(const struct overtake_insn *insn,
				   const struct ovt_operands *operands,
				   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor,
				   s64 *work);

ovt_simd_covers_function ovt_simd_conv_covers;
ovt_simd_run_function ovt_simd_conv;
ovt_simd_covers_function ovt_simd_transposed_covers;
ovt_simd_run_function ovt_simd_transposed;
ovt_simd_covers_function ovt_simd_depthwise_covers;
ovt_simd_covers_function ovt_simd_pool_covers;
ovt_simd_run_function ovt_simd_depthwise;
ovt_simd_covers_function ovt_simd_matmul_covers;
ovt_simd_run_function ovt_simd_matmul;
/* The same with AVX512-VNNI, where ovt_matmul_vnni512_covers() holds. */
ovt_simd_covers_function ovt_matmul_vnni512_covers;
ovt_simd_run_function ovt_matmul_vnni512;
ovt_simd_run_function ovt_simd_max_pool;
ovt_simd_run_function ovt_simd_average_pool;
ovt_simd_covers_function ovt_simd_combine_covers;
ovt_simd_run_function ovt_simd_combine;
ovt_simd_run_function ovt_simd_table;
ovt_simd_run_function ovt_simd_copy; /* of 8 or 16 bits */
/* For inputs of 16 bits. */
ovt_simd_covers_function ovt_simd_wide_conv_covers;
ovt_simd_run_function ovt_simd_wide_conv;
ovt_simd_covers_function ovt_simd_wide_depthwise_covers;
ovt_simd_run_function ovt_simd_wide_depthwise;
ovt_simd_covers_function ovt_simd_wide_matmul_covers;
ovt_simd_run_function ovt_simd_wide_matmul;
ovt_simd_run_function ovt_simd_resize_bilinear;

#endif
