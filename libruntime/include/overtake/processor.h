/* SPDX-License-Identifier: MIT */
/*
 * The program's own processors, from C: processor.hpp explains them.
 *
 *     static int prepare(void *context, const struct overtake_unit *unit, uint64_t *expected_ns)
 *     {
 *         *expected_ns = 100000;
 *         return 0;
 *     }
 *     static void start(void *context, struct overtake_unit_call *call)
 *     {
 *         overtake_unit_call_done(call, overtake_unit_call_compute(call));
 *     }
 *     static const struct overtake_processor_functions gpu = {.prepare = prepare,
 *                                                             .start = start};
 *     overtake_register_processor("gpu", &gpu, NULL);
 *
 * Then engines that are made later can have the processor "gpu": {.processors = "gpu,cpu"}
 * (graph.h).
 *
 * Thread safety: overtake_register_processor() may be called from any thread.  The engine's thread
 * for the processor calls start(), poll(), cancel() and probe(), one at a time.  Threads that load
 * and release models call prepare() and release(), perhaps at the same time as one of those.
 * Functions of a call may be called from any thread, from start() until overtake_unit_call_done().
 * Threads of two engines may call the functions of one processor at the same time.  A processor
 * whose functions share data takes a lock.
 */
#ifndef OVERTAKE_PROCESSOR_H
#define OVERTAKE_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OVERTAKE_PROCESSOR_API __attribute__((visibility("default")))

/* A unit of a model.  Valid during prepare() and release() only. */
struct overtake_unit {
    const char* model;    /* its name */
    size_t unit;          /* from 0 */
    uint64_t operations;  /* multiply-accumulates, outputs of other nodes; 0 = unknown */
    uint64_t expected_ns; /* on CPU workers, by the compiler; 0 = they cannot run it */
};

/* A tensor of a call.  With height 0 it is a dense row-major array of float.  Else it is an array
 * of int8, height x width x channels: element (y, x, c) is the byte q at y * row_stride + x *
 * pixel_stride + c, and its value is scale * (q - zero_point).  There are no tensors of int16. */
struct overtake_unit_tensor {
    void* data; /* an input must not be changed */
    size_t bytes;
    const char* name;      /* name_length bytes, without a 0 */
    size_t name_length;    /* bytes of `name` */
    const uint32_t* shape; /* as in ONNX; a scalar's is {1} */
    size_t dimensions;
    uint32_t height;
    uint32_t width;
    uint32_t channels;
    uint32_t row_stride;
    uint32_t pixel_stride;
    float scale;
    int32_t zero_point;
};

/* One unit of one inference, to be computed. */
struct overtake_unit_call;

struct overtake_processor_functions {
    /* Called when a model is loaded.  Returns 0, and in *expected_ns the time that the unit takes
     * here, at least 1; or a negative errno: this processor cannot run the unit. */
    int (*prepare)(void* context, const struct overtake_unit* unit, uint64_t* expected_ns);
    /* Begins a call, which ends with overtake_unit_call_done(), from within start() or later. */
    void (*start)(void* context, struct overtake_unit_call* call);
    /* Called every poll_ns while a call is under way.  May be NULL. */
    void (*poll)(void* context, struct overtake_unit_call* call);
    /* The call is not needed any more; it still has to end, and soon.  May be NULL. */
    void (*cancel)(void* context, struct overtake_unit_call* call);
    /* The model of the unit is released.  May be NULL. */
    void (*release)(void* context, const struct overtake_unit* unit);
    /* Called after a failure.  Returns 0 if the processor works again, or a negative errno.  May be
     * NULL: it works. */
    int (*probe)(void* context);
    /* 0: poll() is not called. */
    uint64_t poll_ns;
    /* A call that is not done after this time is a failure of the processor; 0: ten seconds. */
    uint64_t timeout_ns;
};

/* Registers a processor for engines that are made from now on.  An entry of the class `class_name`
 * without workers, device and cores refers to it.  `functions` is copied.  Returns 0; -EEXIST if
 * the class has a processor already; -EINVAL for NULL, an empty name, or no prepare() or start();
 * -ENOMEM. */
OVERTAKE_PROCESSOR_API int
overtake_register_processor(const char* class_name,
                            const struct overtake_processor_functions* functions, void* context);

/* The number of the unit, from 0. */
OVERTAKE_PROCESSOR_API size_t overtake_unit_call_unit(struct overtake_unit_call* call);
OVERTAKE_PROCESSOR_API size_t overtake_unit_call_input_count(struct overtake_unit_call* call);
OVERTAKE_PROCESSOR_API size_t overtake_unit_call_output_count(struct overtake_unit_call* call);
/* Return 0, and a tensor that the unit reads or writes, valid until the call is done; -EINVAL if
 * there is no such tensor, -ENOTSUP if its elements have 16 bits on the device. */
OVERTAKE_PROCESSOR_API int overtake_unit_call_input(struct overtake_unit_call* call, size_t index,
                                                    struct overtake_unit_tensor* tensor);
OVERTAKE_PROCESSOR_API int overtake_unit_call_output(struct overtake_unit_call* call, size_t index,
                                                     struct overtake_unit_tensor* tensor);
/* Computes the unit in the calling thread, with the operators of CPU workers if they can run it,
 * and otherwise with those of a core.  Returns 0 or a negative errno.  One thread at a time may
 * call it. */
OVERTAKE_PROCESSOR_API int overtake_unit_call_compute(struct overtake_unit_call* call);
/* Ends the call.  `status` is 0 if the unit is computed; -EIO and -ENODEV are failures of the
 * processor, any other negative errno is a failure of the task.  Any thread may call this function,
 * once.  After that, `call` is invalid. */
OVERTAKE_PROCESSOR_API void overtake_unit_call_done(struct overtake_unit_call* call, int status);

#ifdef __cplusplus
}
#endif

#endif
