// SPDX-License-Identifier: MIT
/* Stages of a pipeline that hand each other buffers: a camera, the device, a consumer. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)

#define FRAMES		12u
#define FRAME_BYTES	8192u
#define CAMERA_REGION	5u

/* A buffer between two stages, and its names at the consumer. */
struct stage {
	struct foreign camera;
	uint32_t exposing;	/* the camera's fence */
	uint64_t camera_address;
	struct buffer output;
	int dmabuf;		/* of @output */
	uint32_t shown_handle;	/* of @output, at the consumer */
	uint32_t showing;	/* the consumer's fence, or 0 */
	uint8_t *shown;		/* the consumer's mapping */
};

static void stage_open(struct stage *stage, struct client *client, int consumer)
{
	stage->camera = vgem_create(FRAME_BYTES);
	stage->camera_address = map_buffer(client->fd, prime_import(client->fd, stage->camera.fd),
					   OVERTAKE_MAP_READ);
	stage->output = buffer_create(client->fd, FRAME_BYTES, READ_WRITE);
	stage->dmabuf = prime_export(client->fd, stage->output.handle, DRM_RDWR | DRM_CLOEXEC);
	stage->shown_handle = prime_import(consumer, stage->dmabuf);
	stage->shown = mmap(NULL, FRAME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, stage->dmabuf, 0);
	check(stage->shown != MAP_FAILED);
	stage->showing = 0;
}

/* Checks that two mappings show the same pages: a write to one is seen in the other. */
static void check_same_pages(uint8_t *one, uint8_t *other, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += 4096) {
		one[i + 17] = 0x5a;
		check_equal(other[i + 17], 0x5a);
		other[i + 17] = 0xa5;
		check_equal(one[i + 17], 0xa5);
	}
}

/* Producer and consumer of each buffer have the same memory, so there is nothing to copy. */
static void check_no_copy(struct stage *stage)
{
	uint8_t *camera = mmap(NULL, FRAME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			       stage->camera.fd, 0);

	check(camera != MAP_FAILED);
	check_same_pages(camera, stage->camera.data, FRAME_BYTES);
	check_same_pages(stage->shown, stage->output.data, FRAME_BYTES);
	munmap(camera, FRAME_BYTES);
}

static uint8_t frame_byte(uint32_t frame, uint32_t i)
{
	return (uint8_t)(frame * 31 + i * 3 + i / 256);
}

/* Writes one instruction that copies the frame of the camera to the output. */
static void put_frame_copy(struct client *client)
{
	struct overtake_operand operand = {
		.height = 1, .width = FRAME_BYTES / 8, .channels = 8,
		.row_stride = FRAME_BYTES, .pixel_stride = 8,
	};
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_COPY };

	insn.out = operand;
	insn.out.region = OVERTAKE_REGION_IO;
	insn.in[0] = operand;
	insn.in[0].region = CAMERA_REGION;
	put_insn(client, 0, &insn);
}

static void submit_frame(struct client *client, struct stage *stage, uint32_t frame,
			 uint32_t exposed, uint32_t done)
{
	struct overtake_binding bindings[3];
	struct sync_chain chain;
	struct job job;

	job_init_on(&job, client, frame, stage->output.address, FRAME_BYTES, READ_WRITE);
	memcpy(bindings, job.bindings, sizeof(job.bindings));
	bindings[2] = (struct overtake_binding){
		.address = stage->camera_address, .length = FRAME_BYTES,
		.region = CAMERA_REGION, .flags = OVERTAKE_MAP_READ,
	};
	job.submit.bindings = (uintptr_t)bindings;
	job.submit.binding_count = 3;
	sync_chain_init(&chain, &job);
	sync_chain_in(&chain, exposed, 0);
	sync_chain_out(&chain, done, 1 + frame);
	check_equal(job_submit(client, &job), 0);
}

/* The camera begins to expose a frame, which the device processes when it is complete. */
static void begin_frame(struct client *client, struct stage *stage, uint32_t frame,
			uint32_t exposed, uint32_t done)
{
	int sync_file;

	stage->exposing = vgem_fence_attach(&stage->camera, true);
	sync_file = dmabuf_sync_file(stage->camera.fd, false);
	syncobj_from_sync_file(client->fd, exposed, sync_file);
	close(sync_file);
	submit_frame(client, stage, frame, exposed, done);
}

static short dmabuf_readable(int dmabuf, int timeout)
{
	struct pollfd file = { .fd = dmabuf, .events = POLLIN };

	check(poll(&file, 1, timeout) >= 0);
	return file.revents & POLLIN;
}

/* The frame of the camera is complete; the consumer waits for the device, and checks the frame. */
static void finish_frame(struct stage *stage, int consumer, uint32_t frame)
{
	uint32_t i;

	for (i = 0; i < FRAME_BYTES; i++)
		stage->camera.data[i] = frame_byte(frame, i);
	check(!dmabuf_readable(stage->dmabuf, 0));
	vgem_fence_signal(&stage->camera, stage->exposing);
	if (stage->showing) {
		/* The consumer still shows the last frame: the device must not write yet. */
		check(!dmabuf_readable(stage->dmabuf, 0));
		for (i = 0; i < FRAME_BYTES; i++)
			check_equal(stage->shown[i], frame_byte(frame - 2, i));
		vgem_handle_fence_signal(consumer, stage->showing);
	}
	check(dmabuf_readable(stage->dmabuf, -1));
	for (i = 0; i < FRAME_BYTES; i++)
		check_equal(stage->shown[i], frame_byte(frame, i));
	stage->showing = vgem_handle_fence_attach(consumer, stage->shown_handle, false);
}

/*
 * Camera, device and consumer: the input is a buffer of another driver, another driver imports the
 * output, there are two of each in turn, and each stage waits for fences only.
 */
static void pipeline_without_a_copy(void)
{
	struct client client = client_open(0, 254);
	uint32_t exposed[2], done = syncobj_create(client.fd);
	int consumer = vgem_open();
	struct overtake_result result;
	struct stage stages[2];
	uint32_t frame, i;

	put_frame_copy(&client);
	for (i = 0; i < 2; i++) {
		exposed[i] = syncobj_create(client.fd);
		stage_open(&stages[i], &client, consumer);
		check_no_copy(&stages[i]);
	}
	for (frame = 0; frame < FRAMES; frame++) {
		begin_frame(&client, &stages[frame % 2], frame, exposed[frame % 2], done);
		if (frame) {
			finish_frame(&stages[(frame - 1) % 2], consumer, frame - 1);
			syncobj_wait(client.fd, done, frame);
		}
		check_equal(syncobj_point(client.fd, done), frame);
	}
	finish_frame(&stages[(frame - 1) % 2], consumer, frame - 1);
	for (frame = 0; frame < FRAMES; frame++) {
		check_equal(job_wait(&client, frame, NEVER, &result), 0);
		check_equal(result.status, 0);
	}
	syncobj_wait(client.fd, done, FRAMES);
	check_equal(syncobj_point(client.fd, done), FRAMES);
	for (i = 0; i < 2; i++) {
		check_no_copy(&stages[i]);
		close(stages[i].dmabuf);
		foreign_destroy(&stages[i].camera);
	}
	close(consumer);
	client_close(&client);
}

const struct test_case pipeline_cases[] = {
	{ "pipeline-without-a-copy", FUNCTIONAL, pipeline_without_a_copy },
	{ 0 },
};
