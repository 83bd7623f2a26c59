// SPDX-License-Identifier: MIT
//
// What a device says of a task, as a program reads it.
#pragma once

#include <span>

#include "overtake/service.hpp"

#include "overtake_accel.h"

namespace overtake {

/// results: told.result_count of them, the task's own.
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
