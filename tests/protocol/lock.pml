/* SPDX-License-Identifier: MIT */
/*
 * The device lock (-DLOCKED): today's hosts run the firmware themselves, and hold one lock around
 * every call. Taking it is an acquire, so no load is performed before; leaving it is a
 * release: the next owner sees every store made inside.
 */
#ifdef LOCKED

bit locked;
#define MAY_ENTER	(!locked)
#define ENTER		locked = 1
inline leave(thread)
{
	atomic { buffer[thread].count == 0 -> locked = 0 }
}

#else

#define MAY_ENTER	true
#define ENTER		skip
#define leave(thread)	skip

#endif
