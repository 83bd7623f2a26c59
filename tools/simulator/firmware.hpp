// SPDX-License-Identifier: MIT
//
// Includes the shipped firmware and task scheduler for C++.
#pragma once

#include <ovt_port.h>

extern "C" {
#include "fw/fw.h"
#include "sched/sched.h"
}
