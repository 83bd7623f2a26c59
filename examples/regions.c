/* SPDX-License-Identifier: MIT */
/*
 * A board program that runs a model on regions of a picture: the device crops and resizes them.
 *
 *     regions MODEL.ovm PICTURE.nv12 WIDTH HEIGHT LEFT TOP RIGHT BOTTOM [LEFT TOP RIGHT BOTTOM...]
 *
 * The model has one input, compiled with `input_source: resizer`.  Both corners belong to a region;
 * left and top are even, right and bottom odd.  Prints the first values of each region's output.
 *
 *     cc regions.c $(pkg-config --cflags --libs dnn) -o regions
 */
#include <stdio.h>
#include <stdlib.h>

#include "dnn/hb_dnn.h"

#define MOST 16 /* regions */

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int32_t status_ = (call);                                                                  \
        if (status_ != 0) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, hbDNNGetErrorDesc(status_));                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(int argc, char** argv) {
    int32_t count = (argc - 5) / 4;
    hbDNNRoi regions[MOST];
    hbDNNTensor inputs[MOST], output, *outputs = &output;
    hbPackedDNNHandle_t pack;
    hbDNNHandle_t model;
    hbDNNTaskHandle_t task = NULL;
    hbDNNInferCtrlParam control;
    hbSysMem picture;
    const char **names, *path;

    if (argc < 9 || (argc - 5) % 4 != 0 || count > MOST) {
        fprintf(stderr, "usage: regions MODEL.ovm PICTURE.nv12 WIDTH HEIGHT "
                        "LEFT TOP RIGHT BOTTOM...\n");
        return 2;
    }
    path = argv[1];
    int32_t width = atoi(argv[3]), height = atoi(argv[4]), found;
    CHECK(hbDNNInitializeFromFiles(&pack, &path, 1));
    CHECK(hbDNNGetModelNameList(&names, &found, pack));
    CHECK(hbDNNGetModelHandle(&model, pack, names[0]));

    CHECK(hbDNNGetInputCount(&found, model));
    if (found == 1)
        CHECK(hbDNNGetOutputCount(&found, model));
    if (found != 1) {
        fprintf(stderr, "%s: has not one input and one output\n", path);
        return 1;
    }

    CHECK(hbSysAllocCachedMem(&picture, (uint32_t)(width * height * 3 / 2)));
    FILE* file = fopen(argv[2], "rb");
    if (!file || fread(picture.virAddr, 1, picture.memSize, file) != picture.memSize) {
        fprintf(stderr, "%s: cannot read %u bytes\n", argv[2], picture.memSize);
        return 1;
    }
    fclose(file);

    /* All regions are of one picture, whose size is not the model's. */
    for (int32_t i = 0; i < count; i++) {
        char** corner = argv + 5 + 4 * i;
        regions[i] = (hbDNNRoi){atoi(corner[0]), atoi(corner[1]), atoi(corner[2]), atoi(corner[3])};
        CHECK(hbDNNGetInputTensorProperties(&inputs[i].properties, model, 0));
        inputs[i].properties.validShape.dimensionSize[2] = height;
        inputs[i].properties.validShape.dimensionSize[3] = width;
        inputs[i].properties.alignedShape = inputs[i].properties.validShape;
        inputs[i].sysMem[0] = picture;
    }
    /* The outputs of the regions lie one behind another. */
    CHECK(hbDNNGetOutputTensorProperties(&output.properties, model, 0));
    int32_t bytes = output.properties.alignedByteSize;
    CHECK(hbSysAllocCachedMem(&output.sysMem[0], (uint32_t)(bytes * count)));

    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
    CHECK(hbDNNRoiInfer(&task, &outputs, inputs, regions, count, model, &control));
    CHECK(hbDNNWaitTaskDone(task, 0));
    CHECK(hbDNNReleaseTask(task));
    for (int32_t i = 0; i < count; i++) {
        const char* begin = (const char*)output.sysMem[0].virAddr + (size_t)bytes * (size_t)i;
        printf("region %d:", i);
        for (int32_t k = 0; k < 8 && k < bytes / 4; k++) {
            if (output.properties.tensorType == HB_DNN_TENSOR_TYPE_F32)
                printf(" %g", ((const float*)begin)[k]);
            else
                printf(" %d", ((const signed char*)begin)[k]);
        }
        printf("\n");
    }
    CHECK(hbSysFreeMem(&picture));
    CHECK(hbSysFreeMem(&output.sysMem[0]));
    CHECK(hbDNNRelease(pack));
    return 0;
}
