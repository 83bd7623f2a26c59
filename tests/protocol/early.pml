/* SPDX-License-Identifier: MIT */
/*
 * If a load-acquire or a store-release is left out, a CPU or a compiler may perform loads early or
 * late. This file models that; the store buffer models reordered stores.
 *
 * Under the device lock, a load may be early or late only while the lock is held. No other thread
 * stores then, so the load reads the same value: without an acquire, the protocol still holds there.
 */

/* Without the acquire of a tail, the slot may be read before the tail. */
#if defined(NO_ACQUIRE_COMMAND_TAIL) && !defined(LOCKED)
#define READ_COMMANDS_EARLY
#endif
#if defined(NO_ACQUIRE_EVENT_TAIL) && !defined(LOCKED)
#define READ_EVENTS_EARLY
#endif

/* Without the release of a head, the slot may be read after the head was stored. */
#ifdef NO_RELEASE_COMMAND_HEAD
#define MAYBE_CONSUME_COMMAND	\
	if :: atomic { consume(HOST, PLAIN); ahead = 1 } :: skip fi
#else
#define MAYBE_CONSUME_COMMAND	skip
#endif
#ifdef NO_RELEASE_EVENT_HEAD
#define MAYBE_CONSUME_EVENT	\
	if :: atomic { consume(FIRMWARE, PLAIN); ahead = 1 } :: skip fi
#else
#define MAYBE_CONSUME_EVENT	skip
#endif

/*
 * Without the acquire of a head, the slot may be written as if there were room, and the load of the
 * head performed later, when there is room. C11 allows this. No CPU does it, and Linux relies on that
 * (-DCONTROL_DEPENDENCIES): a store that depends on a branch on a load is not made before the load.
 *
 * An execution in which the load never finds room does not exist. The checker must not take it for a
 * deadlock (pan -E), and an overwritten slot counts only if the load has found room.
 */
#if !defined(LOCKED) && !defined(CONTROL_DEPENDENCIES)
#ifdef NO_ACQUIRE_COMMAND_HEAD
#define FILL_COMMANDS_EARLY
#endif
#ifdef NO_ACQUIRE_EVENT_HEAD
#define FILL_EVENTS_EARLY
#endif
#endif

#if defined(FILL_COMMANDS_EARLY) || defined(FILL_EVENTS_EARLY)
#define FILLS_EARLY

bit filled[2];		/* the next message is in its slot already */
bit speculates;		/* the slot was filled, perhaps without room */
bit overwritten;	/* there was no room */
#define SPECULATES		speculates
#define OVERWRITTEN		overwritten
#define NOTE_OVERWRITTEN(word)	overwritten = (overwritten || word)
#define FILL_ONCE(q, message) \
	if :: filled[q] -> filled[q] = 0 :: else -> fill_slot(q, message) fi

#else

#define SPECULATES		false
#define OVERWRITTEN		false
#define NOTE_OVERWRITTEN(word)	skip
#define FILL_ONCE(q, message)	fill_slot(q, message)

#endif

#ifdef FILL_COMMANDS_EARLY
#define MAY_RESERVE(slots)	true
#define MAYBE_FILL_COMMAND(message, slots)	fill_early(HOST, message, CAN_RESERVE(slots))
#else
#define MAY_RESERVE(slots)	CAN_RESERVE(slots)
#define MAYBE_FILL_COMMAND(message, slots)	skip
#endif

#ifdef FILL_EVENTS_EARLY
#define MAY_SEND		true
#define MAYBE_FILL_EVENT(message)	fill_early(FIRMWARE, message, HAS_EVENT_ROOM)
#else
#define MAY_SEND		HAS_EVENT_ROOM
#define MAYBE_FILL_EVENT(message)	skip
#endif
