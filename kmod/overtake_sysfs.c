// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of the platform device; stable interface: docs/ABI/sysfs-platform-overtake.
 *
 *	simd			off, avx2 or a later level of hw/simd/level.h: how FCs are executed
 *	quota_ms		time of each second for which a context may hold cores, 0 = any
 *	core_limit		sets the core limit of all cores; write only
 *	coreN/core_limit	the administrator's limit for core N (0 = none)
 *	coreN/core_limit_active	the limit in force: the tightest of this and those of contexts
 *	coreN/limit		core_limit under the name that users of boards know
 *	normal_floor, coreN/normal_floor
 *				number of HIGH FCs in a row after which a waiting NORMAL FC runs;
 *				0 = any number
 *	coreN/busy_ns, fcs_high, fcs_normal, preemptions, faults, resets, hangs, queue, ratio
 *				struct overtake_counters
 *	service/policy and a file for each row of sched/settings.inc but those of processes
 *				settings of service mode; writable while no queue of tasks is open
 *	bans, lost_interrupts, spurious_interrupts,
 *	npu_busy_time_us, npu_memory_utilization
 *				struct overtake_device_counters
 *	npu_current_frequency_mhz
 *				clock of the profile of core 1
 *
 * Attributes whose names begin with npu_ have the names and units of the kernel's ivpu driver,
 * which monitors read.
 *
 * Limits: 0 = no preemption, n = a HIGH FC waits for at most n NORMAL FCs.
 *
 * Counters are coarse, also for root: an attribute does not know which process opened it, and that
 * process may have passed the file to another one to read.  Exact counters have the same names in
 * debugfs, and QUERY_CORES reports them to callers with CAP_PERFMON.
 */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <drm/drm_managed.h>

#include "overtake_core_limits.h"
#include "overtake_counters.h"
#include "overtake_drv.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_sysfs.h"

/* One file of a core's directory, or a setting of all cores. */
struct core_file {
	struct device_attribute attribute;
	u32 core; /* from 1; 0 = all */
	size_t offset; /* counters: in struct overtake_counters; settings: in overtake_core */
	int (*set)(struct overtake_device *device, u32 core, u32 value);
};

#define to_core_file(attr)	container_of(attr, struct core_file, attribute)

/* The directory of one core. */
struct core_directory {
	char name[16];
	struct attribute_group group;
	struct core_file files[13];
	struct attribute *list[14];
};

static struct overtake_device *device_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* Shows a setting of the administrator. */
static ssize_t setting_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct core_file *file = to_core_file(attribute);
	struct overtake_device *device = device_of(dev);
	u32 value;

	overtake_lock(device);
	value = *(u32 *)((u8 *)&device->cores[file->core - 1] + file->offset);
	overtake_unlock(device);
	return sysfs_emit(text, "%u\n", value);
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

static ssize_t counter_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct core_file *file = to_core_file(attribute);
	struct overtake_counters counters;

	overtake_counters_coarse(device_of(dev), file->core, &counters);
	return sysfs_emit(text, "%llu\n", *(u64 *)((u8 *)&counters + file->offset));
}

#define SETTING(name, mode, show, field, setter)		\
	{							\
		__ATTR(name, mode, show, setting_store),	\
		.offset = offsetof(struct overtake_core, field),	\
		.set = setter,					\
	}
#define COUNTER(name, field)					\
	{							\
		__ATTR(name, 0444, counter_show, NULL),		\
		.offset = offsetof(struct overtake_counters, field),	\
	}

static ssize_t simd_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct overtake_settings *settings = &device_of(dev)->settings;

	return sysfs_emit(text, "%s\n",
			  settings->simd ? ovt_simd_level_name(settings->simd_level) : "off");
}
static DEVICE_ATTR_RO(simd);

static ssize_t quota_ms_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%u\n", device_of(dev)->settings.quota_ms);
}
static DEVICE_ATTR_RO(quota_ms);

static const struct core_file core_files[] = {
	SETTING(core_limit, 0644, setting_show, limit, overtake_core_limits_set),
	SETTING(limit, 0644, setting_show, limit, overtake_core_limits_set),
	{
		__ATTR(core_limit_active, 0444, setting_show, NULL),
		.offset = offsetof(struct overtake_core, limit_pushed),
	},
	SETTING(normal_floor, 0644, setting_show, normal_floor, overtake_normal_floor_set),
	COUNTER(busy_ns, busy_ns),
	COUNTER(fcs_high, fcs[OVT_RING_HIGH]),
	COUNTER(fcs_normal, fcs[OVT_RING_NORMAL]),
	COUNTER(preemptions, preemptions),
	COUNTER(faults, faults),
	COUNTER(resets, resets),
	COUNTER(hangs, hangs),
	COUNTER(queue, queue),
	COUNTER(ratio, ratio),
};

static struct core_file all_limits =
	SETTING(core_limit, 0200, NULL, limit, overtake_core_limits_set);
static struct core_file all_floors =
	SETTING(normal_floor, 0200, NULL, normal_floor, overtake_normal_floor_set);

/* A counter of the whole device. */
struct device_file {
	struct device_attribute attribute;
	size_t offset; /* in struct overtake_device_counters */
};

static ssize_t device_counter_show(struct device *dev, struct device_attribute *attribute,
				   char *text)
{
	const struct device_file *file = container_of(attribute, struct device_file, attribute);
	struct overtake_device_counters counters;

	overtake_device_counters_coarse(device_of(dev), &counters);
	return sysfs_emit(text, "%llu\n", *(u64 *)((u8 *)&counters + file->offset));
}

static struct device_file bans = {
	__ATTR(bans, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device_counters, bans),
};

static struct device_file lost_interrupts = {
	__ATTR(lost_interrupts, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device_counters, lost_interrupts),
};

static struct device_file spurious_interrupts = {
	__ATTR(spurious_interrupts, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device_counters, spurious_interrupts),
};

static struct device_file npu_busy_time_us = {
	__ATTR(npu_busy_time_us, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device_counters, busy_us),
};

static struct device_file npu_memory_utilization = {
	__ATTR(npu_memory_utilization, 0444, device_counter_show, NULL),
	offsetof(struct overtake_device_counters, bytes),
};

static ssize_t npu_current_frequency_mhz_show(struct device *dev,
					      struct device_attribute *attribute, char *text)
{
	u32 khz = device_of(dev)->settings.profiles[0].clock_khz;

	return sysfs_emit(text, "%u\n", DIV_ROUND_CLOSEST(khz, 1000));
}
static DEVICE_ATTR_RO(npu_current_frequency_mhz);

static struct attribute *device_attributes[] = {
	&all_limits.attribute.attr,
	&all_floors.attribute.attr,
	&dev_attr_simd.attr,
	&dev_attr_quota_ms.attr,
	&bans.attribute.attr,
	&lost_interrupts.attribute.attr,
	&spurious_interrupts.attribute.attr,
	&npu_busy_time_us.attribute.attr,
	&npu_memory_utilization.attribute.attr,
	&dev_attr_npu_current_frequency_mhz.attr,
	NULL
};

static const struct attribute_group device_group = {
	.attrs = device_attributes,
};

/* The files of service mode, by enum ovt_setting_index; those of processes have none. */
static struct device_attribute service_files[OVT_SETTING_COUNT];

static const struct ovt_setting *setting_of(const struct device_attribute *attribute)
{
	return ovt_setting_at(attribute - service_files);
}

static struct ovt_sched_settings service_settings(struct overtake_device *device)
{
	struct ovt_sched_settings settings;

	overtake_lock(device);
	settings = device->service->settings;
	overtake_unlock(device);
	return settings;
}

static ssize_t service_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct ovt_sched_settings settings = service_settings(device_of(dev));

	return sysfs_emit(text, "%llu\n", ovt_setting_get(setting_of(attribute), &settings));
}

static ssize_t service_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t length)
{
	const struct ovt_setting *setting = setting_of(attribute);
	struct overtake_device *device = device_of(dev);
	struct ovt_sched_settings settings;
	u64 value;
	int ret;

	ret = kstrtou64(text, 0, &value);
	if (ret)
		return ret;
	if (value < setting->least || value > setting->most)
		return -EINVAL;
	overtake_lock(device);
	settings = device->service->settings;
	ovt_setting_set(setting, &settings, value);
	ret = overtake_service_configure_locked(device, &settings);
	overtake_unlock(device);
	return ret ? ret : length;
}

#define SERVICE_FILE(name, public_name) \
	[OVT_SETTING_##name] = __ATTR(public_name, 0644, service_show, service_store)

static struct device_attribute service_files[OVT_SETTING_COUNT] = {
#define OVT_QUEUE_SETTING(name, public_name, ...)	SERVICE_FILE(name, public_name),
#define OVT_DEVICE_SETTING(name, public_name, ...)	SERVICE_FILE(name, public_name),
#include "sched/settings.inc"
};

static ssize_t policy_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%s\n", service_settings(device_of(dev)).policy->name);
}

static ssize_t policy_store(struct device *dev, struct device_attribute *attribute,
			    const char *text, size_t length)
{
	struct overtake_device *device = device_of(dev);
	const struct ovt_sched_policy *policy;
	struct ovt_sched_settings settings;
	int ret = -EINVAL;
	u32 i;

	overtake_lock(device);
	settings = device->service->settings;
	for (i = 0; (policy = ovt_sched_policy_at(i)); i++) {
		if (!sysfs_streq(text, policy->name))
			continue;
		settings.policy = policy;
		ret = overtake_service_configure_locked(device, &settings);
	}
	overtake_unlock(device);
	return ret ? ret : length;
}
static DEVICE_ATTR_RW(policy);

#define SERVICE_ATTRIBUTE(name)	(&service_files[OVT_SETTING_##name].attr)

static struct attribute *service_attributes[] = {
#define OVT_QUEUE_SETTING(name, ...)	SERVICE_ATTRIBUTE(name),
#define OVT_DEVICE_SETTING(name, ...)	SERVICE_ATTRIBUTE(name),
#include "sched/settings.inc"
	&dev_attr_policy.attr,
	NULL
};

static const struct attribute_group service_group = {
	.name = "service",
	.attrs = service_attributes,
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
	if (ret)
		goto remove;
	ret = device_add_group(device->drm.dev, &service_group);
	if (!ret)
		return 0;
	device_remove_group(device->drm.dev, &device_group);
remove:
	remove_directories(device, i);
	return ret;
}

/* Removes the attributes, and waits for their readers and writers. */
void overtake_sysfs_remove(struct overtake_device *device)
{
	device_remove_group(device->drm.dev, &service_group);
	device_remove_group(device->drm.dev, &device_group);
	remove_directories(device, device->settings.cores);
}
