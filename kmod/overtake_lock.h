/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device lock, and how long it is held.
 *
 * It is taken with interrupts off, so each hold delays all other work of its CPU.  Each hold is
 * bounded (docs/design/driver-sources.md has the table).  With debugfs measure_lock, the device
 * remembers the longest hold and the code that ended it.
 */
#ifndef OVERTAKE_LOCK_H
#define OVERTAKE_LOCK_H

#include <linux/cleanup.h>
#include <linux/instruction_pointer.h>
#include <linux/ktime.h>

#include "overtake_drv.h"

struct dentry;

void overtake_lock_note(struct overtake_device *device, unsigned long holder);
void overtake_lock_add(struct overtake_device *device, struct dentry *root);

static inline void overtake_lock_begin(struct overtake_device *device)
{
	if (unlikely(READ_ONCE(device->lock_is_measured)))
		device->lock_taken_ns = ktime_get_mono_fast_ns();
}

static inline void overtake_lock_end(struct overtake_device *device)
{
	if (unlikely(device->lock_taken_ns))
		overtake_lock_note(device, _THIS_IP_);
}

/* Process context, with interrupts on. */
static __always_inline void overtake_lock(struct overtake_device *device)
	__acquires(&device->lock)
{
	spin_lock_irq(&device->lock);
	overtake_lock_begin(device);
}

static __always_inline void overtake_unlock(struct overtake_device *device)
	__releases(&device->lock)
{
	overtake_lock_end(device);
	spin_unlock_irq(&device->lock);
}

/* Inlined, so that the device remembers the caller as the place where the lock was released. */
static __always_inline void class_overtake_lock_destructor(struct overtake_device **device);

/*
 * guard(overtake_lock)(device) holds the lock until the end of the block.  Sparse does not know
 * that the end of a block unlocks, so the lock is hidden from it as well.
 */
DEFINE_GUARD(overtake_lock, struct overtake_device *,
	     overtake_lock(_T); __release(&_T->lock),
	     __acquire(&_T->lock); overtake_unlock(_T))

/* Any context. */
static __always_inline unsigned long overtake_lock_irqsave(struct overtake_device *device)
	__acquires(&device->lock)
{
	unsigned long flags;

	spin_lock_irqsave(&device->lock, flags);
	overtake_lock_begin(device);
	return flags;
}

static __always_inline void overtake_unlock_irqrestore(struct overtake_device *device,
						       unsigned long flags)
	__releases(&device->lock)
{
	overtake_lock_end(device);
	spin_unlock_irqrestore(&device->lock, flags);
}

#endif
