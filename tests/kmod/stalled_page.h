/* SPDX-License-Identifier: MIT */
/* A page of memory whose first access waits until a test gives the page. */
#ifndef KMOD_STALLED_PAGE_H
#define KMOD_STALLED_PAGE_H

#include <stddef.h>

struct stalled_page {
	void *data;
	int fd;
};

/* Skips the test case if the kernel has no userfaultfd. */
void stalled_page_make(struct stalled_page *page);
/* Waits until a thread waits for the page. */
void stalled_page_wait(const struct stalled_page *page);
/* Gives the page, once: it begins with @size bytes of @contents, and the rest is zero. */
void stalled_page_give(struct stalled_page *page, const void *contents, size_t size);

#endif
