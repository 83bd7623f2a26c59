// SPDX-License-Identifier: MIT
//
// Every FC-level scenario on every way into a device, to the microsecond; and random scenarios
// against an oracle of our own.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "drive.hpp"
#include "kernel_device.hpp"
#include "oracle.hpp"
#include "random_scenario.hpp"
#include "scenario.hpp"

namespace overtake::test {
namespace {

/// The FC-level ones.
std::vector<std::string> scenario_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_SCENARIO_DATA)) {
        const std::string stem = entry.path().stem().string();
        if (stem.starts_with("fc-") && !stem.ends_with(".expected"))
            names.push_back(stem);
    }
    std::ranges::sort(names);
    return names;
}

std::string data(const std::string& name) {
    return OVERTAKE_SCENARIO_DATA "/" + name;
}

using Case = std::tuple<std::string, Backend>;

class ScenarioTest : public testing::TestWithParam<Case> {
protected:
    static Timeline drive_kernel(const Backend& backend, const Scenario& scenario) {
        const auto device = open_backend(backend, {.manual_clock = true, .embedded = {}});
        if (!device)
            return {};
        const unsigned cores = device->info().core_count;
        const bool any = std::ranges::any_of(scenario.jobs,
                                             [](const ScenarioJob& job) { return job.core == 0; });
        if (cores < scenario.cores || (any && cores != scenario.cores)) {
            [&] { GTEST_SKIP() << "SKIPPED: needs a device of " << scenario.cores << " cores"; }();
            return {};
        }
        if (scenario.fair != device_is_fair()) {
            [&] { GTEST_SKIP() << "SKIPPED: needs fair=" << scenario.fair; }();
            return {};
        }
        const CoreLimits limits(std::getenv("OVERTAKE_TEST_DEVICE"), scenario.core_limits);
        FcTrace trace;
        return drive(*device, scenario, [&] { return trace.take(); });
    }
};

TEST_P(ScenarioTest, HasItsExactTimeline) {
    const auto& [name, backend] = GetParam();
    const Scenario scenario = read_scenario(data(name + ".json"));
    const Timeline expected = read_timeline(data(name + ".expected.json"));
    const Timeline timeline = is_made_here(backend) ? drive_made_here(scenario, backend)
                                                    : drive_kernel(backend, scenario);
    if (IsSkipped())
        return;
    EXPECT_EQ(timeline, expected);
}

/// Those that a device can be driven through: nobody changes its limits meanwhile.
std::vector<std::string> scenarios_of_devices() {
    std::vector<std::string> names = scenario_names();
    std::erase_if(names, [](const std::string& name) {
        return !read_scenario(data(name + ".json")).limits.empty();
    });
    return names;
}

INSTANTIATE_TEST_SUITE_P(Fc, ScenarioTest,
                         testing::Combine(testing::ValuesIn(scenarios_of_devices()),
                                          testing::ValuesIn(all_backends())),
                         [](const testing::TestParamInfo<Case>& info) {
                             std::string name =
                                 std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

class OracleTest : public testing::TestWithParam<std::string> {};

TEST_P(OracleTest, AgreesWithTheExpectedTimeline) {
    EXPECT_EQ(oracle_timeline(read_scenario(data(GetParam() + ".json"))),
              read_timeline(data(GetParam() + ".expected.json")));
}

INSTANTIATE_TEST_SUITE_P(Fc, OracleTest, testing::ValuesIn(scenario_names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                             std::string name = info.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST(RandomScenario, HasTheTimelineThatTheOracleSays) {
    std::size_t preempted = 0;
    std::size_t cancelled = 0;
    for (std::uint64_t seed = 1; seed <= 1000; seed++) {
        const Scenario scenario = scenario_from(random_fc_scenario(seed));
        const Timeline expected = oracle_timeline(scenario);
        ASSERT_EQ(drive_made_here(scenario), expected) << "seed " << seed << ": " << scenario;
        for (const TimelineJob& job : expected.jobs) {
            preempted += job.preemptions != 0;
            cancelled += job.cancelled;
        }
    }
    EXPECT_GT(preempted, 100u) << "the scenarios do not try preemption";
    EXPECT_GT(cancelled, 100u) << "the scenarios do not try cancelling";
}

} // namespace
} // namespace overtake::test
