// SPDX-License-Identifier: MIT
//
// The oracle of the task level reproduces every worked example of that level without groups.
#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "scenario.hpp"
#include "task_oracle.hpp"
#include "task_scenario.hpp"

namespace overtake::test {
namespace {

std::vector<std::string> task_examples() {
    std::vector<std::string> names = examples("service-");
    std::ranges::copy(examples("task-"), std::back_inserter(names));
    return names;
}

class TaskOracleTest : public testing::TestWithParam<std::string> {};

TEST_P(TaskOracleTest, AgreesWithTheExpectedTimeline) {
    EXPECT_EQ(task_oracle_timeline(read_task_scenario(example_file(GetParam() + ".json"))),
              read_task_timeline(example_file(GetParam() + ".expected.json")));
}

TEST(TaskOracle, ReadersRefuseScenariosWhoseTimesVary) {
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

INSTANTIATE_TEST_SUITE_P(Task, TaskOracleTest, testing::ValuesIn(task_examples()),
                         [](const auto& info) { return test_name(info.param); });

} // namespace
} // namespace overtake::test
