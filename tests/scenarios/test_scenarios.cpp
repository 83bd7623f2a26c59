// SPDX-License-Identifier: MIT
//
// The FC-level examples without changes of limits, on every backend of a device: their timelines
// are exact to the microsecond. Random scenarios are compared with the oracle of oracle.hpp.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "drive.hpp"
#include "examples.hpp"
#include "kernel_device.hpp"
#include "oracle.hpp"
#include "random_scenario.hpp"
#include "scenario.hpp"

namespace overtake::test {
namespace {

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
    const Scenario scenario = read_scenario(example_file(name + ".json"));
    const Timeline expected = read_timeline(example_file(name + ".expected.json"));
    const Timeline timeline = is_made_here(backend) ? drive_made_here(scenario, backend)
                                                    : drive_kernel(backend, scenario);
    if (IsSkipped())
        return;
    EXPECT_EQ(timeline, expected);
}

/// Returns the examples that drive() can run: their limits do not change.
std::vector<std::string> scenarios_of_devices() {
    std::vector<std::string> names = examples("fc-");
    std::erase_if(names, [](const std::string& name) {
        return !read_scenario(example_file(name + ".json")).limits.empty();
    });
    return names;
}

INSTANTIATE_TEST_SUITE_P(Fc, ScenarioTest,
                         testing::Combine(testing::ValuesIn(scenarios_of_devices()),
                                          testing::ValuesIn(all_backends())),
                         test_name_of_case<Backend>);

class OracleTest : public testing::TestWithParam<std::string> {};

TEST_P(OracleTest, AgreesWithTheExpectedTimeline) {
    EXPECT_EQ(oracle_timeline(read_scenario(example_file(GetParam() + ".json"))),
              read_timeline(example_file(GetParam() + ".expected.json")));
}

INSTANTIATE_TEST_SUITE_P(Fc, OracleTest, testing::ValuesIn(examples("fc-")),
                         [](const auto& info) { return test_name(info.param); });

#ifdef __SANITIZE_ADDRESS__ // the oracle takes most of the time
constexpr std::uint64_t random_scenarios = 200;
#else
constexpr std::uint64_t random_scenarios = 1000;
#endif

TEST(RandomScenario, HasTheTimelineThatTheOracleSays) {
    std::size_t preempted = 0;
    std::size_t cancelled = 0;
    for (std::uint64_t seed = 1; seed <= random_scenarios; seed++) {
        const Scenario scenario = scenario_from(random_fc_scenario(seed));
        const Timeline expected = oracle_timeline(scenario);
        ASSERT_EQ(drive_made_here(scenario), expected) << "seed " << seed << ": " << scenario;
        for (const TimelineJob& job : expected.jobs) {
            preempted += job.preemptions != 0;
            cancelled += job.cancelled;
        }
    }
    EXPECT_GT(preempted, random_scenarios / 10) << "the scenarios do not try preemption";
    EXPECT_GT(cancelled, random_scenarios / 10) << "the scenarios do not try cancelling";
}

} // namespace
} // namespace overtake::test
