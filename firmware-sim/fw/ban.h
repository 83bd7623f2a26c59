/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * When a client's queue has done so much harm that it is to be closed.
 *
 * An offence is a job that ends by its own fault: a bad instruction, the watchdog, or the clock of
 * an FC.  A reset is none, nor is a cancel or a kill: whose fault that was is not known.  What
 * counts beside their number is the time that cores have lost to them, for a core that executes
 * hung FCs one after the other sees few offences and does nothing else.  An FC that was stopped in
 * its middle is no offence, since deadlines pass on honest clients too, but its time is as lost.
 */
#ifndef OVT_FW_BAN_H
#define OVT_FW_BAN_H

#include <ovt_port.h>

/**
 * struct ovt_ban_rule - what is too much
 * @offences: so many; 0: nothing is
 * @lost_ns: or so much time; 0: any time is borne
 * @window_ns: within so much device time, counted from the first
 */
struct ovt_ban_rule {
	u32 offences;
	u64 lost_ns;
	u64 window_ns;
};

/**
 * struct ovt_ban_account - a client's part of it; all zero at first
 * @offences: since @first_ns
 * @lost_ns: likewise
 * @first_ns: device time at the end of the first FC that counts
 * @open: there is one
 */
struct ovt_ban_account {
	u32 offences;
	u64 lost_ns;
	u64 first_ns;
	bool open;
};

/* A fault that is the client's own. */
bool ovt_ban_is_offence(u32 fault);

/*
 * ovt_ban_note - an FC ended with @fault, OVERTAKE_FAULT_*, at @now_ns
 * @lost_ns: how long its core was busy with it, in device time or the host's, whichever is longer
 *
 * True if that is too much.
 */
bool ovt_ban_note(struct ovt_ban_account *account, const struct ovt_ban_rule *rule, u32 fault,
		  u64 lost_ns, u64 now_ns);

#endif
