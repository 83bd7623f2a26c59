/* SPDX-License-Identifier: MIT */
/*
 * Custom operators from C: custom_operator.hpp explains them.
 *
 *     static int swish(void *state, const float *const *inputs, float *output) { ... }
 *     static const struct overtake_operator_functions functions = { .compute = swish };
 *     overtake_register_custom_operator("com.example", "Swish", &functions);
 *
 * Thread safety: overtake_register_custom_operator() may be called from any thread; the functions
 * that it is given are called from the library's threads, for one state one at a time.
 */
#ifndef OVERTAKE_CUSTOM_OPERATOR_H
#define OVERTAKE_CUSTOM_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shape as ONNX has it; that of a scalar is {1}. */
struct overtake_operator_shape {
    const uint32_t* sizes;
    size_t dimensions;
};

/* INT and INTS are `integers`, FLOAT and FLOATS `reals`, STRING and STRINGS `strings`; the elements
 * of a TENSOR are in one of the first two, and `shape` is its own. */
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

/* From now on models find the operator.  `functions` is copied.  Returns 0; -EEXIST if the domain
 * has the type already; -EINVAL for NULL, an empty type or no compute(); -ENOMEM. */
__attribute__((visibility("default"))) int
overtake_register_custom_operator(const char* domain, const char* type,
                                  const struct overtake_operator_functions* functions);

#ifdef __cplusplus
}
#endif

#endif
