/* SPDX-License-Identifier: MIT */
/*
 * The queues of firmware-sim/fw/queue.c. Queue q is named after its producer: HOST has the command
 * queue, FIRMWARE the event queue. The other thread is its consumer.
 *
 * Indices run freely, in the code modulo 2^32, here modulo 2 * SIZE. That is equivalent, since only
 * differences up to SIZE and the index modulo SIZE are used. Indices start just before the wrap.
 */

#define OTHER(thread)	(1 - (thread))
#define MODULUS		(2 * SIZE)
#define FIRST_INDEX	(MODULUS - 1)
#define USED(tail, head) (((tail) + MODULUS - (head)) % MODULUS)

/* The indices that the producer and the consumer have in registers. */
byte tail[2];
byte head[2];

/* Only for checks: the messages that were published and not consumed yet, in order. */
chan published[2] = [SIZE + 1] of { byte };

/*
 * The barriers. -DNO_RELEASE_COMMAND_TAIL and the other options each remove one: queue_accesses.py
 * prints the options for barriers that queue.c lacks.
 */
#ifdef NO_RELEASE_COMMAND_TAIL
#define RELEASE_COMMAND_TAIL	PLAIN
#else
#define RELEASE_COMMAND_TAIL	RELEASE
#endif
#ifdef NO_RELEASE_COMMAND_HEAD
#define RELEASE_COMMAND_HEAD	PLAIN
#else
#define RELEASE_COMMAND_HEAD	RELEASE
#endif
#ifdef NO_RELEASE_EVENT_TAIL
#define RELEASE_EVENT_TAIL	PLAIN
#else
#define RELEASE_EVENT_TAIL	RELEASE
#endif
#ifdef NO_RELEASE_EVENT_HEAD
#define RELEASE_EVENT_HEAD	PLAIN
#else
#define RELEASE_EVENT_HEAD	RELEASE
#endif

/* Loads of the other side's index; the other side's store buffer may have a newer value. */
#define LOAD_TAIL(q)	memory[q].word[TAIL]
#define LOAD_HEAD(q)	memory[OTHER(q)].word[HEAD]

#define IS_EMPTY(q)	(LOAD_TAIL(q) == head[q])

/*
 * ovt_fw_event_room() and room(). In this model, an action of the firmware sends at most two events:
 * DONE, ENDED; or ENDED, CANCELLED. The code's OVT_EVENTS_PER_ACTION also counts other events.
 */
#define EVENT_ROOM		(SIZE - USED(tail[FIRMWARE], LOAD_HEAD(FIRMWARE)))
#ifndef EVENTS_PER_ACTION
#define EVENTS_PER_ACTION	2
#endif
#define HAS_EVENT_ROOM		(EVENT_ROOM >= EVENTS_PER_ACTION)

inline fill_slot(q, message)
{
	store(q, WORD(tail[q], 0), message, PLAIN);
	store(q, WORD(tail[q], 1), message, PLAIN)
}

/* ovt_fw_push_command(), ovt_fw_push_event(). Callers are atomic: all stores enter the buffer at once. */
#define STORES_OF_PUSH	3
inline push(q, message, kind)
{
	FILL_ONCE(q, message);
	tail[q] = (tail[q] + 1) % MODULUS;
	store(q, TAIL, tail[q], kind);
	/* the count never exceeds the queue */
	assert(USED(tail[q], head[q]) <= SIZE && nfull(published[q]));
	published[q]!message
}

/*
 * The loads of slot @at, each in a step of its own: of the command that ovt_fw_peek_command() returns,
 * and of ovt_fw_pop_event(). The firmware reads a command's time several times before it consumes the
 * command; it reads the same each time, since no slot is overwritten before it is consumed.
 */
inline read_slot(q)
{
	atomic { LOAD_ONCE(first, q, WORD(at, 0)) };
	atomic { LOAD_ONCE(second, q, WORD(at, 1)) }
}

inline read_slot_once(q)
{
	if
	:: early -> early = 0
	:: else -> read_slot(q)
	fi
}

/* Leaves the message in @first, also if a variant has overwritten the slot. */
inline check_slot(q)
{
	/* each message once and in order */
	assert(nempty(published[q]));
	published[q]?expected;
	/* and whole */
	assert((first == expected && second == expected) || OVERWRITTEN);
	first = expected;
	expected = 0;
	second = 0;
	at = 0
}

/* ovt_fw_consume_command(), the end of ovt_fw_pop_event() */
inline consume(q, kind)
{
	HAS_ROOM(OTHER(q), 1);
	head[q] = (head[q] + 1) % MODULUS;
	store(OTHER(q), HEAD, head[q], kind)
}

inline consume_once(q, kind)
{
	if
	:: ahead -> ahead = 0
	:: else -> consume(q, kind)
	fi
}

#ifdef FILLS_EARLY
/* The producer fills the slot early; in program order, it would first wait for @has_room. */
inline fill_early(q, message, has_room)
{
	if
	:: atomic { HAS_ROOM(q, 2) -> filled[q] = 1; speculates = 1; fill_slot(q, message) }
	:: skip
	fi;
	atomic {
		has_room ->
		/* no slot was overwritten before there was room */
		assert(!overwritten);
		speculates = 0
	}
}
#endif
