/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The settings of the task scheduler: the struct that it reads, and a description of each setting.
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
 * struct ovt_sched_settings - the settings that the scheduler reads
 * @policy: from ovt_sched_policy_at() or the host's own; outlives the scheduler
 *
 * The rest are the rows' fields.  Times are in the host's unit.
 */
struct ovt_sched_settings {
	const struct ovt_sched_policy *policy;
#define OVT_SETTING(name, public_name, type, ...)	type name;
#include "sched/settings.inc"
};

/* The places of the rows, OVT_SETTING_slots and so on, and their number. */
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
	OVT_OWNER_QUEUE,	/* a process for its queue, the administrator for the device's */
	OVT_OWNER_DEVICE,	/* the administrator sets it */
	OVT_OWNER_PROCESS,	/* each process sets it for itself */
};

/* A name by which people set it, with times in milliseconds, and the greatest value. */
struct ovt_setting_way_in {
	const char *name;
	u64 most;
};

/**
 * struct ovt_setting - description of a setting
 * @name: name of the field
 * @public_name: name in uapi, sysfs and C++, where times are nanoseconds
 * @offset: offset of the field
 * @size: size of the field
 * @unit: unit of its values
 * @owner: who may set it
 * @least: least value with which the scheduler works
 * @most: greatest value with which the scheduler works; times in nanoseconds
 * @usual: the default; times in nanoseconds
 * @off_alone: the default is 0 in a queue of one process
 * @sentence: its effect, without a full stop
 * @option_sentence: the effect of @option, in its own words; NULL: @sentence
 * @noun: name of it in messages; NULL if @least is 0
 * @scenario: path of its key in a scenario
 * @variable: the environment variable that sets it; its name is NULL if there is none
 * @option: the option of "overtake serve" that sets it, or that unsets a switch; likewise
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

/* Returns the setting at @index, one of enum ovt_setting_index; NULL past the last. */
const struct ovt_setting *ovt_setting_at(u32 index);

u64 ovt_setting_get(const struct ovt_setting *setting, const struct ovt_sched_settings *settings);
/* Sets @setting to @value, which is from its @least to its @most. */
void ovt_setting_set(const struct ovt_setting *setting, struct ovt_sched_settings *settings,
		     u64 value);

/* Sets the defaults, in nanoseconds, of a queue that processes share or of a process's own. */
void ovt_sched_settings_init(struct ovt_sched_settings *settings, bool is_shared);

#endif
