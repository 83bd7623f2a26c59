/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs, from their publication to their end.  See overtake_job.c. */
#ifndef OVERTAKE_JOB_H
#define OVERTAKE_JOB_H

#include "overtake_drv.h"
#include "overtake_fence.h"
#include "overtake_sync.h"

/* Greatest number of a job's mappings: its bindings, its result and the record of its parts. */
#define OVERTAKE_JOB_MAPPINGS	(OVERTAKE_MAX_BINDINGS + 2)

struct dma_fence;
struct io_uring_cmd;
struct overtake_group;
struct overtake_recording;
struct overtake_task;

enum overtake_job_state {
	OVERTAKE_JOB_NEW,		/* its submitter has not finished its publication */
	OVERTAKE_JOB_BLOCKED,		/* admitted; waits for fences */
	OVERTAKE_JOB_IN_FLIGHT,		/* the firmware has it */
	OVERTAKE_JOB_ENDED,		/* result final; to be delivered and collected */
};

/**
 * struct overtake_ended_commands - io_uring commands whose jobs have ended
 *
 * All of them belong to one ring and to one task of that ring.
 *
 * @first: the oldest command, or NULL; each command links to the next
 * @last: the newest command
 * @complete: completes them, in the context of their task, and empties the list
 */
struct overtake_ended_commands {
	struct io_uring_cmd *first;
	struct io_uring_cmd *last;
	void (*complete)(struct overtake_ended_commands *ended);
};

/**
 * struct overtake_job - a job
 * @fw: the firmware's part, and the memory that the core sees
 * @ref: see overtake_job.c
 * @context: held by a reference
 * @task: the task of which it is a segment; NULL: the job has ended, or belongs to no task
 * @end_of_task_locked: notifies @task that the job has ended; called under the device lock
 * @recording: the recording whose instance it is, held while it is in flight; else NULL
 * @take_back: for an instance: takes it back in place of freeing it; may sleep
 * @tag: the client's name of the job; for a job of a task, the service's
 * @custom_id: tie-break of the task level, recorded only
 * @model: what trace events call its model, recorded only
 * @is_offence: it has counted towards a ban; device lock
 * @in_slice: its slice has begun, if slices are traced; device lock
 * @state: device lock
 * @cancel_requested: no second CANCEL follows, and no SUBMIT if there was none yet; device lock
 * @collectable: it came in through ioctl, so WAIT collects it
 * @in_tree: @tag_node is in the context's tree, which holds a reference; device lock
 * @cancel_status: status with which a cancel ends the job, 0 without a cancel; device lock
 * @deadline_ns: the client's value; from publication on, device time or OVT_TIME_NEVER
 * @tag_node: in overtake_context.jobs
 * @deadline_node: in overtake_device.deadlines
 * @result: final once @state is OVERTAKE_JOB_ENDED
 * @result_memory: the client's result record, inside one of @mappings, or NULL
 * @command: the io_uring command to complete; the function that takes it (xchg) completes it
 * @end_command: adds @command to those that end with the @result of their jobs.  Any context
 * @batch_link: in the list of ended jobs to be delivered, or being delivered; in
 *	overtake_recording.idle for an idle instance
 * @parts_left: parts of its delivery that are not done: fence and command, end of CPU access
 * @collect_link: in overtake_context.ended
 * @fence: signalled when the job has ended; NULL: no syncobj gets it
 * @syncs: fences that it waits for, and syncobjs that get @fence
 * @is_ending: its client knows its end, and the instance is not back in @recording yet
 * @fcs: its FCs; those of an instance belong to the recording
 * @group: its parts on several cores, or NULL
 * @scratch: memory of its scratch region, or NULL
 * @charged_bytes: bytes that its client was charged for it
 * @mapping_count: entries of @mappings
 * @accessed: BIT(i): CPU access to @mappings[i], an import, has begun for this job
 * @object_count: entries of @objects
 * @mappings: the memory that it names, each with a reference; an instance begins with those of
 *	its recording, which holds their references
 * @objects: the buffers of @mappings, one for each reservation object, held by @mappings
 * @uses: its uses of @objects
 * @object_written: the job may write the buffer of the same index in @objects
 * @open_cores: cores that may execute it, bit k - 1 for core k; 0: @fw names the core
 * @core_answer: address at which its submitter wants the number of the core, or NULL
 * @access_work: ends CPU access when the job has ended
 * @garbage: frees the job when the last reference has gone
 */
struct overtake_job {
	struct ovt_fw_job fw;
	struct kref ref;
	struct overtake_context *context;
	struct overtake_task *task;
	void (*end_of_task_locked)(struct overtake_job *job);
	struct overtake_recording *recording;
	void (*take_back)(struct overtake_job *job);
	u64 tag;
	s64 custom_id;
	u64 model;
	bool in_slice;
	bool is_offence;

	enum overtake_job_state state;
	bool cancel_requested;
	bool collectable;
	bool in_tree;
	s32 cancel_status;
	u64 deadline_ns;
	struct rb_node tag_node;
	struct rb_node deadline_node;
	struct list_head batch_link;
	atomic_t parts_left;
	struct list_head collect_link;

	struct overtake_result result;
	struct overtake_result *result_memory;
	struct io_uring_cmd *command;
	void (*end_command)(struct io_uring_cmd *command, struct overtake_ended_commands *ended);
	struct dma_fence *fence;
	struct overtake_syncs syncs;

	bool is_ending;
	struct ovt_fc *fcs;
	struct overtake_group *group;
	void *scratch;
	u64 charged_bytes;
	u32 mapping_count;
	u32 accessed;
	u32 object_count;
	struct overtake_mapping *mappings[OVERTAKE_JOB_MAPPINGS];
	struct drm_gem_object *objects[OVERTAKE_JOB_MAPPINGS];
	struct overtake_use uses[OVERTAKE_JOB_MAPPINGS];
	bool object_written[OVERTAKE_JOB_MAPPINGS];
	u64 open_cores;
	u32 __user *core_answer;
	struct work_struct access_work;
	struct overtake_garbage garbage;
};

#define to_overtake_job(job)	container_of(job, struct overtake_job, fw)

static inline struct overtake_device *overtake_job_device(const struct overtake_job *job)
{
	return job->context->client->device;
}

bool overtake_job_begin_private_uses(struct overtake_job *job);
u32 overtake_jobs_publish(struct overtake_job **jobs, u32 count, bool *more);
u32 overtake_jobs_refuse(struct overtake_job **jobs, u32 count, int error);
int overtake_job_publish(struct overtake_job *job, bool interruptible);
int overtake_job_cancel_tag(struct overtake_client *client,
			    const struct drm_overtake_cancel *args);
void overtake_job_cancel(struct overtake_job *job);

/* For publication, under the device lock. */
void overtake_job_begin_flight_locked(struct overtake_job *job);
void overtake_job_submit_locked(struct overtake_job *job);
void overtake_job_unblock_locked(struct overtake_job *job);
void overtake_job_end_blocked_locked(struct overtake_job *job, s32 status);

/* For the host and the service, under the device lock. */
void overtake_job_start_locked(struct overtake_job *job);
void overtake_job_cancel_locked(struct overtake_job *job, s32 status, u64 now_ns);
bool overtake_jobs_unblock_locked(struct overtake_device *device, u32 count);
void overtake_job_ended_locked(struct overtake_job *job);
bool overtake_jobs_cancel_some_locked(struct overtake_context *context, u64 *tag, s32 status,
				      bool only_blocked);

int overtake_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_replay_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_cancel_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
