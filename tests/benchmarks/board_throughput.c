/* SPDX-License-Identifier: MIT */
/*
 * A board program that keeps some inferences of a model in flight, and prints how many it did each
 * second. The program has no code for processors: board_processors.py runs it with and without
 * OVERTAKE_PROCESSORS.
 *
 *     board_throughput MODEL.ovm COUNT IN_FLIGHT
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dnn/hb_dnn.h"

#define MOST 64

struct inference {
    hbDNNTaskHandle_t task;
    hbDNNTensor* inputs;
    hbDNNTensor* outputs;
};

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

static void begin(struct inference* inference, hbDNNHandle_t model) {
    hbDNNInferCtrlParam control;
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
    inference->task = NULL;
    check(hbDNNInfer(&inference->task, &inference->outputs, inference->inputs, model, &control),
          "hbDNNInfer");
}

static void end(struct inference* inference) {
    check(hbDNNWaitTaskDone(inference->task, 0), "hbDNNWaitTaskDone");
    check(hbDNNReleaseTask(inference->task), "hbDNNReleaseTask");
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
    struct inference inferences[MOST];
    hbPackedDNNHandle_t pack;
    hbDNNHandle_t model;
    const char** names;
    int32_t models;

    const int count = argc == 4 ? atoi(argv[2]) : 0;
    const int in_flight = argc == 4 ? atoi(argv[3]) : 0;
    if (count < 1 || in_flight < 1 || in_flight > MOST) {
        fprintf(stderr, "usage: board_throughput MODEL.ovm COUNT IN_FLIGHT(1..%d)\n", MOST);
        return 2;
    }
    check(hbDNNInitializeFromFiles(&pack, (const char**)argv + 1, 1), "models");
    check(hbDNNGetModelNameList(&names, &models, pack), "names");
    check(hbDNNGetModelHandle(&model, pack, names[0]), names[0]);
    for (int i = 0; i < in_flight; i++) {
        inferences[i].inputs = tensors_of(model, 1);
        inferences[i].outputs = tensors_of(model, 0);
        begin(&inferences[i], model);
        end(&inferences[i]);
    }
    const double start = now();
    for (int i = 0; i < count + in_flight; i++) {
        struct inference* inference = &inferences[i % in_flight];
        if (i >= in_flight)
            end(inference);
        if (i < count)
            begin(inference, model);
    }
    printf("%.1f\n", count / (now() - start));
    check(hbDNNRelease(pack), "hbDNNRelease");
    return 0;
}
