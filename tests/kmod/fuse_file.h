/* SPDX-License-Identifier: MIT */
/* A file of an ordinary user's own file system, whose only page does not come until it is let. */
#ifndef KMOD_FUSE_FILE_H
#define KMOD_FUSE_FILE_H

/*
 * fuse_page_map - mount the file system and map its file's page, in a user namespace of the caller's
 * @page: what the page will hold, 4096 bytes
 * @asked: written to when a thread waits for the page
 * @let: read from before it is delivered
 *
 * By a process of user nobody, once.  NULL if this kernel does not let it.
 */
void *fuse_page_map(const void *page, int asked, int let);

#endif
