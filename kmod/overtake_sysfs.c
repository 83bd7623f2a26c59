// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the platform device; stable interface.
 *
 *	core_limit		one number per core, separated by blanks; writing one sets all
 *	coreN/core_limit	what the administrator set for core N (0 = nothing)
 *	coreN/core_limit_active	what is in force: the tightest of that and what contexts ask for
 *	coreN/busy_ns, fcs_high, fcs_normal, preemptions, faults, resets
 *				counters, as in struct drm_overtake_core_info
 *
 * Limits: 0 = no preemption, n = a HIGH FC waits for at most n NORMAL FCs.
 */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <drm/drm_managed.h>

#include "overtake_drv.h"
#include "overtake_host.h"

/* The directory of one core. */
struct core_attributes {
	char name[16];
	struct attribute_group group;
	struct device_attribute attributes[8];
	struct attribute *list[9];
};

struct core_attribute {
	const char *name;
	umode_t mode;
	ssize_t (*show)(struct device *dev, struct device_attribute *attribute, char *text);
	ssize_t (*store)(struct device *dev, struct device_attribute *attribute,
			 const char *text, size_t length);
};

static struct overtake_device *device_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static u32 core_of(struct device *dev, struct device_attribute *attribute)
{
	struct core_attributes *all = device_of(dev)->core_attributes;
	u32 i;

	for (i = 0; i < device_of(dev)->settings.cores; i++)
		if (attribute >= all[i].attributes &&
		    attribute < all[i].attributes + ARRAY_SIZE(all[i].attributes))
			break;
	return i + 1;
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
	return sysfs_emit(text, "%u\n", administrator_limit(device_of(dev),
							    core_of(dev, attribute)));
}

static ssize_t one_limit_store(struct device *dev, struct device_attribute *attribute,
			       const char *text, size_t length)
{
	return store_limit(device_of(dev), core_of(dev, attribute), text, length);
}

static struct drm_overtake_core_info info_of(struct device *dev,
					     struct device_attribute *attribute)
{
	struct drm_overtake_core_info info;

	overtake_core_info(device_of(dev), core_of(dev, attribute), &info);
	return info;
}

#define SHOW_COUNTER(function, field) \
static ssize_t function(struct device *dev, struct device_attribute *attribute, char *text) \
{ \
	return sysfs_emit(text, "%llu\n", (unsigned long long)info_of(dev, attribute).field); \
}

SHOW_COUNTER(limit_active_show, core_limit)
SHOW_COUNTER(busy_ns_show, busy_ns)
SHOW_COUNTER(fcs_high_show, fcs_high)
SHOW_COUNTER(fcs_normal_show, fcs_normal)
SHOW_COUNTER(preemptions_show, preemptions)
SHOW_COUNTER(faults_show, faults)
SHOW_COUNTER(resets_show, resets)

static const struct core_attribute core_attributes[] = {
	{ "core_limit", 0644, one_limit_show, one_limit_store },
	{ "core_limit_active", 0444, limit_active_show },
	{ "busy_ns", 0444, busy_ns_show },
	{ "fcs_high", 0444, fcs_high_show },
	{ "fcs_normal", 0444, fcs_normal_show },
	{ "preemptions", 0444, preemptions_show },
	{ "faults", 0444, faults_show },
	{ "resets", 0444, resets_show },
};

static void fill_directory(struct core_attributes *directory, struct overtake_core *core)
{
	u32 i;

	BUILD_BUG_ON(ARRAY_SIZE(core_attributes) != ARRAY_SIZE(directory->attributes));
	snprintf(directory->name, sizeof(directory->name), "core%u", core->number);
	for (i = 0; i < ARRAY_SIZE(core_attributes); i++) {
		struct device_attribute *attribute = &directory->attributes[i];

		sysfs_attr_init(&attribute->attr);
		attribute->attr.name = core_attributes[i].name;
		attribute->attr.mode = core_attributes[i].mode;
		attribute->show = core_attributes[i].show;
		attribute->store = core_attributes[i].store;
		directory->list[i] = &attribute->attr;
	}
	directory->group.name = directory->name;
	directory->group.attrs = directory->list;
}

static void remove_directories(struct overtake_device *device, u32 count)
{
	while (count--)
		device_remove_group(device->drm.dev, &device->core_attributes[count].group);
}

int overtake_sysfs_add(struct overtake_device *device)
{
	u32 cores = device->settings.cores;
	int ret;
	u32 i;

	device->core_attributes = drmm_kcalloc(&device->drm, cores,
					       sizeof(*device->core_attributes), GFP_KERNEL);
	if (!device->core_attributes)
		return -ENOMEM;
	for (i = 0; i < cores; i++) {
		fill_directory(&device->core_attributes[i], &device->cores[i]);
		ret = device_add_group(device->drm.dev, &device->core_attributes[i].group);
		if (ret)
			goto remove;
	}
	ret = device_create_file(device->drm.dev, &dev_attr_core_limit);
	if (!ret)
		return 0;
remove:
	remove_directories(device, i);
	return ret;
}

/* Waits for readers and writers. */
void overtake_sysfs_remove(struct overtake_device *device)
{
	device_remove_file(device->drm.dev, &dev_attr_core_limit);
	remove_directories(device, device->settings.cores);
}
