/* SPDX-License-Identifier: MIT */
/*
 * Reservations: ovt_fw_reserve(), ovt_fw_unreserve(). A slot of the command queue is in use from its
 * reservation until its command is consumed or the host returns the slot.
 *
 * Host and firmware both change the code's count, so the count needs the lock that both hosts hold
 * around every call (-DLOCKED). A host that shares no lock with its firmware keeps the count itself:
 * the head of the command queue shows it the consumed commands.
 */

#if defined(LOCKED) || defined(SHARED_COUNT)

byte reserved;			/* commands_reserved */
#define CAN_RESERVE(slots)	(reserved + (slots) <= SIZE)

/* A load and a store: as in the code, this is no atomic instruction. */
inline add_to_reserved(slots)
{
	count = reserved;
	atomic {
		reserved = count + slots;
		count = 0
	};
	assert(reserved <= SIZE)
}

#define RESERVE(slots)		add_to_reserved(slots)
#define UNRESERVE		add_to_reserved(-1)
#define USE_RESERVED		skip
#define GIVE_BACK_CONSUMED	add_to_reserved(-1)
#define NOTHING_RESERVED	(reserved == 0)

#else

byte promised;			/* slots that are reserved, without a queued command yet */
#define CAN_RESERVE(slots) \
	(USED(tail[HOST], LOAD_HEAD(HOST)) + promised + (slots) <= SIZE)

#define RESERVE(slots)		promised = promised + (slots)
#define UNRESERVE		promised--
#define USE_RESERVED		promised--
#define GIVE_BACK_CONSUMED	skip
#define NOTHING_RESERVED	(promised == 0 && LOAD_HEAD(HOST) == tail[HOST])

#endif

#ifdef CANCEL_WITHOUT_RESERVATION
#define SLOTS_OF_JOB		1
#define UNRESERVE_CANCEL	skip
#define USE_RESERVED_CANCEL	skip
#else
#define SLOTS_OF_JOB		2	/* SUBMIT and one CANCEL */
#ifdef KEEP_SLOT_OF_CANCEL
#define UNRESERVE_CANCEL	skip
#else
#define UNRESERVE_CANCEL	UNRESERVE
#endif
#define USE_RESERVED_CANCEL	USE_RESERVED
#endif
