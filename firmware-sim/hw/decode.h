/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Validation of one instruction against a job's regions.
 *
 * It works on the core's private copy of the instruction, so the core executes exactly the
 * instruction that was accepted, whatever the client does to its program meanwhile.
 */
#ifndef OVT_HW_DECODE_H
#define OVT_HW_DECODE_H

#include <ovt_port.h>
#include "overtake_isa.h"

#define OVT_REGION_READ		(1u << 0)
#define OVT_REGION_WRITE	(1u << 1)

/**
 * struct ovt_region - memory that a job may access
 * @base: the host's address of it; owned by the host, valid until the job's ENDED event
 * @length: bytes; 0 = not bound
 * @flags: OVT_REGION_*
 */
struct ovt_region {
	u8 *base;
	u64 length;
	u32 flags;
	u32 reserved;
};

/**
 * struct ovt_operands - pointers of a validated instruction
 *
 * Only the pointers that the opcode uses are set; the rest are NULL.  Every access that the
 * operator makes through them stays inside the regions.  Under speculation a loop may go beyond its
 * end, and with the client's strides far beyond.  So no operator makes an address of a value that
 * it reads, except those that look the value up in a table: they clamp it (ovt_index_at()).
 */
struct ovt_operands {
	u8 *out;
	const u8 *in[2];
	const u8 *weights;
	const u8 *params;
};

/*
 * ovt_insn_check - validate @insn and resolve its operands
 * @regions: OVERTAKE_MAX_REGIONS entries, the unbound ones all zero
 *
 * Returns OVERTAKE_FAULT_NONE and fills @operands, or the fault.  Reads only its
 * arguments; the tensors' contents are not looked at.  Region indices are clamped
 * against speculation.  JUMP's target is checked by the core, which knows the FC.
 */
u32 ovt_insn_check(const struct overtake_insn *insn, const struct ovt_region *regions,
		   struct ovt_operands *operands);

/* Returns the rows or columns from tap to tap: programs of minor version 0 have 0 for 1. */
static inline u32 ovt_dilation(u16 field)
{
	return field ? field : 1;
}

/* Returns the bytes of an element of @operand, whose type is valid and which is no float tensor. */
static inline u32 ovt_element_bytes(const struct overtake_operand *operand)
{
	return operand->type == OVERTAKE_TYPE_INT16 ? 2 : 1;
}

/* Whether a validated @insn has an operand of 16 bits. */
static inline bool ovt_insn_is_wide(const struct overtake_insn *insn)
{
	return insn->out.type || insn->in[0].type || insn->in[1].type;
}

/* Return the bytes of weights (or table), and of parameters, that a validated @insn reads. */
u64 ovt_insn_weights_bytes(const struct overtake_insn *insn);
u64 ovt_insn_params_bytes(const struct overtake_insn *insn);

#endif
