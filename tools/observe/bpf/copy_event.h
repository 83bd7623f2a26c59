/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the BPF programs put into their ring buffer. */
#ifndef OVERTAKE_COPY_EVENT_H
#define OVERTAKE_COPY_EVENT_H

/* What found no room in it is counted in a map of its own, at these places. */
#define LOST_OF_DRIVER 0
#define LOST_OF_ENGINES 1

/* Of a record, its common fields included; the driver's longest is shorter. */
#define COPIED_RECORD_BYTES 136

struct copied_event {
	__u64 type; /* the cookie that it was attached with */
	__u8 record[COPIED_RECORD_BYTES];
};

/* The most that a USDT probe of an engine has. */
#define COPIED_PROBE_ARGUMENTS 12
/* Cookies of probes begin here. */
#define COPIED_PROBE_TYPE 0x100

struct copied_probe {
	__u64 type;
	__u64 pid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 arguments[COPIED_PROBE_ARGUMENTS]; /* those that it does not have are zero */
};

#endif
