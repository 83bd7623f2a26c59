/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Outputs that are made of many terms: taps of a window, elements of a row.
 *
 * A term may be a miss of cache and TLB, and an output may have 2^17 of them.  So a unit of work
 * adds up as many as OVT_PART_WORK allows; the cursor says which one is next and keeps the results
 * so far.  Terms lie in rows, so that the inner loop of an operator is over neighbours.
 */
#ifndef OVT_HW_TERMS_H
#define OVT_HW_TERMS_H

#include "hw/operators.h"

/* Inputs of a tap, or elements of a pixel, that are one term. */
#define OVT_TERM_INPUTS	(OVT_PART_WORK / OVERTAKE_WEIGHT_BLOCK)

/**
 * struct ovt_terms - the terms of one part
 * @rows: of the output
 * @columns: terms of a row
 * @row: where the next are
 * @column: the first of them
 * @count: how many of this row are to be added up at once
 * @left: how many may follow in this part
 */
struct ovt_terms {
	u32 rows;
	u32 columns;
	u32 row;
	u32 column;
	u32 count;
	u32 left;
};

/* The part of @rows x @columns terms that is next, where a term counts @work. */
static inline struct ovt_terms ovt_terms_at(const struct ovt_cursor *at, u32 rows, u32 columns,
					    u32 work)
{
	return (struct ovt_terms){
		.rows = rows,
		.columns = columns,
		.row = at->row,
		.column = at->column,
		.left = work < OVT_PART_WORK ? OVT_PART_WORK / work : 1,
	};
}

/* Goes on to the next neighbours; false when the part is over. */
static inline bool ovt_terms_next(struct ovt_terms *terms)
{
	u32 columns;

	terms->column += terms->count;
	terms->count = 0;
	if (terms->column >= terms->columns) {
		terms->column = 0;
		terms->row++;
	}
	if (terms->row >= terms->rows || !terms->left)
		return false;
	columns = terms->columns - terms->column;
	terms->count = columns < terms->left ? columns : terms->left;
	terms->left -= terms->count;
	return true;
}

/* Nothing of the output has been added up. */
static inline bool ovt_terms_begin(const struct ovt_cursor *at)
{
	return !at->row && !at->column;
}

/* After a part.  True if it was the last; else @results, @size bytes, are kept for the next one. */
static inline bool ovt_terms_end(const struct ovt_terms *terms, struct ovt_cursor *at,
				 const void *results, size_t size)
{
	if (terms->row >= terms->rows) {
		at->row = 0;
		at->column = 0;
		return true;
	}
	at->row = terms->row;
	at->column = terms->column;
	memcpy(at->results, results, size);
	return false;
}

/* Of @inputs of one tap: how many terms they are. */
static inline u32 ovt_terms_of(u32 inputs)
{
	return (inputs + OVT_TERM_INPUTS - 1) / OVT_TERM_INPUTS;
}

/* Inputs of one such term, at most. */
static inline u32 ovt_term_inputs(u32 inputs)
{
	return inputs < OVT_TERM_INPUTS ? inputs : OVT_TERM_INPUTS;
}

#endif
