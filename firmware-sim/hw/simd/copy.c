// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* COPY, 32 bytes at once, of elements of 8 or 16 bits. */
#include "hw/operator_units.h"
#include "hw/simd/pixels.h"
#include "hw/simd/vector_operators.h"

/* Work of beginning a run: both tensors may be on another page. */
#define RUN_WORK	60
/* Work of a pixel of a run of short pixels, and the bytes that one of work copies. */
#define PIXEL_WORK	4
/* Work of a tensor whose pixels are in different cache lines, below OVT_SIMD_FAR. */
#define LINE_BYTES	64u
#define LINE_WORK	8u
#define WORK_BYTES	2u

/* A run has one pixel, or up to SHORT_PIXELS pixels of at most SHORT_BYTES. */
#define SHORT_BYTES	64u
#define SHORT_PIXELS	64u

static u32 apart_work(u32 pixel_stride)
{
	if (pixel_stride < LINE_BYTES)
		return 0;
	return pixel_stride < OVT_SIMD_FAR ? LINE_WORK : OVT_SIMD_FAR_WORK;
}

static __always_inline void copy_bytes(s8 *out, const s8 *in, u32 bytes)
{
	u32 done = 0;

	for (; bytes - done >= 32; done += 32)
		ovt_store_s8x32(out + done, ovt_load_s8x32(in + done));
	if (bytes - done >= 16) {
		ovt_store_s8x16(out + done, ovt_load_s8x16(in + done));
		done += 16;
	}
	if (bytes - done >= 8) {
		ovt_store_u64(out + done, ovt_load_u64(in + done));
		done += 8;
	}
	for (; done < bytes; done++)
		out[done] = in[done];
}

bool ovt_simd_copy(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	const bool rows = ovt_simd_is_dense(&insn->out) && ovt_simd_is_dense(&insn->in[0]);
	const u32 size = ovt_element_bytes(&insn->out);
	const bool is_short = !rows && insn->out.channels <= SHORT_BYTES / size;
	const u32 far = rows ? 0 : apart_work(insn->out.pixel_stride) +
				   apart_work(insn->in[0].pixel_stride);
	bool more;

	(void)scratch;
	do {
		struct ovt_simd_run part = ovt_simd_run_of(insn, cursor, rows);
		const s8 *in = ovt_input_at(insn, operands, 0, cursor->y, cursor->x, cursor->c);
		s8 *out = ovt_output_at(insn, operands, cursor);
		u32 bytes = part.elements * size, pixels = 1, i;

		if (is_short && insn->out.width - cursor->x < SHORT_PIXELS)
			pixels = insn->out.width - cursor->x;
		else if (is_short)
			pixels = SHORT_PIXELS;
		for (i = 0; i < pixels; i++) {
			copy_bytes(out, in, bytes);
			in += insn->in[0].pixel_stride;
			out += insn->out.pixel_stride;
		}
		*work -= RUN_WORK + pixels * (PIXEL_WORK + far + bytes / WORK_BYTES);
		more = is_short ? ovt_cursor_next_pixels(insn, cursor, 1, pixels) :
				  ovt_simd_run_next(insn, cursor, &part);
	} while (more && *work > 0);
	return !more;
}
