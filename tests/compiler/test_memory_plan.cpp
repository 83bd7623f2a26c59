// SPDX-License-Identifier: MIT
#include "compiler/lower/lifetimes.hpp"

#include <gtest/gtest.h>
#include <random>

using namespace overtake::compiler;

TEST(MemoryPlan, BlocksThatLiveTogetherNeverOverlap) {
    std::mt19937 random(1);
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<Lifetime> lifetimes(1 + below(40));
        for (Lifetime& life : lifetimes) {
            life.bytes = 1 + below(5000);
            life.first = below(30);
            life.last = life.first + below(10);
        }
        const MemoryPlan plan = plan_memory(lifetimes, 64);
        ASSERT_EQ(plan.offsets.size(), lifetimes.size());
        for (std::size_t a = 0; a < lifetimes.size(); ++a) {
            EXPECT_EQ(plan.offsets[a] % 64, 0u);
            EXPECT_LE(plan.offsets[a] + lifetimes[a].bytes, plan.bytes);
            for (std::size_t b = 0; b < a; ++b) {
                const bool meet = lifetimes[a].first <= lifetimes[b].last &&
                                  lifetimes[b].first <= lifetimes[a].last;
                const bool overlap = plan.offsets[a] < plan.offsets[b] + lifetimes[b].bytes &&
                                     plan.offsets[b] < plan.offsets[a] + lifetimes[a].bytes;
                EXPECT_FALSE(meet && overlap) << "blocks " << a << " and " << b;
            }
        }
    }
}

TEST(MemoryPlan, AChainNeedsTwoNeighbours) {
    std::vector<Lifetime> chain;
    for (std::size_t step = 0; step < 10; ++step)
        chain.push_back({640, step, step + 1});
    EXPECT_EQ(plan_memory(chain, 64).bytes, 1280u);
}

TEST(MemoryPlan, NothingNeedsNothing) {
    EXPECT_EQ(plan_memory({}, 64).bytes, 0u);
}
