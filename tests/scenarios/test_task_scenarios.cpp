// SPDX-License-Identifier: MIT
//
// Every task-level scenario through the runtime's scheduler, on every way into a device, to the
// microsecond; and random ones against the oracle.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "drive_tasks.hpp"
#include "kernel_device.hpp"
#include "random_scenario.hpp"
#include "task_oracle.hpp"
#include "task_scenario.hpp"

namespace overtake::test {
namespace {

std::string data(const std::string& name) {
    return OVERTAKE_SCENARIO_DATA "/" + name;
}

/// Those in which each process has a queue of its own.
std::vector<std::string> scenario_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_SCENARIO_DATA)) {
        const std::string stem = entry.path().stem().string();
        if (stem.starts_with("task-") && !stem.ends_with(".expected") &&
            !stem.ends_with("service-mode"))
            names.push_back(stem);
    }
    std::ranges::sort(names);
    return names;
}

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
    const TaskScenario scenario = read_task_scenario(data(name + ".json"));
    const TaskTimeline expected = read_task_timeline(data(name + ".expected.json"));
    const TaskTimeline timeline = is_made_here(backend)
                                      ? drive_tasks_made_here(scenario, expected, backend)
                                      : drive_kernel(backend, scenario, expected);
    if (IsSkipped())
        return;
    EXPECT_EQ(timeline, expected);
}

INSTANTIATE_TEST_SUITE_P(Task, TaskScenarioTest,
                         testing::Combine(testing::ValuesIn(scenario_names()),
                                          testing::ValuesIn(all_backends())),
                         [](const testing::TestParamInfo<Case>& info) {
                             std::string name =
                                 std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

/// Some are made for virtual time alone, which has no nanoseconds.
bool fits_a_clock(const TaskTimeline& timeline) {
    return std::ranges::all_of(timeline.tasks, [](const TimelineTask& task) {
        return task.end && *task.end < 1'000'000'000'000;
    });
}

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
