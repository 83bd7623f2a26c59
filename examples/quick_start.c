/* SPDX-License-Identifier: MIT */
/*
 * A board program: loads a model, runs it once, prints the greatest element of each float output.
 *
 *     quick_start MODEL.ovm [INPUT...]
 *
 * Each INPUT is a file with the bytes of one input as the model wants them; inputs without a file
 * are 0.
 *
 *     cc quick_start.c $(pkg-config --cflags --libs dnn) -o quick_start
 */
#include <stdio.h>
#include <string.h>

#include "dnn/hb_dnn.h"

#define MOST 16 /* inputs, and outputs */

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int32_t status_ = (call);                                                                  \
        if (status_ != 0) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, hbDNNGetErrorDesc(status_));                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static void print_shape(const char* name, const hbDNNTensorProperties* properties) {
    printf("%s: type %d, %d bytes, shape", name, properties->tensorType,
           properties->alignedByteSize);
    for (int32_t i = 0; i < properties->validShape.numDimensions; i++)
        printf(" %d", properties->validShape.dimensionSize[i]);
    printf("\n");
}

static int read_input(const char* path, hbSysMem* memory) {
    FILE* file = fopen(path, "rb");
    if (!file || fread(memory->virAddr, 1, memory->memSize, file) != memory->memSize) {
        fprintf(stderr, "%s: cannot read %u bytes\n", path, memory->memSize);
        return 1;
    }
    fclose(file);
    return 0;
}

static void print_greatest(const char* name, const hbDNNTensor* tensor) {
    const float* values = tensor->sysMem[0].virAddr;
    int32_t count = tensor->properties.alignedByteSize / (int32_t)sizeof(float);
    int32_t best = 0;
    if (tensor->properties.tensorType != HB_DNN_TENSOR_TYPE_F32)
        return;
    for (int32_t i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    printf("%s[%d] = %g\n", name, best, values[best]);
}

int main(int argc, char** argv) {
    hbPackedDNNHandle_t pack;
    hbDNNHandle_t model;
    const char **names, *name, *path = argc > 1 ? argv[1] : "";
    int32_t models, input_count, output_count;
    hbDNNTensor input[MOST], output[MOST], *outputs = output;
    hbDNNTaskHandle_t task = NULL;
    hbDNNInferCtrlParam control;

    CHECK(hbDNNInitializeFromFiles(&pack, &path, 1));
    CHECK(hbDNNGetModelNameList(&names, &models, pack));
    CHECK(hbDNNGetModelHandle(&model, pack, names[0]));
    CHECK(hbDNNGetInputCount(&input_count, model));
    CHECK(hbDNNGetOutputCount(&output_count, model));
    if (input_count > MOST || output_count > MOST)
        return 1;
    for (int32_t i = 0; i < input_count; i++) {
        CHECK(hbDNNGetInputName(&name, model, i));
        CHECK(hbDNNGetInputTensorProperties(&input[i].properties, model, i));
        print_shape(name, &input[i].properties);
        CHECK(hbSysAllocCachedMem(&input[i].sysMem[0],
                                  (uint32_t)input[i].properties.alignedByteSize));
        if (i + 2 < argc && read_input(argv[i + 2], &input[i].sysMem[0]) != 0)
            return 1;
        CHECK(hbSysFlushMem(&input[i].sysMem[0], HB_SYS_MEM_CACHE_CLEAN));
    }
    for (int32_t i = 0; i < output_count; i++) {
        CHECK(hbDNNGetOutputTensorProperties(&output[i].properties, model, i));
        CHECK(hbSysAllocCachedMem(&output[i].sysMem[0],
                                  (uint32_t)output[i].properties.alignedByteSize));
    }
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
    CHECK(hbDNNInfer(&task, &outputs, input, model, &control));
    CHECK(hbDNNWaitTaskDone(task, 0));
    for (int32_t i = 0; i < output_count; i++) {
        CHECK(hbSysFlushMem(&output[i].sysMem[0], HB_SYS_MEM_CACHE_INVALIDATE));
        CHECK(hbDNNGetOutputName(&name, model, i));
        print_greatest(name, &output[i]);
        CHECK(hbSysFreeMem(&output[i].sysMem[0]));
    }
    for (int32_t i = 0; i < input_count; i++)
        CHECK(hbSysFreeMem(&input[i].sysMem[0]));
    CHECK(hbDNNReleaseTask(task));
    CHECK(hbDNNRelease(pack));
    return 0;
}
