// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Offences and lost time within a window. */
#include "fw/ban.h"
#include "overtake_isa.h"

enum harm { NO_HARM, LOST_TIME, OFFENCE };

static enum harm harm_of(u32 fault)
{
	switch (fault) {
	case OVERTAKE_FAULT_NONE:
	case OVERTAKE_FAULT_RESET:
	case OVERTAKE_FAULT_KILLED:
		return NO_HARM;
	case OVERTAKE_FAULT_STOPPED:
		return LOST_TIME;
	default:
		return OFFENCE;
	}
}

bool ovt_ban_is_offence(u32 fault)
{
	return harm_of(fault) == OFFENCE;
}

bool ovt_ban_note(struct ovt_ban_account *account, const struct ovt_ban_rule *rule, u32 fault,
		  u64 lost_ns, u64 now_ns)
{
	enum harm harm = harm_of(fault);

	if (harm == NO_HARM || !rule->offences)
		return false;
	if (!account->open || now_ns - account->first_ns > rule->window_ns)
		*account = (struct ovt_ban_account){ .first_ns = now_ns, .open = true };
	account->offences += harm == OFFENCE;
	account->lost_ns += lost_ns;
	return account->offences >= rule->offences ||
	       (rule->lost_ns && account->lost_ns >= rule->lost_ns);
}
