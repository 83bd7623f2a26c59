// SPDX-License-Identifier: MIT
/* Buffers shared with other drivers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define SIZE		65536u

static void fill(uint8_t *data, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 7 + seed);
}

/* Lets the device copy 1 KiB inside a buffer that is mapped at @address. */
static void compute_on(struct client *client, uint64_t tag, uint64_t address)
{
	struct overtake_result result;
	struct job job;

	put_copy(client, 0, 4096, 0, 1024);
	job_init_on(&job, client, tag, address, SIZE, READ_WRITE);
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
}

static void import_computes(struct foreign foreign)
{
	struct client client = client_open(0, 254);
	uint32_t handle = prime_import(client.fd, foreign.fd);
	uint64_t address = map_buffer(client.fd, handle, READ_WRITE);
	struct drm_overtake_bo_unmap unmap = { .address = address };

	fill(foreign.data, 1024, 3);
	compute_on(&client, 1, address);
	check(!memcmp(foreign.data, foreign.data + 4096, 1024));
	/* The same buffer again has the same handle. */
	check_equal(prime_import(client.fd, foreign.fd), handle);
	check_equal(try_map(client.fd, handle, READ_WRITE, &address), -EEXIST);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(close_handle(client.fd, handle), 0);
	client_close(&client);
	foreign_destroy(&foreign);
}

static void import_of_udmabuf(void)
{
	import_computes(udmabuf_create(SIZE));
}

static void import_of_heap(void)
{
	import_computes(heap_create(SIZE, O_RDWR));
}

static void import_of_vgem(void)
{
	import_computes(vgem_create(SIZE));
}

/* The device keeps the buffer although all others have closed it. */
static void import_outlives_its_exporter(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = vgem_create(SIZE);
	uint32_t handle = prime_import(client.fd, foreign.fd);
	uint64_t address = map_buffer(client.fd, handle, READ_WRITE);

	check_equal(close_handle(client.fd, handle), 0);
	foreign_destroy(&foreign);
	compute_on(&client, 1, address);
	client_close(&client);
}

static void export_is_the_same_memory(void)
{
	struct client client = client_open(0, 254);
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	int vgem = vgem_open();
	uint8_t *seen;

	prime_import(vgem, dmabuf);
	seen = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	check(seen != MAP_FAILED);
	fill(seen, 1024, 5);
	compute_on(&client, 1, buffer.address);
	check(!memcmp(seen + 4096, seen, 1024));
	check(!memcmp(buffer.data, seen, SIZE));
	/* The buffer lives without the device and its file, too: vgem holds it. */
	close(dmabuf);
	munmap(buffer.data, buffer.size);
	client_close(&client);
	check_equal(seen[4096 + 8], (uint8_t)(8 * 7 + 5));
	munmap(seen, SIZE);
	close(vgem);
}

static void own_buffer_comes_home_as_itself(void)
{
	struct client client = client_open(0, 254);
	struct client other = client_open(0, 254);
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	uint64_t address;

	check_equal(prime_import(client.fd, dmabuf), buffer.handle);
	address = map_buffer(other.fd, prime_import(other.fd, dmabuf), READ_WRITE);
	fill(buffer.data, 1024, 9);
	compute_on(&other, 1, address);
	check(!memcmp(buffer.data, buffer.data + 4096, 1024));
	close(dmabuf);
	client_close(&client);
	client_close(&other);
}

/* A dma-buf that is open only for reading gives no right to write, to cores or to CPUs. */
static void read_only_stays_read_only(void)
{
	struct client client = client_open(0, 254);
	struct client other = client_open(0, 254);
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_CLOEXEC);
	struct drm_overtake_bo_mmap_offset offset = { 0 };
	struct foreign heap = heap_create(SIZE, O_RDONLY);
	uint64_t address;
	uint32_t handle;
	struct job job;
	void *data;

	handle = prime_import(client.fd, heap.fd);
	check_equal(try_map(client.fd, handle, READ_WRITE, &address), -EACCES);
	address = map_buffer(client.fd, handle, OVERTAKE_MAP_READ);
	job_init_on(&job, &client, 1, address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), -EACCES);

	offset.handle = prime_import(other.fd, dmabuf);
	check_equal(try_map(other.fd, offset.handle, READ_WRITE, &address), -EACCES);
	map_buffer(other.fd, offset.handle, OVERTAKE_MAP_READ);
	check_equal(device_ioctl(other.fd, DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, &offset), 0);
	data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, other.fd, (off_t)offset.offset);
	check(data == MAP_FAILED && errno == EACCES);
	data = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, other.fd, (off_t)offset.offset);
	check(data != MAP_FAILED);
	check(mprotect(data, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES);
	munmap(data, SIZE);
	close(dmabuf);
	foreign_destroy(&heap);
	client_close(&client);
	client_close(&other);
}

static void import_counts_against_the_limits(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = heap_create(4096, O_RDWR);
	struct drm_overtake_bo_create create = { .size = 4096 };
	uint32_t handle, first = 0, count = 0;
	int ret;

	while (!(ret = device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create))) {
		first = first ? first : create.handle;
		count++;
		create = (struct drm_overtake_bo_create){ .size = 4096 };
	}
	check_equal(ret, -ENOSPC);
	check_equal(count, OVERTAKE_MAX_BUFFERS - 2); /* a client has two */
	check_equal(try_prime_import(client.fd, foreign.fd, &handle), -ENOSPC);
	check_equal(close_handle(client.fd, first), 0);
	handle = prime_import(client.fd, foreign.fd);
	check_equal(handle, first); /* the refused one left nothing behind */
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create), -ENOSPC);
	check_equal(close_handle(client.fd, handle), 0);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &create), 0);
	foreign_destroy(&foreign);
	client_close(&client);
}

/* Jobs wait for another driver's use of a shared buffer; if it only reads, readers do not wait. */
static void foreign_fences_of_a_shared_buffer(void)
{
	struct client client = client_open(0, 254);
	struct foreign foreign = vgem_create(SIZE);
	uint64_t address = map_buffer(client.fd, prime_import(client.fd, foreign.fd), READ_WRITE);
	struct overtake_result result;
	uint32_t fence;
	struct job job;

	put_copy(&client, 0, 4096, 0, 1024);
	fence = vgem_fence_attach(&foreign, true);
	job_init_on(&job, &client, 1, address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), 0);
	fill(foreign.data, 1024, 1);
	check_equal(job_wait(&client, 1, 0, &result), -ETIMEDOUT);
	vgem_fence_signal(&foreign, fence);
	check_equal(job_wait(&client, 1, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(foreign.data, foreign.data + 4096, 1024));

	fence = vgem_fence_attach(&foreign, false);
	put_delay(&client, 1, 1000);
	job_init_on(&job, &client, 2, address, SIZE, OVERTAKE_MAP_READ);
	job.fcs[0].first_insn = 1;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	job_init_on(&job, &client, 3, address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 3, 0, &result), -ETIMEDOUT);
	vgem_fence_signal(&foreign, fence);
	check_equal(job_wait(&client, 3, NEVER, &result), 0);
	foreign_destroy(&foreign);
	client_close(&client);
}

/* Importers see when the device has finished with a buffer. */
static void importers_see_the_devices_fences(void)
{
	struct client client = client_open_at_zero();
	struct buffer buffer = buffer_create(client.fd, SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	struct overtake_result result;
	int reader, writer;
	struct job job;

	put_delay(&client, 0, 5 * MS);
	job_init_on(&job, &client, 1, buffer.address, SIZE, OVERTAKE_MAP_READ);
	check_equal(job_submit(&client, &job), 0);
	reader = dmabuf_sync_file(dmabuf, false);
	writer = dmabuf_sync_file(dmabuf, true);
	check_equal(sync_file_status(reader), 1);
	check_equal(sync_file_status(writer), 0);
	close(reader);
	job_init_on(&job, &client, 2, buffer.address, SIZE, READ_WRITE);
	check_equal(job_submit(&client, &job), 0);
	reader = dmabuf_sync_file(dmabuf, false);
	check_equal(sync_file_status(reader), 0);
	check_equal(advance_clock(0, 20 * MS), 0);
	check_equal(sync_file_status(reader), 1);
	check_equal(sync_file_status(writer), 1);
	check_equal(job_wait(&client, 2, 0, &result), 0);
	close(reader);
	close(writer);
	close(dmabuf);
	client_close(&client);
}

#define ODD_SIZE	(37 * 4096u)	/* no other dma-buf has this size */

/* However many jobs use a buffer, it has two fences: one for readers, one for writers. */
static void a_thousand_jobs_leave_two_fences(void)
{
	struct client client = client_open_at_zero();
	struct buffer buffer = buffer_create(client.fd, ODD_SIZE, READ_WRITE);
	int dmabuf = prime_export(client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	struct overtake_result result;
	struct job job;
	uint32_t i;
	int waiter;

	put_delay(&client, 0, 1000);
	for (i = 0; i < 1000; i++) {
		job_init_on(&job, &client, i, buffer.address, ODD_SIZE,
			    i % 3 ? OVERTAKE_MAP_READ : READ_WRITE);
		check_equal(job_submit(&client, &job), 0);
	}
	check_equal(count_device_fences(ODD_SIZE), 2);
	/* The fences stand for all jobs, whatever the order of their ends. */
	waiter = dmabuf_sync_file(dmabuf, true);
	for (i = 1; i < 1000; i++)
		check_equal(job_cancel(&client, i), 0);
	check_equal(advance_clock(0, 500), 0);
	for (i = 1; i < 1000; i++)
		check_equal(job_wait(&client, i, 0, &result), 0);
	check_equal(sync_file_status(waiter), 0);
	check_equal(advance_clock(0, 5000), 0);
	check_equal(job_wait(&client, 0, 0, &result), 0);
	check(sync_file_status(waiter) != 0);
	close(waiter);
	close(dmabuf);
	client_close(&client);
}

#define PROBES		"/sys/kernel/tracing/kprobe_events"
#define PROBED(probe)	"/sys/kernel/tracing/events/kmod_tests/" probe "/enable"

static void probe_remove(const char *name)
{
	char text[128], path[128];

	snprintf(path, sizeof(path), PROBED("%s"), name);
	snprintf(text, sizeof(text), "-:kmod_tests/%s", name);
	if (!write_file(path, "0"))
		check_equal(write_file(PROBES, text), 0);
}

/* Counts calls of a function of the kernel; skips the test case if this kernel cannot. */
static void probe_add(const char *name, const char *function)
{
	char text[128], path[128];

	probe_remove(name); /* a case that failed may have left it behind */
	snprintf(text, sizeof(text), "p:kmod_tests/%s %s", name, function);
	if (write_file(PROBES, text))
		check_skip("this kernel has no kprobes, or no such function");
	snprintf(path, sizeof(path), PROBED("%s"), name);
	check_equal(write_file(path, "1"), 0);
}

static uint64_t probe_hits(const char *name)
{
	char text[4096], *line, *rest = text;

	check_equal(read_file("/sys/kernel/tracing/kprobe_profile", text, sizeof(text)), 0);
	while ((line = strsep(&rest, "\n"))) {
		char event[64];
		unsigned long long hits;

		if (sscanf(line, " %63s %llu", event, &hits) == 2 && !strcmp(event, name))
			return hits;
	}
	check_message(false, "%s is not in\n%s", name, text);
	return 0;
}

static void check_accesses(uint64_t begun, uint64_t ended)
{
	check_equal(probe_hits("begin"), begun);
	check_equal(probe_hits("end"), ended);
}

/* The driver notifies the exporter of each job that uses its memory, and of nothing else. */
static void exporter_is_notified_of_each_job(struct foreign foreign)
{
	struct client client = client_open(0, 254);
	uint32_t handle = prime_import(client.fd, foreign.fd);
	uint64_t address = map_buffer(client.fd, handle, READ_WRITE);
	struct drm_overtake_bo_unmap unmap = { .address = address };
	struct overtake_binding bindings[3];
	struct overtake_result result;
	struct job job;

	check_accesses(0, 0);
	compute_on(&client, 1, address);
	check_accesses(1, 1);
	compute_on(&client, 2, address);
	check_accesses(2, 2);
	/* The job has the buffer twice. */
	job_init_on(&job, &client, 3, address, SIZE, READ_WRITE);
	memcpy(bindings, job.bindings, sizeof(job.bindings));
	bindings[2] = bindings[1];
	bindings[2].region = 5;
	job.submit.bindings = (uintptr_t)bindings;
	job.submit.binding_count = 3;
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 3, NEVER, &result), 0);
	job_init_on(&job, &client, 4, address, SIZE, READ_WRITE);
	job.submit.core = 3;
	check_equal(job_submit(&client, &job), -EINVAL);
	check_accesses(3, 3);
	put_jump(&client, 7, 7); /* until it is cancelled */
	job_init_on(&job, &client, 5, address, SIZE, READ_WRITE);
	job.fcs[0].first_insn = 7;
	check_equal(job_submit(&client, &job), 0);
	/* A submission that is refused late has begun the access, and ends it. */
	check_equal(job_submit(&client, &job), -EEXIST);
	check_accesses(5, 4);
	check_equal(job_cancel(&client, 5), 0);
	check_equal(job_wait(&client, 5, NEVER, &result), 0);
	check_accesses(5, 5);
	/* Buffers of the device itself are reported to no exporter. */
	put_delay(&client, 0, 1);
	job_init(&job, &client, 6, 0, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(job_wait(&client, 6, NEVER, &result), 0);
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &unmap), 0);
	check_equal(close_handle(client.fd, handle), 0);
	client_close(&client);
	foreign_destroy(&foreign);
	check_accesses(5, 5);
}

static void notified_of_each_job(struct foreign foreign, const char *begin, const char *end)
{
	probe_add("begin", begin);
	probe_add("end", end);
	exporter_is_notified_of_each_job(foreign);
	probe_remove("begin");
	probe_remove("end");
}

static void heap_is_notified_of_each_job(void)
{
	notified_of_each_job(heap_create(SIZE, O_RDWR), "system_heap_dma_buf_begin_cpu_access",
			 "system_heap_dma_buf_end_cpu_access");
}

static void udmabuf_is_notified_of_each_job(void)
{
	notified_of_each_job(udmabuf_create(SIZE), "begin_cpu_udmabuf", "end_cpu_udmabuf");
}

const struct test_case share_cases[] = {
	{ "share-heap-is-notified-of-each-job", FUNCTIONAL, heap_is_notified_of_each_job },
	{ "share-udmabuf-is-notified-of-each-job", FUNCTIONAL, udmabuf_is_notified_of_each_job },
	{ "share-a-thousand-jobs-leave-two-fences", MANUAL, a_thousand_jobs_leave_two_fences },
	{ "share-import-of-udmabuf", FUNCTIONAL, import_of_udmabuf },
	{ "share-import-of-dma-heap", FUNCTIONAL, import_of_heap },
	{ "share-import-of-vgem", FUNCTIONAL, import_of_vgem },
	{ "share-import-outlives-its-exporter", FUNCTIONAL, import_outlives_its_exporter },
	{ "share-export-is-the-same-memory", FUNCTIONAL, export_is_the_same_memory },
	{ "share-own-buffer-comes-home-as-itself", FUNCTIONAL, own_buffer_comes_home_as_itself },
	{ "share-read-only-stays-read-only", FUNCTIONAL, read_only_stays_read_only },
	{ "share-import-counts-against-the-limits", FUNCTIONAL, import_counts_against_the_limits },
	{ "share-foreign-fences-of-a-shared-buffer", FUNCTIONAL,
	  foreign_fences_of_a_shared_buffer },
	{ "share-importers-see-the-devices-fences", MANUAL, importers_see_the_devices_fences },
	{ 0 },
};
