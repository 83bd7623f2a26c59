// SPDX-License-Identifier: GPL-2.0-only
/*
 * The io_uring backend.
 *
 * A command in flight holds, in its pdu, a reference to its job.  The pdu is read by the
 * completion in task context and by the cancel callback; both run under the ring's lock, so the
 * callback finds a command before its reference is dropped, or not at all.  A command is
 * completed by the function that takes job->command (overtake_job.c).
 */
#include <linux/file.h>

#include <drm/drm_drv.h>

#include "compat.h"
#include "overtake_extension.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_plug.h"
#include "overtake_recording.h"
#include "overtake_task.h"
#include "overtake_uring.h"

/**
 * struct uring_pdu - data of a command in flight
 * @job: its job, held by a reference
 * @next: next command of the same task and ring, which the same task work completes, or NULL
 */
struct uring_pdu {
	struct overtake_job *job;
	struct io_uring_cmd *next;
};

static struct uring_pdu *pdu_of(struct io_uring_cmd *cmd)
{
	return io_uring_cmd_to_pdu(cmd, struct uring_pdu);
}

static struct overtake_job *command_job(struct io_uring_cmd *cmd)
{
	return pdu_of(cmd)->job;
}

/* Completes a command that the caller has taken, and drops its reference to the job. */
static void finish_command(struct io_uring_cmd *cmd, s32 status, u64 executed_ns,
			   unsigned int issue_flags)
{
	struct overtake_job *job = command_job(cmd);

	/*
	 * The job is put first, so that an instance of a recording is idle when its client reads of
	 * its end.  The ring's lock is held, or the submitter has not returned: the cancel callback
	 * does not run.
	 */
	overtake_job_put_sleeping(job);
	overtake_uring_done(cmd, status, executed_ns, issue_flags);
}

static void report_end(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct overtake_result result = command_job(cmd)->result;

	overtake_recording_note_end(command_job(cmd));
	finish_command(cmd, result.status, result.executed_ns, issue_flags);
}

/*
 * One task work completes all commands of one task and one ring that end together.  Commands of
 * another task would have to wait until that task runs.
 */
static void report_ends(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	while (cmd) {
		struct io_uring_cmd *next = pdu_of(cmd)->next;

		report_end(cmd, issue_flags);
		cmd = next;
	}
}

OVERTAKE_URING_TASK_WORK(ended_in_task, report_ends)

/* Whether one task work can complete both commands: they have the same task and the same ring. */
static bool is_together(struct io_uring_cmd *one, struct io_uring_cmd *other)
{
	return cmd_to_io_kiocb(one)->ctx == cmd_to_io_kiocb(other)->ctx &&
	       io_uring_cmd_get_task(one) == io_uring_cmd_get_task(other);
}

static void complete_ended(struct overtake_ended_commands *ended)
{
	struct io_uring_cmd *first = ended->first;

	ended->first = NULL;
	ended->last = NULL;
	io_uring_cmd_complete_in_task(first, ended_in_task);
}

/* The job has ended, and the caller has taken the command.  Any context. */
static void end_command(struct io_uring_cmd *cmd, struct overtake_ended_commands *ended)
{
	pdu_of(cmd)->next = NULL;
	ended->complete = complete_ended;
	if (ended->last && !is_together(ended->last, cmd))
		complete_ended(ended);
	if (ended->last)
		pdu_of(ended->last)->next = cmd;
	else
		ended->first = cmd;
	ended->last = cmd;
}

/* The SQE is shared with the client: each word is read once, and only the copy is used. */
static void copy_payload(const struct io_uring_cmd *cmd, u64 *payload)
{
	const u64 *source = overtake_uring_payload(cmd);
	u32 i;

	for (i = 0; i < OVERTAKE_URING_PAYLOAD_BYTES / sizeof(u64); i++)
		payload[i] = READ_ONCE(source[i]);
}

/* Whether the rest of @payload behind a shorter structure is zero. */
static bool rest_is_zero(const u64 *payload, size_t bytes)
{
	return !memchr_inv((const u8 *)payload + bytes, 0, OVERTAKE_URING_PAYLOAD_BYTES - bytes);
}

/*
 * Publishes @job in a section in which the device does not go away.  The client's memory has been
 * read before: a client can delay an access to its memory at will (FUSE, userfaultfd), and a thread
 * that unplugs any DRM device waits for all such sections.
 */
static int publish(struct overtake_job *job)
{
	struct drm_device *drm = &overtake_job_device(job)->drm;
	int index;
	int ret;

	if (!drm_dev_enter(drm, &index))
		return -ENODEV;
	ret = overtake_job_publish(job, false);
	drm_dev_exit(index);
	return ret;
}

static void hand_over(struct overtake_job *job, struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	overtake_job_get(job); /* the command's */
	pdu_of(cmd)->job = job;
	job->end_command = end_command;
	job->command = cmd;
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
}

/*
 * A submission is complete when its system call returns: the arrays have been read, the fences
 * are where others look for them, and a refusal has been posted (that of a replay in a plug may
 * still be task work of the caller).  So it is not left to a worker of io_uring, even if the ring
 * asks not to block (IO_URING_F_NONBLOCK): a client could not know when it may use its arrays
 * again, a consumer would not find the fence of an earlier job, and CANCEL would miss the job.
 * It blocks like the ioctl, for reservations and while a scratch region is zeroed; a client that
 * prefers a worker asks for it with IOSQE_ASYNC.
 */
static int publish_now(struct overtake_job *job, struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	int ret;

	/* From here on the command is completed by the thread that takes it, even for an error. */
	ret = publish(job);
	if (!ret)
		overtake_extensions_answer(job);
	if (ret && xchg(&job->command, NULL)) {
		overtake_recording_note_end(job);
		finish_command(cmd, ret, 0, issue_flags);
	}
	overtake_job_put_sleeping(job);
	return -EIOCBQUEUED;
}

static int uring_submit(struct drm_file *file, struct io_uring_cmd *cmd, const u64 *payload,
			unsigned int issue_flags)
{
	struct overtake_job *job = overtake_job_create(file, (const void *)payload);

	if (IS_ERR(job))
		return PTR_ERR(job);
	hand_over(job, cmd, issue_flags);
	return publish_now(job, cmd, issue_flags);
}

static int uring_replay(struct drm_file *file, struct io_uring_cmd *cmd, const u64 *payload,
			unsigned int issue_flags)
{
	const struct drm_overtake_replay *args = (const void *)payload;
	struct overtake_job *job;

	if (!rest_is_zero(payload, sizeof(*args)))
		return -EINVAL;
	job = overtake_recording_replay(file, args);
	if (IS_ERR(job))
		return PTR_ERR(job);
	hand_over(job, cmd, issue_flags);
	if (overtake_plug_add(job))
		return -EIOCBQUEUED;
	overtake_plug_flush(file->driver_priv);
	return publish_now(job, cmd, issue_flags);
}

static int uring_cancel(struct overtake_client *client, const u64 *payload)
{
	const struct drm_overtake_cancel *args = (const void *)payload;

	return rest_is_zero(payload, sizeof(*args)) ? overtake_job_cancel_tag(client, args) :
						      -EINVAL;
}

/*
 * Reports present events, without waiting: an io_uring worker that waited would look like one that
 * hangs.  The file's poll(), IORING_OP_POLL_ADD on the same ring, reports when there is an event.
 */
static int uring_task_events(struct overtake_client *client, const u64 *payload)
{
	struct drm_overtake_task_events args = *(const struct drm_overtake_task_events *)payload;
	int ret;

	if (args.deadline_ns || !rest_is_zero(payload, sizeof(args)))
		return -EINVAL;
	ret = overtake_task_events(client, &args);
	if (ret == -ETIMEDOUT)
		return 0;
	return ret ? ret : args.event_count;
}

static int uring_task_cpu_done(struct overtake_client *client, const u64 *payload)
{
	const struct drm_overtake_task_cpu_done *args = (const void *)payload;

	return rest_is_zero(payload, sizeof(*args)) ? overtake_task_cpu_done(client, args) :
						      -EINVAL;
}

static int uring_task_cancel(struct overtake_client *client, const u64 *payload)
{
	const struct drm_overtake_task_cancel *args = (const void *)payload;

	return rest_is_zero(payload, sizeof(*args)) ? overtake_task_cancel(client, args) : -EINVAL;
}

/*
 * The ring or its task is going away, and must not wait for the job.  The command ends now; the
 * job goes on to its end with its own references.
 */
static void uring_cancel_command(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct overtake_job *job = command_job(cmd);

	if (!xchg(&job->command, NULL))
		return; /* it is being completed already */
	overtake_job_cancel(job);
	finish_command(cmd, -ECANCELED, 0, issue_flags);
}

int overtake_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct drm_file *file = cmd->file->private_data;
	struct overtake_client *client = file->driver_priv;
	u64 payload[OVERTAKE_URING_PAYLOAD_BYTES / sizeof(u64)];

	BUILD_BUG_ON(sizeof(struct drm_overtake_submit) != OVERTAKE_URING_PAYLOAD_BYTES);
	BUILD_BUG_ON(sizeof(struct drm_overtake_task_submit) != OVERTAKE_URING_PAYLOAD_BYTES);
	if (issue_flags & IO_URING_F_CANCEL) {
		uring_cancel_command(cmd, issue_flags);
		return 0;
	}
	if (overtake_uring_is_polled(cmd))
		return -EOPNOTSUPP;
	/* Without it the payload would not be 80 bytes long. */
	if (!(issue_flags & IO_URING_F_SQE128))
		return -EINVAL;
	copy_payload(cmd, payload);
	/* Like an ioctl of a device that has gone; calls that passed this are stopped later. */
	if (drm_dev_is_unplugged(&client->device->drm))
		return -ENODEV;
	if (cmd->cmd_op != OVERTAKE_URING_REPLAY)
		overtake_plug_flush(client);
	switch (cmd->cmd_op) {
	case OVERTAKE_URING_SUBMIT:
		return uring_submit(file, cmd, payload, issue_flags);
	case OVERTAKE_URING_REPLAY:
		return uring_replay(file, cmd, payload, issue_flags);
	case OVERTAKE_URING_CANCEL:
		return uring_cancel(client, payload);
	case OVERTAKE_URING_TASK_SUBMIT:
		return overtake_task_submit(file, (const void *)payload);
	case OVERTAKE_URING_TASK_EVENTS:
		return uring_task_events(client, payload);
	case OVERTAKE_URING_TASK_CPU_DONE:
		return uring_task_cpu_done(client, payload);
	case OVERTAKE_URING_TASK_CANCEL:
		return uring_task_cancel(client, payload);
	default:
		return -EINVAL;
	}
}
