// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* REDUCE_SUM, REDUCE_MAX and REDUCE_MIN: one element for all elements along the reduced axes. */
#include "hw/operator_units.h"
#include "hw/terms.h"

enum reduction { SUM, GREATEST, LEAST };

static inline s64 reduce(enum reduction how, s64 result, s64 value)
{
	switch (how) {
	case GREATEST:
		return value > result ? value : result;
	case LEAST:
		return value < result ? value : result;
	default:
		return result + value;
	}
}

/* Adds @elements of one input pixel to the results; all to one result if channels are reduced. */
static inline void reduce_pixel(const struct overtake_insn *insn, const s8 *in, s64 *results,
				u32 elements, enum reduction how)
{
	s32 zero_point = insn->in[0].zero_point;
	u32 type = insn->in[0].type;
	s64 result = results[0];
	u32 i;

	if (insn->axes & OVERTAKE_AXIS_CHANNELS) {
		for (i = 0; i < elements; i++)
			result = reduce(how, result, ovt_load(in, type, i) - zero_point);
		results[0] = result;
		return;
	}
	for (i = 0; i < elements; i++)
		results[i] = reduce(how, results[i], ovt_load(in, type, i) - zero_point);
}

/* Adds term @x of row @y: a pixel, or some of the channels of a pixel. */
static inline void
reduce_term(const struct overtake_insn *insn, const struct ovt_operands *operands,
	    const struct ovt_cursor *at, s64 *results, u32 y, u32 x, u32 parts, u32 elements,
	    enum reduction how)
{
	u32 column = parts == 1 ? x : x / parts;
	u32 first = (x - column * parts) * OVT_TERM_INPUTS;

	/* A reduced axis of the output has length 1, so there the cursor is 0. */
	reduce_pixel(insn, ovt_input_at(insn, operands, 0, at->y + y, at->x + column,
					at->c + first),
		     results, ovt_term_inputs(elements - first), how);
}

/*
 * Reduces one part of the elements into @results, which begin at @begin.  A sum has at most 2^17
 * elements, each of magnitude at most 2^15.  Returns true after the last part.
 */
static inline bool
reduce_part(const struct overtake_insn *insn, const struct ovt_operands *operands,
	    struct ovt_cursor *at, s64 *results, u32 count, s64 begin, enum reduction how,
	    s64 *work)
{
	u32 rows = insn->axes & OVERTAKE_AXIS_HEIGHT ? insn->in[0].height : 1;
	u32 columns = insn->axes & OVERTAKE_AXIS_WIDTH ? insn->in[0].width : 1;
	u32 elements = insn->axes & OVERTAKE_AXIS_CHANNELS ? insn->in[0].channels : count;
	u32 parts = ovt_terms_of(elements);
	u32 term_work = ovt_term_inputs(elements);
	struct ovt_terms terms;
	u32 x;

	if (term_work < OVT_UNIT_CHANNELS)
		term_work = OVT_UNIT_CHANNELS;
	terms = ovt_terms_at(at, rows, columns * parts, term_work);
	for (x = 0; x < OVT_UNIT_CHANNELS; x++)
		results[x] = ovt_terms_begin(at) ? begin : (s64)at->results[x];
	*work = 0;
	while (ovt_terms_next(&terms)) {
		for (x = terms.column; x < terms.column + terms.count; x++)
			reduce_term(insn, operands, at, results, terms.row, x, parts, elements,
				    how);
		*work += (s64)terms.count * term_work;
	}
	return ovt_terms_end(&terms, at, results, sizeof(at->results));
}

s64 ovt_unit_reduce_sum(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_cursor *at, u32 count)
{
	s8 *out = ovt_output_at(insn, operands, at);
	s64 results[OVT_UNIT_CHANNELS];
	s64 work;
	u32 i;

	if (!reduce_part(insn, operands, at, results, count, 0, SUM, &work))
		return work;
	for (i = 0; i < count; i++) {
		s64 scaled = ovt_requantise(results[i], insn->multiplier[0], insn->shift[0]);

		ovt_store(out, insn->out.type, i, ovt_clamp(insn, scaled + insn->out.zero_point));
	}
	return work;
}

/* A number out of the range of an element less its zero point. */
#define BELOW_ALL	(-32769)
#define ABOVE_ALL	32768

static inline s64 reduce_extreme(const struct overtake_insn *insn,
				 const struct ovt_operands *operands, struct ovt_cursor *at,
				 u32 count, enum reduction how)
{
	s8 *out = ovt_output_at(insn, operands, at);
	s64 results[OVT_UNIT_CHANNELS];
	s64 work;
	u32 i;

	if (!reduce_part(insn, operands, at, results, count,
			 how == GREATEST ? BELOW_ALL : ABOVE_ALL, how, &work))
		return work;
	for (i = 0; i < count; i++)
		ovt_store(out, insn->out.type, i,
			  ovt_clamp(insn, results[i] + insn->out.zero_point));
	return work;
}

s64 ovt_unit_reduce_max(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_cursor *at, u32 count)
{
	return reduce_extreme(insn, operands, at, count, GREATEST);
}

s64 ovt_unit_reduce_min(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_cursor *at, u32 count)
{
	return reduce_extreme(insn, operands, at, count, LEAST);
}
