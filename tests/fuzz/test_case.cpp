// SPDX-License-Identifier: MIT
//
// Fuzz cases as files: the reader accepts all cases that are written, and refuses values that a
// host could not carry out, with their place.
#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "scheduler/campaign.hpp"

namespace overtake::fuzz {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t beyond_u32 = std::int64_t{1} << 32;

/// Returns a case of two cores, one submit of each model, and a command of each other type.
Case small_case(bool task_level) {
    Case of;
    of.task_level = task_level;
    of.core_limits = {1, 2};
    of.watchdog = 100;
    of.command_count = 16;
    of.event_count = 16;
    of.processes = 2;
    of.models = {{{{{{FcKind::good, 3}, {FcKind::stuck, 1}}, 0}}}, {{{{{FcKind::good, 5}}, 0}}}};
    if (task_level)
        of.models[1].segments.push_back({{}, 4});
    of.commands = {{.type = CommandType::submit, .model = 0},
                   {.type = CommandType::submit, .model = 1, .process = 1},
                   {.type = CommandType::cancel, .target = 1},
                   {.type = CommandType::kill, .process = 1},
                   {.type = CommandType::reset, .core = 2},
                   {.type = CommandType::limit, .core = 1, .value = 3},
                   {.type = CommandType::wait, .after = 9},
                   {.type = CommandType::floor, .core = 2, .value = 1},
                   {.type = CommandType::hold, .after = 2},
                   {.type = CommandType::release, .after = 3}};
    return of;
}

Json document(bool task_level = true) {
    return Json::parse(to_json(small_case(task_level)).dump());
}

/// Returns the message of from_json(); empty if it accepts the case.
std::string refusal(const Json& json) {
    try {
        from_json(json);
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL);
        return error.what();
    }
}

struct Bad {
    const char* pointer; ///< JSON pointer of the value that is set
    Json value;
    const char* place; ///< the refusal begins with it
};

std::vector<Bad> bad_values() {
    return {
        {"/version", 2, "version: "},
        {"/kind", "fc", "kind: "},
        {"/level", "xx", "level: "},
        {"/mode", "Timed", "mode: "},
        {"/core_limits", Json::array(), "core_limits: "},
        {"/core_limits", Json(std::vector<int>(1000, 1)), "core_limits: "},
        {"/core_limits/1", -1, "core_limits[1]: "},
        {"/core_limits/0", beyond_u32, "core_limits[0]: "},
        {"/fair", 1, "fair: "},
        {"/watchdog", 0, "watchdog: "},
        {"/watchdog", 1.5, "watchdog: "},
        {"/watchdog", 4, "watchdog: 4, but there is an FC of 5"},
        {"/watchdog", std::numeric_limits<std::uint64_t>::max(), "watchdog: "},
        {"/command_queue", 24, "command_queue: "},
        {"/event_queue", beyond_u32 + 16, "event_queue: "},
        {"/processes", 0, "processes: "},
        {"/processes", "2", "processes: "},
        {"/policy", "random", "policy: "},
        {"/service_mode", 1, "service_mode: "},
        {"/slots", -1, "slots: "},
        {"/slots", beyond_u32 + 1, "slots: "},
        {"/slots", 1.5, "slots: "},
        {"/slots", 0, "slots: "},
        {"/task_limit", 0, "task_limit: "},
        {"/workers", beyond_u32, "workers: "},
        {"/threshold_percent", -1, "threshold_percent: "},
        {"/insert_max_time", -1, "insert_max_time: "},
        {"/wait_dispatch_time", 2.5, "wait_dispatch_time: "},
        {"/host/seed", -1, "host.seed: "},
        {"/host/latency_max", beyond_u32 - 1, "host.latency_max: "},
        {"/host/lost_percent", 101, "host.lost_percent: "},
        {"/host/duplicate_percent", -5, "host.duplicate_percent: "},
        {"/host/unknown", 1, "host.unknown: unknown key"},
        {"/host", 3, "host: "},
        {"/unknown", 1, "unknown: unknown key"},
        {"/found", {{"unknown", 1}}, "found.unknown: unknown key"},
        {"/models", Json::array(), "models: "},
        {"/models/0", Json::array(), "models[0]: "},
        {"/models/1/1/cpu", 0, "models[1][1].cpu: "},
        {"/models/1/1/cpu", -3, "models[1][1].cpu: "},
        {"/models/1/1/cpu", beyond_u32, "models[1][1].cpu: "},
        {"/models/1/1/bpu", {1}, "models[1][1].bpu: unknown key"},
        {"/models/0/0/bpu", Json::array(), "models[0][0].bpu: "},
        {"/models/0/0/bpu/0", longest_fc + 1, "models[0][0].bpu[0]: "},
        {"/models/0/0/bpu/0", 0, "models[0][0].bpu[0]: "},
        {"/models/0/0/bpu/1", "good?", "models[0][0].bpu[1]: "},
        {"/commands", 7, "commands: "},
        {"/commands/0", 7, "commands[0]: "},
        {"/commands/0/do", "submits", "commands[0].do: "},
        {"/commands/0/after", -1, "commands[0].after: "},
        {"/commands/0/after", std::numeric_limits<std::uint64_t>::max(), "commands[0].after: "},
        {"/commands/0/model", 2, "commands[0].model: "},
        {"/commands/0/priority", 256, "commands[0].priority: "},
        {"/commands/0/custom_id", std::uint64_t{1} << 63, "commands[0].custom_id: "},
        {"/commands/0/slo", -1, "commands[0].slo: "},
        {"/commands/0/core", 3, "commands[0].core: "},
        {"/commands/0/core", beyond_u32, "commands[0].core: "},
        {"/commands/0/process", 2, "commands[0].process: "},
        {"/commands/0/value", 2, "commands[0].value: unknown key"},
        {"/commands/2/submit", 2, "commands[2].submit: "},
        {"/commands/3/process", 2, "commands[3].process: "},
        {"/commands/4/core", 0, "commands[4].core: "},
        {"/commands/5/core", 9'223'372'036'854'775'808u, "commands[5].core: "},
        {"/commands/5/value", -1, "commands[5].value: "},
        {"/commands/6/core", 1, "commands[6].core: unknown key"},
        {"/commands/7/core", 3, "commands[7].core: "},
        {"/commands/8/core", 1, "commands[8].core: unknown key"},
    };
}

TEST(FuzzCase, RefusesWhatItDidNotWriteWithItsPlace) {
    ASSERT_EQ(refusal(document()), "");
    for (const Bad& bad : bad_values()) {
        Json json = document();
        json[Json::json_pointer(bad.pointer)] = bad.value;
        const std::string said = refusal(json);
        EXPECT_TRUE(said.starts_with(bad.place))
            << bad.pointer << " " << bad.value << ": \"" << said << "\"";
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
}

TEST(FuzzCase, NeedsEveryKey) {
    Json flat = document().flatten();
    for (const auto& [pointer, unused] : flat.items()) {
        const Json::json_pointer where(pointer);
        Json json = document();
        Json& parent = json[where.parent_pointer()];
        if (!parent.is_object())
            continue;
        parent.erase(where.back());
        EXPECT_NE(refusal(json), "") << pointer;
    }
    EXPECT_EQ(refusal(Json(3)), "the scenario: 3 is not an object");
}

TEST(FuzzCase, HasOneSegmentOfFcsAtLevelFc) {
    ASSERT_EQ(refusal(document(false)), "");
    Json json = document(false);
    json["models"][1].push_back({{"bpu", {1}}});
    EXPECT_TRUE(refusal(json).starts_with("models[1]: ")) << refusal(json);
    json["models"][1] = {{{"cpu", 1}}};
    EXPECT_TRUE(refusal(json).starts_with("models[1]: ")) << refusal(json);
}

TEST(FuzzCase, CancelsAnEarlierSubmit) {
    Json json = document();
    json["commands"] = {{{"after", 0}, {"do", "cancel"}, {"submit", 0}}};
    EXPECT_EQ(refusal(json), "commands[0]: there is no submit before it");
    json["commands"] = Json::array(); // shrunk to nothing
    EXPECT_EQ(refusal(json), "");
}

TEST(FuzzCase, AsksForNoMoreThanAHostCanCarryOut) {
    Json json = document();
    json["watchdog"] = 50'000'000;
    EXPECT_TRUE(refusal(json).starts_with("commands[0]: more than ")) << refusal(json);
}

/// Cases at the limits that the reader accepts must cause no violation.
TEST(FuzzCase, TheLargestValuesAreClean) {
    constexpr std::uint32_t u32_max = std::numeric_limits<std::uint32_t>::max();
    const auto clean = [](std::uint64_t seed, const char* what, auto change) {
        Case of = draw(seed, 100);
        change(of);
        const Case read = from_json(Json::parse(to_json(of).dump()));
        EXPECT_EQ(violation_of(read), std::nullopt) << what << ", seed " << seed;
    };
    for (std::uint64_t seed = 1; seed <= 100; seed++) {
        clean(seed, "host", [](Case& of) { of.faults = {of.faults.seed, 1000, 50, 50}; });
        clean(seed, "processes", [](Case& of) { of.processes = 1000; });
        clean(seed, "core limits", [](Case& of) {
            for (std::uint32_t& limit : of.core_limits)
                limit = u32_max;
        });
        clean(seed, "scheduler", [](Case& of) {
            ovt_sched_settings& settings = of.settings;
            settings.slots = settings.task_limit = settings.workers = u32_max;
            settings.threshold_percent = settings.insert_max_time = settings.wait_dispatch_time =
                u32_max;
        });
        clean(seed, "waits", [](Case& of) {
            for (std::size_t i = 0; i < of.commands.size(); i += 4)
                of.commands[i].after = u32_max;
        });
        clean(seed, "a watchdog that just lets every FC end", [](Case& of) {
            of.watchdog = 1;
            for (const Model& model : of.models)
                for (const Segment& segment : model.segments)
                    for (const Fc& fc : segment.fcs)
                        of.watchdog = std::max<std::uint64_t>(of.watchdog, fc.duration);
        });
    }
}

} // namespace
} // namespace overtake::fuzz
