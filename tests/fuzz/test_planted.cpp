// SPDX-License-Identifier: MIT
//
// The fuzzer finds bugs: the device code and the task scheduler with one bug switched on
// (planted/planted.h) must fail within as many cases as `make test` runs on the shipped code.
#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

extern "C" {
#include "planted.h"
}
#include "scheduler/campaign.hpp"
#include "scheduler/report.hpp"

enum ovt_planted_bug ovt_planted_bug = OVT_BUG_NONE;

namespace overtake::fuzz {
namespace {

constexpr std::uint64_t cases = 20'000;

struct Planted {
    enum ovt_planted_bug bug;
    const char* name;
};

class PlantedBug : public testing::TestWithParam<Planted> {
protected:
    void TearDown() override { ovt_planted_bug = OVT_BUG_NONE; }
};

TEST_P(PlantedBug, IsFoundAndReplayedByAShrunkCase) {
    ovt_planted_bug = GetParam().bug;
    CampaignOptions options;
    options.cases = cases;
    const CampaignResult result = campaign(options);
    ASSERT_TRUE(result.failure) << "not found in " << cases << " cases";
    RecordProperty("seed", std::to_string(result.failure->seed));
    EXPECT_LE(result.failure->shrunk.commands.size(), 30u);

    const nlohmann::json saved = nlohmann::json::parse(to_json(result.failure->shrunk).dump());
    const Case replayed = from_json(saved);
    EXPECT_EQ(violation_of(replayed), result.failure->shrunk_violation);
    ovt_planted_bug = OVT_BUG_NONE;
    EXPECT_EQ(violation_of(replayed), std::nullopt) << "fails without the bug";
    std::printf("seed %llu, %zu commands: %s\n",
                static_cast<unsigned long long>(result.failure->seed), replayed.commands.size(),
                result.failure->shrunk_violation.c_str());
}

constexpr Planted bugs[] = {
    {OVT_BUG_EARLY_BATCH, "BatchRefilledBeforeItIsEmpty"},
    {OVT_BUG_CUSTOM_ID_REVERSED, "LargerCustomIdFirst"},
    {OVT_BUG_THRESHOLD_INCLUSIVE, "ThresholdInclusive"},
    {OVT_BUG_CORE_TOO_EARLY, "CoreOfAnyCoreTaskSettledTooEarly"},
    {OVT_BUG_CANCELLED_COUNTED, "CancelledFcStillCounted"},
    {OVT_BUG_REFILL_LOST, "RefillLostAfterAFault"},
    {OVT_BUG_HIGH_PREEMPTS_HIGH, "HighPreemptsHigh"},
    {OVT_BUG_SLOT_KEPT, "SlotKeptOnCancel"},
    {OVT_BUG_WATCHDOG_WAITING, "WatchdogCountsWaiting"},
    {OVT_BUG_TASK_LIMIT_BARS, "TaskLimitBarsOthers"},
    {OVT_BUG_FAIR_WEIGHT, "TurnOfAWrongLength"},
    {OVT_BUG_FAIR_TURN_KEPT, "TurnKeptByWhoLeaves"},
    {OVT_BUG_FAIR_JOINS_FIRST, "WhoComesIsNext"},
    {OVT_BUG_FAIR_HIGH_MOVES_TURN, "HighCostsTheTurn"},
    {OVT_BUG_OVERDUE_LATE, "OverdueTooLate"},
    {OVT_BUG_OVERDUE_KEEPS_SLOT, "OverdueKeepsSlot"},
    {OVT_BUG_OVERDUE_COUNTED, "OverdueCounts"},
    {OVT_BUG_OVERDUE_RETURNS, "OverdueReturnsWithoutSlot"},
    {OVT_BUG_SHARE_IGNORED, "NoPlaceKept"},
    {OVT_BUG_SHARE_ONE_SHORT, "OnePlaceTooFewKept"},
    {OVT_BUG_DEATH_KEEPS_WORKER, "DeathKeepsWorker"},
};
static_assert(std::size(bugs) == OVT_BUG_GROUP_FIRST - 1, "every planted bug is hunted");

/// The program fuzz_scheduler after a failure.
TEST(FuzzProgram, WritesAFailureThatItThenReplays) {
    const std::string path =
        std::filesystem::temp_directory_path() / fmt::format("overtake-fuzz-{}.json", getpid());
    ProgramOptions options;
    options.cases = cases;
    options.commit = "0123456789ab";
    options.output = path;
    ovt_planted_bug = OVT_BUG_SLOT_KEPT;
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_cases(options), 1);
    const std::string said = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    EXPECT_EQ(replay(path), 1);
    const std::string violation = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(", 100 commands each, commit 0123456789ab: "), std::string::npos) << said;
    EXPECT_NE(said.find(": " + violation + "replay: fuzz_scheduler " + path), std::string::npos)
        << said;
    ovt_planted_bug = OVT_BUG_NONE;
    testing::internal::CaptureStdout();
    EXPECT_EQ(replay(path), 0) << "fails without the bug";
    EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with("clean: "));
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, PlantedBug, testing::ValuesIn(bugs),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace overtake::fuzz
