/* SPDX-License-Identifier: MIT */
/*
 * Runs several models as one task: they wait and compete together, and run one after the other.
 *
 *     cc multi_model.c $(pkg-config --cflags --libs dnn) -o multi_model
 *     multi_model MODEL.ovm MODEL.ovm...
 */
#include <stdio.h>
#include <stdlib.h>

#include "dnn/hb_dnn.h"

static void check(int32_t status, const char* what) {
    if (status == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, hbDNNGetErrorDesc(status));
    exit(1);
}

static hbDNNTensor* tensors_of(hbDNNHandle_t model, int is_input) {
    int32_t count;
    check(is_input ? hbDNNGetInputCount(&count, model) : hbDNNGetOutputCount(&count, model),
          "count");
    hbDNNTensor* tensors = calloc((size_t)count, sizeof(*tensors));
    for (int32_t i = 0; tensors && i < count; i++) {
        hbDNNTensorProperties* properties = &tensors[i].properties;
        check(is_input ? hbDNNGetInputTensorProperties(properties, model, i)
                       : hbDNNGetOutputTensorProperties(properties, model, i),
              "properties");
        check(hbSysAllocMem(&tensors[i].sysMem[0], (uint32_t)properties->alignedByteSize),
              "hbSysAllocMem");
    }
    return tensors;
}

int main(int argc, char** argv) {
    hbPackedDNNHandle_t pack;
    hbDNNTaskHandle_t task = NULL;
    const char** names;
    int32_t count;

    if (argc < 2) {
        fprintf(stderr, "usage: multi_model MODEL.ovm MODEL.ovm...\n");
        return 2;
    }
    check(hbDNNInitializeFromFiles(&pack, (const char**)argv + 1, argc - 1), "models");
    check(hbDNNGetModelNameList(&names, &count, pack), "names");
    for (int32_t i = 0; i < count; i++) {
        hbDNNHandle_t model;
        hbDNNInferCtrlParam control;
        check(hbDNNGetModelHandle(&model, pack, names[i]), names[i]);
        hbDNNTensor *input = tensors_of(model, 1), *output = tensors_of(model, 0);
        HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
        control.more = i + 1 < count; /* the last one submits them all */
        check(hbDNNInfer(&task, &output, input, model, &control), names[i]);
        printf("%s %s\n", control.more ? "added" : "submitted with", names[i]);
    }
    check(hbDNNWaitTaskDone(task, 1000), "hbDNNWaitTaskDone");
    printf("%d models done in one task\n", count);
    check(hbDNNReleaseTask(task), "hbDNNReleaseTask");
    check(hbDNNRelease(pack), "hbDNNRelease");
    return 0;
}
