// SPDX-License-Identifier: MIT
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"

#define NEVER	OVERTAKE_DEADLINE_NEVER

/* State of a client that loads a device. */
struct load {
	unsigned int device;
	unsigned int seed;
	uint64_t tag;
	struct client client;
	struct io_uring ring;
};

static unsigned int random_below(struct load *load, unsigned int limit)
{
	return (unsigned int)rand_r(&load->seed) % limit;
}

/* Does as client_open(), but the device may go away at any moment; returns false if it has. */
static bool load_open(struct load *load)
{
	struct drm_overtake_bo_create create = { .size = 16 * 4096 };
	struct drm_overtake_bo_map map = { .flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE };
	struct drm_overtake_bo_mmap_offset offset = { 0 };
	struct client *client = &load->client;
	void *data;

	memset(client, 0, sizeof(*client));
	client->fd = device_try_open(load->device);
	if (client->fd < 0)
		return false;
	if (context_create(client->fd, 255, random_below(load, 3), &client->context) ||
	    device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create))
		return false;
	map.handle = create.handle;
	offset.handle = create.handle;
	if (device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_MAP, &map) ||
	    device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &offset))
		return false;
	data = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, client->fd,
		    (off_t)offset.offset);
	if (data == MAP_FAILED)
		return false;
	/* One buffer holds program, data and result record. */
	client->program = (struct buffer){
		.handle = create.handle, .size = create.size, .address = map.address, .data = data,
	};
	client->data = client->program;
	ring_open_to_abandon(&load->ring);
	put_copy(client, 0, 32768, 16384, 8192);
	put_delay(client, 1, 50000);
	put_jump(client, 2, 2); /* for ever */
	put_delay(client, 3, 2000000);
	return true;
}

static void load_close(struct load *load)
{
	if (load->ring.ring_fd > 0)
		io_uring_queue_exit(&load->ring);
	if (load->client.program.data)
		munmap(load->client.program.data, load->client.program.size);
	if (load->client.fd >= 0)
		close(load->client.fd);
	memset(&load->ring, 0, sizeof(load->ring));
}

static void random_job(struct load *load, struct job *job)
{
	/* One job in 16 has an endless loop. */
	uint32_t first = random_below(load, 16) ? 0 : 1;

	job_init(job, &load->client, load->tag++, first, 1 + random_below(load, 2));
	job->submit.priority = random_below(load, 4) ? 10 : 255;
	job->submit.scratch_bytes = random_below(load, 2) * 8192;
	job->submit.result = load->client.data.address + RESULT_OFFSET;
	job->submit.core = random_below(load, 3);
}

/* Does one random act; returns false when the device has gone. */
static bool act(struct load *load)
{
	struct overtake_result result;
	struct io_uring_cqe *cqe;
	struct job job;
	uint32_t id;
	int ret = 0;

	switch (random_below(load, 10)) {
	case 0:
	case 1:
	case 2:
		random_job(load, &job);
		ret = job_submit(&load->client, &job);
		break;
	case 3:
	case 4:
		random_job(load, &job);
		if (io_uring_sq_space_left(&load->ring))
			ring_submit_job(&load->ring, &load->client, &job);
		break;
	case 5:
		ret = job_wait_any(&load->client, monotonic_ns() + 20000000, &result);
		break;
	case 6:
		ret = job_cancel(&load->client, load->tag - 1 - random_below(load, 8));
		break;
	case 7:
		io_uring_get_events(&load->ring);
		while (!io_uring_peek_cqe(&load->ring, &cqe)) {
			ret = cqe->res;
			io_uring_cqe_seen(&load->ring, cqe);
		}
		break;
	case 8:
		if (!context_create(load->client.fd, 254, 0, &id))
			ret = context_destroy(load->client.fd, id);
		break;
	case 9:
		if (!random_below(load, 16)) {
			ret = context_destroy(load->client.fd, load->client.context);
			if (!ret)
				ret = context_create(load->client.fd, 255, 1,
						     &load->client.context);
		}
		break;
	}
	return ret != -ENODEV;
}

static void live(unsigned int index, unsigned int seed)
{
	struct load load = { .device = index, .seed = seed };

	for (;;) {
		if (load_open(&load)) {
			while (act(&load))
				;
		} else {
			usleep(5000); /* unbound: try until the device is back */
		}
		load_close(&load);
	}
}

pid_t load_start_on(unsigned int index, unsigned int seed)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid)
		live(index, seed);
	return pid;
}

pid_t load_start(unsigned int seed)
{
	return load_start_on(0, seed);
}

void load_kill(pid_t pid)
{
	int status;

	check_equal(kill(pid, SIGKILL), 0);
	check_equal(waitpid(pid, &status, 0), pid);
	check_message(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		      "load ended by itself with status %#x", (unsigned int)status);
}

static volatile sig_atomic_t stop_asked;

static void ask_stop(int signal)
{
	(void)signal;
	stop_asked = 1;
}

static void neighbour_live(unsigned int index)
{
	struct client client = client_open(index, 255);
	uint64_t tag;

	put_copy(&client, 0, 16384, 0, 4096);
	for (tag = 1; !stop_asked; tag++) {
		struct overtake_result result;
		struct job job;

		memset(client.data.data, (int)(tag * 29), 4096);
		job_init(&job, &client, tag, 0, 1);
		job.submit.priority = 255;
		job.submit.deadline_ns = NEVER;
		check_equal(job_submit(&client, &job), 0);
		check_equal(job_wait(&client, tag, NEVER, &result), 0);
		check_equal(result.status, 0);
		check(!memcmp(client.data.data, client.data.data + 16384, 4096));
	}
	check(tag > 1);
	client_close(&client);
	_exit(0);
}

pid_t neighbour_start_on(unsigned int index)
{
	struct sigaction action = { .sa_handler = ask_stop };
	pid_t pid;

	check_equal(sigaction(SIGTERM, &action, NULL), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		neighbour_live(index);
	return pid;
}

pid_t neighbour_start(void)
{
	return neighbour_start_on(0);
}

void neighbour_stop(pid_t pid)
{
	int status;

	check_equal(kill(pid, SIGTERM), 0);
	check_equal(waitpid(pid, &status, 0), pid);
	check_message(WIFEXITED(status) && !WEXITSTATUS(status),
		      "the neighbour's jobs went wrong, status %#x", (unsigned int)status);
}

void wait_until_forgotten_on(unsigned int index)
{
	char path[128], text[8192] = "";
	int attempt;

	debugfs_path(path, sizeof(path), index, "state");
	for (attempt = 0; attempt < 3000; attempt++) {
		check_equal(read_file(path, text, sizeof(text)), 0);
		if (strstr(text, "files 0, contexts 0, jobs in flight 0") &&
		    strstr(text, "slots reserved 0 of"))
			return;
		usleep(10000);
	}
	check_message(false, "something is left:\n%s", text);
}

void wait_until_forgotten(void)
{
	wait_until_forgotten_on(0);
}

void wait_until_busy(unsigned int core)
{
	char path[128], text[65536], wanted[32];
	int attempt;

	debugfs_path(path, sizeof(path), 0, "state");
	snprintf(wanted, sizeof(wanted), "core %u:", core);
	for (attempt = 0; attempt < 1000; attempt++) {
		const char *at, *next;

		check_equal(read_file(path, text, sizeof(text)), 0);
		at = strstr(text, wanted);
		check(at);
		next = strstr(at + 1, "core ");
		at = strstr(at, "runs FC");
		if (at && (!next || at < next))
			return;
		usleep(10000);
	}
	check_message(false, "core %u does not run", core);
}

void check_state_says(const char *format, ...)
{
	static char text[1 << 20];
	char path[128], wanted[256];
	va_list values;

	va_start(values, format);
	vsnprintf(wanted, sizeof(wanted), format, values);
	va_end(values);
	debugfs_path(path, sizeof(path), 0, "state");
	check_equal(read_file(path, text, sizeof(text)), 0);
	check_message(strstr(text, wanted), "no \"%s\" in\n%s", wanted, text);
}

uint64_t stat_of(const char *name)
{
	char path[128], text[16384];
	const char *at;

	debugfs_path(path, sizeof(path), 0, "stats");
	check_equal(read_file(path, text, sizeof(text)), 0);
	at = strstr(text, name);
	check(at);
	return strtoull(at + strlen(name) + 1, NULL, 10);
}

#define NOBODY	65534

void let_all_users_open(void)
{
	int fd = device_open(0);

	check_equal(fchmod(fd, 0666), 0);
	close(fd);
}

void be_nobody(void)
{
	let_all_users_open();
	check_equal(seteuid(NOBODY), 0);
}

void be_root(void)
{
	check_equal(seteuid(0), 0);
}
