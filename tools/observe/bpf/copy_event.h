/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The entries that the BPF programs put into their ring buffer. */
#ifndef OVERTAKE_COPY_EVENT_H
#define OVERTAKE_COPY_EVENT_H

/* Indexes in the map that counts the entries for which the ring buffer had no room. */
#define LOST_OF_DRIVER 0
#define LOST_OF_ENGINES 1

/* The bytes copied of a record, with its common fields; the driver's longest record is shorter. */
#define COPIED_RECORD_BYTES 136

struct copied_event {
	__u64 type; /* the cookie with which the program was attached */
	__u8 record[COPIED_RECORD_BYTES];
};

/* The most arguments that a USDT probe of an engine has. */
#define COPIED_PROBE_ARGUMENTS 12
/* Cookies of probes begin here. */
#define COPIED_PROBE_TYPE 0x100

struct copied_probe {
	__u64 type;
	__u64 pid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 arguments[COPIED_PROBE_ARGUMENTS]; /* missing ones are zero */
};

#endif
