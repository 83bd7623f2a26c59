/* SPDX-License-Identifier: MIT */
/*
 * Memory: what a thread has stored, and when the other one sees it.
 *
 * Each thread has a store buffer. A store enters it at once; it reaches memory some time later, and
 *
 *	two stores to one address reach it in program order;
 *	a store-release reaches it after everything stored before it;
 *	nothing else is ordered. A later store may overtake an earlier one, a release included.
 *
 * A load looks into memory. (No thread loads what it has stored itself: the indices it owns are in
 * its registers.) The loads of the protocol as it is are performed in program order, for each is
 * held in place by a barrier. Where that barrier is left out, early.pml performs them early or late.
 *
 * So a pair of accesses that no barrier orders is reordered, whichever pair it is: store-store and
 * store-load by the buffer, load-load and load-store by early.pml. For stores this is partial store
 * order (PSO), with a release that holds back what precedes it only, as on ARM. What POWER allows
 * beyond, two threads seeing the stores of others in different orders, takes more than two threads.
 * x86 (total store order) allows a subset: one buffer that empties in order, loads in order. So what
 * holds here holds on all of them.
 *
 * Each thread has its own row of memory, since each address has one writer.
 */

#define HOST		0
#define FIRMWARE	1

/*
 * Addresses in the row of a thread: the slots of the queue it produces, two words each, so that a
 * half-written slot can be seen; its tail; the head of the queue it consumes; and its part of each
 * job (host: the request; firmware: the result).
 */
#define WORD(index, half)	(2 * ((index) % SIZE) + (half))
#define TAIL			(2 * SIZE)
#define HEAD			(2 * SIZE + 1)
#define JOB(job)		(2 * SIZE + 2 + (job))
#define ADDRESSES		(2 * SIZE + 2 + JOBS)

typedef row {
	byte word[ADDRESSES];
};
row memory[2];

/*
 * What is passed on once, a slot or a job's part, is 0 when it has been read: to read it again
 * or to read it too early is to read 0, which is no message, and a slot that is not 0
 * when it is written was not consumed.
 */
#define LOAD_ONCE(into, thread, where) \
	into = memory[thread].word[where]; \
	memory[thread].word[where] = 0

typedef store_buffer {
	byte count;
	byte address[STORES];
	byte value[STORES];
	bit release[STORES];
};
store_buffer buffer[2];


#define PLAIN	0
#define RELEASE	1

#define HAS_ROOM(thread, stores)	(buffer[thread].count + (stores) <= STORES)

/* Inside an atomic step that has waited for HAS_ROOM(). */
inline store(thread, where, what, kind)
{
	buffer[thread].address[buffer[thread].count] = where;
	buffer[thread].value[buffer[thread].count] = what;
	buffer[thread].release[buffer[thread].count] = kind;
	buffer[thread].count++
}

#define BEHIND(k, i) \
	((i) < (k) && buffer[thread].address[i] == buffer[thread].address[k])
#if STORES == 4
#define BEHIND_FURTHER(k)	false
#else
#define BEHIND_FURTHER(k)	(BEHIND(k, 3) || BEHIND(k, 4))
#endif
#define MAY_REACH_MEMORY(k) \
	(buffer[thread].count > (k) && ((k) == 0 || !buffer[thread].release[k]) && \
	 !BEHIND(k, 0) && !BEHIND(k, 1) && !BEHIND(k, 2) && !BEHIND_FURTHER(k))

inline reach_memory(k)
{
	where = buffer[thread].address[k];
	if
	:: where < TAIL ->
		/* no slot is overwritten before it was consumed */
		assert(!memory[thread].word[where] || SPECULATES);
		NOTE_OVERWRITTEN(memory[thread].word[where])
	:: where >= JOB(0) ->
		/* no store into a job that has been freed */
		assert(alive[where - JOB(0)])
	:: else
	fi;
	memory[thread].word[where] = buffer[thread].value[k];
	where = k;
	buffer[thread].count--;
	do
	:: where < buffer[thread].count ->
		buffer[thread].address[where] = buffer[thread].address[where + 1];
		buffer[thread].value[where] = buffer[thread].value[where + 1];
		buffer[thread].release[where] = buffer[thread].release[where + 1];
		where++
	:: else -> break
	od;
	buffer[thread].address[where] = 0;
	buffer[thread].value[where] = 0;
	buffer[thread].release[where] = 0;
	where = 0
}

/* Empties the buffer of @thread, in any order that is allowed. */
proctype memory_of(byte thread)
{
	byte where;

end_empty:
	do
	:: d_step { MAY_REACH_MEMORY(0) -> reach_memory(0) }
	:: d_step { MAY_REACH_MEMORY(1) -> reach_memory(1) }
	:: d_step { MAY_REACH_MEMORY(2) -> reach_memory(2) }
	:: d_step { MAY_REACH_MEMORY(3) -> reach_memory(3) }
#if STORES == 6
	:: d_step { MAY_REACH_MEMORY(4) -> reach_memory(4) }
	:: d_step { MAY_REACH_MEMORY(5) -> reach_memory(5) }
#endif
	od
}
