// SPDX-License-Identifier: MIT
//
// The fuzzer finds bugs of the coordinator: with one bug switched on (planted/planted.h), a
// timeline must break a rule within as many random scenarios as `make test` runs on the shipped
// code.
#include <cstdio>

#include <gtest/gtest.h>

extern "C" {
#include "planted.h"
}
#include "processors/campaign.hpp"

namespace overtake::fuzz {
namespace {

constexpr std::uint64_t cases = 2'000;

struct Planted {
    enum ovt_planted_bug bug;
    const char* name;
};

class PlantedProcessorsBug : public testing::TestWithParam<Planted> {
protected:
    void TearDown() override { ovt_planted_bug = OVT_BUG_NONE; }
};

TEST_P(PlantedProcessorsBug, IsFoundAndReplayedByAShrunkScenario) {
    ovt_planted_bug = GetParam().bug;
    const ProcessorCampaignResult result = processor_campaign({.cases = cases});
    ASSERT_TRUE(result.failure) << "not found in " << cases << " scenarios";
    RecordProperty("seed", std::to_string(result.failure->seed));
    const nlohmann::json& shrunk = result.failure->shrunk;
    EXPECT_LE(shrunk["tasks"].size(), 6u);
    EXPECT_EQ(processor_violation(shrunk), result.failure->shrunk_violation);
    ovt_planted_bug = OVT_BUG_NONE;
    EXPECT_EQ(processor_violation(shrunk), std::nullopt) << "fails without the bug";
    std::printf("seed %llu, %zu tasks: %s\n", static_cast<unsigned long long>(result.failure->seed),
                shrunk["tasks"].size(), result.failure->shrunk_violation.c_str());
}

constexpr Planted bugs_of_the_coordinator[] = {
    {OVT_BUG_COORD_DEPTH, "OneRunTooManyBeforeBusy"},
    {OVT_BUG_COORD_RETRIES, "OneRetryTooMany"},
    {OVT_BUG_COORD_PROGRESS, "FailedRunFinishesItsUnits"},
    {OVT_BUG_COORD_LOST, "TasksApartNeverComeBack"},
    {OVT_BUG_COORD_FAILED_USED, "PlanOnAProcessorThatFailed"},
    {OVT_BUG_COORD_HIGH_WAITS, "HighBehindOthersOnAPool"},
    {OVT_BUG_COORD_ON_IGNORED, "PoolTakesWhatIsForACore"},
    {OVT_BUG_COORD_DROPS_RUNNING, "DroppedWhileItRuns"},
    {OVT_BUG_COORD_CLOSED_GOES_ON, "CancelledTaskKeepsWaitingRuns"},
    {OVT_BUG_COORD_NO_LOOK, "NoLookWhenAProcessorReturns"},
    {OVT_BUG_COORD_WINDOW, "OneTaskTooManyInTheWindow"},
    {OVT_BUG_COORD_READY_EARLY, "ReadyWhileAPredecessorRuns"},
};
static_assert(std::size(bugs_of_the_coordinator) == OVT_BUG_COUNT - OVT_BUG_COORD_FIRST,
              "every planted bug is hunted");

INSTANTIATE_TEST_SUITE_P(Fuzz, PlantedProcessorsBug, testing::ValuesIn(bugs_of_the_coordinator),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace overtake::fuzz
