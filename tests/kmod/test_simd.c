// SPDX-License-Identifier: MIT
/* Vectors in the kernel: the bytes of the scalar operators. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "random_job.h"

#define SIMD_AND_NOT	"devices=2 cores=1 mode=functional profile=ideal simd=auto,off"

#define NEVER		OVERTAKE_DEADLINE_NEVER
#define CASES		500u
#define MEMORY		(4u << 20)

/* Of a device: a client and memory for the regions of a random job. */
struct executor {
	struct client client;
	struct buffer memory;
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

	executor.memory = buffer_create(executor.client.fd, MEMORY,
					OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	return executor;
}

/* Executes @random with a copy of its memory; the output region goes to @output. */
static void execute(struct executor *executor, const struct random_job *random, uint64_t tag,
		    u8 *output)
{
	struct overtake_binding bindings[OVERTAKE_MAX_REGIONS];
	struct overtake_result result;
	u64 offset = 0, output_offset = 0;
	struct job job;
	u32 count = 1;

	put_insn(&executor->client, 0, &random->insn);
	job_init(&job, &executor->client, tag, 0, 1);
	bindings[0] = job.bindings[0];
	for (u32 region = 1; region < OVERTAKE_MAX_REGIONS; region++) {
		const struct ovt_region *from = &random->regions[region];

		if (!from->length)
			continue;
		check(offset + from->length <= executor->memory.size);
		memcpy(executor->memory.data + offset, from->base, from->length);
		bindings[count++] = (struct overtake_binding){
			.address = executor->memory.address + offset,
			.length = from->length,
			.region = region,
			.flags = OVERTAKE_MAP_READ |
				 (region == JOB_OUT ? OVERTAKE_MAP_WRITE : 0),
		};
		if (region == JOB_OUT)
			output_offset = offset;
		offset += (from->length + 7) / 8 * 8;
	}
	job.submit.bindings = (uintptr_t)bindings;
	job.submit.binding_count = count;
	check_equal(job_submit(&executor->client, &job), 0);
	check_equal(job_wait(&executor->client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	memcpy(output, executor->memory.data + output_offset, random->regions[JOB_OUT].length);
}

static void check_case(struct executor *executors, u16 opcode, u64 seed)
{
	struct random_job random;
	u8 *outputs[2];

	random_job_init(&random, opcode, &seed);
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
}

static void random_cases_equal_scalar(void)
{
	static const u16 opcodes[] = {
		OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL, OVERTAKE_OP_MAX_POOL,
		OVERTAKE_OP_AVERAGE_POOL, OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL,
		OVERTAKE_OP_MAX, OVERTAKE_OP_MIN, OVERTAKE_OP_REQUANTISE, OVERTAKE_OP_TABLE,
		OVERTAKE_OP_RESIZE_BILINEAR,
	};
	struct executor executors[2];

	require_avx2();
	executors[0] = open_executor(0);
	executors[1] = open_executor(1);
	for (u32 i = 0; i < CASES; i++)
		check_case(executors, opcodes[i % (sizeof(opcodes) / sizeof(opcodes[0]))],
			   0x2545f4914f6cdd1dull + i);
	printf("# %u random operators, AVX2 equal to scalar\n", CASES);
	fflush(stdout);
	client_close(&executors[0].client);
	client_close(&executors[1].client);
}

const struct test_case simd_cases[] = {
	{ "simd-random-operators-equal-scalar", SIMD_AND_NOT, random_cases_equal_scalar },
	{ 0 },
};
