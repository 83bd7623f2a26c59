// SPDX-License-Identifier: GPL-2.0-only
/* The one place where the tracepoints are instantiated. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "overtake_trace.h"
#endif
