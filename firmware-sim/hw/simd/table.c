// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * TABLE, 32 elements at once.
 *
 * The table is looked up in parts of 16 bytes.  The index goes down by 16 with each part; once it
 * is below 0 it selects 0.  Each part holds the difference to the part before, so the values that
 * an index has selected add up to its element.  Indices from 128 on are looked up separately.
 *
 * No element becomes an address, however few they are: see ovt_index_at().  table_vbmi.c has the
 * same for newer CPUs.
 */
#include "hw/operator_units.h"
#include "hw/simd/pixels.h"
#include "hw/simd/table.h"
#include "hw/simd/vector_operators.h"

/* Work of beginning a run: both tensors may be on another page. */
#define RUN_WORK	60

struct table {
	ovt_c8x32 parts[2][8];
};

static void load_table(struct table *table, const u8 *bytes)
{
	ovt_s8x16 part, before;
	u32 half, i;

	for (half = 0; half < 2; half++) {
		before = (ovt_s8x16) { 0 };
		for (i = 0; i < 8; i++) {
			part = ovt_load_s8x16(bytes + half * 128 + i * 16);
			table->parts[half][i] = (ovt_c8x32)
				__builtin_ia32_vbroadcastsi256((ovt_i64x2)(part ^ before));
			before = part;
		}
	}
}

static __always_inline ovt_c8x32 look_up_half(ovt_c8x32 indices, const ovt_c8x32 *parts)
{
	const ovt_c8x32 sixteen = (ovt_c8x32)ovt_broadcast_s16(0x1010);
	ovt_c8x32 result = { 0 };
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		result ^= __builtin_ia32_pshufb256(parts[i], indices);
		indices = __builtin_ia32_psubsb256(indices, sixteen);
	}
	return result;
}

static __always_inline ovt_c8x32 look_up(ovt_c8x32 indices, const struct table *table)
{
	const ovt_c8x32 top = (ovt_c8x32)ovt_broadcast_s16((s16)0x8080);

	return look_up_half(indices, table->parts[0]) ^
	       look_up_half(indices ^ top, table->parts[1]);
}

static OVT_SIMD_NOINLINE void look_up_run(const struct table *table, const s8 *in, s8 *out,
					  u32 elements)
{
	u32 done = 0;

	for (; elements - done >= 32; done += 32)
		ovt_store_s8x32(out + done, (ovt_s8x32)look_up((ovt_c8x32)ovt_load_s8x32(in + done),
							       table));
	if (done < elements) {
		s8 rest[32] = { 0 };

		memcpy(rest, in + done, elements - done);
		ovt_store_s8x32(rest, (ovt_s8x32)look_up((ovt_c8x32)ovt_load_s8x32(rest), table));
		memcpy(out + done, rest, elements - done);
	}
}

bool ovt_simd_table(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	const bool rows = ovt_simd_is_dense(&insn->out) && ovt_simd_is_dense(&insn->in[0]);
	const bool vbmi = scratch->level >= OVT_SIMD_AVX512_VBMI;
	struct table table;
	bool more;

	if (!vbmi)
		load_table(&table, operands->weights);
	do {
		struct ovt_simd_run part = ovt_simd_run_of(insn, cursor, rows);
		const s8 *in = ovt_input_at(insn, operands, 0, cursor->y, cursor->x, cursor->c);
		s8 *out = ovt_output_at(insn, operands, cursor);

		if (vbmi)
			ovt_table_vbmi(operands->weights, in, out, part.elements);
		else
			look_up_run(&table, in, out, part.elements);
		*work -= RUN_WORK + part.elements;
		more = ovt_simd_run_next(insn, cursor, &part);
	} while (more && *work > 0);
	return !more;
}
