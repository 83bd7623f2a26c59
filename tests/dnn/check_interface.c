/* SPDX-License-Identifier: MIT */
/*
 * The board's interface in C11: it compiles, or it is not that interface.
 */
#include <stddef.h>

#include "./dnn/hb_dnn.h"
#include "dnn/hb_dnn_status.h"
#include <hb_dnn_ext.h>
#include <hb_sys.h>

#define NUMBER(name, number) _Static_assert((name) == (number), #name);
#define STRUCT(type, size) _Static_assert(sizeof(type) == (size), #type);
#define FIELD(type, field, offset, size)                                                           \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field);                           \
    _Static_assert(sizeof(((type *)0)->field) == (size), #type "." #field);
#define POINTEE(type, field, element)                                                              \
    _Static_assert(_Generic(&((type *)0)->field, element *: 1, default: 0), #type "." #field);
#define FUNCTION(result, name, parameters)                                                         \
    _Static_assert(_Generic(&(name), result(*) parameters: 1, default: 0), #name);
#include "interface.inc"

int main(void) {
    hbDNNInferCtrlParam infer;
    hbDNNResizeCtrlParam resize;
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&infer);
    HB_DNN_INITIALIZE_RESIZE_CTRL_PARAM(&resize);
    return infer.more || resize.priority || hbDNNGetVersion() == NULL;
}
