/* SPDX-License-Identifier: MIT */
/*
 * Memory: when a thread sees the stores of the other thread.
 *
 * Each thread has a store buffer. A store enters the buffer at once and reaches memory later:
 *
 *	two stores to one address reach memory in program order;
 *	a store-release reaches memory after all stores before it;
 *	no other stores are ordered: a later store may overtake an earlier one, also a release.
 *
 * A load reads memory. (No thread loads its own stores: it has its own indices in registers.) In the
 * protocol, a barrier keeps each load in its place, so loads are performed in program order. If a
 * barrier is left out, early.pml performs loads early or late.
 *
 * So each pair of accesses that no barrier orders can be reordered: store-store and store-load by the
 * buffer, load-load and load-store by early.pml. For stores this is partial store order (PSO), with
 * releases as on ARM: a release waits for earlier stores, and later stores may overtake it. POWER also
 * lets two threads see the stores of other threads in different orders, which takes more than two
 * threads. x86 (total store order) allows less: its buffer empties in order, and its loads are in
 * order. A property that holds here therefore holds on all of them.
 *
 * Each thread has its own row of memory, since each address has one writer.
 */

#define HOST		0
#define FIRMWARE	1

/*
 * Addresses in the row of a thread: the slots of the queue that it produces, its tail, the head of the
 * queue that it consumes, and its part of each job (host: the request; firmware: the result). A slot has
 * two words, so that the other thread can see a half-written slot.
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
 * A slot or a job's part is passed on once, so a load sets it to 0. A second load, or a load that is too
 * early, reads 0, which is no message. A slot that is not 0 when it is written was not consumed.
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

/* Callers are atomic steps that have waited for HAS_ROOM(). */
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
		/* no slot is overwritten before it is consumed */
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

/* Empties the buffer of @thread, in any order that the rules above allow. */
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
