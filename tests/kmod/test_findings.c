// SPDX-License-Identifier: MIT
/* The findings of the interface fuzzer (tests/kmod-fuzz), a test case for each. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"

/* The file of an accelerator has no master: DRM's calls about masters crashed the kernel. */
static void calls_of_displays_are_refused(void)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_GET_UNIQUE, DRM_IOCTL_GET_MAGIC, DRM_IOCTL_AUTH_MAGIC,
		DRM_IOCTL_SET_MASTER, DRM_IOCTL_DROP_MASTER, DRM_IOCTL_GEM_FLINK,
		DRM_IOCTL_GEM_OPEN,
	};
	struct drm_version version = { 0 };
	int fd = device_open(0);
	uint8_t arguments[64];
	unsigned int i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		memset(arguments, 0, sizeof(arguments));
		check_equal(device_ioctl(fd, requests[i], arguments), -EACCES);
	}
	check_equal(device_ioctl(fd, DRM_IOCTL_VERSION, &version), 0);
	close(fd);
}

/*
 * One thread makes objects, another guesses their names and ends them at once: the call that makes
 * an object must not use it any more.  Only the debug kernel sees such a use.
 */
#define GUESSES	4000

struct guesser {
	int fd;
	atomic_bool stop;
	_Atomic uint64_t next;	/* probable name of the next object */
	uint64_t right;
};

static void *destroy_contexts(void *argument)
{
	struct guesser *guesser = argument;

	while (!guesser->stop)
		guesser->right += !context_destroy(guesser->fd, 1);
	return NULL;
}

static void *unmap_buffers(void *argument)
{
	struct guesser *guesser = argument;

	while (!guesser->stop) {
		struct drm_overtake_bo_unmap unmap = { .address = guesser->next };

		guesser->right += !device_ioctl(guesser->fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap);
	}
	return NULL;
}

static void a_guessed_context_is_destroyed(void)
{
	struct guesser guesser = { .fd = device_open(0) };
	pthread_t thread;
	uint64_t i;

	check_equal(pthread_create(&thread, NULL, destroy_contexts, &guesser), 0);
	for (i = 0; i < GUESSES; i++) {
		struct drm_overtake_context_create create = { 0 };

		check_equal(device_ioctl(guesser.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
		check(create.context_id >= 1 && create.context_id <= OVERTAKE_MAX_CONTEXTS);
		context_destroy(guesser.fd, create.context_id);
	}
	guesser.stop = true;
	pthread_join(thread, NULL);
	check(guesser.right > 0);
	close(guesser.fd);
}

static void a_guessed_mapping_is_unmapped(void)
{
	struct guesser guesser = { .fd = device_open(0) };
	struct buffer buffer = buffer_create(guesser.fd, 4096, 0);
	uint64_t last = 0, step = 0;
	pthread_t thread;
	uint64_t i;

	check_equal(pthread_create(&thread, NULL, unmap_buffers, &guesser), 0);
	for (i = 0; i < GUESSES; i++) {
		struct drm_overtake_bo_map map = { .handle = buffer.handle,
						   .flags = OVERTAKE_MAP_READ };
		struct drm_overtake_bo_unmap unmap;

		check_equal(device_ioctl(guesser.fd, DRM_IOCTL_OVERTAKE_BO_MAP, &map), 0);
		check(map.address > last);
		step = last ? map.address - last : 0;
		last = map.address;
		unmap = (struct drm_overtake_bo_unmap){ .address = last };
		device_ioctl(guesser.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap);
		guesser.next = last + step;
	}
	guesser.stop = true;
	pthread_join(thread, NULL);
	check(guesser.right > 0);
	buffer_destroy(guesser.fd, &buffer);
	close(guesser.fd);
}

const struct test_case finding_cases[] = {
	{ "finding-calls-of-displays-are-refused", FUNCTIONAL, calls_of_displays_are_refused },
	{ "finding-a-guessed-context-is-destroyed", FUNCTIONAL, a_guessed_context_is_destroyed },
	{ "finding-a-guessed-mapping-is-unmapped", FUNCTIONAL, a_guessed_mapping_is_unmapped },
	{ 0 },
};
