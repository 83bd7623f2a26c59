// SPDX-License-Identifier: MIT
//
// The shipped task scheduler, as it follows events and explains waits.
#pragma once

#include <ovt_port.h>

extern "C" {
#include "sched/follow.h"
#include "sched/sched.h"
#include "sched/waits_for.h"
}

namespace overtake::blame {

/// Of events that do not say how long segments take: the order is that of the contract, and no gap
/// is open to any task.
ovt_sched_settings settings_without_plans();

} // namespace overtake::blame
