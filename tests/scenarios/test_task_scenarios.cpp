// SPDX-License-Identifier: MIT
//
// The task-level examples without groups and service mode through the runtime's scheduler, on every
// backend of a device: their timelines are exact to the microsecond. Random scenarios are compared
// with the oracle.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "drive_tasks.hpp"
#include "examples.hpp"
#include "kernel_device.hpp"
#include "random_scenario.hpp"
#include "task_oracle.hpp"
#include "task_scenario.hpp"

namespace overtake::test {
namespace {

using Case = std::tuple<std::string, Backend>;

class TaskScenarioTest : public testing::TestWithParam<Case> {
protected:
    static TaskTimeline drive_kernel(const Backend& backend, const TaskScenario& scenario,
                                     const TaskTimeline& expected) {
        const auto device = open_backend(backend, {.manual_clock = true, .embedded = {}});
        if (!device)
            return {};
        const std::size_t cores = scenario.core_limits.size();
        if (device->info().core_count != cores) {
            [&] { GTEST_SKIP() << "SKIPPED: needs a device of " << cores << " cores"; }();
            return {};
        }
        if (scenario.fair != device_is_fair()) {
            [&] { GTEST_SKIP() << "SKIPPED: needs fair=" << scenario.fair; }();
            return {};
        }
        const CoreLimits limits(std::getenv("OVERTAKE_TEST_DEVICE"), scenario.core_limits);
        FcTrace trace;
        return drive_tasks(*device, scenario, expected, [&] { return trace.take(); });
    }
};

TEST_P(TaskScenarioTest, HasItsExactTimeline) {
    const auto& [name, backend] = GetParam();
    const TaskScenario scenario = read_task_scenario(example_file(name + ".json"));
    const TaskTimeline expected = read_task_timeline(example_file(name + ".expected.json"));
    const TaskTimeline timeline = is_made_here(backend)
                                      ? drive_tasks_made_here(scenario, expected, backend)
                                      : drive_kernel(backend, scenario, expected);
    if (IsSkipped())
        return;
    EXPECT_EQ(timeline, expected);
}

INSTANTIATE_TEST_SUITE_P(Task, TaskScenarioTest,
                         testing::Combine(testing::ValuesIn(examples_of_separate_queues()),
                                          testing::ValuesIn(all_backends())),
                         test_name_of_case<Backend>);

TEST(RandomTaskScenario, HasTheTimelineThatTheOracleSays) {
    std::size_t driven = 0;
    std::size_t of_several_processes = 0;
    std::size_t cancelled = 0;
    std::size_t on_cpu = 0;
    for (std::uint64_t seed = 1; driven < 300; seed++) {
        const nlohmann::json json = random_task_scenario(seed);
        const TaskScenario scenario = task_scenario_from(json);
        if (scenario.service_mode)
            continue;
        const TaskTimeline expected = task_oracle_timeline(scenario);
        if (!fits_a_clock(expected))
            continue;
        ASSERT_EQ(drive_tasks_made_here(scenario, expected), expected)
            << "seed " << seed << ": " << json;
        driven++;
        of_several_processes += std::ranges::any_of(scenario.tasks, [&](const ScenarioTask& task) {
            return task.process != scenario.tasks.front().process;
        });
        for (const TimelineTask& task : expected.tasks)
            cancelled += task.cancelled;
        on_cpu += expected.cpu.size();
    }
    EXPECT_GT(of_several_processes, 50u) << "the scenarios do not try several processes";
    EXPECT_GT(cancelled, 50u) << "the scenarios do not try cancelling";
    EXPECT_GT(on_cpu, 300u) << "the scenarios do not try CPU segments";
}

} // namespace
} // namespace overtake::test
