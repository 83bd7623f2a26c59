// SPDX-License-Identifier: MIT
//
// Every worked task-level example without groups and deaths, and random scenarios, as board
// programs run them, to the microsecond: on an embedded device with several engines, on a kernel
// device with real processes, and in service mode on a kernel device and on a server.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "drive_board.hpp"
#include "examples.hpp"
#include "kernel_device.hpp"
#include "random_scenario.hpp"
#include "task_oracle.hpp"

namespace overtake::test {
namespace {

/// The kernel device of the environment; each process of a scenario opens it anew.
class BoardKernel {
public:
    explicit BoardKernel(const Backend& backend)
        : backend_(backend),
          device_(open_backend(backend, {.manual_clock = true, .embedded = {}})) {}

    bool exists() const { return device_ != nullptr; }
    bool fits(const TaskScenario& scenario) const {
        return device_->info().core_count == scenario.core_limits.size() &&
               scenario.fair == device_is_fair();
    }
    /// Changes cores, limits and fairness to this device's: few random scenarios would fit it.
    void make_fit(nlohmann::json& scenario) const {
        const std::uint64_t cores = device_->info().core_count;
        scenario["cores"] = cores;
        scenario["fair"] = device_is_fair();
        if (auto& limits = scenario["core_limit"]; limits.is_array()) {
            const nlohmann::json last = limits.back();
            while (limits.size() < cores)
                limits.push_back(last);
            limits.erase(limits.begin() + static_cast<std::ptrdiff_t>(cores), limits.end());
        } else if (limits.is_null()) {
            scenario.erase("core_limit");
        }
        for (nlohmann::json& task : scenario["tasks"])
            if (const std::uint64_t core = task.value("core", std::uint64_t{0}); core > cores)
                task["core"] = 1 + (core - 1) % cores;
    }
    TaskTimeline drive(const TaskScenario& scenario, const TaskTimeline& expected) {
        const CoreLimits limits(std::getenv("OVERTAKE_TEST_DEVICE"), scenario.core_limits);
        std::optional<ServiceNumbers> numbers;
        if (scenario.service_mode)
            numbers.emplace(std::getenv("OVERTAKE_TEST_DEVICE"), service_settings_of(scenario),
                            scenario.policy);
        FcTrace trace(FcTrace::Whose::all);
        const auto open = [&] {
            return open_backend(backend_, {.manual_clock = true, .embedded = {}});
        };
        return drive_board(
            *device_->manual_clock(), scenario, expected,
            [&](std::uint64_t number) { return forked_process(open, scenario, number); },
            [&] { return trace.take(); });
    }

private:
    const Backend& backend_;
    std::shared_ptr<Device> device_;
};

using Case = std::tuple<std::string, Backend>;

class BoardScenarioTest : public testing::TestWithParam<Case> {};

TEST_P(BoardScenarioTest, HasItsExactTimeline) {
    const auto& [name, backend] = GetParam();
    const TaskScenario scenario = read_task_scenario(example_file(name + ".json"));
    const TaskTimeline expected = read_task_timeline(example_file(name + ".expected.json"));
    ASSERT_TRUE(board_can_say(scenario));
    if (is_made_here(backend)) {
        EXPECT_EQ(drive_board_made_here(scenario, expected, backend), expected);
        return;
    }
    BoardKernel kernel(backend);
    if (!kernel.exists())
        return;
    if (!kernel.fits(scenario))
        GTEST_SKIP() << "SKIPPED: needs a device of " << scenario.core_limits.size()
                     << " cores, fair=" << scenario.fair;
    EXPECT_EQ(kernel.drive(scenario, expected), expected);
}

INSTANTIATE_TEST_SUITE_P(Board, BoardScenarioTest,
                         testing::Combine(testing::ValuesIn(examples_of_separate_queues()),
                                          testing::ValuesIn(all_backends())),
                         test_name_of_case<Backend>);

/// Returns the number of random scenarios for each set-up of the device and each backend, which
/// OVERTAKE_TEST_SCENARIOS sets.
std::size_t scenarios_on_kernel() {
    const char* wanted = std::getenv("OVERTAKE_TEST_SCENARIOS");
    return wanted ? std::stoul(wanted) : 5;
}

class RandomBoardScenarioTest : public testing::TestWithParam<Backend> {};

TEST_P(RandomBoardScenarioTest, HasTheTimelineThatTheOracleSays) {
    std::unique_ptr<BoardKernel> kernel;
    if (!is_made_here(GetParam())) {
        kernel = std::make_unique<BoardKernel>(GetParam());
        if (!kernel->exists())
            return;
    }
    std::size_t driven = 0;
    std::size_t of_one_process = 0;
    const std::size_t wanted = kernel ? scenarios_on_kernel() : OVERTAKE_RANDOM_SCENARIOS;
    const auto is_alone = [](const TaskScenario& scenario) {
        return std::ranges::all_of(scenario.tasks, [&](const ScenarioTask& task) {
            return task.process == scenario.tasks.front().process;
        });
    };
    const auto fits = [&](nlohmann::json& json) {
        if (kernel)
            kernel->make_fit(json);
        const TaskScenario scenario = task_scenario_from(json);
        return !scenario.service_mode && board_can_say(scenario) &&
               !(is_alone(scenario) && of_one_process == wanted / 2);
    };
    for (std::uint64_t seed = 1; driven < wanted && seed < 100000; seed++) {
        const nlohmann::json json = random_task_scenario(seed, false, fits);
        if (json.is_null())
            continue;
        const TaskScenario scenario = task_scenario_from(json);
        const TaskTimeline expected = task_oracle_timeline(scenario);
        if (!fits_a_clock(expected))
            continue;
        of_one_process += is_alone(scenario);
        const TaskTimeline timeline = kernel
                                          ? kernel->drive(scenario, expected)
                                          : drive_board_made_here(scenario, expected, GetParam());
        ASSERT_EQ(timeline, expected) << "seed " << seed << ": " << json;
        driven++;
    }
    EXPECT_EQ(driven, wanted);
}

INSTANTIATE_TEST_SUITE_P(Board, RandomBoardScenarioTest, testing::ValuesIn(all_backends()),
                         [](const auto& info) { return info.param.name; });

/// Whether the device believes all estimates: none is above a second.
bool is_believed(const TaskScenario& scenario) {
    constexpr std::uint64_t us_per_s = 1'000'000;
    return std::ranges::all_of(scenario.tasks, [](const ScenarioTask& task) {
        return std::ranges::all_of(task.segments, [](const TaskSegment& segment) {
            return segment.estimated_cpu() <= us_per_s;
        });
    });
}

/// The name of a scenario, and the backend on which its processes share one queue, each with a file
/// or a connection of its own.
using ServiceCase = std::tuple<std::string, Backend>;

class ServiceModeScenario : public testing::TestWithParam<ServiceCase> {
protected:
    static std::string name() { return std::get<0>(GetParam()); }
    /// Compares the timeline with the oracle's.
    static void drive(const TaskScenario& scenario) {
        const Backend& backend = std::get<1>(GetParam());
        const TaskTimeline expected = task_oracle_timeline(scenario);
        if (is_made_here(backend)) {
            EXPECT_EQ(drive_board_served(scenario, expected), expected);
            return;
        }
        BoardKernel kernel(backend);
        if (!kernel.exists())
            return;
        if (!kernel.fits(scenario))
            GTEST_SKIP() << "SKIPPED: needs a device of " << scenario.core_limits.size()
                         << " cores, fair=" << scenario.fair;
        EXPECT_EQ(kernel.drive(scenario, expected), expected);
    }
};

TEST_P(ServiceModeScenario, HasTheTimelineOfOneQueue) {
    TaskScenario scenario = read_task_scenario(example_file(name() + ".json"));
    scenario.service_mode = true;
    ASSERT_TRUE(is_believed(scenario));
    if (!board_can_say(scenario))
        GTEST_SKIP() << "not allowed: a process dies, which has a test of its own";
    drive(scenario);
}

TEST_P(ServiceModeScenario, HasTheTimelineOfSeparateQueuesWithoutTheSwitch) {
    TaskScenario scenario = read_task_scenario(example_file(name() + ".json"));
    if (!board_can_say(scenario))
        GTEST_SKIP() << "not allowed: a process dies, which has a test of its own";
    scenario.service_mode = false;
    scenario.overdue_min_time.reset();
    scenario.share = false;
    drive(scenario);
}

/// Tasks use ioctls on both backends of a kernel device, so one of these is enough.
const std::vector<Backend> backends_of_service{{"server"}, {"ioctl"}};

INSTANTIATE_TEST_SUITE_P(Task, ServiceModeScenario,
                         testing::Combine(testing::ValuesIn(examples("task-")),
                                          testing::ValuesIn(backends_of_service)),
                         test_name_of_case<Backend>);
INSTANTIATE_TEST_SUITE_P(Service, ServiceModeScenario,
                         testing::Combine(testing::ValuesIn(examples("service-")),
                                          testing::ValuesIn(backends_of_service)),
                         test_name_of_case<Backend>);

class RandomServiceModeScenario : public testing::TestWithParam<Backend> {
protected:
    /// `draw`: returns the scenario of a seed, or null if it is not wanted.
    static void
    drive(const std::function<nlohmann::json(std::uint64_t, const IsWanted& wanted)>& draw) {
        std::unique_ptr<BoardKernel> kernel;
        if (!is_made_here(GetParam())) {
            kernel = std::make_unique<BoardKernel>(GetParam());
            if (!kernel->exists())
                return;
        }
        const std::size_t wanted = kernel ? scenarios_on_kernel() : OVERTAKE_RANDOM_SCENARIOS;
        std::size_t driven = 0;
        const auto fits = [&](nlohmann::json& json) {
            if (kernel)
                kernel->make_fit(json);
            json["deaths"] = nlohmann::json::array(); // they have a test of their own
            const TaskScenario scenario = task_scenario_from(json);
            std::set<std::string> processes;
            for (const ScenarioTask& task : scenario.tasks)
                processes.insert(task.process);
            return scenario.service_mode && board_can_say(scenario) && is_believed(scenario) &&
                   processes.size() >= 2 && processes.size() <= 4;
        };
        for (std::uint64_t seed = 1; driven < wanted && seed < 100000; seed++) {
            const nlohmann::json json = draw(seed, fits);
            if (json.is_null())
                continue;
            const TaskScenario scenario = task_scenario_from(json);
            const TaskTimeline expected = task_oracle_timeline(scenario);
            if (!fits_a_clock(expected))
                continue;
            const TaskTimeline timeline =
                kernel ? kernel->drive(scenario, expected) : drive_board_served(scenario, expected);
            ASSERT_EQ(timeline, expected) << "seed " << seed << ": " << json;
            driven++;
        }
        EXPECT_EQ(driven, wanted);
    }
};

TEST_P(RandomServiceModeScenario, HasTheTimelineThatTheOracleSays) {
    drive([](std::uint64_t seed, const IsWanted& wanted) {
        return random_task_scenario(seed, false, wanted);
    });
}

TEST_P(RandomServiceModeScenario, HasTheTimelineWithOverdueSegmentsAndSharesToo) {
    drive(random_service_scenario);
}

INSTANTIATE_TEST_SUITE_P(Board, RandomServiceModeScenario, testing::ValuesIn(backends_of_service),
                         backend_name);

} // namespace
} // namespace overtake::test
