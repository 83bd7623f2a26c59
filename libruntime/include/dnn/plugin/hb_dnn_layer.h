/* SPDX-License-Identifier: MIT */
/*
 * Board programs include this header, most of them without using it.  Custom operators are written
 * against overtake/custom_operator.hpp or overtake/custom_operator.h: docs/start/board.md.
 */
#ifndef OVERTAKE_DNN_PLUGIN_HB_DNN_LAYER_H
#define OVERTAKE_DNN_PLUGIN_HB_DNN_LAYER_H
#include "../hb_dnn.h"
#endif
