// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Which instructions have a twin.  Compiled as all else: no vectors here. */
#include "hw/simd/twins.h"

typedef bool covers_function(const struct overtake_insn *insn);
typedef bool run_function(const struct overtake_insn *insn, const struct ovt_operands *operands,
			  struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work);

struct twin {
	covers_function *covers;
	run_function *run;
};

static const struct twin twins[OVERTAKE_OP_COUNT] = {
	[OVERTAKE_OP_CONV] = { ovt_simd_conv_covers, ovt_simd_conv },
};

static const struct twin *twin_of(const struct overtake_insn *insn)
{
	if (insn->opcode >= OVERTAKE_OP_COUNT)
		return &twins[0];
	return &twins[ovt_index_nospec((u32)insn->opcode, OVERTAKE_OP_COUNT)];
}

bool ovt_simd_covers(const struct overtake_insn *insn)
{
	const struct twin *twin = twin_of(insn);

	return twin->covers && twin->covers(insn);
}

bool ovt_simd_run(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	const struct twin *twin = twin_of(insn);

	return !twin->run || twin->run(insn, operands, scratch, cursor, work);
}
