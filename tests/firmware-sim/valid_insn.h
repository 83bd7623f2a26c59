/* SPDX-License-Identifier: MIT */
/* One valid instruction of each opcode, with memory of exactly the size that it needs. */
#ifndef VALID_INSN_H
#define VALID_INSN_H

#include "hw/operators.h"

/* Sets of opcodes that use the same fields. */
#define BIT(name) (1u << OVERTAKE_OP_##name)
#define CONVOLUTIONS (BIT(CONV) | BIT(DEPTHWISE) | BIT(TRANSPOSED_CONV))
#define WINDOWED (CONVOLUTIONS | BIT(MAX_POOL) | BIT(AVERAGE_POOL))
#define DILATED (CONVOLUTIONS | BIT(MAX_POOL))
#define SCALED_TWO (BIT(ADD) | BIT(SUB) | BIT(MAX) | BIT(MIN))
#define TWO (SCALED_TWO | BIT(MUL))
#define REDUCTIONS (BIT(REDUCE_SUM) | BIT(REDUCE_MAX) | BIT(REDUCE_MIN))
#define BLOCKS (BIT(DEPTH_TO_SPACE) | BIT(SPACE_TO_DEPTH))
#define LOOKS (BIT(RESIZE_NEAREST) | BIT(RESIZE_BILINEAR) | BIT(NV12))
#define TENSORS (((1u << OVERTAKE_OP_COUNT) - 2) & ~(BIT(DELAY) | BIT(JUMP)))
#define UNCLAMPED (BIT(TABLE) | BIT(COPY) | BIT(PAD) | BIT(PERMUTE) | BLOCKS | BIT(DEQUANTISE) |      \
		   BIT(RESIZE_NEAREST) | BIT(RESIZE_BILINEAR))
#define CLAMPED (TENSORS & ~UNCLAMPED)
#define WITH_WEIGHTS (CONVOLUTIONS | BIT(TABLE) | BIT(DEQUANTISE))
#define WITH_PARAMS (CONVOLUTIONS | BIT(MATMUL) | BIT(AVERAGE_POOL) | BIT(NV12))
#define SCALED (TWO | BIT(REQUANTISE) | BIT(REDUCE_SUM) | BIT(QUANTISE))
#define GROUPED (BIT(CONV) | BIT(TRANSPOSED_CONV))
#define TWO_INPUTS (TWO | BIT(MATMUL) | BIT(NV12))

static inline struct overtake_operand tensor(u32 region, u32 height, u32 width, u32 channels)
{
	return (struct overtake_operand){
		.region = region,
		.height = height,
		.width = width,
		.channels = channels,
		.pixel_stride = (channels + 7) & ~7u,
		.row_stride = width * ((channels + 7) & ~7u),
	};
}

/* Makes an instruction: 3x3 windows, stride 1, padding 1, 4x4 pixels of 12 channels, 2 groups. */
struct overtake_insn valid_insn(u16 opcode);

/* Makes OVERTAKE_MAX_REGIONS regions that end where valid_insn()'s operands end. */
void exact_regions(struct ovt_region *regions, u16 opcode);

#endif
