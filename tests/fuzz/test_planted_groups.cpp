// SPDX-License-Identifier: MIT
//
// The fuzzer finds bugs in groups: with one bug switched on (planted/planted.h), a random run must
// fail within far fewer runs than `make test` makes of the shipped code.
#include <cstdio>
#include <optional>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "planted.h"
}
#include "scheduler/groups.hpp"

namespace overtake::fuzz {
namespace {

constexpr std::uint64_t runs = 1'000;

struct Planted {
    enum ovt_planted_bug bug;
    const char* name;
};

class PlantedGroupsBug : public testing::TestWithParam<Planted> {
protected:
    void TearDown() override { ovt_planted_bug = OVT_BUG_NONE; }
};

TEST_P(PlantedGroupsBug, IsFound) {
    GroupTotals totals;
    std::optional<std::string> violation;
    std::uint64_t seed = 0;
    while (!violation && seed < runs) {
        ovt_planted_bug = GetParam().bug;
        violation = group_violation(++seed, totals);
    }
    ASSERT_TRUE(violation) << "not found in " << runs << " runs";
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation->c_str());
    ovt_planted_bug = OVT_BUG_NONE;
    EXPECT_EQ(group_violation(seed, totals), std::nullopt) << "fails without the bug";
}

constexpr Planted bugs_of_groups[] = {
    {OVT_BUG_GROUP_NO_SYNC, "StageOpensAtOnce"},
    {OVT_BUG_GROUP_ALONE_WAITS, "PartThatWasAloneWaits"},
    {OVT_BUG_GROUP_HIGH_NOT_HELD, "HighIsNotHeld"},
    {OVT_BUG_GROUP_WHOLE_BATCH, "BatchWhileAnFcIsHeld"},
    {OVT_BUG_GROUP_ENDS_EARLY, "EndsWhileAnFcRuns"},
    {OVT_BUG_GROUP_HELD_KEPT, "HeldFcsOfCancelledGroupsCount"},
    {OVT_BUG_GROUP_LAST_FAULT, "LastFaultCounts"},
    {OVT_BUG_GROUP_NO_TURN, "OpenedStageGetsNoTurn"},
    {OVT_BUG_GROUP_SAME_CORE, "PartsOnTheSameCore"},
};
static_assert(std::size(bugs_of_groups) == OVT_BUG_COORD_FIRST - OVT_BUG_GROUP_FIRST,
              "every planted bug is hunted");

INSTANTIATE_TEST_SUITE_P(Fuzz, PlantedGroupsBug, testing::ValuesIn(bugs_of_groups),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace overtake::fuzz
