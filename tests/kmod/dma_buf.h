/* SPDX-License-Identifier: MIT */
/*
 * Objects that are shared with other drivers: dma-bufs, syncobjs, sync_files.  Functions named
 * try_* return 0 or a negative errno; the others end the test case when they fail.
 */
#ifndef KMOD_DMA_BUF_H
#define KMOD_DMA_BUF_H

#include "device.h"

/* A buffer of another driver, and this process's mapping of it. */
struct foreign {
	int fd;		/* dma-buf */
	uint8_t *data;
	uint64_t size;
	int vgem;	/* vgem's file, or -1 */
	uint32_t handle;	/* vgem's own handle */
};

/* Each of these skips the test case if the kernel lacks the driver. */
struct foreign udmabuf_create(uint64_t size);
struct foreign heap_create(uint64_t size, uint32_t open_flags); /* O_RDWR or O_RDONLY: mode of fd */
struct foreign vgem_create(uint64_t size);
void foreign_destroy(struct foreign *foreign);
int vgem_open(void);

/* Adds a fence of vgem to the buffer's reservation object, as that of a reader or a writer. */
uint32_t vgem_fence_attach(const struct foreign *foreign, bool write);
void vgem_fence_signal(const struct foreign *foreign, uint32_t fence);

/* Does the same for a handle of vgem, which may be an import. */
uint32_t vgem_handle_fence_attach(int vgem, uint32_t handle, bool write);
void vgem_handle_fence_signal(int vgem, uint32_t fence);

/* Returns the number of this driver's fences in the only dma-buf of @size bytes. */
unsigned int count_device_fences(uint64_t size);

int try_prime_export(int fd, uint32_t handle, uint32_t flags, int *dmabuf);
int prime_export(int fd, uint32_t handle, uint32_t flags);
int try_prime_import(int fd, int dmabuf, uint32_t *handle);
uint32_t prime_import(int fd, int dmabuf);
int try_map(int fd, uint32_t handle, uint32_t flags, uint64_t *address);
uint64_t map_buffer(int fd, uint32_t handle, uint32_t flags);
int close_handle(int fd, uint32_t handle);

uint32_t syncobj_create(int fd);
uint64_t syncobj_point(int fd, uint32_t handle);	/* last signalled point */
/* The results and buffer fences of a job are reported before its own fence is signalled. */
void syncobj_wait(int fd, uint32_t handle, uint64_t point);
bool syncobj_is_signalled(int fd, uint32_t handle, uint64_t point);
bool syncobj_is_set(int fd, uint32_t handle);		/* it has a fence, signalled or not */
void syncobj_signal(int fd, uint32_t handle);
int syncobj_to_sync_file(int fd, uint32_t handle);
void syncobj_from_sync_file(int fd, uint32_t handle, int sync_file);
/* Returns a sync_file with the fences of a dma-buf for which a reader (a writer) has to wait. */
int dmabuf_sync_file(int dmabuf, bool write);
/* Returns 0 if it is not signalled, 1 if it is, a negative errno if it has this error. */
int sync_file_status(int sync_file);

/* The fences of one job, which are chained to @job until it is submitted. */
struct sync_chain {
	struct overtake_extension_sync sync;
	struct overtake_sync in[OVERTAKE_MAX_SYNCS + 1];
	struct overtake_sync out[OVERTAKE_MAX_SYNCS + 1];
};

void sync_chain_init(struct sync_chain *chain, struct job *job);
void sync_chain_in(struct sync_chain *chain, uint32_t handle, uint64_t point);
void sync_chain_out(struct sync_chain *chain, uint32_t handle, uint64_t point);

/* A job whose region OVERTAKE_REGION_IO is [address, address + length). */
void job_init_on(struct job *job, const struct client *client, uint64_t tag, uint64_t address,
		 uint64_t length, uint32_t flags);

#endif
