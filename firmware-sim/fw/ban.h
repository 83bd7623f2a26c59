/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The rule by which a client's queue is closed when it has done too much harm.
 *
 * An offence is a job that ends by its own fault: a bad instruction, the watchdog, or the clock of
 * an FC.  A reset, a cancel or a kill is no offence: the firmware does not know whose fault it was.
 * The rule counts offences, and the time that cores have lost to them: a core that executes hung
 * FCs one after the other sees few offences and does nothing else.  An FC that was stopped in its
 * middle is no offence, since honest clients miss deadlines too, but its time counts as lost.
 */
#ifndef OVT_FW_BAN_H
#define OVT_FW_BAN_H

#include <ovt_port.h>

/**
 * struct ovt_ban_rule - how much harm is too much
 * @offences: number of offences that is too much; 0: no harm is too much, not even lost time
 * @lost_ns: lost time that is too much; 0: no lost time is
 * @window_ns: device time within which harm adds up, counted from the first FC that did harm
 */
struct ovt_ban_rule {
	u32 offences;
	u64 lost_ns;
	u64 window_ns;
};

/**
 * struct ovt_ban_account - the harm that a client's queue has done; all zero at first
 * @offences: offences since @first_ns
 * @lost_ns: lost time since @first_ns
 * @first_ns: device time at the end of the first FC that counts
 * @open: there is such an FC
 */
struct ovt_ban_account {
	u32 offences;
	u64 lost_ns;
	u64 first_ns;
	bool open;
};

/* Whether @fault is the client's own. */
bool ovt_ban_is_offence(u32 fault);

/*
 * ovt_ban_note - an FC ended with @fault, OVERTAKE_FAULT_*, at @now_ns
 * @lost_ns: time for which its core was busy with it, in device time or the host's, the longer one
 *
 * Returns true if the harm is too much now.
 */
bool ovt_ban_note(struct ovt_ban_account *account, const struct ovt_ban_rule *rule, u32 fault,
		  u64 lost_ns, u64 now_ns);

#endif
