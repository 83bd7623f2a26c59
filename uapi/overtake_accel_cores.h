/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/* A part of the driver's user interface, overtake_accel.h: counters and profiles of cores. */
#ifndef OVERTAKE_ACCEL_CORES_H
#define OVERTAKE_ACCEL_CORES_H

#include "overtake_accel.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * struct drm_overtake_core_info - counters of one core
 *
 * A client must not learn how long the FCs of other clients take.  So without CAP_PERFMON (in the
 * initial user namespace) the counters are coarse: they change at most every 100 ms, at whole
 * multiples of 100 ms of CLOCK_MONOTONIC, to their values at that time.  For each open file,
 * @busy_ns counts whole multiples of 10 ms, and @fcs_high and @fcs_normal whole multiples of 16;
 * @preemptions is rounded down to a multiple of 16.  When a file is closed, the remainder that has
 * not been counted is lost.  A client sees its own work exactly, in fdinfo and in struct
 * overtake_result.  @core_limit is always exact.
 *
 * @core: out: number of the core, from 1
 * @core_limit: out: limit in force: 0 = no preemption, n = HIGH waits for at most n NORMAL FCs
 * @busy_ns: out: device time for which it executed FCs
 * @fcs_high: out: number of FCs of the HIGH ring that ended
 * @fcs_normal: out: number of FCs of the NORMAL ring that ended
 * @preemptions: out: how often a HIGH FC went ahead of a NORMAL job that had begun
 * @faults: out: number of FCs that ended with a fault of any kind
 * @resets: out: number of resets of this core
 */
struct drm_overtake_core_info {
	__u32 core;
	__u32 core_limit;
	__u64 busy_ns;
	__u64 fcs_high;
	__u64 fcs_normal;
	__u64 preemptions;
	__u64 faults;
	__u64 resets;
};

#define OVERTAKE_PROFILE_NAME_BYTES	32u

/**
 * struct drm_overtake_core_profiles - header of the profiles that follow it
 * @core_count: out: number of profiles, the profile of core 1 first
 * @profile_bytes: out: bytes from the start of a profile to the start of the next; profiles may
 *                 grow
 */
struct drm_overtake_core_profiles {
	__u32 core_count;
	__u32 profile_bytes;
};

/**
 * struct drm_overtake_core_profile - the numbers of one core
 * @name: out: name of its profile, ending in 0
 * @clock_khz: out: cycles per millisecond
 * @macs_per_cycle: out: multiply-accumulates in one cycle
 * @vector_per_cycle: out: elements of all other operators in one cycle
 * @bytes_per_cycle: out: bytes of memory traffic in one cycle
 * @insn_overhead_cycles: out: fixed cost of an instruction
 * @fc_overhead_cycles: out: fixed cost of an FC
 * @watchdog_cycles: out: the most cycles that one FC may execute
 * @without: out: opcodes that the core lacks, bit n for opcode n (OVERTAKE_FAULT_UNSUPPORTED)
 */
struct drm_overtake_core_profile {
	char name[OVERTAKE_PROFILE_NAME_BYTES];
	__u32 clock_khz;
	__u32 macs_per_cycle;
	__u32 vector_per_cycle;
	__u32 bytes_per_cycle;
	__u32 insn_overhead_cycles;
	__u32 fc_overhead_cycles;
	__u64 watchdog_cycles;
	__u64 without;
};

#if defined(__cplusplus)
}
#endif

#endif
