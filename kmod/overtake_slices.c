// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints that Perfetto draws by itself: names of tracks and slices.
 *
 * Slices of a track must nest.  A core runs one FC at a time, so the slices of its FCs nest.  The
 * jobs of a context on one ring of one core run one after the other, too, whatever overtakes them.
 * So the jobs of one context on one ring of one core share one track, which Perfetto shows under
 * their process; the times for which a job is overtaken are slices inside the job's slice.
 */
#include <linux/sprintf.h>

#include "overtake_slices.h"

#define NAME_SIZE	80

static const char * const ring_names[OVT_RING_COUNT] = { "HIGH", "NORMAL" };

void __overtake_slices_fc_locked(struct overtake_device *device, const struct ovt_event *event)
{
	char slice[NAME_SIZE], track[NAME_SIZE];
	const struct overtake_job *job;
	const struct overtake_client *client;
	char type;

	switch (event->type) {
	case OVT_EVENT_STARTED:
		type = 'B';
		break;
	case OVT_EVENT_DONE:
	case OVT_EVENT_FAULT:
	case OVT_EVENT_HUNG:
		type = 'E';
		break;
	default:
		return;
	}
	job = to_overtake_job(event->job);
	client = job->context->client;
	scnprintf(slice, sizeof(slice), "%s %s %u job %llu FC %u", ring_names[event->ring],
		  client->comm, client->tgid, job->tag, event->fc_index);
	scnprintf(track, sizeof(track), "NPU %u core %u", device->index, event->core);
	trace_fc_slice(type, device->index, slice, track);
}

static void trace_job(char type, const struct overtake_job *job, const char *slice)
{
	char track[NAME_SIZE];

	/* Each open file of a process has a context 1, so the name has the client, too. */
	scnprintf(track, sizeof(track), "NPU %u core %u %s client %llu context %u",
		  overtake_job_device(job)->index, job->fw.placed_core,
		  ring_names[OVERTAKE_TRACE_RING(job->fw.priority)], job->context->client->id,
		  job->context->id);
	trace_job_slice(type, job->context->client->tgid, slice, track);
}

void __overtake_slices_job_locked(struct overtake_device *device, const struct ovt_event *event)
{
	struct overtake_job *job = event->job ? to_overtake_job(event->job) : NULL;
	char slice[NAME_SIZE];

	/* A group has only the slice of the job: its parts may be overtaken at the same time. */
	if (event->type == OVT_EVENT_STARTED && !event->fc_index && !job->in_slice) {
		job->in_slice = true;
		scnprintf(slice, sizeof(slice), "job %llu, %u FC%s", job->tag,
			  job->fw.fc_count, job->fw.fc_count == 1 ? "" : "s");
		trace_job('B', job, slice);
	} else if (job && job->fw.group) {
		return;
	} else if (event->type == OVT_EVENT_STARTED && event->resumes) {
		trace_job('E', job, "overtaken");
	} else if (event->type == OVT_EVENT_PREEMPTED) {
		const struct overtake_client *by = to_overtake_job(event->by)->context->client;

		scnprintf(slice, sizeof(slice), "overtaken by %s %u", by->comm, by->tgid);
		trace_job('B', job, slice);
	}
}

void __overtake_slices_job_done_locked(const struct overtake_job *job)
{
	if (!job->in_slice)
		return;
	if (!job->fw.group && job->fw.part.overtaken)
		trace_job('E', job, "overtaken");
	trace_job('E', job, "job");
}
