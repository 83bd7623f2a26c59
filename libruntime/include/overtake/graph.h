/* SPDX-License-Identifier: MIT */
/*
 * The life cycle of a model on several processors, from C: graph.hpp explains it, and has a table
 * of the calls that each state allows.
 *
 *     struct overtake_engine_options options = {.processors = "npu,cpu"};
 *     struct overtake_engine *engine;
 *     struct overtake_graph *graph;
 *     float *pixels;
 *     const float *boxes;
 *     if (overtake_engine_create(&options, &engine) != 0 ||
 *         overtake_graph_create(engine, "detector.ovm", NULL, &graph) != 0 ||
 *         overtake_graph_prerun(graph) != 0 ||
 *         overtake_graph_input(graph, 0, &pixels, NULL) != 0)
 *         return fail(overtake_last_error());
 *     ...
 *     if (overtake_graph_run(graph, 0) != 0 || overtake_graph_wait(graph, OVERTAKE_FOREVER) != 0)
 *         return fail(overtake_last_error());
 *     overtake_graph_output(graph, 0, &boxes, NULL);
 *     overtake_graph_destroy(graph);
 *     overtake_engine_destroy(engine);
 *
 * Functions that return int return 0 or a negative errno unless they say otherwise; -EINVAL for a
 * handle or a place for a result that is NULL.  The text of an error is overtake_last_error().
 *
 * Thread safety: any thread may call every function.  While one of the two destroy functions runs,
 * no other call may use the handle.
 */
#ifndef OVERTAKE_GRAPH_H
#define OVERTAKE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OVERTAKE_FOREVER INT64_MAX

#define OVERTAKE_GRAPH_API __attribute__((visibility("default")))

struct overtake_engine;
struct overtake_graph;

enum overtake_graph_state {
    OVERTAKE_GRAPH_CREATED = 0, /* nothing is prepared */
    OVERTAKE_GRAPH_READY = 1,   /* prepared, and not run yet */
    OVERTAKE_GRAPH_RUNNING = 2, /* a run is under way */
    OVERTAKE_GRAPH_DONE = 3,    /* the last run succeeded */
    OVERTAKE_GRAPH_ERROR = 4    /* the last run failed */
};

/* Zero and NULL are the defaults. */
struct overtake_engine_options {
    const char* device;     /* a name as for `overtake run --device`; NULL: auto */
    const char* processors; /* as parse_processors() of engine.hpp takes them: "npu,cpu" */
    const char* policy;     /* NULL: priority */
    uint32_t max_priority;  /* of graphs; 0: 254.  255 needs CAP_SYS_NICE on a kernel device */
};

/* Zero and NULL are the defaults. */
struct overtake_graph_options {
    const char* model_name; /* in a file of several models */
    const char* on;         /* a processor or an entry; NULL: any */
    uint32_t priority;
    int64_t custom_id; /* within one priority the smaller goes first */
    uint64_t slo_ns;   /* from a run's beginning to its deadline; 0: none */
};

/* Returns the error of the last function of this header, or of processor.h, that failed in this
 * thread; empty if none has failed.  The text is valid until another of these functions fails in
 * this thread. */
OVERTAKE_GRAPH_API const char* overtake_last_error(void);

OVERTAKE_GRAPH_API int overtake_engine_create(const struct overtake_engine_options* options,
                                              struct overtake_engine** engine);
/* Graphs keep the engine that they were made with.  NULL is allowed. */
OVERTAKE_GRAPH_API void overtake_engine_destroy(struct overtake_engine* engine);

/* Loads the file and prepares nothing.  `options` may be NULL. */
OVERTAKE_GRAPH_API int overtake_graph_create(struct overtake_engine* engine, const char* model_file,
                                             const struct overtake_graph_options* options,
                                             struct overtake_graph** graph);
/* Cancels a run that is under way.  NULL is allowed. */
OVERTAKE_GRAPH_API void overtake_graph_destroy(struct overtake_graph* graph);

OVERTAKE_GRAPH_API int overtake_graph_prerun(struct overtake_graph* graph);
/* Begins a run.  If `block` is not 0, waits for the end and returns the status of the run. */
OVERTAKE_GRAPH_API int overtake_graph_run(struct overtake_graph* graph, int block);
/* Waits until the run has ended or until deadline_ns (absolute CLOCK_MONOTONIC).  Returns the
 * status of the run, or -EINPROGRESS if it has not ended. */
OVERTAKE_GRAPH_API int overtake_graph_wait(struct overtake_graph* graph, int64_t deadline_ns);
OVERTAKE_GRAPH_API int overtake_graph_cancel(struct overtake_graph* graph);
OVERTAKE_GRAPH_API int overtake_graph_postrun(struct overtake_graph* graph);

/* Returns one of enum overtake_graph_state, or -EINVAL. */
OVERTAKE_GRAPH_API int overtake_graph_get_state(const struct overtake_graph* graph);
/* Return 0 for NULL. */
OVERTAKE_GRAPH_API size_t overtake_graph_input_count(const struct overtake_graph* graph);
OVERTAKE_GRAPH_API size_t overtake_graph_output_count(const struct overtake_graph* graph);
/* Return dense row-major arrays, valid until postrun.  `elements` may be NULL. */
OVERTAKE_GRAPH_API int overtake_graph_input(struct overtake_graph* graph, size_t index,
                                            float** values, size_t* elements);
OVERTAKE_GRAPH_API int overtake_graph_output(struct overtake_graph* graph, size_t index,
                                             const float** values, size_t* elements);

#ifdef __cplusplus
}
#endif

#endif
