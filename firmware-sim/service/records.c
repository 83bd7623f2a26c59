// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "service/records.h"

#define FRACTION_BITS	16
#define MOST_NS		((1ull << (63 - FRACTION_BITS)) - 1)	/* 39 hours */

/* Mixes @number into @key by two rounds of multiplication and folding: each bit reaches all. */
static u64 add_number(u64 key, u64 number)
{
	u64 mixed = key ^ (number + 0x9e3779b97f4a7c15ull);

	mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93ull;
	mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93ull;
	return mixed ^ (mixed >> 32);
}

u64 ovt_record_key_of_fcs(u64 address, const struct overtake_fc *fcs, u32 fc_count)
{
	u64 key = add_number(0, address);
	u32 i;

	for (i = 0; i < fc_count; i++)
		key = add_number(key, (u64)fcs[i].first_insn << 32 | fcs[i].insn_count);
	return key;
}

u64 ovt_record_key_of_group(u64 address, const struct ovt_fw_group *group)
{
	u64 key = add_number(add_number(0, address), group->part_count);
	u32 i, fc;

	for (i = 0; i < group->part_count; i++) {
		const struct ovt_fw_part *part = &group->parts[i];

		key = add_number(key, part->fc_count);
		for (fc = 0; fc < part->fc_count; fc++) {
			key = add_number(key, (u64)part->fcs[fc].first_insn << 32 |
					      part->fcs[fc].insn_count);
			key = add_number(key, part->stages[fc]);
		}
	}
	return key;
}

u64 ovt_record_key_of_cpu(u64 cpu_key)
{
	return add_number(add_number(0, 1), cpu_key);
}

static struct ovt_record *set_of(struct ovt_records *records, u64 key)
{
	return &records->records[key % OVT_RECORD_SETS * OVT_RECORD_WAYS];
}

static struct ovt_record *find(struct ovt_records *records, u64 key)
{
	struct ovt_record *set = set_of(records, key);
	u32 way;

	for (way = 0; way < OVT_RECORD_WAYS; way++) {
		if (!set[way].used || set[way].key != key)
			continue;
		set[way].used = ++records->uses;
		return &set[way];
	}
	return NULL;
}

u64 ovt_records_time(struct ovt_records *records, u64 key, u64 guess)
{
	const struct ovt_record *record = find(records, key);

	return record ? (record->time + (1ull << (FRACTION_BITS - 1))) >> FRACTION_BITS : guess;
}

static struct ovt_record *used_longest_ago(struct ovt_records *records, u64 key)
{
	struct ovt_record *set = set_of(records, key);
	struct ovt_record *oldest = &set[0];
	u32 way;

	for (way = 1; way < OVT_RECORD_WAYS; way++) {
		if (set[way].used < oldest->used)
			oldest = &set[way];
	}
	return oldest;
}

void ovt_records_note(struct ovt_records *records, u64 key, u64 took)
{
	struct ovt_record *record = find(records, key);
	u64 time = (took < MOST_NS ? took : MOST_NS) << FRACTION_BITS;

	if (!record) {
		record = used_longest_ago(records, key);
		*record = (struct ovt_record){ .key = key, .time = time, .used = ++records->uses };
	} else if (time > record->time) {
		record->time += (time - record->time) / 10;
	} else {
		record->time -= (record->time - time) / 10;
	}
}
