// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "sched/sched.h"

#define ROW(field, public_, type, of, ...)					\
	[OVT_SETTING_##field] = {						\
		.name = #field,							\
		.public_name = #public_,					\
		.offset = offsetof(struct ovt_sched_settings, field),		\
		.size = sizeof(type),						\
		.owner = of,							\
		__VA_ARGS__							\
	},

static const struct ovt_setting table[OVT_SETTING_COUNT] = {
#define OVT_QUEUE_SETTING(name, public_name, type, ...)		\
	ROW(name, public_name, type, OVT_OWNER_QUEUE, __VA_ARGS__)
#define OVT_DEVICE_SETTING(name, public_name, type, ...)	\
	ROW(name, public_name, type, OVT_OWNER_DEVICE, __VA_ARGS__)
#define OVT_PROCESS_SETTING(name, public_name, type, ...)	\
	ROW(name, public_name, type, OVT_OWNER_PROCESS, __VA_ARGS__)
#include "sched/settings.inc"
};

const struct ovt_setting *ovt_setting_at(u32 index)
{
	return index < OVT_SETTING_COUNT ? &table[index] : NULL;
}

/* Reads a field as little endian, like every host. */
u64 ovt_setting_get(const struct ovt_setting *setting, const struct ovt_sched_settings *settings)
{
	u64 value = 0;

	memcpy(&value, (const u8 *)settings + setting->offset, setting->size);
	return value;
}

void ovt_setting_set(const struct ovt_setting *setting, struct ovt_sched_settings *settings,
		     u64 value)
{
	memcpy((u8 *)settings + setting->offset, &value, setting->size);
}

void ovt_sched_settings_init(struct ovt_sched_settings *settings, bool is_shared)
{
	const struct ovt_setting *setting;
	u32 i;

	memset(settings, 0, sizeof(*settings));
	settings->policy = ovt_sched_policy_at(0);
	for (i = 0; (setting = ovt_setting_at(i)); i++)
		if (is_shared || !setting->off_alone)
			ovt_setting_set(setting, settings, setting->usual);
}
