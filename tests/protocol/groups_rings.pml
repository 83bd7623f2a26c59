/* SPDX-License-Identifier: MIT */
/*
 * Each core has two rings, two lists of the parts that have FCs to start, and an arbiter:
 * firmware-sim/fw/ring.c, firmware-sim/hw/{core,arbiter}.c. The head of a ring is always in slot 0.
 */

/* struct ovt_core */
byte slot_part[2 * CORES * ENTRIES];
byte slot_fc[2 * CORES * ENTRIES];
byte slot_position[2 * CORES * ENTRIES];
bit slot_cancelled[2 * CORES * ENTRIES];
byte used[2 * CORES];
byte limit_active[CORES];
byte commit_end[CORES];
byte normal_next[CORES];
bit high_held[CORES];
byte overtook[CORES];
#define SLOT(queue, at)	((queue) * ENTRIES + (at))
#define HEAD(queue)	SLOT(queue, 0)

/* struct ovt_fw_core: parts, refill. NONE is the end of a list. */
byte list[2 * CORES * JOBS];
byte listed[2 * CORES];
byte refill[2 * CORES];

/* Variables of loops, which are no part of the state. */
hidden byte each, nth, counted, place, its_fc, following, taken_fcs, left_to_take, position;
hidden byte here, there, current, other;

inline list_append(queue, part)
{
	list[(queue) * JOBS + listed[queue]] = part;
	listed[queue]++
}

/* Sets place to the place of @part, or to the length of the list. */
inline find_in_list(queue, part)
{
	place = 0;
	do
	:: place < listed[queue] && list[(queue) * JOBS + place] != part -> place++
	:: else -> break
	od
}

inline list_next(queue, part, result)
{
	find_in_list(queue, part);
	if
	:: place + 1 < listed[queue] -> result = list[(queue) * JOBS + place + 1]
	:: else -> result = NONE
	fi
}

inline list_remove(queue, part)
{
	find_in_list(queue, part);
	if
	:: place < listed[queue] ->
		/* refill never points at a part that is in no list */
		assert(refill[queue] != part);
		do
		:: place + 1 < listed[queue] ->
			list[(queue) * JOBS + place] = list[(queue) * JOBS + place + 1];
			place++
		:: else -> break
		od;
		listed[queue]--;
		list[(queue) * JOBS + listed[queue]] = 0
	:: else
	fi
}

/* ovt_ring_push() */
inline push(queue, part, its_position)
{
	slot_position[SLOT(queue, used[queue])] = its_position;
	slot_part[SLOT(queue, used[queue])] = part;
	slot_fc[SLOT(queue, used[queue])] = queued[part];
	used[queue]++;
	queued[part]++
}

/* ring->head++ */
inline pop(queue)
{
	place = 0;
	do
	:: place + 1 < used[queue] ->
		slot_part[SLOT(queue, place)] = slot_part[SLOT(queue, place + 1)];
		slot_fc[SLOT(queue, place)] = slot_fc[SLOT(queue, place + 1)];
		slot_position[SLOT(queue, place)] = slot_position[SLOT(queue, place + 1)];
		slot_cancelled[SLOT(queue, place)] = slot_cancelled[SLOT(queue, place + 1)];
		place++
	:: else -> break
	od;
	used[queue]--;
	slot_part[SLOT(queue, used[queue])] = 0;
	slot_fc[SLOT(queue, used[queue])] = 0;
	slot_position[SLOT(queue, used[queue])] = 0;
	slot_cancelled[SLOT(queue, used[queue])] = 0
}

/* ovt_core_skip_cancelled() */
inline skip_cancelled(queue)
{
	do
	:: used[queue] && slot_cancelled[HEAD(queue)] -> pop(queue)
	:: else -> break
	od
}

/* refill_ring() */
inline refill_ring(queue)
{
	do
	:: refill[queue] != NONE && used[queue] < ENTRIES && !deferred[refill[queue]] ->
		following = refill[queue];
		push(queue, following, first_position[following] + queued[following]);
		if
		:: queued[following] == fcs[following] -> list_next(queue, following, refill[queue])
		:: else
		fi
	:: else -> break
	od
}

#define CHOOSE_NOTHING	0
#define CHOOSE_HIGH	1
#define CHOOSE_NORMAL	2
#define CHOOSE_COMMIT	3
hidden byte choice, arrival;
hidden byte committed, blocked;

/* Variables of checks. */
hidden byte meets[CORES], comes_first[CORES];
hidden byte where_is[CORES];

#define HIGH_FIRST(core)	(!arrival || sequence[JOB(slot_part[HEAD(QUEUE(core, HIGH))])] < arrival)
#ifdef LIMIT_0_IS_ONE_QUEUE
/* With limit 0, a held FC blocks all FCs that arrived after it. */
#define IS_HELD(core, job) (state[job] == QUEUED && ring_of[job] == NORMAL && \
	!cancelled[job] && queued[PART(job, core)] < fcs[PART(job, core)] && \
	HOLDS(PART(job, core), queued[PART(job, core)]))
#define IS_FIRST(core, job) ((!arrival || sequence[job] < arrival) && (!used[QUEUE(core, HIGH)] || \
	sequence[job] < sequence[JOB(slot_part[HEAD(QUEUE(core, HIGH))])]))
inline look_for_held(core)
{
	blocked = used[QUEUE(core, HIGH)] && high_held[core] && HIGH_FIRST(core);
	each = 0;
	do
	:: each < JOBS ->
		blocked = blocked || (IS_HELD(core, each) && IS_FIRST(core, each));
		each++
	:: else -> break
	od
}
#else
#define look_for_held(core) skip
#endif

#ifdef HELD_LETS_HIGH_PASS
/* The second FC of HIGH starts if the first is held. */
#define HELD_STOPS(core) (high_held[core] && !PASSES(core))
#define PASSES(core)	(used[QUEUE(core, HIGH)] > 1 && \
			 !HOLDS(slot_part[SLOT(QUEUE(core, HIGH), 1)], slot_fc[SLOT(QUEUE(core, HIGH), 1)]))
#else
#define HELD_STOPS(core) high_held[core]
#endif

/* ovt_arbiter_choose() */
inline arbiter(core)
{
	if
	:: used[QUEUE(core, NORMAL)] ->
		committed = slot_position[HEAD(QUEUE(core, NORMAL))] < commit_end[core];
		arrival = sequence[JOB(slot_part[HEAD(QUEUE(core, NORMAL))])]
	:: else ->
		committed = 0;
		arrival = normal_next[core]
	fi;
	if
	:: !committed -> limit_active[core] = limit[core]
	:: else
	fi;
	look_for_held(core);
	if
	:: blocked && !limit_active[core] -> choice = CHOOSE_NOTHING
	:: else ->
		if
		:: !limit_active[core] && used[QUEUE(core, HIGH)] && !high_held[core] &&
		   HIGH_FIRST(core) -> choice = CHOOSE_HIGH
		:: else ->
			if
			:: !limit_active[core] || committed ->
				choice = (arrival || committed -> CHOOSE_NORMAL : CHOOSE_NOTHING)
			:: else ->
				if
				:: !used[QUEUE(core, HIGH)] ->
					choice = (arrival -> CHOOSE_COMMIT : CHOOSE_NOTHING)
				:: else ->
					if
					:: arrival && FLOOR && overtook[core] >= FLOOR ->
						choice = CHOOSE_NORMAL
					:: else ->
						choice = (HELD_STOPS(core) -> CHOOSE_NOTHING : CHOOSE_HIGH)
					fi
				fi
			fi
		fi
	fi
}
