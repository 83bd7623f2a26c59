// SPDX-License-Identifier: MIT
#include <cstdlib>

#include <gtest/gtest.h>

#include "scheduler/groups.hpp"

namespace overtake::fuzz {
namespace {

/// OVERTAKE_TEST_SCENARIOS sets the number of runs.
TEST(FuzzGroups, TenThousandRunsAreClean) {
    const char* const wanted = std::getenv("OVERTAKE_TEST_SCENARIOS");
    const std::uint64_t runs = wanted ? std::strtoull(wanted, nullptr, 10) : 10'000;
    GroupTotals totals;
    for (std::uint64_t seed = 1; seed <= runs; seed++) {
        const auto violation = group_violation(seed, totals);
        ASSERT_EQ(violation, std::nullopt) << "seed " << seed;
    }
    // The runs reach the intended situations.
    EXPECT_GT(totals.groups, 8 * runs);
    EXPECT_GT(totals.fcs, 50 * runs);
    EXPECT_GT(totals.held_starts, 20 * runs);
    EXPECT_GT(totals.faults, runs);
    EXPECT_GT(totals.cancelled, runs);
}

TEST(FuzzGroups, ARunIsTheSameEveryTime) {
    GroupTotals first;
    GroupTotals second;
    for (std::uint64_t seed = 1; seed <= 50; seed++) {
        EXPECT_EQ(group_violation(seed, first), std::nullopt);
        EXPECT_EQ(group_violation(seed, second), std::nullopt);
        EXPECT_EQ(first.fcs, second.fcs);
        EXPECT_EQ(first.faults, second.faults);
    }
}

} // namespace
} // namespace overtake::fuzz
