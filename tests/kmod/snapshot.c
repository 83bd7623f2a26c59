// SPDX-License-Identifier: MIT
#include "snapshot.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

void take_snapshot(const struct client *client, struct snapshot *snapshot)
{
	struct drm_overtake_bo_create create = { .size = 4096 };
	struct drm_gem_close close_handle = { 0 };
	char path[128];

	memset(snapshot, 0, sizeof(*snapshot));
	debugfs_path(path, sizeof(path), 0, "state");
	check_equal(read_file(path, snapshot->state, sizeof(snapshot->state)), 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", client->fd);
	check_equal(read_file(path, snapshot->fdinfo, sizeof(snapshot->fdinfo)), 0);
	device_query_core(client->fd, 1, &snapshot->cores[0]);
	device_query_core(client->fd, 2, &snapshot->cores[1]);
	/* Handles are the smallest free numbers: the next one tells whether one was lost. */
	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create), 0);
	snapshot->next_handle = create.handle;
	close_handle.handle = create.handle;
	check_equal(device_ioctl(client->fd, DRM_IOCTL_GEM_CLOSE, &close_handle), 0);
}

/* Returns the first line of @after that differs from @before. */
static const char *first_difference(const char *before, const char *after)
{
	static char line[256];
	const char *start = after;

	while (*after && *before == *after) {
		if (*after == '\n')
			start = after + 1;
		before++;
		after++;
	}
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(start, "\n"), start);
	return line;
}

void compare_snapshots(const struct snapshot *before, const struct snapshot *after)
{
	check_message(!strcmp(before->state, after->state), "now the state says: %s",
		      first_difference(before->state, after->state));
	check_message(!strcmp(before->fdinfo, after->fdinfo), "now fdinfo says: %s",
		      first_difference(before->fdinfo, after->fdinfo));
	check(!memcmp(before->cores, after->cores, sizeof(before->cores)));
	check_equal(after->next_handle, before->next_handle);
}
