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

#define DEVICES		3u
#define SIMD_AND_NOT	"devices=3 cores=1 mode=functional profile=ideal simd=auto,off,vnni"

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

/* Whether each CPU of the system has @flag. */
static bool cpu_has(const char *flag)
{
	bool found = false;
	char line[8192];
	FILE *file = fopen("/proc/cpuinfo", "r");

	check(file);
	while (!found && fgets(line, sizeof(line), file)) {
		char *word = strncmp(line, "flags", 5) ? NULL : strtok(line, " \t\n");

		for (; word && !found; word = strtok(NULL, " \t\n"))
			found = !strcmp(word, flag);
	}
	fclose(file);
	return found;
}

/* Returns the level that device 2, with simd=vnni, shows on a CPU with AVX2. */
static const char *best_level(void)
{
	if (cpu_has("avx512f") && cpu_has("avx512bw") && cpu_has("avx512vl") &&
	    cpu_has("avx512_vnni"))
		return cpu_has("avx512vbmi") ? "avx512-vbmi\n" : "avx512-vnni\n";
	return cpu_has("avx_vnni") ? "avx-vnni\n" : "avx2\n";
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
	read_simd(2, text, sizeof(text));
	check_message(!strcmp(text, best_level()), "simd=vnni shows %s", text);
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
	u8 *outputs[DEVICES];

	random_job_init(&random, opcode, &seed);
	if (seed % 4)
		random_job_narrow_weights(&random, &seed);
	covered = ovt_simd_covers(&random.insn);
	for (u32 device = 0; device < DEVICES; device++) {
		outputs[device] = malloc(random.regions[JOB_OUT].length);
		check(outputs[device]);
		execute(&executors[device], &random, seed, outputs[device]);
	}
	for (u32 device = 0; device < DEVICES; device++)
		check_message(!memcmp(outputs[device], outputs[1], random.regions[JOB_OUT].length),
			      "opcode %u: device %u and scalar differ", opcode, device);
	for (u32 device = 0; device < DEVICES; device++)
		free(outputs[device]);
	random_job_free(&random);
	return covered;
}

static void random_cases_equal_scalar(void)
{
	static const u16 opcodes[] = {
		OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL, OVERTAKE_OP_MAX_POOL,
		OVERTAKE_OP_AVERAGE_POOL, OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL,
		OVERTAKE_OP_MAX, OVERTAKE_OP_MIN, OVERTAKE_OP_REQUANTISE, OVERTAKE_OP_TABLE,
		OVERTAKE_OP_RESIZE_BILINEAR, OVERTAKE_OP_TRANSPOSED_CONV, OVERTAKE_OP_COPY,
	};
	const u32 count = sizeof(opcodes) / sizeof(opcodes[0]);
	u32 cases[sizeof(opcodes) / sizeof(opcodes[0])] = { 0 };
	struct executor executors[DEVICES];
	u32 covered = 0;

	require_avx2();
	for (u32 device = 0; device < DEVICES; device++)
		executors[device] = open_executor(device);
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
	printf("# %u random operators, with vectors equal to scalar\n", covered);
	fflush(stdout);
	for (u32 device = 0; device < DEVICES; device++)
		client_close(&executors[device].client);
}

const struct test_case simd_cases[] = {
	{ "simd-random-operators-equal-scalar", SIMD_AND_NOT, random_cases_equal_scalar },
	{ 0 },
};
