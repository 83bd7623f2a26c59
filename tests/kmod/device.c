// SPDX-License-Identifier: MIT
#include "device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

int device_ioctl(int fd, unsigned long request, void *argument)
{
	int ret;

	do {
		ret = ioctl(fd, request, argument);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

int device_try_open(unsigned int index)
{
	char path[320] = "";
	struct dirent *entry;
	DIR *directory;
	int fd;

	/* The node's number is not the device's: after an unbind and a bind it may be another. */
	sysfs_path(path, sizeof(path), index, "accel");
	directory = opendir(path);
	if (!directory)
		return -ENODEV;
	path[0] = 0;
	while ((entry = readdir(directory)))
		if (!strncmp(entry->d_name, "accel", 5))
			snprintf(path, sizeof(path), "/dev/accel/%s", entry->d_name);
	closedir(directory);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int device_open(unsigned int index)
{
	int fd = device_try_open(index);

	check_message(fd >= 0, "device %u cannot be opened: %s", index, strerror(-fd));
	return fd;
}

void device_query(int fd, struct drm_overtake_device_info *info)
{
	struct drm_overtake_query query = {
		.topic = OVERTAKE_QUERY_DEVICE,
		.size = sizeof(*info),
		.data = (uintptr_t)info,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(query.size, sizeof(*info));
}

void device_query_core(int fd, unsigned int core, struct drm_overtake_core_info *info)
{
	struct drm_overtake_core_info all[OVERTAKE_MAX_CORES];
	struct drm_overtake_query query = {
		.topic = OVERTAKE_QUERY_CORES,
		.size = sizeof(all),
		.data = (uintptr_t)all,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check(core * sizeof(*info) <= query.size);
	*info = all[core - 1];
	check_equal(info->core, core);
}

struct drm_overtake_core_profile device_query_profile(int fd, unsigned int core)
{
	struct {
		struct drm_overtake_core_profiles head;
		struct drm_overtake_core_profile profiles[OVERTAKE_MAX_CORES];
	} all;
	struct drm_overtake_query query = {
		.topic = OVERTAKE_QUERY_CORE_PROFILES,
		.size = sizeof(all),
		.data = (uintptr_t)&all,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(all.head.profile_bytes, sizeof(all.profiles[0]));
	check_equal(query.size, sizeof(all.head) + all.head.core_count * sizeof(all.profiles[0]));
	check(core <= all.head.core_count);
	return all.profiles[core - 1];
}

struct buffer buffer_create(int fd, uint64_t size, uint32_t map_flags)
{
	struct drm_overtake_bo_create create = { .size = size };
	struct drm_overtake_bo_mmap_offset offset = { 0 };
	struct drm_overtake_bo_map map = { .flags = map_flags };
	struct buffer buffer;

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create), 0);
	offset.handle = create.handle;
	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &offset), 0);
	map.handle = create.handle;
	if (map_flags)
		check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_MAP, &map), 0);
	buffer.handle = create.handle;
	buffer.size = create.size;
	buffer.address = map.address;
	buffer.data = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   (off_t)offset.offset);
	check_message(buffer.data != MAP_FAILED, "mmap: %s", strerror(errno));
	return buffer;
}

void buffer_destroy(int fd, struct buffer *buffer)
{
	struct drm_gem_close close_handle = { .handle = buffer->handle };
	struct drm_overtake_bo_unmap unmap = { .address = buffer->address };

	check_equal(munmap(buffer->data, buffer->size), 0);
	if (buffer->address)
		check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(device_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &close_handle), 0);
}

int context_create(int fd, uint32_t max_priority, uint32_t core_limit, uint32_t *id)
{
	struct drm_overtake_context_create create = {
		.max_priority = max_priority,
		.core_limit = core_limit,
	};
	int ret = device_ioctl(fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create);

	*id = create.context_id;
	return ret;
}

int context_destroy(int fd, uint32_t id)
{
	struct drm_overtake_context_destroy destroy = { .context_id = id };

	return device_ioctl(fd, DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, &destroy);
}

struct client client_open(unsigned int index, uint32_t max_priority)
{
	struct client client = { .fd = device_open(index) };

	check_equal(context_create(client.fd, max_priority, 0, &client.context), 0);
	client.program = buffer_create(client.fd, 16 * 4096, OVERTAKE_MAP_READ);
	client.data = buffer_create(client.fd, 16 * 4096,
				    OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	return client;
}

void client_close(struct client *client)
{
	munmap(client->program.data, client->program.size);
	munmap(client->data.data, client->data.size);
	close(client->fd);
	client->fd = -1;
}

void put_insn(struct client *client, uint32_t index, const struct overtake_insn *insn)
{
	check((index + 1) * sizeof(*insn) <= client->program.size);
	memcpy(client->program.data + index * sizeof(*insn), insn, sizeof(*insn));
}

void put_delay(struct client *client, uint32_t index, uint64_t cycles)
{
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_DELAY, .delay_cycles = cycles };

	put_insn(client, index, &insn);
}

void put_jump(struct client *client, uint32_t index, uint32_t target)
{
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_JUMP, .jump_target = target };

	put_insn(client, index, &insn);
}

void put_copy(struct client *client, uint32_t index, uint32_t to, uint32_t from, uint32_t length)
{
	struct overtake_operand operand = {
		.region = OVERTAKE_REGION_IO,
		.height = 1,
		.width = length / 8,
		.channels = 8,
		.row_stride = length,
		.pixel_stride = 8,
	};
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_COPY };

	insn.out = operand;
	insn.out.offset = to;
	insn.in[0] = operand;
	insn.in[0].offset = from;
	put_insn(client, index, &insn);
}

void job_init(struct job *job, const struct client *client, uint64_t tag, uint32_t first,
	      uint32_t fc_count)
{
	uint32_t i;

	check(fc_count <= 64);
	memset(job, 0, sizeof(*job));
	for (i = 0; i < fc_count; i++) {
		job->fcs[i].first_insn = first + i;
		job->fcs[i].insn_count = 1;
	}
	job->bindings[0] = (struct overtake_binding){
		.address = client->program.address,
		.length = client->program.size,
		.region = OVERTAKE_REGION_PROGRAM,
		.flags = OVERTAKE_MAP_READ,
	};
	job->bindings[1] = (struct overtake_binding){
		.address = client->data.address,
		.length = RESULT_OFFSET,
		.region = OVERTAKE_REGION_IO,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
	};
	job->submit = (struct drm_overtake_submit){
		.fcs = (uintptr_t)job->fcs,
		.bindings = (uintptr_t)job->bindings,
		.tag = tag,
		.context_id = client->context,
		.fc_count = fc_count,
		.binding_count = 2,
	};
}

int job_submit(const struct client *client, struct job *job)
{
	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_SUBMIT, &job->submit);
}

static int wait_ioctl(const struct client *client, uint64_t tag, uint32_t flags,
		      int64_t deadline_ns, struct overtake_result *result)
{
	struct drm_overtake_wait wait = {
		.tag = tag,
		.deadline_ns = deadline_ns,
		.context_id = client->context,
		.flags = flags,
	};
	int ret = device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_WAIT, &wait);

	if (!ret)
		*result = wait.result;
	return ret;
}

int job_wait(const struct client *client, uint64_t tag, int64_t deadline_ns,
	     struct overtake_result *result)
{
	return wait_ioctl(client, tag, 0, deadline_ns, result);
}

int job_wait_any(const struct client *client, int64_t deadline_ns, struct overtake_result *result)
{
	return wait_ioctl(client, 0, OVERTAKE_WAIT_ANY, deadline_ns, result);
}

int job_cancel(const struct client *client, uint64_t tag)
{
	struct drm_overtake_cancel cancel = { .tag = tag, .context_id = client->context };

	return device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_CANCEL, &cancel);
}

int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

void debugfs_path(char *path, size_t size, unsigned int index, const char *name)
{
	snprintf(path, size, "/sys/kernel/debug/accel/overtake.%u/%s", index, name);
}

void sysfs_path(char *path, size_t size, unsigned int index, const char *name)
{
	snprintf(path, size, "/sys/bus/platform/devices/overtake.%u/%s", index, name);
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;
	int error;

	if (fd < 0)
		return -errno;
	do {
		written = write(fd, text, strlen(text));
	} while (written < 0 && errno == EINTR);
	error = errno;
	close(fd);
	return written < 0 ? -error : 0;
}

int read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;
	int error;

	if (fd < 0)
		return -errno;
	/* A file that is written in pieces is read in pieces. */
	while ((length = read(fd, text, size - 1)) > 0) {
		text += length;
		size -= (size_t)length;
	}
	error = errno;
	close(fd);
	*text = 0;
	return length < 0 ? -error : 0;
}

int advance_clock(unsigned int index, uint64_t now_ns)
{
	char path[128], text[32];

	debugfs_path(path, sizeof(path), index, "clock");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)now_ns);
	return write_file(path, text);
}

void restart_clock(unsigned int index)
{
	int attempt, ret = -EBUSY;
	char path[128];

	debugfs_path(path, sizeof(path), index, "manual_clock");
	/* The kernel closes the files of a ring that has gone a moment after its process has. */
	for (attempt = 0; attempt < 500 && (ret = write_file(path, "0")) == -EBUSY; attempt++)
		usleep(10000);
	check_equal(ret, 0);
	check_equal(write_file(path, "1"), 0);
}

struct client client_open_at_zero(void)
{
	restart_clock(0);
	return client_open(0, 254);
}

uint64_t read_counter(const char *path)
{
	char text[64];

	check_message(!read_file(path, text, sizeof(text)), "%s: cannot be read", path);
	return strtoull(text, NULL, 0);
}

void device_bind(unsigned int index, const char *what)
{
	char path[64], name[16];

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/overtake/%s", what);
	snprintf(name, sizeof(name), "overtake.%u", index);
	check_equal(write_file(path, name), 0);
}

void query_limits(int fd, struct drm_overtake_limit *limits)
{
	struct drm_overtake_query query = {
		.topic = OVERTAKE_QUERY_LIMITS,
		.size = OVERTAKE_LIMIT_COUNT * sizeof(*limits),
		.data = (uintptr_t)limits,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_QUERY, &query), 0);
	check_equal(query.size, OVERTAKE_LIMIT_COUNT * sizeof(*limits));
}

uint64_t limit_used(int fd, uint32_t limit)
{
	struct drm_overtake_limit limits[OVERTAKE_LIMIT_COUNT];

	query_limits(fd, limits);
	return limits[limit].used;
}

uint64_t meminfo_kib(const char *name)
{
	char text[8192], line[64];
	const char *at;

	/* A line break in front of the first line, as in front of the others. */
	text[0] = '\n';
	check_equal(read_file("/proc/meminfo", text + 1, sizeof(text) - 1), 0);
	snprintf(line, sizeof(line), "\n%s:", name);
	at = strstr(text, line);
	check_message(at, "/proc/meminfo has no %s", name);
	return strtoull(at + strlen(line), NULL, 10);
}
