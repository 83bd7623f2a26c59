// SPDX-License-Identifier: MIT
//
// Scenarios on the real clock, as board programs run them: FCs and tasks come in the order of the
// contract.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "drive_board.hpp"
#include "drive_board_clock.hpp"
#include "examples.hpp"
#include "random_scenario.hpp"
#include "task_oracle.hpp"

namespace overtake::test {
namespace {

constexpr std::uint64_t longest_us = 4'000'000;
constexpr int attempts = 5;

/// Expects the oracle's order.  Tries again if the host was busy with other work.
void expect_order(const std::string& name, const TaskScenario& scenario) {
    const ScenarioOrder expected = order_of(task_oracle_timeline(scenario));
    for (int i = 0; i < attempts; i++) {
        const std::optional<ScenarioOrder> order = drive_board_clock(scenario);
        if (!order)
            continue;
        EXPECT_EQ(order->fcs, expected.fcs) << name;
        EXPECT_EQ(order->dispatched, expected.dispatched) << name;
        EXPECT_EQ(order->cancelled, expected.cancelled) << name;
        return;
    }
    GTEST_SKIP() << "SKIPPED: this host was more than 10 ms late in each of " << attempts
                 << " attempts";
}

/// Runs the worked examples of the contract, except those that are about one instant.
TEST(BoardClock, ScenariosHaveTheirOrder) {
    int driven = 0;
    for (const std::string& name : examples("task-")) {
        const TaskScenario scenario = read_task_scenario(example_file(name + ".json"));
        if (scenario.service_mode || !board_can_say(scenario))
            continue;
        const auto longer = for_clock(scenario, longest_us);
        std::printf("%s: ", name.c_str());
        if (!longer) {
            std::printf("about one instant\n");
            continue;
        }
        std::printf("x%llu%s\n", static_cast<unsigned long long>(longer->factor),
                    longer->apart ? ", arrivals apart" : "");
        expect_order(name, longer->scenario);
        driven++;
    }
    EXPECT_GE(driven, 14);
}

/// Most random scenarios are about one instant somewhere.  These of the first 20,000 are not; they
/// have four tasks or more and last at most two seconds.
TEST(BoardClock, RandomScenariosHaveTheirOrder) {
    for (const std::uint64_t seed :
         {2281, 6993, 7906, 8706, 8810, 9691, 12782, 14636, 17811, 18171}) {
        const TaskScenario scenario = task_scenario_from(random_task_scenario(seed));
        const auto longer = for_clock(scenario, longest_us / 2);
        ASSERT_TRUE(longer && !longer->apart) << seed;
        expect_order("seed " + std::to_string(seed), longer->scenario);
    }
}

} // namespace
} // namespace overtake::test
