// SPDX-License-Identifier: GPL-2.0-only
/* The module, its devices, and the files that user space opens. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/platform_device.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>

#include "hw/simd/choose.h"

#include "compat.h"
#include "overtake_backstop.h"
#include "overtake_collect.h"
#include "overtake_ctx.h"
#include "overtake_debugfs.h"
#include "overtake_drv.h"
#include "overtake_fence.h"
#include "overtake_gem.h"
#include "overtake_host.h"
#include "overtake_inject.h"
#include "overtake_job.h"
#include "overtake_plug.h"
#include "overtake_pm.h"
#include "overtake_prime.h"
#include "overtake_query.h"
#include "overtake_recording.h"
#include "overtake_sysfs.h"
#include "overtake_task.h"
#include "overtake_uring.h"
#include "overtake_workqueues.h"
#include "host/core_profile.h"
#include "host/limits.h"

#define MAX_DEVICES	8

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1.." __stringify(MAX_DEVICES) " (1)");

/*
 * A parameter with one value for each device; the last value given applies to the devices that
 * follow as well.  It is read when a device is probed; the settings live in the device.
 */
#define DEVICE_PARAMETER(c_type, type, name, preset, mode)		\
	static c_type name##_of[MAX_DEVICES] = { preset };		\
	static unsigned int name##_given = 1;				\
	module_param_array_named(name, name##_of, type, &name##_given, mode)

/* The value for device @index. */
#define OF_DEVICE(name, index)	(name##_of[min(index, max(name##_given, 1u) - 1)])

DEVICE_PARAMETER(unsigned int, uint, cores, 2, 0444);
MODULE_PARM_DESC(cores, "cores of each device, 1..64 (2)");
static_assert(OVERTAKE_MAX_CORES == 64);

DEVICE_PARAMETER(char *, charp, mode, "functional", 0444);
MODULE_PARM_DESC(mode, "functional, timed or both, for each device (functional)");

DEVICE_PARAMETER(char *, charp, profile, "default", 0444);
MODULE_PARM_DESC(profile,
		 "numbers of each device: default, ideal, ethos-u65-512 or rk3588-core; or one such name for each core, joined by '+' (default)");

DEVICE_PARAMETER(unsigned int, uint, clock_khz, 0, 0444);
MODULE_PARM_DESC(clock_khz,
		 "clock of each device instead of its profile's, so that its modelled time runs slower or faster, 1000..4000000; 0 = the profile's (0)");

DEVICE_PARAMETER(unsigned int, uint, watchdog_ms, OVT_WATCHDOG_MS, 0444);
MODULE_PARM_DESC(watchdog_ms,
		 "device time that one FC may execute, for each device, 1..4294967295 ("
		 __stringify(OVT_WATCHDOG_MS) ")");

DEVICE_PARAMETER(unsigned int, uint, fc_clock_ms, OVT_FC_CLOCK_MS, 0444);
MODULE_PARM_DESC(fc_clock_ms,
		 "CPU time that executing one FC may take, for each device, 1..4294967295 ("
		 __stringify(OVT_FC_CLOCK_MS) ")");

DEVICE_PARAMETER(unsigned int, uint, stop_grace_ms, 100, 0444);
MODULE_PARM_DESC(stop_grace_ms,
		 "time that an FC may go on executing after a cancel or its deadline, 0..4294967295 (100)");

DEVICE_PARAMETER(unsigned int, uint, queue_timeout_ms, OVT_QUEUE_TIMEOUT_MS, 0444);
MODULE_PARM_DESC(queue_timeout_ms,
		 "how long a job may be in flight by default, 1..4294967295 ("
		 __stringify(OVT_QUEUE_TIMEOUT_MS) ")");

DEVICE_PARAMETER(unsigned int, uint, deadline_max_ms, 60000, 0444);
MODULE_PARM_DESC(deadline_max_ms,
		 "how long a job may be in flight whatever its deadline, 1..4294967295 (60000)");

DEVICE_PARAMETER(char *, charp, simd, "auto", 0444);
MODULE_PARM_DESC(simd,
		 "auto: AVX2 where the CPU has it; vnni: VNNI, too; or off: the same bytes, later (auto)");

DEVICE_PARAMETER(unsigned int, uint, ban_offences, 64, 0444);
MODULE_PARM_DESC(ban_offences,
		 "a context is banned when so many of its jobs fault or hang, 1..4294967295; 0 = never (64)");

DEVICE_PARAMETER(unsigned int, uint, ban_core_ms, 5000, 0444);
MODULE_PARM_DESC(ban_core_ms,
		 "or when jobs that fault, hang or are stopped have cost so much time of cores, 1..4294967295; 0 = any (5000)");

DEVICE_PARAMETER(unsigned int, uint, ban_window_ms, 10000, 0444);
MODULE_PARM_DESC(ban_window_ms, "within how much device time, 0..4294967295 (10000)");

DEVICE_PARAMETER(char *, charp, inject, "", 0400);
MODULE_PARM_DESC(inject,
		 "faults to inject, KIND:N for the Nth FC from 1 or a rule of the kernel's fault injection, KIND=INTERVAL/PROBABILITY/SPACE/TIMES, joined by '+': stuck, endless, descriptor, instruction, lost-wakeup, lost-interrupt, spurious or reset (none)");

DEVICE_PARAMETER(bool, bool, manual_clock, false, 0444);
MODULE_PARM_DESC(manual_clock, "0 or 1: device time is stepped through debugfs (0)");

DEVICE_PARAMETER(bool, bool, fair, false, 0444);
MODULE_PARM_DESC(fair,
		 "0 or 1: contexts take turns below priority 255, weighted by priority (0: first come, first served)");

DEVICE_PARAMETER(unsigned int, uint, quota_ms, 0, 0444);
MODULE_PARM_DESC(quota_ms,
		 "with fair=1: device time for which a context may hold cores below priority 255 in a second, 1..999; 0 = no quota (0)");

static int parse_mode(const char *name, enum ovt_mode *result)
{
	static const char * const names[] = {
		[OVT_MODE_FUNCTIONAL] = "functional",
		[OVT_MODE_TIMED] = "timed",
		[OVT_MODE_BOTH] = "both",
	};
	int index = match_string(names, ARRAY_SIZE(names), name);

	if (index < 0)
		return -EINVAL;
	*result = index;
	return 0;
}

/* VNNI has not run in a kernel of real hardware yet, so an administrator has to ask for it. */
static int parse_simd(const char *name, struct overtake_settings *settings)
{
	settings->simd_level = OVT_SIMD_AVX2;
	settings->simd = strcmp(name, "off") && ovt_simd_supported();
	if (!strcmp(name, "vnni"))
		settings->simd_level = ovt_simd_best();
	else if (strcmp(name, "auto") && strcmp(name, "off"))
		return -EINVAL;
	return 0;
}

static int read_turns(struct device *dev, u32 index, struct overtake_settings *settings)
{
	settings->fair = OF_DEVICE(fair, index);
	settings->quota_ms = OF_DEVICE(quota_ms, index);
	if (settings->quota_ms >= MSEC_PER_SEC)
		return dev_err_probe(dev, -EINVAL, "quota_ms: not 0..999\n");
	if (settings->quota_ms && !settings->fair)
		return dev_err_probe(dev, -EINVAL,
				     "quota_ms: only where contexts take turns; add fair=1\n");
	return 0;
}

static u32 count_names(const char *names)
{
	u32 count = 1;

	while ((names = strchr(names, '+'))) {
		count++;
		names++;
	}
	return count;
}

/* @names: one name for all cores, or one for each, joined by '+'; the text is changed. */
static int find_profiles(struct device *dev, char *names, struct overtake_settings *settings)
{
	const struct ovt_profile *found = NULL;
	u32 count = count_names(names);
	u32 core;

	if (count != 1 && count != settings->cores)
		return dev_err_probe(dev, -EINVAL,
				     "profile: %u names for %u cores; name one for each, or one for all\n",
				     count, settings->cores);
	for (core = 1; core <= settings->cores; core++) {
		const char *name = strsep(&names, "+");

		if (name)
			found = ovt_profile_find(name);
		if (!found && count == 1)
			return dev_err_probe(dev, -EINVAL, "profile: not built in\n");
		if (!found)
			return dev_err_probe(dev, -EINVAL, "profile: core %u: not built in\n",
					     core);
		settings->profiles[core - 1] = *found;
	}
	return 0;
}

static int read_profiles(struct overtake_device *device, struct overtake_settings *settings)
{
	u32 khz = OF_DEVICE(clock_khz, device->index);
	struct device *dev = device->drm.dev;
	char *names;
	u32 i;
	int ret;

	if (khz && (khz < 1000 || khz > 4000000))
		return dev_err_probe(dev, -EINVAL, "clock_khz: not 0 or 1000..4000000\n");
	settings->profiles = drmm_kcalloc(&device->drm, settings->cores,
					  sizeof(*settings->profiles), GFP_KERNEL);
	names = kstrdup(OF_DEVICE(profile, device->index), GFP_KERNEL);
	ret = settings->profiles && names ? find_profiles(dev, names, settings) : -ENOMEM;
	kfree(names);
	if (ret)
		return ret;
	for (i = 0; khz && i < settings->cores; i++)
		settings->profiles[i].clock_khz = khz;
	settings->like_cores = ovt_profiles_alike(settings->profiles, settings->cores);
	return 0;
}

static int read_settings(struct overtake_device *device, struct overtake_settings *settings)
{
	struct device *dev = device->drm.dev;
	u32 index = device->index;
	int ret;

	settings->cores = OF_DEVICE(cores, index);
	if (!settings->cores || settings->cores > OVERTAKE_MAX_CORES)
		return dev_err_probe(dev, -EINVAL, "cores: not 1..%u\n", OVERTAKE_MAX_CORES);
	if (parse_mode(OF_DEVICE(mode, index), &settings->mode))
		return dev_err_probe(dev, -EINVAL, "mode: not functional, timed or both\n");
	ret = read_profiles(device, settings);
	if (ret)
		return ret;
	if (parse_simd(OF_DEVICE(simd, index), settings))
		return dev_err_probe(dev, -EINVAL, "simd: not auto, vnni or off\n");
	settings->watchdog_ms = OF_DEVICE(watchdog_ms, index);
	settings->fc_clock_ns = (u64)OF_DEVICE(fc_clock_ms, index) * NSEC_PER_MSEC;
	settings->stop_grace_ns = (u64)OF_DEVICE(stop_grace_ms, index) * NSEC_PER_MSEC;
	settings->queue_timeout_ns = (u64)OF_DEVICE(queue_timeout_ms, index) * NSEC_PER_MSEC;
	settings->deadline_max_ns = (u64)OF_DEVICE(deadline_max_ms, index) * NSEC_PER_MSEC;
	if (!settings->watchdog_ms || !settings->fc_clock_ns || !settings->queue_timeout_ns ||
	    !settings->deadline_max_ns)
		return dev_err_probe(dev, -EINVAL,
				     "watchdog_ms, fc_clock_ms, queue_timeout_ms, deadline_max_ms: not 0\n");
	settings->ban.offences = OF_DEVICE(ban_offences, index);
	settings->ban.lost_ns = (u64)OF_DEVICE(ban_core_ms, index) * NSEC_PER_MSEC;
	settings->ban.window_ns = (u64)OF_DEVICE(ban_window_ms, index) * NSEC_PER_MSEC;
	settings->inject = OF_DEVICE(inject, index);
	settings->manual_clock = OF_DEVICE(manual_clock, index);
	return read_turns(dev, index, settings);
}

static const struct drm_ioctl_desc overtake_ioctls[] = {
	DRM_IOCTL_DEF_DRV(OVERTAKE_QUERY, overtake_query_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_BO_CREATE, overtake_bo_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_BO_MMAP_OFFSET, overtake_bo_mmap_offset_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_BO_MAP, overtake_bo_map_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_BO_UNMAP, overtake_bo_unmap_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_BO_WAIT, overtake_bo_wait_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_CONTEXT_CREATE, overtake_context_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_CONTEXT_DESTROY, overtake_context_destroy_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_SUBMIT, overtake_submit_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_CANCEL, overtake_cancel_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_WAIT, overtake_wait_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_TASK_SUBMIT, overtake_task_submit_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_TASK_EVENTS, overtake_task_events_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_TASK_CPU_DONE, overtake_task_cpu_done_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_TASK_CANCEL, overtake_task_cancel_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_RECORD, overtake_record_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_REPLAY, overtake_replay_ioctl, 0),
	DRM_IOCTL_DEF_DRV(OVERTAKE_FORGET, overtake_forget_ioctl, 0),
};

/*
 * Allows the driver's ioctls, and of DRM's own those that DRM allows on render nodes.  The others
 * are for files of displays, and DRM does not refuse them for an accelerator's file.  Some of them
 * follow a pointer to the display's owner, which such a file lacks (GET_MAGIC, GET_UNIQUE).
 */
static bool ioctl_is_allowed(unsigned int cmd)
{
	unsigned int flags;

	return !drm_ioctl_flags(DRM_IOCTL_NR(cmd), &flags) || (flags & DRM_RENDER_ALLOW);
}

static long overtake_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	return ioctl_is_allowed(cmd) ? drm_ioctl(file, cmd, argument) : -EACCES;
}

#ifdef CONFIG_COMPAT
static long overtake_compat_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	return ioctl_is_allowed(cmd) ? drm_compat_ioctl(file, cmd, argument) : -EACCES;
}
#else
#define overtake_compat_ioctl	NULL
#endif

/* DRM_ACCEL_FOPS, with the driver's own ioctl function. */
static const struct file_operations overtake_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = overtake_ioctl,
	.compat_ioctl = overtake_compat_ioctl,
	.poll = overtake_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.show_fdinfo = drm_show_fdinfo,
	.uring_cmd = overtake_uring_cmd,
};

/*
 * Makes the buffer a dma-buf, whose reservation object others look at.  The object is made ready
 * for them before DRM takes a lock that all exports and imports of the device need.  Jobs that wait
 * in a plug now have fences, which must be signalled in bounded time: the plug is flushed.
 */
static int prime_handle_to_fd(struct drm_device *drm, struct drm_file *file, u32 handle, u32 flags,
			      int *fd)
{
	struct drm_gem_object *object = drm_gem_object_lookup(file, handle);
	int ret;

	if (!object)
		return -ENOENT;
	ret = object->import_attach ? 0 : overtake_users_share(object);
	overtake_plug_flush_all(file->driver_priv);
	if (!ret)
		ret = drm_gem_prime_handle_to_fd(drm, file, handle, flags, fd);
	drm_gem_object_put(object);
	return ret;
}

static const struct drm_driver overtake_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM |
			   DRIVER_SYNCOBJ | DRIVER_SYNCOBJ_TIMELINE,
	.open = overtake_client_open,
	.postclose = overtake_client_close,
	.show_fdinfo = overtake_client_fdinfo,
	/* Without .dumb_create: buffers come from BO_CREATE, which has limits. */
	.gem_create_object = overtake_gem_create_object,
	.gem_prime_import = overtake_prime_import,
	.prime_fd_to_handle = overtake_prime_fd_to_handle,
	.prime_handle_to_fd = prime_handle_to_fd,
	.ioctls = overtake_ioctls,
	.num_ioctls = ARRAY_SIZE(overtake_ioctls),
	.fops = &overtake_fops,
	.name = "overtake",
	.desc = "Overtake preempting NPU",
	OVERTAKE_DRIVER_DATE
	.major = 1,
	.minor = 3,
};

/* Plans the faults of the module parameter. */
static int inject_faults(struct overtake_device *device)
{
	char *text = kstrdup(device->settings.inject, GFP_KERNEL);
	int ret;

	if (!text)
		return -ENOMEM;
	ret = overtake_inject_plan(device, text);
	kfree(text);
	if (ret)
		return dev_err_probe(device->drm.dev, ret,
				     "inject: not KIND:FC or KIND=RULE, joined by +\n");
	return 0;
}

static int overtake_probe(struct platform_device *platform)
{
	struct overtake_device *device;
	int ret;

	device = devm_drm_dev_alloc(&platform->dev, &overtake_driver, struct overtake_device, drm);
	if (IS_ERR(device))
		return PTR_ERR(device);
	/* Cores are on no bus, so all memory of an exporter is within their reach. */
	ret = dma_coerce_mask_and_coherent(&platform->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	device->index = platform->id;
	ret = read_settings(device, &device->settings);
	if (ret)
		return ret;
	ret = overtake_host_init(device);
	if (ret)
		return ret;
	overtake_backstop_init(device);
	ret = inject_faults(device);
	if (ret)
		return ret;
	platform_set_drvdata(platform, device);
	ret = overtake_host_start(device);
	if (ret)
		return ret;
	overtake_backstop_start(device);
	overtake_debugfs_add(device);
	ret = overtake_sysfs_add(device);
	if (ret)
		goto stop;
	ret = drm_dev_register(&device->drm, 0);
	if (ret)
		goto remove_sysfs;
	return 0;

remove_sysfs:
	overtake_sysfs_remove(device);
stop:
	overtake_backstop_stop(device);
	overtake_host_stop(device);
	return ret;
}

/*
 * Ends, in this order: root's attributes; all that is in flight; new system calls; threads and
 * timer.  Open files, and with them the device's memory, may outlive this.
 */
static void overtake_remove(struct platform_device *platform)
{
	struct overtake_device *device = platform_get_drvdata(platform);

	overtake_sysfs_remove(device);
	overtake_host_go(device);
	drm_dev_unplug(&device->drm);
	overtake_backstop_stop(device);
	overtake_host_stop(device);
}

static struct platform_driver overtake_platform_driver = {
	.probe = overtake_probe,
	.remove = overtake_remove,
	.driver = {
		.name = "overtake",
		.pm = pm_sleep_ptr(&overtake_pm_ops),
		/* add_devices() looks at the result of the probe. */
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
};

/* The accelerators that this module creates; no state of a device is here. */
static struct platform_device *platform_devices[MAX_DEVICES];

static void remove_devices(void)
{
	u32 i;

	for (i = MAX_DEVICES; i--; )
		if (platform_devices[i])
			platform_device_unregister(platform_devices[i]);
}

static int __init add_devices(void)
{
	u32 i;

	for (i = 0; i < devices; i++) {
		struct platform_device *platform;

		platform = platform_device_register_simple("overtake", i, NULL, 0);
		if (IS_ERR(platform)) {
			remove_devices();
			return PTR_ERR(platform);
		}
		platform_devices[i] = platform;
		/* A bad parameter fails the insmod; no device is left without a driver. */
		if (!platform_get_drvdata(platform)) {
			remove_devices();
			return -EINVAL;
		}
	}
	return 0;
}

static int __init overtake_init(void)
{
	int ret;

	if (!devices || devices > MAX_DEVICES)
		return -EINVAL;
	ret = overtake_workqueues_create();
	if (ret)
		return ret;
	ret = platform_driver_register(&overtake_platform_driver);
	if (ret)
		goto destroy;
	ret = add_devices();
	if (ret)
		goto unregister;
	return 0;

unregister:
	platform_driver_unregister(&overtake_platform_driver);
destroy:
	overtake_workqueues_destroy();
	return ret;
}

static void __exit overtake_exit(void)
{
	remove_devices();
	platform_driver_unregister(&overtake_platform_driver);
	/* Work items may yet drop the last references to jobs, contexts and devices. */
	overtake_workqueues_destroy();
	rcu_barrier();
	/* The thread that released the last fence may not have left the module yet. */
	synchronize_rcu_tasks();
}

module_init(overtake_init);
module_exit(overtake_exit);

MODULE_DESCRIPTION("Overtake, a preempting software NPU");
MODULE_AUTHOR("The Overtake authors");
MODULE_LICENSE("GPL");
OVERTAKE_IMPORT_DMA_BUF;
