/* SPDX-License-Identifier: MIT */
/*
 * The jobs of a configuration: groups A and B, plain job C if there are 3 jobs, and plain job D if
 * there are 4. The choice of shapes, cores and limits is free, so SPIN checks each.
 */
#ifndef A_RING
#define A_RING	HIGH
#endif
#ifndef B_RING
#define B_RING	HIGH
#endif
#ifndef C_RING
#define C_RING	NORMAL
#endif
#ifndef D_RING
#define D_RING	HIGH
#endif
#ifndef C_FCS
#define C_FCS	2
#endif
#ifndef SHAPES
#define SHAPES	2
#endif

inline settle_plain(job, ring, core, count)
{
	ring_of[job] = ring;
	fcs[PART(job, core)] = count
}

inline settle_either(job)
{
	if
	:: ring_of[job] = HIGH
	:: ring_of[job] = NORMAL
	fi
}

inline settle_jobs()
{
#ifdef A_IS_EITHER
	settle_either(0);
#else
	ring_of[0] = A_RING;
#endif
#ifdef B_IS_EITHER
	settle_either(1);
#else
	ring_of[1] = B_RING;
#endif
	if
	/* both parts in both stages */
	:: group_of(0, FC2(0, 1), FC2(0, 1))
#if SHAPES > 1
	/* one part is ahead: stage 0, or the first two stages, are its own */
	:: group_of(0, FC2(0, 1), FC1(1))
	:: group_of(0, FC1(2), FC2(0, 1))
#endif
#if SHAPES > 2
	/* a part without FCs in a stage, and one with two */
	:: group_of(0, FC3(0, 1, 2), FC2(0, 2))
	:: group_of(0, FC1(1), FC3(0, 0, 1))
#endif
	fi;
	if
	:: group_of(1, FC1(1), FC1(0))
#if SHAPES > 1
	:: group_of(1, FC1(0), FC2(0, 1))
#endif
	fi;
#if JOBS > 2
	if
	:: settle_plain(2, C_RING, 0, C_FCS)
#if SHAPES > 1
	:: settle_plain(2, C_RING, 1, C_FCS)
#endif
	fi;
#endif
#if JOBS > 3
	settle_plain(3, D_RING, 1, 1);
#endif
	skip
}

inline settle_limit(core)
{
	if
	:: limit[core] = 0
	:: limit[core] = 1
	:: limit[core] = 2
	fi
}
