// SPDX-License-Identifier: MIT
//
// An event of a task, in the form that programs read.
#pragma once

#include <span>

#include "overtake/service.hpp"

#include "overtake_accel.h"

namespace overtake {

/// `results` has the told.result_count results of the task.
inline ServiceEvent make_service_event(const overtake_task_event& told,
                                       std::span<const Completion> results) {
    ServiceEvent event;
    event.tag = told.tag;
    event.type = static_cast<ServiceEvent::Type>(told.type);
    event.segment = told.segment;
    event.start_ns = told.start_ns;
    event.status = told.status;
    event.core = told.core;
    event.arrived_ns = told.arrived_ns;
    event.dispatched_ns = told.dispatched_ns;
    event.ended_ns = told.ended_ns;
    event.segments.assign(results.begin(), results.end());
    return event;
}

} // namespace overtake
