/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Records of the times that segments took when they ran, for each host that runs them.  Until a
 * segment has a record, its client's estimate counts.
 *
 * The records of a process are a table of fixed size, in OVT_RECORD_SETS sets by key.  Records that
 * are used often stay: in a full set, a new record replaces the one that was used longest ago.  No
 * record needs a lock of its own.
 */
#ifndef OVT_SERVICE_RECORDS_H
#define OVT_SERVICE_RECORDS_H

#include <ovt_port.h>
#include "fw/fw.h"
#include "overtake_accel.h"

#define OVT_RECORD_WAYS		4u
#define OVT_RECORD_SETS		256u
#define OVT_RECORD_COUNT	(OVT_RECORD_WAYS * OVT_RECORD_SETS)

struct ovt_record {
	u64 key;
	u64 time;	/* in nanoseconds, with FRACTION_BITS (records.c) behind the point */
	u64 used;	/* order of its last use; 0: there is no record */
};

/* Empty if all zero. */
struct ovt_records {
	struct ovt_record records[OVT_RECORD_COUNT];
	u64 uses;
};

/* Returns the key of the FCs of a program at @address: the program, and which parts of it. */
u64 ovt_record_key_of_fcs(u64 address, const struct overtake_fc *fcs, u32 fc_count);

/* Returns the key of a group of such FCs. */
u64 ovt_record_key_of_group(u64 address, const struct ovt_fw_group *group);

/* Returns the key of a CPU segment that its process calls @cpu_key; it may equal a key of FCs. */
u64 ovt_record_key_of_cpu(u64 cpu_key);

/* Returns the nanoseconds of @key's record, rounded to the nearest; @guess if it has none. */
u64 ovt_records_time(struct ovt_records *records, u64 key, u64 guess);

/* Notes that @key took @took ns.  The first time is the record, later ones weigh one tenth. */
void ovt_records_note(struct ovt_records *records, u64 key, u64 took);

#endif
