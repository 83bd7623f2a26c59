// SPDX-License-Identifier: MIT
/* Memory that a job may not reach: programs, bindings and pointers that lead elsewhere. */
#include <errno.h>
#include <string.h>

#include "isolation.h"

/* --- Programs -------------------------------------------------------------------------------- */

/* Runs a copy of 1 KiB from offset 0 to 4096 of the data, spoilt by @spoil. */
static int run_spoilt(struct scene *scene, void (*spoil)(struct overtake_insn *insn))
{
	struct client *attacker = &scene->attacker;
	struct overtake_insn insn;

	put_copy(attacker, 0, 4096, 0, 1024);
	memcpy(&insn, attacker->program.data, sizeof(insn));
	spoil(&insn);
	put_insn(attacker, 0, &insn);
	return run_copy_of(scene, attackers_job(scene));
}

#define SPOILT(name, statement) \
	static void spoil_##name(struct overtake_insn *insn) \
	{ \
		statement; \
	} \
	static int name(struct scene *scene) \
	{ \
		return run_spoilt(scene, spoil_##name); \
	}

SPOILT(reads_behind_region, insn->in[0].offset = RESULT_OFFSET)
SPOILT(reads_across_end, insn->in[0].offset = RESULT_OFFSET - 1016)
SPOILT(reads_before_region, insn->in[0].offset = -4096ull)
SPOILT(writes_behind_region, insn->out.offset = 1ull << 32)
SPOILT(writes_wrapping, insn->out.offset = ~0ull - 1023)
SPOILT(reads_unbound_region, insn->in[0].region = 9)
SPOILT(reads_region_16, insn->in[0].region = OVERTAKE_MAX_REGIONS)
SPOILT(reads_region_absurd, insn->in[0].region = 0x80000003u)
SPOILT(writes_own_program, insn->out.region = OVERTAKE_REGION_PROGRAM)
SPOILT(walks_out_by_rows, (insn->in[0].height = 2, insn->in[0].width = 64,
			   insn->in[0].row_stride = 0xfffffff8u, insn->out.height = 2,
			   insn->out.width = 64, insn->out.row_stride = 512))

static int fetches_behind_program(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.fcs[0].first_insn = 16 * 4096 / sizeof(struct overtake_insn);
	return run_copy_of(scene, job);
}

static int fetches_wrapping(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.fcs[0].first_insn = ~0u;
	job.fcs[0].insn_count = 2;
	return run_copy_of(scene, job);
}

static int jumps_out_of_its_fc(struct scene *scene)
{
	put_jump(&scene->attacker, 0, 1u << 31);
	return run_copy_of(scene, attackers_job(scene));
}

/* --- Bindings -------------------------------------------------------------------------------- */

static int bind_memory(struct scene *scene, uint64_t address, uint64_t length)
{
	struct job job = attackers_job(scene);

	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job.bindings[1].address = address;
	job.bindings[1].length = length;
	return run_copy_of(scene, job);
}

static int binds_victims_address(struct scene *scene)
{
	return bind_memory(scene, scene->secret.address, SECRET_BYTES);
}

static int binds_one_byte_of_victims(struct scene *scene)
{
	return bind_memory(scene, scene->secret.address + 4096, 1);
}

static int binds_across_own_end(struct scene *scene)
{
	return bind_memory(scene, scene->attacker.data.address, scene->attacker.data.size + 1);
}

static int binds_up_to_victims(struct scene *scene)
{
	uint64_t start = scene->attacker.data.address;

	return bind_memory(scene, start, scene->secret.address + SECRET_BYTES - start);
}

static int binds_wrapping(struct scene *scene)
{
	return bind_memory(scene, scene->attacker.data.address + 8, ~0ull - 4);
}

static int binds_gap_between_buffers(struct scene *scene)
{
	return bind_memory(scene, scene->attacker.data.address + scene->attacker.data.size, 8);
}

static int binds_kernel_address(struct scene *scene)
{
	return bind_memory(scene, 0xffff888000000000ull, 4096);
}

static int binds_process_address(struct scene *scene)
{
	return bind_memory(scene, (uintptr_t)scene->secret.data, SECRET_BYTES);
}

static int binds_address_of_other_device(struct scene *scene)
{
	struct buffer far = buffer_create(scene->elsewhere.fd, 64 * 4096, READ_WRITE);
	int ret;

	fill_secret(far.data, far.size);
	ret = bind_memory(scene, far.address + 32 * 4096, 4096);
	buffer_destroy(scene->elsewhere.fd, &far);
	return ret;
}

static int binds_program_of_victim(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.bindings[0].address = scene->secret.address;
	job.bindings[0].length = SECRET_BYTES;
	return run_copy_of(scene, job);
}

static int binds_stale_address(struct scene *scene)
{
	struct buffer buffer = buffer_create(scene->attacker.fd, 4096, READ_WRITE);

	buffer_destroy(scene->attacker.fd, &buffer);
	return bind_memory(scene, buffer.address, 4096);
}

/* The address was unmapped, and another client has mapped memory since then. */
static int binds_stale_address_after_victims_map(struct scene *scene)
{
	struct buffer buffer = buffer_create(scene->attacker.fd, 8 * 4096, READ_WRITE);
	struct buffer fresh;
	int ret;

	buffer_destroy(scene->attacker.fd, &buffer);
	fresh = buffer_create(scene->victim.fd, 8 * 4096, READ_WRITE);
	fill_secret(fresh.data, fresh.size);
	ret = bind_memory(scene, buffer.address, 4096);
	buffer_destroy(scene->victim.fd, &fresh);
	return ret;
}

static int writes_read_only_mapping(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.bindings[0].flags = READ_WRITE;
	return run_copy_of(scene, job);
}

static int result_record_at_victims(struct scene *scene)
{
	struct job job = attackers_job(scene);

	put_copy(&scene->attacker, 0, 4096, 0, 1024);
	job.submit.result = scene->secret.address;
	return run_copy_of(scene, job);
}

static int result_record_across_own_end(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.result = scene->attacker.data.address + scene->attacker.data.size - 8;
	return run_copy_of(scene, job);
}

/* --- Addresses of this process and of the kernel ---------------------------------------------- */

static int fcs_from_kernel(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.fcs = 0xffffffff81000000ull;
	return job_submit(&scene->attacker, &job);
}

static int bindings_from_kernel(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.bindings = 0xffff888000000000ull;
	return job_submit(&scene->attacker, &job);
}

static int extensions_from_kernel(struct scene *scene)
{
	struct job job = attackers_job(scene);

	job.submit.fcs = (uintptr_t)job.fcs;
	job.submit.bindings = (uintptr_t)job.bindings;
	job.submit.extensions = 0xffffffff82000000ull;
	return job_submit(&scene->attacker, &job);
}

static int query_into_kernel(struct scene *scene)
{
	struct drm_overtake_query query = {
		.topic = OVERTAKE_QUERY_LIMITS, .size = 64, .data = 0xffffffff82000000ull,
	};

	return device_ioctl(scene->attacker.fd, DRM_IOCTL_OVERTAKE_QUERY, &query);
}

#define ATTEMPTS(X) \
	X(reads_behind_region, OVERTAKE_FAULT_BOUNDS, "isolation-program-reads-behind-its-region") \
	X(reads_across_end, OVERTAKE_FAULT_BOUNDS, \
	  "isolation-program-reads-across-its-regions-end") \
	X(reads_before_region, OVERTAKE_FAULT_BOUNDS, "isolation-program-reads-before-its-region") \
	X(writes_behind_region, OVERTAKE_FAULT_BOUNDS, \
	  "isolation-program-writes-behind-its-region") \
	X(writes_wrapping, OVERTAKE_FAULT_BOUNDS, "isolation-program-writes-where-offsets-wrap") \
	X(walks_out_by_rows, OVERTAKE_FAULT_BOUNDS, \
	  "isolation-program-walks-out-by-its-row-stride") \
	X(reads_unbound_region, OVERTAKE_FAULT_REGION, \
	  "isolation-program-reads-a-region-that-is-not-bound") \
	X(reads_region_16, OVERTAKE_FAULT_REGION, "isolation-program-reads-region-16") \
	X(reads_region_absurd, OVERTAKE_FAULT_REGION, "isolation-program-reads-an-absurd-region") \
	X(writes_own_program, OVERTAKE_FAULT_PERMISSION, "isolation-program-writes-the-program") \
	X(fetches_behind_program, OVERTAKE_FAULT_PROGRAM, \
	  "isolation-fc-begins-behind-the-program") \
	X(fetches_wrapping, OVERTAKE_FAULT_PROGRAM, "isolation-fc-wraps-around-the-program") \
	X(jumps_out_of_its_fc, OVERTAKE_FAULT_PROGRAM, "isolation-jump-out-of-the-fc") \
	X(binds_victims_address, -ENOENT, "isolation-binding-of-the-victims-device-address") \
	X(binds_one_byte_of_victims, -ENOENT, "isolation-binding-of-one-byte-of-the-victims") \
	X(binds_across_own_end, -ENOENT, "isolation-binding-across-its-buffers-end") \
	X(binds_up_to_victims, -ENOENT, "isolation-binding-from-its-own-buffer-to-the-victims") \
	X(binds_wrapping, -ENOENT, "isolation-binding-whose-end-wraps") \
	X(binds_gap_between_buffers, -ENOENT, "isolation-binding-of-the-gap-between-two-buffers") \
	X(binds_kernel_address, -ENOENT, "isolation-binding-of-a-kernel-address") \
	X(binds_process_address, -ENOENT, "isolation-binding-of-a-process-address") \
	X(binds_address_of_other_device, -ENOENT, "isolation-binding-of-another-devices-address") \
	X(binds_program_of_victim, -ENOENT, "isolation-victims-memory-as-the-program") \
	X(binds_stale_address, -ENOENT, "isolation-binding-of-an-unmapped-buffers-address") \
	X(binds_stale_address_after_victims_map, -ENOENT, \
	  "isolation-stale-address-after-the-victim-mapped") \
	X(writes_read_only_mapping, -EACCES, "isolation-writable-binding-of-a-read-only-mapping") \
	X(result_record_at_victims, -ENOENT, "isolation-result-record-at-the-victims") \
	X(result_record_across_own_end, -ENOENT, "isolation-result-record-across-its-buffers-end") \
	X(fcs_from_kernel, -EFAULT, "isolation-fcs-from-kernel-memory") \
	X(bindings_from_kernel, -EFAULT, "isolation-bindings-from-kernel-memory") \
	X(extensions_from_kernel, -EFAULT, "isolation-extensions-from-kernel-memory") \
	X(query_into_kernel, -EFAULT, "isolation-query-into-kernel-memory")

ATTEMPTS(DEFINE_ATTEMPT)

const struct test_case isolation_memory_cases[] = {
	ATTEMPTS(ATTEMPT_CASE)
	{ 0 },
};
