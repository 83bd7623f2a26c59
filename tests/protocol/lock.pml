/* SPDX-License-Identifier: MIT */
/*
 * The device lock (-DLOCKED): both hosts run the firmware themselves, and hold one lock around every
 * call. To take the lock is an acquire: no load inside is performed before. To release the lock is a
 * store-release: the next owner sees every store that was made inside.
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
