/* SPDX-License-Identifier: MIT */
/*
 * The driver's user interface, thinly wrapped.  Functions that may be refused return 0 or a
 * negative errno; those that a test takes for granted end the test case when they fail.
 */
#ifndef KMOD_DEVICE_H
#define KMOD_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm.h>

#include "overtake_accel.h"

struct buffer {
	uint32_t handle;
	uint64_t size;
	uint64_t address;	/* device address, 0 if not mapped */
	uint8_t *data;
};

/* A client with what most jobs need: a program, one context, room for a result record. */
struct client {
	int fd;
	uint32_t context;
	struct buffer program;	/* 16 pages: instructions */
	struct buffer data;	/* 16 pages: the last one holds result records */
};

#define RESULT_OFFSET	(15u * 4096u)

/* Calls ioctl(), and returns 0 or -errno. */
int device_ioctl(int fd, unsigned long request, void *argument);

/* Opens device overtake.@index; returns a file descriptor or -errno. */
int device_try_open(unsigned int index);
int device_open(unsigned int index);
void device_query(int fd, struct drm_overtake_device_info *info);
void device_query_core(int fd, unsigned int core, struct drm_overtake_core_info *info);
struct drm_overtake_core_profile device_query_profile(int fd, unsigned int core);

struct buffer buffer_create(int fd, uint64_t size, uint32_t map_flags);
void buffer_destroy(int fd, struct buffer *buffer);
int context_create(int fd, uint32_t max_priority, uint32_t core_limit, uint32_t *id);
int context_destroy(int fd, uint32_t id);

struct client client_open(unsigned int index, uint32_t max_priority);
void client_close(struct client *client);

/* Writes instruction @index of the client's program. */
void put_insn(struct client *client, uint32_t index, const struct overtake_insn *insn);
void put_delay(struct client *client, uint32_t index, uint64_t cycles);
void put_jump(struct client *client, uint32_t index, uint32_t target);
/* Writes a COPY within the data, from @from to @to; length and offsets are multiples of 8. */
void put_copy(struct client *client, uint32_t index, uint32_t to, uint32_t from, uint32_t length);

/*
 * A job with @fc_count FCs: FC i is instruction first + i of the program.  Region 0 is the program,
 * and region OVERTAKE_REGION_IO the data.
 */
struct job {
	struct drm_overtake_submit submit;
	struct overtake_fc fcs[64];
	struct overtake_binding bindings[2];
};

void job_init(struct job *job, const struct client *client, uint64_t tag, uint32_t first,
	      uint32_t fc_count);
/* Submits @job, which holds pointers into itself: job_init() has initialised it in this place. */
int job_submit(const struct client *client, struct job *job);
int job_wait(const struct client *client, uint64_t tag, int64_t deadline_ns,
	     struct overtake_result *result);
int job_wait_any(const struct client *client, int64_t deadline_ns, struct overtake_result *result);
int job_cancel(const struct client *client, uint64_t tag);

/* Returns the time of CLOCK_MONOTONIC. */
int64_t monotonic_ns(void);

/* Write the path of a file of device @index in debugfs or sysfs. */
void debugfs_path(char *path, size_t size, unsigned int index, const char *name);
void sysfs_path(char *path, size_t size, unsigned int index, const char *name);
int write_file(const char *path, const char *text); /* 0 or -errno */
int read_file(const char *path, char *text, size_t size);
int advance_clock(unsigned int index, uint64_t now_ns);
/* Restarts a device with a manual clock and no open file at time 0. */
void restart_clock(unsigned int index);
/* Opens a client of device 0, whose manual clock restarts at 0. */
struct client client_open_at_zero(void);
uint64_t read_counter(const char *path);
/* Return the rows of OVERTAKE_QUERY_LIMITS, one for each limit, or how much of one is used. */
void query_limits(int fd, struct drm_overtake_limit *limits);
uint64_t limit_used(int fd, uint32_t limit);
/* Returns a line of /proc/meminfo, such as "Slab". */
uint64_t meminfo_kib(const char *name);
/* Unbinds the driver from device @index ("unbind"), or binds it again ("bind"). */
void device_bind(unsigned int index, const char *what);

#endif
