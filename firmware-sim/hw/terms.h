/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Outputs that are made of many terms: taps of a window, elements of a row.
 *
 * A term may be a miss of cache and TLB, and an output may have 2^17 terms.  So a unit of work
 * adds up as many terms as OVT_PART_WORK allows; the cursor holds the place of the next term and
 * the results so far.  Terms lie in rows, so that the inner loop of an operator is over neighbours.
 */
#ifndef OVT_HW_TERMS_H
#define OVT_HW_TERMS_H

#include "hw/operators.h"

/* Greatest number of inputs of a tap, or elements of a pixel, that are one term. */
#define OVT_TERM_INPUTS	(OVT_PART_WORK / OVERTAKE_WEIGHT_BLOCK)

/**
 * struct ovt_terms - the terms of one part
 * @rows: rows of terms of the output
 * @columns: terms of a row
 * @row: row of the next terms
 * @column: first of the next terms in @row
 * @count: number of terms of @row that are to be added up at once
 * @left: number of terms that may follow in this part
 */
struct ovt_terms {
	u32 rows;
	u32 columns;
	u32 row;
	u32 column;
	u32 count;
	u32 left;
};

/* Returns the next part of @rows x @columns terms, where a term counts @work. */
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

/* Moves on to the next neighbours; returns false when the part is over. */
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

/* Whether no term of the output has been added up yet. */
static inline bool ovt_terms_begin(const struct ovt_cursor *at)
{
	return !at->row && !at->column;
}

/*
 * Called after a part.  Returns true if it was the last part; else @results, @size bytes, are kept
 * for the next one.
 */
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

/* Returns the number of terms into which @inputs of one tap are cut. */
static inline u32 ovt_terms_of(u32 inputs)
{
	return (inputs + OVT_TERM_INPUTS - 1) / OVT_TERM_INPUTS;
}

/* Returns the greatest number of inputs of one of these terms. */
static inline u32 ovt_term_inputs(u32 inputs)
{
	return inputs < OVT_TERM_INPUTS ? inputs : OVT_TERM_INPUTS;
}

#endif
