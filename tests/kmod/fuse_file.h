/* SPDX-License-Identifier: MIT */
/* A file in a file system of an ordinary user; its only page comes when a test permits it. */
#ifndef KMOD_FUSE_FILE_H
#define KMOD_FUSE_FILE_H

/*
 * fuse_page_map - mount the file system and map the page of its file, in a user namespace
 * @page: contents of the page, 4096 bytes
 * @asked: file descriptor to which a byte is written when a thread waits for the page
 * @let: file descriptor from which a byte is read before the page is delivered
 *
 * Called once by a process of user nobody.  Returns NULL if this kernel does not permit it.
 */
void *fuse_page_map(const void *page, int asked, int let);

#endif
