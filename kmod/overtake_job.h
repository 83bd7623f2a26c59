/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs, from their publication to their end.  See overtake_job.c. */
#ifndef OVERTAKE_JOB_H
#define OVERTAKE_JOB_H

#include "overtake_drv.h"
#include "overtake_fence.h"
#include "overtake_sync.h"

/* Of its bindings, its result and the record of its parts. */
#define OVERTAKE_JOB_MAPPINGS	(OVERTAKE_MAX_BINDINGS + 2)

struct dma_fence;
struct io_uring_cmd;
struct overtake_group;
struct overtake_recording;
struct overtake_task;

enum overtake_job_state {
	OVERTAKE_JOB_NEW,		/* its submitter is not done with it */
	OVERTAKE_JOB_BLOCKED,		/* admitted; waits for fences */
	OVERTAKE_JOB_IN_FLIGHT,		/* the firmware has it */
	OVERTAKE_JOB_ENDED,		/* result final; to be delivered and collected */
};

/**
 * struct overtake_ended_commands - io_uring commands whose jobs have ended
 *
 * All of them are of one ring and of one of its tasks.
 *
 * @first: the oldest, or NULL; each knows the next
 * @last: the newest
 * @complete: completes them, in context of their task; then there are none
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
 * @task: of which it is a segment, until it has ended; NULL: a job by itself
 * @end_of_task_locked: tells @task that the job has ended.  Device lock
 * @recording: whose instance it is, held while it is in flight, or NULL
 * @take_back: of an instance: takes it back in place of freeing it.  May sleep
 * @tag: the client's name of it; of a task's, the service's
 * @custom_id: tie-break of the task level, recorded only
 * @model: what trace events call its model, recorded only
 * @is_offence: it has counted towards a ban; device lock
 * @in_slice: its slice has begun, if slices are traced; device lock
 * @state: device lock
 * @cancel_requested: no second CANCEL, and if not yet in flight no SUBMIT; device lock
 * @collectable: came in through ioctl, so WAIT collects it
 * @in_tree: @tag_node is in the context's tree, which holds a reference; device lock
 * @cancel_status: what the job ends with if a cancel ends it, 0 without one; device lock
 * @deadline_ns: what the client asked for; from publication on device time, OVT_TIME_NEVER if none
 * @tag_node: in overtake_context.jobs
 * @deadline_node: in overtake_device.deadlines
 * @result: final once @state is OVERTAKE_JOB_ENDED
 * @result_memory: the client's result record, inside one of @mappings, or NULL
 * @command: the io_uring command to complete; the function that takes it (xchg) completes it
 * @end_command: adds @command to those that end with what is in their jobs' @result.  Any context
 * @batch_link: in the list of ended jobs to be delivered, or being delivered
 * @parts_left: of its delivery: fence and command, end of CPU access
 * @collect_link: in overtake_context.ended
 * @fence: signalled when the job has ended; NULL: of a task
 * @syncs: fences that it waits for, and syncobjs that get @fence
 * @is_ending: its client knows its end, and its memory is not back in @recording
 * @fcs: its FCs; of an instance, the recording's
 * @group: its parts on several cores, or NULL
 * @scratch: memory of its scratch region, or NULL
 * @charged_bytes: what its client was charged for it
 * @mapping_count: entries of @mappings
 * @accessed: BIT(i): CPU access to @mappings[i], an import, has begun for this job
 * @object_count: entries of @objects
 * @mappings: the memory that it names, each with a reference; of an instance, first the
 *	recording's, which has these references
 * @objects: the buffers of @mappings, one for each reservation object, held by them
 * @uses: its uses of @objects
 * @object_written: the job may write that buffer
 * @open_cores: which cores may take it, bit k - 1 for core k; 0: @fw says it
 * @core_answer: where its submitter wants the number of the core, or NULL
 * @access_work: ends CPU access when the job has ended
 * @garbage: once the last reference has gone
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
