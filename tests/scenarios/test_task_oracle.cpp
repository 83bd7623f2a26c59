// SPDX-License-Identifier: MIT
//
// The oracle of the task level reproduces every worked example.
#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenario.hpp"
#include "task_oracle.hpp"
#include "task_scenario.hpp"

namespace overtake::test {
namespace {

std::vector<std::string> task_scenario_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_SCENARIO_DATA)) {
        const std::string stem = entry.path().stem().string();
        if ((stem.starts_with("task-") || stem.starts_with("service-")) &&
            !stem.ends_with(".expected"))
            names.push_back(stem);
    }
    std::ranges::sort(names);
    return names;
}

class TaskOracleTest : public testing::TestWithParam<std::string> {};

TEST_P(TaskOracleTest, AgreesWithTheExpectedTimeline) {
    const std::string path = OVERTAKE_SCENARIO_DATA "/" + GetParam();
    EXPECT_EQ(task_oracle_timeline(read_task_scenario(path + ".json")),
              read_task_timeline(path + ".expected.json"));
}

TEST(TaskOracle, RefusesTimesThatAreNotThoseOfTheFile) {
    using nlohmann::json;
    const json jobs = json::parse(R"([{"id": "a", "at": 0, "fcs": [1]}])");
    const json tasks = json::parse(R"([{"id": "a", "at": 0, "model": "m"}])");
    const json models = json::parse(R"({"m": {"segments": [{"cpu": 1}]}})");
    for (const char* key : {"fc_jitter", "cpu_jitter", "dispatch_cost"}) {
        json fc = {{"version", 1}, {"kind", "fc"}, {"cores", 1}, {"jobs", jobs}};
        json task = {
            {"version", 1}, {"kind", "task"}, {"cores", 1}, {"models", models}, {"tasks", tasks}};
        EXPECT_NO_THROW(scenario_from(fc));
        EXPECT_NO_THROW(task_scenario_from(task));
        fc[key] = 0;
        task[key] = 0;
        EXPECT_THROW(scenario_from(fc), std::runtime_error) << key;
        EXPECT_THROW(task_scenario_from(task), std::runtime_error) << key;
    }
}

INSTANTIATE_TEST_SUITE_P(Task, TaskOracleTest, testing::ValuesIn(task_scenario_names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                             std::string name = info.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

} // namespace
} // namespace overtake::test
