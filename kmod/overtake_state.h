/* SPDX-License-Identifier: GPL-2.0-only */
/* The file "state" of debugfs.  See overtake_state.c. */
#ifndef OVERTAKE_STATE_H
#define OVERTAKE_STATE_H

#include "overtake_drv.h"

void overtake_state_add(struct overtake_device *device);

/* Notes that a reader has handled @things in one hold of the device lock. */
void overtake_note_read_locked(struct overtake_device *device, u32 things);

#endif
