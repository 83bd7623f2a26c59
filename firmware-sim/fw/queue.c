// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The command and event queues between a host and the firmware.
 *
 * Indices run freely; entry i is in slot i modulo the size, a power of two.  The producer fills
 * a slot and then releases the tail.  The consumer acquires the tail before it reads the slot, and
 * then releases the head.  A producer that uses slots again acquires the head: for the event queue
 * in ovt_fw_event_room().  The producer of the command queue does not acquire it: it relies on
 * commands_reserved, a plain count that both sides change and that needs the host's lock.  A host
 * without a lock would keep the count itself, after an acquire of the command head.  In a host with
 * a lock, the lock orders everything here.  tests/protocol checks these orders.
 */
#include "fw/internal.h"

bool ovt_fw_reserve(struct ovt_fw *fw, u32 slots)
{
	if (slots > fw->config.command_count - fw->commands_reserved)
		return false;
	fw->commands_reserved += slots;
	return true;
}

void ovt_fw_unreserve(struct ovt_fw *fw, u32 slots)
{
	fw->commands_reserved -= slots;
}

void ovt_fw_push_command(struct ovt_fw *fw, const struct ovt_command *command)
{
	u32 tail = fw->command_tail;

	fw->config.commands[tail & (fw->config.command_count - 1)] = *command;
	ovt_store_release(&fw->command_tail, tail + 1);
}

const struct ovt_command *ovt_fw_peek_command(const struct ovt_fw *fw)
{
	u32 tail = ovt_load_acquire(&fw->command_tail);

	if (fw->command_head == tail)
		return NULL;
	return &fw->config.commands[fw->command_head & (fw->config.command_count - 1)];
}

/* Consumes the first command; its slot goes back to the pool of ovt_fw_reserve(). */
void ovt_fw_consume_command(struct ovt_fw *fw)
{
	ovt_store_release(&fw->command_head, fw->command_head + 1);
	fw->commands_reserved--;
}

u32 ovt_fw_event_room(const struct ovt_fw *fw)
{
	return fw->config.event_count - (fw->event_tail - ovt_load_acquire(&fw->event_head));
}

void ovt_fw_push_event(struct ovt_fw *fw, const struct ovt_event *event)
{
	u32 tail = fw->event_tail;

	fw->config.events[tail & (fw->config.event_count - 1)] = *event;
	ovt_store_release(&fw->event_tail, tail + 1);
}

bool ovt_fw_pop_event(struct ovt_fw *fw, struct ovt_event *event)
{
	u32 head = fw->event_head;

	if (head == ovt_load_acquire(&fw->event_tail))
		return false;
	*event = fw->config.events[head & (fw->config.event_count - 1)];
	ovt_store_release(&fw->event_head, head + 1);
	return true;
}
