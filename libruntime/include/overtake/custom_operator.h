/* SPDX-License-Identifier: MIT */
/*
 * Custom operators from C: custom_operator.hpp explains them.
 *
 *     static int swish(void *state, const float *const *inputs, float *output) { ... }
 *     static const struct overtake_operator_functions functions = { .compute = swish };
 *     overtake_register_custom_operator("com.example", "Swish", &functions);
 *
 * Thread safety: any thread may call overtake_register_custom_operator().  Threads that load models
 * call create().  Threads that run tasks, of the library or of the program, call compute().  For
 * one state, only one function runs at a time.
 */
#ifndef OVERTAKE_CUSTOM_OPERATOR_H
#define OVERTAKE_CUSTOM_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A shape as in ONNX; {1} for a scalar. */
struct overtake_operator_shape {
    const uint32_t* sizes;
    size_t dimensions;
};

/* INT and INTS are in `integers`, FLOAT and FLOATS in `reals`, STRING and STRINGS in `strings`.
 * The elements of a TENSOR are in `integers` or `reals`, and its shape is in `shape`. */
struct overtake_operator_attribute {
    const char* name;
    const int64_t* integers;
    size_t integer_count;
    const float* reals;
    size_t real_count;
    const char* const* strings;
    size_t string_count;
    const int64_t* shape;
    size_t dimensions;
};

/* A node of a model.  All of it is valid during create() only. */
struct overtake_operator_node {
    const char* domain;
    const char* type;
    const char* name;
    const struct overtake_operator_attribute* attributes;
    size_t attribute_count;
    const struct overtake_operator_shape* inputs;
    size_t input_count;
    struct overtake_operator_shape output;
};

struct overtake_operator_functions {
    /* Makes the state of one node and stores it in *state.  Returns 0, or a negative errno: then
     * the model is refused.  May be NULL: the state is NULL. */
    int (*create)(const struct overtake_operator_node* node, void** state);
    /* Computes with dense row-major arrays of the node's shapes.  Returns 0, or a negative errno:
     * then the task fails. */
    int (*compute)(void* state, const float* const* inputs, float* output);
    /* May be NULL. */
    void (*destroy)(void* state);
};

/* Registers the operator for models that are loaded from now on.  `functions` is copied.  Returns
 * 0; -EEXIST if the domain has the type already; -EINVAL for NULL, an empty type or no compute();
 * -ENOMEM. */
__attribute__((visibility("default"))) int
overtake_register_custom_operator(const char* domain, const char* type,
                                  const struct overtake_operator_functions* functions);

#ifdef __cplusplus
}
#endif

#endif
