// SPDX-License-Identifier: MIT
#include <atomic>
#include <map>
#include <new>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scheduler/campaign.hpp"
#include "scheduler/violation.hpp"

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
    // The cases reach the intended situations.
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

/// Returns a campaign that calls `behave` for each case, with the case's number, from 0.
CampaignOptions scripted(std::uint64_t cases, unsigned threads,
                         std::function<void(std::uint64_t)> behave) {
    CampaignOptions options;
    options.cases = cases;
    options.commands = 1;
    options.threads = threads;
    options.shrink = false;
    std::map<std::uint64_t, std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < cases; i++)
        numbers[draw(options.seed + i, options.commands).faults.seed] = i;
    options.run = [numbers = std::move(numbers), behave = std::move(behave)](const Case& of) {
        behave(numbers.at(of.faults.seed));
        return Totals{};
    };
    return options;
}

TEST(Campaign, ReportsTheFirstFailureEvenIfAnotherIsFoundSooner) {
    std::atomic<bool> later_failed = false;
    const auto options = scripted(1000, 2, [&](std::uint64_t number) {
        if (number == 10)
            later_failed.wait(false); // a case of the other thread fails first
        if (number == 10 || number == 12)
            violate("early");
        if (number >= 64) {
            later_failed = true;
            later_failed.notify_all();
            violate("late");
        }
    });
    const CampaignResult result = campaign(options);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->seed, options.seed + 10);
    EXPECT_EQ(result.failure->violation, "early");
}

TEST(Campaign, RunsEveryCaseBeforeTheFirstFailure) {
    for (unsigned threads = 1; threads <= 8; threads++) {
        std::atomic<std::uint64_t> before = 0;
        const auto options = scripted(1000, threads, [&](std::uint64_t number) {
            if (number >= 500)
                violate("number {}", number);
            before++;
        });
        const CampaignResult result = campaign(options);
        ASSERT_TRUE(result.failure);
        EXPECT_EQ(result.failure->seed, options.seed + 500) << threads << " threads";
        EXPECT_EQ(before, 500u) << threads << " threads";
    }
}

TEST(Campaign, ThrowsWhatIsNoViolation) {
    const auto options = scripted(1000, 2, [](std::uint64_t number) {
        if (number == 70)
            throw std::bad_alloc();
    });
    EXPECT_THROW(campaign(options), std::bad_alloc);
}

} // namespace
} // namespace overtake::fuzz
