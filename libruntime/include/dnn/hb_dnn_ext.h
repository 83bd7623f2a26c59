/* SPDX-License-Identifier: MIT */
/*
 * hbDNNGetInputSource(): the source of an input of a model.
 */
#ifndef OVERTAKE_DNN_HB_DNN_EXT_H
#define OVERTAKE_DNN_HB_DNN_EXT_H

#include "hb_dnn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HB_DNN_INPUT_FROM_DDR = 0,
    HB_DNN_INPUT_FROM_RESIZER = 1,
    HB_DNN_INPUT_FROM_PYRAMID = 2 /* NV12, from memory */
} hbDNNInputSource;

/* Returns an hbDNNInputSource.  HB_DNN_INVALID_ARGUMENT: NULL, or no such input. */
int32_t hbDNNGetInputSource(int32_t* inputSource, hbDNNHandle_t dnnHandle, int32_t inputIndex);

#ifdef __cplusplus
}
#endif

#endif
