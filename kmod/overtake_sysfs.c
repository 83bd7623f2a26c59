// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the platform device; stable interface.
 *
 *	simd			avx2 or off: how FCs are executed
 *	core_limit		one number per core, separated by blanks; writing one sets all
 *	coreN/core_limit	what the administrator set for core N (0 = nothing)
 *	coreN/core_limit_active	what is in force: the tightest of that and what contexts ask for
 *	normal_floor, coreN/normal_floor
 *				after so many HIGH FCs in a row a waiting NORMAL one runs; 0 = never
 *	coreN/busy_ns, fcs_high, fcs_normal, preemptions, faults, resets
 *				counters, as in struct drm_overtake_core_info
 *	coreN/hangs		FCs ended by the watchdog
 *	coreN/limit		core_limit under the name that users of boards know
 *	coreN/ratio, queue, fc_time, users
 *				overtake_usage.c
 *	bans			contexts banned since the device was bound: overtake_faults.c
 *	lost_interrupts		wake-ups and interrupts that the backstop made up for
 *	spurious_interrupts	wake-ups of a core that had nothing to execute
 *
 * Limits: 0 = no preemption, n = a HIGH FC waits for at most n NORMAL FCs.
 */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <drm/drm_managed.h>

#include "overtake_drv.h"
#include "overtake_host.h"
#include "overtake_usage.h"

/* One file of a core's directory, or a setting of all cores. */
struct core_file {
	struct device_attribute attribute;
	u32 core; /* from 1; 0 = all */
	size_t offset; /* counters: in struct drm_overtake_core_info; settings: in overtake_core */
	int (*set)(struct overtake_device *device, u32 core, u32 value);
	ssize_t (*table)(struct overtake_device *device, u32 core, char *text);
};

#define to_core_file(attr)	container_of(attr, struct core_file, attribute)

/* The directory of one core. */
struct core_directory {
	char name[16];
	struct attribute_group group;
	struct core_file files[15];
	struct attribute *list[16];
};

static struct overtake_device *device_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* What the administrator set, of one core or of all. */
static ssize_t setting_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct core_file *file = to_core_file(attribute);
	struct overtake_device *device = device_of(dev);
	u32 first = file->core ?: 1;
	u32 last = file->core ?: device->settings.cores;
	int length = 0;
	u32 core;

	for (core = first; core <= last; core++) {
		u32 value;

		spin_lock_irq(&device->lock);
		value = *(u32 *)((u8 *)&device->cores[core - 1] + file->offset);
		spin_unlock_irq(&device->lock);
		length += sysfs_emit_at(text, length, "%s%u", core > first ? " " : "", value);
	}
	return length + sysfs_emit_at(text, length, "\n");
}

static ssize_t setting_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t length)
{
	const struct core_file *file = to_core_file(attribute);
	u32 value;
	int ret;

	ret = kstrtou32(text, 0, &value);
	if (!ret)
		ret = file->set(device_of(dev), file->core, value);
	return ret ? ret : length;
}

static ssize_t limit_active_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct drm_overtake_core_info info;

	overtake_core_info(device_of(dev), to_core_file(attribute)->core, &info);
	return sysfs_emit(text, "%u\n", info.core_limit);
}

static ssize_t counter_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct core_file *file = to_core_file(attribute);
	struct drm_overtake_core_info info;

	overtake_core_info(device_of(dev), file->core, &info);
	return sysfs_emit(text, "%llu\n", *(u64 *)((u8 *)&info + file->offset));
}

static ssize_t hangs_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct overtake_device *device = device_of(dev);
	u64 hangs;

	spin_lock_irq(&device->lock);
	hangs = device->cores[to_core_file(attribute)->core - 1].hangs;
	spin_unlock_irq(&device->lock);
	return sysfs_emit(text, "%llu\n", hangs);
}

static ssize_t table_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct core_file *file = to_core_file(attribute);

	return file->table(device_of(dev), file->core, text);
}

#define COUNTER(field)	offsetof(struct drm_overtake_core_info, field)
#define SETTING(name, field, setter)				\
	{							\
		__ATTR(name, 0644, setting_show, setting_store),	\
		.offset = offsetof(struct overtake_core, field),	\
		.set = setter,					\
	}

static ssize_t simd_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%s\n", device_of(dev)->settings.simd ? "avx2" : "off");
}
static DEVICE_ATTR_RO(simd);

static const struct core_file core_files[] = {
	SETTING(core_limit, limit, overtake_host_set_limit),
	{ __ATTR(core_limit_active, 0444, limit_active_show, NULL) },
	SETTING(normal_floor, normal_floor, overtake_host_set_normal_floor),
	{ __ATTR(busy_ns, 0444, counter_show, NULL), .offset = COUNTER(busy_ns) },
	{ __ATTR(fcs_high, 0444, counter_show, NULL), .offset = COUNTER(fcs_high) },
	{ __ATTR(fcs_normal, 0444, counter_show, NULL), .offset = COUNTER(fcs_normal) },
	{ __ATTR(preemptions, 0444, counter_show, NULL), .offset = COUNTER(preemptions) },
	{ __ATTR(faults, 0444, counter_show, NULL), .offset = COUNTER(faults) },
	{ __ATTR(resets, 0444, counter_show, NULL), .offset = COUNTER(resets) },
	{ __ATTR(hangs, 0444, hangs_show, NULL) },
	SETTING(limit, limit, overtake_host_set_limit),
	{ __ATTR(ratio, 0444, table_show, NULL), .table = overtake_usage_ratio },
	{ __ATTR(queue, 0444, table_show, NULL), .table = overtake_usage_queue },
	{ __ATTR(fc_time, 0400, table_show, NULL), .table = overtake_usage_fc_time },
	{ __ATTR(users, 0400, table_show, NULL), .table = overtake_usage_users },
};

static struct core_file all_limits = SETTING(core_limit, limit, overtake_host_set_limit);
static struct core_file all_floors =
	SETTING(normal_floor, normal_floor, overtake_host_set_normal_floor);

/* A counter of the whole device. */
struct device_file {
	struct device_attribute attribute;
	size_t offset; /* of the value in struct overtake_device */
};

static ssize_t device_counter_show(struct device *dev, struct device_attribute *attribute,
				   char *text)
{
	const struct device_file *file = container_of(attribute, struct device_file, attribute);
	struct overtake_device *device = device_of(dev);
	u64 value;

	spin_lock_irq(&device->lock);
	value = *(u64 *)((u8 *)device + file->offset);
	spin_unlock_irq(&device->lock);
	return sysfs_emit(text, "%llu\n", value);
}

static struct device_file bans = {
	__ATTR(bans, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device, bans),
};

static struct device_file lost_interrupts = {
	__ATTR(lost_interrupts, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device, lost_interrupts),
};

static struct device_file spurious_interrupts = {
	__ATTR(spurious_interrupts, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device, spurious_interrupts),
};

static struct attribute *device_attributes[] = {
	&all_limits.attribute.attr,
	&all_floors.attribute.attr,
	&dev_attr_simd.attr,
	&bans.attribute.attr,
	&lost_interrupts.attribute.attr,
	&spurious_interrupts.attribute.attr,
	NULL
};

static const struct attribute_group device_group = {
	.attrs = device_attributes,
};

static void fill_directory(struct core_directory *directory, u32 core)
{
	u32 i;

	BUILD_BUG_ON(ARRAY_SIZE(core_files) != ARRAY_SIZE(directory->files));
	snprintf(directory->name, sizeof(directory->name), "core%u", core);
	for (i = 0; i < ARRAY_SIZE(core_files); i++) {
		directory->files[i] = core_files[i];
		directory->files[i].core = core;
		sysfs_attr_init(&directory->files[i].attribute.attr);
		directory->list[i] = &directory->files[i].attribute.attr;
	}
	directory->group.name = directory->name;
	directory->group.attrs = directory->list;
}

static void remove_directories(struct overtake_device *device, u32 count)
{
	while (count--)
		device_remove_group(device->drm.dev, &device->core_directories[count].group);
}

int overtake_sysfs_add(struct overtake_device *device)
{
	u32 cores = device->settings.cores;
	int ret;
	u32 i;

	device->core_directories = drmm_kcalloc(&device->drm, cores,
						sizeof(*device->core_directories), GFP_KERNEL);
	if (!device->core_directories)
		return -ENOMEM;
	for (i = 0; i < cores; i++) {
		fill_directory(&device->core_directories[i], i + 1);
		ret = device_add_group(device->drm.dev, &device->core_directories[i].group);
		if (ret)
			goto remove;
	}
	ret = device_add_group(device->drm.dev, &device_group);
	if (!ret)
		return 0;
remove:
	remove_directories(device, i);
	return ret;
}

/* Waits for readers and writers. */
void overtake_sysfs_remove(struct overtake_device *device)
{
	device_remove_group(device->drm.dev, &device_group);
	remove_directories(device, device->settings.cores);
}
