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

/* One file of a core's directory. */
struct core_file {
	struct device_attribute attribute;
	u32 core;
	size_t offset; /* counters: of the value in struct drm_overtake_core_info */
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

static u32 administrator_limit(struct overtake_device *device, u32 core)
{
	u32 limit;

	spin_lock_irq(&device->lock);
	limit = device->cores[core - 1].limit;
	spin_unlock_irq(&device->lock);
	return limit;
}

static ssize_t core_limit_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct overtake_device *device = device_of(dev);
	int length = 0;
	u32 core;

	for (core = 1; core <= device->settings.cores; core++)
		length += sysfs_emit_at(text, length, "%s%u", core > 1 ? " " : "",
					administrator_limit(device, core));
	return length + sysfs_emit_at(text, length, "\n");
}

static ssize_t store_limit(struct overtake_device *device, u32 core, const char *text,
			   size_t length)
{
	u32 limit;
	int ret;

	ret = kstrtou32(text, 0, &limit);
	if (!ret)
		ret = overtake_host_set_limit(device, core, limit);
	return ret ? ret : length;
}

static ssize_t core_limit_store(struct device *dev, struct device_attribute *attribute,
				const char *text, size_t length)
{
	return store_limit(device_of(dev), 0, text, length);
}
static DEVICE_ATTR_RW(core_limit);

static ssize_t one_limit_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	u32 core = to_core_file(attribute)->core;

	return sysfs_emit(text, "%u\n", administrator_limit(device_of(dev), core));
}

static ssize_t one_limit_store(struct device *dev, struct device_attribute *attribute,
			       const char *text, size_t length)
{
	return store_limit(device_of(dev), to_core_file(attribute)->core, text, length);
}

static ssize_t limit_active_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct drm_overtake_core_info info;

	overtake_core_info(device_of(dev), to_core_file(attribute)->core, &info);
	return sysfs_emit(text, "%u\n", info.core_limit);
}

static u32 normal_floor(struct overtake_device *device, u32 core)
{
	u32 floor;

	spin_lock_irq(&device->lock);
	floor = device->cores[core - 1].normal_floor;
	spin_unlock_irq(&device->lock);
	return floor;
}

static ssize_t store_floor(struct overtake_device *device, u32 core, const char *text,
			   size_t length)
{
	u32 floor;
	int ret;

	ret = kstrtou32(text, 0, &floor);
	if (!ret)
		ret = overtake_host_set_normal_floor(device, core, floor);
	return ret ? ret : length;
}

static ssize_t normal_floor_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct overtake_device *device = device_of(dev);
	int length = 0;
	u32 core;

	for (core = 1; core <= device->settings.cores; core++)
		length += sysfs_emit_at(text, length, "%s%u", core > 1 ? " " : "",
					normal_floor(device, core));
	return length + sysfs_emit_at(text, length, "\n");
}

static ssize_t normal_floor_store(struct device *dev, struct device_attribute *attribute,
				  const char *text, size_t length)
{
	return store_floor(device_of(dev), 0, text, length);
}
static DEVICE_ATTR_RW(normal_floor);

static ssize_t one_floor_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	u32 core = to_core_file(attribute)->core;

	return sysfs_emit(text, "%u\n", normal_floor(device_of(dev), core));
}

static ssize_t one_floor_store(struct device *dev, struct device_attribute *attribute,
			       const char *text, size_t length)
{
	return store_floor(device_of(dev), to_core_file(attribute)->core, text, length);
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

static ssize_t simd_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%s\n", device_of(dev)->settings.simd ? "avx2" : "off");
}
static DEVICE_ATTR_RO(simd);

static const struct core_file core_files[] = {
	{ __ATTR(core_limit, 0644, one_limit_show, one_limit_store) },
	{ __ATTR(core_limit_active, 0444, limit_active_show, NULL) },
	{ __ATTR(normal_floor, 0644, one_floor_show, one_floor_store) },
	{ __ATTR(busy_ns, 0444, counter_show, NULL), .offset = COUNTER(busy_ns) },
	{ __ATTR(fcs_high, 0444, counter_show, NULL), .offset = COUNTER(fcs_high) },
	{ __ATTR(fcs_normal, 0444, counter_show, NULL), .offset = COUNTER(fcs_normal) },
	{ __ATTR(preemptions, 0444, counter_show, NULL), .offset = COUNTER(preemptions) },
	{ __ATTR(faults, 0444, counter_show, NULL), .offset = COUNTER(faults) },
	{ __ATTR(resets, 0444, counter_show, NULL), .offset = COUNTER(resets) },
	{ __ATTR(hangs, 0444, hangs_show, NULL) },
	{ __ATTR(limit, 0644, one_limit_show, one_limit_store) },
	{ __ATTR(ratio, 0444, table_show, NULL), .table = overtake_usage_ratio },
	{ __ATTR(queue, 0444, table_show, NULL), .table = overtake_usage_queue },
	{ __ATTR(fc_time, 0400, table_show, NULL), .table = overtake_usage_fc_time },
	{ __ATTR(users, 0400, table_show, NULL), .table = overtake_usage_users },
};

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
	&dev_attr_core_limit.attr,
	&dev_attr_normal_floor.attr,
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
