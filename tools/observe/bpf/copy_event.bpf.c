// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The BPF programs of the overtake command, and their one ring buffer. copy_event copies the record
 * of the driver's tracepoint to which it is attached; copy_probe copies the arguments of a USDT
 * probe of an engine.
 *
 * The reader of the ring looks up in tracefs where the tracepoint's format has each field. So these
 * programs need no type of the kernel or the driver, and copy fields that later drivers append
 * without being changed.
 */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
/* One spec for each place of each probe of each library. */
#define BPF_USDT_MAX_SPEC_CNT 1024
#include <bpf/usdt.bpf.h>

#include "copy_event.h"

#define RING_BYTES (1 << 24)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static void count_lost(__u32 whose)
{
	__u64 *count = bpf_map_lookup_elem(&lost, &whose);

	if (count)
		__sync_fetch_and_add(count, 1);
}

SEC("tracepoint")
int copy_event(void *record)
{
	struct copied_event *copy = bpf_ringbuf_reserve(&records, sizeof(*copy), 0);

	if (!copy) {
		count_lost(LOST_OF_DRIVER);
		return 0;
	}
	copy->type = bpf_get_attach_cookie(record);
	/* After a shorter record, the copy has other bytes, which no reader uses. */
	bpf_probe_read_kernel(copy->record, sizeof(copy->record), record);
	/* The reader polls every few milliseconds: the driver's path wakes no thread. */
	bpf_ringbuf_submit(copy, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("usdt")
int copy_probe(struct pt_regs *registers)
{
	struct copied_probe *copy = NULL;
	long argument;
	int i;

	/* Any process can pass probes without end: half of the ring is for the driver alone. */
	if (bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) < RING_BYTES / 2)
		copy = bpf_ringbuf_reserve(&records, sizeof(*copy), 0);
	if (!copy) {
		count_lost(LOST_OF_ENGINES);
		return 0;
	}
	copy->type = bpf_usdt_cookie(registers);
	copy->pid = bpf_get_current_pid_tgid() >> 32;
	copy->time_ns = bpf_ktime_get_ns();
	for (i = 0; i < COPIED_PROBE_ARGUMENTS; i++) {
		argument = 0;
		bpf_usdt_arg(registers, i, &argument);
		copy->arguments[i] = argument;
	}
	bpf_ringbuf_submit(copy, BPF_RB_NO_WAKEUP);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
