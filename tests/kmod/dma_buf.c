// SPDX-License-Identifier: MIT
#include "dma_buf.h"

#include <drm.h>
#include <drm_mode.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "vgem.h"

static uint8_t *map_shared(int fd, uint64_t size, int protection, uint64_t offset)
{
	void *data = mmap(NULL, size, protection, MAP_SHARED, fd, (off_t)offset);

	check_message(data != MAP_FAILED, "mmap: %s", strerror(errno));
	return data;
}

struct foreign udmabuf_create(uint64_t size)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	struct foreign foreign = { .size = size, .vgem = -1 };
	struct udmabuf_create create = { .size = size };
	int memory;

	if (device < 0)
		check_skip("this kernel has no udmabuf");
	memory = memfd_create("camera", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	check(memory >= 0);
	check_equal(ftruncate(memory, (off_t)size), 0);
	check_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	create.memfd = (uint32_t)memory;
	foreign.fd = ioctl(device, UDMABUF_CREATE, &create);
	check_message(foreign.fd >= 0, "udmabuf: %s", strerror(errno));
	/* This maps the pages of the memory file itself, not the dma-buf. */
	foreign.data = map_shared(memory, size, PROT_READ | PROT_WRITE, 0);
	close(memory);
	close(device);
	return foreign;
}

struct foreign heap_create(uint64_t size, uint32_t open_flags)
{
	int device = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	struct dma_heap_allocation_data allocation = {
		.len = size, .fd_flags = open_flags | O_CLOEXEC,
	};
	struct foreign foreign = { .size = size, .vgem = -1 };

	if (device < 0)
		check_skip("this kernel has no dma-heap");
	check_equal(device_ioctl(device, DMA_HEAP_IOCTL_ALLOC, &allocation), 0);
	foreign.fd = (int)allocation.fd;
	foreign.data = map_shared(foreign.fd, size,
				  open_flags == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ, 0);
	close(device);
	return foreign;
}

int vgem_open(void)
{
	char path[32], name[16];
	int card, fd;

	for (card = 0; card < 16; card++) {
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

		snprintf(path, sizeof(path), "/dev/dri/card%d", card);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(name, 0, sizeof(name));
		if (!device_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	check_skip("this kernel has no vgem");
}

struct foreign vgem_create(uint64_t size)
{
	struct drm_mode_create_dumb create = {
		.width = 1024, .height = (uint32_t)((size + 4095) / 4096), .bpp = 32,
	};
	struct drm_mode_map_dumb map = { 0 };
	struct foreign foreign = { .size = size, .vgem = vgem_open() };

	check_equal(device_ioctl(foreign.vgem, DRM_IOCTL_MODE_CREATE_DUMB, &create), 0);
	foreign.handle = create.handle;
	map.handle = create.handle;
	check_equal(device_ioctl(foreign.vgem, DRM_IOCTL_MODE_MAP_DUMB, &map), 0);
	foreign.data = map_shared(foreign.vgem, size, PROT_READ | PROT_WRITE, map.offset);
	foreign.fd = prime_export(foreign.vgem, create.handle, DRM_RDWR | DRM_CLOEXEC);
	return foreign;
}

void foreign_destroy(struct foreign *foreign)
{
	munmap(foreign->data, foreign->size);
	close(foreign->fd);
	if (foreign->vgem >= 0)
		close(foreign->vgem);
}

uint32_t vgem_handle_fence_attach(int vgem, uint32_t handle, bool write)
{
	struct drm_vgem_fence_attach attach = {
		.handle = handle, .flags = write ? VGEM_FENCE_WRITE : 0,
	};

	check_equal(device_ioctl(vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach), 0);
	return attach.out_fence;
}

void vgem_handle_fence_signal(int vgem, uint32_t fence)
{
	struct drm_vgem_fence_signal signal = { .fence = fence };

	check_equal(device_ioctl(vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal), 0);
}

uint32_t vgem_fence_attach(const struct foreign *foreign, bool write)
{
	return vgem_handle_fence_attach(foreign->vgem, foreign->handle, write);
}

void vgem_fence_signal(const struct foreign *foreign, uint32_t fence)
{
	vgem_handle_fence_signal(foreign->vgem, fence);
}

unsigned int count_device_fences(uint64_t size)
{
	FILE *file = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	unsigned long long bytes;
	unsigned int count = 0;
	bool found = false;
	char line[512];

	if (!file)
		check_skip("this kernel does not show dma-bufs");
	while (fgets(line, sizeof(line), file)) {
		/* A buffer's line begins with its size; a fence's has other words in 6.12 than in 7.3. */
		if (line[0] >= '0' && line[0] <= '9' && sscanf(line, "%llu", &bytes) == 1)
			found = bytes == size;
		else if (found && (strstr(line, "overtake buffer seq") ||
				   strstr(line, " buffer overtake ")))
			count++;
	}
	fclose(file);
	return count;
}

int try_prime_export(int fd, uint32_t handle, uint32_t flags, int *dmabuf)
{
	struct drm_prime_handle args = { .handle = handle, .flags = flags, .fd = -1 };
	int ret = device_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	*dmabuf = args.fd;
	return ret;
}

int prime_export(int fd, uint32_t handle, uint32_t flags)
{
	int dmabuf;

	check_equal(try_prime_export(fd, handle, flags, &dmabuf), 0);
	return dmabuf;
}

int try_prime_import(int fd, int dmabuf, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = dmabuf };
	int ret = device_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = args.handle;
	return ret;
}

uint32_t prime_import(int fd, int dmabuf)
{
	uint32_t handle;

	check_equal(try_prime_import(fd, dmabuf, &handle), 0);
	return handle;
}

int try_map(int fd, uint32_t handle, uint32_t flags, uint64_t *address)
{
	struct drm_overtake_bo_map map = { .handle = handle, .flags = flags };
	int ret = device_ioctl(fd, DRM_IOCTL_OVERTAKE_BO_MAP, &map);

	*address = map.address;
	return ret;
}

uint64_t map_buffer(int fd, uint32_t handle, uint32_t flags)
{
	uint64_t address;

	check_equal(try_map(fd, handle, flags, &address), 0);
	return address;
}

int close_handle(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return device_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

uint32_t syncobj_create(int fd)
{
	struct drm_syncobj_create create = { 0 };

	check_equal(device_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create), 0);
	return create.handle;
}

uint64_t syncobj_point(int fd, uint32_t handle)
{
	uint64_t point = 0;
	struct drm_syncobj_timeline_array query = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .count_handles = 1,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &query), 0);
	return point;
}

static int wait_until(int fd, uint32_t handle, uint64_t point, int64_t deadline)
{
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .count_handles = 1,
		.timeout_nsec = deadline,
	};

	return device_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

static int wait_now(int fd, uint32_t handle, uint64_t point)
{
	return wait_until(fd, handle, point, 0);
}

void syncobj_wait(int fd, uint32_t handle, uint64_t point)
{
	check_equal(wait_until(fd, handle, point, INT64_MAX), 0);
}

bool syncobj_is_signalled(int fd, uint32_t handle, uint64_t point)
{
	int ret = wait_now(fd, handle, point);

	check_message(!ret || ret == -ETIME, "syncobj wait: %s", strerror(-ret));
	return !ret;
}

bool syncobj_is_set(int fd, uint32_t handle)
{
	return wait_now(fd, handle, 0) != -EINVAL;
}

void syncobj_signal(int fd, uint32_t handle)
{
	struct drm_syncobj_array array = {
		.handles = (uintptr_t)&handle, .count_handles = 1,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), 0);
}

int syncobj_to_sync_file(int fd, uint32_t handle)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .fd = -1,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args), 0);
	return args.fd;
}

void syncobj_from_sync_file(int fd, uint32_t handle, int sync_file)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .fd = sync_file,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};

	check_equal(device_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args), 0);
}

int dmabuf_sync_file(int dmabuf, bool write)
{
	struct dma_buf_export_sync_file args = {
		.flags = write ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ, .fd = -1,
	};

	check_equal(device_ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &args), 0);
	return args.fd;
}

int sync_file_status(int sync_file)
{
	struct sync_file_info info = { 0 };

	check_equal(device_ioctl(sync_file, SYNC_IOC_FILE_INFO, &info), 0);
	return info.status;
}

void sync_chain_init(struct sync_chain *chain, struct job *job)
{
	memset(chain, 0, sizeof(*chain));
	chain->sync.base.type = OVERTAKE_EXTENSION_SYNC;
	chain->sync.in = (uintptr_t)chain->in;
	chain->sync.out = (uintptr_t)chain->out;
	job->submit.extensions = (uintptr_t)&chain->sync;
}

void sync_chain_in(struct sync_chain *chain, uint32_t handle, uint64_t point)
{
	check(chain->sync.in_count < OVERTAKE_MAX_SYNCS);
	chain->in[chain->sync.in_count++] = (struct overtake_sync){
		.handle = handle, .point = point,
	};
}

void sync_chain_out(struct sync_chain *chain, uint32_t handle, uint64_t point)
{
	check(chain->sync.out_count < OVERTAKE_MAX_SYNCS);
	chain->out[chain->sync.out_count++] = (struct overtake_sync){
		.handle = handle, .point = point,
	};
}

void job_init_on(struct job *job, const struct client *client, uint64_t tag, uint64_t address,
		 uint64_t length, uint32_t flags)
{
	job_init(job, client, tag, 0, 1);
	job->bindings[1].address = address;
	job->bindings[1].length = length;
	job->bindings[1].flags = flags;
}
