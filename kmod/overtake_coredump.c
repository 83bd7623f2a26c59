// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps of a device's state when a core was reset or an FC was ended by the watchdog or its clock:
 * text in /sys/class/devcoredump/devcdN/data.
 *
 * The state is copied under the device lock into memory that was allocated with the device: before
 * a reset stops the FC, or when its thread reports that the FC hung.  A work item, which may sleep,
 * turns the copy into text.  There is one copy at a time: while a copy waits, no other state is
 * dumped.  The kernel keeps one dump of a device until it is cleared (any write to data) or five
 * minutes have passed.
 *
 * DOC: format
 *
 * Lines "name: value", or tables whose first line names the columns; sections begin with
 * "== name ==".  Times are device time in ns.  Names stay; lines and columns are added at the end.
 *
 *	device		reason, time, settings
 *	guilty		the FC that was stopped: core, ring, job, FC, instruction, client
 *	instruction	words of the instruction that was being executed, or else of the one at
 *			pc, in hexadecimal, lowest first
 *	registers	registers of that core
 *	ring high, ring normal
 *			descriptors that wait in the ring, next first
 *	events		the last events of the device, oldest first
 */
#include <linux/devcoredump.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "overtake_clock.h"
#include "overtake_coredump.h"
#include "overtake_group.h"
#include "overtake_history.h"
#include "overtake_job.h"
#include "overtake_lock.h"
#include "overtake_workqueues.h"

#define INSN_WORDS	(sizeof(struct overtake_insn) / sizeof(u32))

struct named_register {
	const char *name;
	u32 offset;
};

static const struct named_register registers[] = {
	{ "ID", OVT_REG_ID },
	{ "STATUS", OVT_REG_STATUS },
	{ "LIMIT", OVT_REG_LIMIT },
	{ "LIMIT_ACTIVE", OVT_REG_LIMIT_ACTIVE },
	{ "NORMAL_FLOOR", OVT_REG_NORMAL_FLOOR },
	{ "COMMIT_END", OVT_REG_COMMIT_END },
	{ "MODE", OVT_REG_MODE },
	{ "CLOCK", OVT_REG_CLOCK },
	{ "HIGH_HEAD", OVT_REG_HIGH_HEAD },
	{ "HIGH_TAIL", OVT_REG_HIGH_TAIL },
	{ "NORMAL_HEAD", OVT_REG_NORMAL_HEAD },
	{ "NORMAL_TAIL", OVT_REG_NORMAL_TAIL },
	{ "IRQ_STATUS", OVT_REG_IRQ_STATUS },
	{ "IRQ_MASK", OVT_REG_IRQ_MASK },
	{ "CURRENT", OVT_REG_CURRENT },
	{ "BUSY_NS", OVT_REG_BUSY_NS },
	{ "HIGH_DONE", OVT_REG_HIGH_DONE },
	{ "NORMAL_DONE", OVT_REG_NORMAL_DONE },
	{ "RETIRED", OVT_REG_RETIRED },
	{ "BAD_ACCESS", OVT_REG_BAD_ACCESS },
	{ "NORMAL_NEXT", OVT_REG_NORMAL_NEXT },
	{ "HIGH_HELD", OVT_REG_HIGH_HELD },
};

/* A descriptor, with the names of its job instead of pointers. */
struct ring_entry {
	u64 tag;
	u64 client;
	u32 context;
	u32 fc_index;
	u32 first_insn;
	u32 insn_count;
	u32 cancelled;
	u64 sequence;
	u64 position;
	u32 part;
};

struct guilty {
	u32 core;
	u32 ring;
	u64 tag;
	u64 client;
	u32 context;
	u32 pid;
	char comm[TASK_COMM_LEN];
	u32 priority;
	u32 fc_index;
	u32 fc_count;
	u32 first_insn;
	u32 insn_count;
	u32 pc;
	u32 executing;
	u64 queued_ns;
	u64 start_ns;
	u64 cycle_limit;
	u32 part;
};

/**
 * struct overtake_snapshot - a device's state; device lock until @taken, then the work item's
 * @taken: it waits to be turned into text
 * @device: the device that it belongs to
 * @work: turns it into text
 * @reason: constant text
 * @time_ns: device time
 * @guilty: the FC that was stopped
 * @insn: words of its instruction
 * @registers: registers of its core
 * @ring_used: entries of each of @rings
 * @rings: descriptors that wait in the core's rings, next first
 * @events: the last events of the device, oldest first
 * @event_count: entries of @events
 */
struct overtake_snapshot {
	bool taken;
	struct overtake_device *device;
	struct work_struct work;
	const char *reason;
	u64 time_ns;
	struct guilty guilty;
	u32 insn[INSN_WORDS];
	u64 registers[ARRAY_SIZE(registers)];
	u32 ring_used[OVT_RING_COUNT];
	struct ring_entry rings[OVT_RING_COUNT][OVT_RING_ENTRIES];
	struct overtake_event_record events[OVERTAKE_EVENTS_KEPT];
	u32 event_count;
};

static const char * const ring_names[] = {
	[OVT_RING_HIGH] = "high",
	[OVT_RING_NORMAL] = "normal",
};

static void copy_guilty(struct overtake_snapshot *snapshot, u32 core)
{
	const struct overtake_device *device = snapshot->device;
	const struct ovt_core *hw = &device->hw[core - 1];
	const struct ovt_fw_core *fw = &device->fw_cores[core - 1];
	const struct overtake_job *job = to_overtake_job(fw->running->job);
	const struct overtake_client *client = job->context->client;

	snapshot->guilty = (struct guilty){
		.core = core,
		.ring = hw->active_ring,
		.tag = job->tag,
		.client = client->id,
		.context = job->context->id,
		.pid = client->tgid,
		.priority = job->fw.priority,
		.fc_index = hw->exec.descriptor.fc_index,
		.fc_count = job->fw.fc_count,
		.first_insn = hw->exec.descriptor.first_insn,
		.insn_count = hw->exec.descriptor.insn_count,
		.pc = READ_ONCE(hw->exec.pc),
		.executing = !fw->executed,
		.queued_ns = job->fw.arrival_ns,
		.start_ns = fw->start_ns,
		.cycle_limit = hw->exec.cycle_limit,
		.part = overtake_part_index(fw->running),
	};
	strscpy(snapshot->guilty.comm, client->comm, sizeof(snapshot->guilty.comm));
}

/*
 * Copies the words of the instruction.  Meanwhile the core's thread may go on and the client may
 * change its program: words of two instructions may be mixed.  Only the text depends on them.
 */
static void copy_insn(struct overtake_snapshot *snapshot, u32 core)
{
	const struct ovt_exec *exec = &snapshot->device->hw[core - 1].exec;
	const struct ovt_region *program = &exec->descriptor.regions[OVERTAKE_REGION_PROGRAM];
	u64 offset = (u64)snapshot->guilty.pc * sizeof(exec->insn);
	const void *source = &exec->insn;

	BUILD_BUG_ON(sizeof(snapshot->insn) != sizeof(exec->insn));
	if (!READ_ONCE(exec->in_insn) && offset + sizeof(exec->insn) <= program->length)
		source = program->base + offset;
	memcpy(snapshot->insn, source, sizeof(snapshot->insn));
}

static void copy_registers(struct overtake_snapshot *snapshot, u32 core)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(registers); i++)
		snapshot->registers[i] = ovt_core_read(&snapshot->device->hw[core - 1],
						       registers[i].offset);
}

static void copy_ring(struct overtake_snapshot *snapshot, u32 core, u32 index)
{
	const struct ovt_ring *ring = &snapshot->device->hw[core - 1].rings[index];
	u32 used = ovt_ring_used(ring);
	u32 i;

	for (i = 0; i < used; i++) {
		const struct ovt_descriptor *descriptor =
			&ring->entries[(ring->head + i) % OVT_RING_ENTRIES];
		struct ring_entry *entry = &snapshot->rings[index][i];

		*entry = (struct ring_entry){
			.fc_index = descriptor->fc_index,
			.first_insn = descriptor->first_insn,
			.insn_count = descriptor->insn_count,
			.cancelled = descriptor->cancelled,
			.sequence = descriptor->sequence,
			.position = descriptor->position,
		};
		/* The job of a cancelled descriptor may have gone. */
		if (!descriptor->cancelled) {
			const struct ovt_fw_part *part = descriptor->part;
			const struct overtake_job *job = to_overtake_job(part->job);

			entry->tag = job->tag;
			entry->client = job->context->client->id;
			entry->context = job->context->id;
			entry->part = overtake_part_index(part);
		}
	}
	snapshot->ring_used[index] = used;
}

static void copy_events(struct overtake_snapshot *snapshot)
{
	const struct overtake_history *history = snapshot->device->history;
	u64 first = history->event_count > OVERTAKE_EVENTS_KEPT ?
		    history->event_count - OVERTAKE_EVENTS_KEPT : 0;
	u64 i;

	for (i = first; i < history->event_count; i++)
		snapshot->events[i - first] = history->events[i % OVERTAKE_EVENTS_KEPT];
	snapshot->event_count = history->event_count - first;
}

/*
 * overtake_coredump_take_locked - copy the state of the FC that @core runs, and of the device
 * @reason: constant text
 *
 * Called under the device lock, before the FC is stopped or its end is reported to the firmware.
 */
void overtake_coredump_take_locked(struct overtake_device *device, u32 core, const char *reason)
{
	struct overtake_snapshot *snapshot = device->snapshot;

	lockdep_assert_held(&device->lock);
	if (!IS_ENABLED(CONFIG_DEV_COREDUMP) || snapshot->taken || device->stopped ||
	    !device->fw_cores[core - 1].running)
		return;
	snapshot->taken = true;
	snapshot->reason = reason;
	snapshot->time_ns = overtake_clock_now(device);
	copy_guilty(snapshot, core);
	copy_insn(snapshot, core);
	copy_registers(snapshot, core);
	copy_ring(snapshot, core, OVT_RING_HIGH);
	copy_ring(snapshot, core, OVT_RING_NORMAL);
	copy_events(snapshot);
	queue_work(overtake_free_workqueue, &snapshot->work);
}

static void print_device(struct drm_printer *printer, const struct overtake_snapshot *snapshot)
{
	static const char * const modes[] = { "functional", "timed", "both" };
	const struct overtake_settings *settings = &snapshot->device->settings;
	u32 core = snapshot->guilty.core;

	drm_printf(printer, "== device ==\n");
	drm_printf(printer, "driver: overtake\n");
	drm_printf(printer, "device: %s\n", dev_name(snapshot->device->drm.dev));
	drm_printf(printer, "reason: %s\n", snapshot->reason);
	drm_printf(printer, "time_ns: %llu\n", snapshot->time_ns);
	drm_printf(printer, "mode: %s\n", modes[settings->mode]);
	drm_printf(printer, "cores: %u\n", settings->cores);
	drm_printf(printer, "clock_khz: %u\n", settings->profiles[core - 1].clock_khz);
	drm_printf(printer, "watchdog_cycles: %llu\n", overtake_watchdog_cycles(settings, core));
	drm_printf(printer, "queue_timeout_ns: %llu\n", settings->queue_timeout_ns);
	drm_printf(printer, "fair: %u\n", settings->fair);
	drm_printf(printer, "quota_ms: %u\n", settings->quota_ms);
}

static void print_guilty(struct drm_printer *printer, const struct guilty *guilty)
{
	drm_printf(printer, "== guilty ==\n");
	drm_printf(printer, "core: %u\n", guilty->core);
	drm_printf(printer, "ring: %s\n", ring_names[guilty->ring]);
	drm_printf(printer, "tag: %llu\n", guilty->tag);
	drm_printf(printer, "client: %llu\n", guilty->client);
	drm_printf(printer, "context: %u\n", guilty->context);
	drm_printf(printer, "pid: %u\n", guilty->pid);
	drm_printf(printer, "comm: %*pE\n", (int)strlen(guilty->comm), guilty->comm);
	drm_printf(printer, "priority: %u\n", guilty->priority);
	drm_printf(printer, "fc_index: %u\n", guilty->fc_index);
	drm_printf(printer, "fc_count: %u\n", guilty->fc_count);
	drm_printf(printer, "first_insn: %u\n", guilty->first_insn);
	drm_printf(printer, "insn_count: %u\n", guilty->insn_count);
	drm_printf(printer, "pc: %u\n", guilty->pc);
	drm_printf(printer, "executing: %u\n", guilty->executing);
	drm_printf(printer, "queued_ns: %llu\n", guilty->queued_ns);
	drm_printf(printer, "start_ns: %llu\n", guilty->start_ns);
	drm_printf(printer, "cycle_limit: %llu\n", guilty->cycle_limit);
	drm_printf(printer, "part: %u\n", guilty->part);
}

static void print_insn(struct drm_printer *printer, const u32 *words)
{
	u32 i;

	drm_printf(printer, "== instruction ==\n");
	for (i = 0; i < INSN_WORDS; i++)
		drm_printf(printer, "%08x%s", words[i],
			   i % 8 == 7 || i == INSN_WORDS - 1 ? "\n" : " ");
}

static void print_registers(struct drm_printer *printer, const struct overtake_snapshot *snapshot)
{
	u32 i;

	drm_printf(printer, "== registers ==\n");
	for (i = 0; i < ARRAY_SIZE(registers); i++)
		drm_printf(printer, "%s: %#llx\n", registers[i].name, snapshot->registers[i]);
}

static void print_ring(struct drm_printer *printer, const struct overtake_snapshot *snapshot,
		       u32 index)
{
	u32 i;

	drm_printf(printer, "== ring %s ==\n", ring_names[index]);
	drm_puts(printer, "position sequence client context tag fc_index ");
	drm_puts(printer, "first_insn insn_count cancelled part\n");
	for (i = 0; i < snapshot->ring_used[index]; i++) {
		const struct ring_entry *entry = &snapshot->rings[index][i];

		drm_printf(printer, "%llu %llu %llu %u %llu %u %u %u %u %u\n", entry->position,
			   entry->sequence, entry->client, entry->context, entry->tag,
			   entry->fc_index, entry->first_insn, entry->insn_count,
			   entry->cancelled, entry->part);
	}
}

static void print_events(struct drm_printer *printer, const struct overtake_snapshot *snapshot)
{
	static const char * const names[] = {
		[OVT_EVENT_ARRIVED] = "arrived",
		[OVT_EVENT_STARTED] = "started",
		[OVT_EVENT_PREEMPTED] = "preempted",
		[OVT_EVENT_DONE] = "done",
		[OVT_EVENT_FAULT] = "fault",
		[OVT_EVENT_HUNG] = "hung",
		[OVT_EVENT_ENDED] = "ended",
		[OVT_EVENT_CANCELLED] = "cancelled",
		[OVT_EVENT_KILLED] = "killed",
	};
	u32 i;

	drm_printf(printer, "== events ==\n");
	drm_printf(printer, "time_ns event core ring client context tag fc_index part\n");
	for (i = 0; i < snapshot->event_count; i++) {
		const struct overtake_event_record *event = &snapshot->events[i];

		drm_printf(printer, "%llu %s %u %s %llu %u %llu %u %u\n", event->time_ns,
			   names[event->type], event->core, ring_names[event->ring],
			   event->client, event->context, event->tag, event->fc_index,
			   event->part);
	}
}

/* Returns the number of bytes written, at most @size. */
static size_t print_snapshot(const struct overtake_snapshot *snapshot, char *text, size_t size)
{
	struct drm_print_iterator iterator = { .data = text, .remain = size };
	struct drm_printer printer = drm_coredump_printer(&iterator);

	print_device(&printer, snapshot);
	print_guilty(&printer, &snapshot->guilty);
	print_insn(&printer, snapshot->insn);
	print_registers(&printer, snapshot);
	print_ring(&printer, snapshot, OVT_RING_HIGH);
	print_ring(&printer, snapshot, OVT_RING_NORMAL);
	print_events(&printer, snapshot);
	return size - iterator.remain;
}

/* Enough for the longest numbers everywhere. */
#define TEXT_BYTES	(SZ_8K + 160u * (OVT_RING_COUNT * OVT_RING_ENTRIES + OVERTAKE_EVENTS_KEPT))

static void dump_work(struct work_struct *work)
{
	struct overtake_snapshot *snapshot = container_of(work, struct overtake_snapshot, work);
	struct overtake_device *device = snapshot->device;
	char *text = vzalloc(TEXT_BYTES);
	size_t length;

	if (text) {
		length = print_snapshot(snapshot, text, TEXT_BYTES);
		/* The kernel takes over @text. */
		dev_coredumpv(device->drm.dev, text, length, GFP_KERNEL);
	}
	overtake_lock(device);
	snapshot->taken = false;
	overtake_unlock(device);
}

int overtake_coredump_init(struct overtake_device *device)
{
	struct overtake_snapshot *snapshot;

	snapshot = drmm_kzalloc(&device->drm, sizeof(*snapshot), GFP_KERNEL);
	if (!snapshot)
		return -ENOMEM;
	snapshot->device = device;
	INIT_WORK(&snapshot->work, dump_work);
	device->snapshot = snapshot;
	return 0;
}

/* The device is stopped: no state is copied any more, and a copy that waits is dumped. */
void overtake_coredump_stop(struct overtake_device *device)
{
	flush_work(&device->snapshot->work);
}
