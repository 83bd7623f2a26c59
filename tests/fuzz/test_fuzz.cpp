// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/fuzz/campaign.hpp"

namespace overtake::fuzz {
namespace {

TEST(Fuzz, TwentyThousandCasesAreClean) {
    CampaignOptions options;
    options.cases = 20'000;
    const CampaignResult result = campaign(options);
    if (result.failure) {
        FAIL() << "seed " << result.failure->seed << ": " << result.failure->violation << "\n"
               << to_json(result.failure->shrunk).dump();
    }
    EXPECT_EQ(result.cases, options.cases);
    EXPECT_GE(result.totals.commands, 100 * options.cases);
    // The cases do what they are for.
    EXPECT_GT(result.totals.refused, options.cases);
    EXPECT_GT(result.totals.fcs, 50 * options.cases);
    EXPECT_GT(result.totals.tasks, 10 * options.cases);
}

TEST(Fuzz, ACaseIsTheSameEveryTime) {
    for (std::uint64_t seed = 1; seed <= 50; seed++) {
        const Case drawn = draw(seed, 100);
        const auto json = to_json(drawn);
        EXPECT_EQ(json, to_json(draw(seed, 100)));
        EXPECT_EQ(json, to_json(from_json(nlohmann::json::parse(json.dump()))));
        EXPECT_EQ(run(drawn).fcs, run(drawn).fcs);
    }
}

} // namespace
} // namespace overtake::fuzz
