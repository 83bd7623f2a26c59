/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The settings of the task scheduler: the struct that it reads, and what each setting is.
 *
 * Both are made of the rows of sched/settings.inc.  So are the files of the driver in sysfs,
 * environment variables, options, keys of scenarios, and the tables of the documentation.  Structs
 * that have to repeat a setting (uapi, public C++ structs) are filled from the rows: the code does
 * not compile without it.
 */
#ifndef OVT_SCHED_SETTINGS_H
#define OVT_SCHED_SETTINGS_H

#include <ovt_port.h>

#define OVT_NS_PER_MS	1000000ull

struct ovt_sched_policy;

/**
 * struct ovt_sched_settings - what the scheduler reads
 * @policy: from ovt_sched_policy_at() or the host's own; outlives the scheduler
 *
 * The rest are the rows' fields.  Times are in the host's unit.
 */
struct ovt_sched_settings {
	const struct ovt_sched_policy *policy;
#define OVT_SETTING(name, public_name, type, ...)	type name;
#include "sched/settings.inc"
};

/* The places of the rows, OVT_SETTING_slots and so on, and how many there are. */
enum ovt_setting_index {
#define OVT_SETTING(name, ...)	OVT_SETTING_##name,
#include "sched/settings.inc"
	OVT_SETTING_COUNT
};

enum ovt_setting_unit {
	OVT_UNIT_COUNT,
	OVT_UNIT_PERCENT,
	OVT_UNIT_FACTOR,
	OVT_UNIT_TIME,
	OVT_UNIT_SWITCH,	/* 0 or 1 */
};

enum ovt_setting_owner {
	OVT_OWNER_QUEUE,	/* a process sets its own queue's, the administrator the device's */
	OVT_OWNER_DEVICE,	/* the administrator */
	OVT_OWNER_PROCESS,	/* each process its own */
};

/* A name that people use outside; NULL: it has none there.  Times are milliseconds there. */
struct ovt_setting_way_in {
	const char *name;
	u64 most;
};

/**
 * struct ovt_setting - what a setting is
 * @name: of the field
 * @public_name: in uapi, sysfs and C++, where times are nanoseconds
 * @offset: of the field
 * @size: of the field
 * @unit: of its values
 * @owner: who may set it
 * @least: that the scheduler can work with
 * @most: the same; times in nanoseconds
 * @usual: the default; times in nanoseconds
 * @off_alone: a queue of one process does without: there the default is 0
 * @sentence: what it does, without a full stop
 * @option_sentence: the same of @option, in its own words; NULL: @sentence
 * @noun: what a message calls it; NULL if @least is 0
 * @scenario: path of its key in a scenario
 * @variable: the environment variable that sets it
 * @option: the option of "overtake serve" that sets it; of a switch, that unsets it
 */
struct ovt_setting {
	const char *name;
	const char *public_name;
	u32 offset;
	u32 size;
	enum ovt_setting_unit unit;
	enum ovt_setting_owner owner;
	u64 least;
	u64 most;
	u64 usual;
	bool off_alone;
	const char *sentence;
	const char *option_sentence;
	const char *noun;
	const char *scenario;
	struct ovt_setting_way_in variable;
	struct ovt_setting_way_in option;
};

/* @index: one of enum ovt_setting_index.  NULL past the last. */
const struct ovt_setting *ovt_setting_at(u32 index);

u64 ovt_setting_get(const struct ovt_setting *setting, const struct ovt_sched_settings *settings);
/* @value: at least @least, at most @most. */
void ovt_setting_set(const struct ovt_setting *setting, struct ovt_sched_settings *settings,
		     u64 value);

/* The defaults, in nanoseconds, of a queue that processes share or of one that is a process's. */
void ovt_sched_settings_init(struct ovt_sched_settings *settings, bool is_shared);

#endif
