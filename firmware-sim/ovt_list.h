/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Intrusive doubly linked lists: a list's head is a link of its own, a link in no list is alone. */
#ifndef OVT_LIST_H
#define OVT_LIST_H

#include <ovt_port.h>

struct ovt_list {
	struct ovt_list *next;
	struct ovt_list *previous;
};

static inline void ovt_list_init(struct ovt_list *head)
{
	head->next = head;
	head->previous = head;
}

static inline bool ovt_list_empty(const struct ovt_list *head)
{
	return head->next == head;
}

/* Adds @link at the end of @head's list; in front of @head, if that is a link in the middle. */
static inline void ovt_list_append(struct ovt_list *head, struct ovt_list *link)
{
	link->next = head;
	link->previous = head->previous;
	head->previous->next = link;
	head->previous = link;
}

static inline void ovt_list_remove(struct ovt_list *link)
{
	link->previous->next = link->next;
	link->next->previous = link->previous;
	ovt_list_init(link);
}

#define ovt_container_of(pointer, type, member) \
	((type *)(void *)((u8 *)(pointer) - offsetof(type, member)))

#endif
