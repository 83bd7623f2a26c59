// SPDX-License-Identifier: MIT
/* What the interface fuzzer (tests/kmod-fuzz) has found, once each. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "check.h"
#include "device.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"

/* An accelerator's file has no master: DRM's calls about it took the kernel down. */
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

const struct test_case finding_cases[] = {
	{ "finding-calls-of-displays-are-refused", FUNCTIONAL, calls_of_displays_are_refused },
	{ 0 },
};
