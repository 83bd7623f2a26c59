// SPDX-License-Identifier: MIT
/* Vector operators in the kernel write the same bytes as the scalar operators. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "hw/simd/simd.h"
#include "random_job.h"

#define SIMD_AND_NOT	"devices=2 cores=1 mode=functional profile=ideal simd=auto,off"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define CASES		500u
#define REGION_BYTES	(2u << 20)

/* A client of a device, and memory for each region of a random job. */
struct executor {
	struct client client;
	struct buffer memory[OVERTAKE_MAX_REGIONS];
};

static void read_simd(unsigned int device, char *text, size_t size)
{
	char path[128];
	ssize_t length;
	int fd;

	sysfs_path(path, sizeof(path), device, "simd");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check_message(fd >= 0, "no %s", path);
	length = read(fd, text, size - 1);
	check(length > 0);
	text[length] = '\0';
	close(fd);
}

static void require_avx2(void)
{
	char text[16];

	read_simd(1, text, sizeof(text));
	check(!strcmp(text, "off\n"));
	read_simd(0, text, sizeof(text));
	if (!strcmp(text, "off\n"))
		check_skip("this CPU has no AVX2");
	check(!strcmp(text, "avx2\n"));
}

static struct executor open_executor(unsigned int device)
{
	struct executor executor = { .client = client_open(device, 254) };

	for (u32 region = 1; region < OVERTAKE_MAX_REGIONS; region++)
		executor.memory[region] =
			buffer_create(executor.client.fd, REGION_BYTES,
				      OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	return executor;
}

/*
 * Executes @random with a copy of its memory; the output region goes to @output.  Each region ends
 * with the last byte of a buffer.  The kernel maps nothing behind it: an access ends in an oops.
 */
static void execute(struct executor *executor, const struct random_job *random, uint64_t tag,
		    u8 *output)
{
	struct overtake_binding bindings[OVERTAKE_MAX_REGIONS];
	struct overtake_result result;
	struct job job;
	u32 count = 1;

	put_insn(&executor->client, 0, &random->insn);
	job_init(&job, &executor->client, tag, 0, 1);
	bindings[0] = job.bindings[0];
	for (u32 region = 1; region < OVERTAKE_MAX_REGIONS; region++) {
		const struct ovt_region *from = &random->regions[region];
		u64 offset;

		if (!from->length)
			continue;
		check(from->length <= REGION_BYTES);
		offset = REGION_BYTES - from->length;
		memcpy(executor->memory[region].data + offset, from->base, from->length);
		bindings[count++] = (struct overtake_binding){
			.address = executor->memory[region].address + offset,
			.length = from->length,
			.region = region,
			.flags = OVERTAKE_MAP_READ |
				 (region == JOB_OUT ? OVERTAKE_MAP_WRITE : 0),
		};
	}
	job.submit.bindings = (uintptr_t)bindings;
	job.submit.binding_count = count;
	check_equal(job_submit(&executor->client, &job), 0);
	check_equal(job_wait(&executor->client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	memcpy(output,
	       executor->memory[JOB_OUT].data + REGION_BYTES - random->regions[JOB_OUT].length,
	       random->regions[JOB_OUT].length);
}

/* Runs a case; returns true if device 0 has a vector operator for it. */
static bool check_case(struct executor *executors, u16 opcode, u64 seed)
{
	struct random_job random;
	bool covered;
	u8 *outputs[2];

	random_job_init(&random, opcode, &seed);
	if (seed % 4)
		random_job_narrow_weights(&random, &seed);
	covered = ovt_simd_covers(&random.insn);
	for (u32 device = 0; device < 2; device++) {
		outputs[device] = malloc(random.regions[JOB_OUT].length);
		check(outputs[device]);
		execute(&executors[device], &random, seed, outputs[device]);
	}
	check_message(!memcmp(outputs[0], outputs[1], random.regions[JOB_OUT].length),
		      "opcode %u: AVX2 and scalar differ", opcode);
	free(outputs[0]);
	free(outputs[1]);
	random_job_free(&random);
	return covered;
}

static void random_cases_equal_scalar(void)
{
	static const u16 opcodes[] = {
		OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL, OVERTAKE_OP_MAX_POOL,
		OVERTAKE_OP_AVERAGE_POOL, OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL,
		OVERTAKE_OP_MAX, OVERTAKE_OP_MIN, OVERTAKE_OP_REQUANTISE, OVERTAKE_OP_TABLE,
		OVERTAKE_OP_RESIZE_BILINEAR, OVERTAKE_OP_TRANSPOSED_CONV,
	};
	const u32 count = sizeof(opcodes) / sizeof(opcodes[0]);
	u32 cases[sizeof(opcodes) / sizeof(opcodes[0])] = { 0 };
	struct executor executors[2];
	u32 covered = 0;

	require_avx2();
	executors[0] = open_executor(0);
	executors[1] = open_executor(1);
	for (u32 i = 0; covered < CASES; i++) {
		if (check_case(executors, opcodes[i % count], 0x2545f4914f6cdd1dull + i)) {
			cases[i % count]++;
			covered++;
		}
	}
	for (u32 which = 0; which < count; which++) {
		printf("# opcode %u: %u cases\n", opcodes[which], cases[which]);
		check(cases[which] >= CASES / count / 8);
	}
	printf("# %u random operators, AVX2 equal to scalar\n", covered);
	fflush(stdout);
	client_close(&executors[0].client);
	client_close(&executors[1].client);
}

const struct test_case simd_cases[] = {
	{ "simd-random-operators-equal-scalar", SIMD_AND_NOT, random_cases_equal_scalar },
	{ 0 },
};
