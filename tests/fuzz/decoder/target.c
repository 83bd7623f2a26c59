// SPDX-License-Identifier: MIT
/*
 * The libFuzzer target, which scripts/fuzz-decoder.sh runs.
 *
 * Random bytes are hardly ever an instruction, so most mutations set one field to a value that
 * occurs in instructions.
 */
#include <stdlib.h>

#include "case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_run(data, size);
	return 0;
}

struct field {
	u16 offset;
	u16 size;
};

#define FIELD(name) { offsetof(struct overtake_insn, name), \
		      sizeof(((struct overtake_insn *)0)->name) }
#define OPERAND(name) FIELD(name.region), FIELD(name.zero_point), FIELD(name.offset), \
		      FIELD(name.height), FIELD(name.width), FIELD(name.channels), \
		      FIELD(name.row_stride), FIELD(name.pixel_stride)

static const struct field fields[] = {
	OPERAND(out), OPERAND(in[0]), OPERAND(in[1]), FIELD(groups), FIELD(flags), FIELD(opcode),
	FIELD(weights_offset), FIELD(params_offset), FIELD(weights_region), FIELD(params_region),
	FIELD(kernel_height), FIELD(kernel_width), FIELD(stride_height), FIELD(stride_width),
	FIELD(pad_top), FIELD(pad_left), FIELD(pad_bottom), FIELD(pad_right),
	FIELD(dilation_height), FIELD(dilation_width), FIELD(start_y), FIELD(start_x),
	FIELD(step_y), FIELD(step_x), FIELD(fill), FIELD(axes), FIELD(clamp_min), FIELD(clamp_max),
	FIELD(multiplier[0]), FIELD(multiplier[1]), FIELD(shift[0]), FIELD(delay_cycles),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const u64 values[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 24, 31, 32, 33, 64, 127, 128, 255,
			      256, 4095, 4096, 4097, 0x7fff, 0xffff, 1 << 17, 1 << 19, 1 << 20,
			      1 << 24, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 40, 1ull << 52,
			      1ull << 63, ~0ull };

static void mutate_field(struct fuzz_case *input)
{
	const struct field *field = &fields[(size_t)rand() % FIELDS];
	const struct field *other = &fields[(size_t)rand() % FIELDS];
	u8 *insn = (u8 *)&input->insn;
	u64 value = 0;

	memcpy(&value, insn + field->offset, field->size);
	switch (rand() % 6) {
	case 0:
		value++;
		break;
	case 1:
		value--;
		break;
	case 2:
		value += rand() % 2 ? 8 : (u64)-8;
		break;
	case 3:
		value = values[(size_t)rand() % (sizeof(values) / sizeof(values[0]))];
		break;
	case 4:
		value = (u64)rand() % 12;
		break;
	default:
		memcpy(&value, insn + other->offset, other->size);
	}
	memcpy(insn + field->offset, &value, field->size);
}

/* Sets the strides that fit an operand's shape, which mutations hardly ever find. */
static void fit_strides(struct overtake_operand *operand)
{
	operand->pixel_stride = (operand->channels + 7) & ~7u;
	operand->row_stride = operand->width * operand->pixel_stride;
}

static void mutate_case(struct fuzz_case *input)
{
	struct overtake_operand *operands[] = { &input->insn.out, &input->insn.in[0],
						&input->insn.in[1] };
	struct fuzz_region *region = &input->regions[rand() % OVERTAKE_MAX_REGIONS];

	switch (rand() % 8) {
	case 0:
		fit_strides(operands[rand() % 3]);
		break;
	case 1:
		input->budget = 1u << rand() % 20;
		break;
	case 2:
		*region = (struct fuzz_region){ (u16)rand(), (u8)(rand() % 4), rand() % 4 != 0 };
		break;
	case 3:
		input->seed = (u32)rand();
		break;
	default:
		mutate_field(input);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct fuzz_case input = { 0 };

	srand(seed);
	if (max_size < sizeof(input) || rand() % 16 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(&input, data, size < sizeof(input) ? size : sizeof(input));
	for (int n = rand() % 3; n >= 0; n--)
		mutate_case(&input);
	memcpy(data, &input, sizeof(input));
	return sizeof(input);
}
