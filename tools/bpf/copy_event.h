/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the BPF program puts into its ring buffer. */
#ifndef OVERTAKE_COPY_EVENT_H
#define OVERTAKE_COPY_EVENT_H

/* Of a record, its common fields included; the driver's longest is shorter. */
#define COPIED_RECORD_BYTES 136

struct copied_event {
	__u64 type; /* the cookie that it was attached with */
	__u8 record[COPIED_RECORD_BYTES];
};

#endif
