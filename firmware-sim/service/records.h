/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How long segments took when they ran, for each host that runs them.  Until a segment has a record
 * its client's estimate counts.
 *
 * A table of fixed size that belongs to one process.  Segments that are recorded often stay.  When
 * there is no more room, a new record replaces the one that was used longest ago.  No record needs
 * a lock of its own.
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
	u64 time;	/* with OVT_RECORD_FRACTION_BITS behind the point */
	u64 used;	/* 0: there is none */
};

/* Empty if all zero. */
struct ovt_records {
	struct ovt_record records[OVT_RECORD_COUNT];
	u64 uses;
};

/* The key of the FCs of a program that lies at @address: which program, and which parts of it. */
u64 ovt_record_key_of_fcs(u64 address, const struct overtake_fc *fcs, u32 fc_count);

/* The same of a group. */
u64 ovt_record_key_of_group(u64 address, const struct ovt_fw_group *group);

/* The key of what a process calls @cpu_key and runs itself; never that of FCs but by chance. */
u64 ovt_record_key_of_cpu(u64 cpu_key);

/* Nanoseconds that @key takes, rounded to the nearest; @guess if it never ran. */
u64 ovt_records_time(struct ovt_records *records, u64 key, u64 guess);

/* It took @took ns.  The first time replaces the guess, later ones have a weight of one tenth. */
void ovt_records_note(struct ovt_records *records, u64 key, u64 took);

#endif
