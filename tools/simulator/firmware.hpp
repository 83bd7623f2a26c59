// SPDX-License-Identifier: MIT
//
// The shipped firmware and task scheduler, as C++ sees them.
#pragma once

#include <ovt_port.h>

extern "C" {
#include "fw/fw.h"
#include "sched/sched.h"
}
