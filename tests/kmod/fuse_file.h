/* SPDX-License-Identifier: MIT */
/* A file of an ordinary user's own file system, whose only page comes when a test lets it. */
#ifndef KMOD_FUSE_FILE_H
#define KMOD_FUSE_FILE_H

/*
 * fuse_page_map - mount the file system and map its file's page, in a user namespace of the caller's
 * @page: contents of the page, 4096 bytes
 * @asked: file descriptor to which a byte is written when a thread waits for the page
 * @let: file descriptor from which a byte is read before the page is delivered
 *
 * Called once by a process of user nobody.  Returns NULL if this kernel does not permit it.
 */
void *fuse_page_map(const void *page, int asked, int let);

#endif
