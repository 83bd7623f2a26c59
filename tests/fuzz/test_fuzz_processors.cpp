// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "processors/campaign.hpp"

namespace overtake::fuzz {
namespace {

TEST(FuzzProcessors, TwoThousandScenariosAreClean) {
    const ProcessorCampaignResult result = processor_campaign({.cases = 2'000});
    if (result.failure) {
        FAIL() << "seed " << result.failure->seed << ": " << result.failure->violation << "\n"
               << result.failure->shrunk.dump();
    }
    EXPECT_EQ(result.cases, 2'000u);
    // The scenarios reach the intended situations.
    EXPECT_GT(result.totals.tasks, 4 * result.cases);
    EXPECT_GT(result.totals.runs, 6 * result.cases);
    EXPECT_GT(result.totals.failed, result.cases);
    EXPECT_GT(result.totals.cancelled, result.cases / 4);
    EXPECT_GT(result.totals.dropped, result.cases / 2);
}

} // namespace
} // namespace overtake::fuzz
