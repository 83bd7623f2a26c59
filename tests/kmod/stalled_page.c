// SPDX-License-Identifier: MIT
#include "stalled_page.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#define PAGE	4096u

void stalled_page_make(struct stalled_page *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	page->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (page->fd < 0)
		check_skip("this kernel has no userfaultfd");
	page->data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page->data != MAP_FAILED);
	range.range.start = (unsigned long)page->data;
	range.range.len = PAGE;
	check_equal(ioctl(page->fd, UFFDIO_API, &api), 0);
	check_equal(ioctl(page->fd, UFFDIO_REGISTER, &range), 0);
}

void stalled_page_wait(const struct stalled_page *page)
{
	struct uffd_msg message;

	check_equal(read(page->fd, &message, sizeof(message)), sizeof(message));
	check_equal(message.event, UFFD_EVENT_PAGEFAULT);
}

void stalled_page_give(struct stalled_page *page, const void *contents, size_t size)
{
	static char bytes[PAGE];
	struct uffdio_copy fill = { .src = (unsigned long)bytes, .len = PAGE };

	check(size <= PAGE);
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, contents, size);
	fill.dst = (unsigned long)page->data;
	check_equal(ioctl(page->fd, UFFDIO_COPY, &fill), 0);
	close(page->fd);
}
