// SPDX-License-Identifier: MIT
//
// The device's own decoder, operators and cycle model, for C++.
#pragma once

#include <ovt_port.h>

extern "C" {
#include "hw/decode.h"
#include "hw/operators.h"
#include "hw/profile.h"
#include "hw/simd/simd.h"
}
