/* SPDX-License-Identifier: MIT */
#include "graph_in_c.h"

#include <errno.h>
#include <string.h>

#include "overtake/graph.h"
#include "overtake/processor.h"

/* The behaviour of the processor, and the calls that it got. */
struct script {
    size_t refused_unit; /* by prepare() */
    int status;          /* of calls; 0: as computed */
    int prepared, released, started, probed;
    int unsound; /* descriptions */
};

static int prepare(void* context, const struct overtake_unit* unit, uint64_t* expected_ns) {
    struct script* script = context;
    script->unsound += unit->unit > 2 || strcmp(unit->model, "test") != 0;
    if (unit->unit == script->refused_unit)
        return -ENOTSUP;
    script->prepared++;
    *expected_ns = 1;
    return 0;
}

static void release(void* context, const struct overtake_unit* unit) {
    struct script* script = context;
    script->unsound += unit->unit > 2;
    script->released++;
}

static void start(void* context, struct overtake_unit_call* call) {
    struct script* script = context;
    struct overtake_unit_tensor in, out;
    script->started++;
    script->unsound += overtake_unit_call_unit(call) > 2 ||
                       overtake_unit_call_input_count(call) != 1 ||
                       overtake_unit_call_output_count(call) != 1 ||
                       overtake_unit_call_input(call, 1, &in) != -EINVAL ||
                       overtake_unit_call_input(call, 0, &in) != 0 ||
                       overtake_unit_call_output(call, 0, &out) != 0;
    script->unsound += in.bytes != (size_t)in.height * in.row_stride || in.bytes != out.bytes ||
                       in.height != 4 || in.width != 5 || in.channels != 3 || in.dimensions != 4 ||
                       in.shape[1] != 3 || in.scale != 0.5f || in.zero_point != -3;
    /* Units copy: by the device's operators, or by hand. */
    int status = script->status;
    if (status == 0 && overtake_unit_call_unit(call) == 1)
        memcpy(out.data, in.data, in.bytes);
    else if (status == 0)
        status = overtake_unit_call_compute(call);
    overtake_unit_call_done(call, status);
    overtake_unit_call_done(call, -EDOM); /* the second end is ignored */
}

static int probe(void* context) {
    struct script* script = context;
    script->probed++;
    return 0;
}

/* A call that does not end before it is polled or cancelled. */
struct slow {
    struct overtake_unit_call* call;
    int polls, cancels;
};

static int prepare_slow(void* context, const struct overtake_unit* unit, uint64_t* expected_ns) {
    (void)context;
    (void)unit;
    (void)expected_ns; /* stays as on CPU workers */
    return 0;
}

static void start_slow(void* context, struct overtake_unit_call* call) {
    struct slow* slow = context;
    slow->call = call;
}

static void poll_slow(void* context, struct overtake_unit_call* call) {
    struct slow* slow = context;
    if (slow->call == call && ++slow->polls >= 3 && slow->polls < 1000)
        overtake_unit_call_done(call, overtake_unit_call_compute(call));
}

static void cancel_slow(void* context, struct overtake_unit_call* call) {
    struct slow* slow = context;
    slow->cancels++;
    overtake_unit_call_done(call, -ECANCELED);
}

static struct script script = {.refused_unit = 2};
static struct slow slow;

#define CHECK(condition)                                                                           \
    do                                                                                             \
        if (!(condition)) {                                                                        \
            test->error = overtake_last_error();                                                   \
            return __LINE__;                                                                       \
        }                                                                                          \
    while (0)

static int check_registration(struct graph_in_c_case* test) {
    const struct overtake_processor_functions functions = {
        .prepare = prepare, .start = start, .release = release, .probe = probe};
    const struct overtake_processor_functions no_start = {.prepare = prepare};
    const struct overtake_processor_functions slow_functions = {.prepare = prepare_slow,
                                                                .start = start_slow,
                                                                .poll = poll_slow,
                                                                .cancel = cancel_slow,
                                                                .poll_ns = 100000};
    CHECK(overtake_register_processor("c-fast", &no_start, NULL) == -EINVAL);
    CHECK(overtake_register_processor(NULL, &functions, NULL) == -EINVAL);
    CHECK(overtake_register_processor("c-fast", NULL, NULL) == -EINVAL);
    CHECK(overtake_register_processor("c-fast", &functions, &script) == 0);
    CHECK(overtake_register_processor("c-slow", &slow_functions, &slow) == 0);
    CHECK(overtake_register_processor("c-fast", &functions, &script) == -EEXIST);
    CHECK(strstr(overtake_last_error(), "'c-fast' is registered already"));
    return 0;
}

static int check_fast(struct graph_in_c_case* test) {
    struct overtake_engine_options options = {.device = "embedded", .processors = "c-fast"};
    struct overtake_engine* engine;
    struct overtake_graph* graph;
    float* in;
    const float* out;
    size_t elements;
    CHECK(overtake_engine_create(&options, NULL) == -EINVAL);
    CHECK(overtake_engine_create(&options, &engine) == 0);
    CHECK(overtake_graph_create(engine, "no-such.ovm", NULL, &graph) == -ENOENT);
    CHECK(overtake_graph_create(engine, test->model_file, NULL, &graph) == 0);
    CHECK(overtake_graph_input_count(graph) == 1 && overtake_graph_output_count(graph) == 1);
    overtake_engine_destroy(engine); /* the graph keeps the engine */

    CHECK(overtake_graph_prerun(graph) == -EINVAL);
    CHECK(strstr(overtake_last_error(), "no processor takes unit 2; c-fast: prepare() returned"));
    CHECK(overtake_graph_get_state(graph) == OVERTAKE_GRAPH_CREATED);
    CHECK(script.prepared == 2 && script.released == 2);
    CHECK(overtake_graph_run(graph, 1) == -EINVAL);
    CHECK(strstr(overtake_last_error(), "run(): the graph is created; call prerun() first"));
    script.refused_unit = 3;
    CHECK(overtake_graph_prerun(graph) == 0);
    CHECK(overtake_graph_get_state(graph) == OVERTAKE_GRAPH_READY);
    CHECK(overtake_graph_input(graph, 1, &in, NULL) == -EINVAL);
    CHECK(overtake_graph_input(graph, 0, &in, &elements) == 0 && elements == test->elements);
    memcpy(in, test->in, sizeof(*in) * elements);
    script.status = -EDOM;
    CHECK(overtake_graph_run(graph, 1) == -EDOM);
    CHECK(strstr(overtake_last_error(), "unit 0 failed on c-fast") ||
          strstr(overtake_last_error(), "units 0, 1, 2 failed on c-fast"));
    CHECK(overtake_graph_get_state(graph) == OVERTAKE_GRAPH_ERROR);
    script.status = 0;
    CHECK(overtake_graph_run(graph, 0) == 0);
    CHECK(overtake_graph_wait(graph, OVERTAKE_FOREVER) == 0);
    CHECK(overtake_graph_get_state(graph) == OVERTAKE_GRAPH_DONE);
    CHECK(overtake_graph_output(graph, 0, &out, &elements) == 0 && elements == test->elements);
    memcpy(test->out, out, sizeof(*out) * elements);
    CHECK(overtake_graph_postrun(graph) == 0);
    CHECK(overtake_graph_postrun(graph) == -EINVAL);
    CHECK(overtake_graph_get_state(graph) == OVERTAKE_GRAPH_CREATED);
    CHECK(script.prepared == 5 && script.released == 5 && script.unsound == 0);
    overtake_graph_destroy(graph);
    return 0;
}

static int check_slow(struct graph_in_c_case* test) {
    struct overtake_engine_options options = {.device = "embedded", .processors = "c-slow"};
    struct overtake_graph_options graph_options = {.priority = 7, .on = "c-slow"};
    struct overtake_engine* engine;
    struct overtake_graph* graph;
    CHECK(overtake_engine_create(&options, &engine) == 0);
    CHECK(overtake_graph_create(engine, test->model_file, &graph_options, &graph) == 0);
    CHECK(overtake_graph_prerun(graph) == 0);
    CHECK(overtake_graph_run(graph, 1) == 0);
    CHECK(slow.polls >= 3);
    slow.polls = 1000; /* no poll ends the next call */
    CHECK(overtake_graph_run(graph, 0) == 0);
    CHECK(overtake_graph_wait(graph, 0) == -EINPROGRESS);
    CHECK(overtake_graph_get_state(graph) == OVERTAKE_GRAPH_RUNNING);
    CHECK(overtake_graph_postrun(graph) == -EBUSY);
    CHECK(overtake_graph_cancel(graph) == 0);
    CHECK(overtake_graph_wait(graph, OVERTAKE_FOREVER) == -ECANCELED);
    CHECK(overtake_graph_postrun(graph) == 0);
    overtake_graph_destroy(graph);
    overtake_engine_destroy(engine);
    return 0;
}

static int check_null(struct graph_in_c_case* test) {
    struct overtake_engine_options options = {.device = "embedded"};
    struct overtake_engine* engine;
    CHECK(overtake_engine_create(&options, &engine) == -EINVAL);
    CHECK(overtake_engine_create(NULL, &engine) == -EINVAL);
    CHECK(overtake_graph_prerun(NULL) == -EINVAL);
    CHECK(strcmp(overtake_last_error(), "graph is NULL") == 0);
    CHECK(overtake_graph_get_state(NULL) == -EINVAL);
    CHECK(overtake_graph_input_count(NULL) == 0);
    overtake_graph_destroy(NULL);
    overtake_engine_destroy(NULL);
    return 0;
}

int graph_in_c(struct graph_in_c_case* test) {
    int line = check_registration(test);
    if (line == 0)
        line = check_fast(test);
    if (line == 0)
        line = check_slow(test);
    if (line == 0)
        line = check_null(test);
    return line;
}
