/* SPDX-License-Identifier: MIT */
/* A program in C that takes a graph through its life cycle, on a processor of its own. */
#ifndef GRAPH_IN_C_H
#define GRAPH_IN_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct graph_in_c_case {
    const char* model_file; /* three units; the output equals the input */
    const float* in;
    float* out;
    size_t elements;
    const char* error; /* the last error when a check failed */
};

/* Returns 0, or the line of the check that failed.  A process calls it once. */
int graph_in_c(struct graph_in_c_case* test);

#ifdef __cplusplus
}
#endif

#endif
