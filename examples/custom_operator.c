/* SPDX-License-Identifier: MIT */
/*
 * A board program with an operator of its own: registers com.example.Swish, loads a model that has
 * it, and runs it once.  The compiler computes the network in float for its calibration, so it
 * needs the operator too, as a shared object of the same file.
 *
 *     cc custom_operator.c $(pkg-config --cflags --libs dnn overtake) -lm -o custom_operator
 *     cc -shared -fPIC custom_operator.c $(pkg-config --cflags --libs dnn overtake) -lm -o swish.so
 *     overtake compile net.onnx --custom-op-domain com.example --custom-op-library ./swish.so \
 *         -o net.ovm
 *     custom_operator net.ovm
 *
 * A program that does not know the operator runs the model with swish.so in the directory that
 * HB_DNN_PLUGIN_PATH names.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dnn/hb_dnn.h"
#include "overtake/custom_operator.h"

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int32_t status_ = (call);                                                                  \
        if (status_ != 0) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, hbDNNGetErrorDesc(status_));                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

struct swish {
    size_t elements;
    float beta; /* attribute of the node; 1 without it */
};

static int create(const struct overtake_operator_node* node, void** state) {
    struct swish* swish = malloc(sizeof(*swish));
    if (!swish)
        return -12; /* ENOMEM */
    swish->elements = 1;
    swish->beta = 1;
    for (size_t i = 0; i < node->output.dimensions; i++)
        swish->elements *= node->output.sizes[i];
    for (size_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].name[0] == 'b' && node->attributes[i].real_count == 1)
            swish->beta = node->attributes[i].reals[0];
    *state = swish;
    return 0;
}

static int compute(void* state, const float* const* inputs, float* output) {
    const struct swish* swish = state;
    for (size_t i = 0; i < swish->elements; i++)
        output[i] = inputs[0][i] / (1 + expf(-swish->beta * inputs[0][i]));
    return 0;
}

/* The function that libraries look for in a shared object. */
int overtake_register_operators(void) {
    const struct overtake_operator_functions functions = {
        .create = create, .compute = compute, .destroy = free};
    return overtake_register_custom_operator("com.example", "Swish", &functions);
}

int main(int argc, char** argv) {
    hbPackedDNNHandle_t pack;
    hbDNNHandle_t model;
    hbDNNTensor input, output, *outputs = &output;
    hbDNNTaskHandle_t task = NULL;
    hbDNNInferCtrlParam control;
    const char **names, *path = argc > 1 ? argv[1] : "";
    int32_t count;

    if (overtake_register_operators() != 0)
        return 1;
    CHECK(hbDNNInitializeFromFiles(&pack, &path, 1));
    CHECK(hbDNNGetModelNameList(&names, &count, pack));
    CHECK(hbDNNGetModelHandle(&model, pack, names[0]));
    CHECK(hbDNNGetInputTensorProperties(&input.properties, model, 0));
    CHECK(hbDNNGetOutputTensorProperties(&output.properties, model, 0));
    CHECK(hbSysAllocCachedMem(&input.sysMem[0], (uint32_t)input.properties.alignedByteSize));
    CHECK(hbSysAllocCachedMem(&output.sysMem[0], (uint32_t)output.properties.alignedByteSize));
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
    CHECK(hbDNNInfer(&task, &outputs, &input, model, &control));
    CHECK(hbDNNWaitTaskDone(task, 0));
    CHECK(hbDNNReleaseTask(task));
    printf("%s: %d bytes of output\n", names[0], output.properties.alignedByteSize);
    CHECK(hbSysFreeMem(&input.sysMem[0]));
    CHECK(hbSysFreeMem(&output.sysMem[0]));
    CHECK(hbDNNRelease(pack));
    return 0;
}
