// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The instructions that have a vector operator.  Unlike its callees, this is compiled as usual. */
#include "hw/simd/vector_operators.h"

struct vector_operator {
	ovt_simd_covers_function *covers;
	ovt_simd_run_function *run;
};

static bool always(const struct overtake_insn *insn)
{
	(void)insn;
	return true;
}

static const struct vector_operator vector_operators[OVERTAKE_OP_COUNT] = {
	[OVERTAKE_OP_CONV] = { ovt_simd_conv_covers, ovt_simd_conv },
	[OVERTAKE_OP_DEPTHWISE] = { ovt_simd_depthwise_covers, ovt_simd_depthwise },
	[OVERTAKE_OP_MATMUL] = { ovt_simd_matmul_covers, ovt_simd_matmul },
	[OVERTAKE_OP_ADD] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_SUB] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MUL] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MAX] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MIN] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_REQUANTISE] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MAX_POOL] = { ovt_simd_pool_covers, ovt_simd_max_pool },
	[OVERTAKE_OP_AVERAGE_POOL] = { ovt_simd_pool_covers, ovt_simd_average_pool },
	[OVERTAKE_OP_TABLE] = { always, ovt_simd_table },
	[OVERTAKE_OP_COPY] = { always, ovt_simd_copy },
	[OVERTAKE_OP_TRANSPOSED_CONV] = { ovt_simd_transposed_covers, ovt_simd_transposed },
	[OVERTAKE_OP_RESIZE_BILINEAR] = { always, ovt_simd_resize_bilinear },
};

/* Operators of instructions with an operand of 16 bits: the others take only bytes. */
static const struct vector_operator wide_operators[OVERTAKE_OP_COUNT] = {
	[OVERTAKE_OP_CONV] = { ovt_simd_wide_conv_covers, ovt_simd_wide_conv },
	[OVERTAKE_OP_DEPTHWISE] = { ovt_simd_wide_depthwise_covers, ovt_simd_wide_depthwise },
	[OVERTAKE_OP_MATMUL] = { ovt_simd_wide_matmul_covers, ovt_simd_wide_matmul },
	[OVERTAKE_OP_ADD] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_SUB] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MUL] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MAX] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_MIN] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_REQUANTISE] = { ovt_simd_combine_covers, ovt_simd_combine },
	[OVERTAKE_OP_COPY] = { always, ovt_simd_copy },
};

static const struct vector_operator *vector_operator_of(const struct overtake_insn *insn)
{
	const struct vector_operator *of_type =
		ovt_insn_is_wide(insn) ? wide_operators : vector_operators;

	if (insn->opcode >= OVERTAKE_OP_COUNT)
		return &of_type[0];
	return &of_type[ovt_index_nospec((u32)insn->opcode, OVERTAKE_OP_COUNT)];
}

bool ovt_simd_covers(const struct overtake_insn *insn)
{
	const struct vector_operator *found = vector_operator_of(insn);

	return found->covers && found->covers(insn);
}

bool ovt_simd_run(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	const struct vector_operator *found = vector_operator_of(insn);

	return !found->run || found->run(insn, operands, scratch, cursor, work);
}
