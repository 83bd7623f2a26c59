// SPDX-License-Identifier: MIT
//
// The shipped task scheduler, which follows events and explains waits.
#pragma once

#include <ovt_port.h>

extern "C" {
#include "sched/follow.h"
#include "sched/sched.h"
#include "sched/waits_for.h"
}

namespace overtake::blame {

/// Returns settings for events that do not have the times of segments: the order is that of policy
/// `priority`, and no gap is open to any task.
ovt_sched_settings settings_without_plans();

} // namespace overtake::blame
