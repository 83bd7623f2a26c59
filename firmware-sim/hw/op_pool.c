// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* MAX_POOL and AVERAGE_POOL: windows in which each channel is reduced by itself. */
#include "hw/operator_units.h"
#include "hw/terms.h"

/* Inlined for each type. */
static inline s64 max_pool(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   struct ovt_cursor *at, u32 count, u32 type)
{
	struct ovt_window window = ovt_window_at(insn, at);
	struct ovt_terms terms = ovt_terms_at(at, window.rows, window.columns, OVT_UNIT_CHANNELS);
	s8 *out = ovt_output_at(insn, operands, at);
	s16 greatest[OVT_UNIT_CHANNELS];
	s64 work = 0;
	u32 x, i;

	for (i = 0; i < OVT_UNIT_CHANNELS; i++)
		greatest[i] = type ? -32768 : -128;
	if (!ovt_terms_begin(at))
		memcpy(greatest, at->results, sizeof(greatest));
	while (ovt_terms_next(&terms)) {
		for (x = terms.column; x < terms.column + terms.count; x++) {
			const s8 *in = ovt_tap_at(insn, operands, &window, terms.row, x, at->c);

			for (i = 0; i < count; i++) {
				s16 value = (s16)ovt_load(in, type, i);

				greatest[i] = value > greatest[i] ? value : greatest[i];
			}
		}
		work += (s64)terms.count * OVT_UNIT_CHANNELS;
	}
	if (!ovt_terms_end(&terms, at, greatest, sizeof(greatest)))
		return work;
	for (i = 0; i < count; i++)
		ovt_store(out, type, i, ovt_clamp(insn, greatest[i]));
	return work;
}

s64 ovt_unit_max_pool(const struct overtake_insn *insn, const struct ovt_operands *operands,
		      struct ovt_cursor *at, u32 count)
{
	if (insn->in[0].type)
		return max_pool(insn, operands, at, count, OVERTAKE_TYPE_INT16);
	return max_pool(insn, operands, at, count, OVERTAKE_TYPE_INT8);
}

/* Averages multiply by a reciprocal: the compiler provides one for each number of positions. */
static void store_averages(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   const struct ovt_cursor *at, u32 count, const s64 *sums, u32 inside)
{
	u32 kernel = (u32)insn->kernel_height * insn->kernel_width;
	u32 entry = ovt_positions_counted(insn, at, inside) - 1;
	u32 multiplier = ovt_param(operands, entry);
	u32 shift = ovt_param(operands, (u64)kernel + entry);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++)
		ovt_store(out, insn->out.type, i,
			  ovt_clamp(insn, ovt_requantise(sums[i], multiplier, shift) +
					  insn->out.zero_point));
}

s64 ovt_unit_average_pool(const struct overtake_insn *insn, const struct ovt_operands *operands,
			  struct ovt_cursor *at, u32 count)
{
	struct ovt_window window = ovt_window_at(insn, at);
	struct ovt_terms terms = ovt_terms_at(at, window.rows, window.columns, OVT_UNIT_CHANNELS);
	/* A sum has at most 2^17 elements, each of magnitude at most 2^15. */
	s64 sums[OVT_UNIT_CHANNELS] = { 0 };
	s64 work = 0;
	u32 x, i;

	if (!ovt_terms_begin(at))
		memcpy(sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		for (x = terms.column; x < terms.column + terms.count; x++) {
			const s8 *in = ovt_tap_at(insn, operands, &window, terms.row, x, at->c);

			for (i = 0; i < count; i++)
				sums[i] += ovt_load(in, insn->in[0].type, i) -
					   insn->in[0].zero_point;
		}
		work += (s64)terms.count * OVT_UNIT_CHANNELS;
	}
	if (ovt_terms_end(&terms, at, sums, sizeof(sums)))
		store_averages(insn, operands, at, count, sums, window.rows * window.columns);
	return work;
}
