/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations for all files of the driver: the objects, their owners, and the lock that protects
 * each field.  The header X.h declares the functions of X.c that other files call.
 *
 *	device		overtake_drv.c		one accelerator; lives as long as its drm_device
 *	client		overtake_client.c	one open file: address space, limits, accounting
 *	context		overtake_client.c	a queue of a client, with its rights
 *	bo, mapping	overtake_gem.c		a buffer; its place in a client's address space
 *	job		overtake_job.c		states, references, lock order: explained there
 */
#ifndef OVERTAKE_DRV_H
#define OVERTAKE_DRV_H

#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>

#include "overtake_accel.h"
#include "fw/ban.h"
#include "fw/fw.h"
#include "host/coarse.h"
#include "host/limits.h"

struct core_directory;
struct overtake_coarse;
struct overtake_device;
struct overtake_history;
struct overtake_host_operations;
struct overtake_inject;
struct overtake_service;
struct overtake_snapshot;
struct overtake_task_queue;

/* Number of wait queues over which the pollers of a file are spread: see overtake_deliver.c. */
#define OVERTAKE_POLL_QUEUES	128u

#define OVERTAKE_STEP_BUCKETS	40

/**
 * struct overtake_core - the host's side of a core
 * @device: the device that the core belongs to
 * @number: number of the core, from 1
 * @thread: executes the core's FCs, outside all locks
 * @limit: core limit that the administrator set; device lock
 * @limit_pushed: core limit that the driver last gave to the firmware; device lock
 * @normal_floor: NORMAL floor that the administrator set; device lock
 * @aborts: resets through the core's register, without the firmware; device lock
 * @steps: steps taken, for the backstop; written by @thread
 * @max_step_ns: longest step, i.e. the longest time that @thread kept a CPU; written by @thread
 * @step_histogram: [n] counts steps below 2^n ns; written by @thread
 * @seen_steps: @steps at the backstop's last look
 * @stuck: looks in a row that saw no step although an FC should be executing
 * @executing: @thread has taken the FC that runs; device lock
 * @injected: faults injected into that FC, BIT(enum overtake_injection); device lock, or
 *	@thread while it executes
 * @hangs: FCs ended by the watchdog or their clock; device lock
 * @fc_started_ns: host time of the first step of the FC that @thread executes; only for @thread
 * @fc_runtime_ns: CPU time that @thread had used at @fc_started_ns; only for @thread
 * @fc_cpu_ns: CPU time of the FC that was executed last; device lock
 * @budget: cycles of the next step; only for @thread
 */
struct overtake_core {
	struct overtake_device *device;
	u32 number;
	struct task_struct *thread;
	u32 limit;
	u32 limit_pushed;
	u32 normal_floor;
	u32 aborts;
	u64 steps;
	u64 max_step_ns;
	u64 step_histogram[OVERTAKE_STEP_BUCKETS];
	u64 seen_steps;
	u32 stuck;
	bool executing;
	u32 injected;
	u64 hangs;
	u64 fc_started_ns;
	u64 fc_runtime_ns;
	u64 fc_cpu_ns;
	u64 budget;
};

/**
 * struct overtake_settings - a device's share of the module parameters
 * @cores: number of cores
 * @mode: how cores spend an FC's time
 * @profiles: copies of the profiles, one for each core
 * @like_cores: all cores have the same profile
 * @watchdog_ms: device time that one FC may execute
 * @fc_clock_ns: CPU time of its core's thread that one FC may use
 * @stop_grace_ns: host time that an FC may still execute after its job was cancelled
 * @queue_timeout_ns: default of the time that a job may be in flight
 * @deadline_max_ns: greatest time that a job may be in flight: others wait for its fence
 * @simd: FCs are executed with vector instructions where that is possible
 * @simd_level: the vector instructions that FCs may use
 * @ban: how much harm a context may do before it is banned
 * @inject: faults to be injected, as text
 * @manual_clock: the device starts with the manual clock
 * @fair: contexts take turns with their NORMAL jobs
 * @quota_ms: time of each second for which a context may hold cores with NORMAL jobs, 0 = any
 */
struct overtake_settings {
	u32 cores;
	enum ovt_mode mode;
	struct ovt_profile *profiles;
	bool like_cores;
	u32 watchdog_ms;
	u64 fc_clock_ns;
	u64 stop_grace_ns;
	u64 queue_timeout_ns;
	u64 deadline_max_ns;
	bool simd;
	enum ovt_simd_level simd_level;
	struct ovt_ban_rule ban;
	const char *inject;
	bool manual_clock;
	bool fair;
	u32 quota_ms;
};

/* Cycles that one FC may execute on @core, from 1. */
static inline u64 overtake_watchdog_cycles(const struct overtake_settings *settings, u32 core)
{
	return ovt_watchdog_cycles(&settings->profiles[core - 1], settings->watchdog_ms);
}

/**
 * struct overtake_device - one accelerator
 * @drm: the DRM device that user space opens; its last reference frees the device
 * @index: number of the device among this module's devices; in trace events
 * @settings: constant after probe
 * @cores: the host's side of each core; the pointer is constant
 * @host: functions of the host that other files call; constant
 * @core_directories: the sysfs directory of each core
 * @lock: the device lock: protects every field from here on whose text names no other protection
 * @fw: the firmware; every ovt_fw_* call is made under @lock
 * @hw: the cores; ovt_core_step() is called outside @lock by the core's thread
 * @fw_cores: the firmware's side of each core
 * @simd: memory for vector instructions, one for each core's thread; NULL: no core uses them
 * @commands: memory of the firmware's command queue
 * @events: memory of the firmware's event queue
 * @gone: the device is being removed: it admits nothing more, and jobs that end, end with -ENODEV
 * @untimed: the device is being removed, and all jobs in flight have been asked to end: the
 *	firmware waits for no modelled time any more
 * @stopped: the device is removed: timer and threads are stopped, or are being stopped
 * @held: ovt_fw_hold() was called: the firmware starts nothing
 * @suspended: timer and threads are stopped, or are being stopped
 * @manual: device time is @manual_ns, stepped through debugfs
 * @choosing: the caller that steps the clock ends this instant: cores choose
 * @manual_ns: device time while the clock is manual
 * @timer_ns: device time at which @timer is due
 * @timer: fires when device time reaches @timer_ns
 * @deadlines: jobs in flight that have a deadline, by deadline_ns
 * @undelivered: jobs that ended and are not delivered yet
 * @unblocked_lock: protects @unblocked; innermost
 * @unblocked: jobs whose fences are signalled or failed, by ring
 * @contexts: contexts that are not dead, by their serial numbers
 * @limiting: contexts that are not dead and ask for a core limit: the few with a right to 255
 * @context_serial: serial number of the newest context
 * @users: users that have open files of the device, by uid
 * @files: open files
 * @live_contexts: contexts that the firmware knows
 * @jobs_in_flight: jobs that were admitted and have not ended
 * @timer_lateness_ns: longest delay of @timer
 * @looked_ns: device time of the backstop's last look
 * @lost_interrupts: wake-ups and interrupts that the backstop made up for
 * @spurious_interrupts: wake-ups of cores that had nothing to execute
 * @longest_read: most things that a reader of debugfs handled in one hold of @lock
 * @lock_is_measured: longest_hold in debugfs is kept; see overtake_lock.h
 * @lock_taken_ns: when @lock was taken, while it is held and measured
 * @longest_hold_ns: longest hold of @lock since measuring began
 * @longest_holder: address of the code that ended the longest hold
 * @bans: contexts that were banned
 * @coarse: coarse counters, for sysfs and callers without CAP_PERFMON
 * @history: the last FCs and events
 * @inject: faults on demand
 * @service: the tasks of all processes
 * @snapshot: state of a core when it was reset, to be dumped
 * @idle: woken when one of the counts above falls, or time was stepped
 * @cancels: CANCEL commands that the firmware has not answered yet
 * @continue_work: goes on with the work that one bounded round left
 * @backstop: looks for cores that make no progress
 * @clock_mutex: one writer of the manual clock at a time; taken outside @lock
 */
struct overtake_device {
	struct drm_device drm;
	u32 index;
	struct overtake_settings settings;
	struct overtake_core *cores;
	const struct overtake_host_operations *host;
	struct core_directory *core_directories; /* sysfs */

	spinlock_t lock; /* see above */
	struct ovt_fw fw;
	struct ovt_core *hw;
	struct ovt_fw_core *fw_cores;
	struct ovt_simd_scratch *simd;
	struct ovt_command *commands;
	struct ovt_event *events;
	bool gone;
	bool untimed;
	bool stopped;
	bool held;
	bool suspended;
	bool manual;
	bool choosing;
	u64 manual_ns;
	u64 timer_ns;
	struct rb_root_cached deadlines;
	u32 undelivered;
	spinlock_t unblocked_lock; /* innermost */
	struct list_head unblocked[OVT_RING_COUNT];
	struct rb_root_cached contexts;
	struct list_head limiting;
	u64 context_serial;
	struct rb_root users;
	u32 files;
	u32 live_contexts;
	u32 jobs_in_flight;
	u32 cancels;
	u64 timer_lateness_ns;
	u64 looked_ns;
	u64 lost_interrupts;
	u64 spurious_interrupts;
	u32 longest_read;
	bool lock_is_measured;
	u64 lock_taken_ns;
	u64 longest_hold_ns;
	unsigned long longest_holder;
	u64 bans;
	struct overtake_coarse *coarse;
	struct overtake_history *history;
	struct overtake_inject *inject;
	struct overtake_service *service;
	struct overtake_snapshot *snapshot;

	struct hrtimer timer;
	wait_queue_head_t idle;
	struct work_struct continue_work;
	struct delayed_work backstop;
	struct mutex clock_mutex; /* serialises steps of the manual clock */
};

#define to_overtake_device(dev)	container_of(dev, struct overtake_device, drm)

/**
 * struct overtake_usage - the use of a core by the jobs of an open file
 * @jobs: jobs that ended
 * @fcs: FCs that ended, by ring
 * @busy_ns: device time of the FCs that ended, by ring
 * @unshown: FCs and time that the coarse counters do not show yet
 */
struct overtake_usage {
	u64 jobs;
	u64 fcs[OVT_RING_COUNT];
	u64 busy_ns[OVT_RING_COUNT];
	struct ovt_coarse_rest unshown;
};

/**
 * struct overtake_user - a user of a device; see overtake_user.c
 * @device: the device that the user has opened; it outlives its clients
 * @uid: the kernel's uid, not that of a user namespace
 * @node: in overtake_device.users
 * @files: the user's open files; device lock, as all that follows
 * @slots: command slots that the user's jobs and contexts hold
 * @jobs: jobs in flight, and tasks that hold command slots; each has two slots
 * @kept_places: queues of tasks for which a place of the task limit is kept
 * @tasks: tasks of service mode, until their ends are collected
 */
struct overtake_user {
	struct overtake_device *device;
	kuid_t uid;
	struct rb_node node;
	u32 files;
	u32 slots;
	u32 jobs;
	u32 kept_places;
	u32 tasks;
};

/**
 * struct overtake_garbage - something to be freed where sleeping is allowed; see overtake_free.c
 * @node: in overtake_client.garbage
 * @free: frees the object that this struct is part of
 */
struct overtake_garbage {
	struct llist_node node;
	void (*free)(struct overtake_garbage *garbage);
};

/* Greatest number of replays that wait in a plug. */
#define OVERTAKE_PLUGGED_MOST	16u

/**
 * struct overtake_plug - replays of a system call that are yet to be published; overtake_plug.c
 * @callback: in the plug of @owner
 * @lock: protects all fields; a spinlock in process context, outside the device lock
 * @owner: the task whose plug has @callback, or NULL
 * @count: entries of @jobs
 * @jobs: each with the submitter's reference
 */
struct overtake_plug {
#ifdef CONFIG_BLOCK
	struct blk_plug_cb callback;
#endif
	spinlock_t lock; /* see above */
	struct task_struct *owner;
	u32 count;
	struct overtake_job *jobs[OVERTAKE_PLUGGED_MOST];
};

/**
 * struct overtake_client - an open file
 * @ref: held by the file, by each of its buffers and by each context
 * @device: held by a drm_device reference
 * @user: the user who opened the file
 * @id: DRM's client id, in trace events
 * @tgid: process that opened the file, in trace events
 * @comm: name of the process when it opened the file
 * @lock: protects @contexts, @space, @mapped and @next_address
 * @contexts: contexts by id
 * @space: mappings by device address, one page granularity
 * @mapped: mappings by GEM object, to find out whether an object is mapped already
 * @next_address: device address of the next mapping; no address is used twice
 * @bytes: memory charged to the file
 * @buffers: buffers charged to the file
 * @refused: for each limit: number of calls that it made fail, and time of the last one
 * @is_privileged: one of its contexts had a right to 255; device lock
 * @ended: jobs that ended and are to be delivered, by ring; device lock
 * @deliver_work: delivers the jobs of @ended; it holds a reference
 * @to_wake: contexts whose sleepers are to look again, each with a reference; device lock
 * @wake_work: wakes the sleepers of @to_wake; it holds a reference
 * @poll_work: wakes @pollers; it holds a reference
 * @polls_from_ns: host time before which @poll_work does not run; device lock
 * @pollers: wait queues for poll(): each poller is in one of them
 * @garbage: jobs and tasks to be freed; they hold references
 * @free_work: frees @garbage; it holds a reference
 * @ended_count: jobs that WAIT can collect at once; device lock
 * @news_count: contexts with events of tasks; device lock
 * @job_count: sum of overtake_context.job_count, and tasks that hold command slots; device lock
 * @plug: its replays that are yet to be published
 * @usage: its use of each core
 */
struct overtake_client {
	struct kref ref;
	struct overtake_device *device;
	struct overtake_user *user;
	u64 id;
	u32 tgid;
	char comm[TASK_COMM_LEN];
	struct mutex lock; /* see above */
	struct xarray contexts;
	struct maple_tree space;
	struct xarray mapped;
	u64 next_address;
	atomic64_t bytes;
	atomic_t buffers;
	struct {
		atomic64_t count;
		atomic64_t time_ns;
	} refused[OVERTAKE_LIMIT_COUNT];
	bool is_privileged; /* device lock */
	struct list_head ended[OVT_RING_COUNT]; /* device lock */
	struct work_struct deliver_work;
	struct list_head to_wake; /* device lock */
	struct work_struct wake_work;
	struct delayed_work poll_work;
	u64 polls_from_ns; /* device lock */
	struct llist_head garbage;
	struct work_struct free_work;
	wait_queue_head_t pollers[OVERTAKE_POLL_QUEUES];
	u32 ended_count; /* device lock */
	u32 news_count; /* device lock */
	u32 job_count; /* device lock */
	struct overtake_plug plug;
	struct overtake_usage usage[]; /* of each core; device lock */
};

/**
 * struct overtake_context - a queue
 * @ref: held by its id in the client, by the firmware until KILLED, by each job
 * @client: held by a reference
 * @id: number in the client, from 1
 * @max_priority: greatest priority that its jobs may have
 * @core_limit: core limit that it asks for, 0 = none
 * @tasks: its queue of tasks; NULL: the context takes jobs
 * @fw: the firmware's part
 * @serial: serial number, greater than that of every older context
 * @node: in overtake_device.contexts while not dead
 * @limiting_link: in overtake_device.limiting while not dead, if @core_limit is set
 * @dead: no job is admitted any more; device lock, as all that follows
 * @killed: the firmware has reported KILLED and dropped its reference
 * @jobs: by tag: jobs in flight, and ended ones not collected yet
 * @ended: delivered jobs to be collected by WAIT, oldest first
 * @job_count: jobs in @jobs
 * @collectable_count: jobs in @jobs that came in through ioctl, so that WAIT collects them
 * @undelivered: jobs admitted that are not delivered yet
 * @recordings: recordings by id, from 1, each with a reference; none once the context is dead
 * @recording_count: entries of @recordings
 * @wait: woken when a job is delivered, a task has an event, or the context is dead
 * @waiters: threads that sleep in @wait for WAIT and TASK_EVENTS
 * @drainers: threads that sleep in @wait for CONTEXT_DESTROY
 * @replayers: threads that sleep in REPLAY
 * @wake_link: in overtake_client.to_wake
 * @harm: harm that its jobs have done lately; see overtake_faults.c
 * @banned: no job or task is admitted any more, since @harm was too much
 * @ban_work: ends the jobs and tasks of a banned context
 * @free_work: frees the context, whose last reference may be dropped where sleeping is forbidden
 * @rcu: for overtake_context_find()
 * @turns: turns of the firmware, one for each core of a fair device, else none
 */
struct overtake_context {
	struct kref ref;
	struct overtake_client *client;
	u32 id;
	u32 max_priority;
	u32 core_limit;
	struct overtake_task_queue *tasks;
	struct ovt_fw_context fw;
	u64 serial;
	struct rb_node node;
	struct list_head limiting_link;
	bool dead;
	bool killed;
	struct rb_root jobs;
	struct list_head ended;
	u32 job_count;
	u32 collectable_count;
	u32 undelivered;
	struct xarray recordings;
	atomic_t recording_count;
	wait_queue_head_t wait;
	atomic_t waiters;
	atomic_t drainers;
	atomic_t replayers;
	struct list_head wake_link;
	struct ovt_ban_account harm;
	bool banned;
	struct work_struct ban_work;
	struct work_struct free_work;
	struct rcu_head rcu;
	struct ovt_fw_turn turns[];
};

/**
 * struct overtake_users - the jobs that read, or that write, a buffer; see overtake_fence.c
 * @context: dma_fence context of their fences
 * @lock: protects the fields that follow
 * @last: number that was given last
 * @uses: uses by jobs that have not ended, in order of their numbers
 * @fences: fences that are not signalled, in order of their numbers
 */
struct overtake_users {
	u64 context;
	spinlock_t lock; /* see above */
	u64 last;
	struct list_head uses;
	struct list_head fences;
};

/**
 * struct overtake_bo - a buffer
 * @shmem: the memory
 * @client: the client that it is charged to; NULL until then
 * @readers: jobs in flight that only read it
 * @writers: jobs in flight that may write it
 * @is_shared: it was exported; set under its reservation lock, and kept unless the export fails
 */
struct overtake_bo {
	struct drm_gem_shmem_object shmem;
	struct overtake_client *client;
	struct overtake_users readers;
	struct overtake_users writers;
	bool is_shared;
};

static inline struct overtake_bo *overtake_bo_of(const struct drm_gem_object *object)
{
	return container_of(to_drm_gem_shmem_obj(object), struct overtake_bo, shmem);
}

/*
 * Whether only this driver looks at the reservation object of @object.  An export sets @is_shared
 * and then takes the lock of the users: a use that begins under that lock, of a buffer found
 * private there, is among those that the export's fence waits for.
 */
static inline bool overtake_bo_is_private(const struct drm_gem_object *object)
{
	return !object->import_attach && !READ_ONCE(overtake_bo_of(object)->is_shared);
}

/* Whether @object is charged.  Buffers of this device always are; imports, soon after a handle. */
static inline bool overtake_bo_is_charged(const struct drm_gem_object *object)
{
	return smp_load_acquire(&overtake_bo_of(object)->client); /* with charge_import() */
}

/**
 * struct overtake_mapping - a buffer in a client's address space, pinned and vmapped
 * @ref: held by the address space and by each job that names it
 * @object: the buffer, held by a reference, pinned and vmapped
 * @address: device address of its first byte
 * @size: bytes
 * @base: the kernel's address of its first byte
 * @flags: OVERTAKE_MAP_*
 */
struct overtake_mapping {
	struct kref ref;
	struct drm_gem_object *object;
	u64 address;
	u64 size;
	u8 *base;
	u32 flags;
};

#endif
