// SPDX-License-Identifier: MIT
//
// Compares the oracle of groups with the worked examples, with the oracle of scenarios without
// groups, and with itself for pairs of scenarios that must have the same timeline.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "groups_oracle.hpp"
#include "oracle.hpp"
#include "random_groups.hpp"
#include "scenario.hpp"
#include "task_oracle.hpp"
#include "task_scenario.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

// No code of the product runs here, so a tenth is enough with sanitizers, which take twenty times
// as long.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t scenarios = 100;
#else
constexpr std::uint64_t scenarios = 1000;
#endif

/// Makes each job or segment with "fcs" or "bpu" a group of one part with one stage.
json as_groups(json scenario) {
    const auto wrap = [](json& entry, const char* key, bool has_core) {
        if (!entry.contains(key))
            return;
        json part = {{"stages", {entry[key]}}};
        if (has_core && entry.value("core", 0) != 0)
            part["core"] = entry["core"];
        entry.erase(key);
        if (has_core)
            entry.erase("core");
        entry["parts"] = {part};
    };
    if (scenario["kind"] == "fc")
        for (json& job : scenario["jobs"])
            wrap(job, "fcs", true);
    else
        for (json& model : scenario["models"])
            for (json& segment : model["segments"])
                wrap(segment, "bpu", false);
    return scenario;
}

/// Removes the keys that only groups have.
json without_parts(json timeline) {
    for (const char* list : {"fcs", "jobs"})
        for (json& entry : timeline[list])
            for (const char* key : {"part", "stage", "parts"})
                entry.erase(key);
    return timeline;
}

/// Returns a scenario without groups and floors, which the older oracles do not have.
json plain(json scenario) {
    scenario.erase("normal_floor");
    const auto flatten = [](json& entry, const char* key) {
        if (!entry.contains("parts"))
            return;
        json fcs = json::array();
        for (const json& part : entry["parts"])
            for (const json& stage : part["stages"])
                for (const json& fc : stage)
                    fcs.push_back(fc);
        entry.erase("parts");
        entry[key] = fcs;
    };
    if (scenario["kind"] == "fc")
        for (json& job : scenario["jobs"])
            flatten(job, "fcs");
    else
        for (json& model : scenario["models"])
            for (json& segment : model["segments"])
                flatten(segment, "bpu");
    return scenario;
}

TEST(GroupsOracle, EqualsTheWorkedExamples) {
    for (const std::string& name : examples("groups-"))
        EXPECT_EQ(groups_timeline(read_json(example_file(name + ".json"))),
                  read_json(example_file(name + ".expected.json")))
            << name;
    EXPECT_GE(examples("groups-").size(), 10u);
}

TEST(GroupsOracle, EqualsTheOlderOracleWithoutGroups) {
    for (std::uint64_t seed = 1; seed <= scenarios; seed++) {
        json fc = plain(random_groups(seed, false));
        fc.erase("sync");
        EXPECT_EQ(timeline_from(groups_timeline(fc)), oracle_timeline(scenario_from(fc))) << fc;
        json task = plain(random_groups(seed, true));
        task.erase("sync");
        EXPECT_EQ(task_timeline_from(groups_timeline(task)),
                  task_oracle_timeline(task_scenario_from(task)))
            << task;
    }
}

TEST(GroupsOracle, TreatsOnePartWithOneStageAsAJob) {
    for (std::uint64_t seed = 1; seed <= scenarios; seed++) {
        const json scenario = plain(random_groups(seed, false));
        EXPECT_EQ(without_parts(groups_timeline(as_groups(scenario))), groups_timeline(scenario))
            << scenario;
    }
}

TEST(GroupsOracle, EndsEverything) {
    std::size_t waits = 0;
    for (std::uint64_t seed = 1; seed <= scenarios; seed++)
        for (const bool task_level : {false, true}) {
            const json scenario = random_groups(seed, task_level);
            const json timeline = groups_timeline(scenario);
            for (const json& job : timeline["jobs"])
                EXPECT_FALSE(job["end"].is_null()) << scenario;
            if (task_level)
                for (const json& task : timeline["tasks"]) {
                    EXPECT_FALSE(task["end"].is_null()) << scenario;
                    waits += task["dispatched"] != task["arrival"];
                }
        }
    EXPECT_GT(waits, scenarios / 2) << "the scenarios do not try waiting for cores";
}

} // namespace
} // namespace overtake::test
