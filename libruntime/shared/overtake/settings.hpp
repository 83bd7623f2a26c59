// SPDX-License-Identifier: MIT
//
// Settings of the task scheduler in the structs of this library and of the driver, field by field
// as sched/settings.inc has them.  This file does not compile if a struct lacks a setting.
#pragma once

#include "overtake/engine.hpp"
#include "overtake/service.hpp"

extern "C" {
#include "overtake_accel.h"
#include "sched/settings.h"
}

namespace overtake {

/// Returns the defaults of a queue of the process's own, or of the device's queue, which processes
/// share.
inline ovt_sched_settings usual_settings(bool is_shared = false) {
    ovt_sched_settings settings;
    ovt_sched_settings_init(&settings, is_shared);
    return settings;
}

/// Returns all settings but the policy.
inline ovt_sched_settings settings_of(const EngineOptions& options) {
    ovt_sched_settings settings = usual_settings();
#define OVT_QUEUE_SETTING(name, public_name, ...) settings.name = options.public_name;
#define OVT_PROCESS_SETTING(name, public_name, ...) settings.name = options.public_name;
#include "sched/settings.inc"
    return settings;
}

inline void set_settings(EngineOptions& options, const ovt_sched_settings& settings) {
#define OVT_QUEUE_SETTING(name, public_name, ...)                                                  \
    options.public_name = static_cast<decltype(options.public_name)>(settings.name);
#define OVT_PROCESS_SETTING(name, public_name, ...)                                                \
    options.public_name = static_cast<decltype(options.public_name)>(settings.name);
#include "sched/settings.inc"
}

/// Returns all settings but the policy.
inline ovt_sched_settings settings_of(const ServiceSettings& service) {
    ovt_sched_settings settings = usual_settings(true);
#define OVT_QUEUE_SETTING(name, public_name, ...) settings.name = service.public_name;
#define OVT_DEVICE_SETTING(name, public_name, ...) settings.name = service.public_name;
#include "sched/settings.inc"
    return settings;
}

inline ServiceSettings service_settings_of(const ovt_sched_settings& settings) {
    ServiceSettings service{};
#define OVT_QUEUE_SETTING(name, public_name, ...)                                                  \
    service.public_name = static_cast<decltype(service.public_name)>(settings.name);
#define OVT_DEVICE_SETTING(name, public_name, ...)                                                 \
    service.public_name = static_cast<decltype(service.public_name)>(settings.name);
#include "sched/settings.inc"
    return service;
}

inline ServiceSettings service_settings_of(const drm_overtake_service_info& info) {
    ServiceSettings service{};
#define OVT_QUEUE_SETTING(name, public_name, ...) service.public_name = info.public_name;
#define OVT_DEVICE_SETTING(name, public_name, ...) service.public_name = info.public_name;
#include "sched/settings.inc"
    return service;
}

} // namespace overtake
