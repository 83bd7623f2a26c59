// SPDX-License-Identifier: MIT
//
// The structs in which C++ programs and the driver have the scheduler's settings, compared with the
// table of firmware-sim/sched.
#include <algorithm>
#include <initializer_list>

#include <gtest/gtest.h>

#include "overtake/server.hpp"
#include "overtake/settings.hpp"

extern "C" {
#include "sched/sched.h"
}

namespace overtake {
namespace {

/// Returns settings in which each number differs from its default.
ovt_sched_settings different_settings() {
    ovt_sched_settings settings = usual_settings(true);
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
        ovt_setting_set(setting, &settings, setting->unit == OVT_UNIT_SWITCH ? 0 : 101 + i);
    return settings;
}

/// Expects the settings that `owners` set to be those of `settings`, and all others the defaults.
void expect_same(const ovt_sched_settings& found, const ovt_sched_settings& settings,
                 std::initializer_list<ovt_setting_owner> owners, bool is_shared) {
    const ovt_sched_settings usual = usual_settings(is_shared);
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++) {
        const bool is_set = std::ranges::find(owners, setting->owner) != owners.end();
        EXPECT_EQ(ovt_setting_get(setting, &found),
                  ovt_setting_get(setting, is_set ? &settings : &usual))
            << setting->name;
    }
}

TEST(Settings, DefaultsOfTheStructsAreThoseOfTheTable) {
    expect_same(settings_of(EngineOptions{}), usual_settings(), {}, false);
    expect_same(settings_of(default_service_settings()), usual_settings(true), {}, true);
    expect_same(settings_of(ServerOptions{}.service), usual_settings(true), {}, true);
    EXPECT_EQ(EngineOptions{}.policy, usual_settings().policy->name);
    EXPECT_EQ(ServerOptions{}.policy, usual_settings().policy->name);
}

TEST(Settings, EachFieldIsTakenAndGiven) {
    const ovt_sched_settings settings = different_settings();
    EngineOptions options;
    set_settings(options, settings);
    expect_same(settings_of(options), settings, {OVT_OWNER_QUEUE, OVT_OWNER_PROCESS}, false);
    const ServiceSettings service = service_settings_of(settings);
    expect_same(settings_of(service), settings, {OVT_OWNER_QUEUE, OVT_OWNER_DEVICE}, true);
    EXPECT_EQ(service.insert_max_time_ns, settings.insert_max_time);
    EXPECT_EQ(service.share, 0u);
    EXPECT_EQ(options.workers, settings.workers);
}

TEST(Settings, SettingsOfADriverAreTakenFieldByField) {
    drm_overtake_service_info info{};
    info.slots = 1;
    info.task_limit = 2;
    info.threshold_percent = 3;
    info.share = 1;
    info.insert_max_time_ns = 5;
    info.wait_dispatch_time_ns = 6;
    info.overdue_min_time_ns = 7;
    info.overdue_factor = 8;
    const ServiceSettings service = service_settings_of(info);
    EXPECT_EQ(service.slots, 1u);
    EXPECT_EQ(service.task_limit, 2u);
    EXPECT_EQ(service.threshold_percent, 3u);
    EXPECT_EQ(service.share, 1u);
    EXPECT_EQ(service.insert_max_time_ns, 5u);
    EXPECT_EQ(service.wait_dispatch_time_ns, 6u);
    EXPECT_EQ(service.overdue_min_time_ns, 7u);
    EXPECT_EQ(service.overdue_factor, 8u);
}

} // namespace
} // namespace overtake
