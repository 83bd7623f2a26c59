// SPDX-License-Identifier: MIT
//
// The oracle of the task level reproduces every worked example.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "task_oracle.hpp"

namespace overtake::test {
namespace {

std::vector<std::string> task_scenario_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_SCENARIO_DATA)) {
        const std::string stem = entry.path().stem().string();
        if (stem.starts_with("task-") && !stem.ends_with(".expected"))
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

INSTANTIATE_TEST_SUITE_P(Task, TaskOracleTest, testing::ValuesIn(task_scenario_names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                             std::string name = info.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

} // namespace
} // namespace overtake::test
