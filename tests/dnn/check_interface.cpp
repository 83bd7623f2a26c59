// SPDX-License-Identifier: MIT
//
// The board's interface in C++14: it compiles, or it is not that interface.
#include <cstddef>
#include <type_traits>

#include "./dnn/hb_dnn.h"
#include "dnn/hb_dnn_status.h"
#include <hb_dnn_ext.h>
#include <hb_sys.h>

#define NUMBER(name, number) static_assert((name) == (number), #name);
#define STRUCT(type, size)                                                                         \
    static_assert(sizeof(type) == (size) && std::is_standard_layout<type>::value, #type);
#define FIELD(type, field, offset, size)                                                           \
    static_assert(offsetof(type, field) == (offset) && sizeof(type::field) == (size),              \
                  #type "." #field);
#define POINTEE(type, field, element)                                                              \
    static_assert(std::is_same<decltype((static_cast<type*>(nullptr)->field)), element&>::value,   \
                  #type "." #field);
#define FUNCTION(result, name, parameters)                                                         \
    static_assert(std::is_same<decltype(&(name)), result(*) parameters>::value, #name);
#include "interface.inc"

int main() {
    hbDNNInferCtrlParam infer;
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&infer);
    return infer.more || !hbDNNGetVersion();
}
