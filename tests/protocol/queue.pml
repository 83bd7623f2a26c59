/* SPDX-License-Identifier: MIT */
/*
 * The queues of firmware-sim/fw/queue.c. Queue q is named after its producer: HOST has the command
 * queue, FIRMWARE the event queue. The other thread is its consumer.
 *
 * Indices run freely in the code, modulo 2^32, here modulo 2 * SIZE: only differences up to SIZE and
 * the index modulo SIZE are ever used. They start just before the wrap.
 */

#define OTHER(thread)	(1 - (thread))
#define MODULUS		(2 * SIZE)
#define FIRST_INDEX	(MODULUS - 1)
#define USED(tail, head) (((tail) + MODULUS - (head)) % MODULUS)

/* Private copies: what the producer, the consumer has in a register. */
byte tail[2];
byte head[2];

/* What was published and not consumed yet, in order; checked, not part of the protocol. */
chan published[2] = [SIZE + 1] of { byte };

/*
 * The barriers. -DNO_RELEASE_COMMAND_TAIL and so on take one away: queue_accesses.py gives those that
 * queue.c does not have.
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

/* Loads of the other side's index; a newer one may be in the other side's store buffer. */
#define LOAD_TAIL(q)	memory[q].word[TAIL]
#define LOAD_HEAD(q)	memory[OTHER(q)].word[HEAD]

#define IS_EMPTY(q)	(LOAD_TAIL(q) == head[q])

/*
 * ovt_fw_event_room() and room(). One action of the firmware modelled here sends at most two events:
 * DONE, ENDED; or ENDED, CANCELLED. The code's OVT_EVENTS_PER_ACTION counts those left out, too.
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

/* ovt_fw_push_command(), ovt_fw_push_event(). Atomic: no other process sees a store alone. */
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
 * The loads of what ovt_fw_peek_command() points at, and of ovt_fw_pop_event(): slot @at, in steps of
 * their own. The firmware looks at a command's time more than once before it consumes the command; it
 * finds the same, since a slot is not overwritten before it is consumed.
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

/* Leaves the message in @first, whatever the variant made of it. */
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
/* The producer, which in program order would wait for @has_room and then fill the slot. */
inline fill_early(q, message, has_room)
{
	if
	:: atomic { HAS_ROOM(q, 2) -> filled[q] = 1; speculates = 1; fill_slot(q, message) }
	:: skip
	fi;
	atomic {
		has_room ->
		/* what happened meanwhile, has happened */
		assert(!overwritten);
		speculates = 0
	}
}
#endif
